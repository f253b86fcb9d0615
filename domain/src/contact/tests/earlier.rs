//! A decision at an instant before what its entities have seen. A node's time never goes back; the domain
//! does not rely on it for what it has given. But for suppressions: they count from their `since` on, as the
//! contract says (§15).

use proptest::prelude::*;

use super::paid::admit;
use super::{NOON, World, decided};
use crate::contact::command::{Command, Settlement};
use crate::contact::directory::Target;
use crate::contact::fixture::{check, claim_on, declare_effect, hash, lock, reserve};
use crate::contact::reply::Reply;
use crate::time::Timestamp;

const HOUR_MS: i64 = 3_600_000;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// The first instant is the later one here: a decision that is asked for at an instant before what its
    /// entities have seen finds all of it.
    #[test]
    fn pitfall_2_a_now_before_what_was_seen_gives_nothing_again(
        back in prop_oneof![Just(1), 0..100 * 24 * HOUR_MS, 0..=i64::MAX],
    ) {
        let mut world = World::new();
        let seen = seen_at_noon(&mut world);
        let known = world.entities.clone();
        world.now = Timestamp(NOON.0.saturating_sub(back));
        for (command, answer) in &seen {
            let said = brief(&world.decide(command).reply);
            prop_assert_eq!(&said, answer, "{} ms before: {:?}", back, command);
        }
        prop_assert_eq!(world.sweep(), 0, "nothing is over");
        prop_assert_eq!(&world.entities, &known);
    }
}

/// What an answer gives or holds back, without its instants.
fn brief(reply: &Reply) -> String {
    if let Reply::Check(reply) = reply {
        let budgets = reply.budgets.iter();
        let left: Vec<_> = budgets.map(|view| (view.purpose, view.remaining)).collect();
        format!("{:?} {:?} {left:?}", decided(reply), reply.effect)
    } else if let Reply::Admission(reply) = reply {
        format!("{} units, {:?} left", reply.units, reply.remaining)
    } else if let Reply::Exhausted { .. } = reply {
        "no units".to_owned()
    } else if let Reply::Held(reply) = reply {
        format!("{:?} by {}", reply.refusal, &*reply.holder)
    } else {
        format!("{reply:?}")
    }
}

/// Things that are taken at noon, and what is said to whoever asks for them again then.
fn seen_at_noon(world: &mut World) -> Vec<(Command, String)> {
    let search = |units, id| {
        admit(
            "registry_search",
            Target::Customer(hash("p")),
            Some(units),
            id,
        )
    };
    let retention = || check().purpose("retention").to("p").on("voice");
    let marketing = || check().purpose("marketing").to("p").on("voice");
    world.check(retention());
    world.check(marketing());
    world.check(check().effect("in flight"));
    world.check(check().effect("done"));
    world.declare(&declare_effect("done", 1, Settlement::Done));
    world.run(&claim_on("r", "owner").command());
    world.run(&lock("o", "summary", "locker").command());
    world.run(&search(4, 1));
    world.run(&search(4, 2));
    world.run(&reserve("once").keyed("key", "request"));
    let again = [
        (retention().command(), "BudgetExhausted"),
        (marketing().command(), "Allow"),
        (check().effect("in flight").command(), "EffectInFlight"),
        (check().effect("done").command(), "EffectDone"),
        (check().to("r").by("another").command(), "OwnerActive"),
        (
            check().about("o").task("summary").by("another").command(),
            "LockHeld",
        ),
        (claim_on("r", "another").command(), "by owner"),
        (lock("o", "summary", "another").command(), "by locker"),
        (search(2, 3), "2 units, Some(0) left"),
        (search(3, 4), "no units"),
        (reserve("once").keyed("key", "request"), "Reserved"),
        (reserve("once").keyed("key", "another"), "Conflict"),
        (reserve("in flight"), "EffectInFlight"),
        (reserve("done"), "Done"),
    ];
    let told = again.map(|(command, word)| {
        let said = brief(&world.decide(&command).reply);
        assert!(said.contains(word), "{word}: {said}");
        (command, said)
    });
    told.into()
}
