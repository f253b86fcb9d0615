//! The entity of a space's legal holds (§24): its bounds, its words and its end.

use super::{HOUR_S, NOON};
use crate::contact::Contact;
use crate::contact::entity::ContactEntity;
use crate::contact::fixture::hash;
use crate::contact::legal_hold::{HoldTarget, Holds, LIVE_MAX, LegalHold, RELEASED_KEPT_MAX};
use crate::ids::Id;
use crate::machine::Machine;

const fn live() -> LegalHold {
    LegalHold {
        id: Id([1; 16]),
        target: HoldTarget::Conversation(crate::key::KeyHash([2; 16])),
        since: NOON,
        released_at: None,
    }
}

const fn released() -> LegalHold {
    LegalHold {
        released_at: Some(NOON),
        ..live()
    }
}

#[test]
fn law_holds_are_bounded_and_none_is_live_and_released() {
    let broken = |live, released| {
        let entity = ContactEntity::Holds(Box::new(Holds { live, released }));
        Contact::check(&entity).err().map(|broken| broken.invariant)
    };
    let most = vec![live(); LIVE_MAX];
    let kept = vec![released(); RELEASED_KEPT_MAX];
    assert_eq!(broken(most, kept), None);
    for (live, released) in [
        (vec![live(); LIVE_MAX + 1], Vec::new()),
        (Vec::new(), vec![released(); RELEASED_KEPT_MAX + 1]),
        (vec![released()], Vec::new()),
        (Vec::new(), vec![live()]),
    ] {
        assert_eq!(broken(live, released), Some("holds"));
    }
}

#[test]
fn released_holds_are_remembered_for_90_days_after_the_last() {
    let mut last = released();
    last.released_at = Some(NOON.plus_s(5));
    let mut holds = Holds {
        live: Vec::new(),
        released: vec![released(), last],
    };
    assert_eq!(holds.due(), Some(NOON.plus_s(5 + 90 * 24 * HOUR_S)));
    holds.live.push(live());
    assert_eq!(holds.due(), None, "one is live");
}

#[test]
fn the_words_of_what_is_held_are_those_of_the_contract() {
    let hash = hash("it");
    let targets = [
        HoldTarget::Customer(hash),
        HoldTarget::Object(hash),
        HoldTarget::Conversation(hash),
    ];
    let words = ["handle", "object", "conversation"];
    assert_eq!(targets.map(HoldTarget::slug), words);
}
