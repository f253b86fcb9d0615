//! The command line, and what its parts mean: who is asked, how long, when requests start.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Args, Parser};

use crate::arrivals::{Pace, STEADY};
use crate::run::Plan;
use crate::scenario::Scenario;

/// The measured time of a run that something else ends.
pub(crate) const NO_END: Duration = Duration::from_secs(24 * 3600);

/// Drives a server with load, validates every answer and prints figures.
///
/// The server is one that runs (--url, --key) or one that is started for the run (--spawn). Requests
/// start at their times (open loop, --rate) and latency counts from then, unless --closed or the
/// scenario says otherwise. The exit status is 1 when an answer was wrong and 2 when nothing could be
/// measured; slowness and refusals for load (429, 503) do not change it.
#[derive(Debug, Parser)]
#[command(name = "interlock-load", version, max_term_width = 80)]
pub(crate) struct Options {
    /// What to ask.
    #[command(subcommand)]
    pub(crate) scenario: Scenario,
    /// Also write what was found as one page with charts
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Also write the chart of throughput by shards or customers as a file of its own, `shards.svg`
    /// or `growth.svg`, into this directory
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) svg: Option<PathBuf>,
}

/// Who is asked.
#[derive(Debug, Clone, Args)]
pub(crate) struct Where {
    /// A server that runs, http only
    #[arg(long, default_value = "http://127.0.0.1:7440")]
    pub(crate) url: String,
    /// An API key with the scope `coordinate`; without it INTERLOCK_KEY is read
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Start a server for the run, with spaces of its own, and end it afterwards; without a name it
    /// is `interlock` beside this program
    #[arg(long, num_args = 0..=1, value_name = "BINARY", conflicts_with_all = ["url", "key"])]
    pub(crate) spawn: Option<Option<PathBuf>>,
    /// Shards of the spawned server; without it as many as it chooses itself
    #[arg(long, requires = "spawn", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub(crate) shards: Option<u32>,
    /// Where the spawned server's private directory is made; without it beside its program
    #[arg(long, requires = "spawn", value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// A setting of the spawned server; may come several times
    #[arg(long, requires = "spawn", value_name = "SECTION.NAME=VALUE")]
    pub(crate) set: Vec<String>,
}

/// How long, over how many connections.
#[derive(Debug, Clone, Args)]
pub(crate) struct Length {
    /// Measured seconds
    #[arg(long, default_value_t = 10.0, value_parser = measured)]
    pub(crate) seconds: f64,
    /// Seconds of load before the measured ones
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    pub(crate) warm_up: f64,
    /// End after so many requests instead of after a time, without a warm-up
    #[arg(long, conflicts_with_all = ["seconds", "warm_up"], value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) requests: Option<u64>,
    /// Connections, each with one request under way; without it as many as suit the scenario
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) connections: Option<u64>,
}

/// When requests start.
#[derive(Debug, Clone, Args)]
pub(crate) struct Pacing {
    /// Checks (or requests, where a scenario has no checks) a second to start, whatever the answers
    /// do: an open loop. Without it a rate that suits the scenario
    #[arg(long, value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// Start the next request when the last one is answered instead: a closed loop, which finds out
    /// how much can be had, and in which a slow server hides from its latency
    #[arg(long, conflicts_with = "rate")]
    pub(crate) closed: bool,
}

/// How figures are shown.
#[derive(Debug, Clone, Args)]
pub(crate) struct Output {
    /// Print one JSON document instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

impl Pacing {
    /// What was asked for, else an open loop at `usual` units a second; `batch` units in a request.
    pub(crate) fn pace(&self, usual: f64, batch: f64) -> Pace {
        if self.closed {
            return Pace::Closed;
        }
        Pace::Open {
            per_second: self.rate.unwrap_or(usual) / batch,
            profile: STEADY,
        }
    }
}

impl Length {
    /// Puts the times, and the connections or `usual` of them, into a plan.
    pub(crate) fn apply(&self, plan: &mut Plan<'_>, usual: u64) {
        plan.connections = self.connections.unwrap_or(usual);
        (plan.warm_up, plan.measured) = self.times();
        plan.limit = self.requests;
    }

