//! What holds of every command: keys, notes, words for metrics, invariants that are checked.

use std::collections::BTreeSet;

use super::{NOON, World, claim_of, lock_of, through_postcard};
use crate::contact::Contact;
use crate::contact::command::{Command, Route, Settlement};
use crate::contact::customer::{Contact as Counted, ContactState, Customer, Details, Rare};
use crate::contact::entity::ContactEntity;
use crate::contact::fixture::{
    check, contact_made, declare_effect, hand_over, lift, message, promise, reserve, settle,
    suppress,
};
use crate::contact::name::PurposeId;
use crate::contact::note::Noted;
use crate::contact::object::Object;
use crate::contact::promise::PromiseState;
use crate::contact::reason::{Reason, Refusal, Verdict};
use crate::ids::Id;
use crate::key::Kind;
use crate::machine::Machine;
use crate::time::Timestamp;

fn every() -> Vec<Command> {
    vec![
        check()
            .to("p")
            .about("o")
            .effect("k")
            .on("whatsapp")
            .command(),
        reserve("k"),
        settle("k", 1, Settlement::Done),
        declare_effect("k", 1, Settlement::Done),
        contact_made("p", "service", None),
        suppress("p", "any").command(),
        lift("p", "any", None),
        message("p", "whatsapp", NOON),
        hand_over("p", "h", "desk").command(),
        promise("p", "call back", None, PromiseState::Open),
    ]
}

#[test]
fn keys_name_each_entity_once_with_unique_keys_before_shared_ones() {
    let command = every().remove(0).keyed("key", "request");
    let mut keys = Contact::keys(&command);
    keys.sort_unstable();
    let kinds: Vec<Kind> = keys.iter().map(|key| key.kind).collect();
    assert_eq!(
        kinds,
        [Kind::Receipt, Kind::Effect, Kind::Customer, Kind::Object]
    );
    for command in every() {
        assert!(!Contact::keys(&command).is_empty());
        assert_eq!(Contact::space(&command), command.space);
    }
}

#[test]
fn every_check_and_every_declaration_leaves_a_note() {
    for command in every() {
        let mut world = World::new();
        let route = command.route;
        world.run(&command);
        let wanted = usize::from(route != Route::Settle);
        assert_eq!(world.notes.len(), wanted, "{route:?}");
    }
}

#[test]
fn a_note_says_what_was_decided_and_nothing_about_whom() {
    let mut world = World::new();
    world.run(&suppress("p", "marketing").command());
    let asked = check().to("p").purpose("marketing").on("voice");
    let reply = world.check(asked);
    let note = &world.notes[1];
    assert_eq!(note.decision, Noted::Check(Verdict::Deny));
    assert_eq!(note.reasons.to_vec(), [Reason::Suppressed]);
    assert_eq!(note.decision_id, Some(reply.decision_id));
    assert_eq!(note.purpose, Some(PurposeId::of("marketing")));
    let bytes = postcard::to_allocvec(note).expect("it encodes");
    assert!(bytes.len() <= 48, "{}", bytes.len());
}

#[test]
fn pitfall_26_words_for_metrics_are_a_bounded_set() {
    let mut world = World::new();
    let mut words = BTreeSet::new();
    for round in 0..3 {
        for command in every() {
            words.insert(Contact::outcome(&world.run(&command)));
        }
        world.full = round == 1;
        world.pass_s(30);
    }
    assert!(words.len() <= 12, "{words:?}");
    let slugs: BTreeSet<_> = Refusal::ALL.iter().map(|known| known.slug()).collect();
    assert_eq!(slugs.len(), Refusal::ALL.len());
    for (number, refusal) in Refusal::ALL.iter().enumerate() {
        assert_eq!(*refusal as usize, number);
    }
}

fn counted(second: i64, id: u8) -> Counted {
    Counted {
        at: NOON.plus_s(second),
        share: 0,
        id: Id([id; 16]),
        purpose: PurposeId::of("service"),
        keep_hours: 24,
        state: ContactState::Reserved,
    }
}

fn broken(entity: &ContactEntity) -> Option<&'static str> {
    Contact::check(entity).err().map(|broken| broken.invariant)
}

#[test]
fn law_c1_c3_c4_a_broken_entity_is_seen() {
    let customer = |contacts: Vec<Counted>| {
        ContactEntity::Customer(Box::new(Customer {
            contacts: contacts.into(),
            ..Customer::default()
        }))
    };
    assert_eq!(broken(&customer(vec![counted(0, 1), counted(0, 2)])), None);
    assert_eq!(
        broken(&customer(vec![counted(1, 1), counted(0, 2)])),
        Some("C1")
    );
    assert_eq!(
        broken(&customer(vec![counted(0, 1), counted(1, 1)])),
        Some("C1")
    );
    let claims = ContactEntity::Customer(Box::new(Customer {
        rare: Rare::from(Details {
            claims: vec![claim_of("a", 3), claim_of("b", 3)],
            ..Details::default()
        }),
        ..Customer::default()
    }));
    assert_eq!(broken(&claims), Some("C4"));
    let mut later = lock_of("b", "t", 2);
    later.since = NOON.plus_s(3_600);
    later.until = NOON.plus_s(7_200);
    let locks = |locks| {
        ContactEntity::Object(Box::new(Object {
            locks,
            ..Object::default()
        }))
    };
    assert_eq!(broken(&locks(vec![lock_of("a", "t", 1), later])), None);
    let both = vec![lock_of("a", "t", 1), lock_of("b", "t", 2)];
    assert_eq!(broken(&locks(both)), Some("C3"));
}

#[test]
fn law_c2_an_effect_without_an_attempt_is_broken() {
    assert_eq!(broken(&Contact::empty(Kind::Effect)), Some("C2"));
}

#[test]
fn an_empty_entity_may_be_forgotten_at_once() {
    assert_eq!(Contact::due(&Contact::empty(Kind::Feed)), None, "never");
    for kind in [Kind::Receipt, Kind::Effect, Kind::Customer, Kind::Object] {
        let entity = Contact::empty(kind);
        assert!(
            Contact::due(&entity).is_some_and(|due| due <= Timestamp(0)),
            "{kind:?}"
        );
        assert_eq!(through_postcard(&entity), entity);
    }
}

#[test]
fn law_c6_the_same_commands_and_seed_give_the_same_memory() {
    let run = || {
        let mut world = World::new();
        for command in every() {
            world.run(&command);
            world.pass_s(1);
        }
        (world.entities, world.notes)
    };
    assert_eq!(run(), run());
}

#[test]
fn an_allow_of_a_known_customer_is_a_small_record() {
    let mut world = World::new();
    world.run(
        &check()
            .to("p")
            .purpose("marketing")
            .on("whatsapp")
            .effect("k")
            .command(),
    );
    let bytes: usize = world
        .log
        .iter()
        .map(|(_, event)| postcard::to_allocvec(event).expect("it encodes").len())
        .sum();
    assert!(bytes <= 96, "{bytes}");
}

#[test]
fn a_contact_is_40_bytes() {
    assert_eq!(size_of::<Counted>(), 40);
}
