//! What a machine brings to be simulated: commands to ask, and a model that knows the answers.
//!
//! Here: the contracts between the world and a machine. The model never sees a shard: it is told
//! what was asked, what the log holds, in log order, and what was answered.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use interlock_actors::message::Answer;
use interlock_actors::record::Entry;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;
use interlock_storage::{Group, LogError, Sequence};

use crate::conditions::Conditions;
use crate::random::Random;

/// Numbers the commands of a run.
pub type Ticket = u64;

/// Something that must never be, was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's id.
    pub invariant: &'static str,
    /// What was seen.
    pub seen: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.invariant, self.seen)
    }
}

/// Named instead of an invariant when the operating system refused, which a process may try again.
pub(crate) const REFUSED: &str = "refused";

impl From<LogError> for Violation {
    /// A log that is damaged does not hold what was answered.
    fn from(error: LogError) -> Self {
        let invariant = match error {
            LogError::Io(_) => REFUSED,
            LogError::Locked(_) | LogError::Corrupt(_) | LogError::Format(_) => "C6",
        };
        Self {
            invariant,
            seen: error.to_string(),
        }
    }
}

/// Answers a violation.
///
/// # Errors
/// Always.
pub fn violated<T>(invariant: &'static str, seen: impl fmt::Display) -> Result<T, Violation> {
    Err(Violation {
        invariant,
        seen: seen.to_string(),
    })
}

/// One record as the log holds it.
#[derive(Debug)]
pub struct Written<M: Machine> {
    /// Its place among all records of the run, from 1.
    pub number: u64,
    /// Where its commit lies.
    pub at: (Group, Sequence),
    /// Whose it is.
    pub space: SpaceId,
    /// When it was decided.
    pub time: Timestamp,
    /// The version of the policy it was decided with; 0 for a sweep.
    pub policy: u32,
    /// What changed.
    pub entries: Vec<Entry<M::Event>>,
    /// What the decision says of itself.
    pub note: Option<M::Note>,
    /// How the node stood when it was decided.
    pub conditions: Arc<Conditions>,
}

/// When and how an answer came about.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    /// No decision so far was later.
    pub latest: Timestamp,
    /// How the node stood when it was decided, or was not.
    pub conditions: &'a Conditions,
    /// Its deadline was over by then.
    pub late: bool,
}

/// What a client asks with.
#[derive(Debug)]
pub struct Ask<'a, P> {
    /// Its space.
    pub space: SpaceId,
    /// The rules it knows.
    pub policy: &'a P,
    /// The command's number.
    pub ticket: Ticket,
    /// About what time it is.
    pub now: Timestamp,
}

/// Every entity with its version, by key.
pub type Memory<E> = BTreeMap<EntityKey, (u64, E)>;

/// A machine that can be simulated.
pub trait SimMachine: Machine {
    /// Its model.
    type Model: Model<Self>;
}

/// An independent, sequential account of what a machine must do.
pub trait Model<M: Machine>: Sized {
    /// A model for one run; sizes and habits vary with the seed.
    fn new(random: &mut Random) -> Self;

    /// The spaces that take part.
    fn spaces(&self) -> Vec<SpaceId>;

    /// New rules of a space.
    fn policy(&mut self, space: SpaceId, version: u32, random: &mut Random) -> M::Policy;

    /// A moment after `now` at which something that is known ends. Clocks are set to exactly it now and
    /// then: by chance nothing is ever asked in the one millisecond that a rule turns on.
    fn end_to_come(&mut self, _now: Timestamp, _random: &mut Random) -> Option<Timestamp> {
        None
    }

    /// The next command of a client, with the ticket it is known by from now on.
    fn ask(&mut self, ask: &Ask<'_, M::Policy>, random: &mut Random) -> M::Command;

    /// The command a record's note is about, where the note tells.
    fn ticket(note: &M::Note) -> Option<Ticket>;

    /// A record is in the log.
    ///
    /// # Errors
    /// When it should not be what it is.
    fn written(&mut self, record: &Written<M>) -> Result<(), Violation>;

    /// A notice left.
    ///
    /// # Errors
    /// When it should not have.
    fn noticed(
        &mut self,
        group: Group,
        sequence: Sequence,
        notice: &M::Notice,
    ) -> Result<(), Violation>;

    /// The look-up of a command was answered. No decision so far was later than `latest`.
    ///
    /// # Errors
    /// When the answer is wrong.
    fn looked_up(
        &mut self,
        _ticket: Ticket,
        _found: &M::Reply,
        _latest: Timestamp,
    ) -> Result<(), Violation> {
        Ok(())
    }

    /// This is a command now that its look-up was answered.
    fn completed(&mut self, _ticket: Ticket, _command: &M::Command) {}

    /// A command was answered. Whatever the answer promises is in the log by now. That what is late is
    /// not decided, and when a queue may be full, is for the world to judge.
    ///
    /// # Errors
    /// When the answer is wrong.
    fn answered(
        &mut self,
        ticket: Ticket,
        answer: &Answer<M::Reply>,
        given: &Given<'_>,
    ) -> Result<(), Violation>;

    /// Nothing is on its way: every command was answered or never will be, and no decision or sweep so
    /// far was later than `latest`.
    ///
    /// # Errors
    /// When the memory is not what the model has.
    fn quiet(&mut self, memory: &Memory<M::Entity>, latest: Timestamp) -> Result<(), Violation>;

    /// How often each case that the model tells apart was seen.
    fn seen(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}
