//! The entrance of a node: what a request worker calls.
//!
//! Here: credits, readiness, planning, sending to shards, collecting the answers. Not here: HTTP.
//! Cloneable; how it queues is nobody's business.

mod rebuilding;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix::Addr;
use interlock_domain::machine::Machine;
use tokio::sync::mpsc;

use crate::clock::NodeClock;
use crate::credits::{Credits, OutOfCredits, Permit};
pub use crate::message::Answer;
use crate::message::{Monotonic, ShardMessage, Sink};
use crate::plan::{Numbered, Request, plan};
use crate::readiness::Readiness;
use crate::shard::Pressure;
use crate::shard_actor::{Deliver, ShardActor};

/// Commands that came in one request.
#[derive(Debug)]
pub struct Submission<M: Machine> {
    /// The commands, all of one space, at least one.
    pub commands: Vec<M::Command>,
    /// The rules they were parsed with.
    pub policy: Arc<M::Policy>,
    /// How long the caller waits, from now.
    pub deadline: Duration,
    /// What they take of the bound on bytes in flight.
    pub bytes: usize,
}

/// Why a whole submission was turned away; none of its commands was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The space has too much in flight.
    Busy {
        /// When to come back, in seconds.
        retry_after_s: u32,
    },
    /// The node has too much in flight, or snapshots cannot keep up with the journal.
    Overloaded {
        /// When to come back, in seconds.
        retry_after_s: u32,
    },
    /// The node is stopping.
    Stopping,
}

/// What the entrance and the node share.
pub(crate) struct Entrance<M: Machine> {
    pub(crate) shards: Vec<Addr<ShardActor<M>>>,
    pub(crate) credits: Arc<Credits>,
    pub(crate) clock: NodeClock,
    pub(crate) readiness: Readiness,
    pub(crate) pressure: Arc<Pressure>,
    pub(crate) stopping: AtomicBool,
}

/// Asks a node to decide.
pub struct NodeHandle<M: Machine> {
    pub(crate) entrance: Arc<Entrance<M>>,
}

impl<M: Machine> Clone for NodeHandle<M> {
    fn clone(&self) -> Self {
        Self {
            entrance: Arc::clone(&self.entrance),
        }
    }
}

impl<M: Machine> fmt::Debug for NodeHandle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NodeHandle")
    }
}

/// Takes the answers of one submission; holds its credits until the last command is done with.
struct Channel<R> {
    answers: mpsc::Sender<Vec<(u32, Answer<R>)>>,
    _permit: Arc<Permit>,
}

/// What the commands of one submission have in common.
struct Asked<M: Machine> {
    policy: Arc<M::Policy>,
    submitted: Monotonic,
    deadline: Monotonic,
    permit: Arc<Permit>,
}

impl<M: Machine> Clone for Asked<M> {
    fn clone(&self) -> Self {
        let Self {
            policy,
            submitted,
            deadline,
            permit,
        } = self;
        Self {
            policy: Arc::clone(policy),
            submitted: *submitted,
            deadline: *deadline,
            permit: Arc::clone(permit),
        }
    }
}

impl<R: Send> Sink<R> for Channel<R> {
    fn deliver(&self, answers: Vec<(u32, Answer<R>)>) {
        // There is room for a message per command; it fails only when the client has gone.
        drop(self.answers.try_send(answers));
    }

    fn gone(&self) -> bool {
        self.answers.is_closed()
    }
}

