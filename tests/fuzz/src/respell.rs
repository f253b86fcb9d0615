//! The same JSON in other words: members in another order, spaces between, one text changed.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// What [`mark`] puts into a text.
pub(crate) const MARK: &str = "~q7";

/// The JSON with the members of its objects in another order and spaces between, down to `depth`
/// levels of objects and lists; deeper values stay as they are.
pub(crate) fn reorder(json: &str, depth: usize) -> String {
    let json = json.trim_matches([' ', '\t', '\r', '\n']);
    let parts: Vec<String> = match json.as_bytes().first() {
        Some(b'{') if depth > 0 => {
            let members: BTreeMap<String, &RawValue> =
                serde_json::from_str(json).expect("it was accepted");
            let members = members.iter().rev().map(|(name, value)| {
                let name = serde_json::to_string(name).expect("a text serialises");
                format!("{name} :\t{}", reorder(value.get(), depth - 1))
            });
            members.collect()
        }
        Some(b'[') if depth > 0 => {
            let items: Vec<&RawValue> = serde_json::from_str(json).expect("it was accepted");
            let items = items.iter().map(|item| reorder(item.get(), depth - 1));
            items.collect()
        }
        _ => return json.to_owned(),
    };
    let (open, close) = if json.starts_with('{') {
        ("{", "}")
    } else {
        ("[", "]")
    };
    format!("\n{open} {} {close}\r\n", parts.join("\n, "))
}

/// The JSON with [`MARK`] at the end of one of its texts, names of members included; `None` when it
/// has none.
pub(crate) fn mark(json: &[u8], which: usize) -> Option<Vec<u8>> {
    let ends = ends_of_texts(json);
    let end = *ends.get(which.checked_rem(ends.len())?)?;
    let (before, after) = json.split_at(end);
    Some([before, MARK.as_bytes(), after].concat())
}

/// Where the texts of a JSON end: the places of their closing quotes.
fn ends_of_texts(json: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let (mut inside, mut escaped) = (false, false);
    for (at, byte) in json.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if inside => escaped = true,
            b'"' => {
                if inside {
                    ends.push(at);
                }
                inside = !inside;
            }
            _ => {}
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_order_is_the_same_value() {
        let json = r#"{"a":{"c":1,"b":[ {"e":"x\"y","d":2} ]},"f":[]}"#;
        for depth in 0..6 {
            let other = reorder(json, depth);
            let (one, two): (serde_json::Value, serde_json::Value) = (
                serde_json::from_str(json).unwrap(),
                serde_json::from_str(&other).unwrap(),
            );
            assert_eq!(one, two, "{other}");
            assert_eq!(other.trim() == json, depth == 0, "{other}");
        }
    }

    #[test]
    fn each_text_can_be_marked() {
        let json = br#"{"a":"x\"y","b":[1,""]}"#;
        let marked = |which| String::from_utf8(mark(json, which).unwrap()).unwrap();
        assert_eq!(marked(0), r#"{"a~q7":"x\"y","b":[1,""]}"#);
        assert_eq!(marked(1), r#"{"a":"x\"y~q7","b":[1,""]}"#);
        assert_eq!(marked(3), r#"{"a":"x\"y","b":[1,"~q7"]}"#);
        assert_eq!(marked(4), marked(0));
        assert_eq!(mark(b"[1]", 0), None);
    }
}
