//! What goes through a node: requests, turns, commits, answers, snapshots.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use interlock_actors::keeper::Order;
use interlock_actors::message::{Answer, Frame, Monotonic, ShardMessage};
use interlock_actors::placement::shard_of;
use interlock_actors::plan::{Numbered, Request, plan};
use interlock_actors::record;
use interlock_domain::machine::{Machine, Undecided};
use interlock_domain::time::Timestamp;
use interlock_storage::{Commit, FaultPlan, Log};
use tokio::sync::broadcast::error::TryRecvError;

use super::{Ending, Looking, World};
use crate::conditions::{Conditions, Framed, of_answers};
use crate::machine::{Ask, Given, Model, SimMachine, Ticket, Violation, violated};
use crate::node::From;
use crate::replay::{Owed, address};
use crate::sink::Client;

impl<M: SimMachine> World<M> {
    /// A client asks for one or more things at once.
    pub(super) fn submit(&mut self) {
        if self.tracker.open() as u64 >= self.habits.in_flight_max {
            return;
        }
        let space = self.asks.pick(&self.spaces);
        let which = usize::from(self.asks.chance(100));
        let policy = Arc::clone(&self.rules[&space][which]);
        let first = self.next_ticket;
        let count = self.asks.range(1..=self.habits.commands_max);
        let now = self.clocks.wall(0);
        let commands: Vec<M::Command> = (first..first + count)
            .map(|ticket| {
                let ask = Ask {
                    space,
                    policy: &*policy,
                    ticket,
                    now,
                };
                self.model.ask(&ask, &mut self.asks)
            })
            .collect();
        self.next_ticket += count;
        let mut direct = Vec::new();
        for (ticket, command) in (first..).zip(commands) {
            match M::look_up(&command) {
                None => direct.push((ticket, command)),
                Some(look_up) => {
                    let number = self.next_ticket;
                    self.next_ticket += 1;
                    let looking = Looking {
                        ticket,
                        command,
                        policy: Arc::clone(&policy),
                    };
                    self.looking.insert(number, looking);
                    self.send(&policy, vec![(number, look_up)]);
                }
            }
        }
        if !direct.is_empty() {
            self.send(&policy, direct);
        }
    }

    /// One request sets out.
    fn send(&mut self, policy: &Arc<M::Policy>, commands: Vec<(Ticket, M::Command)>) {
        let client = Arc::new(Client {
            request: self.next_request,
            pile: self.answers.clone(),
            gone: AtomicBool::new(false),
        });
        self.next_request += 1;
        let keys = commands.iter();
        let keys = keys.map(|(ticket, command)| (*ticket, M::keys(command)));
        let deadline = self.deadline();
        self.tracker
            .asked(Arc::clone(&client), deadline, keys.collect());
        let request = Request {
            sink: client,
            policy: Arc::clone(policy),
            submitted: self.clocks.mono(),
            deadline,
            shards: self.node.count(),
        };
        let (tickets, commands): (Vec<_>, Vec<_>) = commands.into_iter().unzip();
        let numbered = (0..).zip(commands);
        let numbered = numbered.map(|(index, command)| Numbered { index, command });
        self.route(&tickets, &request, numbered.collect());
    }

    fn route(
        &mut self,
        tickets: &[Ticket],
        request: &Request<M>,
        commands: Vec<Numbered<M::Command>>,
    ) {
        for transaction in plan(request, commands.into_iter()) {
            let mut to = 0;
            if let Some(place) = transaction.places.first() {
                to = usize::from(place.shard);
                for item in &transaction.items {
                    let ticket = tickets[item.index as usize];
                    // On one shard what travels together need not share an entity.
                    let own = item.places.first().filter(|_| self.node.count() == 1);
                    let leads = own.map_or(place, |&at| &transaction.places[usize::from(at)]);
                    self.tracker.leads(ticket, leads.key);
                }
            }
            let message = ShardMessage::Work {
                // The harshest router: one that knows no time.
                time: Timestamp(0),
                returns: Vec::new(),
                transactions: vec![transaction],
            };
            self.node.send(From::Router, to, message);
        }
    }

    /// A look-up was answered: its command is completed and sets out, as the node's handle has it.
    fn looked_up(
        &mut self,
        looking: Looking<M>,
        answer: Answer<M::Reply>,
        given: &Given<'_>,
    ) -> Result<(), Violation> {
        let Looking {
            ticket,
            command,
            policy,
        } = looking;
        let found = match answer {
            Answer::Decided(found) => found,
            other @ (Answer::NotDecided(_)
            | Answer::Instead(_)
            | Answer::Broken
            | Answer::Busy
            | Answer::Unavailable) => return self.model.answered(ticket, &other, given),
        };
        self.model.looked_up(ticket, &found, given.latest)?;
        match M::looked_up(command, found) {
            Ok(command) => {
                self.model.completed(ticket, &command);
                self.send(&policy, vec![(ticket, command)]);
                Ok(())
            }
            Err(reply) => {
                let answer = Answer::Decided(reply);
                self.model.answered(ticket, &answer, given)
            }
        }
    }

