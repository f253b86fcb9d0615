//! The sequential model of one effect key: attempts that follow each other, at most one in flight
//! (invariant C2).

use super::search::{self, Target};

/// One call and what came of it.
pub(crate) type Event = search::Event<Call, Seen>;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Reserve the next attempt.
    Reserve,
    /// Say how an attempt ended.
    Settle {
        /// Which.
        attempt: u64,
        /// Is it done? Else it failed.
        done: bool,
    },
}

/// What an answer says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// The caller has this attempt.
    Reserved {
        /// Which.
        attempt: u64,
    },
    /// Another attempt is in flight.
    InFlight,
    /// It is done.
    Done,
    /// The settlement was taken.
    Settled,
    /// The settlement names an attempt that is not the one in flight.
    Refused,
}

/// The key between two calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    attempts: u64,
    in_flight: bool,
    done: bool,
}

impl State {
    fn reserved(&self) -> Option<Self> {
        let free = !self.in_flight && !self.done;
        free.then_some(Self {
            attempts: self.attempts + 1,
            in_flight: true,
            done: false,
        })
    }

    fn settled(&self, attempt: u64, done: bool) -> Option<Self> {
        let current = self.in_flight && self.attempts == attempt;
        current.then_some(Self {
            attempts: self.attempts,
            in_flight: false,
            done,
        })
    }
}

impl Target for State {
    type Call = Call;
    type Seen = Seen;

    fn after(&self, call: &Call, seen: Option<&Seen>) -> Vec<Self> {
        let same = |is: bool| is.then(|| self.clone());
        let after = match (*call, seen.copied()) {
            (Call::Reserve, None) => self.reserved().or_else(|| Some(self.clone())),
            (Call::Reserve, Some(Seen::Reserved { attempt })) => {
                self.reserved().filter(|after| after.attempts == attempt)
            }
            (Call::Reserve, Some(Seen::InFlight)) => same(self.in_flight),
            (Call::Reserve, Some(Seen::Done)) => same(self.done),
            (Call::Settle { attempt, done }, None) => {
                let settled = self.settled(attempt, done);
                settled.or_else(|| Some(self.clone()))
            }
            (Call::Settle { attempt, done }, Some(Seen::Settled)) => self.settled(attempt, done),
            (Call::Settle { attempt, .. }, Some(Seen::Refused)) => {
                same(!self.in_flight || self.attempts != attempt)
            }
            (Call::Reserve | Call::Settle { .. }, Some(_)) => None,
        };
        after.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::{NEVER, explain};
    use super::*;

    fn event(times: (u64, u64), call: Call, seen: Option<Seen>) -> Event {
        Event {
            called: times.0,
            answered: times.1,
            call,
            seen,
        }
    }

    fn reserved(times: (u64, u64), attempt: u64) -> Event {
        event(times, Call::Reserve, Some(Seen::Reserved { attempt }))
    }

    fn failed(times: (u64, u64), attempt: u64, seen: Option<Seen>) -> Event {
        let done = false;
        event(times, Call::Settle { attempt, done }, seen)
    }

    #[test]
    fn attempts_follow_each_other() {
        let history = [
            reserved((0, 1), 1),
            event((2, 3), Call::Reserve, Some(Seen::InFlight)),
            // No answer came, and the next attempt shows that it happened.
            failed((4, NEVER), 1, None),
            reserved((5, 6), 2),
            failed((7, 8), 1, Some(Seen::Refused)),
        ];
        assert_eq!(explain::<State>(&history), Ok(()));
    }

    #[test]
    fn what_could_not_have_happened_is_not_explained() {
        let impossible = [
            (
                "two have it",
                vec![reserved((0, 1), 1), reserved((2, 3), 1)],
            ),
            (
                "the next attempt opens without a failure",
                vec![reserved((0, 1), 1), reserved((2, 3), 2)],
            ),
            (
                "a reservation that was answered is lost",
                vec![reserved((0, 1), 1), failed((2, 3), 1, Some(Seen::Refused))],
            ),
            (
                "done, and then in flight",
                vec![
                    event((0, 1), Call::Reserve, Some(Seen::Done)),
                    event((2, 3), Call::Reserve, Some(Seen::InFlight)),
                ],
            ),
        ];
        for (what, history) in impossible {
            assert!(explain::<State>(&history).is_err(), "{what}");
        }
    }
}
