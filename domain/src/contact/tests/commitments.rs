//! Commitments (§11), acceptance rows M1 to M3.

use super::{NOON, World};
use crate::contact::commitment::CommitmentState::{Accepted, Declined, Made, Withdrawn};
use crate::contact::commitment::{Commitment, ENDED_KEPT_MAX};
use crate::contact::directory::OFFER_KEPT_S;
use crate::contact::fixture::{check, end_offer, offer};
use crate::contact::reply::{DeclareReply, Member, Reply};
use crate::time::Timestamp;

/// What holds for a customer, in the order it was offered.
fn holding(world: &mut World, customer: &str) -> Vec<String> {
    let reply = world.check(check().to(customer));
    let ids = reply.commitments.iter().map(|view| view.id.to_string());
    ids.collect()
}

fn take(world: &mut World, command: &crate::contact::command::Command) {
    assert_eq!(world.declare(command), DeclareReply::TAKEN);
}

#[test]
fn m1_commitments_agree_by_the_rule_of_their_type() {
    let mut world = World::new();
    take(&mut world, &offer("p", "d1", "discount").command());
    take(&mut world, &offer("p", "d2", "discount").command());
    assert_eq!(holding(&mut world, "p"), ["d1"], "the first holds");
    take(&mut world, &offer("p", "o1", "offer").score(10).command());
    take(&mut world, &offer("p", "o2", "offer").score(20).command());
    take(&mut world, &offer("p", "o3", "offer").score(5).command());
    assert_eq!(holding(&mut world, "p"), ["d1", "o2"], "the best holds");
    take(&mut world, &offer("p", "o4", "offer").score(20).command());
    assert_eq!(
        holding(&mut world, "p"),
        ["d1", "o2"],
        "of equals the first"
    );
    take(&mut world, &offer("p", "c1", "contract").command());
    assert_eq!(holding(&mut world, "p"), ["c1"], "it holds alone");
    take(&mut world, &offer("p", "d3", "discount").command());
    take(&mut world, &offer("p", "o5", "offer").score(90).command());
    assert_eq!(holding(&mut world, "p"), ["c1"]);
    take(&mut world, &offer("p", "c2", "contract").command());
    assert_eq!(
        holding(&mut world, "p"),
        ["c2"],
        "the same type takes its place"
    );
    take(&mut world, &end_offer(Some("p"), "c2", Withdrawn));
    assert!(holding(&mut world, "p").is_empty(), "nothing comes back");
    assert!(holding(&mut world, "q").is_empty(), "another customer");
}

#[test]
fn m1_a_missing_score_is_the_lowest() {
    let mut world = World::new();
    take(&mut world, &offer("p", "a", "offer").command());
    take(&mut world, &offer("p", "b", "offer").command());
    assert_eq!(holding(&mut world, "p"), ["a"]);
    take(
        &mut world,
        &offer("p", "c", "offer").score(i64::MIN).command(),
    );
    assert_eq!(holding(&mut world, "p"), ["c"]);
    take(&mut world, &offer("p", "d", "offer").command());
    assert_eq!(holding(&mut world, "p"), ["c"]);
}

#[test]
fn m2_a_declined_or_withdrawn_one_holds_no_more_and_an_accepted_one_does() {
    for (state, holds) in [(Declined, false), (Withdrawn, false), (Accepted, true)] {
        let mut world = World::new();
        take(&mut world, &offer("p", "a", "offer").command());
        take(&mut world, &end_offer(Some("p"), "a", state));
        assert_eq!(
            holding(&mut world, "p").len(),
            usize::from(holds),
            "{state:?}"
        );
        // The same word again changes nothing.
        let events = world.log.len();
        take(&mut world, &end_offer(Some("p"), "a", state));
        assert_eq!(world.log.len(), events);
    }
    let mut world = World::new();
    take(&mut world, &offer("p", "a", "offer").command());
    take(&mut world, &end_offer(Some("p"), "a", Accepted));
    take(&mut world, &end_offer(Some("p"), "a", Withdrawn));
    take(&mut world, &end_offer(Some("p"), "a", Accepted));
    assert!(
        holding(&mut world, "p").is_empty(),
        "what is over stays over"
    );
}

