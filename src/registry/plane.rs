//! Edits of a space's documents: who proposes, who agrees, and what then comes into force.
//!
//! Here: the rules of `docs/spec/contact.md` §19 as checked changes. `features` is written by the
//! role `security`, `coordination` by `integration`, and `security` agrees too where an edit is
//! sensitive (`interlock_domain::contact::policy::sensitive`). A key agrees as one role of an edit;
//! one with the role `admin` stands for every role. Not here: the routes (`interlock_api`) and how a
//! change becomes durable (`admin`).

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_api::directory::Role;
use interlock_api::plane::{Proposal, Refused, Who};
use interlock_domain::contact::policy::{LoadError, Policy, Sensitive, sensitive};
use interlock_domain::key::SpaceId;
use interlock_wire::plane::DocumentKind;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::change::Change;
use super::diff::{LISTED_MAX, diff};
use super::new_space::COORDINATION;
use super::rows::{ApprovalRow, DiffRow, Ended, EndedRow, FORMAT, SpaceRow, VersionRow};
use super::versions::{DOCUMENT_BYTES_MAX, OPEN_MAX};
use super::{Known, Registry, policy};
use crate::secret::random_bytes;

/// An edit as it is after a step, and the change that makes it so; `None`: the step was taken before.
pub(crate) type Stepped = Result<(Option<Change>, Arc<DiffRow>), Refused>;

/// A `features` document.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Features {
    enabled: Vec<String>,
}

/// What is said of a version that comes into force.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    /// The id of the key that puts it in force; `None`: a verb or a seed.
    pub(crate) by: Option<String>,
    /// Why.
    pub(crate) reason: String,
    /// The edit it is, with who agreed.
    pub(crate) edit: Option<(Uuid, Vec<ApprovalRow>)>,
}

impl Said {
    /// Of a verb or a seed.
    pub(crate) fn by_operator(reason: impl Into<String>) -> Self {
        Self {
            by: None,
            reason: reason.into(),
            edit: None,
        }
    }
}

/// The role that writes a document.
pub(crate) const fn writer(kind: DocumentKind) -> Role {
    match kind {
        DocumentKind::Features => Role::Security,
        DocumentKind::Coordination => Role::Integration,
    }
}

/// The `features` document of what is on.
pub(crate) fn features_document(enabled: &[String]) -> Value {
    serde_json::json!({ "enabled": enabled })
}

/// A document's version and the document, as a space has them.
pub(crate) fn document(row: &SpaceRow, kind: DocumentKind) -> (u32, Value) {
    match kind {
        DocumentKind::Features => (row.features_version, features_document(&row.features)),
        DocumentKind::Coordination => (row.policy_version, row.coordination.clone()),
    }
}

/// What each section of a document is when it is left out.
pub(super) fn defaults(kind: DocumentKind) -> Value {
    match kind {
        // It has one member, which is always there.
        DocumentKind::Features => Value::Null,
        DocumentKind::Coordination => policy::defaults(),
    }
}

/// The row of a version that comes into force with a space's row.
pub(super) fn version_row(row: &SpaceRow, kind: DocumentKind, said: Said, at: i64) -> VersionRow {
    let (version, document) = document(row, kind);
    let (diff, approvals) = said.edit.unzip();
    VersionRow {
        format: FORMAT,
        space: row.id,
        kind: kind.word().to_owned(),
        version,
        at,
        by: said.by,
        reason: said.reason,
        diff,
        approvals: approvals.unwrap_or_default(),
        document: Some(document),
    }
}

