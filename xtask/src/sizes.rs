//! What one customer, effect, receipt or claim takes of memory and disk: for each a fresh release
//! server with real syncs that is filled with many of them over HTTP, and looked at before and after.
//! Not here: how fast that is (`figures`).
//!
//! The server is filled with as many receipts first and looked at then, so that its buffers and the
//! log's cache are not counted. From there to the end its entities double, so every table of its
//! memory is as full at the end as it was.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::server::{self, Server};
use crate::shell::{self, Outcome};

/// Connections that fill, each with one request under way.
const CONNECTIONS: usize = 4;
/// The number from which receipts are counted that only fill, away from those of the things.
const ELSEWHERE: usize = 1_000_000_000;
/// The most that one batch takes.
const BATCH: usize = 500;
/// How often the server weighs itself, twice, so that what it says is of after the filling.
const WEIGHED: Duration = Duration::from_millis(1_200);
/// How long the server may take to say that all is there.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is counted, and how one is made.
#[derive(Debug, Clone, Copy)]
struct Thing {
    name: &'static str,
    /// How many one request makes; each is then a check of a batch.
    batch: usize,
    /// How many entities each is.
    entities: usize,
    /// Whether the request has an Idempotency-Key.
    keyed: bool,
    path: &'static str,
    body: fn(usize) -> String,
    /// What is declared of each afterwards, under an Idempotency-Key of its own.
    declared: Option<fn(usize) -> String>,
}

const RECEIPT: Thing = Thing {
    name: "receipt of a check",
    batch: BATCH,
    entities: 1,
    keyed: true,
    path: "/v1/coordination/check/batch",
    body: |number| check("service", number % BATCH, ""),
    declared: None,
};

