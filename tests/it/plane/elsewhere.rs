//! Edits of another space: whoever may everything in one space learns and changes nothing of another's.

use serde_json::json;

use super::{AGENT, CONSOLE, DIFFS, SPACE, document, proposed, shown, started, step};
use crate::verbs::facts;

#[test]
fn an_edit_of_another_space_is_404_and_stays_as_it_is() {
    let (server, setup) = started(2);
    let made = facts(&setup, &["spaces", "create", "second"]);
    let second = made["id"].as_str().expect("an id");
    let mut words = vec!["keys", "create", "--space", second];
    words.extend(["--source", "people", "--new-source"]);
    for role in ["security", "integration", "analysis", "admin"] {
        words.extend(["--role", role]);
    }
    let made = facts(&setup, &words);
    let elsewhere = made["key"].as_str().expect("a key");
    let mut rules = document(&server, "coordination")["document"].clone();
    rules["purposes"]["marketing"]["budget"]["limit"] = json!(1);
    let diff = proposed(&server, "coordination", &rules);
    let before = shown(&server, &diff);
    let id = diff["diff_id"].as_str().expect("an id");
    for query in [
        "",
        &format!("?space_id={second}"),
        &format!("?space_id={SPACE}"),
    ] {
        let read = server.get(&format!("{DIFFS}/{id}{query}"), elsewhere);
        let code = &read.json()["code"];
        // Who names a space that is not the key's is told no more than that.
        assert_eq!(
            (read.status, code),
            (404, &json!("not_found")),
            "{query}: {read:?}"
        );
        assert!(!read.text.contains("marketing"), "{read:?}");
    }
    for word in ["approve", "reject"] {
        let answer = server.post(&step(&diff, word), elsewhere, &json!({}));
        assert_eq!(answer.status, 404, "{word}: {answer:?}");
        assert_eq!(answer.json()["code"], "not_found", "{word}");
    }
    let own = server.get(&format!("{DIFFS}?space_id={second}"), elsewhere);
    assert_eq!(own.status, 200, "{own:?}");
    assert!(!own.text.contains(id), "it is not listed there: {own:?}");
    // As if it had never been asked; in its own space it goes on.
    assert_eq!(shown(&server, &diff), before);
    assert_eq!(before["state"], "open");
    assert_eq!(server.get(&format!("{DIFFS}/{id}"), AGENT).status, 403);
    let rejected = server.post(&step(&diff, "reject"), CONSOLE, &json!({}));
    assert_eq!(rejected.status, 200, "{rejected:?}");
}
