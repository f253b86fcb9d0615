//! What the comparison asks of every peer: to say what it is and how it keeps what it answered, to
//! tell its processor time, and to hand out connections that are asked batches of checks.

use std::fmt;

use super::judge::Verdict;
use super::keys::Check;

/// The rules of the space, as far as a peer takes them.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The purpose of every check.
    pub(crate) purpose: String,
    /// Contacts of a customer in the window.
    pub(crate) limit: u16,
    /// How long a contact counts, in milliseconds.
    pub(crate) window_ms: u64,
    /// How long a reserved effect is in flight, in milliseconds.
    pub(crate) lease_ms: u64,
}

/// How a batch is put to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A command for each check, all sent before the first answer is read.
    Pipeline,
    /// One command for all checks.
    Call,
    /// One statement with arrays.
    Statement,
}

impl Form {
    /// Its name in reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Pipeline => "pipeline",
            Self::Call => "one call",
            Self::Statement => "statement",
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What somebody holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// A customer, by number.
    Customer(u64),
    /// An object, by number.
    Object(u64),
}

/// What a peer is told to prove its rules; nothing of it happens under load.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fact {
    /// An effect ended.
    Settled {
        /// Its number.
        effect: u64,
        /// `done`, `failed` or `unknown_outcome`.
        state: &'static str,
    },
    /// A customer wants no contact.
    Suppressed {
        /// Its number.
        customer: u64,
        /// For what, or `any`.
        purpose: &'static str,
    },
    /// An agent takes a customer or an object.
    Owned {
        /// What it takes.
        target: Target,
        /// The agent's number.
        holder: u64,
        /// How strictly: a lower number is stricter.
        rank: u32,
        /// For how long.
        lease_ms: u64,
    },
    /// An agent takes the task of an object.
    Locked {
        /// The object's number.
        object: u64,
        /// The agent's number.
        holder: u64,
        /// For how long.
        lease_ms: u64,
    },
}

/// A running peer.
pub(crate) trait Server: Sync {
    /// What it is, with its version.
    fn name(&self) -> String;

    /// How batches may be put to it.
    fn forms(&self) -> &'static [Form];

    /// How it keeps what it answered, read back from it; an error when that is not what was asked for.
    fn conditions(&self) -> Result<Vec<String>, String>;

    /// Processor seconds of all its processes so far.
    fn cpu_seconds(&self) -> f64;

    /// A connection for batches of `checks`, whose effect keys carry `run`.
    fn connect(&self, form: Form, run: u32, checks: usize) -> Result<Box<dyn Link>, String>;
}

/// A connection to a peer, with one batch under way at a time.
pub(crate) trait Link: Send {
    /// Asks a batch and reads its answers, in the order of the checks.
    fn ask(&mut self, checks: &[Check], verdicts: &mut Vec<Verdict>) -> Result<(), String>;

    /// Tells a fact; false when it was turned down.
    fn tell(&mut self, fact: &Fact) -> Result<bool, String>;
}
