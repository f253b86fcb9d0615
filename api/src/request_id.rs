//! The name of a request in logs and problems.
//!
//! Here: a client's own id when it has one of the two usual forms, else one of ours. Not here:
//! tracing spans. Free text is not taken, since it would carry what was sent into logs and problems.

use std::fmt::Write;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use actix_web::http::header::{HeaderName, HeaderValue};
use interlock_wire::value::Uuid;

/// The header it comes and goes in.
pub const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// A request's id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestId(Box<str>);

impl RequestId {
    /// The client's id when it is a UUID or 32 hexadecimal digits, else a new one.
    #[must_use]
    pub fn of(header: Option<&HeaderValue>) -> Self {
        let sent = header.and_then(|value| value.to_str().ok());
        match sent.filter(|text| is_sane(text)) {
            Some(text) => Self(text.into()),
            None => Self::new(),
        }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// An id no other request of this or any other process has.
    fn new() -> Self {
        static PROCESS: LazyLock<u64> = LazyLock::new(|| {
            // Without a random source the process id still tells nodes of one host apart.
            getrandom::u64().unwrap_or_else(|_| u64::from(std::process::id()))
        });
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut text = String::with_capacity(32);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Writing to a String cannot fail.
        if write!(text, "{:016x}{count:016x}", *PROCESS).is_err() {
            text.clear();
        }
        Self(text.into())
    }
}

fn is_sane(text: &str) -> bool {
    let hexadecimal = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hexadecimal || Uuid::parse(text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_the_usual_forms_are_taken() {
        let taken = |text| RequestId::of(Some(&HeaderValue::from_static(text))).as_str() == text;
        assert!(taken("0192e2a0-0000-7000-8000-000000000001"));
        assert!(taken("4bf92f3577b34da6a3ce929d0e0e4736"));
        assert!(!taken("+5511987654321"));
        assert!(!taken(""));
        assert!(!taken("4bf92f3577b34da6a3ce929d0e0e473"));
    }

    #[test]
    fn new_ids_differ() {
        assert_ne!(RequestId::of(None), RequestId::of(None));
    }
}
