//! Whether one schema promises at least what another one does.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::Document;
use crate::compare::{Both, items, members};

/// Who sends what a schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// A client, in a body: all that the published schema takes is taken, and no more.
    Request,
    /// A client, in an address or header, where there is no null.
    Parameter,
    /// The server: nothing is sent that the published schema does not have.
    Answer,
}

/// The deepest a contract nests; deeper is a schema inside itself.
const DEPTH_MAX: usize = 40;

/// Says how `mine` promises less than `theirs`.
pub(crate) fn compare(
    both: Both<'_>,
    way: Way,
    place: &str,
    theirs: &Value,
    mine: &Value,
) -> Result<(), String> {
    if place.matches('.').count() > DEPTH_MAX {
        return Err(format!("{place} nests too deeply to be compared"));
    }
    let theirs = plain(both.published, theirs)?;
    let mine = plain(both.ours, mine)?;
    let theirs = &theirs;
    let mine = &mine;
    let narrower = match way {
        Way::Request => theirs.null && !mine.null,
        Way::Answer => mine.null && !theirs.null,
        Way::Parameter => false,
    };
    if narrower {
        return Err(format!("{place} may be null in one and not in the other"));
    }
    let (from, to) = (&theirs.schema, &mine.schema);
    if from["oneOf"].is_array() || to["oneOf"].is_array() {
        return kinds(both, way, place, from, to);
    }
    let integer = way == Way::Answer && from["type"] == "number" && to["type"] == "integer";
    if from["type"] != to["type"] && !integer {
        return Err(format!(
            "{place} is {} and not {}",
            to["type"], from["type"]
        ));
    }
    words(way, place, from, to)?;
    rules(way, place, from, to)?;
    if way != Way::Answer && !from["default"].is_null() && from["default"] != to["default"] {
        return Err(format!(
            "{place} defaults to {} and not {}",
            to["default"], from["default"]
        ));
    }
    match from["type"].as_str() {
        Some("object") => object(both, way, place, from, mine),
        Some("array") => compare(
            both,
            way,
            &format!("{place}[]"),
            &from["items"],
            &to["items"],
        ),
        Some(_) | None => Ok(()),
    }
}

/// A schema without its references, wrappers and nulls.
struct Plain {
    schema: Value,
    null: bool,
    /// The component it is, when it is one.
    name: Option<String>,
}

fn plain(document: &Document, schema: &Value) -> Result<Plain, String> {
    let mut schema = schema.clone();
    let (mut null, mut name) = (false, None);
    loop {
        let default = schema["default"].clone();
        let inner = if let Some(reference) = schema["$ref"].as_str() {
            name = reference.rsplit('/').next().map(str::to_owned);
            document.follow(reference)?.clone()
        } else if let [only] = items(&schema["allOf"]) {
            only.clone()
        } else if let [some, nothing] = items(&schema["anyOf"])
            && nothing["type"] == "null"
        {
            null = true;
            some.clone()
        } else {
            if !schema["const"].is_null() {
                schema["enum"] = json!([schema["const"]]);
            }
            return Ok(Plain { schema, null, name });
        };
        schema = inner;
        if !default.is_null() {
            schema["default"] = default;
        }
    }
}

/// Objects told apart by a member.
fn kinds(both: Both<'_>, way: Way, place: &str, from: &Value, to: &Value) -> Result<(), String> {
    let (theirs, mine) = (&from["discriminator"], &to["discriminator"]);
    if theirs["propertyName"] != mine["propertyName"] {
        return Err(format!("{place} is told apart by {mine} and not {theirs}"));
    }
    if items(&from["oneOf"]).len() != items(&to["oneOf"]).len() {
        return Err(format!("{place} has another number of kinds"));
    }
    for (kind, reference) in members(&theirs["mapping"]) {
        let place = format!("{place} ({kind})");
        let known = &mine["mapping"][kind];
        if !items(&to["oneOf"])
            .iter()
            .any(|option| option["$ref"] == *known)
        {
            return Err(format!("{place} is not in the served document"));
        }
        let (theirs, mine) = (json!({"$ref": reference}), json!({"$ref": known}));
        compare(both, way, &place, &theirs, &mine)?;
    }
    Ok(())
}

