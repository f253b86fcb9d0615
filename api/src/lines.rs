//! Whose batch is worked on next.
//!
//! A batch keeps a worker, the shards and the disk busy for milliseconds, a single check for
//! microseconds. So the bytes of batches that are worked on at once are bounded: for each space, less
//! while other spaces ask too, and for all together. Batches beyond that wait here, in the order in
//! which they came, after their body was read and before it is parsed; a bounded number of each space,
//! the next one is refused. Single requests never wait here. And a batch is decided a part at a time
//! while other spaces ask too.
//!
//! Not here: the bounds on what is inside the node (`actors`), and on what a key may send
//! ([`rate`](crate::rate)). Called by [`extract`](crate::extract). A space has one entry from its first
//! batch on, so there are never more of them than spaces.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dashmap::DashMap;
use interlock_domain::key::SpaceId;
use interlock_wire::problem::Code;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits::ApiLimits;
use crate::metrics;
use crate::problem::Failure;
use crate::stopwatch::Stopwatch;

/// What is counted: a batch takes its bytes in such parts, rounded up.
const PART_BYTES: usize = 1_024;
/// Checks of a batch that are decided at once while another space asks too: what they have recorded is
/// synced in well under a millisecond more than one check takes.
const BESIDE_CHECKS: usize = 125;

/// The lines of all spaces. Shared by all workers.
pub struct Lines {
    bounds: Bounds,
    node: Arc<Semaphore>,
    spaces: DashMap<SpaceId, Arc<Line>>,
    askers: Mutex<[Option<Asker>; 2]>,
    since: Stopwatch,
}

#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Parts of all batches at once; a space that is alone may have all of them.
    node: u32,
    /// Parts of one space's batches at once while others ask.
    beside: u32,
    /// Batches of one space that wait.
    waiting: usize,
    /// How long a space counts as one that asks, in milliseconds.
    asks_ms: u64,
    retry_after_s: u32,
}

/// One space's line.
struct Line {
    alone: Arc<Semaphore>,
    beside: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// A space that asked, and when.
#[derive(Clone, Copy)]
struct Asker {
    space: SpaceId,
    at_ms: u64,
}

/// A batch's place among those that are worked on; it is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    _permits: [Option<OwnedSemaphorePermit>; 3],
}

/// One that waits, counted until its turn has come or it leaves.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    /// Joins those that wait; `None` when as many do as may.
    fn join(waiting: &'a AtomicUsize, waiting_max: usize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        metrics::batch_waits();
        let joined = Self(waiting);
        (before < waiting_max).then_some(joined)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        metrics::batch_waited();
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl Lines {
    /// Nobody waits.
    #[must_use]
    pub fn new(limits: &ApiLimits) -> Self {
        let node = parts(limits.batches_bytes_max);
        let bounds = Bounds {
            node,
            beside: parts(limits.batches_bytes_per_space_max).min(node),
            waiting: limits.batches_waiting_per_space_max,
            asks_ms: limits.space_asks_ms,
            retry_after_s: limits.retry_after_s,
        };
        Self {
            bounds,
            node: semaphore(node),
            spaces: DashMap::new(),
            askers: Mutex::new([None; 2]),
            since: Stopwatch::start(),
        }
    }

    /// Notes that a space asks for something, whatever it is.
    pub fn asks(&self, space: SpaceId) {
        let at_ms = self.now_ms();
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        let [last, before] = &mut *askers;
        if last.is_some_and(|last| last.space != space) {
            *before = *last;
        }
        *last = Some(Asker { space, at_ms });
    }

    /// Has only this space asked of late? Of the last two spaces that did at least one is another.
    fn is_alone(&self, space: SpaceId) -> bool {
        let now_ms = self.now_ms();
        let askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        let asks = |asker: &Asker| {
            asker.space != space && now_ms.saturating_sub(asker.at_ms) < self.bounds.asks_ms
        };
        !askers.iter().flatten().any(asks)
    }

    /// How many checks of a batch of the space may be decided at once now. All of them where no other
    /// space asks; else few, for whoever asks meanwhile waits for the sync of all that are.
    #[must_use]
    pub fn checks_at_once(&self, space: SpaceId) -> usize {
        if self.is_alone(space) {
            usize::MAX
        } else {
            BESIDE_CHECKS
        }
    }

    /// Whether one more batch of the space could wait. Takes nothing.
    ///
    /// # Errors
    /// 429 when as many wait as may.
    pub fn look(&self, space: SpaceId) -> Result<(), Failure> {
        let line = self.spaces.get(&space);
        let is_full = |line: &Line| line.waiting.load(Ordering::Relaxed) >= self.bounds.waiting;
        if line.is_some_and(|line| is_full(&line)) {
            return Err(self.refusal());
        }
        Ok(())
    }

    /// Waits for a place for a batch of so many bytes.
    ///
    /// # Errors
    /// 429 when as many of the space wait as may, or its turn does not come within `patience`.
    pub async fn place(
        &self,
        space: SpaceId,
        bytes: usize,
        patience: Duration,
    ) -> Result<Place, Failure> {
        let line = self.line(space);
        let Some(counted) = Waiting::join(&line.waiting, self.bounds.waiting) else {
            return Err(self.refusal());
        };
        let place = tokio::time::timeout(patience, self.turn(&line, space, parts(bytes))).await;
        drop(counted);
        place.ok().flatten().ok_or_else(|| self.refusal())
    }

    /// Waits behind the space's own batches first, so that of each space few stand in the line of all.
    async fn turn(&self, line: &Line, space: SpaceId, parts: u32) -> Option<Place> {
        let Bounds { node, beside, .. } = self.bounds;
        let alone = take(&line.alone, parts.min(node)).await?;
        let beside = if self.is_alone(space) {
            None
        } else {
            Some(take(&line.beside, parts.min(beside)).await?)
        };
        let node = take(&self.node, parts.min(node)).await?;
        Some(Place {
            _permits: [Some(alone), beside, Some(node)],
        })
    }

    fn line(&self, space: SpaceId) -> Arc<Line> {
        if let Some(line) = self.spaces.get(&space) {
            return Arc::clone(&line);
        }
        let new = || {
            Arc::new(Line {
                alone: semaphore(self.bounds.node),
                beside: semaphore(self.bounds.beside),
                waiting: AtomicUsize::new(0),
            })
        };
        Arc::clone(&self.spaces.entry(space).or_insert_with(new))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.since.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn refusal(&self) -> Failure {
        metrics::batch_refused();
        Failure::new(
            Code::RateLimited,
            "the space has too many batches waiting; nothing was recorded, wait as `Retry-After` says \
             and send fewer at once",
        )
        .retry_after(self.bounds.retry_after_s)
    }
}

fn parts(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(PART_BYTES))
        .unwrap_or(u32::MAX)
        .max(1)
}

fn semaphore(parts: u32) -> Arc<Semaphore> {
    let parts = usize::try_from(parts).unwrap_or(usize::MAX);
    Arc::new(Semaphore::new(parts.min(Semaphore::MAX_PERMITS)))
}

/// `None` when it is closed, which nobody does.
async fn take(from: &Arc<Semaphore>, parts: u32) -> Option<OwnedSemaphorePermit> {
    Arc::clone(from).acquire_many_owned(parts).await.ok()
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
