//! Wall clocks that disagree: one for each shard, skewed, stepping back and forth, and one
//! monotonic clock for all.
//!
//! They jump by hours, and rarely by years, while a process runs and while none does; and now and then
//! all stand for a moment at one instant, the one at which something ends.
//!
//! A real node hands all shards one time; here they differ, so that only what travels with the
//! messages can keep a decision from being earlier than its entities.

use interlock_actors::message::Monotonic;
use interlock_domain::time::Timestamp;

use crate::random::Random;
use crate::swarm::Habits;

/// The first instant of most runs: 2026-01-01T00:00:00Z.
const START_MS: i64 = 1_767_225_600_000;
/// Changes of summer time that other runs begin a little before: New York's and Berlin's of 2026.
const CHANGES_MS: [i64; 4] = [
    1_772_953_200_000,
    1_774_746_000_000,
    1_792_890_000_000,
    1_793_512_800_000,
];
const HOUR_MS: i64 = 3_600_000;
/// The monotonic clock goes on by no more than this where the others are set to an instant.
const IDLE_MAX_MS: i64 = 3_000;

/// The clocks of a run.
#[derive(Debug)]
pub struct Clocks {
    base_ms: i64,
    skews_ms: Vec<i64>,
    skew_max_ms: u64,
    jumps: bool,
    years: bool,
    /// The latest that `base_ms` ever was.
    latest_ms: i64,
    strays: bool,
    /// How far the machine's wall clock was turned away from node time, which does not follow it.
    stray_ms: i64,
    /// What an operator accepted node time to be ahead of the wall clock at the last start.
    accepted_ms: i64,
    /// Steps for which the wall clocks stand.
    stands: u64,
    mono: Monotonic,
}

impl Clocks {
    /// Clocks for at most `shards` shards, with the habits of a run.
    #[must_use]
    pub fn new(shards: usize, habits: &Habits, random: &mut Random) -> Self {
        let mut start = START_MS;
        if random.chance(400) {
            let ahead = random.pick(&[30_000, 200_000, 20 * HOUR_MS]);
            start = random.pick(&CHANGES_MS) - signed(random.below(ahead.unsigned_abs()));
        }
        Self {
            base_ms: start,
            skews_ms: vec![0; shards],
            skew_max_ms: habits.skew_max_ms,
            jumps: habits.jumps,
            years: habits.years,
            latest_ms: start,
            strays: habits.strays,
            stray_ms: 0,
            accepted_ms: 0,
            stands: 0,
            mono: Monotonic(1),
        }
    }

    /// A moment passes.
    pub fn pass(&mut self, random: &mut Random) {
        let nanoseconds = random.below(4_000_000);
        self.mono.0 += nanoseconds;
        match self.stands.checked_sub(1) {
            Some(left) => self.stands = left,
            None => self.step(signed(nanoseconds / 1_000_000)),
        }
    }

    /// Nothing happens until an instant to come. All wall clocks agree on it, and stand there until a
    /// few commands were decided at it.
    pub fn wait_until(&mut self, instant: Timestamp, random: &mut Random) {
        let idle = instant.0.saturating_sub(self.base_ms);
        self.mono.0 += u64::try_from(idle.clamp(0, IDLE_MAX_MS)).unwrap_or(0) * 1_000_000;
        self.skews_ms.fill(0);
        self.step(idle);
        self.stands = random.range(20..=80);
    }

    /// Somebody turns a clock.
    pub fn turn(&mut self, random: &mut Random) {
        if self.strays && random.chance(150) {
            return self.stray(random);
        }
        match random.below(8) {
            // All of them a little, as when nothing happens for a while.
            0..3 => {
                let idle = random.range(1..=3_000);
                self.mono.0 += idle * 1_000_000;
                self.step(signed(idle));
            }
            3 => self.jump(random),
            // One of them, forth or back.
            _ => {
                let at = random.index(self.skews_ms.len());
                let skew = random.below(self.skew_max_ms + 1);
                self.skews_ms[at] = signed(skew);
            }
        }
    }

    /// All wall clocks are set by hours forth or back, or by years; the monotonic one goes on.
    pub fn jump(&mut self, random: &mut Random) {
        if !self.jumps {
            return;
        }
        if self.years && random.chance(10) {
            let days = signed(random.range(300..=1_100));
            self.step(if random.chance(500) { days } else { -days } * 24 * HOUR_MS);
            return;
        }
        let hours = signed(random.range(1..=20));
        // Back is the rarer: node time then stands still for hours.
        self.step(if random.chance(800) { hours } else { -hours } * HOUR_MS);
    }

    /// The wall clock of the machine is turned, or set right again. A running node does not follow it:
    /// it follows what is small, and a large step makes it suspect.
    fn stray(&mut self, random: &mut Random) {
        let most = random.pick(&[0, 0, 0, 2_000, 2_010, 4_000, 20 * HOUR_MS]);
        let by = if most < HOUR_MS {
            most
        } else {
            most - signed(random.below(3_600_000))
        };
        self.stray_ms = if random.chance(500) { by } else { -by };
    }

    /// How far the machine's wall clock is from node time, whose shards have decided up to `node`.
    #[must_use]
    pub fn skew_ms(&self, node: Timestamp) -> i64 {
        self.base_ms + self.stray_ms + self.accepted_ms - self.base_ms.max(node.0)
    }

    /// A process starts behind a log whose last record is of `last`. It takes a wall clock that is ahead,
    /// and goes on from the last record where that is behind, as an operator lets it.
    pub fn begin(&mut self, last: Timestamp) {
        let ahead = std::mem::take(&mut self.stray_ms).max(0);
        self.step(ahead);
        self.accepted_ms = (last.0 - self.base_ms).max(0);
    }

    fn step(&mut self, by_ms: i64) {
        self.base_ms += by_ms;
        self.latest_ms = self.latest_ms.max(self.base_ms);
    }

    /// What a shard's wall clock shows.
    #[must_use]
    pub fn wall(&self, shard: usize) -> Timestamp {
        Timestamp(self.base_ms + self.skews_ms[shard % self.skews_ms.len()])
    }

    /// No shard's wall clock has ever shown a later time.
    #[must_use]
    pub fn latest(&self) -> Timestamp {
        Timestamp(self.latest_ms + signed(self.skew_max_ms))
    }

    /// The monotonic clock.
    #[must_use]
    pub const fn mono(&self) -> Monotonic {
        self.mono
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).expect("a bounded number")
}
