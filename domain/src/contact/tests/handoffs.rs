//! Rows H: handoffs, their holds and their outcomes, where time and order are the test's.

use super::{NOON, World, decided, deferred};
use crate::contact::command::{Body, Command, Route};
use crate::contact::fixture::{
    AGENTS, CRM, accept, check, claim_on, close, command, hand_over, hash, lift, policy,
    read_handoff, release, vault,
};
use crate::contact::handoff::command::HandoffCommand;
use crate::contact::handoff::{ENDED_KEPT_S, Handoff, HandoffStatus, OPEN_MAX, handoff_key};
use crate::contact::policy::Policy;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::contact::reply::{HandoffReply, Member, Reply};
use crate::contact::text::Text;
use crate::ids::Id;
use crate::time::Timestamp;

const ACCEPT: Route = Route::HandoffAccept;
pub(super) const OUTCOME: Route = Route::HandoffOutcome;
const CLOSED: Reply = Reply::Refused(Refusal::HandoffClosed);
const EXPIRED: Reply = Reply::Refused(Refusal::HandoffExpired);

pub(super) fn shown(world: &mut World, command: &Command) -> HandoffReply {
    let reply = world.run(command);
    let Reply::Handoff(reply) = reply else {
        panic!("a handoff was answered with {reply:?}");
    };
    *reply
}

pub(super) fn made(world: &mut World, handoff: &str) -> HandoffReply {
    shown(world, &hand_over("p", handoff, "desk").command())
}

pub(super) fn seen(reply: &Reply) -> Option<HandoffStatus> {
    if let Reply::Handoff(reply) = reply {
        return Some(reply.status);
    }
    None
}

fn holder(world: &mut World) -> Option<String> {
    let reply = world.check(check().to("p").by("seller"));
    reply.owner.map(|owner| owner.holder.to_string())
}

pub(super) fn held(world: &World, handoff: &str) -> Handoff {
    let key = handoff_key(crate::contact::fixture::SPACE, Id(hash(handoff).0));
    let (_, entity) = world.entities.get(&key).expect("the handoff is known");
    entity.as_handoff().expect("a handoff").clone()
}

#[test]
fn h1_the_target_has_the_customer_until_the_outcome() {
    let mut world = World::new();
    let reply = made(&mut world, "h");
    assert_eq!(
        (reply.status, reply.outcome),
        (HandoffStatus::Created, None)
    );
    let handoff = reply.handoff.expect("a new handoff is whole");
    assert_eq!(handoff.expected_by, NOON.plus_s(86_400), "the space's wait");
    let words: Vec<&str> = handoff
        .package
        .vocabulary
        .iter()
        .map(|word| &**word)
        .collect();
    assert_eq!(words, ["resolved", "callback", "opt_out"]);
    let asked = world.check(check().to("p").by("seller"));
    assert_eq!(decided(&asked), deferred(Reason::OwnerActive));
    let owner = asked.owner.expect("an owner");
    assert_eq!(
        (
            &*owner.holder,
            &*owner.level,
            &*owner.source,
            owner.via.slug()
        ),
        ("desk", "transfer_pending", "handoff", "declaration")
    );
    assert_eq!(owner.valid_until, handoff.expected_by);
    let own = world.check(check().to("p").by("desk"));
    assert_eq!(own.verdict, Verdict::Allow);
}

/// Every order of accept, outcomes and expiry: what each is answered with, and how it stands then.
#[test]
fn h2_h4_accept_outcome_and_expiry_in_every_order() {
    use HandoffStatus::{Accepted, Closed, Created, Expired};
    let accepts = || accept(ACCEPT, "h");
    let outcome = |word| close(OUTCOME, "h", Some(word));
    let before: [(HandoffStatus, Vec<Command>, i64); 5] = [
        (Created, vec![], 10),
        (Accepted, vec![accepts()], 10),
        (Closed, vec![outcome("resolved")], 10),
        (Closed, vec![accepts(), outcome("resolved")], 1_000),
        (Expired, vec![accepts()], 600),
    ];
    for (status, commands, second) in before {
        let asked: [(Command, Result<HandoffStatus, Reply>); 4] = [
            (
                accepts(),
                match status {
                    Created | Accepted => Ok(Accepted),
                    Closed => Err(CLOSED),
                    Expired => Err(EXPIRED),
                },
            ),
            (
                outcome("resolved"),
                match status {
                    Created | Accepted | Closed => Ok(Closed),
                    Expired => Err(EXPIRED),
                },
            ),
            (
                outcome("callback"),
                match status {
                    Created | Accepted => Ok(Closed),
                    Closed => Err(CLOSED),
                    Expired => Err(EXPIRED),
                },
            ),
            (outcome("sold"), Err(Reply::Undeclared(Member::Outcome))),
        ];
        for (command, wanted) in asked {
            let mut world = World::new();
            shown(
                &mut world,
                &hand_over("p", "h", "desk").by(NOON.plus_s(600)).command(),
            );
            for command in &commands {
                world.run(command);
            }
            world.now = NOON.plus_s(second);
            assert_eq!(shown(&mut world, &read_handoff("h")).status, status);
            let events = world.log.len();
            let reply = world.run(&command);
            match wanted {
                Ok(status) => assert_eq!(seen(&reply), Some(status), "{command:?}"),
                Err(refused) => {
                    assert_eq!(reply, refused, "{command:?}");
                    assert_eq!(world.log.len(), events, "a refusal changes nothing");
                    let still = shown(&mut world, &read_handoff("h")).status;
                    assert_eq!(still, status);
                }
            }
        }
    }
}

