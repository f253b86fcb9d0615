//! A machine made to be simulated: pairs of counters that must stay equal.
//!
//! Here: entities, commands and the machine. In `counters/`: how a command is decided (`decide`),
//! what is asked (`ask`), and the independent model (`model`). A pair is two entities of two kinds,
//! so nearly every command is a loan; a receipt makes a repeat answer what was answered before.

mod ask;
mod decide;
mod model;

use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, KeyList, Kind, SpaceId};
use interlock_domain::machine::{
    Broken, Context, Decision, Entities, Machine, Sweep, Undecided, Versioned,
};
use interlock_domain::time::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use smallvec::SmallVec;

pub use model::CountersModel;

use crate::machine::{SimMachine, Ticket};

/// A counter at zero is forgotten after this long.
pub(crate) const ZERO_KEPT_MS: i64 = 3_000;
/// A counter that nobody touched is marked as aged after this long.
pub(crate) const FRESH_MS: i64 = 8_000;
/// A receipt is kept this long.
pub(crate) const RECEIPT_KEPT_MS: i64 = 15_000;
/// What a deliberate panic says.
pub(crate) const DELIBERATE: &str = "a deliberate panic";

/// One value for each pair of a command.
pub type Values = SmallVec<[i64; 2]>;

/// See the module.
#[derive(Debug)]
pub struct Counters;

/// The state of one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entity {
    /// One half of a pair.
    Counter(Counter),
    /// What was answered to an operation that may be repeated.
    Receipt(Receipt),
}

/// One half of a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Its value.
    pub value: i64,
    /// When it was last changed by a command.
    pub changed: Timestamp,
    /// A sweep found it untouched for a while.
    pub aged: bool,
    /// It was changed at a time before its last change.
    pub went_back: bool,
}

/// What was answered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The operation that was done.
    pub first: Ticket,
    /// What it answered.
    pub values: Values,
    /// Until when it is repeated.
    pub until: Timestamp,
}

/// What changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// A counter grew (or shrank).
    Added {
        /// By this much.
        amount: i64,
        /// When.
        at: Timestamp,
    },
    /// A counter went to zero.
    Cleared {
        /// When.
        at: Timestamp,
    },
    /// A counter was untouched for a while.
    Aged,
    /// An answer is kept.
    Kept(Receipt),
    /// Cannot be written: the encoder refuses it.
    Unwritable(Unwritable),
}

/// Refuses to be encoded.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Unwritable;

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _serializer: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it refuses"))
    }
}

/// Two counters that must stay equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its number in the space.
    pub number: usize,
    /// A customer.
    pub left: EntityKey,
    /// An object.
    pub right: EntityKey,
}

/// What is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its number.
    pub ticket: Ticket,
    /// Whose pairs.
    pub space: SpaceId,
    /// The version of the rules it was last bound to.
    pub bound: u32,
    /// A name the rules must know.
    pub name: u32,
    /// One or two pairs.
    pub pairs: SmallVec<[Pair; 2]>,
    /// What to do with them.
    pub act: Act,
}

/// What to do with pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// Add to each; once, where a receipt is named.
    Add {
        /// How much.
        amount: i64,
        /// Where the answer is kept.
        receipt: Option<EntityKey>,
    },
    /// Set each to zero.
    Clear,
    /// Look.
    Read,
    /// Panic while deciding.
    Panic,
    /// Decide something that cannot be written.
    Misfit,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// It was done; the values afterwards.
    Done(Values),
    /// It was done before, by this operation, with this answer.
    Repeated {
        /// The operation.
        first: Ticket,
        /// Its answer.
        values: Values,
        /// When this was decided.
        at: Timestamp,
    },
    /// It would pass the limit; the values as they are.
    Refused {
        /// The values.
        values: Values,
        /// The rules it was refused by.
        version: u32,
    },
    /// The values.
    Seen(Values),
    /// The newer rules do not know the name.
    Unknown,
    /// It came too late.
    Late,
    /// The two counters of a pair differ. Never.
    Torn,
    /// Decided before the last change of an entity. Never.
    Early,
    /// Decided under rules it was not bound to. Never.
    Misbound,
}

/// What a record says of its decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The operation.
    pub ticket: Ticket,
    /// What came of it.
    pub noted: Noted,
    /// The next version of each pair's left counter when it was decided: usable as an epoch, so it
    /// only grows.
    pub epochs: SmallVec<[u64; 2]>,
}

/// What came of a decision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Noted {
    /// It was done; the values afterwards.
    Done(Values),
    /// It was refused; the values as they were.
    Refused(Values),
}

/// A space's rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Their version.
    pub version: u32,
    /// No counter goes beyond this, up or down.
    pub limit: i64,
    /// One name that these rules do not know.
    pub unknown: u32,
}

impl Versioned for Policy {
    fn version(&self) -> u32 {
        self.version
    }
}

