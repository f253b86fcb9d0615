//! The configuration plane: `/v1/config/{type}` and `/v1/config/diffs` (`docs/spec/contact.md` §19).
//!
//! Here: the bodies. Not here: who may do what (the root package decides it, `api` asks).

use crate::answer::answer;
use crate::read::request;
use crate::value::{AnyObject, Count, Instant, Label, ReasonText, Text, Uuid, one_of};

one_of! {
    /// A document of a space.
    DocumentKind: "one of `features`, `coordination`" {
        /// What is turned on.
        Features = "features",
        /// The rules of coordination.
        Coordination = "coordination",
    }
}

one_of! {
    /// Where an edit is.
    DiffState: "one of `open`, `applied`, `rejected`, `superseded`" {
        /// Some role has not agreed yet.
        Open = "open",
        /// It is in force, or was until a later version.
        Applied = "applied",
        /// Somebody turned it down.
        Rejected = "rejected",
        /// Another version came in before it was agreed to.
        Superseded = "superseded",
    }
}

request! {
    /// An edit of a document, as a whole new document.
    ConfigDiffCreate<'a> {
        /// The space of the key.
        space_id: required Uuid,
        /// Which document.
        r#type: required DocumentKind,
        /// The document as it is to be.
        document: required AnyObject<'a>,
        /// Why; it is kept with the version.
        reason: required ReasonText<'a>,
    }
}

answer! {
    /// A document in force.
    derive(Clone, Debug)
    ConfigDocument<'a> {
        /// The space.
        space_id: required [u8; 16] as Uuid,
        /// Which document.
        r#type: required DocumentKind as DocumentKind,
        /// Its version; an edit is made against it.
        version: required u32 as Count,
        /// The document, as it was given.
        document: required &'a str as AnyObject<'_>,
        /// The role that writes it.
        role: required &'static str as Label<'_>,
        /// The role that has to agree to sensitive edits too.
        agreeing_role: optional &'static str as Label<'_>,
        /// Since when it is in force.
        since: optional i64 as Instant,
    }
}

answer! {
    /// A member that differs. In a list of edits long values are cut.
    derive(Clone, Copy, Debug)
    ConfigDifference<'a> {
        /// Its path.
        member: required &'a str as Text,
        /// What it was, as JSON; of a section that was left out its default. It was not there when
        /// absent.
        from: optional &'a str as Text,
        /// What it becomes, as JSON; of a section that is left out its default. It is not there any
        /// more when absent.
        to: optional &'a str as Text,
        /// What it means that a side is not in its document.
        note: optional &'a str as Text,
    }
}

answer! {
    /// A role's agreement.
    derive(Clone, Copy, Debug)
    ConfigApproval<'a> {
        /// The role.
        role: required &'a str as Label<'_>,
        /// The id of the key that gave it.
        key_id: required &'a str as Text,
        /// When.
        at: required i64 as Instant,
    }
}

answer! {
    /// An edit.
    derive(Clone, Debug)
    ConfigDiff<'a> {
        /// The edit.
        diff_id: required [u8; 16] as Uuid,
        /// The space.
        space_id: required [u8; 16] as Uuid,
        /// Which document.
        r#type: required DocumentKind as DocumentKind,
        /// Where it is.
        state: required DiffState as DiffState,
        /// The version it was made against.
        from_version: required u32 as Count,
        /// The version it became.
        version: optional u32 as Count,
        /// Why.
        reason: required &'a str as ReasonText<'_>,
        /// The id of the key that proposed it.
        proposed_by: required &'a str as Text,
        /// When.
        proposed_at: required i64 as Instant,
        /// The whole document proposed; not in a list of edits.
        document: optional &'a str as AnyObject<'_>,
        /// The members that differ, the first 200 of them.
        differences: present Vec<ConfigDifference<'a>> as ConfigDifference<'_>,
        /// How many differ.
        differences_count: required u64 as Count,
        /// What it touches that the role `security` has to agree to.
        sensitive: listed Vec<&'a str> as Text,
        /// The roles that have to agree.
        needs: present Vec<&'a str> as Label<'_>,
        /// Those that have not.
        missing: present Vec<&'a str> as Label<'_>,
        /// Those that have.
        approvals: present Vec<ConfigApproval<'a>> as ConfigApproval<'_>,
        /// When it was applied, rejected or superseded.
        closed_at: optional i64 as Instant,
        /// The id of the key that applied or rejected it.
        closed_by: optional &'a str as Text,
    }
}

answer! {
    /// The edits of a space: all that are open and the last that are not, newest first.
    derive(Clone, Debug)
    ConfigDiffs<'a> {
        /// The edits.
        items: present Vec<ConfigDiff<'a>> as ConfigDiff<'_>,
    }
}