impl Registry {
    /// Checks an edit and remembers it.
    pub(crate) fn propose(&self, who: &Who, wanted: &Proposal) -> Stepped {
        let known = self.of_key(who)?;
        let role = writer(wanted.kind);
        if !who.acts_as(role) {
            return Err(Refused::Forbidden(format!(
                "a document `{}` is written by the role `{}`; use a key that has it",
                wanted.kind.word(),
                role.name()
            )));
        }
        if wanted.document.len() > DOCUMENT_BYTES_MAX {
            let what = format!("document: has more than {DOCUMENT_BYTES_MAX} bytes");
            return Err(Refused::Invalid(what));
        }
        let (from_version, before) = document(&known.row, wanted.kind);
        let (document, sensitive) = judged(known, wanted.kind, &wanted.document)?;
        let mut differences = diff(&before, &document, &defaults(wanted.kind));
        if differences.is_empty() {
            return Err(Refused::Invalid(format!(
                "document: changes nothing; it is the one in force (version {from_version})"
            )));
        }
        if known.documents.open() >= OPEN_MAX {
            return Err(Refused::Full);
        }
        let mut needs = vec![role.name().to_owned()];
        if !sensitive.is_empty() {
            needs.push(Role::Security.name().to_owned());
        }
        let differences_count = differences.len() as u64;
        differences.truncate(LISTED_MAX);
        let row = DiffRow {
            format: FORMAT,
            space: known.row.id,
            number: known.documents.next_number(),
            id: random_id()?,
            kind: wanted.kind.word().to_owned(),
            from_version,
            document: Some(document),
            reason: wanted.reason.clone(),
            proposed_by: who.key_id.to_string(),
            proposed_at: self.clock.now().0,
            differences,
            differences_count,
            sensitive: sensitive.iter().map(|one| one.words().to_owned()).collect(),
            needs,
            approvals: Vec::new(),
            ended: None,
        };
        Ok(self.with_diff(known, row))
    }

    /// Checks that a key may agree to an edit, and what follows from it.
    pub(crate) fn approve(&self, who: &Who, id: Uuid) -> Stepped {
        let known = self.of_key(who)?;
        let diff = known.diff(id)?;
        let gave = |role: &str| diff.approvals.iter().any(|one| one.role == role);
        let gave_some = diff.approvals.iter().any(|one| *one.key_id == *who.key_id);
        match diff.ended.as_ref().map(|ended| ended.state) {
            None => {}
            // A repeat of the agreement that put it in force.
            Some(Ended::Applied) if gave_some => return Ok((None, Arc::clone(diff))),
            Some(Ended::Applied | Ended::Rejected) => return Err(Refused::Closed),
            Some(Ended::Superseded) => return Err(Refused::Stale),
        }
        let acts = |role: &&String| Role::from_name(role).is_some_and(|role| who.acts_as(role));
        let mine: Vec<&String> = diff.needs.iter().filter(acts).collect();
        if mine.is_empty() {
            return Err(lacks(&diff.needs));
        }
        let open: Vec<&String> = mine.into_iter().filter(|role| !gave(role)).collect();
        let given: Vec<&String> = match (open.first(), who.is_admin()) {
            // Whatever it could say is said.
            (None, _) => return Ok((None, Arc::clone(diff))),
            (Some(_), true) => open,
            (Some(role), false) if gave_some => {
                return Err(Refused::Forbidden(format!(
                    "the key has agreed already, and one key agrees as one role; another key with \
                     the role `{role}` has to"
                )));
            }
            (Some(role), false) => vec![role],
        };
        let at = self.clock.now().0;
        let given = given.into_iter().map(|role| ApprovalRow {
            role: role.clone(),
            key_id: who.key_id.to_string(),
            at,
        });
        let mut row = (**diff).clone();
        row.approvals.extend(given);
        let agreed = |role: &String| row.approvals.iter().any(|one| one.role == *role);
        if !row.needs.iter().all(agreed) {
            return Ok(self.with_diff(known, row));
        }
        self.applied(known, who, row)
    }

    /// Checks that a key may turn an edit down.
    pub(crate) fn reject(&self, who: &Who, id: Uuid) -> Stepped {
        let known = self.of_key(who)?;
        let diff = known.diff(id)?;
        match diff.ended.as_ref().map(|ended| ended.state) {
            None => {}
            Some(Ended::Rejected) => return Ok((None, Arc::clone(diff))),
            Some(Ended::Applied) => return Err(Refused::Closed),
            Some(Ended::Superseded) => return Err(Refused::Stale),
        }
        let acts = |role: &String| Role::from_name(role).is_some_and(|role| who.acts_as(role));
        if *diff.proposed_by != *who.key_id && !diff.needs.iter().any(acts) {
            return Err(lacks(&diff.needs));
        }
        let ended = EndedRow {
            state: Ended::Rejected,
            at: self.clock.now().0,
            by: Some(who.key_id.to_string()),
            version: None,
        };
        let mut change = self.unchanged(known);
        let row = change.documents.end(&mut change.meta, diff, ended);
        Ok((Some(change.done()), row))
    }

