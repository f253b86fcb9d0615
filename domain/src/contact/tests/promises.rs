//! Promises of an operator's feed: what is open is shown, and no more of it than a customer may have.

use super::World;
use crate::contact::command::{Advise, Body, Command, Route};
use crate::contact::directory::Target;
use crate::contact::fixture::{AGENTS, check, command, hash, promise};
use crate::contact::note::{Fact, Noted};
use crate::contact::promise::{OPEN_MAX, PromiseState};
use crate::contact::reason::Refusal;
use crate::contact::reply::{DeclareReply, Reply};
use crate::time::Timestamp;

const OPEN: PromiseState = PromiseState::Open;

fn due(at: i64) -> Option<Timestamp> {
    Some(super::NOON.plus_s(at))
}

fn shown(world: &mut World) -> Vec<String> {
    let reply = world.check(check().to("p"));
    let advise = Body::Advise(Advise {
        target: Target::Customer(hash("p")),
    });
    let Reply::Advice(advice) = world.run(&command(AGENTS, Route::Context, advise)) else {
        panic!("advice");
    };
    assert_eq!(advice.promises, reply.promises);
    reply
        .promises
        .iter()
        .map(|one| one.id.to_string())
        .collect()
}

fn told(world: &mut World, command: &Command) {
    assert_eq!(world.declare(command), DeclareReply::TAKEN);
}

#[test]
fn open_promises_are_shown_the_soonest_due_first() {
    let mut world = World::new();
    told(&mut world, &promise("p", "some day", None, OPEN));
    told(&mut world, &promise("p", "later", due(600), OPEN));
    told(&mut world, &promise("p", "sooner", due(60), OPEN));
    assert_eq!(shown(&mut world), ["sooner", "later", "some day"]);
    told(&mut world, &promise("p", "sooner", due(900), OPEN));
    assert_eq!(shown(&mut world), ["later", "sooner", "some day"]);
    for (id, state) in [
        ("later", PromiseState::Kept),
        ("sooner", PromiseState::Withdrawn),
        ("never told", PromiseState::Kept),
    ] {
        told(&mut world, &promise("p", id, None, state));
    }
    assert_eq!(shown(&mut world), ["some day"]);
}

#[test]
fn a_word_that_changes_nothing_leaves_no_event() {
    let mut world = World::new();
    told(&mut world, &promise("p", "a", due(60), OPEN));
    let before = world.log.len();
    told(&mut world, &promise("p", "a", due(60), OPEN));
    told(&mut world, &promise("p", "b", None, PromiseState::Kept));
    assert_eq!(world.log.len(), before);
}

#[test]
fn one_promise_too_many_is_refused_and_a_known_one_still_moves() {
    let mut world = World::new();
    for number in 0..OPEN_MAX {
        told(&mut world, &promise("p", &number.to_string(), None, OPEN));
    }
    let more = promise("p", "more", None, OPEN);
    assert_eq!(world.run(&more), Reply::Refused(Refusal::TargetFull));
    let note = world.notes.last().expect("a refusal is noted");
    assert_eq!(note.decision, Noted::Refused(Refusal::TargetFull));
    assert_eq!(note.facts[..], [(Fact::Limit, 32)]);
    told(&mut world, &promise("p", "3", due(60), OPEN));
    assert_eq!(shown(&mut world).first().map(String::as_str), Some("3"));
    told(&mut world, &promise("p", "3", None, PromiseState::Kept));
    told(&mut world, &more);
}

#[test]
fn a_customer_is_kept_while_a_promise_is_open() {
    let mut world = World::new();
    told(&mut world, &promise("p", "a", due(60), OPEN));
    world.pass_s(400 * 86_400);
    assert_eq!(world.sweep(), 0);
    told(&mut world, &promise("p", "a", None, PromiseState::Kept));
    assert_eq!(world.sweep(), 1);
}

#[test]
fn when_memory_is_short_no_promise_is_new_and_every_one_ends() {
    let mut world = World::new();
    told(&mut world, &promise("p", "a", None, OPEN));
    world.full = true;
    assert_eq!(world.run(&promise("p", "b", None, OPEN)), Reply::Capacity);
    told(
        &mut world,
        &promise("p", "a", None, PromiseState::Withdrawn),
    );
    assert!(world.customer("p").promises().is_empty());
}
