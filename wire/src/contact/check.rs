//! `POST /v1/coordination/check` and `/check/batch`.
//!
//! The answer borrows all it shows and is written straight into one buffer; absent optionals and
//! empty lists are left out, so no client ever meets a `null` list.

use smallvec::SmallVec;

use crate::answer::{Written, answer};
use crate::contact::claims::ClaimKind;
use crate::contact::subject::{Handle, ObjectRef};
use crate::json::{self, list};
use crate::read::{List, request};
use crate::shape::{self, Closed, Components, RefOr, Schema, Shape};
use crate::value::{Attempt, Count, HashText, Instant, Label, LongLabel, Name, Uuid, one_of};

request! {
    /// What an agent is about to do.
    CheckRequest<'a> {
        /// Who is about to.
        agent: required Label<'a>,
        /// The step it is about to take.
        intent: required Name<'a>,
        /// Whose message it is.
        direction: required Direction,
        /// Why the contact goes.
        purpose: required Name<'a>,
        /// The customer.
        subject: optional Handle<'a>,
        /// The record it is about.
        object: optional ObjectRef<'a>,
        /// The task it does on the object.
        task: optional Name<'a>,
        /// Where the contact goes.
        channel: optional Name<'a>,
        /// The external act that must happen once.
        effect_key: optional LongLabel<'a>,
        /// What kind of act.
        effect_kind: defaulted EffectKind,
        /// The dispatch point a token is for.
        gateway_id: optional Name<'a>,
        /// The recipient of the token, when it is not the subject's handle.
        destination_hash: optional HashText,
    }
}

/// Most checks of one batch, by the contract.
pub const BATCH_CHECKS_MAX: usize = 500;

request! {
    /// Up to 500 checks.
    CheckBatchRequest<'a> {
        /// The checks, decided in order.
        checks: required List<CheckRequest<'a>, 1, BATCH_CHECKS_MAX>,
    }
}

one_of! {
    /// Whose message it is.
    Direction: "one of `inbound`, `outbound`" {
        /// The customer's.
        Inbound = "inbound",
        /// The company's.
        Outbound = "outbound",
    }
}

one_of! {
    /// What kind of external act.
    EffectKind: "one of `delivery`, `document`, `notice`, `filing`, `paid_call`, `external_action`" {
        /// A message.
        Delivery = "delivery",
        /// A document.
        Document = "document",
        /// A notice.
        Notice = "notice",
        /// A filing.
        Filing = "filing",
        /// A call that costs.
        PaidCall = "paid_call",
        /// Anything else outside.
        ExternalAction = "external_action",
    }
}

impl Default for EffectKind {
    /// What a check means when it does not say.
    fn default() -> Self {
        Self::Delivery
    }
}

one_of! {
    /// What to do.
    Decision: "one of `allow`, `defer`, `deny`, `handoff_to`" {
        /// Act.
        Allow = "allow",
        /// Ask again later.
        Defer = "defer",
        /// Do not act.
        Deny = "deny",
        /// Leave it to `holder`.
        HandoffTo = "handoff_to",
    }
}

