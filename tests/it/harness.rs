//! Starting, asking, restarting and ending real servers.
//!
//! Here: [`Setup`] says how a server is started, [`Server`] is one that runs, [`Data`] is a data
//! directory that outlives it. Not here: what is asked of it. Every wait has a bound and polls; a
//! wait that ends names what was waited for and what the server said.
//!
//! ```ignore
//! let server = Setup::new().seed(&seed).shards(2).test_clock("2026-01-05T12:00:00Z").start();
//! let answer = server.post("/v1/coordination/check", KEY, &json!({…}));
//! assert_eq!(answer.status, 200);
//! let server = server.kill().shards(3).start();     // SIGKILL, then again on the same data
//! let ended = server.terminate();                   // SIGTERM; the code and the last words
//! assert_eq!(ended.code, Some(0));
//! ```

mod documented;
mod http;
mod output;
mod process;
mod setup;

pub(crate) use self::http::Client;
pub(crate) use self::process::Server;
pub(crate) use self::setup::Setup;

use std::time::{Duration, Instant};

/// The longest a start, a stop or an answer may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Polls until there is something.
///
/// # Panics
/// When there is nothing after [`PATIENCE`].
#[expect(
    clippy::disallowed_methods,
    reason = "the one bounded poll of these tests"
)]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let give_up = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < give_up, "waited in vain: {what}");
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// How many times: what the environment asks for, else what the gate has time for.
pub(crate) fn count(variable: &str, usual: usize) -> usize {
    std::env::var(variable).map_or(usual, |text| text.parse().expect("a number"))
}

/// Says what a test measured or how much it looked at. `cargo xtask test` shows it also where the test
/// passes.
#[expect(clippy::print_stdout, reason = "a figure is what a test says")]
pub(crate) fn figure(said: std::fmt::Arguments<'_>) {
    println!("figure: {said}");
}

/// A time until which something goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until(Instant);

impl Until {
    /// So long from now.
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is outside the server and measures by the machine's clock"
    )]
    pub(crate) fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// Is it over?
    #[expect(
        clippy::disallowed_methods,
        reason = "the test is outside the server and measures by the machine's clock"
    )]
    pub(crate) fn is_over(self) -> bool {
        Instant::now() >= self.0
    }
}

/// Tells how long it is since it was made.
#[expect(
    clippy::disallowed_methods,
    reason = "the test is outside the server and measures by the machine's clock"
)]
pub(crate) fn stopwatch() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}
