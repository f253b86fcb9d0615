//! `GET /v1/coordination/overview`, `GET /v1/coordination/reports`, `POST /v1/coordination/shadow`.
//!
//! Counts only: no customer, handle or message is in any of them.

use crate::answer::answer;
use crate::contact::check::{ClaimVia, Direction, EffectKind};
use crate::contact::claims::ClaimKind;
use crate::contact::effects::EffectState;
use crate::read::request;
use crate::value::{AnyObject, Count, Days, Instant, Label, LongLabel, Text, one_of};

request! {
    /// A shadow run to be made.
    ShadowRequest {
        /// How many days of messages it looks at.
        days: defaulted Days,
    }
}

answer! {
    /// A shadow run that was asked for.
    derive(Clone, Debug)
    ShadowRun<'a> {
        /// Its report.
        report_id: required &'a str as LongLabel<'_>,
        /// Where it is.
        status: required AskedRun as AskedRun,
    }
}

one_of! {
    /// Where a run that was just asked for is.
    AskedRun: "one of `pending`, `done`" {
        /// It has not ended.
        Pending = "pending",
        /// Its report is there.
        Done = "done",
    }
}

one_of! {
    /// Where a run is.
    RunStatus: "one of `pending`, `done`, `failed`" {
        /// It has not ended.
        Pending = "pending",
        /// Its report is there.
        Done = "done",
        /// It broke off.
        Failed = "failed",
    }
}

answer! {
    /// A page of reports, newest first.
    derive(Clone, Debug)
    CoordinationReportPage<'a> {
        /// The reports.
        items: present Vec<CoordinationReport<'a>> as CoordinationReport<'_>,
        /// Where the next page starts.
        next_cursor: optional &'a str as Text,
    }
}

answer! {
    /// A shadow run: the rules applied to messages that went already, with nothing enforced.
    derive(Clone, Debug)
    CoordinationReport<'a> {
        /// Its id.
        report_id: required &'a str as LongLabel<'_>,
        /// Where the run is.
        status: required RunStatus as RunStatus,
        /// When it was asked for.
        requested_at: required i64 as Instant,
        /// When it ended.
        finished_at: optional i64 as Instant,
        /// How many days it looked at.
        days: required u32 as Count,
        /// What it found; open, so that conflicts can be added.
        summary: optional &'a str as AnyObject<'_>,
    }
}

answer! {
    /// What coordination holds now, and what it decided in the window.
    derive(Clone, Debug)
    CoordinationOverview<'a> {
        /// Where the window starts.
        since: required i64 as Instant,
        /// What is held now.
        ownership: listed Vec<OwnershipCount<'a>> as OwnershipCount<'_>,
        /// Effects of the window.
        effects: listed Vec<EffectCount> as EffectCount,
        /// Effects of unknown outcome, of any age: each waits for somebody to settle it.
        awaiting_decision: required u64 as Count,
        /// What was settled between parties.
        conflicts: required ConflictCounts as ConflictCounts,
        /// The budgets.
        budgets: listed Vec<ContactBudgetUse<'a>> as ContactBudgetUse<'_>,
        /// Contacts of the window.
        contacts: listed Vec<ContactCount<'a>> as ContactCount<'_>,
    }
}

one_of! {
    /// What kind of holder.
    HolderKind: "one of `agent`, `human`, `queue`, `system`" {
        /// An agent.
        Agent = "agent",
        /// A person.
        Human = "human",
        /// A queue of people.
        Queue = "queue",
        /// Another system.
        System = "system",
    }
}

answer! {
    /// How much is held, of one kind.
    derive(Clone, Debug)
    OwnershipCount<'a> {
        /// What is held.
        kind: required ClaimKind as ClaimKind,
        /// How strictly.
        level: required &'a str as Label<'_>,
        /// How it came in.
        via: required ClaimVia as ClaimVia,
        /// By what kind of holder.
        holder_kind: required HolderKind as HolderKind,
        /// Live claims.
        claims: required u64 as Count,
        /// Different holders among them.
        holders: required u64 as Count,
    }
}

answer! {
    /// How many effects are in one state.
    derive(Clone, Copy, Debug)
    EffectCount {
        /// What kind of act.
        kind: required EffectKind as EffectKind,
        /// Where they are.
        state: required EffectState as EffectState,
        /// How many.
        effects: required u64 as Count,
    }
}

answer! {
    /// What was settled between parties.
    derive(Clone, Copy, Debug)
    ConflictCounts {
        /// Targets that two holders claimed at the same time.
        ownership_overlaps: required u64 as Count,
        /// Offers that another one of the customer's held off.
        commitments_superseded: required u64 as Count,
        /// Handoffs whose outcome did not come in time.
        handoffs_expired: required u64 as Count,
        /// Tokens that were declared more than once.
        tokens_reused: required u64 as Count,
    }
}

answer! {
    /// How a budget was used.
    derive(Clone, Debug)
    ContactBudgetUse<'a> {
        /// The purpose.
        purpose: required &'a str as Label<'_>,
        /// Contacts a window allows.
        limit: required u64 as Count,
        /// The window, in hours.
        per_hours: required u64 as Count,
        /// Customers with a contact in the window.
        subjects: required u64 as Count,
        /// Contacts spent.
        spent: required u64 as Count,
        /// Customers with nothing left.
        at_limit: required u64 as Count,
    }
}

one_of! {
    /// What became of a contact.
    ContactState: "one of `reserved`, `made`, `expired`" {
        /// It was allowed.
        Reserved = "reserved",
        /// It was declared.
        Made = "made",
        /// It was allowed and never declared.
        Expired = "expired",
    }
}

answer! {
    /// How many contacts there were, of one kind.
    derive(Clone, Debug)
    ContactCount<'a> {
        /// Whose messages.
        direction: required Direction as Direction,
        /// The purpose.
        purpose: required &'a str as Label<'_>,
        /// What became of them.
        state: required ContactState as ContactState,
        /// How many.
        contacts: required u64 as Count,
    }
}
