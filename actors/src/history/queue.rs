//! Between the committer and the writer of history: a bounded queue one way, the position the other.
//!
//! Here: both ends. Bounds: bytes of commits, and their number. The committer never drops anything:
//! when too much waits it waits too, before its next commit, which slows intake as a slow disk does.
//! What one commit holds goes into the queue at once, also over the bound on bytes, so that the
//! answers of that commit do not wait; the queue thus holds at most its bound and one commit.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use interlock_storage::{Append, Positions, Sequence};
use tokio::sync::watch;

/// Appends that may wait, whatever their size.
const APPENDS_MAX: usize = 16_384;

/// From one part in so many of the bound on, the writer does not rest.
const HURRY_PART: usize = 4;

/// The committer's end. Dropping it lets the writer come to its end.
#[derive(Debug)]
pub struct Feed {
    appends: Sender<Append>,
    bytes: Arc<AtomicUsize>,
    owed: Arc<AtomicUsize>,
    bytes_max: usize,
    /// Told when something of the queue is packed; gone when the writer is.
    room: Receiver<()>,
    /// Tells the writer that much waits; gone with this end.
    hurry: Sender<()>,
    durable: watch::Receiver<Positions>,
}

/// The writer's end. Dropping it tells the committer that history can no longer be written.
#[derive(Debug)]
pub(crate) struct Intake {
    appends: Receiver<Append>,
    bytes: Arc<AtomicUsize>,
    /// Bytes that were handed over and are not durable in history.
    owed: Arc<AtomicUsize>,
    /// Those of them that are packed, and so durable with the next write.
    packed: AtomicUsize,
    room: Sender<()>,
    hurry: Receiver<()>,
    durable: watch::Sender<Positions>,
}

/// The writer of history has ended, which it does alone only when the log fails; the node goes down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("history can no longer be written")
    }
}

/// What came in.
#[derive(Debug)]
pub(crate) enum Taken {
    /// An append of a durable commit.
    Append(Append),
    /// Nothing, for as long as was waited.
    Nothing,
    /// Nothing, and nothing will.
    End,
}

/// What waits now, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) appends: usize,
    pub(crate) bytes: usize,
}

/// A queue of at most `bytes_max` bytes and one commit; `durable` is what history has at the start.
pub(crate) fn queue(bytes_max: usize, durable: Positions) -> (Feed, Intake) {
    let (sender, receiver) = crossbeam_channel::bounded(APPENDS_MAX);
    let (told, room) = crossbeam_channel::bounded(1);
    let (hurries, hurry) = crossbeam_channel::bounded(1);
    let (reached, durable) = watch::channel(durable);
    let bytes = Arc::new(AtomicUsize::new(0));
    let owed = Arc::new(AtomicUsize::new(0));
    let feed = Feed {
        appends: sender,
        bytes: Arc::clone(&bytes),
        owed: Arc::clone(&owed),
        bytes_max,
        room,
        hurry: hurries,
        durable,
    };
    let intake = Intake {
        appends: receiver,
        bytes,
        owed,
        packed: AtomicUsize::new(0),
        room: told,
        hurry,
        durable: reached,
    };
    (feed, intake)
}

impl Feed {
    /// Hands over the appends of a durable commit; waits only when very many wait already.
    pub(crate) fn push(&self, appends: Vec<Append>) {
        for append in appends {
            self.bytes.fetch_add(append.records.len(), Ordering::AcqRel);
            self.owed.fetch_add(append.records.len(), Ordering::AcqRel);
            // It fails when the writer has ended, which the committer learns before its next commit.
            self.appends.send(append).ok();
        }
        if self.bytes.load(Ordering::Acquire) > self.bytes_max / HURRY_PART {
            self.hurry();
        }
    }

    /// Has the writer not rest: somebody waits for it.
    pub(crate) fn hurry(&self) {
        // When it is full the writer is told already.
        self.hurry.try_send(()).ok();
    }

    /// Bytes that were handed over and that history does not have durably.
    pub(crate) fn owed(&self) -> usize {
        self.owed.load(Ordering::Acquire)
    }

    /// Waits until the queue is within its bound.
    ///
    /// # Errors
    /// When the writer has ended.
    pub(crate) fn wait_for_room(&self) -> Result<(), Lost> {
        while self.bytes.load(Ordering::Acquire) > self.bytes_max {
            self.room.recv().map_err(|_| Lost)?;
        }
        match self.room.try_recv() {
            Err(crossbeam_channel::TryRecvError::Disconnected) => Err(Lost),
            Ok(()) | Err(crossbeam_channel::TryRecvError::Empty) => Ok(()),
        }
    }

    /// Lowers positions to what history has; answers whether that held anything back.
    pub(crate) fn hold_back(&mut self, positions: &mut Positions) -> bool {
        let durable = self.durable.borrow_and_update();
        let mut held = false;
        for (group, position) in positions {
            let taken: Sequence = durable.get(group).copied().unwrap_or_default();
            held |= *position > taken;
            *position = taken.min(*position);
        }
        held
    }

