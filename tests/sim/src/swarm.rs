//! What a seed decides for a whole run: how often each step comes, which faults there are, how
//! small the bounds.
//!
//! A run in which everything happens hides what happens only when something does not (no
//! truncation, no sweeps, one hot entity), so each seed turns habits off and others up.

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
}

impl Step {
    /// All steps with their usual weight and whether a seed may turn them off.
    const ALL: [(Self, u64, bool); 13] = [
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
    ];
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
    /// Time between two rounds of snapshots.
    pub snapshot_interval_ms: u64,
    /// Steps between two moments of rest.
    pub rest_every: u64,
    /// Chance that a read or an acquisition fails while a process starts, in a million.
    pub start_faults: u32,
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
            snapshot_interval_ms: random.pick(&[0, 20, 1_000]),
            rest_every: random.pick(&[400, 1_500, 4_000]),
            start_faults: random.pick(&[0, 0, 20_000]),
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
