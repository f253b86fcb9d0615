//! When requests start. In an open loop they have their times, whatever the answers do: arrival `n`
//! belongs to no connection, and whichever is free takes the next one and waits for its time. A
//! connection that hangs on a slow answer so holds up one arrival and not every so many-th. When all
//! are busy, arrivals wait, and their waiting is part of their latency. In a closed loop a request
//! starts when the connection is free.
//!
//! What nobody could start before the end is counted here. There is no queue: an arrival is a number.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::interrupt;

/// How an open loop's rate goes up and down: equal parts of its time, their mean is 1.
pub(crate) type Profile = &'static [f64];

/// The same all the time.
pub(crate) const STEADY: Profile = &[1.0];

/// How often the waiting of unsent arrivals is noted down at most; each then stands for several.
const UNSENT_NOTES_MAX: u64 = 10_000;

/// Open or closed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pace {
    /// As soon as the last one is answered.
    Closed,
    /// So many requests a second on average.
    Open {
        /// Requests a second.
        per_second: f64,
        /// How the rate goes over the run's whole time.
        profile: Profile,
    },
}

/// The arrivals of one run, shared by its connections.
#[derive(Debug)]
pub(crate) struct Arrivals {
    start: Instant,
    end: Instant,
    pace: Pace,
    /// The most there are, where it is not time that ends them.
    limit: Option<u64>,
    taken: AtomicU64,
}

impl Arrivals {
    /// Between two moments, and not more than a limit.
    pub(crate) const fn new(pace: Pace, start: Instant, end: Instant, limit: Option<u64>) -> Self {
        Self {
            start,
            end,
            pace,
            limit,
            taken: AtomicU64::new(0),
        }
    }

    /// Waits for the next arrival; the moment it counts from, or `None` at the end.
    pub(crate) fn next(&self) -> Option<Instant> {
        let now = Instant::now();
        if now >= self.end || interrupt::asked() {
            return None;
        }
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        if self.limit.is_some_and(|limit| number >= limit) {
            return None;
        }
        if self.pace == Pace::Closed {
            return Some(now);
        }
        let intended = self.at(number);
        // Also when there is none before the end: the run lasts as long as it was asked to.
        let due = intended.min(self.end);
        interrupt::sleep_until(due);
        (intended < self.end && !interrupt::asked()).then_some(intended)
    }

    /// How long arrivals that nobody took had waited at the end, each with how many it stands for.
    pub(crate) fn unsent(&self) -> Vec<(Duration, u64)> {
        let Pace::Open { per_second, .. } = self.pace else {
            return Vec::new();
        };
        let length = (self.end - self.start).as_secs_f64();
        let due = ((length * per_second).ceil() as u64).min(self.limit.unwrap_or(u64::MAX));
        let taken = self.taken.load(Ordering::Relaxed);
        let step = (due.saturating_sub(taken) / UNSENT_NOTES_MAX).max(1);
        let mut waits = Vec::new();
        for first in (taken..due).step_by(step as usize) {
            let wait = self.end.saturating_duration_since(self.at(first));
            waits.push((wait, step.min(due - first)));
        }
        waits
    }

    /// When arrival `number` is due.
    fn at(&self, number: u64) -> Instant {
        let Pace::Open {
            per_second,
            profile,
        } = self.pace
        else {
            return self.start;
        };
        let part_s = (self.end - self.start).as_secs_f64() / profile.len() as f64;
        let mut left = number as f64;
        let mut at_s = 0.0;
        for share in profile {
            let rate = per_second * share;
            if left < rate * part_s {
                return self.start + Duration::from_secs_f64(at_s + left / rate);
            }
            left -= rate * part_s;
            at_s += part_s;
        }
        self.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(rate: f64, profile: Profile, start: Instant, length: Duration) -> Arrivals {
        let pace = Pace::Open {
            per_second: rate,
            profile,
        };
        Arrivals::new(pace, start, start + length, None)
    }

    #[test]
    fn arrivals_keep_their_times_and_what_nobody_took_is_known() {
        let start = Instant::now() - Duration::from_millis(25);
        let arrivals = open(100.0, STEADY, start, Duration::from_secs(60));
        let every = Duration::from_millis(10);
        assert_eq!(arrivals.next(), Some(start));
        assert_eq!(arrivals.next(), Some(start + every));
        let ended = open(
            100.0,
            STEADY,
            start - every * 10,
            Duration::from_millis(100),
        );
        assert_eq!(ended.next(), None);
        let waits = ended.unsent();
        assert_eq!(waits.len(), 10);
        assert_eq!(waits[0], (Duration::from_millis(100), 1));
        assert_eq!(waits[9], (every, 1));
        let closed = Arrivals::new(Pace::Closed, start, start + every, None);
        assert_eq!((closed.next(), closed.unsent().len()), (None, 0));
        let later = Instant::now() + Duration::from_secs(60);
        let two = Arrivals::new(Pace::Closed, start, later, Some(2));
        assert!(two.next().is_some() && two.next().is_some());
        assert_eq!(two.next(), None);
    }

    #[test]
    fn notes_of_what_was_unsent_are_bounded() {
        let arrivals = open(1e9, STEADY, Instant::now(), Duration::from_secs(3600));
        let waits = arrivals.unsent();
        assert!(waits.len() <= 10_001, "{}", waits.len());
        let all: u64 = waits.iter().map(|(_, count)| count).sum();
        assert_eq!(all, 3_600_000_000_000);
    }

    #[test]
    fn a_rate_may_go_up_and_down() {
        let start = Instant::now();
        let arrivals = open(10.0, &[0.5, 1.5], start, Duration::from_secs(2));
        let at = |number| (arrivals.at(number) - start).as_secs_f64();
        assert!((at(1) - 0.2).abs() < 1e-6);
        assert!((at(5) - 1.0).abs() < 1e-6);
        assert!((at(6) - (1.0 + 1.0 / 15.0)).abs() < 1e-6);
        assert_eq!(arrivals.at(20), arrivals.end);
    }
}
