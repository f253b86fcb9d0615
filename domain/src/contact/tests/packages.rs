//! What a handoff's package shows, and whom a declaration about a handoff may name.

use super::handoffs::{made, shown};
use super::{NOON, World};
use crate::contact::command::{Body, EffectKind, Route, Settlement};
use crate::contact::fixture::{
    AGENTS, accept_of, check, close_of, command, hash, offer, promise, read_handoff, settle,
    suppress,
};
use crate::contact::handoff::command::{HandoffCommand, ListEffects, SeeEffect};
use crate::contact::promise::PromiseState;
use crate::contact::reply::{EffectSight, EffectState, Reply};
use crate::contact::text::Text;

#[test]
fn a_package_shows_what_was_known_and_never_changes() {
    let mut world = World::new();
    world.run(&suppress("p", "marketing").command());
    world.run(&offer("p", "o1", "offer").command());
    world.run(&promise("p", "call back", Some(NOON), PromiseState::Open));
    let package = made(&mut world, "h").handoff.expect("whole").package;
    assert_eq!(package.suppressions, [Text::from("marketing")]);
    assert_eq!(package.commitments.len(), 1);
    assert_eq!(&*package.promises[0].id, "call back");
    world.run(&promise("p", "call back", None, PromiseState::Kept));
    let read = shown(&mut world, &read_handoff("h"));
    assert_eq!(read.handoff.expect("whole").package, package);
}

fn effects(world: &mut World) -> Vec<[u8; 32]> {
    let body = HandoffCommand::ListEffects(ListEffects {
        customer: hash("p"),
    });
    let Reply::Effects(ids) = world.run(&command(AGENTS, Route::Handoffs, Body::Handoff(body)))
    else {
        panic!("ids of effects");
    };
    ids
}

fn sight(world: &mut World, effect: &str) -> Option<EffectSight> {
    let body = HandoffCommand::SeeEffect(SeeEffect {
        effect: hash(effect),
    });
    let Reply::EffectSeen(sight) =
        world.run(&command(AGENTS, Route::Handoffs, Body::Handoff(body)))
    else {
        panic!("an effect, or none");
    };
    sight
}

#[test]
fn a_customer_remembers_the_newest_effects_its_allowed_checks_reserved() {
    let mut world = World::new();
    assert!(effects(&mut world).is_empty());
    let word = |number: usize| format!("k{number}");
    for number in 0..60 {
        world.check(check().to("p").effect(&word(number)));
    }
    // Held by others, denied, inbound: none of these reserves an effect for the customer's list.
    world.check(check().to("p").effect(&word(30)));
    world.check(check().to("p").effect("inbound").inbound());
    let ids = effects(&mut world);
    let wanted: Vec<[u8; 16]> = (10..60).rev().map(|number| hash(&word(number)).0).collect();
    let found: Vec<&[u8]> = ids.iter().map(|id| &id[..16]).collect();
    assert_eq!(found, wanted);
    assert!(ids.iter().all(|id| id[..16] == id[16..]), "the whole id");
    world.run(&settle(&word(20), 1, Settlement::Failed));
    world.check(check().to("p").effect(&word(20)));
    let again = effects(&mut world);
    assert_eq!(
        (again.len(), again[0][..16].to_vec()),
        (50, hash(&word(20)).0.to_vec())
    );
}

#[test]
fn an_effect_is_seen_done_in_flight_or_ambiguous_and_not_failed() {
    let mut world = World::new();
    assert_eq!(sight(&mut world, "k"), None);
    world.check(check().to("p").effect("k"));
    let of = |state| {
        Some(EffectSight {
            kind: EffectKind::Delivery,
            state,
        })
    };
    assert_eq!(sight(&mut world, "k"), of(EffectState::Reserved));
    world.pass_s(60);
    assert_eq!(sight(&mut world, "k"), of(EffectState::UnknownOutcome));
    world.run(&settle("k", 1, Settlement::Done));
    assert_eq!(sight(&mut world, "k"), of(EffectState::Done));
    world.pass_s(30 * 86_400);
    assert_eq!(sight(&mut world, "k"), None, "forgotten");
    world.check(check().to("p").effect("f"));
    world.run(&settle("f", 1, Settlement::Failed));
    assert_eq!(sight(&mut world, "f"), None);
}

#[test]
fn a_declared_handoff_of_another_customer_moves_nothing() {
    let mut world = World::new();
    made(&mut world, "h");
    let before = world.log.len();
    for wrong in [accept_of("q", "h"), close_of("q", "h", "opt_out")] {
        let notes = world.notes.len();
        assert!(!world.declare(&wrong).accepted, "{wrong:?}");
        assert_eq!((world.log.len(), world.notes.len()), (before, notes + 1));
    }
    assert!(world.declare(&accept_of("p", "h")).accepted);
    assert!(world.declare(&close_of("p", "h", "opt_out")).accepted);
    let again = close_of("q", "h", "opt_out");
    assert!(!world.declare(&again).accepted, "it is closed, not theirs");
    assert!(world.declare(&accept_of("q", "unknown")).accepted);
}
