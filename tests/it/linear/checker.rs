//! The sequential model of one target with one level: a holder or none, and an epoch that grows
//! (invariants C3 and C4). Called by `linear` and `crashes`.

use super::search::{self, Target};

/// One call and what came of it.
pub(crate) type Event = search::Event<By, Seen>;

/// A call and who made it.
#[derive(Clone, Debug)]
pub(crate) struct By {
    /// The holder or agent.
    pub(crate) who: String,
    /// What for.
    pub(crate) call: Call,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Take it or renew it.
    Claim,
    /// Give it back.
    Release {
        /// The epoch the caller knows.
        epoch: u64,
    },
    /// Ask whether somebody stops the caller.
    Check,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is the caller's, with this epoch.
    Taken {
        /// The epoch.
        epoch: u64,
    },
    /// Somebody else has it.
    HeldBy {
        /// Who.
        holder: String,
    },
    /// It was given back, or had been.
    Released,
    /// The epoch was not the current one.
    Stale,
    /// Nobody stops the caller.
    Free,
    /// Somebody else stops the caller.
    StoppedBy {
        /// Who.
        holder: String,
        /// Under which epoch, where the answer says.
        epoch: Option<u64>,
    },
}

/// The target between two calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Who has it, and the epoch; nobody knows that of a claim without an answer until it is shown.
    held: Option<(String, Option<u64>)>,
    /// The highest epoch known to be handed out.
    highest: u64,
}

impl State {
    /// Is this the epoch of who holds it? One that nobody knows is above all that are known.
    fn is_epoch(&self, known: Option<u64>, epoch: u64) -> bool {
        known.map_or(epoch > self.highest, |known| known == epoch)
    }

    /// What a call without an answer came to, if it happened.
    fn after_nothing(&self, by: &By) -> Self {
        let holds = self.held.as_ref();
        let is_own = holds.is_some_and(|held| held.0 == by.who);
        let held = match by.call {
            Call::Claim if is_own || holds.is_none() => Some((by.who.clone(), None)),
            Call::Release { epoch }
                if is_own && holds.is_some_and(|held| self.is_epoch(held.1, epoch)) =>
            {
                None
            }
            Call::Claim | Call::Release { .. } | Call::Check => self.held.clone(),
        };
        Self {
            held,
            highest: self.highest,
        }
    }

    /// The state after a call that saw something; `None` when that cannot happen here.
    fn next(&self, by: &By, seen: &Seen) -> Option<Self> {
        let is_own = |(holder, _): &(String, Option<u64>)| *holder == by.who;
        let holds = self.held.as_ref();
        match (by.call, seen) {
            (Call::Claim, Seen::Taken { epoch }) => {
                let may = holds.is_none_or(is_own) && *epoch > self.highest;
                may.then(|| Self {
                    held: Some((by.who.clone(), Some(*epoch))),
                    highest: *epoch,
                })
            }
            (Call::Claim, Seen::HeldBy { holder }) => {
                let other = holds.filter(|held| !is_own(held))?;
                (other.0 == *holder).then(|| self.clone())
            }
            (Call::Release { epoch }, Seen::Released) => {
                let current =
                    holds.is_some_and(|held| is_own(held) && self.is_epoch(held.1, epoch));
                current.then_some(Self {
                    held: None,
                    highest: self.highest.max(epoch),
                })
            }
            (Call::Release { epoch }, Seen::Stale) => {
                // Under an epoch that nobody knows it may be another one.
                let current = holds.is_some_and(|held| held.1 == Some(epoch));
                (!current).then(|| self.clone())
            }
            (Call::Check, Seen::Free) => holds.is_none_or(is_own).then(|| self.clone()),
            (Call::Check, Seen::StoppedBy { holder, epoch }) => {
                let other = holds.filter(|held| !is_own(held))?;
                let known = epoch.is_none_or(|epoch| self.is_epoch(other.1, epoch));
                (known && other.0 == *holder).then(|| Self {
                    held: Some((other.0.clone(), epoch.or(other.1))),
                    highest: epoch.map_or(self.highest, |epoch| self.highest.max(epoch)),
                })
            }
            (Call::Claim | Call::Release { .. } | Call::Check, _) => None,
        }
    }
}

