//! Between the committer and the writer of history: a bounded queue one way, the position the other.
//!
//! Here: both ends and what they share. Bounds: bytes of commits and their number. The committer
//! never drops anything: when the queue is full it waits before its next commit, which slows intake
//! as a slow disk does. What a commit holds goes into the queue at once, also over the bound, so the
//! answers of that commit do not wait; the queue thus holds at most its bound and one commit.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use interlock_storage::{Append, Positions, Sequence};

/// Appends that may wait, whatever their size: many small ones cost more than their bytes.
const APPENDS_MAX: usize = 65_536;

#[derive(Debug, Default)]
struct State {
    appends: VecDeque<Append>,
    /// Those in the queue and those the writer has at hand.
    waiting: usize,
    bytes: usize,
    /// The committer has ended: write what waits, then end.
    closed: bool,
    /// The writer has ended by a failure.
    failed: Option<String>,
    durable: Positions,
    /// Moves with every change of `durable`.
    moved: u64,
}

#[derive(Debug)]
struct Shared {
    bytes_max: usize,
    state: Mutex<State>,
    /// Something came in, or nothing will any more.
    work: Condvar,
    /// Something went, or the writer failed.
    room: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The committer's end. Dropping it lets the writer come to its end.
#[derive(Debug)]
pub struct Feed {
    shared: Arc<Shared>,
}

/// The writer's end.
#[derive(Debug)]
pub(crate) struct Intake {
    shared: Arc<Shared>,
}

/// History can no longer be written; the node goes down as it does for a failed commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost(pub String);

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "history cannot be written: {}", self.0)
    }
}

/// What waits now, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub(crate) appends: usize,
    pub(crate) bytes: usize,
}

/// A queue of at most `bytes_max` bytes and one commit; `durable` is what history has at the start.
pub(crate) fn queue(bytes_max: usize, durable: Positions) -> (Feed, Intake) {
    let state = State {
        durable,
        ..State::default()
    };
    let shared = Arc::new(Shared {
        bytes_max,
        state: Mutex::new(state),
        work: Condvar::new(),
        room: Condvar::new(),
    });
    let feed = Feed {
        shared: Arc::clone(&shared),
    };
    (feed, Intake { shared })
}

impl Feed {
    /// Hands over the appends of a durable commit; never waits.
    pub(crate) fn push(&self, appends: Vec<Append>) {
        let mut state = self.shared.lock();
        for append in appends {
            state.waiting += 1;
            state.bytes += append.records.len();
            state.appends.push_back(append);
        }
        drop(state);
        self.shared.work.notify_one();
    }

    /// Waits until the queue is within its bounds.
    ///
    /// # Errors
    /// When the writer has failed.
    pub(crate) fn wait_for_room(&self) -> Result<(), Lost> {
        let mut state = self.shared.lock();
        loop {
            if let Some(why) = &state.failed {
                return Err(Lost(why.clone()));
            }
            if state.bytes <= self.shared.bytes_max && state.waiting <= APPENDS_MAX {
                return Ok(());
            }
            let waited = self.shared.room.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Lowers positions to what history has; answers a number that moves when it has more, where
    /// that held something back.
    pub(crate) fn hold_back(&self, positions: &mut Positions) -> Option<u64> {
        let state = self.shared.lock();
        let mut held = None;
        for (group, position) in positions {
            let taken: Sequence = state.durable.get(group).copied().unwrap_or_default();
            if *position > taken {
                *position = taken;
                held = Some(state.moved);
            }
        }
        held
    }

    /// The number that moves when history has more.
    pub(crate) fn moved(&self) -> u64 {
        self.shared.lock().moved
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.work.notify_one();
    }
}

impl Intake {
    /// What waits, and whether more may come; waits for it at most `patience`. It counts until
    /// [`Self::done`].
    pub(crate) fn take(&self, patience: Duration) -> (VecDeque<Append>, bool) {
        let state = self.shared.lock();
        let idle = |state: &mut State| state.appends.is_empty() && !state.closed;
        let waited = self.shared.work.wait_timeout_while(state, patience, idle);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let open = !state.closed;
        (std::mem::take(&mut state.appends), open)
    }

    /// An append that was taken is packed.
    pub(crate) fn done(&self, append: &Append) {
        let mut state = self.shared.lock();
        state.waiting -= 1;
        state.bytes -= append.records.len();
        drop(state);
        self.shared.room.notify_one();
    }

    /// History has come this far, durably.
    pub(crate) fn reached(&self, durable: &Positions) {
        let mut state = self.shared.lock();
        state.durable.clone_from(durable);
        state.moved += 1;
    }

    /// The writer ends with a failure.
    pub(crate) fn fail(&self, why: &str) {
        self.shared.lock().failed = Some(why.to_owned());
        self.shared.room.notify_one();
    }

    /// What waits now.
    pub(crate) fn waiting(&self) -> Waiting {
        let state = self.shared.lock();
        Waiting {
            appends: state.waiting,
            bytes: state.bytes,
        }
    }
}