    /// Has history more than when it last held something back?
    pub(crate) fn has_moved(&self) -> bool {
        self.durable.has_changed().unwrap_or(false)
    }
}

impl Intake {
    /// The next append; waits for it at most `patience`. It counts until [`Self::done`].
    pub(crate) fn take(&self, patience: Duration) -> Taken {
        match self.appends.recv_timeout(patience) {
            Ok(append) => Taken::Append(append),
            Err(RecvTimeoutError::Timeout) => Taken::Nothing,
            Err(RecvTimeoutError::Disconnected) => Taken::End,
        }
    }

    /// An append that was taken is packed.
    pub(crate) fn done(&self, append: &Append) {
        self.bytes.fetch_sub(append.records.len(), Ordering::AcqRel);
        self.packed
            .fetch_add(append.records.len(), Ordering::AcqRel);
        // When it is full the committer is told already.
        self.room.try_send(()).ok();
    }

    /// Waits so long, unless much waits to be written or nothing more will come: answers whether there
    /// was time for it.
    pub(crate) fn rest(&self, pause: Duration) -> bool {
        self.hurry.recv_timeout(pause) == Err(RecvTimeoutError::Timeout)
    }

    /// History has come this far, durably: everything that is packed.
    pub(crate) fn reached(&self, durable: &Positions) {
        let packed = self.packed.swap(0, Ordering::AcqRel);
        self.owed.fetch_sub(packed, Ordering::AcqRel);
        self.durable.send_replace(durable.clone());
    }

    /// What waits now.
    pub(crate) fn waiting(&self) -> Waiting {
        Waiting {
            appends: self.appends.len(),
            bytes: self.bytes.load(Ordering::Acquire),
        }
    }
}

#[cfg(test)]
mod tests {
    use interlock_storage::{Epoch, Group};

    use super::*;

    fn append(sequence: u64) -> Append {
        Append {
            group: Group(1),
            epoch: Epoch(1),
            sequence: Sequence(sequence),
            partitions: Vec::new(),
            records: vec![0; 10],
        }
    }

    /// Over its bound the queue makes the committer wait until the writer has packed enough.
    #[test]
    fn a_full_queue_waits_for_the_writer() {
        let (feed, intake) = queue(15, Positions::new());
        feed.push(vec![append(1)]);
        assert_eq!(feed.wait_for_room(), Ok(()));
        feed.push(vec![append(2)]);
        assert_eq!((intake.waiting().bytes, feed.owed()), (20, 20));
        let (told, tells) = crossbeam_channel::bounded(2);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                assert_eq!(feed.wait_for_room(), Ok(()));
                told.send(feed).expect("somebody listens");
            });
            assert!(tells.try_recv().is_err(), "nothing is packed");
            let Taken::Append(first) = intake.take(Duration::from_secs(10)) else {
                panic!("two wait");
            };
            intake.done(&first);
            let feed = tells.recv().expect("there is room now");
            assert_eq!(feed.owed(), 20, "packed is not durable");
            intake.reached(&Positions::new());
            assert_eq!(feed.owed(), 10);
            drop(feed);
        });
        assert!(matches!(intake.take(Duration::ZERO), Taken::Append(_)));
        assert!(matches!(intake.take(Duration::ZERO), Taken::End));
    }

    /// The writer rests while little waits, and neither over a part of the bound nor at the end.
    #[test]
    fn a_writer_rests_while_nothing_is_in_a_hurry() {
        let (feed, intake) = queue(100, Positions::new());
        assert!(intake.rest(Duration::ZERO));
        feed.push(vec![append(1), append(2)]);
        assert!(intake.rest(Duration::ZERO), "20 bytes of 100 are little");
        feed.push(vec![append(3)]);
        let long = Duration::from_secs(600);
        assert!(!intake.rest(long), "30 bytes are more than a quarter");
        drop(feed);
        assert!(!intake.rest(long), "nothing more comes");
    }

    #[test]
    fn a_writer_that_ends_is_noticed() {
        let (feed, intake) = queue(5, Positions::new());
        feed.push(vec![append(1)]);
        drop(intake);
        assert_eq!(feed.wait_for_room(), Err(Lost));
    }

    #[test]
    fn truncation_waits_for_history() {
        let (mut feed, intake) = queue(5, Positions::from([(Group(1), Sequence(3))]));
        let mut wanted = Positions::from([(Group(1), Sequence(5)), (Group(2), Sequence(1))]);
        assert!(feed.hold_back(&mut wanted));
        let held = Positions::from([(Group(1), Sequence(3)), (Group(2), Sequence(0))]);
        assert_eq!(wanted, held);
        assert!(!feed.has_moved());
        intake.reached(&Positions::from([(Group(1), Sequence(5))]));
        assert!(feed.has_moved());
        let mut wanted = Positions::from([(Group(1), Sequence(5))]);
        assert!(!feed.hold_back(&mut wanted));
        assert_eq!(wanted, Positions::from([(Group(1), Sequence(5))]));
    }
}