answer! {
    /// The answer to one check. What is absent does not apply, or there is none of it.
    derive(Clone, Debug, Default)
    CheckResult<'a> {
        /// What to do.
        decision: required &'static str as Decision,
        /// The decision's id, which a declaration cites.
        decision_id: required [u8; 16] as Uuid,
        /// How long the decision may be relied on, in seconds.
        valid_for_s: required u32 as Count,
        /// What decided, or what an allowed caller must still respect; codes to log, not to act on.
        reasons: listed SmallVec<[&'static str; 2]> as Label<'_>,
        /// Who has the customer now, with `handoff_to`.
        holder: optional &'a str as Label<'_>,
        /// The claim that governs.
        owner: optional Owner<'a> as Owner<'_>,
        /// Live task locks on the object.
        locks: listed Vec<Lock<'a>> as Lock<'_>,
        /// The effect key's state.
        effect: optional EffectStatus as EffectStatus,
        /// The channel's state.
        channel: optional ChannelState as ChannelState,
        /// What is left, by purpose.
        contact_budget: mapped SmallVec<[(&'a str, ContactBudget); 4]> as ContactBudget,
        /// Purposes the subject is suppressed for.
        suppressions: listed SmallVec<[&'a str; 2]> as Name<'_>,
        /// With the reason `contact_window`: when the window that defers ends.
        contact_window_until: optional i64 as Instant,
        /// Offers that hold for the subject.
        commitments_active: listed Vec<CommitmentRef<'a>> as CommitmentRef<'_>,
        /// What the company owes the subject.
        promises_open: listed Vec<PromiseRef<'a>> as PromiseRef<'_>,
        /// The token for the gateway; only with an allowed outbound contact that needs one.
        contact_token: optional &'a str as ContactToken,
    }
}

one_of! {
    /// How a claim came in.
    ClaimVia: "one of `declaration`, `mapping`, `worker`" {
        /// Its holder declared it.
        Declaration = "declaration",
        /// It was mapped from an event.
        Mapping = "mapping",
        /// The company's worker observed and sent it.
        Worker = "worker",
    }
}

answer! {
    /// A claim that governs: the strictest live one.
    derive(Clone, Debug)
    Owner<'a> {
        /// Who holds.
        holder: required &'a str as Label<'_>,
        /// What is held.
        kind: required &'static str as ClaimKind,
        /// How strictly.
        level: required &'a str as Name<'_>,
        /// Who said so.
        source: required &'a str as Label<'_>,
        /// How it came in.
        via: required &'static str as ClaimVia,
        /// Since when.
        since: required i64 as Instant,
        /// Until when.
        valid_until: required i64 as Instant,
        /// The claim's number, which a release names.
        epoch: required u64 as Count,
    }
}

answer! {
    /// A live task lock.
    derive(Clone, Debug)
    Lock<'a> {
        /// Who has the task.
        holder: required &'a str as Label<'_>,
        /// Always `task_lock`.
        kind: required &'static str as Label<'_>,
        /// The task.
        task: optional &'a str as Label<'_>,
        /// Until when.
        until: required i64 as Instant,
    }
}

one_of! {
    /// An effect key's state at a check.
    HeldEffect: "one of `none`, `in_flight`, `done`, `unknown_outcome`" {
        /// Nothing held it, and this check reserved it: act, then declare.
        None = "none",
        /// A live attempt has it.
        InFlight = "in_flight",
        /// It is done.
        Done = "done",
        /// Nobody knows.
        UnknownOutcome = "unknown_outcome",
    }
}

answer! {
    /// An effect key as a check shows it.
    derive(Clone, Copy, Debug)
    EffectStatus {
        /// Its state.
        state: required &'static str as HeldEffect,
        /// The attempt.
        attempt: optional u32 as Attempt,
    }
}

answer! {
    /// A channel as a check shows it.
    derive(Clone, Copy, Debug, Default)
    ChannelState {
        /// Until when free text may be sent.
        free_form_until: optional i64 as Instant,
        /// Only a template may be sent.
        template_required: required bool as bool,
        /// End of the quiet hours.
        quiet_until: optional i64 as Instant,
    }
}

answer! {
    /// What a budget has left.
    derive(Clone, Copy, Debug)
    ContactBudget {
        /// Contacts that may still go in the window.
        remaining: required u32 as Count,
        /// When the next is free, at zero or when paced.
        next_allowed_at: optional i64 as Instant,
    }
}

answer! {
    /// Something an agent offered.
    derive(Clone, Debug)
    CommitmentRef<'a> {
        /// Its id.
        id: required &'a str as LongLabel<'_>,
        /// Its type.
        r#type: required &'a str as Name<'_>,
        /// Until when.
        valid_until: optional i64 as Instant,
    }
}

answer! {
    /// Something the company owes the customer.
    derive(Clone, Debug)
    PromiseRef<'a> {
        /// Its id.
        id: required &'a str as LongLabel<'_>,
        /// Who owes it.
        owner: required &'a str as Label<'_>,
        /// When it is due.
        due: optional i64 as Instant,
    }
}

/// The shape of a contact token (`docs/spec/contact.md` §13.1); `token` makes it.
#[derive(Clone, Copy, Debug)]
pub struct ContactToken;

/// Most characters of a contact token.
const CONTACT_TOKEN_MAX: usize = 1_024;

impl Shape for ContactToken {
    fn shape(_: &mut Components) -> RefOr<Schema> {
        shape::text_of(
            r"^nct1\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{86}$",
            CONTACT_TOKEN_MAX,
        )
    }
}

impl Written<&str> for ContactToken {
    fn write(out: &mut Vec<u8>, value: &&str) {
        json::text(out, value);
    }
}

/// The answer to a batch, as it is shown; [`write_batch`] writes it.
#[derive(Clone, Copy, Debug)]
pub struct CheckBatchResponse;

impl Shape for CheckBatchResponse {
    fn shape(into: &mut Components) -> RefOr<Schema> {
        into.refer::<Self>("CheckBatchResponse", |into| {
            let results = shape::list(CheckResult::shape(into), 0, usize::MAX);
            Closed::new(&["The answer to a batch."])
                .required("results", &["One for each check, in order."], results)
                .build()
                .into()
        })
    }
}

/// Writes the answer to a batch: one result for each check, each written by `write`.
pub fn write_batch<T>(
    out: &mut Vec<u8>,
    results: impl IntoIterator<Item = T>,
    write: impl FnMut(&mut Vec<u8>, T),
) {
    out.extend_from_slice(b"{\"results\":");
    list(out, results, write);
    out.push(b'}');
}
