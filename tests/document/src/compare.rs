//! Whether one document promises at least what another one does.
//!
//! Here: the walk over operations. A request may ask for no more than the published one and an
//! answer may hold no less: [`Way`]. The first difference is told in words.

use serde_json::Value;

use crate::Document;
use crate::shapes::{Way, compare};

/// Members of answers that the served document may add: component and member.
pub(crate) type Added<'a> = &'a [(&'a str, &'a str)];

/// Whether `ours` has every operation of `published`, with at least its promises. `added` are the
/// members that answers of ours may have beside its.
///
/// # Errors
/// The first difference, in words.
pub fn superset(
    published: &Document,
    ours: &Document,
    added: &[(&str, &str)],
) -> Result<(), String> {
    for (path, item) in members(&published.json()["paths"]) {
        for (method, theirs) in members(item) {
            let place = format!("{} {path}", method.to_uppercase());
            let mine = &ours.json()["paths"][path][method];
            if mine.is_null() {
                return Err(format!("{place} is not in the served document"));
            }
            if mine["operationId"] != theirs["operationId"] {
                return Err(format!("{place} has another operationId"));
            }
            let both = Both {
                published,
                ours,
                added,
            };
            both.parameters(&place, theirs, mine)?;
            both.request(&place, theirs, mine)?;
            both.answers(&place, theirs, mine)?;
        }
    }
    let (theirs, mine) = (published.json(), ours.json());
    for (name, _) in members(&theirs["components"]["schemas"]) {
        if mine["components"]["schemas"][name].is_null() {
            return Err(format!(
                "the component {name} is not in the served document"
            ));
        }
    }
    Ok(())
}

/// Both documents.
#[derive(Clone, Copy)]
pub(crate) struct Both<'d> {
    pub(crate) published: &'d Document,
    pub(crate) ours: &'d Document,
    pub(crate) added: Added<'d>,
}

impl Both<'_> {
    fn parameters(self, place: &str, theirs: &Value, mine: &Value) -> Result<(), String> {
        let listed = |operation: &Value| items(&operation["parameters"]).to_vec();
        let is =
            |one: &Value, other: &Value| one["name"] == other["name"] && one["in"] == other["in"];
        let (theirs, mine) = (listed(theirs), listed(mine));
        for wanted in &theirs {
            let place = format!("{place}, parameter {}", wanted["name"]);
            let Some(known) = mine.iter().find(|known| is(known, wanted)) else {
                return Err(format!("{place} is not in the served document"));
            };
            if known["required"] != wanted["required"] {
                return Err(format!("{place} is required in one and not in the other"));
            }
            compare(
                self,
                Way::Parameter,
                &place,
                &wanted["schema"],
                &known["schema"],
            )?;
        }
        let more = mine.iter().find(|known| {
            known["required"] == Value::Bool(true) && !theirs.iter().any(|wanted| is(known, wanted))
        });
        match more {
            None => Ok(()),
            Some(more) => Err(format!(
                "{place} requires the parameter {} too",
                more["name"]
            )),
        }
    }

    fn request(self, place: &str, theirs: &Value, mine: &Value) -> Result<(), String> {
        let (theirs, mine) = (&theirs["requestBody"], &mine["requestBody"]);
        let required = |body: &Value| body["required"] == Value::Bool(true);
        if required(mine) && !required(theirs) {
            return Err(format!("{place} requires a body"));
        }
        for (media_type, content) in members(&theirs["content"]) {
            let place = format!("{place}, request");
            let known = &mine["content"][media_type];
            if known.is_null() {
                return Err(format!("{place} is not taken as {media_type}"));
            }
            compare(
                self,
                Way::Request,
                &place,
                &content["schema"],
                &known["schema"],
            )?;
        }
        Ok(())
    }

    fn answers(self, place: &str, theirs: &Value, mine: &Value) -> Result<(), String> {
        for (status, response) in members(&theirs["responses"]) {
            let place = format!("{place}, {status}");
            let known = &mine["responses"][status];
            if known.is_null() {
                return Err(format!("{place} is not in the served document"));
            }
            for (media_type, content) in members(&response["content"]) {
                let place = format!("{place} as {media_type}");
                let known = &known["content"][media_type];
                if known.is_null() {
                    return Err(format!("{place} is not in the served document"));
                }
                compare(
                    self,
                    Way::Answer,
                    &place,
                    &content["schema"],
                    &known["schema"],
                )?;
            }
        }
        let more = members(&mine["responses"])
            .find(|(status, _)| status.starts_with('2') && theirs["responses"][status].is_null());
        match more {
            None => Ok(()),
            Some((status, _)) => Err(format!("{place} succeeds with {status} too")),
        }
    }
}

/// The members of an object; none of anything else.
pub(crate) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let members = value.as_object().into_iter().flatten();
    members.map(|(name, value)| (name.as_str(), value))
}

/// The items of a list; none of anything else.
pub(crate) fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
