//! `[telemetry]`: what the node says about itself. Read by `telemetry`.

use super::setting::{choice, section, text};

section! {
    /// What the node says about itself. No setting prints a handle, a key or a message.
    Telemetry = "telemetry" {
        /// How log lines on standard error look.
        log_format: String = choice("text", &["text", "json"]),
        /// "on" writes a line at `info` for every request: its id, route, status and milliseconds. "off"
        /// writes one at `warn` for each that fails, and at `debug` for each that is refused.
        access_log: String = choice("off", &["off", "on"]),
        /// Which log lines: a level, or levels by module ("info,interlock_actors=debug").
        log_filter: String = text("info,actix_server=warn,actix_http=off,sled=off"),
    }
}
