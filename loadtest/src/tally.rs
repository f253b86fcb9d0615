//! What one connection counted; tallies of connections add up.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::answer::Counts;

/// Latencies are kept to three digits, from one microsecond to two minutes.
const LATENCY_NS: (u64, u64) = (1_000, 120_000_000_000);
/// Faults that a report quotes.
const QUOTED_MAX: usize = 5;

/// Figures of the measured time.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Nanoseconds a request took.
    pub(crate) latency: Histogram<u64>,
    /// Decisions and reasons.
    pub(crate) counts: Counts,
    /// Requests with a valid answer.
    pub(crate) requests: u64,
    /// Checks with a valid answer.
    pub(crate) checks: u64,
    /// Answers that break a rule.
    pub(crate) invalid: u64,
    /// Requests refused for load: 429 and 503.
    pub(crate) refused: u64,
    /// Answers with another status than 200, by status.
    pub(crate) statuses: BTreeMap<u16, u64>,
    /// Connections that failed or could not be made.
    pub(crate) broken: u64,
    /// Requests of an open loop whose time came but which could not be sent before the end.
    pub(crate) unsent: u64,
    /// Bytes sent.
    pub(crate) bytes_sent: u64,
    /// Bytes received.
    pub(crate) bytes_received: u64,
    /// The first faults in words.
    pub(crate) quoted: Vec<String>,
    /// When the last answer came.
    pub(crate) last: Option<Instant>,
}

impl Tally {
    /// Nothing counted yet.
    pub(crate) fn new() -> Result<Self, String> {
        let latency = Histogram::new_with_bounds(LATENCY_NS.0, LATENCY_NS.1, 3)
            .map_err(|error| format!("the latency histogram: {error}"))?;
        Ok(Self {
            latency,
            counts: Counts::default(),
            requests: 0,
            checks: 0,
            invalid: 0,
            refused: 0,
            statuses: BTreeMap::new(),
            broken: 0,
            unsent: 0,
            bytes_sent: 0,
            bytes_received: 0,
            quoted: Vec::new(),
            last: None,
        })
    }

    /// One valid answer.
    pub(crate) fn answered(&mut self, took: Duration, counts: &Counts, checks: usize) {
        self.latency.saturating_record(took.as_nanos() as u64);
        self.counts.add(counts);
        self.requests += 1;
        self.checks += checks as u64;
    }

    /// Keeps the first few faults in words.
    pub(crate) fn quote(&mut self, fault: String) {
        if self.quoted.len() < QUOTED_MAX && !self.quoted.contains(&fault) {
            self.quoted.push(fault);
        }
    }

    /// Adds another connection's figures.
    pub(crate) fn add(&mut self, other: &Self) -> Result<(), String> {
        self.latency
            .add(&other.latency)
            .map_err(|error| error.to_string())?;
        self.counts.add(&other.counts);
        self.requests += other.requests;
        self.checks += other.checks;
        self.invalid += other.invalid;
        self.refused += other.refused;
        self.broken += other.broken;
        self.unsent += other.unsent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.last = self.last.max(other.last);
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for fault in &other.quoted {
            self.quote(fault.clone());
        }
        Ok(())
    }

    /// Whether anything but a refusal for load went wrong.
    pub(crate) fn failed(&self) -> bool {
        let statuses: u64 = self.statuses.values().sum();
        self.invalid + self.broken + (statuses - self.refused) > 0 || self.requests == 0
    }
}
