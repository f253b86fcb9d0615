//! Counts of an overview against plain counts over a random history of decisions (§18).

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use smallvec::SmallVec;

use super::{HOUR_S, NOON, World};
use crate::contact::claim::{ClaimKind, ClaimVia};
use crate::contact::command::{Command, Direction, EffectKind, Route, Settlement};
use crate::contact::fixture::{
    AGENTS, SPACE, check, claim_on, contact_made, lift, lock, policy, reserve, settle, suppress,
};
use crate::contact::holdings::{Holdings, OwnershipRow};
use crate::contact::name::PurposeId;
use crate::contact::note::{Mark, Note, Noted};
use crate::contact::policy::HolderKind;
use crate::contact::reason::Verdict;
use crate::contact::reply::{EffectState, Reply};
use crate::contact::tally::{Became, Tally};
use crate::ids::Id;
use crate::key::SpaceId;
use crate::time::Timestamp;

/// A world, and the notes with their times.
struct Told {
    world: World,
    times: Vec<Timestamp>,
}

impl Told {
    fn new() -> Self {
        Self {
            world: World::new(),
            times: Vec::new(),
        }
    }

    fn run(&mut self, command: &Command) -> Reply {
        let reply = self.world.run(command);
        self.times.resize(self.world.notes.len(), self.world.now);
        reply
    }

    fn tally(&self, into: &mut Tally) {
        for (note, at) in self.world.notes.iter().zip(&self.times) {
            into.add(SPACE, *at, note);
        }
    }

    fn holdings(&self, since: Timestamp, parts: usize) -> Holdings {
        let mut all: Vec<Holdings> = vec![Holdings::default(); parts];
        for (place, (_, entity)) in self.world.entities.values().enumerate() {
            all[place % parts].see(entity, &self.world.policy, since, self.world.now);
        }
        let mut merged = Holdings::default();
        for part in all {
            merged.merge(part);
        }
        merged
    }
}

#[test]
fn a_contact_is_reserved_then_made_or_expired() {
    let mut told = Told::new();
    let count = |told: &Told, became| {
        let mut tally = Tally::default();
        told.tally(&mut tally);
        let now = told.world.now;
        let since = NOON.plus_s(-HOUR_S);
        let decided = tally.counts(SPACE, &told.world.policy, since, now);
        let found = decided.contacts.iter().filter(|one| one.became == became);
        found.map(|one| one.count).sum::<u64>()
    };
    let all =
        |told: &Told| [Became::Reserved, Became::Made, Became::Expired].map(|b| count(told, b));
    let Reply::Check(first) = told.run(&check().to("p").purpose("marketing").command()) else {
        panic!("a check");
    };
    told.run(&check().to("q").purpose("marketing").command());
    assert_eq!(all(&told), [2, 0, 0]);
    told.run(&contact_made("p", "marketing", Some(first.decision_id)));
    told.run(&contact_made("p", "marketing", Some(first.decision_id)));
    assert_eq!(all(&told), [1, 1, 0], "again is the same contact");
    told.run(&contact_made("p", "marketing", None));
    assert_eq!(all(&told), [1, 2, 0]);
    told.world.pass_s(60);
    assert_eq!(all(&told), [1, 2, 0], "its token is not over");
    told.world.pass_s(65);
    assert_eq!(all(&told), [0, 2, 1]);
    told.world.pass_s(25 * HOUR_S);
    assert_eq!(all(&told), [0, 2, 1]);
}

#[test]
fn without_a_token_an_allow_is_over_with_its_time_and_may_be_told_later() {
    let mut told = Told::new();
    let Reply::Check(first) = told.run(&check().to("p").command()) else {
        panic!("a check");
    };
    let states = |told: &Told| {
        let mut tally = Tally::default();
        told.tally(&mut tally);
        let decided = tally.counts(SPACE, &told.world.policy, NOON, told.world.now);
        let states = decided.contacts.into_iter();
        states
            .map(|one| (one.became, one.count))
            .collect::<Vec<_>>()
    };
    told.world.pass_s(59);
    assert_eq!(states(&told), [(Became::Reserved, 1)]);
    told.world.pass_s(1);
    assert_eq!(states(&told), [(Became::Expired, 1)]);
    told.run(&contact_made("p", "service", Some(first.decision_id)));
    assert_eq!(states(&told), [(Became::Made, 1)]);
}

