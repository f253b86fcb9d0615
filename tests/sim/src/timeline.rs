//! What something was, when, counted in records of the log.
//!
//! An answer that leaves no record must still be true at some moment between question and answer;
//! a timeline tells which values there were then.

/// Values with the record from which on they held.
#[derive(Clone, Debug)]
pub struct Timeline<T> {
    points: Vec<(u64, T)>,
}

impl<T: PartialEq> Timeline<T> {
    /// Something that has always been `first`.
    #[must_use]
    pub fn new(first: T) -> Self {
        Self {
            points: vec![(0, first)],
        }
    }

    /// What it is now.
    #[must_use]
    pub fn last(&self) -> &T {
        &self.points[self.points.len() - 1].1
    }

    /// From this record on it is `value`.
    pub fn set(&mut self, record: u64, value: T) {
        match self.points.last_mut() {
            Some(last) if last.0 == record => last.1 = value,
            Some(_) | None => self.points.push((record, value)),
        }
    }

    /// The spans of records, first and last included, in which `wanted` held, from `since` on.
    pub fn spans<'a>(
        &'a self,
        since: u64,
        wanted: impl Fn(&T) -> bool + 'a,
    ) -> impl Iterator<Item = (u64, u64)> + 'a {
        let begin = self.points.partition_point(|point| point.0 <= since);
        let begin = begin.saturating_sub(1);
        (begin..self.points.len()).filter_map(move |at| {
            let until = self.points.get(at + 1).map_or(u64::MAX, |next| next.0 - 1);
            let (from, value) = &self.points[at];
            wanted(value).then_some((since.max(*from), until))
        })
    }

    /// Forgets everything but the present.
    pub fn forget(&mut self) {
        let last = self.points.len() - 1;
        self.points.drain(..last);
    }
}
