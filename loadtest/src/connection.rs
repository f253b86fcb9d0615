//! One connection's loop: make a request, send it, read the answer, validate, count. One request is
//! under way at a time. Closed loop starts the next one at once; open loop starts it when its time has
//! come and measures from then, so that waiting behind a slow answer counts as latency.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::answer::Validator;
use crate::http::{Answer, Reader};
use crate::options::Plan;
use crate::tally::Tally;
use crate::template::Request;

const ANSWER_WAIT: Duration = Duration::from_secs(30);
const CONNECT_WAIT: Duration = Duration::from_secs(2);
/// After a failed connection, and after a refusal for load, before the next try.
const PAUSE_BROKEN: Duration = Duration::from_millis(100);
const PAUSE_REFUSED: Duration = Duration::from_millis(5);
/// Failures in a row after which a connection gives up.
const BROKEN_IN_A_ROW_MAX: u32 = 20;

/// The moments all connections of a run share.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Load starts.
    pub(crate) start: Instant,
    /// The measured time starts.
    pub(crate) measured_from: Instant,
    /// No request starts after this.
    pub(crate) end: Instant,
}

/// What the progress line shows while a run goes on.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Checks answered, warm-up included.
    pub(crate) checks: AtomicU64,
    /// Faults of any kind.
    pub(crate) faults: AtomicU64,
}

/// Runs one connection to the end of the plan.
pub(crate) fn run(
    plan: &Plan,
    connection: u64,
    clock: Clock,
    live: &Live,
) -> Result<Tally, String> {
    let common = &plan.common;
    let request = Request::new(
        &plan.shape,
        &plan.host,
        &common.key,
        common.seed,
        connection,
    );
    let mut driver = Driver {
        plan,
        clock,
        live,
        validator: Validator::new(request.checks()),
        request,
        reader: Reader::new(),
        stream: None,
        tally: Tally::new()?,
    };
    driver.run(Pace::new(plan, connection, clock));
    Ok(driver.tally)
}

/// When requests start.
#[derive(Debug, Clone, Copy)]
enum Pace {
    /// As soon as the last one is answered.
    Closed,
    /// At `next`, then every `every`.
    Open { next: Instant, every: Duration },
}

impl Pace {
    fn new(plan: &Plan, connection: u64, clock: Clock) -> Self {
        let Some(rate) = plan.common.target_rate else {
            return Self::Closed;
        };
        let connections = plan.common.connections as f64;
        let every = plan.checks_per_request() as f64 * connections / rate;
        let offset = every * connection as f64 / connections;
        Self::Open {
            next: clock.start + Duration::from_secs_f64(offset),
            every: Duration::from_secs_f64(every),
        }
    }

    /// The moment the next request counts from, after waiting for it; `None` at the end.
    fn next(&mut self, end: Instant) -> Option<Instant> {
        let now = Instant::now();
        if now >= end {
            return None;
        }
        let Self::Open { next, every } = self else {
            return Some(now);
        };
        let intended = *next;
        if intended >= end {
            return None;
        }
        *next += *every;
        if intended > now {
            thread::sleep(intended - now);
        }
        Some(intended)
    }

    /// Requests whose time came before `end` and which were never started.
    fn unsent(self, end: Instant) -> u64 {
        match self {
            Self::Open { next, every } if next < end => {
                (end - next).as_nanos().div_ceil(every.as_nanos().max(1)) as u64
            }
            Self::Open { .. } | Self::Closed => 0,
        }
    }
}

#[derive(Debug)]
struct Driver<'a> {
    plan: &'a Plan,
    clock: Clock,
    live: &'a Live,
    validator: Validator,
    request: Request,
    reader: Reader,
    stream: Option<TcpStream>,
    tally: Tally,
}

