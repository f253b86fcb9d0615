//! Meters of paid operations at their edges (§7, C7): when units leave, what a settlement changes,
//! and what a broken meter is.

use serde_json::{Value, json};

use super::paid::{admit, paid_call, rules, settle_admission, whole};
use super::privacy::forget;
use super::{HOUR_S, NOON, World};
use crate::contact::Contact;
use crate::contact::command::AdmissionSettlement::{Done, Skipped};
use crate::contact::command::Command;
use crate::contact::directory::Target;
use crate::contact::entity::ContactEntity;
use crate::contact::event::{Event, UnitsReserved};
use crate::contact::fixture::hash;
use crate::contact::name::OperationId;
use crate::contact::paid::{self, Meters, SPANS_MAX, SpaceBudget};
use crate::contact::reply::Reply;
use crate::key::Kind;
use crate::machine::Machine;
use crate::time::Timestamp;

const RULES: &str = r#"{
    "effects": {"paid_call_operation": "lookup", "effect_lease_s": 60},
    "paid": {
        "search": {"scope": "subject", "limit_units": 10, "per_hours": 24, "call_ceiling": 4},
        "glance": {"scope": "subject", "limit_units": 10, "per_hours": 1, "call_ceiling": 4},
        "reread": {"scope": "object", "limit_units": 10, "per_hours": 1, "call_ceiling": 10},
        "lookup": {"scope": "space", "limit_units": 1000, "per_hours": 1, "call_ceiling": 3}
    }
}"#;

fn world() -> World {
    World::with(rules(RULES))
}

fn customer() -> Target {
    Target::Customer(hash("p"))
}

/// The kinds of entities that a command changes.
fn changes(world: &mut World, command: &Command) -> Vec<Kind> {
    let before = world.log.len();
    let reply = world.run(command);
    assert!(matches!(reply, Reply::Admission(_)), "{reply:?}");
    let changes = world.log[before..].iter();
    changes.map(|(key, _)| key.kind).collect()
}

/// A space's budget with one unit of `lookup` drawn at each of these instants.
fn drawn(instants: impl IntoIterator<Item = Timestamp>) -> ContactEntity {
    let mut entity = ContactEntity::SpaceBudget(Box::<SpaceBudget>::default());
    for at in instants {
        let reserved = UnitsReserved {
            operation: OperationId::of("lookup"),
            units: 1,
            at,
            keep_hours: 1,
            limit: 1_000,
        };
        Contact::apply(&mut entity, &Event::UnitsReserved(reserved));
    }
    entity
}

#[test]
fn a_meter_counts_each_unit_exactly_up_to_its_bound() {
    let world = world();
    let budget = world.policy.paid_budget("lookup").expect("it is declared");
    let units = i64::try_from(SPANS_MAX).expect("few");
    let entity = drawn((0..units).map(|second| NOON.plus_s(second)));
    let operation = OperationId::of("lookup");
    for passed in 0..units {
        let now = NOON.plus_s(HOUR_S + passed);
        let look = paid::look(entity.meters(), operation, budget, now);
        let left = u64::try_from(units - 1 - passed).expect("some");
        assert_eq!(look.used, left, "{passed} s after the first left");
    }
}

#[test]
fn units_that_were_never_drawn_are_not_there_to_be_corrected() {
    let entity = drawn([NOON]);
    let meters = entity.meters().expect("meters");
    let lookup = OperationId::of("lookup");
    assert!(meters.holds(lookup, NOON));
    assert!(!meters.holds(lookup, NOON.plus_ms(1)), "later than any");
    assert!(!meters.holds(lookup, NOON.plus_ms(-1)), "before the first");
    assert!(!meters.holds(OperationId::of("search"), NOON));
}

#[test]
fn the_meter_of_another_operation_goes_when_its_window_is_over() {
    for (passed_ms, is_kept) in [(HOUR_S * 1_000 - 1, true), (HOUR_S * 1_000, false)] {
        let mut world = world();
        world.run(&admit("glance", customer(), Some(1), 1));
        world.now = NOON.plus_ms(passed_ms);
        world.run(&admit("search", customer(), Some(1), 2));
        let paid = world.customer("p").rare.paid.as_deref().expect("meters");
        let has = |operation| paid.of(OperationId::of(operation)).is_some();
        assert_eq!((has("glance"), has("search")), (is_kept, true));
    }
}

