//! Whether an answer is one that its operation lists.

use serde_json::Value;

use crate::{Answer, Document, schema};

/// The codes of a response, as the served document lists them.
const CODES: &str = "x-interlock-codes";

/// Says how an answer is not one the document lists.
pub(crate) fn admits(document: &Document, answer: &Answer<'_>) -> Result<(), String> {
    let Answer { method, status, .. } = *answer;
    let Some((pattern, item)) = item(document, answer.path) else {
        // Outside the document there is nothing.
        return refuses(document, answer, &[404]);
    };
    let operation = &item[method.to_ascii_lowercase()];
    if operation.is_null() {
        return refuses(document, answer, &[404, 405]);
    }
    let response = &operation["responses"][status.to_string()];
    if response.is_null() {
        return Err(format!(
            "{method} {pattern} does not list the status {status}"
        ));
    }
    let fault = |why: String| format!("{method} {pattern}, {status}: {why}");
    body(document, response, answer).map_err(fault)
}

/// An answer where the document lists no operation.
fn refuses(document: &Document, answer: &Answer<'_>, statuses: &[u16]) -> Result<(), String> {
    let Answer {
        method,
        path,
        status,
        ..
    } = *answer;
    if !statuses.contains(&status) {
        return Err(format!(
            "the document lists no {method} {path}, which answered {status}"
        ));
    }
    if method == "HEAD" {
        return Ok(());
    }
    document.component("Problem", &json(answer.body)?)
}

fn body(document: &Document, response: &Value, answer: &Answer<'_>) -> Result<(), String> {
    let Some(listed) = response["content"].as_object() else {
        return if answer.body.is_empty() {
            Ok(())
        } else {
            Err("a body is there and not listed".to_owned())
        };
    };
    let sent = answer.media_type.unwrap_or_default();
    let sent = sent.split(';').next().unwrap_or_default().trim();
    let content = listed.get(sent);
    let content = content.ok_or_else(|| format!("the media type {sent:?} is not listed"))?;
    if answer.method == "HEAD" {
        return Ok(());
    }
    let value = if sent.ends_with("json") {
        json(answer.body)?
    } else {
        Value::String(String::from_utf8_lossy(answer.body).into_owned())
    };
    schema::holds(document, &content["schema"], &value)?;
    match response[CODES].as_array() {
        Some(codes) if !codes.contains(&value["code"]) => {
            Err(format!("the code {} is not listed", value["code"]))
        }
        Some(_) | None => Ok(()),
    }
}

fn json(body: &[u8]) -> Result<Value, String> {
    serde_json::from_slice(body).map_err(|error| format!("the body is not JSON: {error}"))
}

/// The path item for a path: the one with the most parts that are written out.
fn item<'d>(document: &'d Document, path: &str) -> Option<(&'d str, &'d Value)> {
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> = path.split('/').collect();
    let paths = document.json()["paths"].as_object()?;
    let fits = |pattern: &str| {
        let wanted: Vec<&str> = pattern.split('/').collect();
        let one = |(wanted, sent): (&&str, &&str)| {
            wanted == sent || (wanted.starts_with('{') && !sent.is_empty())
        };
        wanted.len() == parts.len() && wanted.iter().zip(&parts).all(one)
    };
    paths
        .iter()
        .filter(|(pattern, _)| fits(pattern))
        .min_by_key(|(pattern, _)| pattern.matches('{').count())
        .map(|(pattern, item)| (pattern.as_str(), item))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Document {
        let problem = json!({"application/problem+json": {"schema": {"type": "object"}}});
        let number = json!({"application/json": {"schema": {"type": "integer"}}});
        Document(json!({
            "paths": {
                "/a/{id}": {"get": {"responses": {
                    "200": {"content": number},
                    "204": {},
                    "409": {"content": problem, "x-interlock-codes": ["held"]},
                }}},
                "/a/b": {"get": {"responses": {"200": {"content": number}}}},
            },
            "components": {"schemas": {"Problem": {"type": "object"}}},
        }))
    }

    #[test]
    fn an_answer_is_judged_by_its_path_status_media_type_and_body() {
        const JSON: &str = "application/json; charset=utf-8";
        const PROBLEM: &str = "application/problem+json";
        let cases = [
            ("GET", "/a/7?x=1", 200, JSON, "1", true),
            ("GET", "/a/7", 200, JSON, "\"1\"", false),
            ("GET", "/a/7", 200, JSON, "{", false),
            ("GET", "/a/7", 200, "text/plain", "1", false),
            ("GET", "/a/7", 201, JSON, "1", false),
            ("GET", "/a/7", 204, "", "", true),
            ("GET", "/a/7", 204, "", "1", false),
            ("GET", "/a/7", 409, PROBLEM, r#"{"code":"held"}"#, true),
            ("GET", "/a/7", 409, PROBLEM, r#"{"code":"other"}"#, false),
            ("GET", "/a/b", 409, PROBLEM, r#"{"code":"held"}"#, false),
            ("POST", "/a/7", 405, PROBLEM, "{}", true),
            ("POST", "/a/7", 200, JSON, "1", false),
            ("GET", "/a/", 404, PROBLEM, "{}", true),
            ("GET", "/c", 404, PROBLEM, "[]", false),
            ("GET", "/c", 200, JSON, "1", false),
        ];
        for (method, path, status, media_type, body, right) in cases {
            let answer = Answer {
                method,
                path,
                status,
                media_type: Some(media_type),
                body: body.as_bytes(),
            };
            let held = admits(&document(), &answer);
            assert_eq!(held.is_ok(), right, "{answer:?}: {held:?}");
        }
    }
}
