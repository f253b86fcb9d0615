//! Every answer of these tests is one the served document lists; and the document itself.

use std::sync::LazyLock;

use interlock_api::openapi::document;
use interlock_document::{Answer, Document};

use crate::client::Answered;
use crate::node::Node;

static DOCUMENT: LazyLock<Document> =
    LazyLock::new(|| Document::parse(document().json.as_bytes()).unwrap());

/// Paths of tests only, which the document leaves out.
const OUTSIDE: [&str; 1] = ["/test/clock"];

/// The document, as another program reads it.
pub(crate) fn served() -> &'static Document {
    &DOCUMENT
}

/// Fails when an answer is not one the document lists.
pub(crate) fn hold(method: &str, path: &str, answered: &Answered) {
    if OUTSIDE.contains(&path) {
        return;
    }
    let answer = Answer {
        method,
        path,
        status: answered.status,
        media_type: answered.header("content-type"),
        body: &answered.body,
    };
    if let Err(why) = DOCUMENT.admits(&answer) {
        panic!("the document does not list this answer: {why}\n{answered:?}");
    }
}

#[test]
fn the_document_is_served_to_everybody_and_may_be_kept() {
    let node = Node::start();
    let first = node.get("/openapi.json", None);
    assert_eq!(first.status, 200);
    assert_eq!(first.body, document().json.as_bytes());
    assert_eq!(first.header("content-type"), Some("application/json"));
    assert_eq!(first.header("cache-control"), Some("max-age=300"));
    let etag = first.header("etag").unwrap().to_owned();
    let asked = |etag: &str| {
        let headers = [("If-None-Match", etag.to_owned())];
        let mut client = node.client();
        client.send("GET", "/openapi.json", &headers, b"").status
    };
    assert_eq!(asked(&etag), 304);
    assert_eq!(asked("\"another\""), 200);
}

#[test]
fn the_copy_in_the_repository_is_the_served_one() {
    let place = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    if std::env::var_os("INTERLOCK_WRITE_OPENAPI").is_some() {
        std::fs::write(place, &document().json).unwrap();
    }
    let copy = std::fs::read_to_string(place).unwrap_or_default();
    let differs = copy
        .lines()
        .zip(document().json.lines())
        .find(|(a, b)| a != b);
    assert!(
        copy == document().json,
        "the contract changed; look at the change, then run this test once with \
         INTERLOCK_WRITE_OPENAPI=1 to write docs/openapi.json. First difference: {differs:?}"
    );
}