    /// An edit that every role has agreed to comes into force.
    fn applied(&self, known: &Known, who: &Who, diff: DiffRow) -> Stepped {
        let kind = kind_of(&diff)?;
        let (version, _) = document(&known.row, kind);
        if version != diff.from_version {
            return Err(Refused::Stale);
        }
        let document = diff.document.clone().ok_or(Refused::Closed)?;
        let said = Said {
            by: Some(diff.proposed_by.clone()),
            reason: diff.reason.clone(),
            edit: Some((diff.id, diff.approvals.clone())),
        };
        let changed = match kind {
            DocumentKind::Features => self.with_features(known, &document, said),
            DocumentKind::Coordination => self.with_rules(known, document, said),
        };
        let mut change = changed.map_err(Refused::Invalid)?;
        let ended = EndedRow {
            state: Ended::Applied,
            at: self.clock.now().0,
            by: Some(who.key_id.to_string()),
            version: Some(change.version(kind)),
        };
        let row = change.documents.end(&mut change.meta, &diff, ended);
        Ok((Some(change.done()), row))
    }

    /// The edits of a key's space.
    pub(crate) fn of_key(&self, who: &Who) -> Result<&Known, Refused> {
        self.known(who.space).ok_or(Refused::NotFound)
    }

    /// A space that is loaded.
    pub(crate) fn known(&self, space: SpaceId) -> Option<&Known> {
        self.spaces.get(&Uuid::from_bytes(space.0))
    }

    fn with_diff(&self, known: &Known, row: DiffRow) -> (Option<Change>, Arc<DiffRow>) {
        let mut change = self.unchanged(known);
        let row = change.documents.put_diff(&mut change.meta, row);
        (Some(change.done()), row)
    }
}

impl Known {
    /// An edit of the space.
    pub(crate) fn diff(&self, id: Uuid) -> Result<&Arc<DiffRow>, Refused> {
        let mut diffs = self.documents.diffs();
        diffs.find(|row| row.id == id).ok_or(Refused::NotFound)
    }
}

/// The document an edit is of.
pub(crate) fn kind_of(diff: &DiffRow) -> Result<DocumentKind, Refused> {
    let mut kinds = DocumentKind::ALL.iter();
    let kind = kinds.find(|kind| kind.word() == diff.kind);
    kind.copied().ok_or(Refused::NotFound)
}

/// The features of a document.
///
/// # Errors
/// What is wrong with it, with the member.
pub(super) fn read_features(text: &str) -> Result<Vec<String>, String> {
    let rule = |_| "document: must be an object with the list `enabled` of names".to_owned();
    let Features { enabled } = serde_json::from_str(text).map_err(rule)?;
    let mut known = BTreeSet::new();
    for (place, name) in enabled.iter().enumerate() {
        if name != COORDINATION {
            return Err(format!(
                "document.enabled[{place}]: there is no such feature; there is `{COORDINATION}`"
            ));
        }
        if !known.insert(name) {
            return Err(format!("document.enabled[{place}]: is given twice"));
        }
    }
    Ok(enabled)
}

/// Reads a new document, and what of it the role `security` has to agree to.
fn judged(
    known: &Known,
    kind: DocumentKind,
    text: &str,
) -> Result<(Value, Vec<Sensitive>), Refused> {
    match kind {
        DocumentKind::Features => {
            let enabled = read_features(text).map_err(Refused::Invalid)?;
            Ok((features_document(&enabled), Vec::new()))
        }
        DocumentKind::Coordination => {
            let vault = policy::named(&known.vault);
            let after = Policy::load(1, text, &vault);
            let after = after.map_err(|error| Refused::Invalid(without_values(&error)))?;
            let value = serde_json::from_str(text);
            let value = value.map_err(|_| Refused::Invalid("document: is not JSON".to_owned()))?;
            Ok((value, sensitive(&known.policy, &after)))
        }
    }
}

/// A refusal as a client may read it: the member and the rule. The reader of JSON says what it found
/// before what it expected, and what it found was sent.
fn without_values(error: &LoadError) -> String {
    let rule = match error.rule.split_once("expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => error.rule.clone(),
    };
    format!("document.{}: {rule}", error.field)
}

fn lacks(needs: &[String]) -> Refused {
    Refused::Forbidden(format!(
        "the edit needs the agreement of the role `{}`; use a key that has it",
        needs.join("` and of `")
    ))
}

fn random_id() -> Result<Uuid, Refused> {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] =
        random_bytes().map_err(|_| Refused::Unavailable)?;
    let random = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    Ok(uuid::Builder::from_random_bytes(random).into_uuid())
}

#[cfg(test)]
mod tests;
