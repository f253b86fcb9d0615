//! Claims: who has a customer or an object (§9), acceptance rows O1 to O15 and K2.

use super::{ALLOWED, HOUR_S, NOON, World, claim_of, decided, deferred};
use crate::contact::claim::{CLAIMS_LIVE_MAX, ClaimKind, ClaimVia, ENDED_KEPT_S};
use crate::contact::command::{Command, Route};
use crate::contact::directory::{self, Target};
use crate::contact::fixture::{CRM, check, claim, claim_on, hash, release, vault};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::reply::{ClaimReply, ClaimedRef, DeclareReply, HeldReply, Member, Reply};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::time::Timestamp;

/// The claim a command was answered with.
pub(super) fn claimed(world: &mut World, command: &Command) -> ClaimReply {
    let reply = world.run(command);
    let Reply::Claim(claim) = reply else {
        panic!("a claim was answered with {reply:?}");
    };
    *claim
}

fn held(refusal: Refusal, holder: &str, until: Timestamp) -> Reply {
    Reply::Held(Box::new(HeldReply {
        refusal,
        holder: Text::from(holder),
        until,
    }))
}

pub(super) fn epoch(claim: &ClaimReply) -> i64 {
    i64::try_from(claim.epoch).expect("a small epoch")
}

#[test]
fn o1_o2_a_claim_stops_others_but_for_the_intents_it_leaves() {
    let mut world = World::new();
    let case = claim_on("p", "specialist")
        .case()
        .leaving("proposal_followup");
    let made = claimed(&mut world, &case.command());
    assert_eq!((made.kind, &*made.level), (ClaimKind::Case, "agent_active"));
    let other = world.check(check().to("p").by("seller"));
    assert_eq!(decided(&other), deferred(Reason::OwnerActive));
    let owner = other.owner.expect("an owner");
    assert_eq!(
        (&*owner.holder, owner.kind),
        ("specialist", ClaimKind::Case)
    );
    assert_eq!((owner.since, owner.valid_until), (NOON, NOON.plus_s(600)));
    assert_eq!(
        (&*owner.source, owner.via),
        ("agents", ClaimVia::Declaration)
    );
    assert_eq!(owner.epoch, made.epoch);
    let follow = check().to("p").by("seller").intent("proposal_followup");
    let allowed = world.check(follow);
    assert_eq!(decided(&allowed), ALLOWED);
    assert!(
        allowed.owner.is_some(),
        "the owner is shown on an allow too"
    );
    assert_eq!(
        decided(&world.check(check().to("p").by("specialist"))),
        ALLOWED
    );
    let inbound = world.check(check().to("p").by("seller").inbound());
    assert_eq!(
        decided(&inbound),
        (Verdict::HandoffTo, Some(Reason::OwnerActive))
    );
}

#[test]
fn o3_another_holder_is_turned_down_at_the_same_level_and_leaves_no_trace() {
    let mut world = World::new();
    claimed(&mut world, &claim_on("p", "specialist").command());
    let events = world.log.len();
    let until = NOON.plus_s(600);
    for wanted in [claim_on("p", "seller"), claim_on("p", "seller").case()] {
        assert_eq!(
            world.run(&wanted.clone().command()),
            held(Refusal::LeaseHeld, "specialist", until)
        );
        assert_eq!(world.declare(&wanted.declared()), DeclareReply::TURNED_DOWN);
    }
    assert_eq!(world.log.len(), events);
}

#[test]
fn o4_o5_a_stricter_claim_wins_and_the_softer_one_holds_again_after_it() {
    let mut world = World::new();
    claimed(&mut world, &claim_on("p", "bot").command());
    let human = claimed(
        &mut world,
        &claim_on("p", "maria").level("human_active").command(),
    );
    let owner = |world: &mut World| {
        let reply = world.check(check().to("p").by("somebody"));
        reply.owner.map(|owner| owner.holder.to_string())
    };
    assert_eq!(owner(&mut world).as_deref(), Some("maria"));
    let third = claim_on("p", "third").level("soft_pause").command();
    assert_eq!(
        world.run(&third),
        held(Refusal::LeaseHeld, "maria", human.valid_until)
    );
    claimed(&mut world, &release(human.claim_id, epoch(&human)));
    assert_eq!(owner(&mut world).as_deref(), Some("bot"));
}