#[test]
fn what_keeps_nothing_but_units_lives_until_the_last_has_left() {
    for (operation, target, hours) in [
        ("search", customer(), 24),
        ("reread", Target::Object(hash("o")), 1),
        ("lookup", whole("lookup"), 1),
    ] {
        let mut world = world();
        world.run(&admit(operation, target, Some(1), 1));
        let lives = |world: &World| {
            let mut kinds = world.entities.keys().map(|key| key.kind);
            kinds.any(|kind| kind != Kind::Directory)
        };
        world.now = NOON.plus_s(hours * HOUR_S).plus_ms(-1);
        world.sweep();
        assert!(lives(&world), "{operation}");
        world.now = NOON.plus_s(hours * HOUR_S);
        world.sweep();
        assert!(!lives(&world), "{operation}");
    }
}

#[test]
fn a_call_that_costs_nothing_draws_on_no_budget() {
    let mut world = world();
    let call = paid_call("k", 0);
    assert_eq!(Contact::keys(&call).len(), 1);
    // No window is looked at, so no clock has to be right.
    world.clock_suspect = true;
    assert!(world.effect(&call).created);
    assert_eq!(world.log.len(), 1);
    assert!(world.notes[0].facts.is_empty());
}

#[test]
fn a_settlement_records_nothing_that_stays_as_it_is() {
    let mut world = world();
    let object = Target::Object(hash("o"));
    world.run(&admit("reread", object, Some(2), 1));
    world.pass_s(HOUR_S);
    world.run(&admit("reread", object, Some(3), 2));
    let late = changes(&mut world, &settle_admission(1, Skipped));
    assert_eq!(late, [Kind::Directory], "its units had left the window");
    for (id, cost, highest) in [(3, 2, true), (4, 2, false), (5, 1, false), (6, 3, true)] {
        let target = Target::Customer(hash(&id.to_string()));
        world.run(&admit("search", target, Some(4), id));
        let settled = changes(&mut world, &settle_admission(id, Done { cost }));
        let measures = settled.contains(&Kind::SpaceBudget);
        assert_eq!(measures, highest, "{cost}");
    }
}

/// The look-up of an id and the settlement itself are two moments.
#[test]
fn an_admission_that_is_forgotten_or_elsewhere_is_not_settled() {
    let mut world = world();
    let Reply::Admission(made) = world.run(&admit("search", customer(), Some(4), 1)) else {
        panic!("it is admitted");
    };
    let settle = |target| {
        let operation = OperationId::of("search");
        let found = Reply::FoundAdmission { target, operation };
        Contact::looked_up(settle_admission(1, Skipped), found).expect("complete")
    };
    let elsewhere = world.decide(&settle(Target::Customer(hash("q"))));
    assert_eq!(elsewhere.reply, Reply::NotFound);
    let until = made.expires_at.plus_s(86_400);
    for (now, is_there) in [(until.plus_ms(-1), true), (until, false)] {
        world.now = now;
        let look_up = Contact::look_up(&settle_admission(1, Skipped)).expect("a look-up");
        for command in [look_up, settle(customer())] {
            let reply = world.decide(&command).reply;
            assert_eq!(reply != Reply::NotFound, is_there);
        }
    }
}

fn left(world: &mut World, command: &Command) -> Option<u32> {
    let reply = world.run(command);
    let Reply::Admission(admission) = reply else {
        panic!("{reply:?}");
    };
    admission.remaining
}

/// All within one millisecond: draws, erasures, draws on another operation, late settlements.
#[test]
fn no_admission_shares_its_moment_with_one_that_was_erased() {
    let mut world = world();
    left(&mut world, &admit("search", customer(), Some(2), 1));
    left(&mut world, &admit("glance", customer(), Some(3), 2));
    world.run(&forget("p", 100, &[]));
    let paid = world.customer("p").rare.paid.as_deref().expect("a moment");
    assert_eq!(paid.units(), 0, "no unit is left");
    assert_eq!(world.sweep(), 0, "what is drawn now must find the moment");
    assert_eq!(
        left(&mut world, &admit("glance", customer(), Some(4), 3)),
        Some(6)
    );
    world.run(&forget("p", 101, &[]));
    assert_eq!(
        left(&mut world, &admit("search", customer(), Some(1), 4)),
        Some(9)
    );
    assert_eq!(
        left(&mut world, &admit("glance", customer(), Some(1), 5)),
        Some(9)
    );
    for id in 1..=3 {
        let settled = changes(&mut world, &settle_admission(id, Done { cost: 4 }));
        assert!(!settled.contains(&Kind::Customer), "{id} was erased");
    }
    assert_eq!(
        left(&mut world, &settle_admission(4, Done { cost: 3 })),
        Some(7)
    );
    assert_eq!(left(&mut world, &settle_admission(5, Skipped)), Some(10));
}

