//! The order of an outbound check (§4.2): every step, and every pair of steps.

use super::{
    ALLOWED, NOON, World, budget_of, claim_of, decided, deferred, denied, intent, lock_of,
};
use crate::contact::command::{Check, Settlement};
use crate::contact::fixture::{check, contact_made, declare_effect, suppress};
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{EffectView, EffectViewState};
use crate::contact::window::Window;

/// What makes each step decide for customer `p`, effect `k`, object `o`, task `t`, channel
/// `always_quiet`, purpose `collection`, intent `reminder`; in the order of the steps.
type Arrange = fn(&mut World);

const STEPS: [(&str, Arrange, Verdict, Reason); 9] = [
    ("clock", arrange_clock, Verdict::Defer, Reason::Unavailable),
    ("effect", arrange_effect, Verdict::Deny, Reason::EffectDone),
    (
        "suppression",
        arrange_suppression,
        Verdict::Deny,
        Reason::Suppressed,
    ),
    (
        "window",
        arrange_window,
        Verdict::Defer,
        Reason::ContactWindow,
    ),
    (
        "holder",
        arrange_holder,
        Verdict::Defer,
        Reason::OwnerActive,
    ),
    ("lock", arrange_lock, Verdict::Defer, Reason::LockHeld),
    (
        "budget",
        arrange_budget,
        Verdict::Deny,
        Reason::BudgetExhausted,
    ),
    (
        "pacing",
        arrange_pacing,
        Verdict::Defer,
        Reason::BudgetPaced,
    ),
    ("quiet", arrange_quiet, Verdict::Defer, Reason::QuietHours),
];

fn arrange_clock(world: &mut World) {
    world.clock_suspect = true;
}

fn arrange_effect(world: &mut World) {
    world.check(check().effect("k"));
    world.declare(&declare_effect("k", 1, Settlement::Done));
}

fn arrange_suppression(world: &mut World) {
    world.declare(&suppress("p", "collection").command());
}

fn arrange_window(world: &mut World) {
    let mut added = suppress("p", "any");
    added.window = Some(Window::new("11:00", "14:00", "UTC", None).expect("a window"));
    world.declare(&added.command());
}

fn arrange_holder(world: &mut World) {
    world.claim("p", claim_of("specialist", 1));
}

fn arrange_lock(world: &mut World) {
    world.object("o", |object| object.locks.push(lock_of("billing", "t", 1)));
}

/// Four declared contacts: the whole is spent, the slice of `reminder` is not.
fn arrange_budget(world: &mut World) {
    for _ in 0..4 {
        world.declare(&contact_made("p", "collection", None));
    }
}

/// A reminder just now: the slice's next unit is a day away.
fn arrange_pacing(world: &mut World) {
    world.check(check().purpose("collection").intent("reminder").to("p"));
}

/// The channel is quiet already; see [`asked`].
fn arrange_quiet(_: &mut World) {}

pub(super) fn asked() -> Check {
    check()
        .purpose("collection")
        .intent("reminder")
        .to("p")
        .about("o")
        .task("t")
        .effect("k")
        .on("always_quiet")
}

/// The arrangements run in an order in which none stops another: contacts first.
const ARRANGE_ORDER: [usize; 9] = [7, 6, 1, 2, 3, 4, 5, 8, 0];

pub(super) fn arranged(steps: &[usize]) -> World {
    let mut world = World::new();
    for step in ARRANGE_ORDER {
        if steps.contains(&step) {
            (STEPS[step].1)(&mut world);
        }
    }
    world
}

#[test]
fn each_step_decides_alone() {
    for (place, (name, _, verdict, reason)) in STEPS.iter().enumerate() {
        let mut world = arranged(&[place]);
        let check = if place == 8 {
            asked()
        } else {
            asked().on("whatsapp")
        };
        let reply = world.check(check);
        assert_eq!(decided(&reply), (*verdict, Some(*reason)), "{name}");
        // Where nothing was looked at, nothing may be relied on (§4.3).
        let valid_for_s = if *name == "clock" { 0 } else { 60 };
        assert_eq!(reply.valid_for_s, valid_for_s, "{name}");
    }
}

#[test]
fn d4_d5_d6_d7_d8_of_two_steps_the_earlier_decides() {
    for (earlier, (name, _, verdict, reason)) in STEPS.iter().enumerate() {
        for (later, (other, ..)) in STEPS.iter().enumerate().skip(earlier + 1) {
            let mut world = arranged(&[earlier, later]);
            let reply = world.check(asked());
            let pair = format!("{name} before {other}");
            assert_eq!(decided(&reply), (*verdict, Some(*reason)), "{pair}");
        }
    }
}