/// Pitfall 15.
#[test]
fn o6_a_renewal_keeps_the_id_and_gets_a_new_epoch() {
    let mut world = World::new();
    let first = claimed(&mut world, &claim_on("p", "a").command());
    world.pass_s(100);
    let again = claim_on("p", "a").lease_s(900).named("other").command();
    let second = claimed(&mut world, &again);
    assert_eq!(second.claim_id, first.claim_id);
    assert!(second.epoch > first.epoch);
    assert_eq!(second.valid_until, NOON.plus_s(1_000));
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!((owner.since, owner.epoch), (NOON, second.epoch));
    // Another kind of claim is another claim.
    let case = claimed(
        &mut world,
        &claim_on("p", "a").case().named("case").command(),
    );
    assert_ne!(case.claim_id, first.claim_id);
}

/// A worker that is still at it when its lease ends has nothing any more: who came after it holds the
/// customer under a higher epoch, and neither a renewal nor a release of the first touches that.
#[test]
fn pitfall_15_a_lease_that_ended_is_lost_to_its_holder() {
    let mut world = World::new();
    let slow = claimed(&mut world, &claim_on("p", "slow").lease_s(60).command());
    world.pass_s(59);
    let wanted = claim_on("p", "next").lease_s(600).named("next").command();
    assert_eq!(
        world.run(&wanted),
        held(Refusal::LeaseHeld, "slow", NOON.plus_s(60)),
        "a second before the end it holds"
    );
    world.pass_s(1);
    assert!(world.check(check().to("p").by("next")).owner.is_none());
    let next = claimed(&mut world, &wanted);
    assert!(next.epoch > slow.epoch);
    let until = NOON.plus_s(660);
    let events = world.log.len();
    let renewed = claim_on("p", "slow").lease_s(60).named("again").command();
    assert_eq!(world.run(&renewed), held(Refusal::LeaseHeld, "next", until));
    // Its own claim is over, which it may be told; the other's it cannot touch.
    let over = claimed(&mut world, &release(slow.claim_id, epoch(&slow)));
    assert_eq!(
        (over.epoch, over.valid_until),
        (slow.epoch, NOON.plus_s(60))
    );
    let stale = Reply::Refused(Refusal::StaleEpoch);
    for (id, number) in [(slow.claim_id, epoch(&next)), (next.claim_id, epoch(&slow))] {
        assert_eq!(world.run(&release(id, number)), stale);
    }
    assert_eq!(world.log.len(), events, "nothing changed");
    let seen = world.check(check().to("p").by("slow"));
    assert_eq!(decided(&seen), deferred(Reason::OwnerActive));
    let owner = seen.owner.expect("an owner");
    assert_eq!((&*owner.holder, owner.epoch), ("next", next.epoch));
    assert_eq!(owner.valid_until, until);
}

/// A renewal that gets stricter is judged like a new claim; any other is the holder's own.
#[test]
fn a_renewal_does_not_climb_past_a_stricter_holder() {
    let mut world = World::new();
    let soft = claim_on("p", "bot");
    claimed(&mut world, &soft.clone().command());
    let until = claimed(
        &mut world,
        &claim_on("p", "maria").level("human_active").command(),
    );
    for level in ["human_active", "soft_pause"] {
        assert_eq!(
            world.run(&soft.clone().level(level).command()),
            held(Refusal::LeaseHeld, "maria", until.valid_until),
            "{level}"
        );
    }
    claimed(&mut world, &soft.clone().command());
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(&*owner.holder, "maria");
    claimed(&mut world, &soft.level("closed").command());
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!((&*owner.holder, &*owner.level), ("bot", "closed"));
}

