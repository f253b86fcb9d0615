//! Paid operations (§7): admissions, their settlements, calls that are effects.

use super::privacy::forget;
use super::{HOUR_S, World};
use crate::contact::Contact;
use crate::contact::admission::AdmissionState;
use crate::contact::command::{
    AdmissionPlace, AdmissionSettlement, Admit, Body, Command, EffectKind, EffectRef,
    ReserveEffect, Route, SettleAdmission, Settlement,
};
use crate::contact::directory::Target;
use crate::contact::fixture::{AGENTS, command, hash, settle, vault};
use crate::contact::name::OperationId;
use crate::contact::paid::{SPANS_MAX, space_budget_hash};
use crate::contact::policy::Policy;
use crate::contact::reason::Refusal;
use crate::contact::reply::{AdmissionReply, EffectState, Member, Reply};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::machine::{Decision, Machine};

use AdmissionSettlement::{Done, Failed, Skipped};

const RULES: &str = r#"{
    "effects": {"paid_call_operation": "lookup", "effect_lease_s": 60},
    "paid": {
        "search": {"scope": "subject", "limit_units": 10, "per_hours": 24, "call_ceiling": 4},
        "reread": {"scope": "object", "limit_units": 10, "per_hours": 1, "call_ceiling": 10},
        "lookup": {"scope": "space", "limit_units": 5, "per_hours": 24, "call_ceiling": 3}
    }
}"#;

pub(super) fn rules(document: &str) -> Policy {
    Policy::load(1, document, &vault()).expect("the rules are valid")
}

fn world() -> World {
    World::with(rules(RULES))
}

/// The target of an operation of the whole space.
pub(super) fn whole(operation: &str) -> Target {
    Target::Space(space_budget_hash(OperationId::of(operation)))
}

pub(super) fn admit(operation: &str, target: Target, units: Option<u32>, id: u8) -> Command {
    let body = Body::Admit(Admit {
        operation: Text::from(operation),
        target,
        units,
        new_id: Id([id; 16]),
    });
    command(AGENTS, Route::Admissions, body)
}

/// By customer `p`.
fn search(units: impl Into<Option<u32>>, id: u8) -> Command {
    admit("search", Target::Customer(hash("p")), units.into(), id)
}

pub(super) fn settle_admission(id: u8, settlement: AdmissionSettlement) -> Command {
    let body = Body::SettleAdmission(SettleAdmission {
        admission: Id([id; 16]),
        settlement,
        place: AdmissionPlace::ToFind,
    });
    command(AGENTS, Route::SettleAdmission, body)
}

pub(super) fn paid_call(key: &str, cost_units: u32) -> Command {
    let effect = EffectRef {
        rest: [0; 16],
        hash: hash(key),
        kind: EffectKind::PaidCall,
    };
    let body = Body::ReserveEffect(ReserveEffect {
        effect,
        cost_units,
        draws_on: Some(Text::from("lookup")),
        fact: None,
    });
    command(AGENTS, Route::Effects, body)
}

impl World {
    fn admission(&mut self, command: &Command) -> AdmissionReply {
        let reply = self.run(command);
        let Reply::Admission(reply) = reply else {
            panic!("an admission was answered with {reply:?}");
        };
        *reply
    }

    /// Units left of an operation, as the next admission of none would see it.
    fn left(&mut self, operation: &str, target: Target) -> u32 {
        let command = admit(operation, target, Some(0), 250);
        let Decision { reply, .. } = self.decide(&command);
        let Reply::Admission(reply) = reply else {
            panic!("an admission of no units was answered with {reply:?}");
        };
        reply.remaining.expect("the rules have the operation")
    }
}

