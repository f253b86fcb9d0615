//! Erasure and legal holds (§21, §24), acceptance row S19.

use super::{ALLOWED, HOUR_S, World, budget_of, decided, denied};
use crate::contact::command::{
    Body, Command, ForgetCustomer, HoldPlace, PlaceHold, ReleaseHold, Route,
};
use crate::contact::commitment::CommitmentState::Declined;
use crate::contact::customer::{Customer, Details, HELD_CONTACTS_MAX, Rare};
use crate::contact::erasure::Erased;
use crate::contact::fixture::{
    AGENTS, SPACE, check, claim_on, command, contact_made, end_offer, hand_over, hash, lift, lock,
    message, offer, read_handoff, release, suppress,
};
use crate::contact::handoff::command::CreateHandoff;
use crate::contact::handoff::handoff_key;
use crate::contact::legal_hold::{HoldTarget, LIVE_MAX, LegalHold, RELEASED_KEPT_S};
use crate::contact::note::Noted;
use crate::contact::reason::{Reason, Refusal};
use crate::contact::reply::{ClaimReply, Reply};
use crate::contact::text::Text;
use crate::contact::{Contact, key};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::Machine;

const DAY_S: i64 = 24 * HOUR_S;

pub(super) fn forget(customer: &str, id: u8, offers: &[&str]) -> Command {
    let body = ForgetCustomer {
        customer: hash(customer),
        new_id: Id([id; 16]),
        offers: offers
            .iter()
            .map(|id| (Text::from(*id), hash(id)))
            .collect(),
        handoffs: Vec::new(),
    };
    command(AGENTS, Route::Forget, Body::ForgetCustomer(body))
}

/// The same with the customer's handoffs named.
pub(super) fn forget_all(customer: &str, id: u8, handoffs: &[&str]) -> Command {
    let body = ForgetCustomer {
        customer: hash(customer),
        new_id: Id([id; 16]),
        offers: Vec::new(),
        handoffs: handoffs.iter().map(|id| Id(hash(id).0)).collect(),
    };
    command(AGENTS, Route::Forget, Body::ForgetCustomer(body))
}

pub(super) fn hold(target: HoldTarget, id: u8) -> Command {
    hold_of(target, Id([id; 16]))
}

fn hold_of(target: HoldTarget, new_id: Id) -> Command {
    let body = PlaceHold {
        target,
        new_id,
        handoffs: Vec::new(),
    };
    command(AGENTS, Route::LegalHolds, Body::PlaceHold(body))
}

pub(super) fn release_hold(id: u8) -> Command {
    let body = ReleaseHold {
        handoffs: Vec::new(),
        hold: Id([id; 16]),
        place: HoldPlace::ToFind,
    };
    command(AGENTS, Route::LegalHolds, Body::ReleaseHold(body))
}

fn customer(word: &str) -> HoldTarget {
    HoldTarget::Customer(hash(word))
}

fn erased(world: &mut World, command: &Command) -> Erased {
    let reply = world.run(command);
    let Reply::Erased(erased) = reply else {
        panic!("an erasure was answered with {reply:?}");
    };
    erased.erased
}

fn held(world: &mut World, command: &Command) -> LegalHold {
    let reply = world.run(command);
    let Reply::Hold(hold) = reply else {
        panic!("a hold was answered with {reply:?}");
    };
    *hold
}

fn claimed(world: &mut World, command: &Command) -> ClaimReply {
    let reply = world.run(command);
    let Reply::Claim(claim) = reply else {
        panic!("a claim was answered with {reply:?}");
    };
    *claim
}

/// A customer of whom everything is known.
fn known(world: &mut World) -> ClaimReply {
    let seen = message("p", "whatsapp", world.now);
    assert_eq!(world.run(&seen), Reply::Observed);
    let asked = check().to("p").purpose("marketing").on("whatsapp");
    assert_eq!(decided(&world.check(asked)), ALLOWED);
    world.declare(&contact_made("p", "marketing", None));
    let mut made = offer("p", "o1", "offer");
    made.terms = Some(vec![1, 2, 3]);
    world.declare(&made.command());
    world.declare(&offer("p", "o2", "discount").command());
    world.declare(&suppress("p", "retention").command());
    claimed(world, &claim_on("p", "seller").command())
}

