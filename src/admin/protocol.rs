//! What is said over the socket: one request line, then answer lines until a last one.
//!
//! ```text
//! {"v":1,"verb":"keys list","args":{}}
//! {"v":1,"row":{…}}                      none or more
//! {"v":1,"done":{…}}                     or "refused": why, or "failed": why
//! ```
//!
//! Here: the lines, their bounds and the version. Not here: what a verb takes and answers (`verbs`).

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The version of the protocol.
pub(crate) const VERSION: u32 = 1;
/// The longest request line.
pub(crate) const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// The longest answer line.
pub(crate) const LINE_BYTES_MAX: usize = 1024 * 1024;
/// The most rows of an answer.
pub(crate) const ROWS_MAX: usize = 100_000;

/// A request.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Request {
    /// See [`VERSION`].
    v: u32,
    /// The verb's name.
    pub(crate) verb: String,
    /// What it takes.
    pub(crate) args: Box<RawValue>,
}

#[derive(Deserialize)]
struct Versioned {
    v: u32,
}

/// An answer line.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    v: u32,
    #[serde(flatten)]
    said: Said,
}

/// What an answer line says.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// One of several facts.
    Row(Value),
    /// The last line of an answer.
    Done(Value),
    /// The last line: nothing was done, and why.
    Refused(String),
    /// The last line: it failed, and what is known of it.
    Failed(String),
}

/// What a verb answers.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    /// Facts of a kind, one line each.
    pub(crate) rows: Vec<Value>,
    /// What stands beside them.
    pub(crate) done: Value,
}

/// Why a verb does not answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum No {
    /// Nothing was done, and why.
    Refused(String),
    /// It failed.
    Failed(String),
}

/// What a verb comes to.
pub(crate) type Answered = Result<Answer, No>;

impl Answer {
    /// Of rows, and what stands beside them.
    pub(crate) fn new(rows: &[impl Serialize], done: &impl Serialize) -> Self {
        Self {
            rows: rows.iter().map(value).collect(),
            done: value(done),
        }
    }

    /// Of one fact.
    pub(crate) fn one(done: &impl Serialize) -> Self {
        Self::new(&[] as &[()], done)
    }
}

fn value(fact: &impl Serialize) -> Value {
    serde_json::to_value(fact).expect("facts have text keys and no failing parts")
}

impl Request {
    /// A request line, without the line's end.
    ///
    /// # Errors
    /// When it is longer than a line may be.
    pub(crate) fn line(verb: &str, args: &impl Serialize) -> Result<String, String> {
        let args = serde_json::value::to_raw_value(args).map_err(|error| error.to_string())?;
        let request = Self {
            v: VERSION,
            verb: verb.to_owned(),
            args,
        };
        let line = serde_json::to_string(&request).map_err(|error| error.to_string())?;
        // A line's end is no part of a JSON text, except between its parts.
        let line = line.replace(['\n', '\r'], " ");
        if line.len() >= REQUEST_BYTES_MAX {
            return Err(format!(
                "the request has {} bytes; at most {} are taken",
                line.len(),
                REQUEST_BYTES_MAX - 1
            ));
        }
        Ok(line)
    }

    /// Reads a request line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        let wrong = |error: serde_json::Error| format!("the request cannot be read: {error}");
        let Versioned { v } = serde_json::from_slice(line).map_err(wrong)?;
        if v != VERSION {
            return Err(format!(
                "the server speaks version {VERSION} of the protocol, not {v}; use the interlock \
                 program of the server"
            ));
        }
        serde_json::from_slice(line).map_err(wrong)
    }

    /// What the verb takes.
    pub(crate) fn args<A: DeserializeOwned>(&self) -> Result<A, No> {
        serde_json::from_str(self.args.get())
            .map_err(|error| No::Refused(format!("the request's args: {error}")))
    }
}

impl Said {
    /// An answer line, with the line's end.
    pub(crate) fn line(self) -> Vec<u8> {
        let line = Line {
            v: VERSION,
            said: self,
        };
        let mut bytes = serde_json::to_vec(&line).expect("values can be written");
        if bytes.len() >= LINE_BYTES_MAX {
            let what = "the answer has a line that is too long; ask for less";
            return Self::Failed(what.to_owned()).line();
        }
        bytes.push(b'\n');
        bytes
    }

    /// Reads an answer line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &[u8]) -> Result<Self, String> {
        let Line { v, said } = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        match v {
            VERSION => Ok(said),
            other => Err(format!("an answer of version {other} of the protocol")),
        }
    }
}

/// The lines of an answer.
pub(crate) fn lines(answered: Answered) -> Vec<u8> {
    let mut bytes = Vec::new();
    match answered {
        Ok(Answer { rows, done }) if rows.len() <= ROWS_MAX => {
            for row in rows {
                bytes.extend(Said::Row(row).line());
            }
            bytes.extend(Said::Done(done).line());
        }
        Ok(_) => bytes.extend(Said::Failed("the answer has too many rows".to_owned()).line()),
        Err(No::Refused(what)) => bytes.extend(Said::Refused(what).line()),
        Err(No::Failed(what)) => bytes.extend(Said::Failed(what).line()),
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_one_line_and_reads_back() {
        let args = json!({"a": "line\nend"});
        let line = Request::line("keys list", &args).unwrap();
        assert!(!line.contains('\n'));
        let request = Request::read(line.as_bytes()).unwrap();
        assert_eq!(request.verb, "keys list");
        assert_eq!(request.args::<Value>().unwrap(), args);
    }

    #[test]
    fn what_is_not_ours_is_refused_in_words() {
        let read = |line: &str| Request::read(line.as_bytes()).unwrap_err();
        assert!(read("{").starts_with("the request cannot be read"));
        assert!(read(r#"{"v":2,"news":1}"#).contains("version 1"));
        assert!(read(r#"{"v":1,"verb":"x","args":{},"more":1}"#).contains("`more`"));
        let long = "x".repeat(REQUEST_BYTES_MAX);
        assert!(Request::line("v", &long).is_err());
    }

    #[test]
    fn answer_lines_read_back_and_are_bounded() {
        for said in [
            Said::Row(json!(1)),
            Said::Done(json!({})),
            Said::Refused("a".to_owned()),
            Said::Failed("b".to_owned()),
        ] {
            let line = format!("{said:?}");
            let read = Said::read(&said.line()).unwrap();
            assert_eq!(format!("{read:?}"), line);
        }
        let long = Said::Row(json!("x".repeat(LINE_BYTES_MAX))).line();
        assert!(long.len() < LINE_BYTES_MAX);
        assert!(Said::read(br#"{"v":2,"done":{}}"#).is_err());
    }
}
