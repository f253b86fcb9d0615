//! A shard beside a load, for the benchmarks: no threads, no disk, no HTTP.
//!
//! Here: the space whose rules the checks are decided by, ready commands, and a shard that decides
//! them a turn at a time. Not here: what is measured (`benches/`), and whole servers (`loadtest`).
#![expect(
    clippy::vec_box,
    reason = "transactions travel boxed between workers and shards"
)]

use std::sync::Arc;

use interlock_actors::message::{Answer, Frame, Monotonic, ShardMessage, Sink, Transaction};
use interlock_actors::plan::{self, Numbered, Request};
use interlock_actors::shard::{Pressure, Shard, ShardOptions};
use interlock_domain::contact::Contact;
use interlock_domain::contact::command::{
    Body, Check, Command, Direction, EffectKind, EffectRef, Route,
};
use interlock_domain::contact::name::{AgentId, IntentId, SourceId};
use interlock_domain::contact::policy::{Policy, Vault};
use interlock_domain::contact::reply::Reply;
use interlock_domain::ids::IdStream;
use interlock_domain::key::{KeyHash, SpaceId};
use interlock_domain::time::Timestamp;

/// Checks in a batch, as many as the contract allows.
pub const BATCH: u64 = 500;
/// The space of all commands.
pub const SPACE: SpaceId = SpaceId([0xB1; 16]);
/// The time all of them are decided at, in milliseconds.
pub const NOW: Timestamp = Timestamp(1_800_000_000_000);

const RULES: &str = r#"{
    "purposes": {"service": {"fails": "open", "token": false,
                             "budget": {"limit": 1000, "per_hours": 24}}},
    "channels": {"whatsapp": {}}
}"#;

/// The rules of the space.
///
/// # Panics
/// Never: the rules are a constant.
#[must_use]
pub fn policy() -> Arc<Policy> {
    Arc::new(Policy::load(1, RULES, &Vault::default()).expect("the rules are valid"))
}

/// Spread as a keyed hash is.
#[must_use]
pub fn hash(kind: u64, number: u64) -> KeyHash {
    let mut state = number
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(kind << 56);
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let (low, high) = (word().to_le_bytes(), word().to_le_bytes());
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&low);
    bytes[8..].copy_from_slice(&high);
    KeyHash(bytes)
}

/// Makes checks of fresh effects on many customers and objects, in an order of their own.
#[derive(Debug)]
pub struct Checks {
    check: Check,
    customers: u64,
    drawn: u64,
}

impl Checks {
    /// On so many customers and as many objects.
    ///
    /// # Panics
    /// Never: the rules name the purpose.
    #[must_use]
    pub fn on(customers: u64, policy: &Policy) -> Self {
        Self {
            check: Check {
                direction: Direction::Outbound,
                agent: AgentId::of("agent_00"),
                intent: IntentId::of("follow_up"),
                purpose: policy.purpose("service").expect("the rules name it"),
                channel: policy.channel("whatsapp"),
                gateway: None,
                customer: None,
                object: None,
                task: None,
                effect: None,
                signer: 0,
            },
            customers,
            drawn: 0,
        }
    }

    /// The next one: its customer is drawn, or `customer`.
    pub fn next(&mut self, customer: Option<u64>) -> Command {
        self.drawn += 1;
        let any = u64::from_le_bytes(hash(9, self.drawn).0[..8].try_into().unwrap_or_default());
        let mut check = self.check.clone();
        check.customer = Some(hash(1, customer.unwrap_or(any % self.customers)));
        check.object = Some(hash(2, (any >> 32) % self.customers));
        check.effect = Some(EffectRef {
            hash: hash(3, self.drawn),
            rest: hash(4, self.drawn).0,
            kind: EffectKind::Delivery,
        });
        Command {
            space: SPACE,
            source: SourceId(1),
            route: Route::CheckBatch,
            receipt: None,
            body: Body::Check(check),
        }
    }

    /// A batch of them.
    pub fn batch(&mut self) -> Vec<Command> {
        (0..BATCH).map(|_| self.next(None)).collect()
    }
}

/// Whom answers go to: nobody reads them.
struct Nobody;

impl Sink<Reply> for Nobody {
    fn deliver(&self, _answers: Vec<(u32, Answer<Reply>)>) {}

    fn gone(&self) -> bool {
        false
    }
}

/// Transactions of one batch, as a worker makes them.
#[must_use]
pub fn transactions(policy: &Arc<Policy>, batch: Vec<Command>) -> Vec<Box<Transaction<Contact>>> {
    let request = Request::<Contact> {
        sink: Arc::new(Nobody),
        policy: Arc::clone(policy),
        submitted: Monotonic(0),
        deadline: Monotonic(u64::MAX),
        shards: 1,
    };
    let numbered = (0..)
        .zip(batch)
        .map(|(index, command)| Numbered { index, command });
    let numbered: Vec<_> = numbered.collect();
    plan::plan(&request, numbered.into_iter())
}

/// The only shard of a node.
#[must_use]
pub fn shard() -> Shard<Contact> {
    let options = ShardOptions {
        index: 0,
        shards: 1,
        turn_commands_max: 128,
        queue_per_entity_max: 1_024,
        slice_entities_max: 500,
        sweep_entities_max: 0,
        entities_per_space_max: i64::MAX,
        entities_per_part_max: i64::MAX,
    };
    Shard::new(
        options,
        IdStream::new([7; 32]),
        Arc::new(Pressure::default()),
    )
}

/// Gives a shard what it is to do and lets it take turns until it is done; answers what it handed
/// over, so that the caller decides when that is dropped.
pub fn decide(
    shard: &mut Shard<Contact>,
    transactions: Vec<Box<Transaction<Contact>>>,
) -> Vec<Frame<Contact>> {
    shard.receive(ShardMessage::Work {
        time: NOW,
        returns: Vec::new(),
        transactions,
    });
    let mut frames = Vec::new();
    loop {
        let turn = shard.turn(NOW, Monotonic(0));
        frames.extend(turn.frame);
        if !turn.more {
            return frames;
        }
    }
}

/// How many checks have an answer in the frames.
#[must_use]
pub fn answered(frames: &[Frame<Contact>]) -> usize {
    let replies = frames.iter().flat_map(|frame| &frame.replies);
    replies.map(|held| held.answers.len()).sum()
}

/// A shard that has a contact of each of so many customers.
///
/// # Panics
/// When a check had no answer: what is measured would not be what it says.
#[must_use]
pub fn filled(customers: u64, policy: &Arc<Policy>) -> Shard<Contact> {
    let mut shard = shard();
    let mut checks = Checks::on(customers, policy);
    for first in (0..customers).step_by(BATCH as usize) {
        let some = first..customers.min(first + BATCH);
        let batch: Vec<Command> = some.map(|number| checks.next(Some(number))).collect();
        let asked = batch.len();
        let frames = decide(&mut shard, transactions(policy, batch));
        assert_eq!(answered(&frames), asked, "each check is answered");
    }
    shard
}