#[test]
fn s19_an_erasure_takes_everything_but_the_suppressions() {
    let mut world = World::new();
    let claim = known(&mut world);
    let took = erased(&mut world, &forget("p", 1, &["o1", "o2"]));
    assert_eq!(
        took,
        Erased {
            at: world.now,
            contacts: 2,
            claims: 1,
            commitments: 2,
            messages: 1,
            tokens: 0,
            terms: 1,
            suppressions_kept: 1,
            handoffs: 0,
            promises: 0,
            paid_units: 0,
            effects: 0,
        }
    );
    let left = world.customer("p");
    let nothing_else = Customer {
        rare: Rare::from(Details {
            suppressions: left.rare.suppressions.clone(),
            ..Details::default()
        }),
        ..Customer::default()
    };
    assert_eq!(left, &nothing_else);
    assert_eq!(left.rare.suppressions.len(), 1);
    let asked = check().to("p").purpose("retention").on("whatsapp");
    assert_eq!(
        decided(&world.check(asked)),
        denied(Reason::Suppressed),
        "still no"
    );
    let fresh = world.check(check().to("p").purpose("marketing"));
    assert_eq!(decided(&fresh), ALLOWED);
    assert!(fresh.owner.is_none() && fresh.commitments.is_empty());
    let left = budget_of(&fresh, "marketing").remaining;
    assert_eq!(left, 2, "nothing is counted but this");
    // The claim's id leads to a customer that does not know it.
    let epoch = claim.epoch.cast_signed();
    assert_eq!(world.run(&release(claim.claim_id, epoch)), Reply::NotFound);
    let next = claimed(&mut world, &claim_on("p", "seller").command());
    assert!(next.epoch > claim.epoch, "C4 outlives an erasure");
}

#[test]
fn sealed_terms_go_with_their_customer_and_their_ids_stay_taken() {
    let mut world = World::new();
    known(&mut world);
    erased(&mut world, &forget("p", 1, &["o1", "o2", "never offered"]));
    let row = key(crate::contact::fixture::SPACE, Kind::Directory, hash("o1"));
    let (_, row) = &world.entities[&row];
    let row = row.as_directory().expect("a row");
    assert_eq!(row.terms, None);
    let other = offer("q", "o1", "offer").command();
    assert!(!world.declare(&other).accepted, "the id is taken");
    // A word that comes late about an erased offer finds its customer, and nothing of the offer.
    world.declare(&end_offer(None, "o2", Declined));
    assert!(!world.customer("p").rare.commitments[0].is_offered());
}

#[test]
fn the_terms_of_another_customer_stay() {
    let mut world = World::new();
    known(&mut world);
    let took = erased(&mut world, &forget("q", 1, &["o1", "o2"]));
    assert_eq!((took.terms, took.commitments), (0, 0));
    let row = key(crate::contact::fixture::SPACE, Kind::Directory, hash("o1"));
    let (_, row) = &world.entities[&row];
    assert!(row.as_directory().is_some_and(|row| row.terms.is_some()));
}

#[test]
fn an_offer_made_meanwhile_makes_the_edge_read_again() {
    let mut world = World::new();
    known(&mut world);
    let before = world.log.len();
    for short in [&["o1"][..], &["o1", "of somebody else"]] {
        assert_eq!(world.run(&forget("p", 1, short)), Reply::Moved, "{short:?}");
    }
    assert_eq!(world.log.len(), before, "nothing is done");
    erased(&mut world, &forget("p", 1, &["o2", "o1"]));
}

#[test]
fn an_erasure_of_nobody_and_a_second_one_take_nothing() {
    let mut world = World::new();
    let took = erased(&mut world, &forget("p", 1, &[]));
    assert!(took.taken().iter().all(|(_, count)| *count == 0));
    let of_p = key(crate::contact::fixture::SPACE, Kind::Customer, hash("p"));
    assert!(!world.entities.contains_key(&of_p), "nobody is made up");
    known(&mut world);
    erased(&mut world, &forget("p", 2, &["o1", "o2"]));
    let again = erased(&mut world, &forget("p", 3, &[]));
    assert!(again.taken().iter().all(|(_, count)| *count == 0));
    assert_eq!(again.suppressions_kept, 1);
}

#[test]
fn an_erased_customer_without_suppressions_is_purged() {
    let mut world = World::new();
    world.run(&message("p", "whatsapp", world.now));
    erased(&mut world, &forget("p", 1, &[]));
    let due = world.entities.values().map(|(_, one)| Contact::due(one));
    assert!(due.flatten().any(|due| due <= world.now));
    world.sweep();
    let of_p = key(crate::contact::fixture::SPACE, Kind::Customer, hash("p"));
    assert!(!world.entities.contains_key(&of_p));
}