    fn deadline(&mut self) -> Monotonic {
        if self.schedule.chance(self.habits.short_deadline) {
            return Monotonic(self.clocks.mono().0 + self.schedule.below(50_000_000));
        }
        Monotonic(u64::MAX)
    }

    /// One shard takes a turn.
    pub(super) fn turn(&mut self, shard: usize) -> Result<(), Violation> {
        let before = self.node.shards[shard].now();
        let wall = self.clocks.wall(shard);
        self.node.under_way = self.tracker.open();
        if self.node.turn(shard, wall, self.clocks.mono())
            && let Some(frame) = self.node.frames.back()
        {
            self.replay.turn(frame, &self.node)?;
        }
        let after = self.node.shards[shard].now();
        if after < before {
            return violated("time", format!("shard {shard} went back from {before:?}"));
        }
        Ok(())
    }

    /// The committer writes some of the frames that wait, the oldest first.
    pub(super) fn commit(&mut self) -> Result<(), Violation> {
        if self.node.frames.is_empty() {
            return Ok(());
        }
        let count = 1 + self.schedule.index(self.node.frames.len());
        self.commit_frames(count)
    }

    /// The committer writes this many frames.
    pub(super) fn commit_frames(&mut self, count: usize) -> Result<(), Violation> {
        let frames: Vec<Frame<M>> = self.node.frames.drain(..count).collect();
        let conditions = self.node.conditions.drain(..count);
        let framed = frames.iter().zip(conditions).map(framed);
        let framed = framed.collect::<Result<Vec<_>, _>>()?;
        let mut ending = None;
        if !frames.iter().all(Frame::writes_nothing) {
            ending = self.ending.take_if(|ending| *ending != Ending::Truncation);
        }
        if let Some(Ending::Disk(fault)) = ending {
            self.disk.script(fault);
        }
        let owed = Owed::of(&frames);
        let result = self.node.committer.commit(frames, self.clocks.mono());
        let mut uncertain = None;
        let asked = self.tap.take();
        owed.asked(asked.first().map(|tapped| &tapped.commit))?;
        for tapped in asked {
            if tapped.left_before > 0 {
                let seen = format!("answers left before the sync: {}", tapped.left_before);
                return violated("C6", seen);
            }
            if tapped.landed {
                self.landed(&tapped.commit, &framed)?;
            } else {
                uncertain = Some((tapped.commit, framed.clone()));
            }
        }
        if ending == Some(Ending::Silent) {
            return self.dies_silently();
        }
        if ending == Some(Ending::Between) {
            return self.dies_between(&framed);
        }
        self.announce(usize::MAX)?;
        self.release(Some(&owed), result.is_err(), &framed)?;
        if result.is_ok() {
            return Ok(());
        }
        self.report.faults += 1;
        self.crash(uncertain)
    }

    /// The process dies between the notices and the answers of a frame: those of the frames before it
    /// have left.
    fn dies_between(&mut self, frames: &[Framed]) -> Result<(), Violation> {
        self.report.between += 1;
        let at = self.schedule.index(frames.len());
        let notices = frames[..=at].iter().map(|frame| frame.notices).sum();
        let answers = frames[..at].iter().map(|frame| frame.answers).sum();
        self.announce(notices)?;
        while self.noticed.try_recv().is_ok() {}
        let mut left = self.answers.take();
        left.truncate(answers);
        left.into_iter().for_each(|one| self.answers.push(one));
        self.release(None, false, frames)?;
        self.crash(None)
    }

    /// The process dies after the sync and before anything of the commit has left.
    fn dies_silently(&mut self) -> Result<(), Violation> {
        self.report.silent += 1;
        drop(self.answers.take());
        while self.noticed.try_recv().is_ok() {}
        self.crash(None)
    }

    /// A commit is in the log: the journal and the model learn what it holds.
    pub(super) fn landed(&mut self, commit: &Commit, frames: &[Framed]) -> Result<(), Violation> {
        self.report.commits += 1;
        for append in &commit.appends {
            self.report.mix(&append.records);
            for record in self.journal.decode(append, frames)? {
                self.report.records += 1;
                let ticket = record.note.as_ref().and_then(M::Model::ticket);
                if let Some(ticket) = ticket {
                    for key in self.tracker.written(ticket)? {
                        let last = self.journal.time(key);
                        if record.time < last {
                            let seen = format!("command {ticket} was decided before {key:?}");
                            return violated("time", seen);
                        }
                    }
                }
                self.journal.take(append, &record)?;
                self.model.written(&record)?;
            }
        }
        self.report.slices += commit.slices.len() as u64;
        self.report.seals += commit.seals.len() as u64;
        Ok(())
    }

