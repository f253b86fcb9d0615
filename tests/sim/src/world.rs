//! A whole run: one seed, a node that is started again and again, and everything that is checked.
//!
//! Here: the state of a run and its steps. In `world/`: what goes through the node (`flow`), the
//! process's ends and starts (`life`), and moments of rest at which memory, log and model must
//! agree (`rest`). One thread, and each step draws from a seed of its own (`trace`): the same seed is
//! the same run, and a run without some of its steps is a run too.

mod flow;
mod life;
mod rest;

use std::any::Any;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use interlock_actors::bus::{NoticeReader, Notices};
use interlock_actors::clock::SKEW_MS_MAX;
use interlock_actors::message::{ShardMessage, Waiter};
use interlock_domain::key::SpaceId;
use interlock_domain::machine::Versioned;
use interlock_domain::time::Timestamp;
use interlock_storage::{Fault, FaultPlan, FaultyLog};

use crate::audit::{Reach, audit};
use crate::clock::Clocks;
use crate::journal::Journal;
use crate::machine::{Model, SimMachine, Ticket, Violation, violated};
use crate::node::{From, Node};
use crate::random::Random;
use crate::replay::Replay;
use crate::report::Report;
use crate::sink::{Left, Pile, Told};
use crate::swarm::{Faults, Habits, Step};
use crate::tap::Tap;
use crate::trace::{Choice, Choices};
use crate::tracker::Tracker;

/// Most shards a node has.
pub const SHARDS_MAX: u16 = 5;
/// Notices that may wait for their reader: all of a commit.
const NOTICES: usize = 4_096;
/// Steps between two lines of progress.
const PROGRESS_EVERY: u64 = 250_000;
/// Named instead of an invariant when something panicked.
pub const PANICKED: &str = "panic";

/// What a run is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The seed.
    pub seed: u64,
    /// How many steps.
    pub steps: u64,
    /// Shards of the first process; later ones have a number of their own.
    pub shards: u16,
    /// What may go wrong.
    pub faults: Faults,
}

/// How the next commit goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The disk fails.
    Disk(Fault),
    /// It lasts, and the process dies before anybody is told.
    Silent,
    /// It lasts, and the process dies between the notices and the answers of one of its frames.
    Between,
    /// The next truncation fails.
    Truncation,
}

/// See the module.
#[derive(Debug)]
pub struct World<M: SimMachine> {
    options: Options,
    habits: Habits,
    schedule: Random,
    asks: Random,
    clocks: Clocks,
    model: M::Model,
    spaces: Vec<SpaceId>,
    /// The newest rules of each space, and those before them.
    rules: BTreeMap<SpaceId, [Arc<M::Policy>; 2]>,
    disk: FaultyLog,
    tap: Arc<Tap>,
    node: Node<M>,
    journal: Journal<M>,
    replay: Replay<M>,
    tracker: Tracker<M::Reply>,
    answers: Pile<Left<M::Reply>>,
    notices: Notices<M::Notice>,
    noticed: NoticeReader<M::Notice>,
    told: Vec<Arc<Told>>,
    /// Commands that wait for their look-ups, by the look-up's ticket.
    looking: BTreeMap<Ticket, Looking<M>>,
    next_ticket: Ticket,
    next_request: u64,
    ending: Option<Ending>,
    turns: u64,
    choice: usize,
    report: Report,
}

/// A command that is complete when its look-up is answered.
#[derive(Debug)]
struct Looking<M: SimMachine> {
    ticket: Ticket,
    command: M::Command,
    policy: Arc<M::Policy>,
}

/// Runs one seed; tells the progress now and then.
///
/// # Errors
/// The violation, with the number of the step it was seen at.
pub fn run<M: SimMachine>(
    options: &Options,
    progress: &mut dyn FnMut(&Report),
) -> Result<Report, Failure> {
    follow::<M>(options, Choices::new(options), progress)
}

