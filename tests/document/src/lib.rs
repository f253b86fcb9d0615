//! Holds answers to an OpenAPI document, and one document to another; for tests.
//!
//! Here: as much of OpenAPI 3.1 and JSON Schema as both the served document and the published
//! contract use; a keyword that is not known here is a fault of the document, so nothing is let
//! through unread. Not here: any code of the server, so that it cannot agree with itself.

mod answer;
mod compare;
mod schema;
mod shapes;

use std::collections::BTreeSet;

use serde_json::Value;

pub use compare::superset;

/// A document.
#[derive(Clone, Debug)]
pub struct Document(Value);

/// What came back from a server.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The request's method.
    pub method: &'a str,
    /// The request's path, with its query.
    pub path: &'a str,
    /// The status.
    pub status: u16,
    /// `Content-Type`, when there was one.
    pub media_type: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    /// It is not JSON.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let value = serde_json::from_slice(text);
        value.map(Self).map_err(|error| error.to_string())
    }

    /// The document as JSON.
    #[must_use]
    pub fn json(&self) -> &Value {
        &self.0
    }

    /// The part of the document that is about some paths: their operations, and the components
    /// these lead to.
    #[must_use]
    pub fn about(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let mut part = self.0.clone();
        if let Some(paths) = part["paths"].as_object_mut() {
            paths.retain(|path, _| wanted(path));
        }
        let mut reached = BTreeSet::new();
        let mut open = references(&part["paths"]);
        while let Some(name) = open.pop() {
            if reached.insert(name.clone()) {
                open.extend(references(&self.0["components"]["schemas"][&name]));
            }
        }
        if let Some(schemas) = part["components"]["schemas"].as_object_mut() {
            schemas.retain(|name, _| reached.contains(name));
        }
        Self(part)
    }

    /// Whether an answer is one the document lists.
    ///
    /// # Errors
    /// How it is not, in words.
    pub fn admits(&self, answer: &Answer<'_>) -> Result<(), String> {
        answer::admits(self, answer)
    }

    /// Whether a value is of a component.
    ///
    /// # Errors
    /// How it is not, in words.
    pub fn component(&self, name: &str, value: &Value) -> Result<(), String> {
        schema::holds(self, self.named(name)?, value)
    }

    fn named(&self, name: &str) -> Result<&Value, String> {
        let schema = &self.0["components"]["schemas"][name];
        if schema.is_null() {
            Err(format!("the document has no component {name}"))
        } else {
            Ok(schema)
        }
    }

    /// What a reference leads to.
    fn follow(&self, reference: &str) -> Result<&Value, String> {
        let place = reference.trim_start_matches('#');
        let target = self.0.pointer(place);
        target.ok_or_else(|| format!("{reference} leads nowhere"))
    }
}

/// The components that a part of a document names.
fn references(part: &Value) -> Vec<String> {
    match part {
        Value::String(text) => {
            let name = text.strip_prefix("#/components/schemas/");
            name.map(str::to_owned).into_iter().collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Object(members) => members.values().flat_map(references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
