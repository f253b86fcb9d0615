//! Paid operations: each connection asks for a call of one operation and settles it, one request after
//! the other. Every answer is judged: an admission has the units that were asked for, and a settlement
//! shows the same admission with what it cost.

use std::fmt;
use std::io::Write as _;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use hdrhistogram::Histogram;
use serde::Serialize;
use serde_json::Value;

use crate::http::Reader;
use crate::options::{self, measured, name, seconds};

/// Latencies are kept to three digits, from one microsecond to two minutes.
const LATENCY_NS: (u64, u64) = (1_000, 120_000_000_000);
const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// Options of the scenario.
#[derive(Debug, Clone, Args)]
pub(crate) struct PaidOptions {
    /// The server, http only
    #[arg(long, default_value = "http://127.0.0.1:7440")]
    url: String,
    /// An API key with the scope `coordinate`
    #[arg(long)]
    key: String,
    /// An operation whose scope is the space, with a cap that the run does not reach
    #[arg(long, value_parser = name)]
    operation: String,
    /// Units of each call
    #[arg(long, default_value_t = 1)]
    cost_units: u32,
    /// Measured seconds
    #[arg(long, default_value_t = 10.0, value_parser = measured)]
    seconds: f64,
    /// Seconds of load before the measured ones
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    warm_up: f64,
    /// Connections, each with one request under way
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1000))]
    connections: u64,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Figures of a run.
#[derive(Debug, Serialize)]
pub(crate) struct PaidReport {
    /// Calls that were admitted and settled in the measured time.
    calls: u64,
    /// The same in a second.
    calls_per_s: f64,
    /// Requests in a second: two for each call.
    requests_per_s: f64,
    /// Milliseconds a request took: the median and 99 of 100.
    latency_ms: [f64; 2],
    /// Connections.
    connections: u64,
}

impl fmt::Display for PaidReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, high] = self.latency_ms;
        writeln!(f, "paid, {} connections", self.connections)?;
        writeln!(
            f,
            "  calls      {:>10}  {:>9.0} a second",
            self.calls, self.calls_per_s
        )?;
        writeln!(f, "  requests   {:>21.0} a second", self.requests_per_s)?;
        write!(
            f,
            "  latency    median {median:.2} ms, 99 of 100 {high:.2} ms"
        )
    }
}

/// Carries out a run. The first answer that is not the expected one ends it.
pub(crate) fn run(asked: &PaidOptions) -> Result<PaidReport, String> {
    let (host, address) = options::resolve(&asked.url)?;
    let start = Instant::now();
    let from = start + Duration::from_secs_f64(asked.warm_up);
    let end = from + Duration::from_secs_f64(asked.seconds);
    let tag = options::run_tag();
    let parts = thread::scope(|scope| {
        let threads: Vec<_> = (0..asked.connections)
            .map(|number| {
                let caller = Caller {
                    asked,
                    host: host.clone(),
                    prefix: format!("load-{tag}-{number}"),
                };
                scope.spawn(move || caller.drive(address, from, end))
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread
                .join()
                .unwrap_or_else(|_| Err("a connection's thread panicked".to_owned()))
        };
        threads.into_iter().map(join).collect::<Result<Vec<_>, _>>()
    })?;
    let mut latency = histogram()?;
    for part in &parts {
        latency.add(part).map_err(|error| error.to_string())?;
    }
    let ms = |quantile| latency.value_at_quantile(quantile) as f64 / 1e6;
    let requests = latency.len();
    let requests_per_s = requests as f64 / asked.seconds;
    Ok(PaidReport {
        calls: requests / 2,
        calls_per_s: requests_per_s / 2.0,
        requests_per_s,
        latency_ms: [ms(0.5), ms(0.99)],
        connections: asked.connections,
    })
}

fn histogram() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(LATENCY_NS.0, LATENCY_NS.1, 3)
        .map_err(|error| format!("the latency histogram: {error}"))
}