const THINGS: [Thing; 5] = [
    Thing {
        name: "customer with a contact",
        batch: BATCH,
        entities: 1,
        keyed: false,
        path: "/v1/coordination/check/batch",
        body: |number| check("marketing", number, ""),
        declared: None,
    },
    Thing {
        name: "effect, reserved",
        batch: BATCH,
        entities: 1,
        keyed: false,
        path: "/v1/coordination/check/batch",
        body: reserved,
        declared: None,
    },
    Thing {
        name: "effect, done, and its receipt",
        batch: BATCH,
        entities: 2,
        keyed: false,
        path: "/v1/coordination/check/batch",
        body: reserved,
        declared: Some(|number| {
            format!(
                r#"{{"kind":"effect","agent":"sizes","detail":{{"effect_key":"size-{number}","attempt":1,"state":"done"}}}}"#
            )
        }),
    },
    RECEIPT,
    Thing {
        name: "claim on a new customer",
        batch: 1,
        entities: 3,
        keyed: true,
        path: "/v1/coordination/claims",
        body: |number| {
            let subject = subject(number);
            format!(r#"{{"kind":"owner","holder":"sizes","lease_s":3600,{subject}}}"#)
        },
        declared: None,
    },
];

fn reserved(number: usize) -> String {
    check("service", 0, &format!(r#","effect_key":"size-{number}""#))
}

fn check(purpose: &str, number: usize, more: &str) -> String {
    let subject = subject(number);
    format!(
        r#"{{"agent":"sizes","intent":"follow_up","direction":"outbound","purpose":"{purpose}","channel":"whatsapp",{subject}{more}}}"#
    )
}

fn subject(number: usize) -> String {
    let value = 60_000_000 + number;
    format!(r#""subject":{{"type":"phone_e164","value":"+55119{value}"}}"#)
}

/// One row, in bytes for each thing where nothing else is said.
#[derive(Debug, Clone, Serialize)]
struct Row {
    thing: &'static str,
    /// How many were made between the two looks.
    count: usize,
    /// Entities in memory for each.
    entities: f64,
    memory: f64,
    /// Bytes of records, as the log counts them.
    records: f64,
    /// Bytes the process wrote to the disk.
    written: f64,
    /// Bytes by which the data directory grew.
    files: f64,
}

/// What a server has and did, so far.
#[derive(Debug, Clone, Copy)]
struct Look {
    entities: f64,
    memory: f64,
    records: f64,
    written: f64,
    files: f64,
}

/// Fills a server with each thing until it has `count` entities more and prints what they took.
pub(crate) fn run(binary: &Path, count: usize, json: bool) -> Outcome {
    let mut rows = Vec::new();
    for thing in &THINGS {
        eprintln!("sizes: {}", thing.name);
        rows.push(measure(binary, thing, count)?);
    }
    if json {
        let text = serde_json::to_string_pretty(&rows).map_err(|error| error.to_string())?;
        println!("{text}");
    } else {
        println!("{}", table(&rows));
    }
    Ok(())
}

fn measure(binary: &Path, thing: &Thing, count: usize) -> Outcome<Row> {
    let folder = tempfile::tempdir_in(shell::work_folder()).map_err(|error| error.to_string())?;
    let server = Server::start(binary, folder.path(), &[])?;
    let data = folder.path().join("data");
    let count = count / BATCH * BATCH;
    fill(&server, &RECEIPT, ELSEWHERE..ELSEWHERE + count)?;
    let before = look(&server, &data)?;
    let made = count / thing.entities / BATCH * BATCH;
    fill(&server, thing, 0..made)?;
    let after = look(&server, &data)?;
    server.stop()?;
    let each = |of: fn(&Look) -> f64| (of(&after) - of(&before)) / made as f64;
    Ok(Row {
        thing: thing.name,
        count: made,
        entities: each(|look| look.entities),
        memory: each(|look| look.memory),
        records: each(|look| look.records),
        written: each(|look| look.written),
        files: each(|look| look.files),
    })
}

/// Makes the things with these numbers, over several connections.
fn fill(server: &Server, thing: &Thing, numbers: std::ops::Range<usize>) -> Outcome {
    let requests: Vec<usize> = numbers.step_by(thing.batch).collect();
    let share = requests.len().div_ceil(CONNECTIONS).max(1);
    thread::scope(|scope| {
        let fillers: Vec<_> = requests
            .chunks(share)
            .map(|starts| scope.spawn(move || fill_over_one(&server.url, thing, starts)))
            .collect();
        fillers
            .into_iter()
            .try_for_each(|filler| filler.join().unwrap_or_else(|_| Err("a bug".to_owned())))
    })
}

fn fill_over_one(url: &str, thing: &Thing, starts: &[usize]) -> Outcome {
    let mut connection = Connection::open(url)?;
    for &start in starts {
        let bodies: Vec<String> = (start..start + thing.batch).map(thing.body).collect();
        let body = if thing.batch > 1 {
            format!(r#"{{"checks":[{}]}}"#, bodies.join(","))
        } else {
            bodies.concat()
        };
        let once = thing.keyed.then_some(start);
        let answer = connection.post(thing.path, once, &body)?;
        let allowed = answer.matches(r#""decision":"allow""#).count();
        if thing.batch > 1 && allowed != thing.batch {
            return Err(format!("{}: {allowed} allowed: {answer:.300}", thing.name));
        }
        let Some(declared) = thing.declared else {
            continue;
        };
        for number in start..start + thing.batch {
            let path = "/v1/coordination/declare";
            let answer = connection.post(path, Some(number), &declared(number))?;
            if !answer.contains(r#""accepted":true"#) {
                return Err(format!("{}: {answer:.300}", thing.name));
            }
        }
    }
    Ok(())
}

/// Looks once the server's own figures stand still.
fn look(server: &Server, data: &Path) -> Outcome<Look> {
    let start = Instant::now();
    let mut last = f64::NAN;
    loop {
        thread::sleep(WEIGHED);
        let mut connection = Connection::open(&server.url)?;
        let (status, metrics) = connection.ask("GET /metrics HTTP/1.1\r\nHost: sizes\r\n\r\n")?;
        if status != 200 {
            return Err(format!("/metrics: {status}"));
        }
        let entities = sum(&metrics, "interlock_entities");
        if entities.to_bits() == last.to_bits() {
            let process = server.process();
            let io = fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
            let written = io
                .lines()
                .find_map(|line| line.strip_prefix("write_bytes: "));
            return Ok(Look {
                entities,
                memory: sum(&metrics, "interlock_memory_bytes"),
                records: sum(&metrics, "interlock_commit_bytes_sum"),
                written: written
                    .and_then(|bytes| bytes.parse().ok())
                    .ok_or("the system does not tell what a process writes")?,
                files: blocks(data)? as f64,
            });
        }
        last = entities;
        if start.elapsed() > PATIENCE {
            return Err("the server's figures do not stand still".to_owned());
        }
    }
}

/// A metric over all its labels.
fn sum(metrics: &str, name: &str) -> f64 {
    let values = metrics.lines().filter_map(|line| {
        let (series, value) = line.rsplit_once(' ')?;
        let of_name = series.split('{').next()? == name;
        of_name.then(|| value.parse::<f64>().ok())?
    });
    values.sum()
}

/// Bytes that the files of a folder take on the disk.
fn blocks(folder: &Path) -> Outcome<u64> {
    let mut bytes = 0;
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        // A file that the server removed meanwhile takes nothing.
        let Ok(about) = entry.metadata() else {
            continue;
        };
        bytes += if about.is_dir() {
            blocks(&entry.path())?
        } else {
            about.blocks() * 512
        };
    }
    Ok(bytes)
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| each | entities | memory | records | written | files | written per record byte |\n\
         | - | - | - | - | - | - | - |\n",
    );
    for row in rows {
        // Writing to a String cannot fail.
        writeln!(
            text,
            "| {} | {:.1} | {:.0} B | {:.0} B | {:.0} B | {:.0} B | {:.1} |",
            row.thing,
            row.entities,
            row.memory,
            row.records,
            row.written,
            row.files,
            row.written / row.records.max(1.0),
        )
        .ok();
    }
    text
}

/// One kept connection: just enough of HTTP/1.1 for one request, one answer, with a length.
struct Connection(TcpStream);

impl Connection {
    fn open(url: &str) -> Outcome<Self> {
        let address = url.strip_prefix("http://").ok_or("a server in the clear")?;
        let stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
        stream
            .set_nodelay(true)
            .map_err(|error| error.to_string())?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| error.to_string())?;
        Ok(Self(stream))
    }

    /// Posts a body, with an Idempotency-Key of this number where there is one; the body of a
    /// success.
    fn post(&mut self, path: &str, once: Option<usize>, body: &str) -> Outcome<String> {
        let once = once.map_or_else(String::new, |number| {
            format!("Idempotency-Key: sizes-{number}\r\n")
        });
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: sizes\r\nAuthorization: Bearer {}\r\n{once}\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            server::KEY,
            body.len()
        );
        let (status, answer) = self.ask(&(head + body))?;
        if (200..300).contains(&status) {
            Ok(answer)
        } else {
            Err(format!("{path}: {status}: {answer:.300}"))
        }
    }

    /// Sends a request; the status and the body of its answer.
    fn ask(&mut self, request: &str) -> Outcome<(u16, String)> {
        let failed = |error: std::io::Error| error.to_string();
        self.0.write_all(request.as_bytes()).map_err(failed)?;
        let mut bytes = Vec::new();
        let mut chunk = [0; 64 * 1024];
        loop {
            let count = self.0.read(&mut chunk).map_err(failed)?;
            if count == 0 {
                return Err("the server closed the connection".to_owned());
            }
            bytes.extend_from_slice(&chunk[..count]);
            if let Some(answer) = whole(&bytes) {
                return Ok(answer);
            }
        }
    }
}

/// The answer, once all of it is there.
fn whole(bytes: &[u8]) -> Option<(u16, String)> {
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(&bytes[..split]).ok()?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let length: usize = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    })?;
    let body = bytes.get(split + 4..split + 4 + length)?;
    Some((status, String::from_utf8_lossy(body).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_summed_over_its_labels_and_not_over_longer_names() {
        let metrics = "# HELP a_total of a\na_total{x=\"1\"} 2\na_total{x=\"2\"} 3.5\n\
                       a_total_more 7\nb 1\n";
        assert!((sum(metrics, "a_total") - 5.5).abs() < 1e-9);
        assert!(sum(metrics, "gone").abs() < 1e-9);
    }

    #[test]
    fn an_answer_is_whole_with_its_last_byte() {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(whole(answer), Some((200, "{}".to_owned())));
        assert_eq!(whole(&answer[..answer.len() - 1]), None);
        assert_eq!(whole(b"HTTP/1.1 200 OK\r\n"), None);
    }

    #[test]
    fn what_is_asked_is_json_and_differs() {
        for thing in &THINGS {
            let bodies = [0, 1].map(|number| (thing.body)(number));
            for body in &bodies {
                serde_json::from_str::<serde_json::Value>(body).expect("JSON");
            }
            assert_ne!(bodies[0], bodies[1], "{}", thing.name);
        }
    }

    #[test]
    fn a_table_has_a_row_for_each_thing() {
        let row = Row {
            thing: "effect",
            count: 10,
            entities: 1.0,
            memory: 151.6,
            records: 60.0,
            written: 90.0,
            files: 80.2,
        };
        let text = table(&[row]);
        let line = "| effect | 1.0 | 152 B | 60 B | 90 B | 80 B | 1.5 |";
        assert!(text.contains(line), "{text}");
    }
}
