//! How many commands a key may send.
//!
//! Here: one number a key, the time at which what it sent will have been paid for at its rate, and
//! the refusal of what runs too far ahead of it. A check counts one command, a batch as many as it
//! has checks. Not here: the bounds on what is inside the node at once (`actors`), which hold
//! whatever a key's rate. Called by [`extract`](crate::extract) and by the batch.
//!
//! The time is the monotonic clock's, also where a test moves the node's. Only keys that the
//! directory knows get a number, so there are never more numbers than there were keys.

use std::fmt;

use dashmap::DashMap;
use interlock_wire::problem::Code;

use crate::directory::KeyDigest;
use crate::limits::ApiLimits;
use crate::metrics;
use crate::problem::Failure;
use crate::stopwatch::Stopwatch;

const NANOSECONDS: u64 = 1_000_000_000;

/// The rates of all keys. Shared by all workers.
pub struct Rates {
    /// Commands a second; 0 refuses nobody.
    per_s: u64,
    /// How far a key may be ahead of its rate, in nanoseconds.
    ahead_ns_max: u64,
    since: Stopwatch,
    /// By key: until when it has sent its share, in nanoseconds of `since`.
    paid_until_ns: DashMap<KeyDigest, u64>,
}

impl fmt::Debug for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rates")
            .field("per_s", &self.per_s)
            .field("ahead_ns_max", &self.ahead_ns_max)
            .finish_non_exhaustive()
    }
}

impl Rates {
    /// Every key begins with its whole burst.
    #[must_use]
    pub fn new(limits: &ApiLimits) -> Self {
        Self {
            per_s: limits.commands_per_key_per_s.into(),
            ahead_ns_max: u64::from(limits.burst_per_key_s) * NANOSECONDS,
            since: Stopwatch::start(),
            paid_until_ns: DashMap::new(),
        }
    }

    /// Takes so many commands of the key's rate.
    ///
    /// # Errors
    /// 429 with the whole seconds until as many will go; then nothing is taken.
    pub fn take(&self, key: KeyDigest, commands: usize) -> Result<(), Failure> {
        self.ask(key, commands, true)
    }

    /// Whether a command of the key would go now. Takes nothing.
    ///
    /// # Errors
    /// 429, as [`Self::take`].
    pub fn look(&self, key: KeyDigest) -> Result<(), Failure> {
        self.ask(key, 1, false)
    }

    fn ask(&self, key: KeyDigest, commands: usize, take: bool) -> Result<(), Failure> {
        if self.per_s == 0 {
            return Ok(());
        }
        let now_ns = u64::try_from(self.since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut paid_until_ns = self.paid_until_ns.entry(key).or_insert(0);
        match self.paid_after(*paid_until_ns, now_ns, commands) {
            Ok(paid_after_ns) => {
                if take {
                    *paid_until_ns = paid_after_ns;
                }
                Ok(())
            }
            Err(wait_ns) => {
                metrics::rate_limited();
                Err(self.refusal(wait_ns))
            }
        }
    }

    /// Until when the key has sent its share with these commands, or how long they have to wait.
    ///
    /// What is larger than a whole burst goes when nothing is ahead, and is waited for afterwards;
    /// otherwise no wait would be long enough for it.
    fn paid_after(&self, paid_until_ns: u64, now_ns: u64, commands: usize) -> Result<u64, u64> {
        let commands = u64::try_from(commands).unwrap_or(u64::MAX);
        let cost_ns = commands.saturating_mul(NANOSECONDS) / self.per_s;
        let from_ns = paid_until_ns.max(now_ns);
        let paid_after_ns = from_ns.saturating_add(cost_ns);
        let ahead_ns_max = self.ahead_ns_max.max(cost_ns);
        let too_far_ns = (paid_after_ns - now_ns).saturating_sub(ahead_ns_max);
        if too_far_ns == 0 {
            Ok(paid_after_ns)
        } else {
            Err(too_far_ns)
        }
    }

    fn refusal(&self, wait_ns: u64) -> Failure {
        let wait_s = wait_ns.div_ceil(NANOSECONDS).max(1);
        Failure::new(
            Code::RateLimited,
            format!(
                "the key sends more than its {} commands a second, and a batch counts as many as it \
                 has checks; wait as `Retry-After` says, then send this request again",
                self.per_s
            ),
        )
        .retry_after(u32::try_from(wait_s).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(commands_per_key_per_s: u32, burst_per_key_s: u32) -> Rates {
        Rates::new(&ApiLimits {
            commands_per_key_per_s,
            burst_per_key_s,
            ..ApiLimits::default()
        })
    }

    #[test]
    fn a_burst_goes_and_then_the_rate() {
        let rates = rates(10, 2);
        let mut paid_ns = 0;
        for _ in 0..20 {
            paid_ns = rates.paid_after(paid_ns, 0, 1).unwrap();
        }
        assert_eq!(rates.paid_after(paid_ns, 0, 1), Err(NANOSECONDS / 10));
        let paid_ns = rates.paid_after(paid_ns, NANOSECONDS / 10, 1).unwrap();
        assert!(rates.paid_after(paid_ns, NANOSECONDS / 10, 1).is_err());
        // A pause gives back a burst, not more.
        let later_ns = 100 * NANOSECONDS;
        let paid_ns = rates.paid_after(paid_ns, later_ns, 20).unwrap();
        assert!(rates.paid_after(paid_ns, later_ns, 1).is_err());
    }

    #[test]
    fn a_batch_larger_than_a_burst_goes_alone_and_is_paid_for() {
        let rates = rates(10, 1);
        let paid_ns = rates.paid_after(0, 0, 500).unwrap();
        assert_eq!(paid_ns, 50 * NANOSECONDS);
        assert_eq!(
            rates.paid_after(paid_ns, 0, 1),
            Err(49 * NANOSECONDS + NANOSECONDS / 10)
        );
        let wait_ns = rates.paid_after(paid_ns, 0, 500).unwrap_err();
        assert!(rates.paid_after(paid_ns, wait_ns, 500).is_ok());
        assert!(rates.paid_after(paid_ns, wait_ns - 1, 500).is_err());
    }

    #[test]
    fn the_wait_is_in_whole_seconds_and_never_none() {
        let rates = rates(1, 1);
        assert_eq!(rates.refusal(1).retry_after_s, Some(1));
        assert_eq!(rates.refusal(NANOSECONDS + 1).retry_after_s, Some(2));
        assert_eq!(rates.refusal(u64::MAX).retry_after_s, Some(u32::MAX));
    }

    #[test]
    fn keys_do_not_pay_for_each_other_and_a_look_takes_nothing() {
        let rates = rates(1, 3_600);
        let (one, other) = (KeyDigest([1; 32]), KeyDigest([2; 32]));
        rates.take(one, 3_600).unwrap();
        rates.take(one, 3_600).unwrap_err();
        for _ in 0..10 {
            rates.look(other).unwrap();
        }
        rates.take(other, 3_600).unwrap();
        rates.take(other, 3_600).unwrap_err();
    }

    #[test]
    fn no_rate_refuses_nobody() {
        let rates = rates(0, 1);
        for _ in 0..3 {
            rates.take(KeyDigest([1; 32]), usize::MAX).unwrap();
        }
        assert!(rates.paid_until_ns.is_empty());
    }
}