impl Driver<'_> {
    fn run(&mut self, mut pace: Pace) {
        let mut broken_in_a_row = 0;
        while let Some(start) = pace.next(self.clock.end) {
            self.request.renew();
            match self.exchange() {
                Ok(answer) => {
                    broken_in_a_row = 0;
                    self.judge(answer, start, Instant::now());
                    if is_final(answer.status) {
                        break;
                    }
                }
                Err(error) => {
                    broken_in_a_row += 1;
                    self.stream = None;
                    self.tally.broken += 1;
                    self.fault(format!("connection: {error}"));
                    if broken_in_a_row == BROKEN_IN_A_ROW_MAX {
                        break;
                    }
                    thread::sleep(PAUSE_BROKEN);
                }
            }
        }
        self.tally.unsent = pace.unsent(self.clock.end);
    }

    /// Sends the request and reads its answer, over a new connection when there is none.
    fn exchange(&mut self) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                self.reader = Reader::new();
                let stream = self.connect()?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_WAIT))?;
                stream.set_write_timeout(Some(ANSWER_WAIT))?;
                stream
            }
        };
        stream.write_all(self.request.bytes())?;
        let answer = self.reader.read(&mut stream)?;
        if !answer.closes {
            self.stream = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&self) -> io::Result<TcpStream> {
        let address = self.plan.address;
        TcpStream::connect_timeout(&address, CONNECT_WAIT).map_err(|error| {
            let words = format!("{address}: {error}; is a server running there?");
            io::Error::new(error.kind(), words)
        })
    }

    fn judge(&mut self, answer: Answer, start: Instant, done: Instant) {
        let measured = start >= self.clock.measured_from;
        if measured {
            self.tally.bytes_sent += self.request.bytes().len() as u64;
            self.tally.bytes_received += answer.bytes as u64;
            self.tally.last = Some(done);
        }
        if answer.status != 200 {
            self.refused(answer.status);
            return;
        }
        let body = self.reader.body();
        let checks = self.request.checks();
        let verdict = match self.plan.shape.batch {
            Some(_) => self.validator.batch(body, checks, self.request.probes()),
            None => self.validator.single(body),
        };
        match verdict {
            Ok(counts) => {
                self.live.checks.fetch_add(checks as u64, Ordering::Relaxed);
                if measured {
                    self.tally
                        .answered(done.saturating_duration_since(start), &counts, checks);
                }
            }
            Err(invalid) => {
                // Also in the warm-up: a wrong answer is wrong whenever it comes.
                self.tally.invalid += 1;
                self.fault(format!("invalid answer: {invalid}"));
            }
        }
    }

    fn refused(&mut self, status: u16) {
        *self.tally.statuses.entry(status).or_default() += 1;
        self.fault(format!("status {status}: {}", excerpt(self.reader.body())));
        if matches!(status, 429 | 503) {
            self.tally.refused += 1;
            thread::sleep(PAUSE_REFUSED);
        }
    }

    fn fault(&mut self, words: String) {
        self.live.faults.fetch_add(1, Ordering::Relaxed);
        self.tally.quote(words);
    }
}

/// A status that the next request would get as well: a wrong key, a feature that is off, a bad body.
const fn is_final(status: u16) -> bool {
    matches!(status, 400..=428 | 430..=499)
}

/// What a body says, for a report line: a problem's detail, else its start.
fn excerpt(body: &[u8]) -> String {
    let problem = serde_json::from_slice::<serde_json::Value>(body).ok();
    let detail = problem.as_ref().and_then(|it| it.get("detail")?.as_str());
    let text = detail.map_or_else(|| String::from_utf8_lossy(body), Into::into);
    text.chars().filter(|c| !c.is_control()).take(320).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_quoted_by_its_detail() {
        let problem =
            br#"{"title":"The request breaks the contract","detail":"`purpose` is wrong"}"#;
        assert_eq!(excerpt(problem), "`purpose` is wrong");
        assert_eq!(excerpt(b"<html>\r\n"), "<html>");
    }

    #[test]
    fn an_open_loop_keeps_its_times_and_tells_what_it_did_not_send() {
        let now = Instant::now();
        let every = Duration::from_millis(10);
        let past = now - Duration::from_millis(25);
        let end = now + Duration::from_secs(60);
        let mut pace = Pace::Open { next: past, every };
        assert_eq!(pace.next(end), Some(past));
        assert_eq!(pace.next(end), Some(past + every));
        assert_eq!(pace.unsent(past + every * 5), 3);
        assert_eq!(pace.unsent(past + every), 0);
        assert_eq!(Pace::Closed.unsent(end), 0);
        assert_eq!(pace.next(now - every), None);
    }
}