#[test]
fn h2_what_changes_nothing_leaves_no_event() {
    let mut world = World::new();
    made(&mut world, "h");
    for command in [accept(ACCEPT, "h"), close(OUTCOME, "h", Some("resolved"))] {
        world.run(&command);
        let events = world.log.len();
        assert!(seen(&world.run(&command)).is_some());
        assert_eq!(world.log.len(), events);
    }
    let closed = shown(&mut world, &read_handoff("h"));
    assert_eq!(closed.outcome.as_deref(), Some("resolved"));
    assert_eq!(holder(&mut world), None);
}

#[test]
fn h3_the_vocabulary_that_counts_is_the_spaces_now() {
    let mut world = World::new();
    made(&mut world, "h");
    let document = r#"{"handoffs": {"vocabulary": ["sold"]}}"#;
    world.policy = Policy::load(2, document, &vault()).expect("a policy");
    let dropped = world.run(&close(OUTCOME, "h", Some("resolved")));
    assert_eq!(dropped, Reply::Undeclared(Member::Outcome));
    let closed = shown(&mut world, &close(OUTCOME, "h", Some("sold")));
    let told = closed.handoff.expect("whole").package.vocabulary;
    assert!(
        !told.contains(&Text::from("sold")),
        "it shows what it was told"
    );
    world.policy = policy();
    let again = world.run(&close(OUTCOME, "h", Some("sold")));
    assert_eq!(
        seen(&again),
        Some(HandoffStatus::Closed),
        "the same outcome"
    );
}

#[test]
fn h4_past_its_time_it_is_expired_and_holds_nobody() {
    let mut world = World::new();
    let by = NOON.plus_s(2 * 86_400);
    shown(&mut world, &hand_over("p", "h", "desk").by(by).command());
    world.now = by.plus_ms(-1);
    assert_eq!(
        holder(&mut world).as_deref(),
        Some("desk"),
        "never shortened"
    );
    assert!(!held(&world, "h").is_expired(world.now));
    world.now = by;
    assert_eq!(holder(&mut world), None);
    assert_eq!(
        shown(&mut world, &read_handoff("h")).status,
        HandoffStatus::Expired
    );
    assert!(
        held(&world, "h").is_expired(world.now),
        "what the overview counts"
    );
    assert_eq!(world.run(&close(OUTCOME, "h", Some("resolved"))), EXPIRED);
    assert!(held(&world, "h").is_expired(world.now.plus_s(ENDED_KEPT_S)));
}

#[test]
fn h4_a_closed_one_never_expires() {
    let mut world = World::new();
    made(&mut world, "h");
    world.run(&close(OUTCOME, "h", Some("resolved")));
    assert!(!held(&world, "h").is_expired(Timestamp(i64::MAX)));
}

#[test]
fn h5_a_stricter_claim_goes_on_winning_and_stays() {
    let mut world = World::new();
    world.run(&claim_on("p", "maria").level("human_active").command());
    let package = made(&mut world, "h").handoff.expect("whole").package;
    let owner = package.owner.expect("who had it before");
    assert_eq!((&*owner.holder, &*owner.level), ("maria", "human_active"));
    assert_eq!(holder(&mut world).as_deref(), Some("maria"));
    world.run(&close(OUTCOME, "h", Some("resolved")));
    assert_eq!(holder(&mut world).as_deref(), Some("maria"));
}

