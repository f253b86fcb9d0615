//! SIGTERM and SIGINT: the first drains, the second ends at once.
//!
//! Here: waiting for them. Not here: the drain (`serve`).

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit::{self, Exit, Stop};

/// Signals that come this close together are one.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// The signals that ask the process to end.
#[derive(Debug)]
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Takes over both signals.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn take() -> Result<Self, Stop> {
        let take = |kind| {
            signal(kind).map_err(|error| Stop::new(Exit::Bug, format!("no signals: {error}")))
        };
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
        })
    }

    /// The next of them, by name.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// Waits for one more and ends the process: for the time a drain takes. A supervisor that
    /// signals the process and then its whole group (as `timeout` does) means one signal.
    pub(crate) async fn end_at_next(&mut self) -> ! {
        let same = tokio::time::sleep(SAME_SIGNAL);
        tokio::pin!(same);
        loop {
            tokio::select! {
                () = &mut same => break,
                _ = self.next() => {}
            }
        }
        let name = self.next().await;
        let message = format!("{name} again: stopped before the drain was over");
        exit::at_once(&Stop::new(Exit::Forced, message))
    }
}
