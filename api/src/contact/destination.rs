//! A suppressed destination at rest, and the key a reader knows it by.
//!
//! Here: the canonical form sealed under the space's secret and bound to its customer, and opened
//! again to be keyed with a reader's salt (`docs/spec/contact.md` §14, §15). Not here: how a
//! destination is spelled (`token`), salts (`crate::list`). A canonical form leaves this file only
//! as a key. Whoever adds an entry (a declaration, people, a handoff's outcome) seals here.

use interlock_domain::key::KeyHash;

use crate::hashing::PreparedKey;
use crate::sealing;

/// What a destination is sealed for, before its customer.
const OF: &[u8] = b"suppression";

/// The canonical form, sealed; `None` when the operating system has no random bytes.
pub(crate) fn seal(secret: &PreparedKey, customer: KeyHash, canonical: &str) -> Option<Box<[u8]>> {
    sealing::seal(secret, &of(customer), canonical.as_bytes()).map(Vec::into_boxed_slice)
}

/// The key of a sealed destination under a reader's salt; `None` when it was sealed for another
/// customer or under another secret.
pub(crate) fn key(
    secret: &PreparedKey,
    customer: KeyHash,
    sealed: &[u8],
    salt: &PreparedKey,
) -> Option<[u8; 32]> {
    let canonical = sealing::open(secret, &of(customer), sealed)?;
    Some(salt.text(std::str::from_utf8(&canonical).ok()?))
}

fn of(customer: KeyHash) -> Vec<u8> {
    [OF, &customer.0].concat()
}
