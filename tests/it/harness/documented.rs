//! Holds what real servers answer to the document they serve.
//!
//! One answer of each route and status is judged, and at most some hundred: the HTTP tests of `api`
//! judge every one, here it is about what only a whole server says.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use interlock_document::{Answer, Document};

static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let served = interlock_api::openapi::document();
    Document::parse(served.json.as_bytes()).expect("the served document is JSON")
});

/// What was judged already.
static JUDGED: Mutex<BTreeSet<(String, u16)>> = Mutex::new(BTreeSet::new());
const JUDGED_MAX: usize = 300;

/// Paths of tests only, which the document leaves out.
const OUTSIDE: [&str; 1] = ["/test/clock"];

/// Fails when an answer is not one the document lists.
pub(super) fn hold(answer: &Answer<'_>) {
    if OUTSIDE.contains(&answer.path) {
        return;
    }
    let what = (format!("{} {}", answer.method, answer.path), answer.status);
    {
        let mut judged = JUDGED.lock().expect("no test fails while it holds this");
        if judged.len() >= JUDGED_MAX || !judged.insert(what) {
            return;
        }
    }
    if let Err(why) = DOCUMENT.admits(answer) {
        panic!("the document does not list this answer: {why}\n{answer:?}");
    }
}