#[test]
fn h6_an_outcome_suppresses_what_the_space_maps_it_to_once() {
    let mut world = World::new();
    made(&mut world, "h");
    let outcome = close(OUTCOME, "h", Some("opt_out")).sent_by(CRM);
    world.run(&outcome);
    let marketing = check().to("p").purpose("marketing").on("voice");
    assert_eq!(
        decided(&world.check(marketing.clone())),
        (Verdict::Deny, Some(Reason::Suppressed))
    );
    let entries = world.customer("p").rare.suppressions.clone();
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].number, entries[0].source), (1, CRM));
    assert_eq!(&*entries[0].destination, b"p");
    assert_eq!(
        (world.feed(), world.notices.len()),
        (1, 1),
        "the list has it"
    );
    world.run(&outcome);
    assert_eq!(world.feed(), 1);
    assert_eq!(
        world.customer("p").rare.suppressions,
        entries,
        "a repeat adds nothing"
    );
    let lifted = world.declare(&lift("p", "marketing", None));
    assert!(
        !lifted.accepted,
        "it is of the source that told the outcome"
    );
    assert!(
        world
            .declare(&lift("p", "marketing", None).sent_by(CRM))
            .accepted
    );
    assert_eq!(world.check(marketing).verdict, Verdict::Allow);
}

#[test]
fn h6_a_handle_that_is_no_destination_has_nothing_to_suppress() {
    let mut world = World::new();
    let mut wanted = hand_over("p", "h", "desk");
    wanted.destination = Box::default();
    world.run(&wanted.command());
    let closed = shown(&mut world, &close(OUTCOME, "h", Some("opt_out")));
    assert_eq!(closed.status, HandoffStatus::Closed);
    assert!(world.customer("p").rare.suppressions.is_empty());
    assert_eq!(world.feed(), 0);
}

#[test]
fn h6_a_mapping_may_name_a_channel() {
    let document = r#"{"handoffs": {"vocabulary": ["no_calls"], "outcomes": {"no_calls":
        {"suppress": {"purpose": "any", "reason": "opt_out", "channel": "voice"}}}}}"#;
    let mut world = World::with(Policy::load(1, document, &vault()).expect("a policy"));
    made(&mut world, "h");
    world.run(&close(OUTCOME, "h", Some("no_calls")));
    assert_eq!(
        world.check(check().to("p").on("voice")).verdict,
        Verdict::Deny
    );
    assert_eq!(
        world.check(check().to("p").on("whatsapp")).verdict,
        Verdict::Allow
    );
    let undeclared = document.replace("\"voice\"", "\"telex\"");
    let refused = Policy::load(1, &undeclared, &vault()).unwrap_err();
    assert_eq!(refused.field, "handoffs.outcomes.no_calls.suppress.channel");
}

#[test]
fn h7_a_repeat_makes_no_second_handoff_whatever_id_it_proposes() {
    let mut world = World::new();
    let first = hand_over("p", "h", "desk")
        .command()
        .keyed("key", "request");
    let reply = shown(&mut world, &first);
    let entities = world.entities.len();
    let second = hand_over("p", "other", "desk")
        .command()
        .keyed("key", "request");
    world.pass_s(60);
    let again = shown(&mut world, &second);
    assert_eq!((again.id, again.status), (reply.id, reply.status));
    assert_eq!(again.handoff, None, "the edge reads what never changes");
    assert_eq!(world.entities.len(), entities);
    world.run(&close(OUTCOME, "h", Some("resolved")));
    let again = shown(&mut world, &second);
    assert_eq!(again.status, HandoffStatus::Created, "as it was then");
}

#[test]
fn a_hold_is_nobodys_to_renew_to_release_or_to_observe_away() {
    let mut world = World::new();
    made(&mut world, "h");
    let hold = world.customer("p").rare.claims[0].clone();
    let release = release(hold.id, hold.epoch.cast_signed());
    assert_eq!(world.run(&release), Reply::NotFound);
    let claim = world.run(&claim_on("p", "desk").level("transfer_pending").command());
    assert!(
        matches!(claim, Reply::Claim(_)),
        "its own claim beside the hold"
    );
    world.run(&claim_on("p", "bot").seen_by("panel", None));
    let claims = &world.customer("p").rare.claims;
    assert_eq!(claims.len(), 3);
    assert_eq!(claims[0], hold);
    let other = claim_on("p", "seller").command();
    assert!(matches!(world.run(&other), Reply::Held(_)));
    world.run(&close(OUTCOME, "h", Some("resolved")));
    assert_eq!(
        holder(&mut world).as_deref(),
        Some("desk"),
        "its other claim stays"
    );
}

#[test]
fn one_handoff_too_many_is_refused_until_one_ends() {
    let mut world = World::new();
    for number in 0..OPEN_MAX {
        made(&mut world, &format!("h{number}"));
    }
    let more = hand_over("p", "more", "desk").command();
    assert_eq!(world.run(&more), Reply::Refused(Refusal::TargetFull));
    world.run(&close(OUTCOME, "h3", Some("resolved")));
    assert!(seen(&world.run(&more)).is_some());
    let claim = world.run(&claim_on("p", "desk").command());
    assert!(
        matches!(claim, Reply::Claim(_)),
        "holds leave claims their room"
    );
}

