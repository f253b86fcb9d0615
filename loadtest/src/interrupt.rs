//! Ctrl-C, SIGTERM and a terminal that goes away: loops of the harness ask [`asked`] and come to their
//! end, so that what they started is ended and what they made is removed. Further signals change
//! nothing, for they often come in pairs and would leave a server behind; the end is bounded by what
//! a server's stop may take.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Begins to listen. Call it once, before anything is started that has to be ended.
pub(crate) fn listen() -> Result<(), String> {
    let asked = Arc::clone(ASKED.get_or_init(Arc::default));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&asked))
            .map_err(|error| format!("signal {signal} cannot be listened to: {error}"))?;
    }
    Ok(())
}

/// The longest that a sleep does not notice.
const SLICE: Duration = Duration::from_millis(100);

/// Sleeps until a moment, or until somebody asks the harness to stop.
pub(crate) fn sleep_until(moment: Instant) {
    while !asked() {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::sleep(left.min(SLICE));
    }
}

/// An error once somebody asked the harness to stop.
pub(crate) fn check() -> Result<(), String> {
    if asked() {
        Err("stopped before it was over".to_owned())
    } else {
        Ok(())
    }
}

/// Whether somebody asked the harness to stop.
pub(crate) fn asked() -> bool {
    ASKED.get().is_some_and(|it| it.load(Ordering::Relaxed))
}
