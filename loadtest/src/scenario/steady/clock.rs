//! The test's clock of a server, moved faster than time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::ask::Client;
use crate::connection::excerpt;
use crate::html::civil;
use crate::interrupt;
use crate::target::Endpoint;

/// 2026-01-05T00:00:00Z, in milliseconds since 1970.
const START_MS: u64 = 1_767_571_200_000;
/// From one step to the next, at least: the server answers one when it has swept.
const STEP: Duration = Duration::from_secs(1);

/// Where the clock begins.
pub(super) fn start() -> String {
    rfc3339(START_MS)
}

/// Moves the clock `speed` times as fast as time, until it is over.
pub(super) fn follow(to: &Endpoint, speed: f64, over: &AtomicBool) -> Result<(), String> {
    let began = Instant::now();
    let mut client = Client::connect(to)?;
    let mut next = began + STEP;
    while !over.load(Ordering::Relaxed) && !interrupt::asked() {
        if Instant::now() < next {
            thread::sleep(STEP / 20);
            continue;
        }
        let passed_ms = began.elapsed().as_secs_f64() * speed * 1000.0;
        let body = format!(r#"{{"now":"{}"}}"#, rfc3339(START_MS + passed_ms as u64));
        let (status, answer) = client.send(&put(to, &body))?;
        if status != 200 {
            return Err(format!(
                "/test/clock: status {status}: {}",
                excerpt(&answer)
            ));
        }
        next = (next + STEP).max(Instant::now());
    }
    Ok(())
}

fn put(to: &Endpoint, body: &str) -> Vec<u8> {
    format!(
        "PUT /test/clock HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        to.host,
        body.len()
    )
    .into_bytes()
}

fn rfc3339(ms: u64) -> String {
    let (year, month, day) = civil(ms / 86_400_000);
    let (seconds, millis) = (ms / 1000 % 86_400, ms % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_the_server_reads_it() {
        assert_eq!(start(), "2026-01-05T00:00:00.000Z");
        assert_eq!(
            rfc3339(START_MS + 86_400_000 + 3_723_004),
            "2026-01-06T01:02:03.004Z"
        );
    }
}
