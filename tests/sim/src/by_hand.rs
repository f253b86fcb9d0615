//! Shards of counters that a test turns by hand, message by message.
//!
//! Here: a shard with small bounds, and work for it. Not here: the world of a seeded run (`world`),
//! which chooses the order itself. For the tests beside this crate.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use interlock_actors::message::{Monotonic, ShardMessage};
use interlock_actors::plan::{Numbered, Request, plan};
use interlock_actors::shard::{Pressure, Shard, ShardOptions};
use interlock_domain::ids::IdStream;
use interlock_domain::key::{EntityKey, SpaceId};
use interlock_domain::time::Timestamp;
use smallvec::smallvec;

use crate::counters::{Act, Command, Counters, Pair, Policy, Reply};
use crate::sink::{Client, Left, Pile};

/// One of `shards` shards; a turn decides `commands` commands, a step of its sweep looks at ten
/// entities, a slice of its snapshots has one.
#[must_use]
pub fn shard(index: u16, shards: u16, commands: usize) -> Shard<Counters> {
    shard_under(index, shards, commands, Arc::default())
}

/// The same, with what slows or stops it in the test's hands.
#[must_use]
pub fn shard_under(
    index: u16,
    shards: u16,
    commands: usize,
    pressure: Arc<Pressure>,
) -> Shard<Counters> {
    let options = ShardOptions {
        index,
        shards,
        turn_commands_max: commands,
        queue_per_entity_max: 10,
        slice_entities_max: 1,
        sweep_entities_max: 10,
        entities_per_space_max: i64::MAX,
        entities_per_part_max: i64::MAX,
    };
    Shard::new(options, IdStream::new([1; 32]), pressure)
}

/// Adds to a counter, without a receipt.
#[must_use]
pub const fn add(amount: i64) -> Act {
    Act::Add {
        amount,
        receipt: None,
    }
}

/// A command on one pair.
#[must_use]
pub fn command(space: SpaceId, number: usize, [left, right]: [EntityKey; 2], act: Act) -> Command {
    Command {
        ticket: 1,
        space,
        bound: 1,
        name: 0,
        pairs: smallvec![Pair {
            number,
            left,
            right,
        }],
        act,
    }
}

/// Rules under which a counter goes far.
#[must_use]
pub const fn policy() -> Policy {
    Policy {
        version: 1,
        limit: 1_000_000,
        unknown: 9,
    }
}

/// A request and the shard it goes to first; its answers go to the pile.
#[must_use]
pub fn request(
    number: u64,
    commands: Vec<Command>,
    shards: u16,
    pile: &Pile<Left<Reply>>,
) -> (u16, ShardMessage<Counters>) {
    request_until(number, commands, shards, pile, Monotonic(u64::MAX))
}

/// The same with a deadline.
#[must_use]
pub fn request_until(
    number: u64,
    commands: Vec<Command>,
    shards: u16,
    pile: &Pile<Left<Reply>>,
    deadline: Monotonic,
) -> (u16, ShardMessage<Counters>) {
    let sink = Client {
        request: number,
        pile: pile.clone(),
        gone: AtomicBool::new(false),
    };
    let asked = Request {
        sink: Arc::new(sink),
        policy: Arc::new(policy()),
        deadline,
        submitted: Monotonic(0),
        shards,
    };
    let numbered = (0..).zip(commands);
    let numbered = numbered.map(|(index, command)| Numbered { index, command });
    let numbered: Vec<_> = numbered.collect();
    let transactions = plan(&asked, numbered.into_iter());
    let first = transactions[0].places[0].shard;
    let message = ShardMessage::Work {
        time: Timestamp(0),
        returns: Vec::new(),
        transactions,
    };
    (first, message)
}

/// One command whose answer nobody reads.
#[must_use]
pub fn work(command: Command, shards: u16) -> (u16, ShardMessage<Counters>) {
    request(1, vec![command], shards, &Pile::default())
}
