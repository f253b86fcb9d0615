//! The sequential model of one customer's contact budget: so many units, each spent once
//! (invariant C1). What is spent stays so for longer than a round lasts.

use super::search::{self, Target};

/// One check and what came of it.
pub(crate) type Event = search::Event<(), Seen>;

/// What a check was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    /// Was a unit spent?
    pub(crate) spent: bool,
    /// What the answer says is left.
    pub(crate) left: Option<u64>,
}

/// Units of a customer.
pub(crate) const LIMIT: u64 = 3;

/// Units that are spent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State(u64);

impl Target for State {
    type Call = ();
    type Seen = Seen;

    fn after(&self, (): &(), seen: Option<&Seen>) -> Vec<Self> {
        let (free, next) = (self.0 < LIMIT, Self(self.0 + 1));
        match seen {
            None if free => vec![next],
            None => vec![self.clone()],
            Some(seen) if seen.spent && free && seen.left == Some(LIMIT - next.0) => vec![next],
            Some(seen) if !seen.spent && !free => vec![self.clone()],
            Some(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::search::{NEVER, explain};
    use super::*;

    fn check(times: (u64, u64), spent: Option<bool>, left: u64) -> Event {
        Event {
            called: times.0,
            answered: times.1,
            call: (),
            seen: spent.map(|spent| Seen {
                spent,
                left: Some(left),
            }),
        }
    }

    #[test]
    fn units_are_spent_once() {
        let all = [
            check((0, 1), Some(true), 2),
            check((2, NEVER), None, 0),
            check((3, 4), Some(true), 0),
            check((5, 6), Some(false), 0),
        ];
        assert_eq!(explain::<State>(&all), Ok(()));
        let lost = [check((0, 1), Some(true), 2), check((2, 3), Some(true), 2)];
        let why = explain::<State>(&lost).expect_err("one unit is spent twice");
        assert!(why.contains("after 2 calls"), "{why}");
        let early = [check((0, 1), Some(false), 0)];
        assert!(explain::<State>(&early).is_err(), "refused for nothing");
    }
}
