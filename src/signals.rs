//! SIGTERM and SIGINT: the first drains, the second ends at once. SIGHUP: the certificate is new.
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
    /// `None` where there is nothing to renew: then a terminal that goes away ends the process.
    hang_up: Option<Signal>,
}

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To end; the signal's name.
    End(&'static str),
    /// To read the certificate again.
    Renew,
}

impl Signals {
    /// Takes over the signals; SIGHUP only when there is something to `renew`.
    ///
    /// # Errors
    /// When the operating system refuses.
    pub(crate) fn take(renew: bool) -> Result<Self, Stop> {
        let take = |kind| {
            signal(kind).map_err(|error| Stop::new(Exit::Bug, format!("no signals: {error}")))
        };
        Ok(Self {
            terminate: take(SignalKind::terminate())?,
            interrupt: take(SignalKind::interrupt())?,
            hang_up: renew.then(|| take(SignalKind::hangup())).transpose()?,
        })
    }

    /// What the next of them asks for.
    pub(crate) async fn next(&mut self) -> Asked {
        let hang_up = async {
            match &mut self.hang_up {
                Some(hang_up) => hang_up.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => Asked::End("SIGTERM"),
            _ = self.interrupt.recv() => Asked::End("SIGINT"),
            _ = hang_up => Asked::Renew,
        }
    }

    /// The next that asks for the end, by name.
    async fn next_end(&mut self) -> &'static str {
        loop {
            if let Asked::End(name) = self.next().await {
                return name;
            }
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
                _ = self.next_end() => {}
            }
        }
        let name = self.next_end().await;
        let message = format!("{name} again: stopped before the drain was over");
        exit::at_once(&Stop::new(Exit::Forced, message))
    }
}
