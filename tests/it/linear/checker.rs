//! Is there an order? A Wing–Gong search over one target's history.
//!
//! Here: the sequential model of one target with one level (a holder or none, and an epoch that
//! grows), and the search for an order of the calls that the model accepts and that puts no call
//! before one that was answered before it began. States already seen with the same calls left are
//! not searched again. Called by `linear` only.

use std::collections::HashSet;

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
}

/// The target between two calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    /// Who has it, and the epoch.
    held: Option<(String, u64)>,
    /// The highest epoch handed out.
    highest: u64,
}

impl State {
    /// The state after an event; `None` when the event cannot happen here.
    fn after(&self, event: &Event) -> Option<Self> {
        let is_own = |(holder, _): &(String, u64)| *holder == event.by;
        let holds = self.held.as_ref();
        match (event.call, &event.seen) {
            (Call::Claim, Seen::Taken { epoch }) => {
                let may = holds.is_none_or(is_own) && *epoch > self.highest;
                may.then(|| Self {
                    held: Some((event.by.clone(), *epoch)),
                    highest: *epoch,
                })
            }
            (Call::Claim, Seen::HeldBy { holder }) => {
                let by = holds.filter(|held| !is_own(held))?;
                (by.0 == *holder).then(|| self.clone())
            }
            (Call::Release { epoch }, Seen::Released) => {
                let current = holds.is_some_and(|held| is_own(held) && held.1 == epoch);
                current.then_some(Self {
                    held: None,
                    highest: self.highest,
                })
            }
            (Call::Release { epoch }, Seen::Stale) => {
                let current = holds.is_some_and(|held| held.1 == epoch);
                (!current).then(|| self.clone())
            }
            (Call::Check, Seen::Free) => holds.is_none_or(is_own).then(|| self.clone()),
            (Call::Check, Seen::StoppedBy { holder, epoch }) => {
                let by = holds.filter(|held| !is_own(held))?;
                let same = by.0 == *holder && epoch.is_none_or(|epoch| epoch == by.1);
                same.then(|| self.clone())
            }
            (Call::Claim | Call::Release { .. } | Call::Check, _) => None,
        }
    }
}

/// Looks for an order.
///
/// # Errors
/// How far the longest order went, when there is none for all.
pub(crate) fn explain(history: &[Event]) -> Result<(), String> {
    assert!(history.len() < 128, "a round is short");
    let all = (1_u128 << history.len()) - 1;
    let mut seen = HashSet::new();
    let mut open = vec![(0_u128, State::default())];
    let mut farthest = 0;
    while let Some((done, state)) = open.pop() {
        if done == all {
            return Ok(());
        }
        farthest = farthest.max(done.count_ones());
        let left = || (0..history.len()).filter(move |&at| done & (1 << at) == 0);
        // Whoever began after another was answered comes after it.
        let first_answer = left().map(|at| history[at].answered).min();
        for at in left() {
            let event = &history[at];
            if first_answer.is_some_and(|answer| event.called > answer) {
                continue;
            }
            if let Some(after) = state.after(event) {
                let next = (done | (1 << at), after);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    Err(format!(
        "no order explains more than {farthest} of {} calls",
        history.len()
    ))
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
    }

    #[test]
    fn what_could_not_have_happened_is_not_explained() {
        let free = |times| event(times, "b", Call::Check, Seen::Free);
        let impossible: [(&str, Vec<Event>); 6] = [
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
