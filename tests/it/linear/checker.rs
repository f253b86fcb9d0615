//! The sequential model of one target with one level: a holder or none, and an epoch that grows
//! (invariants C3 and C4). Called by `linear` and `crashes`.

use super::search::{Happened, NEVER, Target, explain as search};

/// One call and what came of it. Times come from one counter: every reading is another number.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    /// Before the request was sent.
    pub(crate) called: u64,
    /// After the answer was read.
    pub(crate) answered: u64,
    /// Who called: the holder or agent.
    pub(crate) by: String,
    /// What for.
    pub(crate) call: Call,
    /// What it saw.
    pub(crate) seen: Seen,
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
    /// Nothing: no answer came.
    Nothing,
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
    fn after_nothing(&self, event: &Event) -> Self {
        let holds = self.held.as_ref();
        let is_own = holds.is_some_and(|held| held.0 == event.by);
        let held = match event.call {
            Call::Claim if is_own || holds.is_none() => Some((event.by.clone(), None)),
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

    /// The state after an event; `None` when the event cannot happen here.
    fn next(&self, event: &Event) -> Option<Self> {
        let is_own = |(holder, _): &(String, Option<u64>)| *holder == event.by;
        let holds = self.held.as_ref();
        match (event.call, &event.seen) {
            (_, Seen::Nothing) => Some(self.after_nothing(event)),
            (Call::Claim, Seen::Taken { epoch }) => {
                let may = holds.is_none_or(is_own) && *epoch > self.highest;
                may.then(|| Self {
                    held: Some((event.by.clone(), Some(*epoch))),
                    highest: *epoch,
                })
            }
            (Call::Claim, Seen::HeldBy { holder }) => {
                let by = holds.filter(|held| !is_own(held))?;
                (by.0 == *holder).then(|| self.clone())
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
                let by = holds.filter(|held| !is_own(held))?;
                let same = by.0 == *holder && epoch.is_none_or(|epoch| self.is_epoch(by.1, epoch));
                same.then(|| Self {
                    held: Some((by.0.clone(), epoch.or(by.1))),
                    highest: epoch.map_or(self.highest, |epoch| self.highest.max(epoch)),
                })
            }
            (Call::Claim | Call::Release { .. } | Call::Check, _) => None,
        }
    }
}

impl Happened for Event {
    fn called(&self) -> u64 {
        self.called
    }

    fn answered(&self) -> u64 {
        self.answered
    }

    fn unanswered(&self) -> Self {
        Self {
            answered: NEVER,
            seen: Seen::Nothing,
            ..self.clone()
        }
    }
}

impl Target for State {
    type Event = Event;

    fn after(&self, event: &Event) -> Vec<Self> {
        self.next(event).into_iter().collect()
    }
}

/// Looks for an order.
///
/// # Errors
/// The shortest beginning that has none.
pub(crate) fn explain(history: &[Event]) -> Result<(), String> {
    search::<State>(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(times: (u64, u64), by: &str, call: Call, seen: Seen) -> Event {
        Event {
            called: times.0,
            answered: times.1,
            by: by.to_owned(),
            call,
            seen,
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
            event((0, NEVER), "a", Call::Claim, Seen::Nothing),
            event((1, NEVER), "c", Call::Claim, Seen::Nothing),
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
                    event((0, NEVER), "a", Call::Claim, Seen::Nothing),
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
