//! What is answered when something is not as it should be (§20): state that is rebuilt, memory that
//! is short, a clock that is wrong.

use super::order::asked;
use super::{ALLOWED, NOON, World, decided, deferred, denied};
use crate::contact::Contact;
use crate::contact::command::{Check, Settlement};
use crate::contact::fixture::{check, contact_made, declare_effect, policy, suppress, vault};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Verdict};
use crate::contact::reply::Reply;
use crate::ids::IdStream;
use crate::machine::{Machine, Undecided};
use crate::time::Timestamp;

#[test]
fn a_suspect_clock_holds_back_what_fails_closed_and_nothing_else() {
    let mut world = World::new();
    world.clock_suspect = true;
    let closed = world.check(check().to("p").purpose("marketing"));
    assert_eq!(decided(&closed), deferred(Reason::Unavailable));
    assert_eq!(closed.valid_for_s, 0);
    assert_eq!(decided(&world.check(check().to("p"))), ALLOWED);
    let inbound = world.check(check().to("p").purpose("marketing").inbound());
    assert_eq!(decided(&inbound), ALLOWED);
}

#[test]
fn a_suspect_clock_signs_nothing() {
    let document = r#"{"purposes": {"service": {"fails": "open", "token": true}},
        "gateways": {"wa_gateway": {"key_ref": "vault:wa_gateway"}}}"#;
    let mut world = World::with(Policy::load(1, document, &vault()).expect("a policy"));
    let asked = || check().to("p").on("voice").through("wa_gateway");
    assert!(world.check(asked()).sign);
    world.clock_suspect = true;
    let reply = world.check(asked());
    assert_eq!((decided(&reply), reply.sign), (ALLOWED, false));
}

#[test]
fn pitfall_27_above_the_memory_bound_nothing_new_is_reserved() {
    let mut world = World::new();
    world.check(check().to("p").effect("k"));
    world.full = true;
    let closed = world.check(check().to("p").purpose("marketing"));
    assert_eq!(decided(&closed), deferred(Reason::Unavailable));
    let open = check().to("q").command();
    assert_eq!(world.run(&open), Reply::Capacity);
    // What reserves nothing is decided as ever, and so is what is refused anyway.
    assert_eq!(decided(&world.check(check().about("o"))), ALLOWED);
    assert_eq!(
        decided(&world.check(check().effect("k"))),
        denied(Reason::EffectInFlight)
    );
    let inbound = world.check(check().inbound().effect("new"));
    assert_eq!(
        decided(&inbound),
        (Verdict::Allow, Some(Reason::Unavailable))
    );
    assert_eq!(inbound.effect, None);
    assert!(
        world
            .declare(&declare_effect("k", 1, Settlement::Done))
            .accepted
    );
    assert!(world.declare(&suppress("q", "any").command()).accepted);
    assert_eq!(
        world.run(&contact_made("p", "service", None)),
        Reply::Capacity
    );
}

#[test]
fn f7_while_state_is_rebuilt_only_what_fails_closed_and_inbound_are_answered() {
    let policy = policy();
    let mut ids = IdStream::new([2; 32]);
    let mut answer = |check: Check, why| {
        let reply = Contact::undecided(&check.command(), &policy, why, NOON, &mut ids)?;
        let Reply::Check(reply) = reply else {
            panic!("a check is answered as one");
        };
        assert_eq!(reply.valid_for_s, 0);
        Some(decided(&reply))
    };
    let marketing = || check().purpose("marketing").to("p");
    let rebuilding = Undecided::Rebuilding;
    assert_eq!(
        answer(marketing(), rebuilding),
        Some(deferred(Reason::Rebuilding))
    );
    assert_eq!(answer(check().effect("k"), rebuilding), None);
    let inbound = answer(check().inbound(), rebuilding).map(|known| known.0);
    assert_eq!(inbound, Some(Verdict::Allow));
    let late = Undecided::Deadline;
    assert_eq!(answer(check(), late), Some(deferred(Reason::Unavailable)));
    let inbound = answer(check().inbound(), late);
    assert_eq!(inbound, Some((Verdict::Allow, Some(Reason::Unavailable))));
    let full = Undecided::NoRoom;
    let deferred = Some(deferred(Reason::Unavailable));
    assert_eq!(answer(marketing(), full), deferred);
    assert_eq!(answer(check().effect("k"), full), None);
    let inbound = answer(check().inbound(), full).map(|known| known.0);
    assert_eq!(inbound, Some(Verdict::Allow));
}

#[test]
fn pitfall_1_2_a_clock_that_stands_or_saturates_never_panics() {
    for now in [i64::MIN, -1, 0, i64::MAX - 1, i64::MAX] {
        let mut world = World::new();
        world.now = Timestamp(now);
        world.check(asked());
        world.check(asked().inbound());
        world.declare(&suppress("p", "any").command());
        world.check(asked().on("sms"));
    }
}
