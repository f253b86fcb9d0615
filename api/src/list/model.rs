//! The list against a plain model: after a walk and its follow-ups, a reader's copy is what is in force.

use std::collections::BTreeMap;
use std::sync::Arc;

use interlock_domain::contact::name::{PurposeId, ReasonId, SourceId};
use interlock_domain::contact::notice::ListChanged;
use interlock_domain::contact::suppression::Suppression;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, SpaceId};
use interlock_domain::time::Timestamp;
use proptest::prelude::*;

use super::index::{Index, Position};

const DAY_S: i64 = 86_400;

/// What happens next.
#[derive(Clone, Debug)]
enum Step {
    /// An entry is added or renewed, for so many days or without an end.
    Added(u8, Option<u8>),
    /// An entry is lifted, if it is in force.
    Lifted(u8),
    /// Time passes.
    Days(u8),
    /// The reader reads a page of at most so many.
    Read(usize),
    /// The list is read again from the customers, in whatever order.
    Rebuilt,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..12_u8, proptest::option::of(0..4_u8)).prop_map(|(id, days)| Step::Added(id, days)),
        3 => (0..12_u8).prop_map(Step::Lifted),
        1 => (1..3_u8).prop_map(Step::Days),
        3 => (1..4_usize).prop_map(Step::Read),
        1 => Just(Step::Rebuilt),
    ];
    proptest::collection::vec(step, 1..80)
}

/// The customers and what they keep, with one reader.
struct World {
    now: Timestamp,
    last: u64,
    entries: BTreeMap<Id, Suppression>,
    index: Index,
    reader: Reader,
}

/// A reader's copy, by the contract's rules.
#[derive(Default)]
struct Reader {
    copy: BTreeMap<Id, Suppression>,
    position: Option<Position>,
    /// When it last knew everything, or began.
    current_at: Timestamp,
}

impl World {
    fn new() -> Self {
        Self {
            now: Timestamp(0),
            last: 0,
            entries: BTreeMap::new(),
            index: Index::default(),
            reader: Reader::default(),
        }
    }

    fn changed(&mut self, mut entry: Suppression) {
        self.last += 1;
        entry.number = self.last;
        self.entries.insert(entry.entry, entry.clone());
        self.index.put(row(&entry));
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Added(id, days) => {
                let until = days.map(|days| self.now.plus_s(i64::from(days) * DAY_S));
                self.changed(entry(id, self.now, until));
            }
            Step::Lifted(id) => {
                let known = self.entries.get(&Id([id; 16])).cloned();
                if let Some(known) = known.filter(|known| known.in_force(self.now)) {
                    let lifted = Some(self.now);
                    self.changed(Suppression { lifted, ..known });
                }
            }
            Step::Days(days) => {
                self.now = self.now.plus_s(i64::from(days) * DAY_S);
                let now = self.now;
                self.entries.retain(|_, entry| entry.is_kept(now));
            }
            Step::Read(limit) => {
                self.read(limit);
            }
            Step::Rebuilt => {
                self.index = Index::default();
                self.entries
                    .values()
                    .rev()
                    .for_each(|entry| self.index.put(row(entry)));
                self.index.reached(self.last);
            }
        }
    }

    /// Reads a page; true when it was the last for now.
    fn read(&mut self, limit: usize) -> bool {
        let began = self.index.last();
        if self.now >= self.reader.current_at.plus_s(30 * DAY_S) {
            self.reader = Reader::default();
        }
        if self.reader.position.is_none() {
            self.reader.current_at = self.now;
        }
        let from = *self
            .reader
            .position
            .get_or_insert(Position { after: 0, began });
        let page = self.index.page(from, limit, self.now);
        assert!(page.rows.len() <= limit);
        assert_eq!(page.ended, page.rows.len() < limit);
        let numbers: Vec<u64> = page.rows.iter().map(|row| row.entry.number).collect();
        assert!(numbers.is_sorted(), "oldest change first: {numbers:?}");
        for row in &page.rows {
            assert!(from.after < row.entry.number, "sent again");
            if row.entry.lifted.is_some() {
                self.reader.copy.remove(&row.entry.entry);
            } else {
                self.reader.copy.insert(row.entry.entry, row.entry.clone());
            }
        }
        let after = page.after;
        self.reader.position = Some(Position { after, ..from });
        if page.ended {
            self.reader.current_at = self.now;
        }
        page.ended
    }

    fn assert_copy(&self) {
        let in_force = |entries: &BTreeMap<Id, Suppression>| -> Vec<Suppression> {
            let entries = entries.values();
            let entries = entries.filter(|entry| entry.in_force(self.now));
            entries.cloned().collect()
        };
        assert_eq!(in_force(&self.reader.copy), in_force(&self.entries));
    }
}

fn entry(id: u8, since: Timestamp, until: Option<Timestamp>) -> Suppression {
    Suppression {
        entry: Id([id; 16]),
        source: SourceId(1),
        purpose: PurposeId::of("marketing"),
        channel: None,
        reason: ReasonId::of("opt_out"),
        since,
        until,
        window: None,
        number: 0,
        lifted: None,
        purpose_name: Text::from("marketing"),
        channel_name: None,
        destination: Box::default(),
    }
}

fn row(entry: &Suppression) -> Arc<ListChanged> {
    Arc::new(ListChanged {
        space: SpaceId([7; 16]),
        customer: KeyHash(entry.entry.0),
        entry: entry.clone(),
    })
}

proptest! {
    #[test]
    fn a_readers_copy_is_what_is_in_force(steps in steps()) {
        let mut world = World::new();
        for step in &steps {
            world.step(step);
        }
        while !world.read(2) {}
        world.assert_copy();
        let rows = world.reader.copy.len();
        prop_assert!(world.read(2), "nothing is new");
        prop_assert_eq!(world.reader.copy.len(), rows);
    }
}

#[test]
fn an_older_change_does_not_replace_a_later_one() {
    let mut index = Index::default();
    for (number, until) in [(2, Some(Timestamp(9))), (1, None)] {
        let entry = Suppression {
            number,
            ..entry(1, Timestamp(0), until)
        };
        index.put(row(&entry));
    }
    let page = index.page(Position::default(), 200, Timestamp(0));
    assert_eq!(page.rows.len(), 1);
    assert_eq!(page.rows[0].entry.until, Some(Timestamp(9)));
}

#[test]
fn what_customers_forget_leaves_the_list_with_later_changes() {
    let mut world = World::new();
    for id in 0..100 {
        world.step(&Step::Added(id, Some(1)));
    }
    world.now = world.now.plus_s(40 * DAY_S);
    for id in 100..200 {
        world.step(&Step::Added(id, None));
    }
    let page = world.index.page(Position::default(), 1_000, world.now);
    assert_eq!(page.rows.len(), 100, "one row an entry that is kept");
    assert_eq!((page.after, page.ended), (200, true));
}