#[test]
fn units_are_reserved_before_the_act_and_leave_the_window_after_it() {
    let mut world = world();
    let first = world.admission(&search(4, 1));
    assert_eq!(first.state, AdmissionState::Reserved);
    assert_eq!((first.units, first.remaining), (4, Some(6)));
    assert_eq!(first.expires_at, world.now.plus_s(60));
    world.pass_s(HOUR_S);
    assert_eq!(world.admission(&search(4, 2)).remaining, Some(2));
    let next_allowed_at = world.now.plus_s(23 * HOUR_S);
    assert_eq!(
        world.run(&search(3, 3)),
        Reply::Exhausted { next_allowed_at }
    );
    assert_eq!(world.admission(&search(2, 4)).remaining, Some(0));
    world.now = next_allowed_at.plus_ms(-1);
    assert_eq!(
        world.run(&search(4, 5)),
        Reply::Exhausted { next_allowed_at }
    );
    world.now = next_allowed_at;
    assert_eq!(world.admission(&search(4, 6)).remaining, Some(0));
}

#[test]
fn each_customer_object_and_operation_has_its_own_units() {
    let mut world = world();
    world.admission(&search(4, 1));
    let other = Target::Customer(hash("q"));
    assert_eq!(world.left("search", other), 10);
    assert_eq!(world.left("search", Target::Customer(hash("p"))), 6);
    let object = Target::Object(hash("p"));
    world.admission(&admit("reread", object, Some(10), 2));
    assert_eq!(world.left("reread", object), 0);
    assert_eq!(world.left("reread", Target::Object(hash("q"))), 10);
    assert_eq!(world.left("lookup", whole("lookup")), 5);
}

#[test]
fn a_call_above_the_ceiling_is_refused_and_takes_nothing() {
    let mut world = world();
    let refused = world.run(&search(5, 1));
    assert_eq!(refused, Reply::Refused(Refusal::OverCallCeiling));
    assert!(world.log.is_empty());
    let facts = &world.notes.last().expect("it is noted").facts;
    let names: Vec<_> = facts
        .iter()
        .map(|(fact, value)| (fact.name(), *value))
        .collect();
    assert_eq!(names, [("units", 5), ("ceiling", 4)]);
}

#[test]
fn an_unknown_cost_reserves_the_ceiling_until_one_is_measured() {
    let mut world = world();
    assert_eq!(world.admission(&search(None, 1)).units, 4);
    world.admission(&settle_admission(1, Done { cost: 2 }));
    let second = world.admission(&search(None, 2));
    assert_eq!((second.units, second.remaining), (2, Some(6)));
    // Another customer's calls measure the same operation, and a cheaper one does not lower it.
    world.admission(&settle_admission(2, Done { cost: 1 }));
    let other = admit("search", Target::Customer(hash("q")), None, 3);
    assert_eq!(world.admission(&other).units, 2);
    for (id, settlement) in [(4, Failed), (5, Skipped)] {
        world.admission(&search(3, id));
        world.admission(&settle_admission(id, settlement));
        assert_eq!(world.decided_units(), 2, "only what was done is measured");
    }
}

#[test]
fn a_measured_cost_above_the_ceiling_refuses_calls_that_name_none() {
    let mut world = world();
    world.admission(&search(1, 1));
    let settled = world.admission(&settle_admission(1, Done { cost: 9 }));
    assert_eq!((settled.units, settled.remaining), (9, Some(1)));
    let unknown = admit("search", Target::Customer(hash("q")), None, 2);
    assert_eq!(
        world.run(&unknown),
        Reply::Refused(Refusal::OverCallCeiling)
    );
    let named = admit("search", Target::Customer(hash("q")), Some(4), 3);
    assert_eq!(world.admission(&named).units, 4);
}

impl World {
    /// What a call of an unknown cost would reserve.
    fn decided_units(&mut self) -> u32 {
        let command = admit("search", Target::Customer(hash("fresh")), None, 251);
        let Reply::Admission(reply) = self.decide(&command).reply else {
            panic!("it is admitted");
        };
        reply.units
    }
}

