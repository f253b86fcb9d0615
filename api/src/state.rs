//! What every handler reaches: the directory, the decider, the limits, and hooks the root package
//! fills.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use interlock_domain::time::Timestamp;

use crate::analysis::Analysis;
use crate::directory::Directory;
use crate::limits::ApiLimits;
use crate::list::SuppressionList;
use crate::plane::Plane;

/// Shared by all workers.
pub struct AppState<D> {
    /// Spaces and keys.
    pub directory: Arc<Directory>,
    /// Who decides.
    pub decider: D,
    /// Shadow runs and figures.
    pub analysis: Analysis,
    /// The suppression lists as readers follow them; the root package feeds them.
    pub list: Arc<SuppressionList>,
    /// The bounds.
    pub limits: ApiLimits,
    /// The node's time. Stamps the ids of answers that nobody decided and says which key signs;
    /// decides nothing else.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether the node can decide.
    pub readiness: Arc<dyn Fn() -> Readiness + Send + Sync>,
    /// The metrics of the process as Prometheus text; bind it to the recorder's handle.
    pub metrics: Arc<dyn Fn() -> String + Send + Sync>,
    /// Where a space's documents are read and changed.
    pub plane: Arc<dyn Plane>,
    /// The clock a test may move; `None` in production, where `/test/clock` does not exist.
    pub test_clock: Option<Arc<dyn TestClock>>,
}

impl<D> fmt::Debug for AppState<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppState")
            .field("limits", &self.limits)
            .field("test_clock", &self.test_clock.is_some())
            .finish_non_exhaustive()
    }
}

/// Whether the node can decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Everything is rebuilt and the clock is trusted.
    Ready,
    /// Not yet, or not any more: why, in one of a few fixed words (`rebuilding`, `clock_suspect`,
    /// `stopping`).
    NotReady(&'static str),
}

/// A clock a test may move.
pub trait TestClock: Send + Sync {
    /// The time it shows.
    fn now(&self) -> Timestamp;

    /// Moves it forward; done when every shard has seen the new time.
    fn set(
        &self,
        now: Timestamp,
    ) -> Pin<Box<dyn Future<Output = Result<(), BackInTime>> + Send + '_>>;
}

/// The clock only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackInTime;
