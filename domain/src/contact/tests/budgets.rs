//! Contact budgets (§6) and `contact.made` (§17).

use super::{ALLOWED, HOUR_S, NOON, World, budget_of, decided, deferred, denied};
use crate::contact::command::{Advise, Body, Check, Route};
use crate::contact::customer::{ContactState, TOKENS_KEPT};
use crate::contact::directory::Target;
use crate::contact::fixture::{
    AGENTS, CONFORMANCE, check, claim_on, command, contact_made, hash, suppress, vault,
};
use crate::contact::note::Noted;
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::{BudgetView, CheckReply, Reply};
use crate::contact::window::Window;
use crate::ids::Id;
use crate::time::Timestamp;

const DAY_S: i64 = 24 * HOUR_S;

fn retention() -> Check {
    check().purpose("retention").to("p")
}

fn collection(intent: &str) -> Check {
    check().purpose("collection").intent(intent).to("p")
}

fn left(reply: &CheckReply, purpose: &str) -> (u32, Option<Timestamp>) {
    let BudgetView {
        remaining,
        next_allowed_at,
        ..
    } = budget_of(reply, purpose);
    (remaining, next_allowed_at)
}

/// The conformance policy with the budget of `marketing` replaced.
fn with_marketing(budget: &str) -> Policy {
    let old = r#""budget": {"limit": 3, "per_hours": 24, "slices": []}"#;
    let document = CONFORMANCE.replace(old, &format!(r#""budget": {budget}"#));
    assert_ne!(document, CONFORMANCE);
    Policy::load(2, &document, &vault()).expect("the document is valid")
}

#[test]
fn b1_of_twenty_one_agents_one_gets_the_unit() {
    let mut world = World::new();
    let replies: Vec<_> = (0..21)
        .map(|agent| world.check(retention().by(&format!("agent_{agent}"))))
        .collect();
    assert_eq!(decided(&replies[0]), ALLOWED);
    for reply in &replies[1..] {
        assert_eq!(decided(reply), denied(Reason::BudgetExhausted));
    }
}

#[test]
fn b2_b3_an_exhausted_budget_names_the_moment_and_keeps_it() {
    let mut world = World::new();
    let allowed = world.check(retention());
    let free_at = NOON.plus_s(DAY_S);
    assert_eq!(
        left(&allowed, "retention"),
        (0, Some(free_at)),
        "after the decision"
    );
    world.now = free_at.plus_ms(-1);
    let denied_reply = world.check(retention());
    assert_eq!(decided(&denied_reply), denied(Reason::BudgetExhausted));
    assert_eq!(left(&denied_reply, "retention"), (0, Some(free_at)));
    world.now = free_at;
    assert_eq!(decided(&world.check(retention())), ALLOWED);
}

#[test]
fn b4_declared_contacts_count_over_the_limit() {
    let mut world = World::new();
    for second in 0..2 {
        let made = world.declare(&contact_made("p", "retention", None));
        assert!(made.accepted && made.decision_id.is_some());
        world.pass_s(1 - second);
    }
    let reply = world.check(retention());
    assert_eq!(decided(&reply), denied(Reason::BudgetExhausted));
    // Two counted, limit one: free when the second leaves, not the first.
    let second_leaves = NOON.plus_s(1).plus_s(DAY_S);
    assert_eq!(left(&reply, "retention"), (0, Some(second_leaves)));
    world.now = NOON.plus_s(DAY_S);
    assert_eq!(decided(&world.check(retention())).0, Verdict::Deny);
    world.now = second_leaves;
    assert_eq!(decided(&world.check(retention())), ALLOWED);
}

#[test]
fn b5_a_contact_of_a_held_decision_is_not_counted_again() {
    let mut world = World::new();
    let marketing = || check().purpose("marketing").to("p");
    let decision = world.check(marketing()).decision_id;
    for _ in 0..2 {
        let made = world.declare(&contact_made("p", "marketing", Some(decision)));
        assert_eq!((made.accepted, made.decision_id), (true, Some(decision)));
    }
    assert_eq!(world.customer("p").contacts[0].state, ContactState::Made);
    assert_eq!(left(&world.check(marketing()), "marketing").0, 1);
}

#[test]
fn b5_a_decision_of_another_customer_or_purpose_is_not_held() {
    let mut world = World::new();
    let marketing = || check().purpose("marketing").to("p");
    let decision = world.check(marketing()).decision_id;
    let other = world.declare(&contact_made("q", "marketing", Some(decision)));
    assert_ne!(other.decision_id, Some(decision));
    let purpose = world.declare(&contact_made("p", "retention", Some(decision)));
    assert_ne!(purpose.decision_id, Some(decision));
    let row = world.declare(&contact_made("p", "retention", purpose.decision_id));
    assert_ne!(
        row.decision_id, purpose.decision_id,
        "a log row is not a decision"
    );
    assert_eq!(left(&world.check(marketing()), "marketing").0, 1);
    assert_eq!(
        decided(&world.check(retention())),
        denied(Reason::BudgetExhausted)
    );
}

#[test]
fn b5_a_decision_that_left_its_window_is_no_longer_held() {
    for (passed_s, is_held) in [(DAY_S - 1, true), (DAY_S, false)] {
        let mut world = World::new();
        let decision = world.check(retention()).decision_id;
        world.pass_s(passed_s);
        let made = world.declare(&contact_made("p", "retention", Some(decision)));
        assert_eq!(made.decision_id == Some(decision), is_held);
    }
}

#[test]
fn b6_marketing_three_times() {
    let mut world = World::new();
    let marketing = || check().purpose("marketing").to("p");
    for remaining in [2, 1, 0] {
        let reply = world.check(marketing());
        assert_eq!(decided(&reply), ALLOWED);
        assert_eq!(left(&reply, "marketing").0, remaining);
        world.pass_s(HOUR_S);
    }
    let fourth = world.check(marketing());
    assert_eq!(decided(&fourth), denied(Reason::BudgetExhausted));
    assert_eq!(left(&fourth, "marketing"), (0, Some(NOON.plus_s(DAY_S))));
}

#[test]
fn b7_a_spread_slice_paces_its_second_unit() {
    let mut world = World::new();
    let first = world.check(collection("reminder"));
    let paced_until = NOON.plus_s(DAY_S);
    assert_eq!(decided(&first), ALLOWED);
    assert_eq!(left(&first, "collection"), (1, Some(paced_until)));
    let second = world.check(collection("reminder"));
    assert_eq!(decided(&second), deferred(Reason::BudgetPaced));
    assert_eq!(left(&second, "collection"), (1, Some(paced_until)));
}

#[test]
fn b8_a_spread_slice_goes_at_its_pace_and_ends() {
    let mut world = World::new();
    world.check(collection("reminder"));
    world.now = NOON.plus_s(DAY_S).plus_ms(-1);
    let early = world.check(collection("reminder"));
    assert_eq!(decided(&early), deferred(Reason::BudgetPaced));
    world.now = NOON.plus_s(DAY_S);
    assert_eq!(decided(&world.check(collection("reminder"))), ALLOWED);
    world.pass_s(DAY_S);
    let third = world.check(collection("reminder"));
    assert_eq!(decided(&third), denied(Reason::BudgetExhausted));
    assert_eq!(
        left(&third, "collection"),
        (0, Some(NOON.plus_s(7 * DAY_S)))
    );
}

#[test]
fn b9_a_slice_of_one_is_spent_by_one() {
    let mut world = World::new();
    let first = world.check(collection("first_notice"));
    assert_eq!(
        (decided(&first), left(&first, "collection").0),
        (ALLOWED, 0)
    );
    let second = world.check(collection("first_notice"));
    assert_eq!(decided(&second), denied(Reason::BudgetExhausted));
    assert_eq!(decided(&world.check(collection("reminder"))), ALLOWED);
}

#[test]
fn b10_intents_without_a_slice_share_what_the_slices_leave() {
    let mut world = World::new();
    assert_eq!(decided(&world.check(collection("visit"))), ALLOWED);
    let other = world.check(collection("call"));
    assert_eq!(decided(&other), denied(Reason::BudgetExhausted));
    assert_eq!(
        left(&other, "collection"),
        (0, Some(NOON.plus_s(7 * DAY_S)))
    );
}

#[test]
fn a_contact_without_an_intent_counts_in_the_whole_and_in_the_unsliced_share() {
    let mut world = World::new();
    world.declare(&contact_made("p", "collection", None));
    let unsliced = world.check(collection("visit"));
    assert_eq!(decided(&unsliced), denied(Reason::BudgetExhausted));
    let whole = world.check(check().to("p"));
    assert_eq!(left(&whole, "collection").0, 3);
    // Three more: the whole is spent though no slice is.
    for _ in 0..3 {
        world.declare(&contact_made("p", "collection", None));
    }
    let sliced = world.check(collection("first_notice"));
    assert_eq!(decided(&sliced), denied(Reason::BudgetExhausted));
    assert_eq!(
        left(&sliced, "collection"),
        (0, Some(NOON.plus_s(7 * DAY_S)))
    );
}

#[test]
fn a_share_shows_never_more_than_the_whole_has_left() {
    let mut world = World::new();
    for _ in 0..3 {
        world.declare(&contact_made("p", "collection", None));
    }
    let reply = world.check(collection("reminder"));
    assert_eq!(decided(&reply), ALLOWED, "one unit of the whole is left");
    assert_eq!(left(&reply, "collection").0, 0);
}

#[test]
fn a_share_of_nothing_is_exhausted_for_ever() {
    let slices = r#"[{"intent": "a", "limit": 2}]"#;
    let budget = format!(r#"{{"limit": 2, "per_hours": 24, "slices": {slices}}}"#);
    let mut world = World::with(with_marketing(&budget));
    let reply = world.check(check().purpose("marketing").to("p").intent("other"));
    assert_eq!(decided(&reply), denied(Reason::BudgetExhausted));
    assert_eq!(left(&reply, "marketing"), (0, None));
}

#[test]
fn budgets_are_shown_only_with_a_subject_and_inbound_leaves_them_alone() {
    let mut world = World::new();
    assert!(world.check(check()).budgets.is_empty());
    world.check(retention().inbound());
    let reply = world.check(check().to("p"));
    let shown: Vec<u32> = reply.budgets.iter().map(|view| view.remaining).collect();
    assert_eq!(shown, [4, 3, 1], "collection, marketing, retention");
}

/// The advice block has every budget as a whole, whatever part of it an intent may take (§13).
#[test]
fn advice_shows_each_budget_as_a_whole() {
    let mut world = World::new();
    world.declare(&contact_made("p", "collection", None));
    let mut remaining = |customer| {
        let advise = Body::Advise(Advise {
            target: Target::Customer(hash(customer)),
        });
        let Reply::Advice(advice) = world.run(&command(AGENTS, Route::Context, advise)) else {
            panic!("advice");
        };
        let budgets = advice.budgets.iter().map(|view| view.remaining);
        budgets.collect::<Vec<u32>>()
    };
    assert_eq!(
        remaining("q"),
        [4, 3, 1],
        "collection, marketing, retention"
    );
    assert_eq!(remaining("p"), [3, 3, 1]);
}

#[test]
fn a_contact_without_a_subject_is_recorded_and_counts_nowhere() {
    let mut world = World::new();
    let mut made = contact_made("p", "retention", None);
    if let Body::DeclareContactMade(declare) = &mut made.body {
        declare.customer = None;
    }
    assert!(world.declare(&made).decision_id.is_some());
    assert_eq!(world.notes.len(), 1);
    assert_eq!(decided(&world.check(retention())), ALLOWED);
}

#[test]
fn k3_a_token_named_twice_is_recorded_twice_and_counted_as_reused() {
    let mut world = World::new();
    let mut made = contact_made("p", "service", Some(Id([9; 16])));
    if let Body::DeclareContactMade(declare) = &mut made.body {
        declare.jti = Some(Id([9; 16]));
    }
    assert!(world.declare(&made).accepted);
    assert!(world.declare(&made).accepted);
    assert_eq!(world.customer("p").rare.tokens_reused, 1);
    assert_eq!(world.customer("p").contacts.len(), 2);
    let noted: Vec<_> = world.notes.iter().map(|note| note.decision).collect();
    assert_eq!(noted, [Noted::Accepted, Noted::AcceptedTokenReused]);
}

#[test]
fn named_tokens_are_bounded() {
    let mut world = World::new();
    for token in 0..40_u8 {
        let mut made = contact_made("p", "service", None);
        if let Body::DeclareContactMade(declare) = &mut made.body {
            declare.jti = Some(Id([token; 16]));
        }
        world.declare(&made);
    }
    assert_eq!(world.customer("p").rare.tokens.len(), TOKENS_KEPT);
}

#[test]
fn memory_is_bounded_by_the_newest_of_each_share() {
    let mut world = World::new();
    for _ in 0..100 {
        world.declare(&contact_made("p", "retention", None));
        world.pass_s(1);
    }
    assert_eq!(world.customer("p").contacts.len(), 32);
    // A slice's contacts outlive a flood of the unsliced share.
    world.check(collection("first_notice").to("q"));
    for _ in 0..100 {
        world.declare(&contact_made("q", "collection", None));
    }
    assert_eq!(world.customer("q").contacts.len(), 33);
    let again = world.check(collection("first_notice").to("q"));
    assert_eq!(decided(&again), denied(Reason::BudgetExhausted));
}

#[test]
fn what_left_its_window_goes_with_the_next_contact() {
    let mut world = World::new();
    world.check(retention());
    world.pass_s(DAY_S);
    world.check(retention());
    assert_eq!(world.customer("p").contacts.len(), 1);
}

#[test]
fn a_raised_limit_keeps_what_was_counted() {
    let mut world = World::new();
    let marketing = || check().purpose("marketing").to("p");
    for _ in 0..3 {
        world.check(marketing());
    }
    assert_eq!(
        decided(&world.check(marketing())),
        denied(Reason::BudgetExhausted)
    );
    world.policy = with_marketing(r#"{"limit": 5, "per_hours": 24}"#);
    let raised = world.check(marketing());
    assert_eq!(
        (decided(&raised), left(&raised, "marketing").0),
        (ALLOWED, 1)
    );
    world.policy = with_marketing(r#"{"limit": 1, "per_hours": 24}"#);
    let lowered = world.check(marketing());
    assert_eq!(decided(&lowered), denied(Reason::BudgetExhausted));
    assert_eq!(left(&lowered, "marketing").0, 0);
}

#[test]
fn a_spread_longer_than_the_window_is_remembered() {
    let slices = r#"[{"intent": "a", "limit": 1, "spread": true, "spread_days": 3}]"#;
    let budget = format!(r#"{{"limit": 2, "per_hours": 24, "slices": {slices}}}"#);
    let mut world = World::with(with_marketing(&budget));
    let asked = || check().purpose("marketing").to("p").intent("a");
    world.check(asked());
    world.pass_s(2 * DAY_S);
    assert_eq!(world.sweep(), 0);
    // Something else writes in between; the contact must not go with it.
    world.declare(&contact_made("p", "service", None));
    let paced = world.check(asked());
    assert_eq!(decided(&paced), deferred(Reason::BudgetPaced));
    assert_eq!(left(&paced, "marketing"), (1, Some(NOON.plus_s(3 * DAY_S))));
    world.pass_s(DAY_S);
    assert_eq!(decided(&world.check(asked())), ALLOWED);
}

#[test]
fn a_customer_with_nothing_left_is_forgotten() {
    let mut world = World::new();
    world.check(retention());
    world.pass_s(DAY_S - 1);
    assert_eq!(world.sweep(), 0);
    world.pass_s(1);
    assert_eq!(world.sweep(), 1);
    assert_eq!(decided(&world.check(retention())), ALLOWED);
}

#[test]
fn pitfall_19_a_reservation_never_declared_stays_counted() {
    let mut world = World::new();
    world.check(retention());
    world.pass_s(23 * HOUR_S);
    assert_eq!(
        decided(&world.check(retention())),
        denied(Reason::BudgetExhausted)
    );
}

#[test]
fn pitfall_23_what_is_not_now_says_when() {
    let mut world = World::new();
    world.check(retention());
    world.check(collection("reminder"));
    world.pass_s(HOUR_S);
    let tomorrow = Some(NOON.plus_s(DAY_S));
    let exhausted = world.check(retention());
    assert_eq!(decided(&exhausted), denied(Reason::BudgetExhausted));
    assert_eq!(left(&exhausted, "retention"), (0, tomorrow));
    // A slice of two in two days has one a day, and one of it is left.
    let paced = world.check(collection("reminder"));
    assert_eq!(decided(&paced), deferred(Reason::BudgetPaced));
    assert_eq!(left(&paced, "collection"), (1, tomorrow));
    let quiet = world.check(check().to("q").on("always_quiet"));
    assert_eq!(decided(&quiet), deferred(Reason::QuietHours));
    let quiet_until = quiet.channel.and_then(|channel| channel.quiet_until);
    assert_eq!(quiet_until, Some(NOON.plus_s(12 * HOUR_S)), "midnight");
    let mut window = suppress("w", "any");
    window.window = Window::new("10:00", "14:30", "UTC", None).ok();
    world.declare(&window.command());
    let outside = world.check(check().to("w"));
    assert_eq!(outside.verdict, Verdict::Defer);
    let until = Some(NOON.plus_s(2 * HOUR_S + HOUR_S / 2));
    assert_eq!(outside.contact_window_until, until);
    world.run(&claim_on("c", "maria").lease_s(900).command());
    let owned = world.check(check().to("c"));
    assert_eq!(decided(&owned), deferred(Reason::OwnerActive));
    let owned_until = owned.owner.map(|owner| owner.valid_until);
    assert_eq!(owned_until, Some(NOON.plus_s(HOUR_S + 900)));
}

#[test]
fn pitfall_25_the_moment_that_is_named_is_neither_early_nor_late() {
    let mut window = suppress("w", "any");
    window.window = Window::new("10:00", "14:00", "UTC", None).ok();
    let asked = [
        retention(),
        collection("reminder"),
        check().to("w"),
        check().to("q").on("always_quiet"),
    ];
    for check in asked {
        let mut world = World::new();
        world.declare(&window.clone().command());
        world.check(check.clone());
        let held = world.check(check.clone());
        let quiet_until = held.channel.and_then(|channel| channel.quiet_until);
        let purpose = held
            .budgets
            .iter()
            .find(|view| view.purpose == check.purpose);
        let free_at = purpose.and_then(|view| view.next_allowed_at);
        let moment = held.contact_window_until.or(quiet_until).or(free_at);
        let moment = moment.expect("what is not now says when");
        world.now = moment.plus_ms(-1);
        assert_ne!(
            world.check(check.clone()).verdict,
            Verdict::Allow,
            "{check:?}"
        );
        world.now = moment;
        assert_eq!(
            world.check(check.clone()).verdict,
            Verdict::Allow,
            "{check:?}"
        );
    }
}

#[test]
fn b12_the_subject_is_the_customer_whatever_the_handle() {
    // Both handles have one canonical destination, so the edge gives both one hash.
    let mut world = World::new();
    let by_phone = interlock_token::canonical("phone_e164", "+5511987654321");
    let by_wa_id = interlock_token::canonical("wa_id", "5511987654321");
    assert_eq!(by_phone, by_wa_id);
    let mut asked = retention();
    asked.customer = by_phone.ok().map(|canonical| hash(&canonical));
    assert_eq!(decided(&world.check(asked.clone())), ALLOWED);
    asked.customer = by_wa_id.ok().map(|canonical| hash(&canonical));
    assert_eq!(
        decided(&world.check(asked)),
        denied(Reason::BudgetExhausted)
    );
}
