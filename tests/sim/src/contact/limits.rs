//! How long things are remembered, and how many of them: the model's own table.
//!
//! Here: each number with where it is written. The product's constants are not used, or a wrong one
//! would be wrong on both sides and nobody would see it. Not here: what a rule does with a number.

/// A day, in seconds.
const DAY_S: i64 = 86_400;

/// How long a check may be relied on, in seconds: `docs/spec/contact.md` §4.3.
pub(super) const CHECK_VALID_S: u32 = 60;

/// How long the outcome of a keyed check is kept, in seconds: `docs/operate.md`, what is kept.
pub(super) const CHECK_OUTCOME_S: i64 = 600;

/// How long the outcome of any other keyed request is kept, in seconds: `docs/spec/contact.md` §2,
/// scope of a key.
pub(super) const OUTCOME_S: i64 = DAY_S;

/// How long a claim or lock that ended is remembered, in seconds: `ARCHITECTURE.md`, an ended claim.
pub(super) const ENDED_CLAIM_S: i64 = DAY_S;

/// How many ended claims, and as many ended locks, a target remembers: `ARCHITECTURE.md`, an ended claim.
pub(super) const ENDED_CLAIMS: usize = 32;

/// How many live claims a target has at most: `ARCHITECTURE.md`, how much.
pub(super) const LIVE_CLAIMS: usize = 128;

/// How many live locks an object has at most: `ARCHITECTURE.md`, how much.
pub(super) const LIVE_LOCKS: usize = 400;

/// For how long a claim keeps its id through renewals, in seconds: `ARCHITECTURE.md`, ids.
pub(super) const CLAIM_ID_S: i64 = 90 * DAY_S;

/// How long the id of a claim leads to its target, in seconds: `docs/operate.md`, what is kept.
pub(super) const CLAIM_ROW_S: i64 = 92 * DAY_S;

/// How long an offer that holds no more is remembered, in seconds: `docs/operate.md`, what is kept.
pub(super) const ENDED_OFFER_S: i64 = 90 * DAY_S;

/// How many offers that hold no more a customer remembers: `docs/operate.md`, what is kept.
pub(super) const ENDED_OFFERS: usize = 64;

/// How long the id of an offer leads to its customer after its end, in seconds: `docs/operate.md`, what
/// is kept.
pub(super) const OFFER_ROW_S: i64 = 400 * DAY_S;

/// How many open promises a customer has at most: `ARCHITECTURE.md`, promises.
pub(super) const OPEN_PROMISES: usize = 32;

/// How long an admission is remembered after it expires, in seconds: `ARCHITECTURE.md`, an admission
/// that nobody settles.
pub(super) const LATE_SETTLEMENT_S: i64 = DAY_S;

/// How long the answer of an erasure is found, in seconds: `docs/operate.md`, what is kept.
pub(super) const ERASURE_ROW_S: i64 = 400 * DAY_S;

/// How long a released legal hold is remembered, in seconds: `docs/operate.md`, what is kept.
pub(super) const RELEASED_HOLD_S: i64 = 90 * DAY_S;

/// How many handoffs of a customer wait for their outcome: `ARCHITECTURE.md`, how many handoffs.
pub(super) const OPEN_HANDOFFS: usize = 16;

/// How many handoffs of a customer are kept: `ARCHITECTURE.md`, how many handoffs.
pub(super) const KEPT_HANDOFFS: usize = 256;

/// How long a handoff is kept after its outcome, or after it was due, in seconds: `ARCHITECTURE.md`, a
/// handoff's life.
pub(super) const ENDED_HANDOFF_S: i64 = 90 * DAY_S;

/// How many effects a package shows: `ARCHITECTURE.md`, a handoff's package.
pub(super) const SHOWN_EFFECTS: usize = 50;

/// How many keys an object's life has: `ARCHITECTURE.md`, how many keys an object's life has.
pub(super) const TIED_KEYS: usize = 256;

/// How many shadow runs of a space are kept: `docs/operate.md`, what is kept.
pub(super) const KEPT_RUNS: usize = 100;

/// How long the runs of a space are kept after the newest one, in seconds: `docs/operate.md`, what is
/// kept.
pub(super) const RUNS_S: i64 = 400 * DAY_S;