/// One connection.
#[derive(Debug)]
struct Caller<'a> {
    asked: &'a PaidOptions,
    host: String,
    /// What sets its idempotency keys apart from those of every other connection and run.
    prefix: String,
}

impl Caller<'_> {
    /// Calls until the end; answers how long each measured request took, two for each call.
    fn drive(
        &self,
        address: SocketAddr,
        from: Instant,
        end: Instant,
    ) -> Result<Histogram<u64>, String> {
        let broken = |error: std::io::Error| format!("{address}: {error}");
        let mut stream = TcpStream::connect_timeout(&address, ANSWER_WAIT).map_err(broken)?;
        stream.set_nodelay(true).map_err(broken)?;
        stream.set_read_timeout(Some(ANSWER_WAIT)).map_err(broken)?;
        let mut reader = Reader::new();
        let mut latency = histogram()?;
        let cost = self.asked.cost_units;
        let wanted = format!(
            "{{\"operation\":\"{}\",\"cost_units\":{cost}}}",
            self.asked.operation
        );
        let settled = format!("{{\"state\":\"done\",\"cost_units\":{cost}}}");
        let mut call = 0_u64;
        while Instant::now() < end {
            call += 1;
            let started = Instant::now();
            let mut ask =
                |path: &str, word: &str, body: &str| -> Result<(Value, Duration), String> {
                    let begun = Instant::now();
                    let request = self.request(path, &format!("{word}-{call}"), body);
                    stream.write_all(&request).map_err(broken)?;
                    let answer = reader.read(&mut stream).map_err(broken)?;
                    let took = begun.elapsed();
                    let text = String::from_utf8_lossy(reader.body());
                    if !matches!(answer.status, 200 | 201) {
                        return Err(format!("status {}: {text}", answer.status));
                    }
                    let body =
                        serde_json::from_str(&text).map_err(|error| format!("{error}: {text}"))?;
                    Ok((body, took))
                };
            let (admission, first) = ask("/v1/coordination/admissions", "a", &wanted)?;
            let id = admitted(&admission, cost)?;
            let path = format!("/v1/coordination/admissions/{id}/settle");
            let (done, second) = ask(&path, "s", &settled)?;
            is_settled(&done, id, cost)?;
            if started >= from {
                for took in [first, second] {
                    let ns = u64::try_from(took.as_nanos()).unwrap_or(LATENCY_NS.1);
                    latency.saturating_record(ns);
                }
            }
        }
        Ok(latency)
    }

    fn request(&self, path: &str, word: &str, body: &str) -> Vec<u8> {
        format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: \
             application/json\r\nidempotency-key: {}-{word}\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            self.asked.key,
            self.prefix,
            body.len()
        )
        .into_bytes()
    }
}

/// The id of an admission that has the units asked for.
fn admitted(answer: &Value, units: u32) -> Result<&str, String> {
    let id = answer["admission_id"].as_str();
    match id {
        Some(id) if answer["state"] == "reserved" && answer["units"] == units => Ok(id),
        Some(_) | None => Err(format!("no admission of {units} units: {answer}")),
    }
}

/// A settlement shows the admission it settled, and what it cost.
fn is_settled(answer: &Value, id: &str, cost: u32) -> Result<(), String> {
    if answer["admission_id"] == id && answer["state"] == "done" && answer["units"] == cost {
        Ok(())
    } else {
        Err(format!(
            "not the settlement of {id} at {cost} units: {answer}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_is_not_the_expected_one_is_told() {
        let good = json!({"admission_id": "a", "state": "reserved", "units": 2});
        assert_eq!(admitted(&good, 2), Ok("a"));
        assert!(admitted(&good, 1).is_err());
        assert!(admitted(&json!({"state": "reserved", "units": 2}), 2).is_err());
        let done = json!({"admission_id": "a", "state": "done", "units": 2});
        assert_eq!(is_settled(&done, "a", 2), Ok(()));
        assert!(is_settled(&done, "b", 2).is_err());
        assert!(is_settled(&good, "a", 2).is_err());
    }
}