#[test]
fn counts_start_with_an_hour_and_other_spaces_are_others() {
    let mut told = Told::new();
    told.run(&check().to("p").command());
    let mut tally = Tally::default();
    told.tally(&mut tally);
    let policy = &told.world.policy;
    let other = tally.counts(SpaceId([1; 16]), policy, NOON.plus_s(-60), NOON);
    assert!(other.contacts.is_empty());
    let mine = tally.counts(SPACE, policy, NOON.plus_s(1_234), NOON);
    assert_eq!((mine.since, mine.contacts.len()), (NOON, 1));
    let later = tally.counts(SPACE, policy, NOON.plus_s(HOUR_S), NOON);
    assert!(later.contacts.is_empty());
}

#[test]
fn above_its_bound_the_oldest_hour_goes_and_the_figures_say_so() {
    let mut told = Told::new();
    for _ in 0..10 {
        told.run(&check().to("p").command());
        told.world.pass_s(HOUR_S);
    }
    let mut tally = Tally::bounded(4);
    told.tally(&mut tally);
    let now = told.world.now;
    let decided = tally.counts(SPACE, &told.world.policy, NOON, now);
    assert_eq!(decided.since, NOON.plus_s(6 * HOUR_S));
    assert_eq!(decided.contacts.iter().map(|one| one.count).sum::<u64>(), 4);
}

#[test]
fn what_is_held_is_counted_by_kind_level_way_and_holder() {
    let mut told = Told::new();
    for (customer, holder) in [("a", "closing"), ("b", "closing"), ("c", "retention")] {
        told.run(&claim_on(customer, holder).command());
    }
    told.run(&claim_on("a", "maria").seen_by("panel", None));
    told.run(&crate::contact::fixture::command(
        crate::contact::fixture::AGENTS,
        crate::contact::command::Route::Claims,
        crate::contact::command::Body::LockTask(lock("o", "draft", "drafter")),
    ));
    let held = told.holdings(NOON, 3).ownership;
    let row = |kind, via, holder_kind| {
        let level = crate::contact::text::Text::from("agent_active");
        let row = OwnershipRow {
            kind,
            level,
            via,
            holder_kind,
        };
        held.get(&row).map(|held| (held.claims, held.holders.len()))
    };
    assert_eq!(
        row(ClaimKind::Owner, ClaimVia::Declaration, HolderKind::Agent),
        Some((3, 2))
    );
    assert_eq!(
        row(ClaimKind::Owner, ClaimVia::Worker, HolderKind::Human),
        Some((1, 1))
    );
    assert_eq!(
        row(
            ClaimKind::TaskLock,
            ClaimVia::Declaration,
            HolderKind::Agent
        ),
        Some((1, 1))
    );
    told.world.pass_s(601);
    assert!(told.holdings(NOON, 2).ownership.is_empty());
}

#[test]
fn a_budget_shows_who_has_nothing_left() {
    let mut told = Told::new();
    for (customer, times) in [("a", 1), ("b", 3), ("c", 5)] {
        for _ in 0..times {
            told.run(&check().to(customer).purpose("marketing").command());
        }
    }
    let used = told.holdings(NOON, 2).budgets[&PurposeId::of("marketing")];
    assert_eq!((used.subjects, used.spent, used.at_limit), (3, 7, 2));
}

