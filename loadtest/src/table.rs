//! What a run found, as a table of at most 80 columns or as one line of JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::answer::DECISIONS;
use crate::options::Plan;
use crate::tally::Tally;

/// The figures of one run. Times are milliseconds unless the name says otherwise.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    /// The scenario.
    pub(crate) scenario: &'static str,
    /// The server asked.
    pub(crate) url: String,
    /// The purpose of every check.
    pub(crate) purpose: String,
    /// The seed of customers and objects.
    pub(crate) seed: u64,
    /// Connections.
    pub(crate) connections: u64,
    /// Checks in a request.
    pub(crate) batch: usize,
    /// Checks a second asked for, in an open loop.
    pub(crate) target_rate: Option<f64>,
    /// Measured seconds.
    pub(crate) seconds: f64,
    /// Checks with a valid answer.
    pub(crate) checks: u64,
    /// The same a second.
    pub(crate) checks_per_second: f64,
    /// Requests with a valid answer.
    pub(crate) requests: u64,
    /// How long a request took.
    pub(crate) latency_ms: Latency,
    /// Answers by decision.
    pub(crate) decisions: BTreeMap<&'static str, u64>,
    /// Answers by reason.
    pub(crate) reasons: BTreeMap<&'static str, u64>,
    /// Answers with a token.
    pub(crate) tokens: u64,
    /// Pairs of checks whose order was proved.
    pub(crate) ordered_pairs: u64,
    /// Everything that went wrong.
    pub(crate) faults: Faults,
    /// Bytes sent.
    pub(crate) bytes_sent: u64,
    /// Bytes received.
    pub(crate) bytes_received: u64,
    /// Processor time of the generator for each check, in microseconds.
    pub(crate) generator_us_per_check: f64,
    /// Processor time of the generator as a share of one core.
    pub(crate) generator_cores: f64,
    #[serde(skip)]
    allow_refusals: bool,
    #[serde(skip)]
    failed: bool,
}

/// Latency of a request by percentile, in milliseconds.
#[derive(Debug, Serialize)]
pub(crate) struct Latency {
    /// Half of the requests took at most this.
    pub(crate) p50: f64,
    /// 90 of 100.
    pub(crate) p90: f64,
    /// 99 of 100.
    pub(crate) p99: f64,
    /// 999 of 1000.
    pub(crate) p999: f64,
    /// The longest.
    pub(crate) max: f64,
}

/// What went wrong, by kind.
#[derive(Debug, Serialize)]
pub(crate) struct Faults {
    /// Answers that break a rule of the contract.
    pub(crate) invalid_answers: u64,
    /// Requests refused for load (429, 503).
    pub(crate) refused: u64,
    /// Answers by status other than 200.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Connections that failed.
    pub(crate) broken_connections: u64,
    /// Requests of an open loop that could not be sent before the end.
    pub(crate) unsent: u64,
    /// The first of them in words.
    pub(crate) first: Vec<String>,
}

impl Report {
    /// Sums up a run.
    pub(crate) fn new(plan: &Plan, tally: &Tally, took: Duration, cpu_seconds: f64) -> Self {
        let at = |percentile| tally.latency.value_at_percentile(percentile) as f64 / 1e6;
        let seconds = took.as_secs_f64();
        Self {
            scenario: plan.title,
            url: plan.common.url.clone(),
            purpose: plan.shape.purpose.clone(),
            seed: plan.common.seed,
            connections: plan.common.connections,
            batch: plan.checks_per_request(),
            target_rate: plan.common.target_rate,
            seconds,
            checks: tally.checks,
            checks_per_second: tally.checks as f64 / seconds,
            requests: tally.requests,
            latency_ms: Latency {
                p50: at(50.0),
                p90: at(90.0),
                p99: at(99.0),
                p999: at(99.9),
                max: tally.latency.max() as f64 / 1e6,
            },
            decisions: DECISIONS.into_iter().zip(tally.counts.decisions).collect(),
            reasons: tally.counts.reasons_seen().collect(),
            tokens: tally.counts.tokens,
            ordered_pairs: tally.counts.ordered,
            faults: Faults {
                invalid_answers: tally.invalid,
                refused: tally.refused,
                statuses: tally.statuses.clone(),
                broken_connections: tally.broken,
                unsent: tally.unsent,
                first: tally.quoted.clone(),
            },
            bytes_sent: tally.bytes_sent,
            bytes_received: tally.bytes_received,
            generator_us_per_check: if tally.checks == 0 {
                0.0
            } else {
                cpu_seconds * 1e6 / tally.checks as f64
            },
            generator_cores: cpu_seconds / seconds,
            allow_refusals: plan.common.allow_refusals,
            failed: tally.failed(),
        }
    }

    /// Whether every answer was valid and the run may end with status 0.
    pub(crate) const fn passed(&self) -> bool {
        !self.failed && (self.allow_refusals || self.faults.refused == 0)
    }