    /// The time before the measurement and that of it; no end but that of the requests, where they
    /// are counted.
    pub(crate) fn times(&self) -> (Duration, Duration) {
        let seconds = [self.warm_up, self.seconds].map(Duration::from_secs_f64);
        match self.requests {
            Some(_) => (Duration::ZERO, NO_END),
            None => (seconds[0], seconds[1]),
        }
    }
}

/// Differs between runs: hundredths of a second, which repeat after a year and four months.
pub(crate) fn run_tag() -> u32 {
    (unix_ms() / 10) as u32
}

/// Milliseconds since 1970.
pub(crate) fn unix_ms() -> u64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    since.as_millis() as u64
}

/// The command line as it was given, without keys.
pub(crate) fn command_line(words: impl Iterator<Item = String>) -> String {
    let mut shown = vec!["interlock-load".to_owned()];
    let mut hides = false;
    for word in words.skip(1) {
        let secret = ["--key", "--quiet-key", "--gateway-key"]
            .iter()
            .any(|name| word.starts_with(name));
        shown.push(match word.split_once('=') {
            _ if hides => "…".to_owned(),
            Some((name, _)) if secret => format!("{name}=…"),
            Some(_) | None => word.clone(),
        });
        hides = secret && !word.contains('=');
    }
    shown.join(" ")
}

pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.0..=86_400.0).contains(&value) {
        Ok(value)
    } else {
        Err("0 to 86400".to_owned())
    }
}

/// Too short a run has no figures.
pub(crate) fn measured(text: &str) -> Result<f64, String> {
    let value = seconds(text)?;
    if value >= 0.1 {
        Ok(value)
    } else {
        Err("0.1 to 86400".to_owned())
    }
}

pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if (0.1..=1e9).contains(&value) {
        Ok(value)
    } else {
        Err("0.1 to 1000000000".to_owned())
    }
}

/// Names go into request bodies as they are, so they must be what the contract calls a name.
pub(crate) fn name(text: &str) -> Result<String, String> {
    let first = text.starts_with(|c: char| c.is_ascii_lowercase());
    let rest = text
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if first && rest && text.len() <= 40 {
        Ok(text.to_owned())
    } else {
        Err("a name reads [a-z][a-z0-9_]*, at most 40 characters".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        let words = ["interlock-load"].into_iter().chain(line.split(' '));
        Options::try_parse_from(words)
    }

    #[test]
    fn the_command_line_makes_sense() {
        Options::command().debug_assert();
    }

    #[test]
    fn good_lines_are_taken() {
        let good = [
            "batch",
            "batch --spawn",
            "batch --spawn --closed --shards 2 --data . --set limits.space_asks_ms=0",
            "single --url http://127.0.0.1:1 --key k --rate 5000",
            "hot --on customer,object --key k",
            "shards --spawn --list 1,2",
            "growth --spawn --steps 1000,2000",
            "peer --spawn --peer redis,postgres --at 1,4",
        ];
        for line in good {
            assert!(parsed(line).is_ok(), "{line}: {:?}", parsed(line).err());
        }
    }

    #[test]
    fn bad_values_are_refused() {
        let bad = [
            "",
            "batch --batch 501",
            "batch --seconds -1",
            "batch --seconds 0",
            "batch --purpose Bad",
            "batch --closed --rate 5",
            "batch --shards 2",
            "batch --spawn --url http://127.0.0.1:1",
            "single --order-probes 1",
        ];
        for line in bad {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_command_line_is_shown_without_its_key() {
        let words = [
            "x/load",
            "batch",
            "--key",
            "secret",
            "--key=other",
            "--rate",
            "5",
        ];
        let shown = command_line(words.into_iter().map(str::to_owned));
        assert_eq!(shown, "interlock-load batch --key … --key=… --rate 5");
    }

    #[test]
    fn a_rate_is_of_units_and_a_pace_of_requests() {
        let pacing = |rate, closed| Pacing { rate, closed };
        let open = |per_second| Pace::Open {
            per_second,
            profile: STEADY,
        };
        assert_eq!(pacing(None, false).pace(5_000.0, 500.0), open(10.0));
        assert_eq!(pacing(Some(50.0), false).pace(5_000.0, 1.0), open(50.0));
        assert_eq!(pacing(None, true).pace(5_000.0, 1.0), Pace::Closed);
    }
}