/// Runs these steps on what the seed makes.
///
/// # Errors
/// As [`run`].
pub fn follow<M: SimMachine>(
    options: &Options,
    choices: impl IntoIterator<Item = Choice>,
    progress: &mut dyn FnMut(&Report),
) -> Result<Report, Failure> {
    let mut world = World::<M>::new(options);
    let steps = AssertUnwindSafe(|| world.all_steps(choices, progress));
    let violation = match catch_unwind(steps) {
        Ok(Ok(())) => {
            world.report.seen = world.model.seen();
            return Ok(world.report);
        }
        Ok(Err(violation)) => violation,
        Err(payload) => Violation {
            invariant: PANICKED,
            seen: said(&*payload),
        },
    };
    Err(Failure {
        violation,
        step: world.report.steps,
        choice: world.choice,
    })
}

/// What a panic said.
fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "something that is no text".to_owned())
}

/// A run that went wrong.
#[derive(Debug)]
pub struct Failure {
    /// What was seen.
    pub violation: Violation,
    /// At which step, moments of rest not counted.
    pub step: u64,
    /// At which of the run's choices, from 0; those after it were not made.
    pub choice: usize,
}

impl<M: SimMachine> World<M> {
    fn new(options: &Options) -> Self {
        let mut random = Random::new(options.seed);
        let habits = Habits::new(&mut random.fork()).with(&options.faults);
        let mut asks = random.fork();
        let mut schedule = random.fork();
        let mut model = M::Model::new(&mut random.fork());
        let spaces = model.spaces();
        let rules = spaces.iter().map(|&space| {
            let policy = Arc::new(model.policy(space, 1, &mut asks));
            (space, [Arc::clone(&policy), policy])
        });
        let rules = rules.collect();
        let disk = FaultyLog::new(FaultPlan::calm(random.draw()));
        let replay = Replay::of(&disk).expect("an empty log is an empty memory");
        let answers = Pile::default();
        let tap = Arc::new(Tap::new(Arc::new(disk.clone()), answers.clone()));
        let notices = Notices::new(NOTICES);
        let noticed = notices.subscribe();
        let clocks = Clocks::new(usize::from(SHARDS_MAX), &habits, &mut schedule);
        let node = life::start(
            &life::Start {
                tap: &tap,
                spaces: &spaces,
                notices: &notices,
                habits: &habits,
                shards: options.shards,
            },
            &Journal::default(),
            &mut schedule,
        )
        .expect("an empty log is an empty memory");
        Self {
            options: options.clone(),
            clocks,
            habits,
            schedule,
            asks,
            model,
            spaces,
            rules,
            disk,
            tap,
            node,
            journal: Journal::default(),
            replay,
            tracker: Tracker::default(),
            answers,
            notices,
            noticed,
            told: Vec::new(),
            looking: BTreeMap::new(),
            next_ticket: 1,
            next_request: 1,
            ending: None,
            turns: 0,
            choice: 0,
            report: Report::default(),
        }
    }

    fn all_steps(
        &mut self,
        choices: impl IntoIterator<Item = Choice>,
        progress: &mut dyn FnMut(&Report),
    ) -> Result<(), Violation> {
        for (number, Choice { step, draw }) in choices.into_iter().enumerate() {
            self.choice = number;
            let mut random = Random::new(draw);
            self.asks = random.fork();
            self.schedule = random;
            if step == Step::Rest {
                self.rest()?;
                continue;
            }
            self.report.step(step);
            self.clocks.pass(&mut self.schedule);
            self.one_step(step)?;
            if self.report.steps.is_multiple_of(PROGRESS_EVERY) {
                progress(&self.report);
            }
        }
        Ok(())
    }