#[test]
fn what_is_allowed_is_on_its_way_as_long_as_its_token_or_answer() {
    // What a token is signed for (§13), and what has none (§4.3).
    for (purpose, seconds) in [("marketing", 125), ("retention", 125), ("service", 60)] {
        let mut told = Told::new();
        told.run(&check().to("p").purpose(purpose).command());
        let mut tally = Tally::default();
        told.tally(&mut tally);
        let became = |after| {
            let now = NOON.plus_s(after);
            let decided = tally.counts(SPACE, &told.world.policy, NOON, now);
            decided
                .contacts
                .iter()
                .map(|one| one.became)
                .collect::<Vec<_>>()
        };
        assert_eq!(became(seconds - 1), [Became::Reserved], "{purpose}");
        assert_eq!(became(seconds), [Became::Expired], "{purpose}");
    }
}

/// A note with nothing but what is counted of it.
fn noted(purpose: &str, mark: Option<Mark>, allowed_at: Timestamp) -> Note {
    let mut id = [0; 16];
    id[..6].copy_from_slice(&allowed_at.0.to_be_bytes()[2..]);
    Note {
        route: Route::Check,
        source: AGENTS,
        decision_id: Some(Id(id)),
        decision: Noted::Accepted,
        reasons: SmallVec::new(),
        purpose: Some(PurposeId::of(purpose)),
        channel: None,
        direction: None,
        facts: SmallVec::new(),
        mark,
    }
}

/// What became of the contacts of a space, with how many.
fn became(tally: &Tally, space: SpaceId, now: Timestamp) -> Vec<(Became, u64)> {
    let decided = tally.counts(space, &policy(), NOON, now);
    let contacts = decided.contacts.iter();
    contacts.map(|one| (one.became, one.count)).collect()
}

fn allow(tally: &mut Tally, space: SpaceId, at: Timestamp) {
    let note = noted("service", Some(Mark::ContactReserved), at);
    tally.add(space, at, &note);
}

#[test]
fn reused_tokens_and_overlaps_add_up_over_purposes_hours_and_parts() {
    let told = |tokens: &[(&str, i64)], overlaps: usize| {
        let mut tally = Tally::default();
        for (purpose, hours) in tokens {
            let mut note = noted(purpose, None, NOON);
            note.decision = Noted::AcceptedTokenReused;
            tally.add(SPACE, NOON.plus_s(hours * HOUR_S), &note);
        }
        for _ in 0..overlaps {
            let note = noted("service", Some(Mark::OwnershipOverlap), NOON);
            tally.add(SPACE, NOON, &note);
        }
        tally
    };
    let mut tally = told(&[("marketing", 0), ("marketing", 0), ("retention", 0)], 2);
    tally.merge(&told(&[("marketing", 0), ("marketing", 1)], 1));
    let decided = tally.counts(SPACE, &policy(), NOON, NOON.plus_s(HOUR_S));
    assert_eq!((decided.tokens_reused, decided.ownership_overlaps), (5, 3));
}

#[test]
fn messages_of_customers_and_declared_contacts_add_up_over_parts() {
    let told = |count: usize| {
        let mut tally = Tally::default();
        let declared = noted("service", Some(Mark::ContactDeclared), NOON);
        let mut inbound = noted("service", None, NOON);
        inbound.decision = Noted::Check(Verdict::Allow);
        inbound.direction = Some(Direction::Inbound);
        for _ in 0..count {
            tally.add(SPACE, NOON, &declared);
            tally.add(SPACE, NOON, &inbound);
        }
        // What went the other way, or was handed over, is no message of a customer.
        let mut outbound = inbound.clone();
        outbound.direction = Some(Direction::Outbound);
        let mut handed = inbound;
        handed.decision = Noted::Check(Verdict::HandoffTo);
        tally.add(SPACE, NOON, &outbound);
        tally.add(SPACE, NOON, &handed);
        tally
    };
    let mut tally = told(2);
    tally.merge(&told(3));
    let decided = tally.counts(SPACE, &policy(), NOON, NOON);
    let contacts = decided.contacts.iter();
    let made = contacts.map(|one| (one.outbound, one.became, one.count));
    assert!(made.eq([(false, Became::Made, 5), (true, Became::Made, 5)]));
}