/// What was offered and holds is forgotten 90 days after its own end; what holds no more, and an end
/// of which the offer never came, 90 days after the word that ended it.
#[test]
fn an_offer_is_forgotten_90_days_after_its_end() {
    let kept = |from: Timestamp| Some(from.plus_s(90 * 86_400));
    let turned = NOON.plus_s(5);
    let end = NOON.plus_s(3_600);
    for (kind, state, until, forgotten) in [
        ("offer", Made, Some(end), kept(end)),
        ("offer", Accepted, Some(end), kept(end)),
        ("offer", Made, None, None),
        ("offer", Withdrawn, Some(end), kept(turned)),
        ("offer", Declined, None, kept(turned)),
        ("", Accepted, None, kept(turned)),
        ("", Made, Some(end), kept(turned)),
    ] {
        let commitment = Commitment {
            id: "a".into(),
            kind: kind.into(),
            score: None,
            until,
            state,
            turned_at: turned,
        };
        assert_eq!(commitment.forgotten_at(), forgotten, "{commitment:?}");
    }
}

#[test]
fn m3_its_time_passes() {
    let mut world = World::new();
    let until = NOON.plus_s(60);
    take(
        &mut world,
        &offer("p", "a", "discount").until(until).command(),
    );
    world.now = until.plus_ms(-1);
    assert_eq!(holding(&mut world, "p"), ["a"]);
    world.now = until;
    assert!(holding(&mut world, "p").is_empty());
    take(&mut world, &offer("p", "b", "discount").command());
    assert_eq!(holding(&mut world, "p"), ["b"], "the first that holds now");
}

/// Declarations never fail by their order (§17).
#[test]
fn the_order_of_declarations_is_free() {
    for (state, holds) in [(Declined, false), (Withdrawn, false), (Accepted, true)] {
        let mut world = World::new();
        take(&mut world, &end_offer(Some("p"), "a", state));
        assert!(holding(&mut world, "p").is_empty(), "nobody offered it yet");
        take(&mut world, &offer("p", "a", "offer").command());
        assert_eq!(
            holding(&mut world, "p").len(),
            usize::from(holds),
            "{state:?}"
        );
    }
    let mut world = World::new();
    take(&mut world, &end_offer(None, "unheard of", Withdrawn));
    assert!(world.log.is_empty());
}

#[test]
fn an_id_is_unique_in_the_space_and_leads_to_its_customer() {
    let mut world = World::new();
    take(&mut world, &offer("p", "a", "offer").command());
    let events = world.log.len();
    take(&mut world, &offer("p", "a", "offer").score(50).command());
    let other = world.declare(&offer("q", "a", "offer").command());
    assert_eq!(other, DeclareReply::TURNED_DOWN);
    assert_eq!(world.log.len(), events);
    take(&mut world, &end_offer(None, "a", Declined));
    assert!(holding(&mut world, "p").is_empty());
    let undeclared = offer("p", "b", "unheard_of").command();
    assert_eq!(world.run(&undeclared), Reply::Undeclared(Member::Type));
}

#[test]
fn an_id_is_free_again_400_days_after_the_offers_end_or_its_making() {
    for (until, over) in [
        (None, NOON),
        (Some(NOON.plus_s(-60)), NOON),
        (Some(NOON.plus_s(60)), NOON.plus_s(60)),
    ] {
        let mut world = World::new();
        let mut made = offer("p", "a", "offer");
        made.until = until;
        take(&mut world, &made.command());
        let free_at = over.plus_s(OFFER_KEPT_S);
        for (now, reply) in [
            (free_at.plus_ms(-1), DeclareReply::TURNED_DOWN),
            (free_at, DeclareReply::TAKEN),
        ] {
            world.now = now;
            let other = world.declare(&offer("q", "a", "offer").command());
            assert_eq!(other, reply, "{until:?}");
        }
    }
}

#[test]
fn what_is_over_is_bounded_and_forgotten() {
    let mut world = World::new();
    for number in 0..ENDED_KEPT_MAX + 20 {
        world.pass_s(1);
        let id = format!("offer {number}");
        take(&mut world, &offer("p", &id, "offer").command());
        take(&mut world, &end_offer(Some("p"), &id, Withdrawn));
    }
    assert_eq!(world.customer("p").rare.commitments.len(), ENDED_KEPT_MAX);
    let last = world
        .customer("p")
        .rare
        .commitments
        .last()
        .expect("the newest");
    assert_eq!(&*last.id, format!("offer {}", ENDED_KEPT_MAX + 19));
    world.full = true;
    assert_eq!(
        world.run(&offer("p", "x", "offer").command()),
        Reply::Capacity
    );
}
