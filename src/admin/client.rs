//! The client's end: one request, and its answer.
//!
//! Here: connecting, and what an operator reads when nobody answers. Blocking, with bounds on every
//! wait. Called by the verbs that ask a running server.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::path::SocketDir;
use super::protocol::{Answer, LINE_BYTES_MAX, ROWS_MAX, Request, Said};
use crate::exit::{Exit, Stop};

/// How long the next line of an answer may take: a look at every entity of a large node takes a
/// while.
const PATIENCE: Duration = Duration::from_secs(300);

/// Asks the server of a data directory.
///
/// # Errors
/// That none answers, that it refuses, or that the answer broke off.
pub(crate) fn ask(data: &Path, verb: &str, args: &impl Serialize) -> Result<Answer, Stop> {
    let line = Request::line(verb, args).map_err(|what| Stop::new(Exit::Refused, what))?;
    let stream = connect(data)?;
    let broken = |error: io::Error| {
        let message = format!(
            "the server of {} gave no whole answer ({error}); what was asked may be done or not",
            data.display()
        );
        Stop::new(Exit::NoServer, message)
    };
    stream.set_read_timeout(Some(PATIENCE)).map_err(broken)?;
    stream.set_write_timeout(Some(PATIENCE)).map_err(broken)?;
    // A server that refuses the connection itself says so before it reads, so only the answer tells.
    let asked = (&stream).write_all(format!("{line}\n").as_bytes());
    let mut reader = BufReader::new(&stream);
    let mut rows: Vec<Value> = Vec::new();
    loop {
        let line = next_line(&mut reader).map_err(broken)?;
        if line.is_empty() {
            asked.map_err(broken)?;
            return Err(broken(io::ErrorKind::UnexpectedEof.into()));
        }
        match Said::read(&line).map_err(|what| broken(io::Error::other(what)))? {
            Said::Row(row) if rows.len() < ROWS_MAX => rows.push(row),
            Said::Row(_) => return Err(broken(io::Error::other("it has too many rows"))),
            Said::Done(done) => return Ok(Answer { rows, done }),
            Said::Refused(what) => return Err(Stop::new(Exit::Refused, what)),
            Said::Failed(what) => return Err(Stop::new(Exit::NoServer, what)),
        }
    }
}

/// A line of at most [`LINE_BYTES_MAX`]; empty at the end.
fn next_line(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    let mut bounded = reader.take(LINE_BYTES_MAX as u64);
    bounded.read_until(b'\n', &mut line)?;
    if !line.is_empty() && !line.ends_with(b"\n") {
        return Err(io::Error::other("a line without an end"));
    }
    Ok(line)
}

fn connect(data: &Path) -> Result<UnixStream, Stop> {
    let shown = data.display();
    let opened = SocketDir::open(data).and_then(|dir| UnixStream::connect(dir.short()));
    opened.map_err(|error| {
        let nobody = [
            io::ErrorKind::NotFound,
            io::ErrorKind::ConnectionRefused,
            io::ErrorKind::NotADirectory,
        ];
        let message = if nobody.contains(&error.kind()) {
            format!(
                "no server runs on {shown}; start one with interlock serve --data {shown}, or name \
                 another directory with --data"
            )
        } else if error.kind() == io::ErrorKind::PermissionDenied {
            format!("the server of {shown} belongs to another user; ask as that user or root")
        } else {
            format!("the server of {shown} cannot be reached: {error}")
        };
        Stop::new(Exit::NoServer, message)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_there_is_said_with_what_to_do() {
        let home = tempfile::tempdir().unwrap();
        for path in [home.path().to_owned(), home.path().join("none")] {
            let stop = ask(&path, "keys list", &()).unwrap_err();
            assert_eq!(stop.exit, Exit::NoServer);
            assert!(stop.message.contains("start one with interlock serve"));
        }
    }

    #[test]
    fn a_line_has_a_bound_and_an_end() {
        let long = vec![b'x'; LINE_BYTES_MAX + 5];
        assert!(next_line(&mut &long[..]).is_err());
        assert!(next_line(&mut &b"half"[..]).is_err());
        assert_eq!(next_line(&mut &b"a\nb\n"[..]).unwrap(), b"a\n");
        assert!(next_line(&mut &b""[..]).unwrap().is_empty());
    }
}
