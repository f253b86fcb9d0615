//! For how long and in what room a customer keeps what is known of it: the edges.

use super::privacy::hold;
use super::{HOUR_S, NOON, World};
use crate::contact::Contact;
use crate::contact::command::{Body, Command};
use crate::contact::commitment::{CommitmentState, ENDED_KEPT_S};
use crate::contact::customer::{Customer, Details, HELD_SUPPRESSIONS_MAX, Rare};
use crate::contact::entity::ContactEntity;
use crate::contact::event::{CustomerErased, Event};
use crate::contact::fixture::{
    CONFORMANCE, check, contact_made, end_offer, hash, lift, message, offer, suppress, vault,
};
use crate::contact::legal_hold::HoldTarget;
use crate::contact::name::{ChannelId, SourceId};
use crate::contact::policy::Policy;
use crate::contact::short_list;
use crate::contact::suppression::CHANGES_KEPT_DAYS;
use crate::ids::Id;
use crate::machine::Machine;

const DAY_S: i64 = 24 * HOUR_S;

fn rules(document: &str) -> Policy {
    Policy::load(1, document, &vault()).expect("the rules are valid")
}

/// §6: a contact counts in its window, and its slice's next unit is free one interval after it.
#[test]
fn a_contact_is_kept_for_its_window_or_its_spread_in_whole_hours() {
    // The window in hours, the slice's limit and days of spread, and for how long.
    let table = [
        (24, 1, 3, 72),
        (24, 2, 3, 36),
        (2, 7, 1, 4), // 3 h 25 min 42.857 s
        (24, 7, 1, 24),
        (1, 24, 1, 1),
    ];
    for (per_hours, limit, days, kept) in table {
        let slice = format!(
            r#"{{"intent": "a", "limit": {limit}, "spread": true, "spread_days": {days}}}"#
        );
        let budget =
            format!(r#"{{"limit": {limit}, "per_hours": {per_hours}, "slices": [{slice}]}}"#);
        let purpose = format!(r#"{{"fails": "closed", "budget": {budget}}}"#);
        let mut world = World::with(rules(&format!(
            r#"{{"purposes": {{"marketing": {purpose}}}}}"#
        )));
        world.check(check().purpose("marketing").to("p").intent("a"));
        let contact = world.customer("p").contacts[0];
        assert_eq!(contact.keep_hours, kept, "{budget}");
    }
}

/// A contact whose declaration names a token.
fn naming(token: u8) -> Command {
    let mut made = contact_made("p", "service", None);
    if let Body::DeclareContactMade(declare) = &mut made.body {
        declare.jti = Some(Id([token; 16]));
    }
    made
}

#[test]
fn a_named_token_is_remembered_once_and_for_a_day() {
    for (passed_ms, remembered) in [(DAY_S * 1_000 - 1, 2), (DAY_S * 1_000, 1)] {
        let mut world = World::new();
        world.declare(&naming(1));
        world.declare(&naming(1));
        assert_eq!(world.customer("p").rare.tokens.len(), 1);
        world.now = NOON.plus_ms(passed_ms);
        world.declare(&naming(2));
        assert_eq!(world.customer("p").rare.tokens.len(), remembered);
        assert_eq!(
            world.customer("p").rare.tokens_reused,
            1,
            "the other is new"
        );
    }
}

#[test]
fn an_offer_that_is_over_is_forgotten_at_its_end() {
    let ended_ms = ENDED_KEPT_S * 1_000;
    for (passed_ms, remembered) in [(ended_ms - 1, 2), (ended_ms, 1)] {
        let mut world = World::new();
        world.declare(&offer("p", "a", "offer").command());
        world.declare(&end_offer(Some("p"), "a", CommitmentState::Withdrawn));
        world.now = NOON.plus_ms(passed_ms);
        world.declare(&offer("p", "b", "offer").command());
        assert_eq!(world.customer("p").rare.commitments.len(), remembered);
    }
}

/// §12: the newest message counts on its channel alone.
#[test]
fn of_each_channel_the_newest_message_is_kept() {
    let voice = r#""voice": {"free_form_hours": 24}"#;
    let document = CONFORMANCE.replace(r#""voice": {}"#, voice);
    let mut world = World::with(rules(&document));
    for (second, channel) in [(0, "whatsapp"), (1, "voice"), (2, "whatsapp")] {
        world.now = NOON.plus_s(second);
        world.run(&message("p", channel, world.now));
    }
    let known = world.customer("p");
    assert_eq!(known.rare.messages.len(), 2);
    for (second, channel) in [(1, "voice"), (2, "whatsapp")] {
        let last = known.last_message(ChannelId::of(channel));
        assert_eq!(last, Some(NOON.plus_s(second)), "{channel}");
    }
}

#[test]
fn a_held_customer_with_many_suppressions_lets_the_old_ones_go() {
    for (many, remembered) in [
        (HELD_SUPPRESSIONS_MAX - 1, HELD_SUPPRESSIONS_MAX),
        (HELD_SUPPRESSIONS_MAX, 1),
    ] {
        let mut world = World::new();
        world.run(&hold(HoldTarget::Customer(hash("p")), 1));
        for source in (1_000..).take(many) {
            let added = suppress("p", "marketing").command();
            world.run_unchecked(&added.sent_by(SourceId(source)));
            let lifted = lift("p", "marketing", None).sent_by(SourceId(source));
            world.run_unchecked(&lifted);
        }
        world.pass_s(CHANGES_KEPT_DAYS * DAY_S);
        world.declare(&suppress("p", "marketing").command());
        assert_eq!(world.customer("p").rare.suppressions.len(), remembered);
    }
}

#[test]
fn an_entry_is_over_from_its_end_or_its_lift_on() {
    let mut world = World::new();
    let mut added = suppress("p", "marketing");
    added.until = Some(NOON.plus_ms(10));
    world.declare(&added.command());
    let mut entry = world.customer("p").rare.suppressions[0].clone();
    for (passed_ms, is_over) in [(0, false), (9, false), (10, true), (11, true)] {
        assert_eq!(entry.is_over(NOON.plus_ms(passed_ms)), is_over);
    }
    entry.until = None;
    assert!(!entry.is_over(NOON));
    entry.lifted = Some(NOON);
    assert!(entry.is_over(NOON));
}

/// A hold keeps a customer from being erased; were it erased all the same, the hold would go on.
#[test]
fn the_marks_of_legal_holds_outlive_an_erasure() {
    let mut entity = ContactEntity::Customer(Box::new(Customer {
        rare: Rare::from(Details {
            legal_holds: 2,
            tokens_reused: 3,
            ..Details::default()
        }),
        ..Customer::default()
    }));
    Contact::apply(
        &mut entity,
        &Event::CustomerErased(CustomerErased { at: NOON }),
    );
    let left = entity.as_customer().expect("a customer");
    assert_eq!((left.rare.legal_holds, left.rare.tokens_reused), (2, 0));
}

/// Spaces keep tens of millions of customers with one or two entries in a list.
#[test]
fn a_short_list_takes_the_memory_it_fills() {
    let mut list = Vec::new();
    for length in 1..=4 {
        short_list::push(&mut list, 0_u64);
        assert_eq!((list.len(), list.capacity()), (length, length));
    }
    short_list::push(&mut list, 0);
    assert!(list.capacity() > 5, "a longer one grows by more than one");
}
