//! The bodies of a check, a batch and a declaration.
//!
//! What is accepted is one request however it is spelled, is of the shape the document shows, and is
//! refused when it is cut. What is refused is told as a 4xx problem that names a member and repeats
//! nothing that was sent.

use std::sync::LazyLock;

use interlock_api::problem::Failure;
use interlock_api::testing::{self, Heard};
use interlock_document::Document;
use interlock_domain::ids::Id;
use interlock_wire::problem::Code;
use serde_json::Value;

use crate::Outcome;
use crate::respell::{self, MARK};
use crate::space::{CALLER, NOW};

/// The document as it is served.
static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let served = interlock_api::openapi::document().json.as_bytes();
    Document::parse(served).expect("the document is one")
});

/// A route that takes a body.
struct Route {
    /// Takes it.
    hear: fn(&[u8]) -> Result<Heard, Failure>,
    /// What the document calls it.
    component: &'static str,
    /// How many levels of it are read member by member; deeper ones may be kept as they were sent.
    depth: usize,
}

const CHECK: Route = Route {
    hear: |body| testing::check(&CALLER, body, NOW),
    component: "CheckRequest",
    depth: 2,
};
const BATCH: Route = Route {
    hear: |body| testing::batch(&CALLER, body, NOW),
    component: "CheckBatchRequest",
    depth: 4,
};
const DECLARE: Route = Route {
    hear: |body| testing::declare(&CALLER, body, Id([9; 16])),
    component: "DeclareRequest",
    depth: 2,
};

/// The body of a check.
///
/// # Panics
/// When a property is broken.
pub fn check(body: &[u8]) -> Outcome {
    let outcome = CHECK.judge(body);
    let batch = [b"{\"checks\":[", body, b"]}"].concat();
    let batch = (BATCH.hear)(&batch).map(|heard| heard.commands);
    let alone = (CHECK.hear)(body).map(|heard| heard.commands);
    match (alone, batch) {
        (Ok(alone), batch) => assert_eq!(Ok(alone), batch, "a batch of it is another request"),
        // `1}, {` and its like are no check, and several between brackets.
        (Err(_), batch) => assert!(
            batch.map_or(0, |all| all.len()) != 1,
            "only a batch takes it"
        ),
    }
    outcome
}

/// The body of a batch.
///
/// # Panics
/// When a property is broken.
pub fn batch(body: &[u8]) -> Outcome {
    BATCH.judge(body)
}

/// The body of a declaration.
///
/// # Panics
/// When a property is broken.
pub fn declare(body: &[u8]) -> Outcome {
    DECLARE.judge(body)
}

impl Route {
    fn judge(&self, body: &[u8]) -> Outcome {
        match (self.hear)(body) {
            Ok(heard) => {
                self.is_one_request(body, &heard);
                self.is_documented(body);
                self.is_whole(body);
                Outcome::Accepted
            }
            Err(failure) => {
                is_problem(&failure);
                let again = (self.hear)(body).map(drop);
                assert_eq!(again, Err(failure), "the second refusal is another one");
                self.repeats_nothing(body);
                Outcome::Refused
            }
        }
    }

    /// The same in another order, with spaces between, is the same request.
    fn is_one_request(&self, body: &[u8], heard: &Heard) {
        let text = std::str::from_utf8(body).expect("what is accepted is UTF-8");
        let respelled = respell::reorder(text, self.depth);
        let again = (self.hear)(respelled.as_bytes());
        let again = again.unwrap_or_else(|failure| panic!("{failure} of {respelled}"));
        assert_eq!(
            String::from_utf8_lossy(&again.canonical),
            String::from_utf8_lossy(&heard.canonical),
        );
        assert_eq!(again.fingerprint, heard.fingerprint);
        assert_eq!(again.commands.len(), heard.commands.len());
    }

    /// The document admits it.
    fn is_documented(&self, body: &[u8]) {
        // A number beyond what a double holds is none for the judge, though a reader may skip it.
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            return;
        };
        if let Err(why) = DOCUMENT.component(self.component, &value) {
            panic!("it is accepted, and the document refuses it: {why}");
        }
    }

    /// A part of it is not JSON.
    fn is_whole(&self, body: &[u8]) {
        let whole = body.trim_ascii_end();
        let cut = (self.hear)(&whole[..body.len() % whole.len()]);
        let code = cut.map(drop).map_err(|failure| failure.code);
        assert_eq!(code, Err(Code::NotReadable), "it was cut");
    }

    /// A text that is refused is not told again.
    fn repeats_nothing(&self, body: &[u8]) {
        let Some(marked) = respell::mark(body, body.len()) else {
            return;
        };
        if let Err(failure) = (self.hear)(&marked) {
            is_problem(&failure);
            assert!(!failure.detail.contains(MARK), "{failure} repeats a value");
        }
    }
}

/// A refusal is a problem of the contract: 4xx, a code, and which member.
fn is_problem(failure: &Failure) {
    let mut written = Vec::new();
    failure.problem("request").write(&mut written);
    let problem: Value = serde_json::from_slice(&written).expect("a problem is JSON");
    if let Err(why) = DOCUMENT.component("Problem", &problem) {
        panic!("{failure} is no problem: {why}");
    }
    let codes = [(Code::NotReadable, 400), (Code::InvalidInput, 422)];
    let known = codes.into_iter().find(|(code, _)| *code == failure.code);
    let Some((_, expected)) = known else {
        panic!("{failure} is not a refusal of a body");
    };
    assert_eq!(problem["status"], expected, "{failure}");
    assert_eq!(problem["code"], "invalid_input", "{failure}");
    let detail = &*failure.detail;
    let names = detail.starts_with("the body ") || detail.matches('`').count() >= 2;
    assert!(names, "{failure} names no member");
    assert!(!detail.contains(['\n', '\r']), "{failure} has lines");
}
