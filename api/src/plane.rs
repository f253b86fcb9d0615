//! What the edge asks of the configuration plane (`docs/spec/contact.md` §19).
//!
//! Here: the contract the root package fulfils, since it knows where documents are stored and how a
//! change reaches every shard. Not here: the routes (`config`), and who may agree to what: whoever
//! fulfils the contract decides that, by the roles that come along.

use std::future::Future;
use std::pin::Pin;

use interlock_domain::key::SpaceId;
use interlock_domain::time::Timestamp;
use interlock_wire::plane::{DiffState, DocumentKind};

use crate::directory::Role;

/// An answer that is still looked for.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T, Refused>> + Send + 'a>>;

/// Documents of spaces, and the edits of them.
pub trait Plane: Send + Sync {
    /// A document in force.
    fn document(&self, space: SpaceId, kind: DocumentKind) -> Asking<'_, Document>;

    /// Proposes an edit. It is durable before it is answered, and so is all below.
    fn propose(&self, who: Who, wanted: Proposal) -> Asking<'_, Diff>;

    /// Agrees to an edit; with the last agreement it is in force on every shard.
    fn approve(&self, who: Who, diff: [u8; 16]) -> Asking<'_, Diff>;

    /// Turns an edit down.
    fn reject(&self, who: Who, diff: [u8; 16]) -> Asking<'_, Diff>;

    /// The edits of a space, newest first, without their documents and with values cut short.
    fn diffs(&self, space: SpaceId) -> Asking<'_, Vec<Diff>>;

    /// One edit.
    fn diff(&self, space: SpaceId, diff: [u8; 16]) -> Asking<'_, Diff>;
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Who {
    /// The space of the key.
    pub space: SpaceId,
    /// The key's public id.
    pub key_id: Box<str>,
    /// Its roles.
    pub roles: Vec<Role>,
}

impl Who {
    /// Whether the key may act as a role.
    #[must_use]
    pub fn acts_as(&self, role: Role) -> bool {
        self.roles.contains(&role) || self.is_admin()
    }

    /// Whether the key stands for every role.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.roles.contains(&Role::Admin)
    }
}

/// An edit that is wanted.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// Of which document.
    pub kind: DocumentKind,
    /// The whole new document, as it was sent: a reader of values would lose a member that is there
    /// twice.
    pub document: String,
    /// Why.
    pub reason: String,
}

/// A document in force.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its version.
    pub version: u32,
    /// Its text: a JSON object.
    pub text: String,
    /// Since when, where that is known.
    pub since: Option<Timestamp>,
}

/// An edit.
#[derive(Clone, Debug)]
pub struct Diff {
    /// Its id.
    pub id: [u8; 16],
    /// Of which document.
    pub kind: DocumentKind,
    /// Where it is.
    pub state: DiffState,
    /// The version it was made against.
    pub from_version: u32,
    /// The version it became.
    pub version: Option<u32>,
    /// Why.
    pub reason: String,
    /// The id of the key that proposed it.
    pub proposed_by: String,
    /// When.
    pub proposed_at: Timestamp,
    /// The whole document proposed, a JSON object; not in a list.
    pub document: Option<String>,
    /// What differs, as many as are listed.
    pub differences: Vec<Difference>,
    /// How many differ.
    pub differences_count: u64,
    /// What it touches that two roles have to agree to, for people.
    pub sensitive: Vec<String>,
    /// The roles that have to agree.
    pub needs: Vec<Role>,
    /// Those that have.
    pub approvals: Vec<Approval>,
    /// When it was applied, rejected or superseded.
    pub closed_at: Option<Timestamp>,
    /// The id of the key that applied or rejected it.
    pub closed_by: Option<String>,
}

/// A member that differs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// Its path.
    pub member: String,
    /// What it was.
    pub from: Option<String>,
    /// What it becomes.
    pub to: Option<String>,
    /// What a side that is not in its document means.
    pub note: Option<String>,
}

/// A role's agreement.
#[derive(Clone, Debug)]
pub struct Approval {
    /// The role.
    pub role: Role,
    /// The id of the key.
    pub key_id: String,
    /// When.
    pub at: Timestamp,
}

/// Why the plane does not do what is asked. Texts name members, rules and roles, never values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The document breaks a rule.
    Invalid(String),
    /// The key may not do this.
    Forbidden(String),
    /// There is no such thing in the space.
    NotFound,
    /// Another version came in since the edit was proposed.
    Stale,
    /// The edit is applied or rejected.
    Closed,
    /// The space has as many open edits as it may have.
    Full,
    /// The disk has no room for a record; nothing was written.
    NoRoom,
    /// The node goes down, or the durable record cannot be written.
    Unavailable,
}
