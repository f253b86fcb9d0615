//! A thread that does the writing, so that the caller can stop waiting for it.
//!
//! Here: running one step at a time with a bound on the wait. Not here: the steps. Called by the
//! store only.
//!
//! sled 0.34 can wait for itself for ever: it shrinks its file in the background, waits for that
//! while it holds a lock, and the seven threads it has for background work may all be waiting for
//! the same lock. The store keeps its batches small to stay clear of that; should it happen all
//! the same, or should the disk not answer, the outcome is unknown and the process has to end.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Parts in which the longest wait is waited for.
const WAIT_PARTS: u32 = 10;

type Outcome = Result<(), String>;
type Step = Box<dyn FnOnce() -> Outcome + Send>;
/// A step and where its outcome is waited for.
type Order = (Step, SyncSender<Outcome>);

/// See the module.
pub(super) struct Worker {
    steps: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

impl Worker {
    /// Starts the thread.
    pub(super) fn start() -> std::io::Result<Self> {
        let (steps, waiting) = sync_channel(1);
        let thread = thread::Builder::new()
            .name("storage-writer".to_owned())
            .spawn(move || work(&waiting))?;
        Ok(Self {
            steps: Some(steps),
            thread: Some(thread),
        })
    }

    /// Runs a step and waits for it at most so long. After the wait has ended without an answer
    /// the thread is lost and every later step fails.
    pub(super) fn run(&mut self, most: Duration, step: Step) -> Result<(), String> {
        let (answer, answered) = sync_channel(1);
        let gone = || Err("the writing thread is gone".to_owned());
        let Some(steps) = &self.steps else {
            return gone();
        };
        if steps.send((step, answer)).is_err() {
            return gone();
        }
        // A process that was stopped and goes on finds one part over, however long it stood: the
        // thread that writes stood still as well.
        for _ in 0..WAIT_PARTS {
            match answered.recv_timeout(most / WAIT_PARTS) {
                Ok(outcome) => return outcome,
                Err(RecvTimeoutError::Disconnected) => return gone(),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        self.steps = None;
        self.thread = None;
        Err(format!(
            "no answer from the disk or from sled in {} ms",
            most.as_millis()
        ))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.steps = None;
        if let Some(thread) = self.thread.take() {
            // Steps catch their panics, so the thread ends when there are no more.
            let _ended = thread.join();
        }
    }
}

fn work(waiting: &Receiver<Order>) {
    while let Ok((step, answer)) = waiting.recv() {
        let outcome = catch_unwind(AssertUnwindSafe(step))
            .unwrap_or_else(|panic| Err(format!("a panic: {}", super::store::text_of(&*panic))));
        // Nobody may be waiting any more.
        let _heard = answer.send(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_run_in_order_and_their_ends_are_told() {
        let mut worker = Worker::start().expect("a thread can be started");
        let most = Duration::from_secs(600);
        assert_eq!(worker.run(most, Box::new(|| Ok(()))), Ok(()));
        let failed = worker.run(most, Box::new(|| Err("no".to_owned())));
        assert_eq!(failed, Err("no".to_owned()));
        let panicked = worker.run(most, Box::new(|| panic!("oh")));
        assert_eq!(panicked, Err("a panic: oh".to_owned()));
        assert_eq!(worker.run(most, Box::new(|| Ok(()))), Ok(()));
    }

    #[test]
    fn a_step_that_does_not_end_is_given_up() {
        let mut worker = Worker::start().expect("a thread can be started");
        let (release, held) = sync_channel::<()>(0);
        let step = move || {
            let _released = held.recv();
            Ok(())
        };
        let outcome = worker.run(Duration::from_millis(10), Box::new(step));
        assert!(outcome.is_err());
        assert!(
            worker
                .run(Duration::from_secs(600), Box::new(|| Ok(())))
                .is_err()
        );
        drop(worker);
        drop(release);
    }
}
