//! What a seed decides for a whole run: how often each step comes, which faults there are, how
//! small the bounds.
//!
//! A run in which everything happens hides what happens only when something does not (no
//! truncation, no sweeps, one hot entity), so each seed turns habits off and others up.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::conditions::Bounds;
use crate::random::Random;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A client asks.
    Submit,
    /// A message arrives.
    Deliver,
    /// A shard takes a turn.
    Turn,
    /// The committer writes a prefix of the frames.
    Commit,
    /// The keeper is asked for an order.
    Keep,
    /// The committer truncates.
    Truncate,
    /// Somebody turns a clock.
    Clock,
    /// A bounded sweep is asked for.
    Sweep,
    /// A sweep of everything is asked for.
    SweepAll,
    /// A space gets new rules.
    Policy,
    /// A client goes away.
    Leave,
    /// The process dies.
    Crash,
    /// The next commit fails.
    Fault,
    /// Memory or the disk reach their bound, or fall below it again.
    Room,
    /// Everything comes to rest and is compared.
    Rest,
}

impl Step {
    /// Every step and its name in a trace.
    pub const NAMES: [(Self, &'static str); 15] = [
        (Self::Submit, "submit"),
        (Self::Deliver, "deliver"),
        (Self::Turn, "turn"),
        (Self::Commit, "commit"),
        (Self::Keep, "keep"),
        (Self::Truncate, "truncate"),
        (Self::Clock, "clock"),
        (Self::Sweep, "sweep"),
        (Self::SweepAll, "sweep-all"),
        (Self::Policy, "policy"),
        (Self::Leave, "leave"),
        (Self::Crash, "crash"),
        (Self::Fault, "fault"),
        (Self::Room, "room"),
        (Self::Rest, "rest"),
    ];

    /// Its name in a trace.
    #[must_use]
    pub fn name(self) -> &'static str {
        let mut names = Self::NAMES.iter();
        let found = names.find(|(step, _)| *step == self);
        found.expect("every step has a name").1
    }

    /// The step of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        let mut names = Self::NAMES.iter();
        names.find(|(_, its)| *its == name).map(|(step, _)| *step)
    }

    /// What a seed draws from: all but the moments of rest, with their usual weight and
    /// whether a seed may turn them off.
    const ALL: [(Self, u64, bool); 14] = [
        (Self::Submit, 1_200, false),
        (Self::Deliver, 3_000, false),
        (Self::Turn, 3_000, false),
        (Self::Commit, 1_200, false),
        (Self::Keep, 600, true),
        (Self::Truncate, 200, true),
        (Self::Clock, 300, true),
        (Self::Sweep, 200, true),
        (Self::SweepAll, 10, true),
        (Self::Policy, 30, true),
        (Self::Leave, 40, true),
        (Self::Crash, 5, true),
        (Self::Fault, 3, true),
        (Self::Room, 15, true),
    ];
}

/// A kind of fault that a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weather {
    /// The process dies between any two steps.
    Crash,
    /// A commit is refused, or is found after the end of the process, or is not, or is torn, or
    /// lasts although nobody is told, or only some are; or a truncation fails.
    Commit,
    /// Reads and acquisitions fail while a process starts.
    Start,
    /// Wall clocks disagree and are turned, by hours and now and then by years.
    Clock,
    /// Clients go away, or give a short deadline.
    Client,
    /// Memory, the disk, a space or a source have as much as they may have.
    Full,
}

impl Weather {
    /// Each kind with its name on the command line.
    pub const NAMES: [(Self, &'static str); 6] = [
        (Self::Crash, "crash"),
        (Self::Commit, "commit"),
        (Self::Start, "start"),
        (Self::Clock, "clock"),
        (Self::Client, "client"),
        (Self::Full, "full"),
    ];
}

/// Which kinds of fault a run may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(BTreeSet<Weather>);

impl Faults {
    /// Every kind.
    #[must_use]
    pub fn all() -> Self {
        Self(Weather::NAMES.iter().map(|(kind, _)| *kind).collect())
    }

    /// May a run have these?
    #[must_use]
    pub fn has(&self, kind: Weather) -> bool {
        self.0.contains(&kind)
    }
}

impl FromStr for Faults {
    type Err = String;

