//! Inbound checks (§5): only somebody else who has the customer stops one.

use super::order::{arranged, asked};
use super::{ALLOWED, World, budget_of, claim_of, decided, intent};
use crate::contact::command::Settlement;
use crate::contact::fixture::{check, declare_effect};
use crate::contact::name::PurposeId;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::EffectViewState;
use crate::contact::text::Text;

#[test]
fn d11_inbound_is_not_stopped_by_suppressions_budgets_or_quiet_hours() {
    let mut world = arranged(&[2, 3, 6, 7, 8]);
    let reply = world.check(asked().inbound());
    assert_eq!(decided(&reply), ALLOWED);
    assert_eq!(reply.suppressions.to_vec(), [PurposeId::of("collection")]);
    assert_eq!(reply.contact_window_until, None);
}

#[test]
fn d12_inbound_of_a_held_customer_is_handed_over() {
    let mut world = World::new();
    let mut claim = claim_of("specialist", 1);
    claim.intents = vec![intent("proposal_followup")];
    world.claim("p", claim);
    let reply = world.check(check().inbound().to("p").effect("k"));
    assert_eq!(
        decided(&reply),
        (Verdict::HandoffTo, Some(Reason::OwnerActive))
    );
    assert_eq!(
        reply.owner.map(|owner| owner.holder),
        Some(Text::from("specialist"))
    );
    assert_eq!(reply.effect, None);
    let listed = world.check(check().inbound().to("p").intent("proposal_followup"));
    assert_eq!(decided(&listed), ALLOWED);
    let holder = world.check(check().inbound().to("p").by("specialist"));
    assert_eq!(decided(&holder), ALLOWED);
}

#[test]
fn d13_inbound_with_a_held_effect_key_says_so_and_goes() {
    let mut world = World::new();
    let inbound = || check().inbound().to("p").effect("k");
    let free = world.check(inbound());
    assert_eq!(
        free.effect.map(|effect| effect.state),
        Some(EffectViewState::None)
    );
    assert_eq!(decided(&free), ALLOWED);
    let held = world.check(inbound());
    assert_eq!(
        decided(&held),
        (Verdict::Allow, Some(Reason::EffectInFlight))
    );
    assert_eq!(
        held.effect.map(|effect| effect.state),
        Some(EffectViewState::InFlight)
    );
    world.declare(&declare_effect("k", 1, Settlement::Done));
    let done = world.check(inbound());
    assert_eq!(decided(&done), (Verdict::Allow, Some(Reason::EffectDone)));
    assert_eq!(
        done.effect.map(|effect| effect.state),
        Some(EffectViewState::Done)
    );
}

#[test]
fn d14_inbound_spends_nothing_and_signs_nothing() {
    let mut world = World::new();
    let marketing = || {
        check()
            .purpose("marketing")
            .to("p")
            .on("whatsapp")
            .through("wa_gateway")
    };
    let reply = world.check(marketing().inbound());
    assert!(!reply.sign);
    assert_eq!(budget_of(&reply, "marketing").remaining, 3);
    let outbound = world.check(marketing());
    assert!(outbound.sign);
    assert_eq!(budget_of(&outbound, "marketing").remaining, 2);
}

#[test]
fn inbound_passes_another_holders_task_lock_and_says_so() {
    let mut world = arranged(&[5]);
    let reply = world.check(asked().inbound());
    assert_eq!(decided(&reply), (Verdict::Allow, Some(Reason::LockHeld)));
    assert_eq!(reply.locks.len(), 1);
}

#[test]
fn inbound_with_a_held_effect_and_lock_gives_both_codes() {
    let mut world = arranged(&[1, 5]);
    let reply = world.check(asked().inbound());
    assert_eq!(
        reply.reasons.to_vec(),
        [Reason::EffectDone, Reason::LockHeld]
    );
}
