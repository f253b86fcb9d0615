//! Which tokens a gateway let through.
//!
//! Here: the contract of that memory and one in the process, with a bound. A company whose gateway
//! runs in several processes needs one that all share: Redis (the feature `redis`), or what the
//! company brings.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

/// Remembers token ids until they are over.
pub trait Seen {
    /// Remembers an id until `until`, in seconds since 1970; answers whether it is new. Looking and
    /// remembering are one atomic step over every process that shares the memory.
    ///
    /// # Errors
    /// The memory cannot be asked, or has no room: the token is then not let through.
    fn first_time(&mut self, jti: &str, until: i64, now: i64) -> Result<bool, SeenError>;
}

/// The memory cannot say whether a token is new.
#[derive(Debug)]
pub struct SeenError(pub Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for SeenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the memory of used tokens cannot be asked: {}", self.0)
    }
}

impl std::error::Error for SeenError {}

/// A memory in the process: at most so many ids at once. What is over makes room; when nothing is,
/// no token is let through until something is, since forgetting one would let it through twice.
#[derive(Debug)]
pub struct MemorySeen {
    ids_max: usize,
    until: HashMap<Box<str>, i64>,
    by_end: BTreeSet<(i64, Box<str>)>,
}

impl MemorySeen {
    /// Room for so many ids. A token lives at most 130 s, so 130 times the tokens of a second do.
    #[must_use]
    pub fn new(ids_max: usize) -> Self {
        Self {
            ids_max,
            until: HashMap::new(),
            by_end: BTreeSet::new(),
        }
    }

    /// How many ids are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.until.len()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.until.is_empty()
    }

    fn forget_ended(&mut self, now: i64) {
        while let Some((end, _)) = self.by_end.first()
            && *end <= now
        {
            if let Some((_, jti)) = self.by_end.pop_first() {
                self.until.remove(&jti);
            }
        }
    }
}

impl Seen for MemorySeen {
    fn first_time(&mut self, jti: &str, until: i64, now: i64) -> Result<bool, SeenError> {
        self.forget_ended(now);
        if self.until.contains_key(jti) {
            return Ok(false);
        }
        if self.until.len() >= self.ids_max {
            return Err(SeenError("it is full".into()));
        }
        self.until.insert(jti.into(), until);
        self.by_end.insert((until, jti.into()));
        Ok(true)
    }
}
