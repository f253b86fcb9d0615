//! What differs between two documents of a space, member by member.
//!
//! Here: the walk, and values cut short for lists. Not here: what a member means; what a section is
//! when it is left out comes from the caller. Called by `registry::change` and `registry::plane`.
//! Documents hold no secret: a gateway's key is a reference.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Differences that are listed; beyond it they are only counted.
pub(crate) const LISTED_MAX: usize = 200;
/// Letters of a value that a list shows.
const SHOWN_MAX: usize = 60;

/// A member that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Difference {
    /// Its path, such as `purposes.marketing.budget.limit`.
    pub(crate) member: String,
    /// What it was; `None` when it was not there. Of a section that was left out its default.
    pub(crate) from: Option<String>,
    /// What it becomes; `None` when it is not there any more. Of a section that is left out its
    /// default.
    pub(crate) to: Option<String>,
    /// What a side that is not in its document means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
}

/// Of a section that the new document leaves out.
const LEFT_OUT: &str = "left out; `to` is the section's default, which is in force then";
/// Of a section that the old document leaves out.
const WAS_LEFT_OUT: &str = "was left out; `from` is the section's default";
/// Of a member of a section.
const TAKEN_AWAY: &str =
    "taken away; a name is not declared any more, another member has its default";

impl Difference {
    /// With values cut short, for a list.
    pub(crate) fn cut(&self) -> Self {
        Self {
            member: self.member.clone(),
            from: self.from.as_deref().map(short),
            to: self.to.as_deref().map(short),
            note: self.note.clone(),
        }
    }
}

/// The differences from one document to another, in the order of their paths, whole. `defaults` has
/// what a section is that is left out.
pub(crate) fn diff(from: &Value, to: &Value, defaults: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(&mut found, "", (Some(from), Some(to)), defaults);
    found
}

fn walk(
    found: &mut Vec<Difference>,
    member: &str,
    (from, to): (Option<&Value>, Option<&Value>),
    defaults: &Value,
) {
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
            walk(found, &below, (old.get(name), new.get(name)), defaults);
        }
        return;
    }
    // A member of a section has a path with a dot, so only a section is found.
    let default = defaults.get(member);
    let note = match (from, to, default) {
        (Some(_), None, Some(_)) => Some(LEFT_OUT),
        (Some(_), None, None) => Some(TAKEN_AWAY),
        (None, _, Some(_)) => Some(WAS_LEFT_OUT),
        (None, _, None) | (Some(_), Some(_), _) => None,
    };
    found.push(Difference {
        member: if member.is_empty() {
            "(the document)".to_owned()
        } else {
            member.to_owned()
        },
        from: from.or(default).map(Value::to_string),
        to: to.or(default).map(Value::to_string),
        note: note.map(str::to_owned),
    });
}

fn short(text: &str) -> String {
    if text.chars().count() <= SHOWN_MAX {
        return text.to_owned();
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
        let said: Vec<String> = diff(&from, &to, &Value::Null)
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
        assert!(diff(&from, &from, &Value::Null).is_empty());
    }

    #[test]
    fn a_long_value_is_whole_and_cut_for_a_list() {
        let long = json!({ "a": "é".repeat(100) });
        let found = diff(&json!({}), &long, &Value::Null);
        assert_eq!(found[0].to, Some(long["a"].to_string()));
        let cut = found[0].cut().to.unwrap();
        assert_eq!(cut.chars().count(), SHOWN_MAX);
        assert!(cut.ends_with('…'), "{cut}");
    }

    #[test]
    fn a_section_that_is_left_out_shows_what_it_becomes() {
        let with = json!({"paid": {"a": 1}, "purposes": {"p": {"budget": 1}}});
        let without = json!({"purposes": {"p": {}}});
        let defaults = json!({"paid": {"usual": 2}, "purposes": {}});
        let found = diff(&with, &without, &defaults);
        let said: Vec<_> = found
            .iter()
            .map(|one| (&*one.member, one.to.as_deref(), one.note.as_deref()))
            .collect();
        assert_eq!(
            said,
            [
                ("paid", Some("{\"usual\":2}"), Some(LEFT_OUT)),
                ("purposes.p.budget", None, Some(TAKEN_AWAY)),
            ]
        );
        let back = diff(&without, &with, &defaults);
        assert_eq!(back[0].from.as_deref(), Some("{\"usual\":2}"));
        assert_eq!(back[0].note.as_deref(), Some(WAS_LEFT_OUT));
        assert_eq!(back[1].note, None);
    }
}
