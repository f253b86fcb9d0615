//! Ids that the edge hands out.
//!
//! Here: a seeded stream. Not here: the ids of decisions, which the shards draw.

use interlock_domain::ids::IdStream;

/// A stream of ids that no other stream gives; `None` when the operating system has no random bytes.
pub(crate) fn stream() -> Option<IdStream> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).ok()?;
    Some(IdStream::new(seed))
}