    fn one_step(&mut self, step: Step) -> Result<(), Violation> {
        match step {
            Step::Submit => self.submit(),
            Step::Deliver => {
                self.node.deliver(&mut self.schedule);
            }
            Step::Turn => {
                let shard = self.node.busy_shard(&mut self.schedule);
                self.turn(shard)?;
                self.turns += 1;
                let whole = self.turns.is_multiple_of(self.habits.audit_every);
                let reach = if whole { Reach::All } else { Reach::Away };
                audit(&self.node, &self.replay, reach)?;
            }
            Step::Commit => {
                self.look();
                self.commit()?;
            }
            Step::Keep => self.keep(),
            Step::Truncate => self.truncate()?,
            Step::Clock => {
                self.turn_clocks();
                self.look();
            }
            Step::Sweep => {
                let shard = self.schedule.index(self.node.shards.len());
                self.node.send(From::Keeper, shard, ShardMessage::Sweep);
            }
            Step::SweepAll => {
                let shard = self.schedule.index(self.node.shards.len());
                self.sweep_all(shard);
            }
            Step::Policy => self.new_rules(),
            Step::Leave => self.tracker.leave(&mut self.schedule),
            Step::Crash => self.crash(None)?,
            Step::Fault => {
                let endings = [
                    Ending::Disk(Fault::Full),
                    Ending::Disk(Fault::Landed),
                    Ending::Disk(Fault::Lost),
                    Ending::Disk(Fault::Torn),
                    Ending::Silent,
                    Ending::Between,
                    Ending::Truncation,
                ];
                self.ending = Some(self.schedule.pick(&endings));
            }
            Step::Room => self.turn_room(),
            Step::Rest => self.rest()?,
        }
        let early = self.answers.take();
        if early.is_empty() {
            return Ok(());
        }
        violated(
            "C6",
            format!("{} answers left outside a commit", early.len()),
        )
    }

    /// Clocks are turned or, in runs whose clocks may jump, nothing happens until something ends. In
    /// the others time goes on slowly, so that much is done within a window.
    fn turn_clocks(&mut self) {
        let mut end = None;
        if self.habits.jumps && self.schedule.chance(150) {
            let shards = self.node.shards.iter();
            let now = shards.map(|shard| shard.now()).max();
            let now = now.unwrap_or(Timestamp(0)).max(self.clocks.wall(0));
            end = self.model.end_to_come(now, &mut self.schedule);
        }
        match end {
            Some(end) => self.clocks.wait_until(end, &mut self.schedule),
            None => self.clocks.turn(&mut self.schedule),
        }
    }

    /// The committer's thread looks at the wall clock.
    fn look(&mut self) {
        let decided = self.node.shards.iter().map(|shard| shard.now()).max();
        let node = decided.unwrap_or(Timestamp(0)).max(self.node.floor);
        let suspect = self.clocks.skew_ms(node).abs() > SKEW_MS_MAX;
        let flag = &self.node.pressure.clock_suspect;
        flag.store(suspect, Ordering::Relaxed);
    }

    /// Memory or the disk reach their bound, or both are below it for a while.
    fn turn_room(&mut self) {
        let (full, low) =
            self.schedule
                .pick(&[(false, false), (false, false), (true, false), (false, true)]);
        self.node.pressure.full.store(full, Ordering::Relaxed);
        self.node.pressure.disk_low.store(low, Ordering::Relaxed);
    }

    fn sweep_all(&mut self, shard: usize) {
        let told = Arc::new(Told::default());
        self.told.push(Arc::clone(&told));
        let message = ShardMessage::SweepAll(Waiter(told));
        self.node.send(From::Keeper, shard, message);
    }

    /// A space gets new rules: shards learn them at different moments, and some clients go on with
    /// the old ones for a while.
    fn new_rules(&mut self) {
        let space = self.schedule.pick(&self.spaces);
        let Some([newest, before]) = self.rules.get_mut(&space) else {
            return;
        };
        let version = newest.version() + 1;
        let policy = Arc::new(self.model.policy(space, version, &mut self.asks));
        *before = std::mem::replace(newest, policy);
        let policy = Arc::clone(newest);
        self.node.broadcast(|| ShardMessage::Policy {
            space,
            policy: Arc::clone(&policy),
        });
    }

    /// Everybody who waited for a sweep was told, once.
    fn waiters_told(&mut self) -> Result<(), Violation> {
        for told in self.told.drain(..) {
            if !told.done.load(Ordering::Relaxed) || told.again.load(Ordering::Relaxed) {
                return violated("answers", format!("a sweep's waiter: {told:?}"));
            }
            self.report.sweeps += 1;
        }
        Ok(())
    }
}