#[test]
fn a_contact_that_was_made_is_not_on_its_way_whoever_counted_it() {
    let made_at = NOON.plus_s(50);
    let made = noted("service", Some(Mark::ContactMade), made_at);
    let (mut tally, mut other) = (Tally::default(), Tally::default());
    allow(&mut tally, SPACE, NOON);
    allow(&mut tally, SPACE, made_at);
    other.merge(&tally);
    let now = NOON.plus_s(70);
    let wanted = [(Became::Reserved, 1), (Became::Expired, 1)];
    assert_eq!(became(&other, SPACE, now), wanted, "told by the other");
    tally.add(SPACE, made_at.plus_s(5), &made);
    let mut told_later = Tally::default();
    told_later.add(SPACE, made_at.plus_s(5), &made);
    other.merge(&told_later);
    for counted in [tally, other] {
        let wanted = [(Became::Made, 1), (Became::Expired, 1)];
        assert_eq!(became(&counted, SPACE, now), wanted);
    }
}

#[test]
fn above_its_bound_what_was_allowed_first_counts_as_over() {
    let mut tally = Tally::bounded(2);
    for second in 0..3 {
        allow(&mut tally, SPACE, NOON.plus_s(second));
    }
    assert_eq!(
        became(&tally, SPACE, NOON.plus_s(3)),
        [(Became::Reserved, 2), (Became::Expired, 1)]
    );
}

#[test]
fn what_is_counted_of_one_space_is_its_own() {
    let other = SpaceId([1; 16]);
    let mut tally = Tally::default();
    allow(&mut tally, SPACE, NOON);
    for _ in 0..2 {
        allow(&mut tally, other, NOON);
    }
    for (space, count) in [(SPACE, 1), (other, 2)] {
        let only = tally.only(space);
        let wanted = [(Became::Reserved, count)];
        assert_eq!(became(&only, space, NOON.plus_s(1)), wanted);
    }
    assert!(became(&tally.only(SPACE), other, NOON).is_empty());
}

#[test]
fn what_is_forgotten_stays_forgotten() {
    let mut tally = Tally::default();
    let later = NOON.plus_s(2 * HOUR_S);
    for at in [NOON, later] {
        allow(&mut tally, SPACE, at);
    }
    for at in [later.plus_s(5), NOON] {
        tally.forget_before(at);
        let decided = tally.counts(SPACE, &policy(), NOON, later);
        assert_eq!(decided.since, later, "the start of its hour");
        assert_eq!(became(&tally, SPACE, later), [(Became::Reserved, 1)]);
    }
}

/// A step of a random history: what, which customer, which purpose, how long after the last one.
type Step = (u8, u8, u8, i64);

fn play(told: &mut Told, steps: &[Step]) {
    let mut allowed = Vec::new();
    for &(what, customer, purpose, minutes) in steps {
        told.world.pass_s(minutes * 60);
        let customer = format!("c{customer}");
        let purpose = ["service", "marketing", "retention"][usize::from(purpose)];
        let command = match what {
            0 | 1 => check().to(&customer).purpose(purpose).command(),
            2 => check().to(&customer).purpose(purpose).inbound().command(),
            3 => contact_made(&customer, purpose, allowed.pop()),
            4 => claim_on(&customer, ["x", "y"][usize::from(purpose == "service")]).command(),
            5 => reserve(&format!("{customer}{purpose}")),
            6 => settle(&format!("{customer}{purpose}"), 1, Settlement::Done),
            7 => suppress(&customer, purpose).command(),
            _ => lift(&customer, purpose, None),
        };
        if let Reply::Check(reply) = told.run(&command)
            && reply.verdict == Verdict::Allow
        {
            allowed.push(reply.decision_id);
        }
    }
}