#[test]
fn an_erasure_leaves_no_moment_that_is_over() {
    let mut world = world();
    left(&mut world, &admit("search", customer(), Some(2), 1));
    world.now = NOON.plus_ms(1);
    world.run(&forget("p", 100, &[]));
    assert_eq!(world.customer("p").rare.paid, None);
    assert_eq!(world.sweep(), 1, "nothing of the customer is left");
}

#[test]
fn the_moment_that_an_erasure_left_goes_with_its_millisecond() {
    let mut world = world();
    left(&mut world, &admit("search", customer(), Some(2), 1));
    world.run(&forget("p", 100, &[]));
    assert_eq!(world.sweep(), 0);
    world.now = NOON.plus_ms(1);
    assert_eq!(world.sweep(), 1);
}

/// A log of an earlier build has draws that share a moment with what was erased.
#[test]
fn records_of_builds_that_left_no_moment_are_taken_as_they_are() {
    let mut world = world();
    left(&mut world, &admit("search", customer(), Some(2), 1));
    world.run(&forget("p", 100, &[]));
    let of_p = crate::contact::key(crate::contact::fixture::SPACE, Kind::Customer, hash("p"));
    let mut entity = world.entities[&of_p].1.clone();
    let search = OperationId::of("search");
    let reserved = UnitsReserved {
        operation: search,
        units: 4,
        at: NOON,
        keep_hours: 24,
        limit: 10,
    };
    Contact::apply(&mut entity, &Event::UnitsReserved(reserved));
    assert_eq!(Contact::check(&entity), Ok(()));
    assert!(
        entity
            .meters()
            .is_some_and(|known| known.holds(search, NOON))
    );
}

#[test]
fn a_call_of_no_units_is_charged_what_its_settlement_reports() {
    for (operation, target) in [
        ("search", customer()),
        ("reread", Target::Object(hash("o"))),
        ("lookup", whole("lookup")),
    ] {
        let mut world = world();
        let before = left(&mut world, &admit(operation, target, Some(0), 1)).expect("a limit");
        world.pass_s(HOUR_S - 1);
        let after = left(&mut world, &settle_admission(1, Done { cost: 7 }));
        assert_eq!(after, Some(before - 7), "{operation}");
    }
}

/// A meter of one operation as it would be stored.
fn stored(limit: u32, charged: u64, spans: Vec<Value>) -> Option<&'static str> {
    let meter = json!([{
        "operation": 1, "keep_hours": 24, "limit": limit, "charged": charged, "gone_until": 10,
        "spans": spans,
    }]);
    let meters: Meters = serde_json::from_value(meter).expect("meters");
    let entity = ContactEntity::SpaceBudget(Box::new(SpaceBudget {
        measured: None,
        meters,
    }));
    Contact::check(&entity).err().map(|broken| broken.invariant)
}

#[test]
fn law_c7_a_broken_meter_is_seen() {
    let span = |at: i64, units: u64| json!({"at": at, "units": units});
    let two = |first, second| vec![span(first, 2), span(second, 3)];
    assert_eq!(stored(5, 0, two(11, 12)), None);
    assert_eq!(stored(3, 2, two(11, 12)), None, "a settlement charged more");
    for (limit, charged) in [(4, 0), (3, 1), (0, 4)] {
        assert_eq!(stored(limit, charged, two(11, 12)), Some("C7"));
    }
    for (first, second) in [(12, 11), (11, 11), (10, 11)] {
        assert_eq!(stored(5, 0, two(first, second)), Some("C7"), "{first}");
    }
    let many = |count: usize| (11..).take(count).map(|at| span(at, 0)).collect();
    assert_eq!(stored(5, 0, many(SPANS_MAX)), None);
    assert_eq!(stored(5, 0, many(SPANS_MAX + 1)), Some("C7"));
}

/// What a call cost is charged whatever was reserved for it, nothing too.
#[test]
fn a_call_that_was_reserved_with_no_units_is_charged_what_it_cost() {
    for others in [0, 1, SPANS_MAX] {
        let mut world = World::with(rules(RULES));
        let search = |units, id| admit("search", Target::Customer(hash("p")), Some(units), id);
        world.run(&search(0, 1));
        for _ in 0..others {
            world.now = world.now.plus_ms(1);
            world.run_unchecked(&search(0, 2));
        }
        for command in [settle_admission(1, Done { cost: 7 }), search(0, 3)] {
            let reply = world.run(&command);
            let Reply::Admission(reply) = reply else {
                panic!("an admission was answered with {reply:?}");
            };
            assert_eq!(reply.remaining, Some(3), "{others}: {command:?}");
        }
    }
}
