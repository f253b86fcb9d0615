//! What a customer keeps of its handoffs and promises, and how an erasure takes it.

use super::World;
use super::handoffs::{OUTCOME, held, made, seen};
use super::privacy::forget_all;
use crate::contact::Contact;
use crate::contact::directory::Target;
use crate::contact::fixture::{close, hand_over, hash, promise, read_handoff};
use crate::contact::handoff::{ENDED_KEPT_S, Handoff, HandoffStatus, KEPT_MAX};
use crate::contact::promise::PromiseState;
use crate::contact::reason::Refusal;
use crate::contact::reply::Reply;
use crate::machine::Machine;

#[test]
fn an_erasure_takes_the_customers_handoffs_and_promises() {
    let mut world = World::new();
    made(&mut world, "h");
    made(&mut world, "closed");
    world.run(&close(OUTCOME, "closed", Some("opt_out")));
    world.run(&hand_over("q", "other", "desk").command());
    world.run(&promise("p", "call back", None, PromiseState::Open));
    let log = world.log.len();
    let short = world.run(&forget_all("p", 1, &["h"]));
    assert_eq!(
        (short, world.log.len()),
        (Reply::Moved, log),
        "one was not named"
    );
    // One that is another customer's stays, whoever names it.
    let Reply::Erased(erased) = world.run(&forget_all("p", 1, &["h", "closed", "other"])) else {
        panic!("an erasure");
    };
    assert_eq!((erased.erased.handoffs, erased.erased.promises), (2, 1));
    assert_eq!(erased.erased.suppressions_kept, 1);
    for gone in ["h", "closed"] {
        assert_eq!(world.run(&read_handoff(gone)), Reply::NotFound);
        assert_eq!(
            world.run(&close(OUTCOME, gone, Some("resolved"))),
            Reply::NotFound
        );
        let nothing = held(&world, gone);
        assert_eq!(nothing, Handoff::empty(), "no text, no package");
        assert!(nothing.due() < Some(world.now) && !nothing.is_expired(world.now));
    }
    assert_eq!(
        seen(&world.run(&read_handoff("other"))),
        Some(HandoffStatus::Created)
    );
    assert_eq!(world.customer("p").rare.dealings, None);
}

#[test]
fn a_customer_lives_as_long_as_its_handoffs() {
    let mut world = World::new();
    made(&mut world, "h");
    world.run(&close(OUTCOME, "h", Some("resolved")));
    let handoff = held(&world, "h").due();
    assert!(world.customer("p").due() >= handoff);
    world.pass_s(ENDED_KEPT_S * 2);
    made(&mut world, "next");
    assert_eq!(
        world.customer("p").handoffs().len(),
        1,
        "the old one is dropped"
    );
}

#[test]
fn a_customer_keeps_a_bounded_number_of_handoffs() {
    let mut world = World::new();
    for index in 0..KEPT_MAX {
        let id = format!("h{index}");
        world.run_unchecked(&hand_over("p", &id, "desk").command());
        let closed = Contact::looked_up(
            close(OUTCOME, &id, Some("resolved")),
            Reply::Found(Target::Customer(hash("p"))),
        );
        world.run_unchecked(&closed.expect("a complete command"));
    }
    let more = hand_over("p", "more", "desk").command();
    assert_eq!(world.run(&more), Reply::Refused(Refusal::TargetFull));
    world.pass_s(86_400 + ENDED_KEPT_S);
    assert_eq!(
        seen(&world.run(&more)),
        Some(HandoffStatus::Created),
        "the old ones are forgotten"
    );
}