    fn head(&self) -> String {
        let requests = match self.batch {
            1 => "one check a request".to_owned(),
            checks => format!("batches of {checks}"),
        };
        let pace = match self.target_rate {
            Some(rate) => format!("open loop at {}/s", grouped(rate.round() as u64)),
            None => "closed loop".to_owned(),
        };
        format!(
            "{}, {}, {} connections, {requests}, {pace}, purpose {}, seed {}, {:.1} s",
            self.scenario, self.url, self.connections, self.purpose, self.seed, self.seconds
        )
    }

    /// The rows between the run and its faults.
    fn figures(&self, row: &mut dyn FnMut(&str, &str) -> fmt::Result) -> fmt::Result {
        let rate = |count: u64| grouped((count as f64 / self.seconds).round() as u64);
        let counts = |map: &BTreeMap<&'static str, u64>| {
            let words = map
                .iter()
                .map(|(name, count)| format!("{name} {}", grouped(*count)));
            words.collect::<Vec<_>>().join(", ")
        };
        row(
            "checks",
            &format!("{} ({}/s)", grouped(self.checks), rate(self.checks)),
        )?;
        row(
            "requests",
            &format!("{} ({}/s)", grouped(self.requests), rate(self.requests)),
        )?;
        let latency = &self.latency_ms;
        let text = format!(
            "p50 {:.2}  p90 {:.2}  p99 {:.2}  p99.9 {:.2}  max {:.2}",
            latency.p50, latency.p90, latency.p99, latency.p999, latency.max
        );
        row("latency ms", &text)?;
        row("decisions", &counts(&self.decisions))?;
        row("reasons", &counts(&self.reasons))?;
        let order = format!(
            "{} pairs, {} tokens",
            grouped(self.ordered_pairs),
            self.tokens
        );
        row("order proved", &order)?;
        let mega = |bytes: u64| bytes as f64 / 1e6;
        let (sent, received) = (mega(self.bytes_sent), mega(self.bytes_received));
        let per = |bytes: u64| bytes.checked_div(self.checks).unwrap_or_default();
        let text = format!(
            "{sent:.1} MB sent ({} a check), {received:.1} MB received ({} a check)",
            per(self.bytes_sent),
            per(self.bytes_received)
        );
        row("bytes", &text)?;
        let text = format!(
            "{:.2} us of CPU a check, {:.2} cores",
            self.generator_us_per_check, self.generator_cores
        );
        row("generator", &text)
    }

    fn faults(&self) -> Vec<String> {
        let faults = &self.faults;
        let statuses: u64 = faults.statuses.values().sum();
        let kinds = [
            ("invalid answers", faults.invalid_answers),
            ("refused for load", faults.refused),
            ("other statuses", statuses - faults.refused),
            ("broken connections", faults.broken_connections),
            ("requests not sent in time", faults.unsent),
        ];
        let some = kinds.into_iter().filter(|(_, count)| *count > 0);
        some.map(|(kind, count)| format!("{} {kind}", grouped(count)))
            .collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut row = |name: &str, value: &str| {
            let lines = wrapped(value, 64);
            for (index, line) in lines.iter().enumerate() {
                let name = if index == 0 { name } else { "" };
                writeln!(f, "  {name:<12} {line}")?;
            }
            Ok::<(), fmt::Error>(())
        };
        row("run", &self.head())?;
        if self.requests > 0 {
            self.figures(&mut row)?;
        } else {
            row("checks", "none had a valid answer")?;
        }
        let faults = self.faults();
        let text = if faults.is_empty() {
            "none".to_owned()
        } else {
            faults.join(", ")
        };
        row("faults", &text)?;
        self.faults
            .first
            .iter()
            .try_for_each(|fault| row("", fault))
    }
}

/// Digits in groups of three.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Breaks a text at spaces so that no line is longer than `width`, where words allow it.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > width {
                lines.push(std::mem::take(&mut line));
            } else if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::options::Options;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn a_report_fits_80_columns_and_says_what_went_wrong() {
        let options = Options::try_parse_from(["l", "batch", "--key", "k"]).expect("options");
        let plan = options.plans().expect("plans").remove(0);
        let mut tally = Tally::new().expect("tally");
        let counts = crate::answer::Counts {
            decisions: [123_456_789, 1_000_000, 99_999_999],
            reasons: [1_000_000_000; 13],
            tokens: 0,
            ordered: 5,
        };
        tally.answered(Duration::from_millis(12), &counts, 500);
        tally.invalid = 3;
        tally.quote("invalid answer: result 7: ".to_owned() + &"words ".repeat(30));
        let report = Report::new(&plan, &tally, Duration::from_secs(10), 0.5);
        let text = report.to_string();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        assert!(
            text.contains("3 invalid answers") && !report.passed(),
            "{text}"
        );
        let json = serde_json::to_value(&report).expect("JSON");
        assert_eq!(json["faults"]["invalid_answers"], 3);
        assert_eq!(json["decisions"]["allow"], 123_456_789);
    }
}
