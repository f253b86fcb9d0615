//! Answers on standard output.
//!
//! Here: reading an answer's facts, the machine's form, and times in words. Not here: tables
//! (`table`).

use interlock_domain::time::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::admin::protocol::Answer;
use crate::console::say;
use crate::exit::{Exit, Stop};

/// Prints the facts as one JSON document: what stands beside the rows, and the rows under a name.
pub(crate) fn json(answer: &Answer, rows: Option<&str>) {
    let mut document = match &answer.done {
        Value::Object(done) => done.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    };
    if let Some(name) = rows {
        document.insert(name.to_owned(), Value::Array(answer.rows.clone()));
    }
    say(&Value::Object(document).to_string());
}

/// The fact that stands beside the rows.
///
/// # Errors
/// When the server is of another version.
pub(crate) fn done<T: DeserializeOwned>(answer: &Answer) -> Result<T, Stop> {
    fact(&answer.done)
}

/// The rows.
///
/// # Errors
/// When the server is of another version.
pub(crate) fn rows<T: DeserializeOwned>(answer: &Answer) -> Result<Vec<T>, Stop> {
    answer.rows.iter().map(fact).collect()
}

fn fact<T: DeserializeOwned>(value: &Value) -> Result<T, Stop> {
    T::deserialize(value).map_err(|error| {
        let message =
            format!("the server's answer cannot be read ({error}); use the server's own program");
        Stop::new(Exit::NoServer, message)
    })
}

/// An instant as people and machines read it.
pub(crate) fn time(at: Timestamp) -> String {
    let mut text = Vec::new();
    interlock_wire::time::push(&mut text, at.0);
    String::from_utf8_lossy(&text).into_owned()
}

/// An instant in a cell: date and time may stand below each other.
pub(crate) fn stamp(rfc3339: &str) -> String {
    rfc3339.replacen('T', " ", 1)
}

/// A span of seconds in its two largest units.
pub(crate) fn span(seconds: i64) -> String {
    let seconds = seconds.max(0);
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m {rest}s"),
        (0, ..) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_read_well() {
        let said: Vec<String> = [-5, 0, 59, 61, 3_600, 90_061].map(span).into();
        assert_eq!(said, ["0s", "0s", "59s", "1m 1s", "1h 0m", "1d 1h"]);
        let noon = time(Timestamp(1_767_614_400_000));
        assert_eq!(noon, "2026-01-05T12:00:00Z");
        assert_eq!(stamp(&noon), "2026-01-05 12:00:00Z");
    }
}
