//! History over whole nodes and over random crashes: of every acknowledged command there is one note,
//! in the journal or in history, whatever was truncated meanwhile.
//!
//! Also here, over the same nodes: the bound of a part of a space. The machine keeps tickets; a
//! command's note is its ticket.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use interlock_actors::credits::CreditOptions;
use interlock_actors::history::{self, HistoryOptions, Projector};
use interlock_actors::keeper::KeeperOptions;
use interlock_actors::record::{RecordEncoder, RecordHead};
use interlock_actors::{Answer, Node, NodeClock, NodeOptions, Submission};
use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, KeyHash, KeyList, Kind, SpaceId};
use interlock_domain::machine::{
    Broken, Context, Decision, Entities, Machine, Sweep, Undecided, Versioned,
};
use interlock_domain::time::Timestamp;
use interlock_storage::rng::Rng;
use interlock_storage::{
    Append, Commit, Epoch, FaultPlan, FaultyLog, GROUPS, Group, HistoryDay, Log, MemoryLog,
    Positions, Sequence,
};

const SPACE: SpaceId = SpaceId([3; 16]);
const DAY_MS: i64 = 24 * 3_600 * 1_000;
const NOON: Timestamp = Timestamp(20_000 * DAY_MS + DAY_MS / 2);

/// The reply where the part is full.
const REFUSED: u64 = u64::MAX;
/// A ticket from here on is an entity's last: a sweep purges it.
const LAST: u64 = 1_000_000;

#[derive(Debug, PartialEq)]
struct Tickets;

#[derive(Debug)]
struct Rules;

impl Versioned for Rules {
    fn version(&self) -> u32 {
        7
    }
}

impl Machine for Tickets {
    type Entity = u64;
    type Command = u64;
    type Event = u64;
    type Reply = u64;
    type Note = u64;
    type Notice = ();
    type Policy = Rules;

    const PRODUCT: u8 = 250;
    const FORMAT: u16 = 1;
    const NAME: &'static str = "tickets";

    fn space(_: &u64) -> SpaceId {
        SPACE
    }

    fn keys(ticket: &u64) -> KeyList {
        let number = u8::try_from(ticket % 40).expect("below 40");
        let key = EntityKey {
            kind: Kind::Customer,
            space: SPACE,
            hash: KeyHash([number.wrapping_mul(151).wrapping_add(7); 16]),
        };
        [key].into_iter().collect()
    }

    fn decide(
        entities: &Entities<'_, u64>,
        ticket: &u64,
        context: &mut Context<'_, Rules>,
    ) -> Decision<Self> {
        let key = Self::keys(ticket)[0];
        if context.part_full && entities.get(&key).is_none() {
            return Decision::read(REFUSED);
        }
        Decision {
            events: [(key, *ticket)].into_iter().collect(),
            reply: *ticket,
            note: Some(*ticket),
            notices: Vec::new(),
        }
    }

    fn part(_: &u64) -> Option<u32> {
        Some(5)
    }

    fn adds_to(_: &u64) -> Option<u32> {
        Some(5)
    }

    fn empty(_: Kind) -> u64 {
        0
    }

    fn apply(entity: &mut u64, event: &u64) {
        *entity = *event;
    }

    fn due(entity: &u64) -> Option<Timestamp> {
        (*entity >= LAST).then_some(NOON)
    }

    fn sweep(_: &u64, _: Timestamp) -> Sweep<u64> {
        Sweep::Purge
    }

    fn check(_: &u64) -> Result<(), Broken> {
        Ok(())
    }

    fn rebind(_: &mut u64, _: &Rules) -> Result<(), u64> {
        Ok(())
    }

    fn undecided(_: &u64, _: &Rules, _: Undecided, _: Timestamp, _: &mut IdStream) -> Option<u64> {
        None
    }

    fn outcome(_: &u64) -> (&'static str, &'static str) {
        ("allow", "none")
    }
}

