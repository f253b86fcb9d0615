//! What one connection counted; tallies of connections add up.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::answer::Counts;
use crate::connection::Judged;
use crate::report::Latency;

/// Latencies are kept from one microsecond to two minutes.
const LATENCY_NS: (u64, u64) = (1_000, 120_000_000_000);
/// Faults that a report quotes.
const QUOTED_MAX: usize = 5;

/// A histogram of latencies in nanoseconds, kept to so many digits.
pub(crate) fn histogram(digits: u8) -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(LATENCY_NS.0, LATENCY_NS.1, digits)
        .map_err(|error| format!("the latency histogram: {error}"))
}

/// Whole nanoseconds; what would not fit is longer than any histogram reaches.
pub(crate) fn nanoseconds(took: Duration) -> u64 {
    u64::try_from(took.as_nanos()).unwrap_or(LATENCY_NS.1)
}

/// What a histogram says, for a report.
pub(crate) fn latency(histogram: &Histogram<u64>) -> Latency {
    let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    let at = |percentile| ms(histogram.value_at_percentile(percentile));
    // Five points on the way to each next half of what is left, as far as there are requests.
    let curve = histogram.iter_quantiles(5).map(|point| {
        let share = point.quantile_iterated_to() * 100.0;
        (share, ms(point.value_iterated_to()))
    });
    Latency {
        count: histogram.len(),
        p50_ms: at(50.0),
        p90_ms: at(90.0),
        p99_ms: at(99.0),
        p999_ms: at(99.9),
        max_ms: ms(histogram.max()),
        curve: curve.collect(),
    }
}

/// Figures of the measured time.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    /// Nanoseconds a request took.
    pub(crate) latency: Histogram<u64>,
    /// The same by kind of request, when there are several.
    pub(crate) steps: Vec<Histogram<u64>>,
    /// Decisions and reasons.
    pub(crate) counts: Counts,
    /// Requests with a right answer.
    pub(crate) requests: u64,
    /// Units that were decided.
    pub(crate) units: u64,
    /// Units that were answered undecided.
    pub(crate) undecided: u64,
    /// Answers that break a rule.
    pub(crate) wrong: u64,
    /// Requests refused for load: 429 and 503.
    pub(crate) refused: u64,
    /// Answers with a status that the request may not get, and refusals, by status.
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
}

impl Tally {
    /// Nothing counted yet, of so many kinds of requests.
    pub(crate) fn new(steps: usize) -> Result<Self, String> {
        let several = if steps > 1 { steps } else { 0 };
        Ok(Self {
            latency: histogram(3)?,
            steps: (0..several)
                .map(|_| histogram(3))
                .collect::<Result<_, _>>()?,
            counts: Counts::default(),
            requests: 0,
            units: 0,
            undecided: 0,
            wrong: 0,
            refused: 0,
            statuses: BTreeMap::new(),
            broken: 0,
            unsent: 0,
            bytes_sent: 0,
            bytes_received: 0,
            quoted: Vec::new(),
        })
    }

    /// How long a right answer took.
    pub(crate) fn took(&mut self, step: usize, took: Duration) {
        self.latency.saturating_record(nanoseconds(took));
        if let Some(of_step) = self.steps.get_mut(step) {
            of_step.saturating_record(nanoseconds(took));
        }
    }

    /// One right answer.
    pub(crate) fn answered(&mut self, judged: &Judged) {
        self.counts.add(&judged.counts);
        self.requests += 1;
        self.units += judged.units;
        self.undecided += judged.undecided;
    }

    /// Requests that were never sent, by how long they had waited: what they would have taken is at
    /// least that.
    pub(crate) fn unsent(&mut self, waits: &[(Duration, u64)]) {
        for (wait, count) in waits {
            self.latency.saturating_record_n(nanoseconds(*wait), *count);
            self.unsent += count;
        }
    }

    /// Whether every connection broke before anything was answered, right or wrong.
    pub(crate) fn was_unheard(&self) -> bool {
        self.broken > 0 && self.requests + self.wrong == 0 && self.statuses.is_empty()
    }

    /// Keeps the first few faults in words.
    pub(crate) fn quote(&mut self, fault: String) {
        if self.quoted.len() < QUOTED_MAX && !self.quoted.contains(&fault) {
            self.quoted.push(fault);
        }
    }

    /// Adds another connection's figures.
    pub(crate) fn add(&mut self, other: &Self) -> Result<(), String> {
        let failed = |error| format!("adding up latencies: {error}");
        self.latency.add(&other.latency).map_err(failed)?;
        for (mine, theirs) in self.steps.iter_mut().zip(&other.steps) {
            mine.add(theirs).map_err(failed)?;
        }
        self.counts.add(&other.counts);
        self.requests += other.requests;
        self.units += other.units;
        self.undecided += other.undecided;
        self.wrong += other.wrong;
        self.refused += other.refused;
        self.broken += other.broken;
        self.unsent += other.unsent;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for fault in &other.quoted {
            self.quote(fault.clone());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_sent_is_in_the_latency() {
        let mut tally = Tally::new(1).expect("a tally");
        tally.answered(&Judged::one());
        tally.took(0, Duration::from_millis(1));
        tally.unsent(&[(Duration::from_secs(2), 3)]);
        let latency = latency(&tally.latency);
        assert_eq!((latency.count, tally.unsent, tally.requests), (4, 3, 1));
        assert!(latency.p50_ms > 1_990.0, "{latency:?}");
        let last = latency.curve.last().expect("a curve");
        assert!(
            (last.0 - 100.0).abs() < 1e-9 && last.1 > 1_990.0,
            "{latency:?}"
        );
    }

    #[test]
    fn kinds_of_requests_are_kept_apart_when_there_are_several() {
        let mut tally = Tally::new(2).expect("a tally");
        tally.took(1, Duration::from_millis(5));
        let mut total = Tally::new(2).expect("a tally");
        total.add(&tally).expect("adds");
        assert_eq!((total.steps[0].len(), total.steps[1].len()), (0, 1));
        assert!(Tally::new(1).expect("a tally").steps.is_empty());
    }
}
