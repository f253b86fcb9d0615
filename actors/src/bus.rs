//! Notices on their way to readers, after their record is durable.
//!
//! Here: one bounded bus a node, keyed by group and sequence. When a reader is slower than the bus
//! is long, it is told how many it missed and resumes from the log by its last position; the bus
//! never waits for a reader. Not here: what a notice means.

use std::fmt;
use std::sync::Arc;

use interlock_storage::{Group, Sequence};
use tokio::sync::broadcast;

/// A notice with its place in the log.
#[derive(Debug)]
pub struct Noticed<N> {
    /// The group of its record.
    pub group: Group,
    /// The sequence of its record's commit.
    pub sequence: Sequence,
    /// What is told.
    pub notice: N,
}

/// The writing end; the committer has it.
pub struct Notices<N> {
    sender: broadcast::Sender<Arc<Noticed<N>>>,
}

/// A reader's end.
pub type NoticeReader<N> = broadcast::Receiver<Arc<Noticed<N>>>;

impl<N> Clone for Notices<N> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
        }
    }
}

impl<N> fmt::Debug for Notices<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Notices({})", self.sender.receiver_count())
    }
}

impl<N> Notices<N> {
    /// A bus that keeps the newest `length` notices for readers.
    #[must_use]
    pub fn new(length: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(length),
        }
    }

    /// Tells the readers there are.
    pub fn publish(&self, group: Group, sequence: Sequence, notice: N) {
        // Without a reader there is nobody to tell; one that comes later starts from the log.
        self.sender
            .send(Arc::new(Noticed {
                group,
                sequence,
                notice,
            }))
            .ok();
    }

    /// A reader of everything from now on.
    #[must_use]
    pub fn subscribe(&self) -> NoticeReader<N> {
        self.sender.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::broadcast::error::TryRecvError;

    use super::*;

    #[test]
    fn a_slow_reader_is_told_what_it_missed() {
        let notices = Notices::new(2);
        let mut reader = notices.subscribe();
        for sequence in 1..=4 {
            notices.publish(Group(1), Sequence(sequence), sequence);
        }
        assert_eq!(reader.try_recv().err(), Some(TryRecvError::Lagged(2)));
        let next = reader.try_recv().expect("the newest are kept");
        assert_eq!(
            (next.group, next.sequence, next.notice),
            (Group(1), Sequence(3), 3)
        );
    }
}