fn options() -> NodeOptions {
    NodeOptions {
        shards: 2,
        turn_commands_max: 16,
        queue_per_entity_max: 1_000,
        slice_entities_max: 10,
        sweep_entities_max: 10,
        entities_per_space_max: 1_000,
        entities_per_part_max: 1_000,
        sweep_interval: Duration::from_millis(20),
        credits: CreditOptions {
            commands_max: 2_000,
            bytes_max: 1_000_000,
            space_commands_max: 1_000,
        },
        commit_bytes_max: 100_000,
        notices_max: 10,
        keeper: KeeperOptions {
            snapshot_interval_ms: 1,
            snapshot_bytes_per_s: 100_000_000,
            journal_bytes_max: 10_000_000,
        },
        history: HistoryOptions {
            keep_days: 3,
            // Less than a commit: the committer waits for history after each.
            queue_bytes_max: 1,
            write_interval: Duration::from_millis(1),
        },
        truncate_keys_max: 100,
        free_bytes_min: 0,
        accept_truncation: false,
        accept_clock: false,
        recovery_hold: None,
    }
}

fn start(log: &Arc<dyn Log>, clock: &NodeClock) -> Node<Tickets> {
    start_with(log, clock, options())
}

fn start_with(log: &Arc<dyn Log>, clock: &NodeClock, options: NodeOptions) -> Node<Tickets> {
    let policies = vec![(SPACE, Arc::new(Rules))];
    Node::start(Arc::clone(log), policies, clock.clone(), None, options).expect("it starts")
}

/// Asks for tickets and answers those that were acknowledged.
async fn ask(node: &Node<Tickets>, tickets: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let submission = Submission {
        commands: tickets.into_iter().collect(),
        policy: Arc::new(Rules),
        deadline: Duration::from_secs(30),
        bytes: 100,
    };
    let answers = node.handle().submit(submission).await.unwrap_or_default();
    let acknowledged = answers.into_iter().filter_map(|answer| match answer {
        Answer::Decided(ticket) => (ticket != REFUSED).then_some(ticket),
        Answer::NotDecided(_) | Answer::Broken | Answer::Busy | Answer::Unavailable => None,
    });
    acknowledged.collect()
}

/// Every note there is, and how often.
fn notes(log: &dyn Log) -> BTreeMap<u64, u32> {
    let mut notes = BTreeMap::new();
    let (from, upto) = (NOON.plus_ms(-DAY_MS), NOON.plus_ms(40 * DAY_MS));
    history::between::<Tickets>(log, from, upto, &mut |receipt| {
        assert_eq!((receipt.space, receipt.policy), (SPACE, 7));
        *notes.entry(receipt.note).or_insert(0) += 1;
        ControlFlow::Continue(())
    })
    .expect("the log can be read");
    notes
}

fn each_once(log: &dyn Log, acknowledged: &BTreeSet<u64>, when: &str) {
    let notes = notes(log);
    let lost = acknowledged
        .iter()
        .find(|ticket| !notes.contains_key(ticket));
    assert_eq!(lost, None, "{when}: an acknowledged ticket has no note");
    let twice = notes.iter().find(|(_, times)| **times > 1);
    assert_eq!(twice, None, "{when}: a ticket is noted twice");
}

/// Has truncation removed anything?
fn is_truncated(log: &dyn Log) -> bool {
    let mut begins = false;
    log.replay(&Positions::new(), &mut |replayed| {
        begins = replayed.sequence == Sequence(1);
        ControlFlow::Break(())
    })
    .expect("the log can be read");
    !begins
}

