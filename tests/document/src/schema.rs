//! Whether a value is of a schema.

use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::Document;

/// What says nothing about values.
const WORDS: [&str; 7] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "discriminator",
    "summary",
];
/// What [`holds`] judges.
const RULES: [&str; 19] = [
    "$ref",
    "anyOf",
    "oneOf",
    "allOf",
    "const",
    "enum",
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minimum",
    "maximum",
];

/// The patterns of the formats that are judged.
const UUID: &str = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$";
const DATE_TIME: &str = r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$";

/// Says how a value is not of a schema.
pub(crate) fn holds(document: &Document, schema: &Value, value: &Value) -> Result<(), String> {
    let rules = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) => rules,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(format!("{schema} is no schema"));
        }
    };
    let known = |name: &&String| {
        RULES.contains(&name.as_str()) || WORDS.contains(&name.as_str()) || name.starts_with("x-")
    };
    if let Some(name) = rules.keys().find(|name| !known(name)) {
        return Err(format!(
            "the schema has the keyword {name}, which is not judged here"
        ));
    }
    if let Some(reference) = schema["$ref"].as_str() {
        holds(document, document.follow(reference)?, value)?;
    }
    several(document, schema, value)?;
    let listed = schema["enum"].as_array();
    keep(
        listed.is_none_or(|listed| listed.contains(value)),
        schema,
        value,
    )?;
    keep(
        rules.get("const").is_none_or(|only| only == value),
        schema,
        value,
    )?;
    keep(is_of_type(&schema["type"], value)?, schema, value)?;
    match value {
        Value::Object(members) => object(document, schema, members),
        Value::Array(items) => {
            keep(
                within(schema, "minItems", "maxItems", items.len() as f64),
                schema,
                value,
            )?;
            let Some(each) = rules.get("items") else {
                return Ok(());
            };
            for (index, item) in items.iter().enumerate() {
                holds(document, each, item).map_err(|why| format!("[{index}]: {why}"))?;
            }
            Ok(())
        }
        Value::String(text) => keep(is_text(schema, text)?, schema, value),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            keep(within(schema, "minimum", "maximum", number), schema, value)
        }
        Value::Null | Value::Bool(_) => Ok(()),
    }
}

/// `anyOf`, `oneOf`, `allOf`.
fn several(document: &Document, schema: &Value, value: &Value) -> Result<(), String> {
    let fits = |name: &str| {
        let options = schema[name].as_array()?;
        let fits = |option: &&Value| holds(document, option, value).is_ok();
        Some((options.iter().filter(fits).count(), options.len()))
    };
    let faults = [
        ("anyOf", fits("anyOf").is_some_and(|(count, _)| count == 0)),
        ("oneOf", fits("oneOf").is_some_and(|(count, _)| count != 1)),
        (
            "allOf",
            fits("allOf").is_some_and(|(count, all)| count != all),
        ),
    ];
    match faults.into_iter().find(|(_, fault)| *fault) {
        None => Ok(()),
        Some((name, _)) => Err(format!("{value} does not fit {name} of {schema}")),
    }
}

fn object(document: &Document, schema: &Value, members: &Map<String, Value>) -> Result<(), String> {
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap_or_default();
        if !members.contains_key(name) {
            return Err(format!("the member {name} is missing"));
        }
    }
    let other = &schema["additionalProperties"];
    for (name, member) in members {
        let listed = &schema["properties"][name];
        if *other == Value::Bool(false) && listed.is_null() {
            return Err(format!("the member {name} is not listed"));
        }
        let rule = if listed.is_null() { other } else { listed };
        if !rule.is_null() {
            holds(document, rule, member).map_err(|why| format!("{name}: {why}"))?;
        }
    }
    Ok(())
}

/// Whether it is of the type, or of one of the types.
fn is_of_type(types: &Value, value: &Value) -> Result<bool, String> {
    let one = |name: &str| match name {
        "object" => Ok(value.is_object()),
        "array" => Ok(value.is_array()),
        "string" => Ok(value.is_string()),
        "number" => Ok(value.is_number()),
        "integer" => Ok(value.as_f64().is_some_and(|number| number.fract() == 0.0)),
        "boolean" => Ok(value.is_boolean()),
        "null" => Ok(value.is_null()),
        other => Err(format!("the schema has the type {other}, which is none")),
    };
    match types {
        Value::Null => Ok(true),
        Value::String(name) => one(name),
        Value::Array(names) => {
            let mut fits = false;
            for name in names {
                fits |= one(name.as_str().unwrap_or_default())?;
            }
            Ok(fits)
        }
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => Err(format!("{types} is no type")),
    }
}

