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

/// A call of a history and what came of it. Times come from one counter: every reading is another
/// number.
#[derive(Clone, Debug)]
pub(crate) struct Event<C, S> {
    /// Before the request was first sent.
    pub(crate) called: u64,
    /// After its answer was read; [`NEVER`] when none came.
    pub(crate) answered: u64,
    /// What was asked.
    pub(crate) call: C,
    /// What the answer says; `None` without one.
    pub(crate) seen: Option<S>,
}

impl<C: Clone, S> Event<C, S> {
    /// The same call, as it looks before its answer.
    fn unanswered(&self) -> Self {
        Self {
            called: self.called,
            answered: NEVER,
            call: self.call.clone(),
            seen: None,
        }
    }
}

/// A target between two calls: the sequential model.
pub(crate) trait Target: Clone + Default + Eq + Hash {
    /// What is asked.
    type Call: Clone + Debug;
    /// What an answer says.
    type Seen: Clone + Debug;
    /// The states a call can lead to, `None` where nobody knows what it saw; none when it cannot happen
    /// here.
    fn after(&self, call: &Self::Call, seen: Option<&Self::Seen>) -> Vec<Self>;
}

/// Looks for an order of all answered calls that puts none before one that was answered before it
/// began.
///
/// # Errors
/// The shortest beginning that has no order, with the answer that cannot be.
pub(crate) fn explain<T: Target>(history: &[Event<T::Call, T::Seen>]) -> Result<(), String> {
    if has_order::<T>(history) {
        return Ok(());
    }
    let mut times: Vec<u64> = history
        .iter()
        .map(|event| event.answered)
        .filter(|&time| time != NEVER)
        .collect();
    times.sort_unstable();
    for &now in &times {
        let begun = history.iter().filter(|event| event.called < now);
        let until: Vec<Event<T::Call, T::Seen>> = begun
            .map(|event| {
                if event.answered <= now {
                    event.clone()
                } else {
                    event.unanswered()
                }
            })
            .collect();
        if !has_order::<T>(&until) {
            let wrong = until.iter().find(|event| event.answered == now);
            return Err(format!(
                "no order explains the answer {wrong:?} after {} calls:\n{until:#?}",
                until.len()
            ));
        }
    }
    unreachable!("the whole history is the longest beginning")
}

fn has_order<T: Target>(history: &[Event<T::Call, T::Seen>]) -> bool {
    assert!(history.len() < 128, "a round is short");
    let answered = |at: &usize| history[*at].answered != NEVER;
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
        let first_answer = left().map(|at| history[at].answered).min();
        for at in left() {
            let event = &history[at];
            if first_answer.is_some_and(|answer| event.called > answer) {
                continue;
            }
            for after in state.after(&event.call, event.seen.as_ref()) {
                let next = (done | (1 << at), after);
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }
    false
}