/// Stops in good order: everything is in history, and what was truncated is still found. Nights pass
/// while it runs, and the days that are over go.
#[test]
fn what_is_truncated_is_still_found() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let clock = NodeClock::test(NOON);
    actix::System::new().block_on(async {
        let mut acknowledged = BTreeSet::new();
        let mut next = 0;
        for night in 0..3 {
            let node = start(&log, &clock);
            // Truncation comes with the snapshots; each request gives the keeper another turn.
            for _ in 0..10_000 {
                acknowledged.extend(ask(&node, next..next + 20).await);
                next += 20;
                if night > 0 || is_truncated(&*log) {
                    break;
                }
            }
            each_once(&*log, &acknowledged, "while it runs");
            node.stop(Duration::from_secs(10)).await;
            assert!(is_truncated(&*log));
            each_once(&*log, &acknowledged, "after a stop");
            let size = log.history_size().expect("it can be read");
            assert_eq!(size.days, night + 1);
            clock.set(clock.now().plus_ms(DAY_MS)).expect("a day later");
        }
        let one = history::find::<Tickets>(&*log, NOON, &mut |receipt| receipt.note == 7)
            .expect("the log can be read")
            .expect("ticket 7 was acknowledged");
        assert_eq!(one.time, NOON);
        let late = NOON.plus_ms(DAY_MS / 4);
        let none = history::find::<Tickets>(&*log, late, &mut |receipt| receipt.note == 7);
        assert_eq!(none.expect("the log can be read"), None);
        // Three days are kept, and this is the fourth.
        let node = start(&log, &clock);
        node.recovered().await.expect("it is rebuilt");
        for _ in 0..10_000 {
            if !notes(&*log).contains_key(&7) {
                break;
            }
            ask(&node, next..next + 1).await;
            next += 1;
        }
        node.stop(Duration::from_secs(10)).await;
        assert!(!notes(&*log).contains_key(&7), "its day is over");
    });
}

/// The process dies at any moment, the power with it: no acknowledged note is lost, none comes twice.
#[test]
fn a_crash_loses_no_note() {
    let mut disk = FaultyLog::new(FaultPlan::calm(11));
    let clock = NodeClock::test(NOON);
    actix::System::new().block_on(async {
        let mut acknowledged = BTreeSet::new();
        let mut next = 0;
        for round in 0..12_u64 {
            let log: Arc<dyn Log> = Arc::new(disk.clone());
            let node = start(&log, &clock);
            node.recovered().await.expect("it is rebuilt");
            for _ in 0..=round * 3 {
                acknowledged.extend(ask(&node, next..next + 25).await);
                next += 25;
            }
            clock.set(clock.now().plus_ms(97)).expect("a moment later");
            disk = disk.crash().expect("the log can be opened");
            node.stop(Duration::from_secs(10)).await;
            each_once(&disk, &acknowledged, &format!("round {round}"));
        }
        assert_eq!(acknowledged.len() as u64, next, "no commit failed");
    });
}

/// What counts for a part is counted on creation, after a restart and on a purge.
#[test]
fn a_part_of_a_space_has_a_bound() {
    let log: Arc<dyn Log> = Arc::new(MemoryLog::new());
    let clock = NodeClock::test(NOON);
    let few = NodeOptions {
        entities_per_part_max: 10,
        ..options()
    };
    actix::System::new().block_on(async {
        let node = start_with(&log, &clock, few);
        let kept: BTreeSet<u64> = ask(&node, 0..40).await.into_iter().collect();
        assert_eq!(kept.len(), 10, "five on each of two shards");
        node.stop(Duration::from_secs(10)).await;
        let node = start_with(&log, &clock, few);
        let again: BTreeSet<u64> = ask(&node, 0..40).await.into_iter().collect();
        assert_eq!(again, kept, "what is there goes on, nothing comes");
        let first = *kept.first().expect("ten are kept");
        assert_eq!(ask(&node, [LAST + first]).await, [LAST + first]);
        assert!(node.handle().sweep_all().await);
        let new: Vec<u64> = (0..40).filter(|ticket| !kept.contains(ticket)).collect();
        assert_eq!(
            ask(&node, new).await.len(),
            1,
            "in the place of the purged one"
        );
        node.stop(Duration::from_secs(10)).await;
    });
}