/// Closed sets of words.
fn words(way: Way, place: &str, from: &Value, to: &Value) -> Result<(), String> {
    let set = |schema: &Value| -> Option<BTreeSet<String>> {
        let words = schema["enum"].as_array()?;
        Some(words.iter().map(Value::to_string).collect())
    };
    let (theirs, mine) = (set(from), set(to));
    let same = match (&theirs, &mine) {
        (Some(theirs), Some(mine)) => theirs == mine,
        (None, Some(_)) => way == Way::Answer,
        (Some(_), None) => false,
        (None, None) => true,
    };
    if same {
        return Ok(());
    }
    let shown =
        |set: Option<BTreeSet<String>>| set.map_or("any".to_owned(), |set| format!("{set:?}"));
    Err(format!(
        "{place} is one of {} and not {}",
        shown(mine),
        shown(theirs)
    ))
}

/// Patterns, formats and bounds.
fn rules(way: Way, place: &str, from: &Value, to: &Value) -> Result<(), String> {
    for rule in ["pattern", "format"] {
        let free = way == Way::Answer && (from[rule].is_null() || !to["enum"].is_null());
        if from[rule] != to[rule] && !free {
            return Err(format!(
                "{place} has the {rule} {} and not {}",
                to[rule], from[rule]
            ));
        }
    }
    for (min, max) in [
        ("minLength", "maxLength"),
        ("minItems", "maxItems"),
        ("minimum", "maximum"),
    ] {
        let bounds = |schema: &Value| {
            let (low, high) = implied(schema, min);
            let least = if min == "minimum" { f64::MIN } else { 0.0 };
            (
                schema[min].as_f64().unwrap_or(low.unwrap_or(least)),
                schema[max].as_f64().unwrap_or(high.unwrap_or(f64::MAX)),
            )
        };
        let (theirs, mine) = (bounds(from), bounds(to));
        let kept = match way {
            Way::Answer => theirs.0 <= mine.0 && mine.1 <= theirs.1,
            Way::Request | Way::Parameter => theirs == mine,
        };
        if !kept {
            return Err(format!(
                "{place} has {min} {} and {max} {}, and not {} and {}",
                to[min], to[max], from[min], from[max]
            ));
        }
    }
    Ok(())
}

/// The lengths that another rule leaves a text.
fn implied(schema: &Value, min: &str) -> (Option<f64>, Option<f64>) {
    if min != "minLength" {
        return (None, None);
    }
    let words = items(&schema["enum"]).iter().filter_map(Value::as_str);
    let lengths: Vec<usize> = words.map(str::len).collect();
    if let (Some(low), Some(high)) = (lengths.iter().min(), lengths.iter().max()) {
        return (Some(*low as f64), Some(*high as f64));
    }
    match (schema["format"].as_str(), schema["pattern"].as_str()) {
        (Some("uuid"), _) => (Some(36.0), Some(36.0)),
        _ => (None, None),
    }
}