    /// May a command have been left undecided, as far as the world can know? It may be late only when
    /// its deadline is over, and is decided only while it is not. A queue is full only where it has a
    /// bound that the commands under way can reach, and of an entity that is away.
    fn may_be(&mut self, answer: &Answer<M::Reply>, given: &Given<'_>) -> Result<(), Violation> {
        let fine = match answer {
            Answer::Busy => {
                // Who has the entity waits for nobody, and another is turned away.
                let under_way = given.conditions.under_way;
                under_way > self.habits.queue_max
                    && given.conditions.lending
                    && self.node.count() > 1
                    && !given.late
            }
            Answer::NotDecided(why) => *why == Undecided::Deadline && given.late,
            Answer::Broken => !given.late,
            Answer::Instead(_) => given.late,
            Answer::Decided(_) | Answer::Unavailable => true,
        };
        if fine {
            return Ok(());
        }
        violated("answers", format!("{answer:?} under {given:?}"))
    }

    /// At most so many notices are read.
    fn announce(&mut self, most: usize) -> Result<(), Violation> {
        for _ in 0..most {
            match self.noticed.try_recv() {
                Ok(one) => self.model.noticed(one.group, one.sequence, &one.notice)?,
                Err(TryRecvError::Empty | TryRecvError::Closed) => return Ok(()),
                Err(TryRecvError::Lagged(missed)) => {
                    return violated("answers", format!("{missed} notices in one commit"));
                }
            }
        }
        Ok(())
    }

    /// What the commit of these frames released; all that is owed, where it is known.
    fn release(
        &mut self,
        owed: Option<&Owed>,
        failed: bool,
        frames: &[Framed],
    ) -> Result<(), Violation> {
        let answers = self.answers.take();
        let left = answers.iter().map(|(request, index, _)| {
            let client = self.tracker.client(*request);
            (client.map_or(std::ptr::null(), address), *index)
        });
        if let Some(owed) = owed {
            owed.left(&left.collect::<Vec<_>>())?;
        }
        let mut conditions = of_answers(frames);
        for (request, index, answer) in answers {
            let Some(conditions) = conditions.next() else {
                return violated("answers", "more answers than their frames have");
            };
            let (ticket, deadline) = self.tracker.answered(request, index)?;
            let unavailable = matches!(answer, Answer::Unavailable);
            if failed != unavailable {
                let seen = format!("command {ticket}: {answer:?} by a commit (failed: {failed})");
                return violated("C6", seen);
            }
            if !failed {
                self.report.answers += 1;
                self.report.answer(&answer);
                let given = Given {
                    latest: self.clocks.latest(),
                    conditions,
                    late: conditions.mono > deadline,
                };
                self.may_be(&answer, &given)?;
                if let Some(looking) = self.looking.remove(&ticket) {
                    self.looked_up(looking, answer, &given)?;
                    continue;
                }
                self.model.answered(ticket, &answer, &given)?;
            }
        }
        Ok(())
    }

    /// The keeper says what to snapshot next.
    pub(super) fn keep(&mut self) {
        let size = self.disk.journal_size();
        let now = self.clocks.mono();
        let Some(order) = self.node.committer.keeper().poll(now, size) else {
            return;
        };
        let (partition, message) = match order {
            Order::Begin {
                partition,
                snapshot,
                position,
            } => (
                partition,
                ShardMessage::SnapshotBegin {
                    partition,
                    snapshot,
                    position,
                },
            ),
            Order::Slice(partition) => (partition, ShardMessage::SnapshotSlice(partition)),
        };
        let to = usize::from(shard_of(partition, self.node.count()));
        self.node.send(From::Keeper, to, message);
    }

    /// Journal and old snapshots give way, some of them.
    pub(super) fn truncate(&mut self) -> Result<(), Violation> {
        let limit = 1 + self.schedule.index(40);
        if !self.node.committer.keeper().truncation_due() {
            return Ok(());
        }
        self.report.truncations += 1;
        let fails = self.ending.take_if(|ending| *ending == Ending::Truncation);
        if fails.is_none() {
            self.node.committer.truncate(limit)?;
            return Ok(());
        }
        self.disk.set_plan(FaultPlan {
            write: 1_000_000,
            ..FaultPlan::calm(0)
        });
        if self.node.committer.truncate(limit).is_ok() {
            return violated("C6", "a truncation that the disk refused went well");
        }
        self.report.failed_truncations += 1;
        self.crash(None)
    }
}

/// What a frame holds.
fn framed<M: Machine>(
    (frame, conditions): (&Frame<M>, Arc<Conditions>),
) -> Result<Framed, Violation> {
    let mut records = Vec::new();
    for of_group in &frame.groups {
        let mut count = 0;
        record::visit::<M>(&of_group.bytes, &mut |_| {
            count += 1;
            Ok(())
        })?;
        records.push((of_group.group, count));
    }
    Ok(Framed {
        conditions,
        records,
        notices: frame.notices.len(),
        answers: frame.replies.iter().map(|held| held.answers.len()).sum(),
    })
}
