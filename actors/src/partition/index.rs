//! Where a partition's entities stand, by bits of the hashes of their keys.
//!
//! Here: open addressing over eight bytes an entity, so that a look-up touches one cache line
//! before it touches the entity, and growing moves no entity. Not here: the entities and whether
//! one is the one that was asked for (`table`).

/// Nothing stands here.
const EMPTY: u64 = 0;

/// Marks when there is the first entity.
const LEAST: usize = 8;

/// Places of entities, found by 32 bits of a hash.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// A power of two, at most three quarters of them in use. A mark is the bits of a hash above
    /// the place and one, or [`EMPTY`]; it stands at the position that its low bits name or, where
    /// that is taken, at the next one that was free.
    marks: Vec<u64>,
    used: usize,
}

const fn mark(bits: u32, place: u32) -> u64 {
    ((bits as u64) << 32) | (place as u64 + 1)
}

const fn bits_of(mark: u64) -> u32 {
    (mark >> 32) as u32
}

/// The place of a mark that is not [`EMPTY`].
const fn place_of(mark: u64) -> u32 {
    (mark as u32).wrapping_sub(1)
}

impl Index {
    /// How many places it has.
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    /// The place under these bits that is the one asked for.
    pub(super) fn find(&self, bits: u32, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let is = |mark| bits_of(mark) == bits && is_it(place_of(mark));
        let at = self.position(bits, is)?;
        Some(place_of(self.marks[at]))
    }

    /// Adds a place that is not there.
    pub(super) fn add(&mut self, bits: u32, place: u32) {
        assert!(place < u32::MAX, "a partition has fewer entities than that");
        if (self.used + 1) * 4 > self.marks.len() * 3 {
            self.grow();
        }
        self.put(mark(bits, place));
        self.used += 1;
    }

    /// Takes a place out that is there, and moves those behind it to where a look-up finds them.
    pub(super) fn remove(&mut self, bits: u32, place: u32) {
        let gone = mark(bits, place);
        let Some(mut hole) = self.position(bits, |mark| mark == gone) else {
            unreachable!("only what is there is taken out");
        };
        let mut at = hole;
        loop {
            at = self.after(at);
            let moved = self.marks[at];
            if moved == EMPTY {
                break;
            }
            // It may fill the hole when the hole is not before the position it would like best.
            let from_best = self.distance(self.best(bits_of(moved)), at);
            if from_best >= self.distance(hole, at) {
                self.marks[hole] = moved;
                hole = at;
            }
        }
        self.marks[hole] = EMPTY;
        self.used -= 1;
    }

    /// The first mark from the best position of these bits on that is one, before an empty one.
    fn position(&self, bits: u32, is: impl Fn(u64) -> bool) -> Option<usize> {
        if self.marks.is_empty() {
            return None;
        }
        let mut at = self.best(bits);
        // It ends: a quarter of the marks is empty.
        loop {
            let mark = self.marks[at];
            if mark == EMPTY {
                return None;
            }
            if is(mark) {
                return Some(at);
            }
            at = self.after(at);
        }
    }

    fn put(&mut self, mark: u64) {
        let mut at = self.best(bits_of(mark));
        while self.marks[at] != EMPTY {
            at = self.after(at);
        }
        self.marks[at] = mark;
    }

    fn grow(&mut self) {
        let more = (self.marks.len() * 2).max(LEAST);
        let marks = std::mem::replace(&mut self.marks, vec![EMPTY; more]);
        for mark in marks.into_iter().filter(|mark| *mark != EMPTY) {
            self.put(mark);
        }
    }

    fn best(&self, bits: u32) -> usize {
        bits as usize & (self.marks.len() - 1)
    }

    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.marks.len() - 1)
    }

    /// How many steps from one position on to another.
    fn distance(&self, from: usize, to: usize) -> usize {
        to.wrapping_sub(from) & (self.marks.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use xxhash_rust::xxh3::xxh3_64;

    use super::*;

    /// Against a plain map, with bits so few that many places share them and runs wrap around.
    #[test]
    fn what_was_added_and_not_removed_is_found() {
        for few in [3_u32, 60, 4_000] {
            let (mut index, mut model) = (Index::default(), BTreeMap::<u32, u32>::new());
            for step in 0_u64..20_000 {
                let draw = xxh3_64(&(step + (u64::from(few) << 32)).to_le_bytes());
                let place = (draw % 700) as u32;
                // High bits too, or every best position would be a low one.
                let bits = u32::MAX - (draw >> 32) as u32 % few;
                match model.get(&place).copied() {
                    Some(known) => {
                        index.remove(known, place);
                        model.remove(&place);
                    }
                    None => {
                        index.add(bits, place);
                        model.insert(place, bits);
                    }
                }
                if step % 97 == 0 {
                    agree(&index, &model);
                }
            }
            agree(&index, &model);
        }
    }

    fn agree(index: &Index, model: &BTreeMap<u32, u32>) {
        assert_eq!(index.used, model.len());
        assert!(index.used * 4 <= index.marks.len() * 3, "look-ups end");
        for place in 0..700 {
            let found = model.get(&place).copied();
            let asked = found.unwrap_or(u32::MAX);
            let seen = index.find(asked, |other| other == place);
            assert_eq!(seen, found.map(|_| place));
        }
        let marks = index.marks.iter().filter(|mark| **mark != EMPTY);
        assert_eq!(marks.count(), model.len());
    }

    #[test]
    fn an_empty_index_finds_nothing() {
        assert_eq!(Index::default().find(7, |_| true), None);
    }
}