fn object(both: Both<'_>, way: Way, place: &str, from: &Value, mine: &Plain) -> Result<(), String> {
    let to = &mine.schema;
    for (name, member) in members(&from["properties"]) {
        let place = format!("{place}.{name}");
        let known = &to["properties"][name];
        if known.is_null() {
            return Err(format!("{place} is not in the served document"));
        }
        compare(both, way, &place, member, known)?;
    }
    let required = |schema: &Value| -> BTreeSet<String> {
        let names = items(&schema["required"]).iter().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    };
    let (theirs, ours) = (required(from), required(to));
    let missing = match way {
        Way::Answer => theirs.difference(&ours).next(),
        Way::Request | Way::Parameter => ours.difference(&theirs).next(),
    };
    if let Some(name) = missing {
        return Err(format!(
            "{place}.{name} is required in one and not in the other"
        ));
    }
    for (name, _) in members(&to["properties"]) {
        let listed = !from["properties"][name].is_null();
        let component = mine.name.as_deref().unwrap_or_default();
        let added =
            way == Way::Answer && !ours.contains(name) && both.added.contains(&(component, name));
        if !listed && !added {
            return Err(format!("{place}.{name} is not in the published contract"));
        }
    }
    let (theirs, mine) = (&from["additionalProperties"], &to["additionalProperties"]);
    if theirs.is_object() && mine.is_object() {
        return compare(both, way, &format!("{place}.*"), theirs, mine);
    }
    if theirs == mine {
        Ok(())
    } else {
        Err(format!(
            "{place} has additionalProperties {mine} and not {theirs}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superset;

    fn document() -> Value {
        json!({
            "paths": {"/a": {"post": {
                "operationId": "a",
                "parameters": [{"name": "days", "in": "query", "required": false,
                    "schema": {"type": "integer", "minimum": 1, "maximum": 9, "default": 7}}],
                "requestBody": {"required": true, "content": {"application/json": {"schema":
                    {"$ref": "#/components/schemas/Asked"}}}},
                "responses": {
                    "200": {"content": {"application/json": {"schema":
                        {"$ref": "#/components/schemas/Told"}}}},
                    "422": {},
                },
            }}},
            "components": {"schemas": {
                "Asked": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "pattern": "^a$"},
                        "note": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
                    },
                },
                "Told": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["state", "ids"],
                    "properties": {
                        "state": {"type": "string", "enum": ["done", "failed"]},
                        "ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
                    },
                },
            }},
        })
    }

    fn difference(change: impl FnOnce(&mut Value)) -> Option<String> {
        let mut changed = document();
        change(&mut changed);
        let added = [("Told", "more")];
        superset(&Document(document()), &Document(changed), &added).err()
    }

    #[test]
    fn a_document_is_a_superset_of_itself() {
        assert_eq!(difference(|_| {}), None);
    }

    #[test]
    fn an_answer_may_gain_a_listed_member() {
        let more = |changed: &mut Value| {
            changed["components"]["schemas"]["Told"]["properties"]["more"] = json!({});
        };
        assert_eq!(difference(more), None);
    }

    const ASKED: &str = "/components/schemas/Asked";
    const TOLD: &str = "/components/schemas/Told";
    const POST: &str = "/paths/~1a/post";

    /// Sets a member below a place, and expects these words of the difference.
    fn names(place: &str, member: &str, value: Value, words: &str) {
        let change = |changed: &mut Value| {
            changed.pointer_mut(place).unwrap()[member] = value;
        };
        let found = difference(change).unwrap_or_default();
        assert!(found.contains(words), "{place} {member}: {found:?}");
    }

    #[test]
    fn a_difference_of_an_operation_is_named() {
        names("", "paths", json!({}), "POST /a is not");
        names(POST, "operationId", json!("b"), "another operationId");
        names(POST, "parameters", json!([]), "parameter \"days\" is not");
        names(POST, "requestBody", json!({}), "request is not taken");
        let bare = json!({"200": {}});
        names(POST, "responses", bare, "200 as application/json is not");
        let responses = format!("{POST}/responses");
        names(&responses, "201", json!({}), "succeeds with 201");
        let days = format!("{POST}/parameters/0");
        names(&days, "required", json!(true), "required in one");
        let days = format!("{days}/schema");
        names(&days, "default", json!(8), "defaults to 8");
        names(&days, "maximum", json!(8), "maximum 8");
    }

    #[test]
    fn a_difference_of_a_request_is_named() {
        let both = json!(["name", "note"]);
        names(ASKED, "required", both, "request.note is required");
        let open = json!(true);
        names(
            ASKED,
            "additionalProperties",
            open,
            "additionalProperties true",
        );
        names(ASKED, "properties", json!({}), "request.name is not");
        let members = format!("{ASKED}/properties");
        names(&members, "more", json!({}), "request.more is not");
        names(&members, "note", json!({"type": "string"}), "may be null");
        let name = format!("{members}/name");
        names(&name, "pattern", json!("^b$"), "the pattern \"^b$\"");
        let note = format!("{members}/note/anyOf/0");
        names(&note, "minLength", json!(2), "minLength 2");
    }

    #[test]
    fn a_difference_of_an_answer_is_named() {
        names(
            TOLD,
            "required",
            json!(["ids"]),
            ".state is required in one",
        );
        let members = format!("{TOLD}/properties");
        names(&members, "else", json!({}), ".else is not in the published");
        let state = format!("{members}/state");
        names(&state, "enum", json!(["done"]), ".state is one of");
        names(&state, "type", json!("integer"), ".state is \"integer\"");
        let ids = format!("{members}/ids/items");
        names(&ids, "format", json!(null), ".ids[] has the format");
    }
}