/// Pitfall 16.
#[test]
fn o7_o8_a_release_names_the_current_epoch() {
    let mut world = World::new();
    let first = claimed(&mut world, &claim_on("p", "a").command());
    let second = claimed(&mut world, &claim_on("p", "a").command());
    let events = world.log.len();
    for stale in [epoch(&first), epoch(&second) + 1, -1, i64::MAX, i64::MIN] {
        let reply = world.run(&release(second.claim_id, stale));
        assert_eq!(reply, Reply::Refused(Refusal::StaleEpoch), "{stale}");
    }
    assert_eq!(world.log.len(), events, "nothing changed");
    let other = check().to("p").by("seller");
    assert_eq!(
        decided(&world.check(other.clone())),
        deferred(Reason::OwnerActive)
    );
    world.pass_s(10);
    let ended = claimed(&mut world, &release(second.claim_id, epoch(&second)));
    assert_eq!(ended.valid_until, NOON.plus_s(10));
    assert_eq!(decided(&world.check(other)), ALLOWED);
    world.pass_s(10);
    let again = claimed(&mut world, &release(second.claim_id, epoch(&second)));
    assert_eq!(again, ended, "an ended claim stays as it is");
    let third = claimed(&mut world, &claim_on("p", "b").command());
    assert!(third.epoch > second.epoch);
    assert_eq!(world.run(&release(Id([9; 16]), 1)), Reply::NotFound);
}

#[test]
fn k2_a_case_closes_by_declaration_and_what_is_unknown_is_turned_down() {
    let mut world = World::new();
    let reply = world.declare(&claim_on("p", "a").case().declared());
    let Some(ClaimedRef { id, epoch }) = reply.claim else {
        panic!("a case names its claim: {reply:?}");
    };
    let epoch = i64::try_from(epoch).expect("a small epoch");
    let close = |claim, epoch| {
        let mut command = release(claim, epoch);
        command.route = Route::Declare;
        command
    };
    let unknown = close(Id([9; 16]), epoch).keyed("key", "request");
    assert_eq!(world.declare(&unknown), DeclareReply::TURNED_DOWN);
    assert_eq!(
        world.run(&unknown.keyed("key", "another")),
        Reply::Conflict,
        "what was turned down is kept under its key"
    );
    assert_eq!(
        world.declare(&close(id, epoch + 1)),
        DeclareReply::TURNED_DOWN
    );
    assert!(world.declare(&close(id, epoch)).accepted);
    assert!(world.declare(&close(id, epoch)).accepted, "again");
    assert_eq!(decided(&world.check(check().to("p").by("b"))), ALLOWED);
}

#[test]
fn o9_a_claim_ends_at_its_instant_without_a_call() {
    let mut world = World::new();
    claimed(&mut world, &claim_on("p", "a").lease_s(60).command());
    let other = check().to("p").by("b");
    world.now = NOON.plus_ms(59_999);
    assert_eq!(
        decided(&world.check(other.clone())),
        deferred(Reason::OwnerActive)
    );
    world.now = NOON.plus_ms(60_000);
    let free = world.check(other);
    assert_eq!(decided(&free), ALLOWED);
    assert!(free.owner.is_none());
}

#[test]
fn o10_o11_an_observation_replaces_what_its_source_said_unless_it_is_older() {
    let mut world = World::new();
    let saw = |level: &str, at: i64, holder: &str| {
        let claim = claim_on("p", holder).level(level);
        claim.seen_by("panel", Some(NOON.plus_s(at)))
    };
    let first = claimed(&mut world, &saw("human_active", -30, "maria"));
    let events = world.log.len();
    let ignored = claimed(&mut world, &saw("closed", -60, "older"));
    assert_eq!(ignored, first, "the answer shows the source's claim");
    assert_eq!(world.log.len(), events);
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(
        (&*owner.holder, &*owner.level, owner.via, &*owner.source),
        ("maria", "human_active", ClaimVia::Worker, "panel")
    );
    let softer = claimed(&mut world, &saw("agent_active", 0, "bot"));
    assert_eq!(softer.claim_id, first.claim_id);
    assert!(softer.epoch > first.epoch);
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!((&*owner.holder, &*owner.level), ("bot", "agent_active"));
    // Equal is not older, and the future is now.
    claimed(&mut world, &saw("closed", 0, "equal"));
    claimed(&mut world, &saw("soft_pause", 3_600, "early"));
    world.pass_s(1);
    let late = claimed(&mut world, &saw("closed", 1, "later"));
    assert_eq!(
        &*late.holder, "later",
        "a time to come did not shut out a later word"
    );
}