#[test]
fn a_held_customer_is_neither_erased_nor_purged() {
    let mut world = World::new();
    let claim = known(&mut world);
    let first = held(&mut world, &hold(customer("p"), 1));
    assert_eq!((first.released_at, first.since), (None, world.now));
    held(&mut world, &hold(customer("p"), 2));
    let refused = Reply::Refused(Refusal::UnderLegalHold);
    assert_eq!(world.run(&forget("p", 9, &["o1", "o2"])), refused);
    world.run(&release(claim.claim_id, claim.epoch.cast_signed()));
    world.declare(&end_offer(Some("p"), "o2", Declined));
    world.pass_s(200 * DAY_S);
    world.sweep();
    let kept = world.customer("p").clone();
    assert_eq!(
        (
            kept.contacts.len(),
            kept.rare.claims.len(),
            kept.rare.commitments.len()
        ),
        (2, 1, 2)
    );
    // New events do not take what is old either.
    world.declare(&contact_made("p", "marketing", None));
    claimed(&mut world, &claim_on("p", "another").command());
    world.declare(&offer("p", "o9", "discount").command());
    let kept = world.customer("p").clone();
    assert_eq!(
        (
            kept.contacts.len(),
            kept.rare.claims.len(),
            kept.rare.commitments.len()
        ),
        (3, 2, 3)
    );
    let ended = held(&mut world, &release_hold(1));
    assert_eq!(ended.released_at, Some(world.now));
    assert_eq!(world.run(&forget("p", 9, &[])), refused, "one is left");
    held(&mut world, &release_hold(2));
    world.declare(&contact_made("p", "marketing", None));
    assert_eq!(world.customer("p").contacts.len(), 2, "age counts again");
    erased(&mut world, &forget("p", 9, &["o1", "o2", "o9"]));
}

/// A handoff goes with its customer, and not before the holds that are on it.
#[test]
fn handoffs_are_held_and_erased_with_their_customer() {
    let mut world = World::new();
    let talk = HoldTarget::Conversation(hash("talk"));
    let from_talk = CreateHandoff {
        conversation: Some(hash("talk")),
        ..hand_over("p", "h1", "desk")
    };
    world.run(&from_talk.command());
    world.run(&hand_over("p", "h2", "desk").command());
    world.run(&hand_over("q", "h3", "desk").command());
    let ids = ["h1", "h2", "h3"].map(|handoff| hand_over("p", handoff, "desk").id);
    let named = |mut command: Command| {
        if let Body::PlaceHold(place) = &mut command.body {
            place.handoffs = ids.to_vec();
        }
        if let Body::ReleaseHold(release) = &mut command.body {
            release.handoffs = ids.to_vec();
        }
        command
    };
    let forget_p = forget_all("p", 9, &["h1", "h2", "h3"]);
    held(&mut world, &named(hold(talk, 1)));
    held(&mut world, &named(hold(customer("q"), 2)));
    let refused = Reply::Refused(Refusal::UnderLegalHold);
    assert_eq!(world.run(&forget_p), refused);
    world.pass_s(300 * DAY_S);
    world.sweep();
    let left = |world: &World| {
        let is_there = |id: &Id| world.entities.contains_key(&handoff_key(SPACE, *id));
        ids.each_ref().map(is_there)
    };
    assert_eq!(
        left(&world),
        [true, false, true],
        "what is not held is over"
    );
    held(&mut world, &named(release_hold(1)));
    assert_eq!(erased(&mut world, &forget_p).handoffs, 1);
    assert_eq!(world.run(&read_handoff("h1")), Reply::NotFound);
    world.sweep();
    assert_eq!(left(&world), [false, false, true], "another's hold goes on");
    held(&mut world, &named(release_hold(2)));
    world.sweep();
    assert_eq!(left(&world), [false; 3]);
}

/// An entry that was lifted stays for readers of the list, and longer while it is held.
#[test]
fn a_held_customer_keeps_suppressions_that_are_lifted() {
    let mut world = World::new();
    for (at, purpose) in ["marketing", "retention"].into_iter().enumerate() {
        held(
            &mut world,
            &hold(customer("p"), 1 + u8::try_from(at).unwrap()),
        );
        world.declare(&suppress("p", purpose).command());
        world.declare(&lift("p", purpose, None));
        world.pass_s(100 * DAY_S);
    }
    assert_eq!(world.customer("p").rare.suppressions.len(), 2);
    for id in [1, 2] {
        held(&mut world, &release_hold(id));
    }
    world.declare(&suppress("p", "collection").command());
    assert_eq!(world.customer("p").rare.suppressions.len(), 1);
}