fn is_text(schema: &Value, text: &str) -> Result<bool, String> {
    let format = match schema["format"].as_str() {
        None => None,
        Some("uuid") => Some(UUID),
        Some("date-time") => Some(DATE_TIME),
        Some(other) => return Err(format!("the format {other} is not judged here")),
    };
    for pattern in schema["pattern"].as_str().into_iter().chain(format) {
        let regex = Regex::new(pattern).map_err(|error| format!("{pattern}: {error}"))?;
        if !regex.is_match(text) {
            return Ok(false);
        }
    }
    Ok(within(
        schema,
        "minLength",
        "maxLength",
        text.chars().count() as f64,
    ))
}

fn within(schema: &Value, min: &str, max: &str, number: f64) -> bool {
    schema[min].as_f64().is_none_or(|min| min <= number)
        && schema[max].as_f64().is_none_or(|max| number <= max)
}

fn keep(holds: bool, schema: &Value, value: &Value) -> Result<(), String> {
    if holds {
        return Ok(());
    }
    let mut shown = schema.clone();
    if let Some(rules) = shown.as_object_mut() {
        rules.remove("description");
    }
    Err(format!("{value} breaks {shown}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_rule_can_be_broken() {
        let document = Document(json!({"components": {"schemas": {"Word": {"enum": ["a"]}}}}));
        let word = json!({"$ref": "#/components/schemas/Word"});
        let cases = [
            (word.clone(), json!("a"), json!("b")),
            (json!({"allOf": [word]}), json!("a"), json!("b")),
            (
                json!({"anyOf": [word, {"type": "null"}]}),
                json!(null),
                json!(1),
            ),
            (
                json!({"oneOf": [{"type": "integer"}, {"type": "number"}]}),
                json!(1.5),
                json!(1),
            ),
            (json!({"const": "a"}), json!("a"), json!("b")),
            (json!({"type": ["string", "null"]}), json!(null), json!(1)),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 2}),
                json!(2),
                json!(3),
            ),
            (json!({"type": "integer"}), json!(1.0), json!(1.5)),
            (
                json!({"minLength": 2, "maxLength": 2}),
                json!("éé"),
                json!("é"),
            ),
            (json!({"pattern": "^a+$"}), json!("aa"), json!("ab")),
            (
                json!({"format": "uuid"}),
                json!("0192e2a0-0000-7000-8000-000000000001"),
                json!("0192e2a0"),
            ),
            (
                json!({"format": "date-time"}),
                json!("2026-01-05T12:00:00Z"),
                json!("2026-01-05"),
            ),
            (
                json!({"minItems": 1, "items": {"type": "null"}}),
                json!([null]),
                json!([1]),
            ),
            (json!({"maxItems": 1}), json!([1]), json!([1, 2])),
            (json!({"required": ["a"]}), json!({"a": 1}), json!({"b": 1})),
            (
                json!({"properties": {"a": {"type": "null"}}, "additionalProperties": false}),
                json!({"a": null}),
                json!({"b": null}),
            ),
            (
                json!({"additionalProperties": {"type": "null"}}),
                json!({"a": null}),
                json!({"a": 1}),
            ),
        ];
        for (schema, right, wrong) in cases {
            assert_eq!(holds(&document, &schema, &right), Ok(()), "{schema}");
            assert!(holds(&document, &schema, &wrong).is_err(), "{schema}");
        }
    }

    #[test]
    fn a_keyword_that_is_not_judged_is_a_fault() {
        let document = Document(json!({}));
        assert!(holds(&document, &json!({"multipleOf": 2}), &json!(2)).is_err());
        assert!(holds(&document, &json!({"format": "ipv4"}), &json!("x")).is_err());
        assert!(holds(&document, &json!({"$ref": "#/gone"}), &json!("x")).is_err());
    }
}