/// A released or expired observation still tells that an older one is older.
#[test]
fn an_older_observation_is_ignored_after_the_claim_has_ended() {
    let mut world = World::new();
    let saw =
        |at: Timestamp, holder: &str| claim_on("p", holder).lease_s(60).seen_by("panel", Some(at));
    let first = claimed(&mut world, &saw(NOON, "maria"));
    world.pass_s(61);
    let late = claimed(&mut world, &saw(NOON.plus_s(-1), "older"));
    assert_eq!(late, first);
    assert!(world.check(check().to("p")).owner.is_none());
    let next = claimed(&mut world, &saw(NOON.plus_s(61), "next"));
    assert_ne!(
        next.claim_id, first.claim_id,
        "an ended claim is not revived"
    );
}

#[test]
fn o12_an_observation_is_taken_beside_a_stricter_declaration() {
    let mut world = World::new();
    claimed(
        &mut world,
        &claim_on("p", "maria").level("human_active").command(),
    );
    claimed(
        &mut world,
        &claim_on("p", "bot").seen_by("middleware", None),
    );
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(&*owner.holder, "maria");
    // Two sources do not replace each other; equal levels: the one accepted last.
    world.pass_s(1);
    claimed(
        &mut world,
        &claim_on("p", "joão")
            .level("human_active")
            .seen_by("panel", None),
    );
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(&*owner.holder, "joão");
}

#[test]
fn o13_validity_is_capped_and_never_refused() {
    let mut world = World::new();
    let seen = claim_on("p", "a")
        .lease_s(3_600)
        .seen_by("middleware", None);
    assert_eq!(claimed(&mut world, &seen).valid_until, NOON.plus_s(900));
    let document = r#"{"ownership": {"max_declared_lease_s": 120}}"#;
    let mut world = World::with(Policy::load(1, document, &vault()).expect("a document"));
    let declared = claim_on("p", "a").lease_s(3_600).command();
    assert_eq!(claimed(&mut world, &declared).valid_until, NOON.plus_s(120));
}

#[test]
fn o15_names_that_the_rules_do_not_have_are_told() {
    let mut world = World::new();
    let level = claim_on("p", "a").level("unheard_of");
    assert_eq!(
        world.run(&level.clone().command()),
        Reply::Undeclared(Member::Level)
    );
    assert_eq!(
        world.run(&level.seen_by("panel", None)),
        Reply::Undeclared(Member::Level)
    );
    assert_eq!(
        world.run(&claim_on("p", "a").seen_by("unheard_of", None)),
        Reply::Undeclared(Member::Source)
    );
}

/// §9: the stricter of the two holders decides; of equals the one accepted last.
#[test]
fn the_stricter_of_subject_and_object_governs() {
    let levels = ["closed", "human_active", "agent_active"];
    for (on_subject, on_object) in (0..9).map(|pair| (levels[pair / 3], levels[pair % 3])) {
        for subject_first in [true, false] {
            let mut world = World::new();
            let subject = claim_on("p", "of_subject").level(on_subject);
            let object = claim(Target::Object(hash("o")), "of_object").level(on_object);
            let both = if subject_first {
                [subject, object]
            } else {
                [object, subject]
            };
            for one in both {
                claimed(&mut world, &one.command());
                world.pass_s(1);
            }
            let reply = world.check(check().to("p").about("o").by("other"));
            let place = |level| levels.iter().position(|known| *known == level);
            let wanted = match place(on_subject).cmp(&place(on_object)) {
                std::cmp::Ordering::Less => "of_subject",
                std::cmp::Ordering::Greater => "of_object",
                std::cmp::Ordering::Equal if subject_first => "of_object",
                std::cmp::Ordering::Equal => "of_subject",
            };
            assert_eq!(decided(&reply), deferred(Reason::OwnerActive));
            assert_eq!(&*reply.owner.expect("an owner").holder, wanted);
        }
    }
}