#[test]
fn what_a_hold_counts_in_budgets_is_what_the_window_counts() {
    let mut world = World::new();
    held(&mut world, &hold(customer("p"), 1));
    let asked = || check().to("p").purpose("retention");
    for _ in 0..3 {
        assert_eq!(decided(&world.check(asked())), ALLOWED);
        world.pass_s(DAY_S);
    }
    assert_eq!(world.customer("p").contacts.len(), 3);
}

#[test]
fn a_held_customer_keeps_the_newest_contacts() {
    let mut world = World::new();
    held(&mut world, &hold(customer("p"), 1));
    for _ in 0..HELD_CONTACTS_MAX + 3 {
        world.run_unchecked(&contact_made("p", "service", None));
        world.pass_s(60);
    }
    let kept = &world.customer("p").contacts;
    assert_eq!(kept.len(), HELD_CONTACTS_MAX);
    let newest = kept.last().expect("many");
    assert_eq!(newest.at, world.now.plus_s(-60));
}

#[test]
fn a_held_object_keeps_its_claims_and_locks() {
    let mut world = World::new();
    world.run(&lock("o", "draft", "a").command());
    held(&mut world, &hold(HoldTarget::Object(hash("o")), 1));
    world.pass_s(30 * DAY_S);
    world.run(&lock("o", "file", "a").command());
    world.sweep();
    let of_o = key(crate::contact::fixture::SPACE, Kind::Object, hash("o"));
    let locks = |world: &World| world.entities[&of_o].1.locks().len();
    assert_eq!(locks(&world), 2);
    held(&mut world, &release_hold(1));
    world.pass_s(3 * DAY_S);
    world.sweep();
    assert!(!world.entities.contains_key(&of_o), "nothing keeps it");
}

#[test]
fn a_hold_on_nothing_known_waits_for_it() {
    let mut world = World::new();
    held(&mut world, &hold(customer("new"), 1));
    held(&mut world, &hold(HoldTarget::Conversation(hash("talk")), 2));
    world.pass_s(10 * DAY_S);
    assert_eq!(world.sweep(), 0);
    assert!(world.customer("new").is_held());
}

#[test]
fn a_release_that_comes_again_answers_the_same() {
    let mut world = World::new();
    held(&mut world, &hold(customer("p"), 1));
    let ended = held(&mut world, &release_hold(1));
    world.pass_s(60);
    assert_eq!(held(&mut world, &release_hold(1)), ended);
    assert!(!world.customer("p").is_held(), "and counts once");
    assert_eq!(world.run(&release_hold(7)), Reply::NotFound);
    let nowhere = Body::ReleaseHold(ReleaseHold {
        handoffs: Vec::new(),
        hold: Id([1; 16]),
        place: HoldPlace::Nowhere,
    });
    let nowhere = command(AGENTS, Route::LegalHolds, nowhere);
    assert_eq!(world.run(&nowhere), Reply::NotFound);
    world.pass_s(RELEASED_KEPT_S);
    world.sweep();
    assert_eq!(world.run(&release_hold(1)), Reply::NotFound, "forgotten");
}

#[test]
fn a_space_has_a_bounded_number_of_holds() {
    let mut world = World::new();
    for number in 0..LIVE_MAX {
        let mut id = [0; 16];
        id[8..].copy_from_slice(&(number as u64).to_be_bytes());
        world.run_unchecked(&hold_of(HoldTarget::Conversation(hash("talk")), Id(id)));
    }
    let full = Reply::Refused(Refusal::HoldsFull);
    assert_eq!(world.run(&hold(customer("p"), 255)), full);
    let noted = world.notes.last().map(|note| note.decision);
    assert_eq!(noted, Some(Noted::Refused(Refusal::HoldsFull)));
    held(&mut world, &release_hold(0));
    held(&mut world, &hold(customer("p"), 255));
}

#[test]
fn an_erasures_row_is_no_claim() {
    let mut world = World::new();
    known(&mut world);
    erased(&mut world, &forget("p", 1, &["o1", "o2"]));
    assert_eq!(world.run(&release(Id([1; 16]), 1)), Reply::NotFound);
}