#[test]
fn done_charges_the_real_cost_failed_keeps_it_and_skipped_gives_it_back() {
    for (settlement, left, units, state) in [
        (Done { cost: 1 }, 9, 1, AdmissionState::Done { cost: 1 }),
        (Done { cost: 4 }, 6, 4, AdmissionState::Done { cost: 4 }),
        (Done { cost: 30 }, 0, 30, AdmissionState::Done { cost: 30 }),
        (Done { cost: 0 }, 10, 0, AdmissionState::Done { cost: 0 }),
        (Failed, 6, 4, AdmissionState::Failed),
        (Skipped, 10, 0, AdmissionState::Skipped),
    ] {
        let mut world = world();
        world.admission(&search(4, 1));
        world.pass_s(5);
        let settled = world.admission(&settle_admission(1, settlement));
        assert_eq!((settled.state, settled.units), (state, units));
        assert_eq!(settled.remaining, Some(left), "{settlement:?}");
        assert_eq!(world.left("search", Target::Customer(hash("p"))), left);
    }
}

#[test]
fn an_admission_is_settled_once() {
    let mut world = world();
    world.admission(&search(4, 1));
    let first = world.admission(&settle_admission(1, Done { cost: 3 }));
    let changes = world.log.len();
    assert_eq!(
        world.admission(&settle_admission(1, Done { cost: 3 })),
        first
    );
    for other in [Done { cost: 2 }, Failed, Skipped] {
        let refused = world.run(&settle_admission(1, other));
        assert_eq!(
            refused,
            Reply::Refused(Refusal::InvalidTransition),
            "{other:?}"
        );
    }
    assert_eq!(world.log.len(), changes, "nothing of it changed anything");
    assert_eq!(world.run(&settle_admission(2, Failed)), Reply::NotFound);
}

#[test]
fn an_admission_nobody_settles_stays_spent_and_a_late_settlement_is_taken_for_a_day() {
    let mut world = world();
    let admitted = world.admission(&search(4, 1));
    world.now = admitted.expires_at.plus_s(HOUR_S);
    assert_eq!(world.left("search", Target::Customer(hash("p"))), 6);
    world.now = admitted.expires_at.plus_s(86_400 - 1);
    // The window is over as well: there is nothing to give back, and the answer says so.
    world.pass_s(0);
    assert_eq!(
        world.admission(&settle_admission(1, Skipped)).remaining,
        Some(10)
    );

    let admitted = world.admission(&search(4, 2));
    world.now = admitted.expires_at.plus_s(86_400);
    assert_eq!(world.run(&settle_admission(2, Skipped)), Reply::NotFound);
}

#[test]
fn a_settlement_after_the_window_measures_and_changes_no_units() {
    let mut world = world();
    let object = Target::Object(hash("o"));
    world.admission(&admit("reread", object, Some(2), 1));
    world.pass_s(HOUR_S);
    world.admission(&admit("reread", object, Some(10), 2));
    let settled = world.admission(&settle_admission(1, Done { cost: 7 }));
    assert_eq!(
        settled.remaining,
        Some(0),
        "the other call's units are not touched"
    );
    let fresh = admit("reread", Target::Object(hash("other")), None, 3);
    assert_eq!(world.admission(&fresh).units, 7);
}

#[test]
fn a_settlement_finds_nothing_to_correct_on_a_customer_that_is_forgotten() {
    let mut world = world();
    let object = Target::Object(hash("o"));
    world.admission(&admit("reread", object, Some(10), 1));
    world.pass_s(HOUR_S);
    assert_eq!(world.sweep(), 1, "the object");
    let settled = world.admission(&settle_admission(1, Skipped));
    assert_eq!(settled.remaining, Some(10));
    let named: Vec<_> = world.entities.keys().map(|key| key.kind.name()).collect();
    assert_eq!(named, ["directory"], "no entity came back");
}

