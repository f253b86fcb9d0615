//! What differs between two documents of a space, member by member.
//!
//! Here: the walk and its short words. Not here: what a member means. Called by `registry::change`.
//! Documents hold no secret: a gateway's key is a reference.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Differences that are listed; beyond it they are only counted.
pub(crate) const LISTED_MAX: usize = 200;
/// Letters of a value that are shown.
const SHOWN_MAX: usize = 60;

/// A member that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// Its path, such as `purposes.marketing.budget.limit`.
    pub(crate) member: String,
    /// What it was; `None` when it was not there.
    pub(crate) from: Option<String>,
    /// What it becomes; `None` when it is not there any more.
    pub(crate) to: Option<String>,
}

/// The differences from one document to another, in the order of their paths.
pub(crate) fn diff(from: &Value, to: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut found, "", Some(from), Some(to));
    found
}

fn walk(found: &mut Vec<Difference>, member: &str, from: Option<&Value>, to: Option<&Value>) {
    if from == to {
        return;
    }
    if let (Some(Value::Object(old)), Some(Value::Object(new))) = (from, to) {
        let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let below = match member {
                "" => name.clone(),
                _ => format!("{member}.{name}"),
            };
            walk(found, &below, old.get(name), new.get(name));
        }
        return;
    }
    found.push(Difference {
        member: if member.is_empty() {
            "(the document)".to_owned()
        } else {
            member.to_owned()
        },
        from: from.map(short),
        to: to.map(short),
    });
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= SHOWN_MAX {
        return text;
    }
    let start: String = text.chars().take(SHOWN_MAX - 1).collect();
    format!("{start}…")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_what_differs_and_nothing_else() {
        let from = json!({"purposes": {"a": {"fails": "open"}, "b": {}}, "paid": {}});
        let to = json!({"purposes": {"a": {"fails": "closed"}, "c": {}}, "paid": {}});
        let said: Vec<String> = diff(&from, &to)
            .into_iter()
            .map(|one| format!("{} {:?} {:?}", one.member, one.from, one.to))
            .collect();
        assert_eq!(
            said,
            [
                "purposes.a.fails Some(\"\\\"open\\\"\") Some(\"\\\"closed\\\"\")",
                "purposes.b Some(\"{}\") None",
                "purposes.c None Some(\"{}\")",
            ]
        );
        assert!(diff(&from, &from).is_empty());
    }

    #[test]
    fn a_long_value_is_cut() {
        let long = json!({ "a": "é".repeat(100) });
        let found = diff(&json!({}), &long);
        let to = found[0].to.as_ref().unwrap();
        assert_eq!(to.chars().count(), SHOWN_MAX);
    }
}