impl Target for State {
    type Call = By;
    type Seen = Seen;

    fn after(&self, by: &By, seen: Option<&Seen>) -> Vec<Self> {
        let after = match seen {
            None => Some(self.after_nothing(by)),
            Some(seen) => self.next(by, seen),
        };
        after.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::NEVER;
    use super::*;

    fn explain(history: &[Event]) -> Result<(), String> {
        search::explain::<State>(history)
    }

    fn event(times: (u64, u64), who: &str, call: Call, seen: impl Into<Option<Seen>>) -> Event {
        Event {
            called: times.0,
            answered: times.1,
            call: By {
                who: who.to_owned(),
                call,
            },
            seen: seen.into(),
        }
    }

    fn taken(times: (u64, u64), by: &str, epoch: u64) -> Event {
        event(times, by, Call::Claim, Seen::Taken { epoch })
    }

    fn stopped(times: (u64, u64), by: &str, holder: &str, epoch: u64) -> Event {
        let holder = holder.to_owned();
        let epoch = Some(epoch);
        event(times, by, Call::Check, Seen::StoppedBy { holder, epoch })
    }

    #[test]
    fn an_order_is_found_where_there_is_one() {
        let release = Call::Release { epoch: 1 };
        let history = [
            taken((0, 5), "a", 1),
            event((1, 2), "b", Call::Check, Seen::Free),
            stopped((3, 4), "b", "a", 1),
            event((6, 9), "a", release, Seen::Released),
            taken((7, 8), "b", 2),
            event((10, 11), "a", release, Seen::Stale),
        ];
        assert_eq!(explain(&history), Ok(()));
        // A claim without an answer, which a check shows, and one that never happened.
        let history = [
            event((0, NEVER), "a", Call::Claim, None),
            event((1, NEVER), "c", Call::Claim, None),
            event((2, 3), "b", Call::Check, Seen::Free),
            stopped((4, 5), "b", "a", 4),
            stopped((6, 7), "b", "a", 4),
        ];
        assert_eq!(explain(&history), Ok(()));
    }

    #[test]
    fn what_could_not_have_happened_is_not_explained() {
        let free = |times| event(times, "b", Call::Check, Seen::Free);
        let impossible: [(&str, Vec<Event>); 7] = [
            (
                "a claim without an answer holds it, and a later one has it too",
                vec![
                    event((0, NEVER), "a", Call::Claim, None),
                    stopped((1, 2), "b", "a", 4),
                    taken((3, 4), "b", 5),
                ],
            ),
            (
                "a check goes after a claim was answered",
                vec![taken((0, 1), "a", 1), free((2, 3))],
            ),
            (
                "a check sees the claim, a later one does not",
                vec![
                    taken((0, 9), "a", 1),
                    stopped((1, 2), "b", "a", 1),
                    free((3, 4)),
                ],
            ),
            (
                "two hold it",
                vec![taken((0, 1), "a", 1), taken((2, 3), "b", 2)],
            ),
            (
                "an epoch comes again",
                vec![taken((0, 1), "a", 2), taken((2, 3), "a", 2)],
            ),
            (
                "stopped by nobody",
                vec![stopped((0, 1), "b", "a", 1), taken((2, 3), "a", 1)],
            ),
            (
                "an old epoch is given back",
                vec![
                    taken((0, 1), "a", 1),
                    taken((2, 3), "a", 2),
                    event((4, 5), "a", Call::Release { epoch: 1 }, Seen::Released),
                ],
            ),
        ];
        for (what, history) in impossible {
            assert!(explain(&history).is_err(), "{what}");
        }
    }
}