/// What a purge or an erasure took is not looked for in what was drawn since.
#[test]
fn a_late_settlement_touches_no_units_that_were_drawn_since() {
    let mut world = world();
    let object = Target::Object(hash("o"));
    world.admission(&admit("reread", object, Some(10), 1));
    world.pass_s(HOUR_S);
    assert_eq!(world.sweep(), 1, "the object");
    world.admission(&admit("reread", object, Some(10), 2));
    let settled = world.admission(&settle_admission(1, Skipped));
    assert_eq!(settled.remaining, Some(0));
    world.admission(&search(4, 3));
    let Reply::Erased(took) = world.run(&forget("p", 9, &[])) else {
        panic!("the customer is not held");
    };
    assert_eq!(took.erased.paid_units, 4);
    world.pass_s(1);
    world.admission(&search(4, 4));
    let settled = world.admission(&settle_admission(3, Skipped));
    assert_eq!(settled.remaining, Some(6));
}

#[test]
fn what_was_measured_is_never_forgotten() {
    let mut world = world();
    world.admission(&search(4, 1));
    world.admission(&settle_admission(1, Done { cost: 3 }));
    world.pass_s(400 * 86_400);
    world.sweep();
    assert_eq!(world.admission(&search(None, 2)).units, 3);
}

#[test]
fn nothing_is_admitted_without_memory_or_a_clock_and_settlements_go_on() {
    let mut world = world();
    world.admission(&search(4, 1));
    let changes = world.log.len();
    world.full = true;
    assert_eq!(world.run(&search(1, 2)), Reply::Capacity);
    assert_eq!(world.run(&paid_call("k", 1)), Reply::Capacity);
    world.full = false;
    world.clock_suspect = true;
    assert_eq!(world.run(&search(1, 2)), Reply::ClockSuspect);
    assert_eq!(world.run(&paid_call("k", 1)), Reply::ClockSuspect);
    assert_eq!(world.log.len(), changes);
    world.full = true;
    let settled = world.admission(&settle_admission(1, Skipped));
    assert_eq!(settled.remaining, Some(10));
}

#[test]
fn an_operation_of_another_scope_or_name_is_not_declared() {
    let mut world = world();
    for (operation, target) in [
        ("search", Target::Object(hash("p"))),
        ("search", whole("search")),
        ("reread", Target::Customer(hash("p"))),
        ("lookup", Target::Customer(hash("p"))),
        ("unheard", Target::Customer(hash("p"))),
    ] {
        let command = admit(operation, target, Some(1), 1);
        let undeclared = Reply::Undeclared(Member::Operation);
        assert_eq!(world.run(&command), undeclared, "{operation}");
        let rebound = Contact::rebind(&mut command.clone(), &world.policy);
        assert_eq!(rebound, Err(undeclared));
    }
    let mut command = search(1, 1);
    assert_eq!(Contact::rebind(&mut command, &world.policy), Ok(()));
}

#[test]
fn a_settlement_outlives_the_rules_of_its_operation() {
    let mut world = world();
    world.admission(&search(4, 1));
    world.policy = Policy::load(2, "{}", &vault()).expect("a policy");
    let settled = world.admission(&settle_admission(1, Done { cost: 2 }));
    assert_eq!(&*settled.operation, "search");
    assert_eq!((settled.units, settled.remaining), (2, None));
}

#[test]
fn a_lowered_limit_admits_nothing_until_enough_has_left() {
    let mut world = world();
    world.admission(&search(4, 1));
    world.pass_s(HOUR_S);
    world.admission(&search(4, 2));
    let lowered = RULES.replace(
        r#""limit_units": 10, "per_hours": 24"#,
        r#""limit_units": 4, "per_hours": 24"#,
    );
    world.policy = Policy::load(2, &lowered, &vault()).expect("a policy");
    let next_allowed_at = world.now.plus_s(24 * HOUR_S);
    assert_eq!(
        world.run(&search(1, 3)),
        Reply::Exhausted {
            next_allowed_at: world.now.plus_s(24 * HOUR_S)
        }
    );
    // A call that costs nothing is never without its units, and hides nothing of the others.
    assert_eq!(world.admission(&search(0, 4)).remaining, Some(0));
    world.now = next_allowed_at;
    assert_eq!(world.admission(&search(4, 5)).remaining, Some(0));
}

