//! What is left of earlier kills' answers: an even, bounded part, for the starts that come after.
//!
//! Here: which of many are kept. Not here: what was answered (`keyed`) and when it is looked for again
//! (`kills`).

/// At most so many of one kind. Even, so that what is kept when it is full goes on evenly.
const KEPT_MAX: usize = 200;

/// An even part of everything that was added: every one until there are too many, then every second, then
/// every fourth. So the oldest ones stay, however many kills there are.
#[derive(Debug)]
pub(super) struct Even<T> {
    kept: Vec<T>,
    step: u64,
    added: u64,
}

impl<T> Default for Even<T> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            step: 1,
            added: 0,
        }
    }
}

impl<T> Even<T> {
    /// Adds one, which may be kept.
    pub(super) fn add(&mut self, one: T) {
        if self.added.is_multiple_of(self.step) {
            if self.kept.len() == KEPT_MAX {
                let mut place = 0_usize;
                self.kept.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                self.step *= 2;
            }
            self.kept.push(one);
        }
        self.added += 1;
    }

    /// What is kept, the oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.kept.iter()
    }
}

#[test]
fn what_is_kept_is_even_and_bounded() {
    let mut even = Even::default();
    for number in 0..10_000_u64 {
        even.add(number);
        assert_eq!(even.kept.first(), Some(&0), "the oldest stays");
        let apart = even
            .kept
            .windows(2)
            .all(|pair| pair[1] - pair[0] == even.step);
        assert!(apart, "{number}: {:?}", even.kept);
        assert!(even.kept.len() <= KEPT_MAX);
        assert!(number < 200 || even.kept.len() > KEPT_MAX / 2);
    }
}