#[test]
fn a_hold_is_taken_where_claims_are_at_their_bound() {
    let mut world = World::new();
    for number in 0..crate::contact::claim::CLAIMS_LIVE_MAX {
        let number = u64::try_from(number).expect("few");
        world.claim("p", super::claim_of("bot", number + 1_000));
    }
    made(&mut world, "h");
    assert_eq!(holder(&mut world).as_deref(), Some("desk"));
}

#[test]
fn an_instant_that_has_passed_and_short_memory_refuse_a_handoff() {
    let mut world = World::new();
    let late = hand_over("p", "h", "desk").by(NOON).command();
    assert_eq!(world.run(&late), Reply::Past(Member::ExpectedBy));
    world.full = true;
    assert_eq!(
        world.run(&hand_over("p", "h", "desk").command()),
        Reply::Capacity
    );
    world.full = false;
    made(&mut world, "h");
    world.full = true;
    assert!(seen(&world.run(&accept(ACCEPT, "h"))).is_some());
    let closed = world.run(&close(OUTCOME, "h", Some("opt_out")));
    assert_eq!(seen(&closed), Some(HandoffStatus::Closed));
}

#[test]
fn a_declared_handoff_does_what_the_routes_do() {
    let mut world = World::new();
    made(&mut world, "h");
    let accepted = |world: &mut World, command: &Command| world.declare(command).accepted;
    assert!(accepted(&mut world, &accept(Route::Declare, "h")));
    assert_eq!(held(&world, "h").state, HandoffStatus::Accepted);
    let bare = close(Route::Declare, "h", None);
    assert!(!accepted(&mut world, &bare), "it needs an outcome");
    let sold = close(Route::Declare, "h", Some("sold"));
    assert_eq!(world.run(&sold), Reply::Undeclared(Member::Outcome));
    assert!(accepted(
        &mut world,
        &close(Route::Declare, "h", Some("resolved"))
    ));
    assert!(accepted(
        &mut world,
        &close(Route::Declare, "h", Some("resolved"))
    ));
    assert!(!accepted(
        &mut world,
        &close(Route::Declare, "h", Some("callback"))
    ));
    assert!(!accepted(&mut world, &accept(Route::Declare, "h")));
    assert_eq!(holder(&mut world), None);
}

#[test]
fn a_word_about_a_handoff_nobody_made_here_is_recorded_and_holds_nobody() {
    let mut world = World::new();
    let note = command(AGENTS, Route::Declare, Body::Handoff(HandoffCommand::Note));
    for told in [
        note,
        accept(Route::Declare, "h"),
        close(Route::Declare, "h", Some("sold")),
        close(Route::Declare, "h", None),
    ] {
        let notes = world.notes.len();
        assert!(world.declare(&told).accepted);
        assert_eq!(world.notes.len(), notes + 1);
    }
    assert!(world.log.is_empty());
    for asked in [
        read_handoff("h"),
        accept(ACCEPT, "h"),
        close(OUTCOME, "h", Some("resolved")),
    ] {
        assert_eq!(world.run(&asked), Reply::NotFound);
    }
}

#[test]
fn a_handoff_is_kept_ninety_days_after_its_end_and_never_goes_before() {
    let mut world = World::new();
    let by = NOON.plus_s(400 * 86_400);
    shown(&mut world, &hand_over("p", "due", "desk").by(by).command());
    shown(
        &mut world,
        &hand_over("q", "closed", "desk").by(by).command(),
    );
    world.run(&close(OUTCOME, "closed", Some("resolved")));
    let kept = |world: &mut World, handoff: &str| {
        world.sweep();
        seen(&world.run(&read_handoff(handoff)))
    };
    world.now = NOON.plus_s(ENDED_KEPT_S).plus_ms(-1);
    assert_eq!(kept(&mut world, "closed"), Some(HandoffStatus::Closed));
    world.pass_s(1);
    assert_eq!(kept(&mut world, "closed"), None);
    assert_eq!(kept(&mut world, "due"), Some(HandoffStatus::Created));
    world.now = by.plus_s(ENDED_KEPT_S).plus_ms(-1);
    assert_eq!(kept(&mut world, "due"), Some(HandoffStatus::Expired));
    world.pass_s(1);
    assert_eq!(kept(&mut world, "due"), None);
    assert!(world.entities.is_empty());
}

#[test]
fn law_c8_a_closed_handoff_without_an_outcome_is_broken() {
    let mut world = World::new();
    made(&mut world, "h");
    let mut handoff = held(&world, "h");
    assert!(handoff.check().is_ok());
    handoff.state = HandoffStatus::Closed;
    assert_eq!(handoff.check().unwrap_err().invariant, "C8");
    handoff.outcome = Some(Text::from("resolved"));
    assert!(handoff.check().is_ok());
    handoff.state = HandoffStatus::Expired;
    handoff.outcome = None;
    assert_eq!(handoff.check().unwrap_err().invariant, "C8");
}