impl SimMachine for Counters {
    type Model = CountersModel;
}

impl Machine for Counters {
    type Entity = Entity;
    type Command = Command;
    type Event = Event;
    type Reply = Reply;
    type Note = Note;
    type Notice = Ticket;
    type Policy = Policy;

    const PRODUCT: u8 = 255;
    const FORMAT: u16 = 1;
    const NAME: &'static str = "counters";

    fn space(command: &Command) -> SpaceId {
        command.space
    }

    fn keys(command: &Command) -> KeyList {
        let mut keys = KeyList::new();
        for pair in &command.pairs {
            keys.push(pair.right);
            keys.push(pair.left);
        }
        if let Act::Add {
            receipt: Some(receipt),
            ..
        } = command.act
        {
            keys.push(receipt);
        }
        keys
    }

    fn decide(
        entities: &Entities<'_, Entity>,
        command: &Command,
        context: &mut Context<'_, Policy>,
    ) -> Decision<Self> {
        decide::decide(entities, command, context)
    }

    fn empty(kind: Kind) -> Entity {
        match kind {
            Kind::Receipt => Entity::Receipt(Receipt::default()),
            Kind::Directory
            | Kind::Handoff
            | Kind::Effect
            | Kind::Customer
            | Kind::Object
            | Kind::SpaceBudget
            | Kind::Feed
            | Kind::Reports
            | Kind::Holds => Entity::Counter(Counter::default()),
        }
    }

    fn apply(entity: &mut Entity, event: &Event) {
        match (entity, event) {
            (Entity::Counter(counter), Event::Added { amount, at }) => {
                counter.value += amount;
                counter.touch(*at);
            }
            (Entity::Counter(counter), Event::Cleared { at }) => {
                counter.value = 0;
                counter.touch(*at);
            }
            (Entity::Counter(counter), Event::Aged) => counter.aged = true,
            (Entity::Receipt(receipt), Event::Kept(kept)) => receipt.clone_from(kept),
            (Entity::Counter(_) | Entity::Receipt(_), _) => {
                unreachable!("an event of another kind of entity")
            }
        }
    }

    fn due(entity: &Entity) -> Option<Timestamp> {
        match entity {
            Entity::Receipt(receipt) => Some(receipt.until),
            Entity::Counter(counter) if counter.value == 0 => {
                Some(counter.changed.plus_ms(ZERO_KEPT_MS))
            }
            Entity::Counter(counter) if !counter.aged => Some(counter.changed.plus_ms(FRESH_MS)),
            Entity::Counter(_) => None,
        }
    }

    fn sweep(entity: &Entity, _now: Timestamp) -> Sweep<Event> {
        match entity {
            Entity::Receipt(_) => Sweep::Purge,
            Entity::Counter(counter) if counter.value == 0 => Sweep::Purge,
            Entity::Counter(counter) if !counter.aged => Sweep::Event(Event::Aged),
            Entity::Counter(_) => Sweep::Keep,
        }
    }

    fn check(entity: &Entity) -> Result<(), Broken> {
        match entity {
            Entity::Counter(counter) if counter.went_back => Err(Broken {
                invariant: "time",
                seen: "a counter was changed before its last change".to_owned(),
            }),
            Entity::Counter(_) | Entity::Receipt(_) => Ok(()),
        }
    }

    fn rebind(command: &mut Command, policy: &Policy) -> Result<(), Reply> {
        command.bound = policy.version;
        if command.name == policy.unknown {
            return Err(Reply::Unknown);
        }
        Ok(())
    }

    fn undecided(
        command: &Command,
        _policy: &Policy,
        _why: Undecided,
        _now: Timestamp,
        _ids: &mut IdStream,
    ) -> Option<Reply> {
        match command.act {
            Act::Read => Some(Reply::Late),
            Act::Add { .. } | Act::Clear | Act::Panic | Act::Misfit => None,
        }
    }

    fn outcome(reply: &Reply) -> (&'static str, &'static str) {
        match reply {
            Reply::Done(_) => ("done", "done"),
            Reply::Repeated { .. } => ("done", "repeated"),
            Reply::Refused { .. } => ("refused", "limit"),
            Reply::Seen(_) => ("seen", "seen"),
            Reply::Unknown => ("refused", "unknown"),
            Reply::Late => ("refused", "late"),
            Reply::Torn | Reply::Early | Reply::Misbound => ("refused", "broken"),
        }
    }
}

impl Counter {
    fn touch(&mut self, at: Timestamp) {
        self.went_back |= at < self.changed;
        self.changed = at;
        self.aged = false;
    }
}

/// Keeps deliberate panics off the terminal: they are caught, and not worth a line each.
pub fn quiet_deliberate_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let deliberate = info
            .payload_as_str()
            .is_some_and(|message| message == DELIBERATE);
        if !deliberate {
            usual(info);
        }
    }));
}
