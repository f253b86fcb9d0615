//! What is counted over many decisions: shadow runs and the overview (§18).
//!
//! Here: what both share: the way into history, the thread they work on and how little of a machine
//! they take. In `analysis/`: each of them. Not here: the rules and the counts (`domain`), and the
//! routes (`contact/reports`). Nobody's check waits for any of it: history is read outside the event
//! loop, entities are looked at in slices between the turns of the shards.

pub(crate) mod figures;
pub(crate) mod runs;
pub(crate) mod summary;

use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use actix_web::rt;
use interlock_actors::history::Receipt;
use interlock_domain::contact::Contact;
use interlock_domain::time::Timestamp;
use tokio::sync::Semaphore;

use self::figures::Figures;
use self::runs::Runs;

/// Notes that are read before the reader lets others have the machine.
const NOTES_AT_ONCE: u32 = 4_096;

/// How long it lets them.
const PAUSE: Duration = Duration::from_millis(1);

/// Looks at all entities beside those of figures that are under way at once. A shard queues four
/// altogether and gives up what is more: two are for figures, and one is left to the operator's verbs.
const LOOKS_MAX: usize = 1;

/// Requests that wait for such a look, with the one that has it, at most; more are told to come again.
const WAITS_MAX: usize = 256;

/// Takes one note; says whether to go on.
pub type Visit<'v> = &'v mut dyn FnMut(Receipt<Contact>) -> ControlFlow<()>;

/// The notes of past decisions.
pub trait History: Send + Sync {
    /// Visits every note decided from `from` to `upto`, both included, once each, nearly in the
    /// order of time, until the visitor breaks off. It reads files: never called on the event loop.
    ///
    /// # Errors
    /// Why history cannot be read, for the operator's log.
    fn between(&self, from: Timestamp, upto: Timestamp, visit: Visit<'_>) -> Result<(), String>;
}

/// Shadow runs and figures of a node.
pub struct Analysis {
    history: Arc<dyn History>,
    pub(crate) runs: Runs,
    pub(crate) figures: Figures,
    /// Who may look at all entities beside figures.
    pub(crate) looks: Arc<Semaphore>,
    /// Who may wait for that.
    pub(crate) waits: Semaphore,
}

impl fmt::Debug for Analysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Analysis")
    }
}

impl Analysis {
    /// Over a node's history.
    #[must_use]
    pub fn new(history: Arc<dyn History>) -> Self {
        Self::bounded(history, runs::MESSAGES_AT_ONCE_MAX, figures::QUICK)
    }

    /// The same, holding at most so many messages at once: what has more is read in several passes.
    /// Figures that take longer than `quick` are shown for a minute.
    #[must_use]
    pub fn bounded(
        history: Arc<dyn History>,
        messages_at_once_max: usize,
        quick: Duration,
    ) -> Self {
        Self {
            history,
            runs: Runs::new(messages_at_once_max),
            figures: Figures::new(quick),
            looks: Arc::new(Semaphore::new(LOOKS_MAX)),
            waits: Semaphore::new(WAITS_MAX),
        }
    }

    /// Reads history on a thread of its own. Ends early, with an error, when this future is
    /// dropped.
    pub(crate) async fn read<T, F>(&self, work: F) -> Result<T, String>
    where
        T: Send + 'static,
        F: FnOnce(&Reader) -> Result<T, String> + Send + 'static,
    {
        let stop = Stop(Arc::new(AtomicBool::new(false)));
        let reader = Reader {
            history: Arc::clone(&self.history),
            stop: Arc::clone(&stop.0),
        };
        let done = rt::task::spawn_blocking(move || work(&reader)).await;
        drop(stop);
        done.map_err(|error| format!("the reader of history ended: {error}"))?
    }
}

/// Tells the reader to end, when whoever wanted it has gone.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Reads history, and lets others have the machine in between.
pub(crate) struct Reader {
    history: Arc<dyn History>,
    stop: Arc<AtomicBool>,
}

impl Reader {
    /// Visits the notes of a span.
    ///
    /// # Errors
    /// History cannot be read, or nobody waits for it any more.
    pub(crate) fn between(
        &self,
        (from, upto): (Timestamp, Timestamp),
        visit: &mut dyn FnMut(Receipt<Contact>),
    ) -> Result<(), String> {
        let mut seen: u32 = 0;
        self.history.between(from, upto, &mut |receipt| {
            seen = seen.wrapping_add(1);
            if seen.is_multiple_of(NOTES_AT_ONCE) {
                std::thread::park_timeout(PAUSE);
            }
            if self.stop.load(Ordering::Relaxed) {
                return ControlFlow::Break(());
            }
            visit(receipt);
            ControlFlow::Continue(())
        })?;
        if self.stop.load(Ordering::Relaxed) {
            return Err("nobody waits for it any more".to_owned());
        }
        Ok(())
    }
}