#[test]
fn a_paid_call_reserves_effect_and_units_together_or_neither() {
    let mut world = world();
    let reserved = world.effect(&paid_call("a", 3));
    assert!(reserved.created);
    assert_eq!(world.left("lookup", whole("lookup")), 2);
    let changes = world.log.len();
    assert_eq!(
        world.run(&paid_call("b", 4)),
        Reply::Refused(Refusal::OverCallCeiling)
    );
    let next_allowed_at = world.now.plus_s(24 * HOUR_S);
    assert_eq!(
        world.run(&paid_call("b", 3)),
        Reply::Exhausted { next_allowed_at }
    );
    assert_eq!(world.log.len(), changes, "no unit and no effect");
    assert!(world.effect_row("b").is_none());
    assert_eq!(
        world.run(&paid_call("a", 1)),
        Reply::Refused(Refusal::EffectInFlight)
    );
    assert_eq!(
        world.left("lookup", whole("lookup")),
        2,
        "a held key takes none"
    );
}

#[test]
fn a_failed_paid_call_keeps_its_units_and_a_done_key_takes_no_more() {
    let mut world = world();
    world.effect(&paid_call("a", 2));
    world.effect(&settle("a", 1, Settlement::Failed));
    assert_eq!(world.left("lookup", whole("lookup")), 3);
    let next = world.effect(&paid_call("a", 1));
    assert_eq!((next.created, next.attempt), (true, 2));
    world.effect(&settle("a", 2, Settlement::Done));
    let again = world.effect(&paid_call("a", 1));
    assert_eq!((again.created, again.state), (false, EffectState::Done));
    assert_eq!(world.left("lookup", whole("lookup")), 2);
}

#[test]
fn a_cost_without_an_operation_is_noted_and_caps_nothing() {
    let mut world = World::with(rules("{}"));
    let mut call = paid_call("a", 1_000);
    if let Body::ReserveEffect(reserve) = &mut call.body {
        reserve.draws_on = None;
    }
    assert_eq!(Contact::keys(&call).len(), 1);
    assert!(world.effect(&call).created);
    let facts = &world.notes.last().expect("it is noted").facts;
    assert_eq!(
        facts
            .iter()
            .map(|(fact, value)| (fact.name(), *value))
            .collect::<Vec<_>>(),
        [("units", 1_000)]
    );
    // An operation that newer rules dropped caps nothing either.
    assert!(world.effect(&paid_call("b", 1_000)).created);
}

#[test]
fn a_busy_meter_joins_old_units_and_never_lets_one_go_early() {
    let document = r#"{"paid": {"lookup": {"scope": "space", "limit_units": 100000, "per_hours": 1,
        "call_ceiling": 100}}}"#;
    let mut world = World::with(rules(document));
    let start = world.now;
    // One unit a second: more entries than are kept one by one.
    let calls = u32::try_from(SPANS_MAX).expect("few") * 3;
    for call in 0..calls {
        world.now = start.plus_s(i64::from(call));
        world.run_unchecked(&admit("lookup", whole("lookup"), Some(1), 1));
    }
    assert_eq!(world.left("lookup", whole("lookup")), 100_000 - calls);
    let budget = world
        .entities
        .values()
        .find_map(|(_, known)| known.as_space_budget());
    budget
        .expect("it is there")
        .meters
        .check()
        .expect("C7 holds");
    // A joined unit counts until its own window is over, and at most a part of the window longer.
    for passed in 0..i64::from(calls) {
        world.now = start.plus_s(HOUR_S + passed);
        let exact = i64::from(calls) - 1 - passed;
        let counted = 100_000 - i64::from(world.left("lookup", whole("lookup")));
        let longer = HOUR_S / super::super::paid::PARTS + 1;
        assert!(
            (exact..=exact + longer).contains(&counted),
            "{passed}: {counted}"
        );
    }
}