#[test]
fn a_full_memory_takes_no_new_claim_but_renews_and_gives_back() {
    let mut world = World::new();
    let first = claimed(&mut world, &claim_on("p", "a").command());
    world.full = true;
    let renewed = claimed(&mut world, &claim_on("p", "a").command());
    assert_eq!(renewed.claim_id, first.claim_id);
    let stricter = claim_on("p", "b").level("closed").command();
    assert_eq!(world.run(&stricter), Reply::Capacity);
    let seen = claim_on("p", "b").seen_by("panel", None);
    assert_eq!(world.run(&seen), Reply::Capacity);
    claimed(&mut world, &release(renewed.claim_id, epoch(&renewed)));
}

#[test]
fn a_claim_keeps_its_id_for_90_days_and_ends_under_it_then() {
    let mut world = World::new();
    let renew = |word: &str| claim_on("p", "a").lease_s(86_400).named(word).command();
    let first = claimed(&mut world, &renew("first"));
    let mut last = first.clone();
    for half_day in 1..180 {
        world.now = NOON.plus_s(half_day * 43_200);
        last = claimed(&mut world, &renew("unused"));
        assert_eq!(last.claim_id, first.claim_id, "{half_day}");
    }
    world.now = NOON.plus_s(directory::RENEWED_S);
    let new = claimed(&mut world, &renew("second"));
    assert_ne!(new.claim_id, first.claim_id);
    assert!(new.epoch > last.epoch);
    let ended = claimed(&mut world, &release(first.claim_id, epoch(&last)));
    assert_eq!(ended.valid_until, world.now, "the old name has ended");
    let owner = world.check(check().to("p")).owner.expect("an owner");
    assert_eq!(owner.epoch, new.epoch);
}

#[test]
fn an_ended_claim_is_forgotten_after_a_day_and_its_target_too() {
    let mut world = World::new();
    let first = claimed(&mut world, &claim_on("p", "a").lease_s(60).command());
    world.now = NOON.plus_s(60 + ENDED_KEPT_S - 1);
    claimed(&mut world, &release(first.claim_id, epoch(&first)));
    claimed(&mut world, &claim_on("q", "other").command());
    world.now = NOON.plus_s(60 + ENDED_KEPT_S);
    claimed(&mut world, &claim_on("p", "b").command());
    let gone = release(first.claim_id, epoch(&first));
    assert_eq!(world.run(&gone), Reply::NotFound);
}

#[test]
fn a_target_has_a_bound_on_live_claims() {
    let mut world = World::new();
    for number in 1..=CLAIMS_LIVE_MAX {
        let mut placed = claim_of(&format!("holder {number}"), number as u64);
        placed.id = Id([u8::try_from(number).expect("few claims"); 16]);
        world.claim("p", placed);
    }
    let one_more = claim_on("p", "one more").level("closed").command();
    assert_eq!(world.run(&one_more), Reply::Refused(Refusal::TargetFull));
    world.now = NOON.plus_s(HOUR_S);
    claimed(&mut world, &one_more);
}

/// Any source may give back what another declared: the id and epoch are the proof.
#[test]
fn whoever_knows_id_and_epoch_may_release() {
    let mut world = World::new();
    let made = claimed(&mut world, &claim_on("p", "a").command());
    claimed(
        &mut world,
        &release(made.claim_id, epoch(&made)).sent_by(CRM),
    );
    assert!(world.check(check().to("p")).owner.is_none());
}
