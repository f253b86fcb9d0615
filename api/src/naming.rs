//! What an operator names in clear, as the hashes a shard knows.
//!
//! Here: `TYPE:VALUE` for customers, `TYPE:NAMESPACE:ID` for objects, effect keys and effect ids, by
//! the rules of the routes (`wire`). Not here: who may ask. Called by the root package's verbs. No
//! refusal repeats what was given.

use interlock_domain::key::KeyHash;
use interlock_wire::contact::subject::{Handle, ObjectRef};
use interlock_wire::read::{self, Refusal};
use interlock_wire::value::Hash32;
use serde::Serialize;

use crate::contact::identity;
use crate::directory::SpaceEntry;
use crate::hashing::key_hash;

/// The longest effect key, in characters (`docs/spec/contact.md` §8).
const EFFECT_KEY_CHARACTERS_MAX: usize = 512;

#[derive(Serialize)]
struct Subject<'a> {
    r#type: &'a str,
    value: &'a str,
}

#[derive(Serialize)]
struct Object<'a> {
    r#type: &'a str,
    namespace: &'a str,
    id: &'a str,
}

/// The customer of `TYPE:VALUE`.
///
/// # Errors
/// Which part breaks which rule.
pub fn customer(space: &SpaceEntry, named: &str) -> Result<KeyHash, String> {
    let (r#type, value) = named
        .split_once(':')
        .ok_or("a subject reads TYPE:VALUE, such as phone_e164:+15550100")?;
    let body = json(&Subject { r#type, value });
    let handle: Handle<'_> = read::body(&body).map_err(said)?;
    Ok(identity::customer(space.secret.prepared(), &handle))
}

/// The object of `TYPE:NAMESPACE:ID`; the id may hold colons.
///
/// # Errors
/// Which part breaks which rule.
pub fn object(space: &SpaceEntry, named: &str) -> Result<KeyHash, String> {
    let mut parts = named.splitn(3, ':');
    let (Some(r#type), Some(namespace), Some(id)) = (parts.next(), parts.next(), parts.next())
    else {
        return Err("an object reads TYPE:NAMESPACE:ID, such as invoice:erp:17".to_owned());
    };
    let body = json(&Object {
        r#type,
        namespace,
        id,
    });
    let object: ObjectRef<'_> = read::body(&body).map_err(said)?;
    Ok(identity::object(space.secret.prepared(), &object))
}

/// The effect of an effect key.
///
/// # Errors
/// When it is no effect key.
pub fn effect_of_key(space: &SpaceEntry, key: &str) -> Result<KeyHash, String> {
    if key.is_empty() || key.chars().count() > EFFECT_KEY_CHARACTERS_MAX {
        return Err(format!(
            "an effect key has 1 to {EFFECT_KEY_CHARACTERS_MAX} characters"
        ));
    }
    let id = identity::effect_id(space.secret.prepared(), key);
    Ok(key_hash(&id))
}

/// The effect of a public effect id; `None` when no effect has an id of that form.
#[must_use]
pub fn effect_of_id(id: &str) -> Option<KeyHash> {
    Hash32::parse(id).map(|id| key_hash(&id.0))
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("texts can be written")
}

fn said(refusal: Refusal) -> String {
    match refusal {
        Refusal::NotJson => "the name holds characters that no name has".to_owned(),
        Refusal::Contract(sentence) => format!("what was named: {sentence}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use interlock_domain::contact::policy::Policy;
    use interlock_domain::key::SpaceId;
    use interlock_domain::time::Timestamp;

    use super::*;
    use crate::directory::{Features, SpaceSecret};
    use crate::signing::SigningKeys;

    fn space() -> SpaceEntry {
        SpaceEntry {
            id: SpaceId([1; 16]),
            name: "one".into(),
            features: Features { coordination: true },
            policy: Arc::new(Policy::defaults(1)),
            signing: SigningKeys::first(SpaceSecret::new(&[7; 32]).prepared(), Timestamp(0)),
            secret: SpaceSecret::new(&[7; 32]),
            sources: Arc::from([]),
        }
    }

    #[test]
    fn one_customer_whatever_the_spelling() {
        let space = space();
        let plus = customer(&space, "phone_e164:+5511987654321").unwrap();
        assert_eq!(plus, customer(&space, "wa_id:5511987654321").unwrap());
        assert_ne!(plus, customer(&space, "phone_e164:+5511987654322").unwrap());
    }

    #[test]
    fn an_effect_is_the_same_by_key_and_by_id() {
        let space = space();
        let id = space.secret.prepared().text("order-17");
        let text = "A".repeat(43);
        assert_eq!(effect_of_id(&text), Some(KeyHash([0; 16])));
        assert_eq!(effect_of_id("short"), None);
        assert_eq!(effect_of_key(&space, "order-17"), Ok(key_hash(&id)));
        assert!(effect_of_key(&space, "").is_err());
    }

    #[test]
    fn an_objects_id_may_hold_colons() {
        let space = space();
        let long = object(&space, "invoice:erp:17:a").unwrap();
        assert_ne!(long, object(&space, "invoice:erp:17").unwrap());
        assert!(object(&space, "invoice:erp").is_err());
    }

    #[test]
    fn a_refusal_names_the_member_and_not_the_value() {
        let space = space();
        let what = customer(&space, "phone:+5511987654321").unwrap_err();
        assert!(
            what.contains("type") && !what.contains("987654321"),
            "{what}"
        );
        let what = object(&space, "invoice::17secret").unwrap_err();
        assert!(
            what.contains("namespace") && !what.contains("17secret"),
            "{what}"
        );
        assert!(customer(&space, "5511987654321").is_err());
    }
}