/// A log of random appends, and a projector that is driven by chance.
struct Walk {
    rng: Rng,
    disk: FaultyLog,
    epochs: BTreeMap<Group, (Epoch, Sequence)>,
    projector: Projector,
    /// Durable appends that the projector has not been handed.
    fed: Vec<Append>,
    acknowledged: BTreeSet<u64>,
    next: u64,
    now: i64,
}

impl Walk {
    fn new(seed: u64) -> Self {
        let mut walk = Self {
            rng: Rng::new(seed),
            disk: FaultyLog::new(FaultPlan::calm(seed)),
            epochs: BTreeMap::new(),
            projector: Projector::new(Positions::new()),
            fed: Vec::new(),
            acknowledged: BTreeSet::new(),
            next: 0,
            now: NOON.0,
        };
        walk.begin();
        walk
    }

    /// A start: acquires, and projects what the journal has beyond history.
    fn begin(&mut self) {
        let groups: Vec<Group> = (0..GROUPS).map(Group).collect();
        let owned = self.disk.acquire(&groups).expect("groups can be acquired");
        let place = |owned: &interlock_storage::Owned| (owned.group, (owned.epoch, owned.last));
        self.epochs = owned.iter().map(place).collect();
        let durable = self.disk.history_position().expect("it can be read");
        let mut projector = Projector::new(durable.unwrap_or_default());
        let after = projector.durable().clone();
        self.disk
            .replay(&after, &mut |replayed| {
                projector
                    .take::<Tickets>(replayed.group, replayed.sequence, &replayed.records)
                    .expect("it was encoded");
                ControlFlow::Continue(())
            })
            .expect("the journal can be read");
        self.projector = projector;
        self.fed.clear();
    }

    fn commit(&mut self) {
        let mut commit = Commit::default();
        let mut tickets = Vec::new();
        let groups: BTreeSet<u64> = (0..=self.rng.below(2)).map(|_| self.rng.below(3)).collect();
        for group in groups {
            let group = Group(u16::try_from(group).expect("below 3"));
            let (epoch, last) = self.epochs[&group];
            let records = self.records(&mut tickets);
            commit.appends.push(Append {
                group,
                epoch,
                sequence: last.next(),
                partitions: Vec::new(),
                records,
            });
        }
        self.disk.commit(&commit).expect("a calm disk");
        for append in &commit.appends {
            self.epochs
                .insert(append.group, (append.epoch, append.sequence));
        }
        self.acknowledged.extend(tickets);
        self.fed.append(&mut commit.appends);
    }

    /// Some records, of which some have notes; time goes on in steps from none to days.
    fn records(&mut self, tickets: &mut Vec<u64>) -> Vec<u8> {
        let mut records = Vec::new();
        let mut encoder = RecordEncoder::default();
        for _ in 0..=self.rng.below(200) {
            let step = [0, 0, 1, 90, 400, DAY_MS / 9][self.rng.index(6)];
            self.now += if self.rng.chance(1, 60) { step } else { 0 };
            // Frames of several shards follow each other, each with a time of its own.
            let late = i64::try_from(self.rng.below(40)).expect("below 40");
            let head = RecordHead {
                format: Tickets::FORMAT,
                product: Tickets::PRODUCT,
                space: SPACE,
                time: Timestamp(self.now - late),
                policy: 7,
                entries: 0,
            };
            let note = self.rng.chance(9, 10).then_some(self.next);
            self.next += 1;
            tickets.extend(note);
            let record = encoder.encode::<Tickets>(head, &[], note.as_ref());
            records.extend_from_slice(record.expect("it can be encoded"));
        }
        records
    }

    fn feed(&mut self) {
        let some = self.rng.index(self.fed.len() + 1);
        for append in self.fed.drain(..some) {
            self.projector
                .take::<Tickets>(append.group, append.sequence, &append.records)
                .expect("it was encoded");
        }
    }