impl<M: Machine> NodeHandle<M> {
    /// Decides the commands, in order where they share an entity, and answers each, in order, once
    /// what it changed is durable. Dropping the future drops what is not decided yet.
    ///
    /// # Errors
    /// When the node takes no more; nothing was decided then.
    pub async fn submit(
        &self,
        submission: Submission<M>,
    ) -> Result<Vec<Answer<M::Reply>>, Refused> {
        // The worker may have read a request and its client's leaving in one go. One turn of its
        // loop later it has dropped this future, and nothing is reserved for nobody.
        tokio::task::yield_now().await;
        let Submission {
            commands,
            policy,
            deadline,
            bytes,
        } = submission;
        let Some(first) = commands.first() else {
            return Ok(Vec::new());
        };
        let entrance = &*self.entrance;
        if entrance.stopping.load(Ordering::Acquire) {
            return Err(Refused::Stopping);
        }
        // While the disk has no room nothing adds to the journal, and reads go on.
        let adds = !entrance.pressure.room.is_out();
        if adds && entrance.pressure.journal_full.load(Ordering::Relaxed) {
            return Err(Refused::Overloaded { retry_after_s: 1 });
        }
        let space = M::space(first);
        let permit = Arc::new(
            entrance
                .credits
                .take(space, commands.len(), bytes)
                .map_err(refusal)?,
        );
        let nanos = u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX);
        let submitted = entrance.clock.mono();
        let deadline = Monotonic(submitted.0.saturating_add(nanos));
        let mut answers: Vec<Option<Answer<M::Reply>>> = std::iter::repeat_with(|| None)
            .take(commands.len())
            .collect();
        let request = Asked {
            policy,
            submitted,
            deadline,
            permit,
        };
        if !entrance.readiness.all() {
            self.complete_as_rebuilt(number(commands).collect(), request, &mut answers)
                .await;
        } else if commands.iter().any(|one| M::look_up(one).is_some()) {
            self.complete(number(commands).collect(), request, &mut answers)
                .await;
        } else {
            self.ask(number(commands), request, &mut answers).await;
        }
        Ok(answers
            .into_iter()
            .map(|answer| answer.unwrap_or(Answer::Unavailable))
            .collect())
    }

    /// Looks up what has to be and asks the shards.
    async fn complete(
        &self,
        commands: Vec<Numbered<M::Command>>,
        request: Asked<M>,
        answers: &mut [Option<Answer<M::Reply>>],
    ) {
        let commands = self.look_up(commands, &request, answers).await;
        if !commands.is_empty() {
            self.ask(commands.into_iter(), request, answers).await;
        }
    }

    /// Completes the commands that name only an id, by a read of the id's directory row; gives back
    /// those that can be decided.
    async fn look_up(
        &self,
        commands: Vec<Numbered<M::Command>>,
        request: &Asked<M>,
        answers: &mut [Option<Answer<M::Reply>>],
    ) -> Vec<Numbered<M::Command>> {
        let look_ups: Vec<_> = commands
            .iter()
            .filter_map(|one| {
                Some(Numbered {
                    index: one.index,
                    command: M::look_up(&one.command)?,
                })
            })
            .collect();
        if look_ups.is_empty() {
            return commands;
        }
        let mut found: Vec<Option<Answer<M::Reply>>> = std::iter::repeat_with(|| None)
            .take(answers.len())
            .collect();
        let looking: Vec<u32> = look_ups.iter().map(|one| one.index).collect();
        self.ask(look_ups.into_iter(), request.clone(), &mut found)
            .await;
        let mut complete = Vec::with_capacity(commands.len());
        for Numbered { index, command } in commands {
            if !looking.contains(&index) {
                complete.push(Numbered { index, command });
                continue;
            }
            match found[index as usize].take() {
                Some(Answer::Decided(reply)) => match M::looked_up(command, reply) {
                    Ok(command) => complete.push(Numbered { index, command }),
                    Err(reply) => answers[index as usize] = Some(Answer::Decided(reply)),
                },
                other => answers[index as usize] = other,
            }
        }
        complete
    }

    /// Sends the commands to their shards and collects the answers.
    async fn ask(
        &self,
        commands: impl ExactSizeIterator<Item = Numbered<M::Command>>,
        asked: Asked<M>,
        answers: &mut [Option<Answer<M::Reply>>],
    ) {
        let Asked {
            policy,
            submitted,
            deadline,
            permit,
        } = asked;
        let mut open = commands.len();
        let (sender, mut receiver) = mpsc::channel(open);
        let shards = u16::try_from(self.entrance.shards.len()).expect("a node has few shards");
        {
            let sink = Arc::new(Channel {
                answers: sender,
                _permit: permit,
            });
            let request = Request {
                sink,
                policy,
                submitted,
                deadline,
                shards,
            };
            self.send(plan::<M>(&request, commands));
        }
        while open > 0 {
            // All senders gone with answers open: the node went down in between.
            let Some(some) = receiver.recv().await else {
                return;
            };
            for (index, answer) in some {
                open -= 1;
                answers[index as usize] = Some(answer);
            }
        }
    }

    fn send(&self, transactions: Vec<Box<crate::message::Transaction<M>>>) {
        let shards = &self.entrance.shards;
        let time = self.entrance.clock.now();
        let mut by_shard: Vec<Vec<_>> = std::iter::repeat_with(Vec::new)
            .take(shards.len())
            .collect();
        for transaction in transactions {
            let shard = transaction.places.first().map_or(0, |place| place.shard);
            by_shard[usize::from(shard)].push(transaction);
        }
        for (shard, transactions) in shards.iter().zip(by_shard) {
            if !transactions.is_empty() {
                let work = ShardMessage::Work {
                    time,
                    returns: Vec::new(),
                    transactions,
                };
                shard.do_send(Deliver(work));
            }
        }
    }
}

fn number<C>(commands: Vec<C>) -> impl ExactSizeIterator<Item = Numbered<C>> {
    let mut next = 0;
    commands.into_iter().map(move |command| {
        let index = next;
        next += 1;
        Numbered { index, command }
    })
}

const fn refusal(reached: OutOfCredits) -> Refused {
    match reached {
        OutOfCredits::Space => Refused::Busy { retry_after_s: 1 },
        OutOfCredits::Node => Refused::Overloaded { retry_after_s: 1 },
    }
}

/// A seed from the operating system.
pub(crate) fn random_seed() -> [u8; 32] {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).expect("the operating system has random bytes");
    seed
}