    /// `all`, `none`, or names with commas between them.
    fn from_str(list: &str) -> Result<Self, String> {
        match list {
            "all" => return Ok(Self::all()),
            "none" => return Ok(Self(BTreeSet::new())),
            _ => {}
        }
        let kind = |name: &str| {
            let mut names = Weather::NAMES.iter();
            let found = names.find(|(_, its)| *its == name);
            found.map(|(kind, _)| *kind).ok_or_else(|| {
                let known: Vec<&str> = Weather::NAMES.iter().map(|(_, name)| *name).collect();
                format!(
                    "{name} is no kind of fault: all, none, {}",
                    known.join(", ")
                )
            })
        };
        list.split(',')
            .map(kind)
            .collect::<Result<_, _>>()
            .map(Self)
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::all() {
            return f.write_str("all");
        }
        let names = Weather::NAMES.iter().filter(|(kind, _)| self.has(*kind));
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        f.write_str(if names.is_empty() { "none" } else { "" })?;
        f.write_str(&names.join(","))
    }
}

/// The habits of one run.
#[derive(Clone, Debug)]
pub struct Habits {
    weights: Vec<u64>,
    /// Largest request.
    pub commands_max: u64,
    /// Commands on their way before clients wait.
    pub in_flight_max: u64,
    /// Chance of a short deadline, in a thousand.
    pub short_deadline: u64,
    /// Largest turn.
    pub turn_max: u64,
    /// Bound of an entity's queue.
    pub queue_max: usize,
    /// Largest slice of a snapshot.
    pub slice_max: u64,
    /// Largest sweep.
    pub sweep_max: u64,
    /// How far the wall clocks may be apart.
    pub skew_max_ms: u64,
    /// May a clock jump by hours?
    pub jumps: bool,
    /// May it jump by years?
    pub years: bool,
    /// Turns of a shard between two audits of everything; what is away is audited after each.
    pub audit_every: u64,
    /// Time between two rounds of snapshots.
    pub snapshot_interval_ms: u64,
    /// Steps between two moments of rest.
    pub rest_every: u64,
    /// Chance that a read or an acquisition fails while a process starts, in a million.
    pub start_faults: u32,
    /// May a wall clock be turned away from node time?
    pub strays: bool,
    /// A shard's share of a space's entities, in the lives that have a bound.
    pub entities_max: i64,
    /// A shard's share of a source's receipts, in the lives that have a bound.
    pub part_max: i64,
}

impl Habits {
    /// The habits of a seed.
    #[must_use]
    pub fn new(random: &mut Random) -> Self {
        let weights = Step::ALL
            .iter()
            .map(|&(_, weight, may_be_off)| {
                let scale = random.pick(if may_be_off {
                    &[0, 1, 2, 2, 3, 6][..]
                } else {
                    &[1, 2, 2, 4][..]
                });
                weight * scale
            })
            .collect();
        Self {
            weights,
            commands_max: random.pick(&[1, 2, 8, 8]),
            in_flight_max: random.pick(&[4, 30, 60, 200]),
            short_deadline: random.pick(&[0, 0, 20, 200]),
            turn_max: random.pick(&[1, 4, 32, 128]),
            queue_max: random.pick(&[1, 4, 10_000, 10_000]),
            slice_max: random.pick(&[1, 3, 20]),
            sweep_max: random.pick(&[1, 10, 1_000]),
            skew_max_ms: random.pick(&[0, 40, 1_500, 100_000]),
            jumps: random.chance(500),
            years: random.chance(100),
            audit_every: random.pick(&[1, 8, 64]),
            snapshot_interval_ms: random.pick(&[0, 20, 1_000]),
            rest_every: random.pick(&[400, 1_500, 4_000]),
            start_faults: random.pick(&[0, 0, 20_000]),
            strays: random.chance(500),
            entities_max: random.pick(&[Bounds::NONE, Bounds::NONE, Bounds::NONE, 10, 40]),
            part_max: random.pick(&[Bounds::NONE, Bounds::NONE, 2, 10]),
        }
    }

    /// The same habits with no other kinds of fault than these.
    #[must_use]
    pub fn with(mut self, faults: &Faults) -> Self {
        if !faults.has(Weather::Crash) {
            self.turn_off(Step::Crash);
        }
        if !faults.has(Weather::Commit) {
            self.turn_off(Step::Fault);
        }
        if !faults.has(Weather::Start) {
            self.start_faults = 0;
        }
        if !faults.has(Weather::Clock) {
            (self.jumps, self.years, self.strays) = (false, false, false);
            self.skew_max_ms = 0;
        }
        if !faults.has(Weather::Client) {
            self.turn_off(Step::Leave);
            self.short_deadline = 0;
        }
        if !faults.has(Weather::Full) {
            self.turn_off(Step::Room);
            (self.entities_max, self.part_max) = (Bounds::NONE, Bounds::NONE);
        }
        self
    }

    fn turn_off(&mut self, off: Step) {
        for (&(step, ..), weight) in Step::ALL.iter().zip(&mut self.weights) {
            if step == off {
                *weight = 0;
            }
        }
    }

    /// What happens next.
    pub fn step(&self, random: &mut Random) -> Step {
        Step::ALL[random.weighted(&self.weights)].0
    }

    /// Does this run ever truncate its journal?
    #[must_use]
    pub fn truncates(&self) -> bool {
        Step::ALL
            .iter()
            .zip(&self.weights)
            .any(|(&(step, ..), &weight)| step == Step::Truncate && weight > 0)
    }
}
