//! The search for an order: Wing and Gong's, with Lowe's memory of states already seen.
//!
//! Here: any sequential model of one target, and the shortest beginning of a history that no order
//! explains. A call without an answer happened at any time after it was sent, or never. Histories are
//! split by target before they come here: a history is linearizable when that of every target is
//! (Herlihy and Wing 1990, locality). Called by the models (`checker`, `effects`, `budget`).

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;

/// When a call has no answer.
pub(crate) const NEVER: u64 = u64::MAX;

/// A call of a history. Times come from one counter: every reading is another number.
pub(crate) trait Happened: Clone + Debug {
    /// Before the request was sent.
    fn called(&self) -> u64;
    /// After the answer was read; [`NEVER`] when none came.
    fn answered(&self) -> u64;
    /// The same call, as it looks before its answer.
    fn unanswered(&self) -> Self;
}

/// A target between two calls: the sequential model.
pub(crate) trait Target: Clone + Default + Eq + Hash {
    /// A call and what it saw.
    type Event: Happened;
    /// The states the event can lead to; none when it cannot happen here.
    fn after(&self, event: &Self::Event) -> Vec<Self>;
}

/// Looks for an order of all answered calls that puts none before one that was answered before it
/// began.
///
/// # Errors
/// The shortest beginning that has no order, with the answer that cannot be.
pub(crate) fn explain<T: Target>(history: &[T::Event]) -> Result<(), String> {
    if has_order::<T>(history) {
        return Ok(());
    }
    let mut times: Vec<u64> = history
        .iter()
        .map(Happened::answered)
        .filter(|&time| time != NEVER)
        .collect();
    times.sort_unstable();
    for &now in &times {
        let begun = history.iter().filter(|event| event.called() < now);
        let until: Vec<T::Event> = begun
            .map(|event| {
                if event.answered() <= now {
                    event.clone()
                } else {
                    event.unanswered()
                }
            })
            .collect();
        if !has_order::<T>(&until) {
            let wrong = until.iter().find(|event| event.answered() == now);
            return Err(format!(
                "no order explains the answer {wrong:?} after {} calls:\n{until:#?}",
                until.len()
            ));
        }
    }
    unreachable!("the whole history is the longest beginning")
}

fn has_order<T: Target>(history: &[T::Event]) -> bool {
    assert!(history.len() < 128, "a round is short");
    let answered = |at: &usize| history[*at].answered() != NEVER;
    let known = (0..history.len())
        .filter(answered)
        .fold(0_u128, |known, at| known | 1 << at);
    let mut seen = HashSet::new();
    let mut open = vec![(0_u128, T::default())];
    while let Some((done, state)) = open.pop() {
        if done & known == known {
            return true;
        }
        let left = || (0..history.len()).filter(move |&at| done & (1 << at) == 0);
        // Whoever began after another was answered comes after it.
        let first_answer = left().map(|at| history[at].answered()).min();
        for at in left() {
            let event = &history[at];
            if first_answer.is_some_and(|answer| event.called() > answer) {
                continue;
            }
            for after in state.after(event) {
                let next = (done | (1 << at), after);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    false
}
