//! A node without threads: shards, the links between them, the queue of frames.
//!
//! Here: what production does with mailboxes and channels, done with queues that keep the same
//! order: first in, first out between any two, nothing between others.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_actors::committer::Committer;
use interlock_actors::message::{Frame, Monotonic, ShardMessage};
use interlock_actors::shard::{Pressure, Shard, ShardOptions, TurnOutput};
use interlock_domain::ids::IdStream;
use interlock_domain::machine::Machine;
use interlock_domain::time::Timestamp;

use crate::conditions::{Bounds, Conditions};
use crate::random::Random;
use crate::swarm::Habits;

/// Who sends: a shard, or one of the two outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// A shard.
    Shard(usize),
    /// The router.
    Router,
    /// The keeper and whoever sweeps and brings rules.
    Keeper,
}

/// What is between the start of a process and its end.
#[derive(Debug)]
pub struct Node<M: Machine> {
    /// The shards.
    pub shards: Vec<Shard<M>>,
    /// Frames that wait for the committer.
    pub frames: VecDeque<Frame<M>>,
    /// The conditions of the turn that each of them is of.
    pub conditions: VecDeque<Arc<Conditions>>,
    /// Commands that are under way.
    pub under_way: usize,
    /// What its shards may hold.
    pub bounds: Bounds,
    /// The committer.
    pub committer: Committer<M>,
    /// Node time starts no earlier.
    pub floor: Timestamp,
    /// What the shards share.
    pub pressure: Arc<Pressure>,
    links: Vec<VecDeque<ShardMessage<M>>>,
    on_the_way: usize,
}

impl<M: Machine> Node<M> {
    /// A node of `count` shards that own nothing yet.
    #[must_use]
    pub fn new(
        count: u16,
        committer: Committer<M>,
        floor: Timestamp,
        (habits, bounds): (&Habits, Bounds),
        random: &mut Random,
    ) -> Self {
        let pressure = Arc::new(Pressure::default());
        let shards = (0..count).map(|index| {
            let options = ShardOptions {
                index,
                shards: count,
                turn_commands_max: small(random.range(1..=habits.turn_max)),
                queue_per_entity_max: habits.queue_max,
                slice_entities_max: small(random.range(1..=habits.slice_max)),
                sweep_entities_max: small(random.range(1..=habits.sweep_max)),
                entities_per_space_max: bounds.entities,
                entities_per_part_max: bounds.part,
            };
            Shard::new(
                options,
                IdStream::new(random.bytes()),
                Arc::clone(&pressure),
            )
        });
        let shards: Vec<_> = shards.collect();
        let links = (shards.len() + 2) * shards.len();
        Self {
            shards,
            frames: VecDeque::new(),
            conditions: VecDeque::new(),
            under_way: 0,
            bounds,
            committer,
            floor,
            pressure,
            links: std::iter::repeat_with(VecDeque::new).take(links).collect(),
            on_the_way: 0,
        }
    }

    /// How many shards there are, as placement counts them.
    #[must_use]
    pub fn count(&self) -> u16 {
        u16::try_from(self.shards.len()).expect("a few shards")
    }

    /// Sends a message.
    pub fn send(&mut self, from: From, to: usize, message: ShardMessage<M>) {
        let shards = self.shards.len();
        let row = match from {
            From::Shard(at) => at,
            From::Router => shards,
            From::Keeper => shards + 1,
        };
        self.links[row * shards + to].push_back(message);
        self.on_the_way += 1;
    }

    /// Sends the same kind of message to every shard.
    pub fn broadcast(&mut self, mut message: impl FnMut() -> ShardMessage<M>) {
        for to in 0..self.shards.len() {
            self.send(From::Keeper, to, message());
        }
    }

    /// Lets one message arrive; answers whether there was any.
    pub fn deliver(&mut self, random: &mut Random) -> bool {
        if self.on_the_way == 0 {
            return false;
        }
        let from = random.index(self.links.len());
        let link = (from..self.links.len())
            .chain(0..from)
            .find(|&link| !self.links[link].is_empty())
            .expect("a message is on its way");
        let message = self.links[link].pop_front().expect("the link has one");
        self.on_the_way -= 1;
        let to = link % self.shards.len();
        self.shards[to].receive(message);
        true
    }

    /// Gives a shard a turn: its frame is handed over before anything else leaves. Answers whether there
    /// was one.
    pub fn turn(&mut self, shard: usize, wall: Timestamp, mono: Monotonic) -> bool {
        let now = wall.max(self.floor);
        let counted = self.bounds.before(&self.shards[shard]);
        let lending = self.is_lending();
        let TurnOutput {
            frame, messages, ..
        } = self.shards[shard].turn(now, mono);
        let handed_over = frame.is_some();
        if let Some(frame) = frame {
            let answers = frame.replies.iter().map(|held| held.answers.len()).sum();
            let pressure = &self.pressure;
            let full = [&pressure.full, &pressure.disk_low];
            let full = full.iter().any(|flag| flag.load(Ordering::Relaxed));
            let conditions = Conditions {
                time: self.shards[shard].now(),
                mono,
                suspect: pressure.clock_suspect.load(Ordering::Relaxed),
                under_way: self.under_way,
                lending: lending || self.is_lending(),
                ..Conditions::under(full, counted, &self.bounds, answers)
            };
            self.conditions.push_back(Arc::new(conditions));
            self.frames.push_back(frame);
        }
        for (to, message) in messages {
            self.send(From::Shard(shard), usize::from(to), message);
        }
        handed_over
    }

    /// Is anything on loan, as far as the shards have counted?
    fn is_lending(&self) -> bool {
        self.pressure.on_loan.load(Ordering::Relaxed) != 0
    }

    /// A shard that has something to do, or else any.
    #[must_use]
    pub fn busy_shard(&self, random: &mut Random) -> usize {
        let from = random.index(self.shards.len());
        (from..self.shards.len())
            .chain(0..from)
            .find(|&shard| self.shards[shard].has_work())
            .unwrap_or(from)
    }

    /// Nothing is on its way and nobody has anything to do.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.on_the_way == 0 && self.frames.is_empty() && !self.shards.iter().any(Shard::has_work)
    }

    /// Visits the messages on their way.
    pub fn each_message(&self, visit: &mut dyn FnMut(&ShardMessage<M>)) {
        self.links.iter().flatten().for_each(visit);
    }
}

fn small(number: u64) -> usize {
    usize::try_from(number).expect("a small number")
}