    fn truncate(&mut self) {
        let mut upto = self.disk.coverage().positions();
        let beyond = upto.clone();
        for (group, position) in &mut upto {
            let taken = self.projector.durable().get(group);
            *position = (*position).min(taken.copied().unwrap_or_default());
        }
        let limit = 1 + self.rng.index(20);
        self.disk.truncate(&upto, limit).expect("history has it");
        if beyond != upto && self.disk.history_position().expect("it is read").is_some() {
            let refused = self.disk.truncate(&beyond, limit);
            assert!(refused.is_err(), "history has not taken all of {beyond:?}");
        }
    }

    fn check(&self, when: &str) {
        let mut found = BTreeMap::new();
        let (from, upto) = (NOON.plus_ms(-DAY_MS), NOON.plus_ms(4_000 * DAY_MS));
        history::between::<Tickets>(&self.disk, from, upto, &mut |receipt| {
            *found.entry(receipt.note).or_insert(0_u32) += 1;
            ControlFlow::Continue(())
        })
        .expect("the log can be read");
        let expected: BTreeMap<u64, u32> = self.acknowledged.iter().map(|&t| (t, 1)).collect();
        assert!(
            found == expected,
            "{when}: {} of {}",
            found.len(),
            expected.len()
        );
    }
}

/// Commits, projecting, writing, truncating and crashing in any order: each note is there once, and
/// rows are the same however often they were written.
#[test]
fn notes_survive_any_order_of_crashes() {
    for seed in 0..10 {
        let mut walk = Walk::new(seed);
        for step in 0..100 {
            match walk.rng.below(100) {
                0..35 => walk.commit(),
                35..60 => walk.feed(),
                60..78 => {
                    let disk = walk.disk.clone();
                    walk.projector.write(&disk).expect("a calm disk");
                }
                78..90 => walk.truncate(),
                90..97 => {
                    walk.disk = walk.disk.crash().expect("it can be opened");
                    walk.begin();
                    walk.check(&format!("seed {seed}, step {step}, after a crash"));
                }
                _ => walk.check(&format!("seed {seed}, step {step}")),
            }
        }
        walk.check(&format!("seed {seed}, at the end"));
        assert!(walk.acknowledged.len() > 500, "seed {seed} did little");
    }
}

/// Rows are few and small: what a note takes is little more than its own bytes.
#[test]
fn rows_hold_many_notes() {
    let disk = MemoryLog::new();
    let mut encoder = RecordEncoder::default();
    let mut records = Vec::new();
    for ticket in 0..10_000_u64 {
        let head = RecordHead {
            format: Tickets::FORMAT,
            product: Tickets::PRODUCT,
            space: SPACE,
            time: NOON.plus_ms(i64::try_from(ticket / 200).expect("small")),
            policy: 7,
            entries: 0,
        };
        let ticket = u64::MAX - ticket;
        let record = encoder.encode::<Tickets>(head, &[], Some(&ticket));
        records.extend_from_slice(record.expect("it can be encoded"));
    }
    let mut projector = Projector::new(Positions::new());
    projector
        .take::<Tickets>(Group(3), Sequence(1), &records)
        .expect("it was encoded");
    let wrote = projector.write(&disk).expect("it can be written");
    assert_eq!(wrote.notes, 10_000);
    // A ticket takes 10 bytes, and 4 say whose it is and when.
    assert!(wrote.bytes < 10_000 * 15, "{wrote:?}");
    assert!(wrote.rows < 45, "{wrote:?}");
    let mut rows = 0;
    let day = history::day_of(NOON);
    disk.history_read(day, &[], &mut |key, value| {
        assert!(key.len() + value.len() < 4_000, "a row fits under one key");
        rows += 1;
        ControlFlow::Continue(())
    })
    .expect("it can be read");
    assert_eq!(rows, wrote.rows);
    assert_eq!(day, HistoryDay(20_000));
}
