//! Which steps of a failing run its failure needs.
//!
//! Spans of steps are left out, long ones first, as long as what is left fails in the same way. Not
//! here: running them (`world`), writing them (`trace`).

use crate::machine::{SimMachine, Violation};
use crate::swarm::Step;
use crate::trace::{Choice, Trace};
use crate::world::{Failure, Options, PANICKED, follow};

/// Runs that one shrinking may take.
pub const TRIES_MAX: u32 = 4_000;

/// Shortens the steps of a failure while `more` says that there is time, and for no more than
/// [`TRIES_MAX`] runs.
pub fn shrink<M: SimMachine>(
    options: &Options,
    choices: Vec<Choice>,
    failure: &Failure,
    more: &mut dyn FnMut() -> bool,
) -> Trace {
    let mut shorter = Shorter::<M> {
        options,
        kept: choices,
        violation: failure.violation.clone(),
        tries: 0,
        more,
        machine: std::marker::PhantomData,
    };
    shorter.kept.truncate(failure.choice + 1);
    shorter.kinds();
    let mut span = shorter.kept.len().div_ceil(2);
    loop {
        let removed = shorter.spans(span);
        if shorter.is_over() || (span == 1 && !removed) {
            break;
        }
        span = (span / 2).max(1);
    }
    Trace::new(M::NAME, options, shorter.kept, &shorter.violation)
}

/// Words of what was seen by which two violations of an invariant are told apart: enough for the
/// sentence and the kind of answer or event it is about, and none of the values in it.
const TELLING_WORDS: usize = 6;

/// Are two violations of one kind? They are of the same invariant and begin with the same words;
/// panics say the same but for numbers.
#[must_use]
pub fn same_kind(left: &Violation, right: &Violation) -> bool {
    let most = match left.invariant {
        PANICKED => usize::MAX,
        _ => TELLING_WORDS,
    };
    let words = |violation: &'_ Violation| -> Vec<String> {
        let words = violation.seen.split(|one: char| !one.is_alphabetic());
        let words = words.filter(|word| !word.is_empty());
        words.take(most).map(str::to_owned).collect()
    };
    left.invariant == right.invariant && words(left) == words(right)
}

struct Shorter<'a, M> {
    options: &'a Options,
    kept: Vec<Choice>,
    violation: Violation,
    tries: u32,
    more: &'a mut dyn FnMut() -> bool,
    machine: std::marker::PhantomData<M>,
}

impl<M: SimMachine> Shorter<'_, M> {
    fn is_over(&mut self) -> bool {
        self.tries >= TRIES_MAX || !(self.more)()
    }

    /// Keeps these steps if they fail in the same way.
    fn try_with(&mut self, fewer: Vec<Choice>) -> bool {
        self.tries += 1;
        match follow::<M>(self.options, fewer.iter().copied(), &mut |_| ()) {
            Err(failure) if same_kind(&failure.violation, &self.violation) => {
                self.kept = fewer;
                self.kept.truncate(failure.choice + 1);
                self.violation = failure.violation;
                true
            }
            Ok(_) | Err(_) => false,
        }
    }

    /// Leaves out all steps of a kind.
    fn kinds(&mut self) {
        for (kind, _) in Step::NAMES {
            let others = self.kept.iter().filter(|choice| choice.step != kind);
            let others: Vec<Choice> = others.copied().collect();
            if others.len() < self.kept.len() && !self.is_over() {
                self.try_with(others);
            }
        }
    }

    /// Leaves out each span of this length, from the end; answers whether any could go.
    fn spans(&mut self, span: usize) -> bool {
        let mut removed = false;
        let mut end = self.kept.len();
        while end > 0 && !self.is_over() {
            let begin = end.saturating_sub(span);
            let mut fewer = self.kept[..begin].to_vec();
            fewer.extend_from_slice(&self.kept[end..]);
            removed |= self.try_with(fewer);
            end = begin.min(self.kept.len());
        }
        removed
    }
}