proptest! {
    /// Contacts, and effects and holders, against a count over the notes and entities one by one.
    #[test]
    fn an_overview_is_a_plain_count(
        steps in proptest::collection::vec((0_u8..9, 0_u8..4, 0_u8..3, 0_i64..90), 0..60),
        parts in 1_usize..4,
    ) {
        let mut told = Told::new();
        play(&mut told, &steps);
        let (first, second) = told.world.notes.split_at(told.world.notes.len() / 2);
        let (mut tally, mut rest) = (Tally::default(), Tally::default());
        for (note, at) in first.iter().zip(&told.times) {
            rest.add(SPACE, *at, note);
        }
        for (note, at) in second.iter().zip(&told.times[first.len()..]) {
            tally.add(SPACE, *at, note);
        }
        tally.merge(&rest);
        let now = told.world.now;
        let decided = tally.counts(SPACE, &told.world.policy, NOON, now);
        let sum = |outbound, became: Option<Became>| -> u64 {
            let of = decided.contacts.iter().filter(|one| {
                one.outbound == outbound && became.is_none_or(|became| one.became == became)
            });
            of.map(|one| one.count).sum()
        };
        let marked = |mark: Mark| {
            let notes = told.world.notes.iter();
            notes.filter(|note| note.mark.as_ref() == Some(&mark)).count() as u64
        };
        let contacts = marked(Mark::ContactReserved) + marked(Mark::ContactDeclared);
        prop_assert_eq!(sum(true, None), contacts);
        let made = marked(Mark::ContactMade) + marked(Mark::ContactDeclared);
        prop_assert_eq!(sum(true, Some(Became::Made)), made);
        prop_assert_eq!(sum(true, Some(Became::Reserved)), pending_plainly(&told));
        let inbound = told.world.notes.iter().filter(|note| {
            note.decision == Noted::Check(Verdict::Allow)
                && note.direction == Some(crate::contact::command::Direction::Inbound)
        });
        prop_assert_eq!(sum(false, None), inbound.count() as u64);
        prop_assert_eq!(decided.ownership_overlaps, marked(Mark::OwnershipOverlap));
        held_plainly(&told, parts)?;
    }
}

/// Contacts that were allowed, not told to be made, and whose time is not over, one by one.
fn pending_plainly(told: &Told) -> u64 {
    let notes = || told.world.notes.iter().zip(&told.times);
    let is_made = |id| {
        notes().any(|(note, _)| note.decision_id == id && note.mark == Some(Mark::ContactMade))
    };
    let pending = notes().filter(|(note, at)| {
        let has_token = ["marketing", "retention"].map(|name| Some(PurposeId::of(name)));
        let has_token = has_token.contains(&note.purpose);
        let life = if has_token { 125 } else { 60 };
        note.mark == Some(Mark::ContactReserved)
            && told.world.now < at.plus_s(life)
            && !is_made(note.decision_id)
    });
    pending.count() as u64
}

fn held_plainly(told: &Told, parts: usize) -> Result<(), TestCaseError> {
    let (now, holdings) = (told.world.now, told.holdings(NOON, parts));
    let mut effects: BTreeMap<(EffectKind, EffectState), u64> = BTreeMap::new();
    let (mut claims, mut holders) = (0, BTreeSet::new());
    for (_, entity) in told.world.entities.values() {
        if let Some(effect) = entity.as_effect() {
            *effects
                .entry((effect.kind, effect.state_at(now)))
                .or_default() += 1;
        }
        for claim in entity.claims().iter().filter(|claim| claim.is_live(now)) {
            claims += 1;
            holders.insert(claim.holder.clone());
        }
    }
    prop_assert_eq!(&holdings.effects, &effects);
    let unknown = effects
        .iter()
        .filter(|((_, state), _)| *state == EffectState::UnknownOutcome);
    prop_assert_eq!(
        holdings.awaiting_decision,
        unknown.map(|(_, count)| count).sum::<u64>()
    );
    let held = holdings.ownership.values();
    prop_assert_eq!(held.clone().map(|held| held.claims).sum::<u64>(), claims);
    prop_assert_eq!(
        held.map(|held| held.holders.len()).sum::<usize>(),
        holders.len()
    );
    Ok(())
}