#[test]
fn all_steps_at_once_the_first_decides() {
    let mut world = arranged(&[0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        decided(&world.check(asked())),
        deferred(Reason::Unavailable)
    );
    world.clock_suspect = false;
    assert_eq!(decided(&world.check(asked())), denied(Reason::EffectDone));
}

#[test]
fn d1_a_check_of_nobody_known_is_allowed_and_shows_nothing() {
    let mut world = World::new();
    let reply = world.check(check().to("p"));
    assert_eq!(decided(&reply), ALLOWED);
    assert_eq!(reply.valid_for_s, 60);
    assert!(reply.owner.is_none() && reply.locks.is_empty() && reply.suppressions.is_empty());
    assert!(reply.effect.is_none() && reply.channel.is_none() && !reply.sign);
}

#[test]
fn d2_two_checks_have_two_decision_ids() {
    let mut world = World::new();
    let first = world.check(check().to("p"));
    let second = world.check(check().to("p"));
    assert_ne!(first.decision_id, second.decision_id);
    assert_eq!(first.decision_id.0[6] >> 4, 7, "version 7");
}

#[test]
fn d3_a_check_without_a_subject_is_about_the_effect_alone() {
    let mut world = World::new();
    let first = world.check(check().purpose("retention").effect("k"));
    assert_eq!(decided(&first), ALLOWED);
    assert!(first.budgets.is_empty());
    let second = world.check(check().purpose("retention").effect("k"));
    assert_eq!(decided(&second), denied(Reason::EffectInFlight));
}

#[test]
fn d9_a_check_that_does_not_allow_reserves_no_effect() {
    // Every step after the effect; the key is free in each.
    for (place, (name, ..)) in STEPS.iter().enumerate().skip(2) {
        let mut world = arranged(&[place]);
        let reply = world.check(asked());
        assert_ne!(reply.verdict, Verdict::Allow);
        assert_eq!(reply.effect, None, "a free key is left out");
        let again = world.check(check().effect("k"));
        let none = EffectView {
            state: EffectViewState::None,
            attempt: 1,
        };
        assert_eq!(again.effect, Some(none), "{name}");
    }
}

#[test]
fn d10_a_deferred_check_spends_nothing() {
    let mut world = World::new();
    world.claim("p", claim_of("specialist", 1));
    let retention = || check().purpose("retention").to("p");
    let held = world.check(retention());
    assert_eq!(decided(&held), deferred(Reason::OwnerActive));
    assert_eq!(budget_of(&held, "retention").remaining, 1);
    world.release_claims("p");
    assert_eq!(decided(&world.check(retention())), ALLOWED);
}

#[test]
fn d17_two_checks_in_order_compete_for_the_last_unit() {
    let mut world = World::new();
    let retention = || check().purpose("retention").to("p");
    assert_eq!(decided(&world.check(retention())), ALLOWED);
    let second = world.check(retention());
    assert_eq!(decided(&second), denied(Reason::BudgetExhausted));
}

#[test]
fn d19_every_reason_has_a_distinct_slug_and_number() {
    let slugs: std::collections::BTreeSet<_> =
        Reason::ALL.iter().map(|reason| reason.slug()).collect();
    assert_eq!(slugs.len(), Reason::ALL.len());
    for (number, reason) in Reason::ALL.iter().enumerate() {
        assert_eq!(*reason as usize, number, "{}", reason.slug());
    }
}

#[test]
fn o1_o2_the_holder_and_its_listed_intents_pass() {
    let mut world = World::new();
    let mut claim = claim_of("specialist", 1);
    claim.intents = vec![intent("proposal_followup")];
    world.claim("p", claim);
    let other = world.check(check().to("p"));
    assert_eq!(decided(&other), deferred(Reason::OwnerActive));
    let owner = other.owner.expect("the owner is shown");
    assert_eq!((&*owner.holder, owner.epoch), ("specialist", 1));
    let listed = world.check(check().to("p").intent("proposal_followup"));
    assert_eq!(decided(&listed), ALLOWED);
    assert!(listed.owner.is_some(), "shown on an allow too");
    assert_eq!(
        decided(&world.check(check().to("p").by("specialist"))),
        ALLOWED
    );
}

#[test]
fn o4_o5_the_strictest_claim_holds_and_then_the_softer_one() {
    let mut world = World::new();
    world.claim("p", claim_of("closing", 1));
    let mut stricter = claim_of("ana", 2);
    (stricter.rank, stricter.until) = (1, NOON.plus_s(60));
    world.claim("p", stricter);
    assert_eq!(
        decided(&world.check(check().to("p"))),
        deferred(Reason::OwnerActive)
    );
    world.pass_s(60);
    assert_eq!(decided(&world.check(check().to("p"))), ALLOWED);
}

#[test]
fn o9_a_claim_past_its_end_holds_nobody() {
    let mut world = arranged(&[4]);
    world.pass_s(3_599);
    assert_eq!(
        decided(&world.check(check().to("p"))),
        deferred(Reason::OwnerActive)
    );
    world.pass_s(1);
    let free = world.check(check().to("p"));
    assert_eq!((decided(&free), free.owner), (ALLOWED, None));
}

#[test]
fn of_subject_and_object_the_stricter_holder_decides() {
    // (rank on the customer, rank on the object, accepted later, who governs)
    let table = [
        (1, 4, "customer", "on_customer"),
        (4, 1, "customer", "on_object"),
        (4, 4, "customer", "on_customer"),
        (4, 4, "object", "on_object"),
    ];
    for (customer_rank, object_rank, later, governs) in table {
        let mut world = World::new();
        let mut on_customer = claim_of("on_customer", 1);
        let mut on_object = claim_of("on_object", 9);
        (on_customer.rank, on_object.rank) = (customer_rank, object_rank);
        let newer = if later == "customer" {
            &mut on_customer
        } else {
            &mut on_object
        };
        newer.accepted_at = NOON.plus_s(1);
        world.claim("p", on_customer);
        world.object("o", |object| object.claims.push(on_object));
        world.pass_s(2);
        let reply = world.check(check().to("p").about("o").by(governs));
        assert_eq!(decided(&reply), ALLOWED, "{governs} holds both");
        let owner = reply.owner.expect("an owner").holder;
        assert_eq!(&*owner, governs);
        assert_eq!(
            decided(&world.check(check().to("p").about("o"))).0,
            Verdict::Defer
        );
    }
}

#[test]
fn l2_l3_a_lock_stops_its_task_and_nothing_else() {
    let mut world = arranged(&[5]);
    let about = || check().to("p").about("o");
    assert_eq!(decided(&world.check(about())), ALLOWED);
    assert_eq!(decided(&world.check(about().task("u"))), ALLOWED);
    let locked = world.check(about().task("t"));
    assert_eq!(decided(&locked), deferred(Reason::LockHeld));
    assert_eq!(
        (&*locked.locks[0].holder, &*locked.locks[0].task),
        ("billing", "t")
    );
    assert_eq!(
        decided(&world.check(about().task("t").by("billing"))),
        ALLOWED
    );
    world.pass_s(3_600);
    let free = world.check(about().task("t"));
    assert_eq!((decided(&free), free.locks.len()), (ALLOWED, 0));
}

#[test]
fn t5_t6_a_signature_is_due_only_with_a_guarded_purpose_a_gateway_and_a_channel() {
    let full = || {
        check()
            .to("p")
            .purpose("marketing")
            .on("whatsapp")
            .through("wa_gateway")
    };
    let mut world = World::new();
    assert!(world.check(full()).sign);
    let mut without_gateway = full();
    without_gateway.gateway = None;
    let mut without_channel = full();
    without_channel.channel = None;
    for check in [without_gateway, without_channel, full().purpose("service")] {
        let reply = world.check(check);
        assert_eq!(reply.verdict, Verdict::Allow);
        assert!(!reply.sign);
    }
}

/// A token lets a contact through: what is held back never gets one.
#[test]
fn t5_what_is_held_back_is_not_signed() {
    let mut world = World::new();
    let wanted = || {
        check()
            .to("p")
            .purpose("marketing")
            .on("whatsapp")
            .through("wa_gateway")
    };
    let mut denied = None;
    for _ in 0..10 {
        let reply = world.check(wanted());
        let is_allowed = reply.verdict == Verdict::Allow;
        assert_eq!(reply.sign, is_allowed);
        denied = denied.or((!is_allowed).then_some(reply.verdict));
    }
    assert_eq!(denied, Some(Verdict::Deny), "the budget ends");
}
