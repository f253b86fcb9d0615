//! Who and what a request is about, as hashes.
//!
//! Here: the hashed names of customers, objects, effects and receipts. Not here: how a destination is
//! spelled canonically (`token`). Two handles of one canonical destination are one customer (§14).

use interlock_domain::contact::command::ReceiptRef;
use interlock_domain::contact::name::SourceId;
use interlock_domain::key::KeyHash;
use interlock_token::NoDestination;
use interlock_wire::contact::subject::{Handle, ObjectRef};
use serde::Serialize;

use crate::hashing::{Label, PreparedKey, key_hash};

/// The customer a handle names.
pub(crate) fn customer(secret: &PreparedKey, handle: &Handle<'_>) -> KeyHash {
    let hash = match canonical(handle) {
        Ok(destination) => secret.labelled(Label::Destination, &[destination.as_bytes()]),
        // A number that is none still names somebody: whoever the caller means by it.
        Err(_) => secret.labelled(
            Label::Handle,
            &[
                handle.r#type.word().as_bytes(),
                handle.value.as_bytes(),
                // A scope has at least one character, so none is not one of them.
                handle.scope.as_deref().unwrap_or_default().as_bytes(),
            ],
        ),
    };
    key_hash(&hash)
}

/// The canonical destination of a handle.
pub(crate) fn canonical(handle: &Handle<'_>) -> Result<String, NoDestination> {
    interlock_token::canonical(handle.r#type.word(), &handle.value)
}

/// The object a reference names.
pub(crate) fn object(secret: &PreparedKey, object: &ObjectRef<'_>) -> KeyHash {
    let (r#type, namespace, id) = (&object.r#type, &object.namespace, &object.id);
    let parts = [r#type.as_bytes(), namespace.as_bytes(), id.as_bytes()];
    key_hash(&secret.labelled(Label::Object, &parts))
}

/// The conversation an id names.
pub(crate) fn conversation(secret: &PreparedKey, id: &str) -> KeyHash {
    key_hash(&secret.labelled(Label::Conversation, &[id.as_bytes()]))
}

/// The effect id of an effect key: its full hash, which is public.
pub(crate) fn effect_id(secret: &PreparedKey, effect_key: &str) -> [u8; 32] {
    secret.text(effect_key)
}

/// Where the outcome of a keyed request is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed<'a> {
    /// The route's word: a key counts for one route of one source.
    pub(crate) route: &'static str,
    /// The Idempotency-Key.
    pub(crate) key: &'a str,
}

impl Keyed<'_> {
    /// The receipt of a request. `place` is what its path names, if anything.
    pub(crate) fn receipt(
        self,
        secret: &PreparedKey,
        source: SourceId,
        place: &[u8],
        request: &impl Serialize,
    ) -> ReceiptRef {
        ReceiptRef {
            hash: self.hash(secret, source, &[]),
            fingerprint: self.fingerprint(secret, place, request),
        }
    }

    /// The hash of the receipt; `item` tells the items of a batch apart.
    pub(crate) fn hash(self, secret: &PreparedKey, source: SourceId, item: &[u8]) -> KeyHash {
        let source = source.0.to_be_bytes();
        let parts = [&source, self.route.as_bytes(), self.key.as_bytes(), item];
        key_hash(&secret.labelled(Label::Receipt, &parts))
    }

    /// The hash of what is asked: of the parsed request, so that neither the order of members nor
    /// spaces nor a default that is spelled out make another request of it.
    pub(crate) fn fingerprint(
        self,
        secret: &PreparedKey,
        place: &[u8],
        request: &impl Serialize,
    ) -> [u8; 16] {
        let mut running = secret.start(Label::Request);
        running.part(self.route.as_bytes());
        running.part(place);
        // Serialising plain structs into a hash has nothing that can fail.
        let written = serde_json::to_writer(&mut running, request);
        debug_assert!(written.is_ok(), "a request serialises");
        key_hash(&running.finish()).0
    }
}
