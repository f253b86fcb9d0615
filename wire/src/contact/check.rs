//! `POST /v1/coordination/check` and `/check/batch`.
//!
//! The answer borrows all it shows and is written straight into one buffer; absent optionals and
//! empty lists are left out, so no client ever meets a `null` list.

use smallvec::SmallVec;

use crate::contact::subject::{Handle, ObjectRef};
use crate::json::{Object, list, text, word};
use crate::read::{List, request};
use crate::value::{Hash32, Label, LongLabel, Name, one_of};

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
        destination_hash: optional Hash32,
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

/// The answer to one check. The words are of the contract's closed sets.
#[derive(Clone, Debug, Default)]
pub struct CheckResult<'a> {
    /// `allow`, `defer`, `deny` or `handoff_to`.
    pub decision: &'static str,
    /// The decision's UUID.
    pub decision_id: [u8; 16],
    /// How long the decision may be relied on, in seconds.
    pub valid_for_s: u32,
    /// What decided, or what an allowed caller must still respect.
    pub reasons: SmallVec<[&'static str; 2]>,
    /// Who has the customer now, with `handoff_to`.
    pub holder: Option<&'a str>,
    /// The claim that governs.
    pub owner: Option<Owner<'a>>,
    /// Live task locks on the object.
    pub locks: Vec<Lock<'a>>,
    /// The effect key's state.
    pub effect: Option<EffectStatus>,
    /// The channel's state.
    pub channel: Option<ChannelState>,
    /// What is left, by purpose.
    pub contact_budget: SmallVec<[(&'a str, ContactBudget); 4]>,
    /// Purposes the subject is suppressed for.
    pub suppressions: SmallVec<[&'a str; 2]>,
    /// End of the contact window that defers, in milliseconds since 1970.
    pub contact_window_until: Option<i64>,
    /// What holds for the subject.
    pub commitments_active: Vec<CommitmentRef<'a>>,
    /// The token for the gateway.
    pub contact_token: Option<&'a str>,
}

/// A claim that governs.
#[derive(Clone, Debug)]
pub struct Owner<'a> {
    /// Who holds.
    pub holder: &'a str,
    /// `owner`, `case` or `task_lock`.
    pub kind: &'static str,
    /// How strictly.
    pub level: &'a str,
    /// Who said so.
    pub source: &'a str,
    /// `declaration`, `mapping` or `worker`.
    pub via: &'static str,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// Until when, in milliseconds since 1970.
    pub valid_until: i64,
    /// The claim's number.
    pub epoch: u64,
}

/// A live task lock.
#[derive(Clone, Debug)]
pub struct Lock<'a> {
    /// Who has the task.
    pub holder: &'a str,
    /// The task.
    pub task: &'a str,
    /// Until when, in milliseconds since 1970.
    pub until: i64,
}

/// An effect key as a check shows it.
#[derive(Clone, Copy, Debug)]
pub struct EffectStatus {
    /// `none`, `in_flight`, `done` or `unknown_outcome`.
    pub state: &'static str,
    /// The attempt.
    pub attempt: Option<u32>,
}

/// A channel as a check shows it.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChannelState {
    /// Until when free text may be sent, in milliseconds since 1970.
    pub free_form_until: Option<i64>,
    /// Only a template may be sent.
    pub template_required: bool,
    /// End of the quiet hours, in milliseconds since 1970.
    pub quiet_until: Option<i64>,
}

/// What a budget has left.
#[derive(Clone, Copy, Debug)]
pub struct ContactBudget {
    /// Units.
    pub remaining: u32,
    /// When the next is free, in milliseconds since 1970.
    pub next_allowed_at: Option<i64>,
}

/// Something an agent offered.
#[derive(Clone, Debug)]
pub struct CommitmentRef<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its type.
    pub r#type: &'a str,
    /// Until when, in milliseconds since 1970.
    pub valid_until: Option<i64>,
}

impl CheckResult<'_> {
    /// Writes it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.word("decision", self.decision);
        object.uuid("decision_id", &self.decision_id);
        object.number("valid_for_s", u64::from(self.valid_for_s));
        if !self.reasons.is_empty() {
            object.list("reasons", &self.reasons, |out, reason| word(out, reason));
        }
        if let Some(holder) = self.holder {
            object.text("holder", holder);
        }
        if let Some(owner) = &self.owner {
            owner.write(object.member("owner"));
        }
        if !self.locks.is_empty() {
            object.list("locks", &self.locks, |out, lock| lock.write(out));
        }
        if let Some(effect) = &self.effect {
            effect.write(object.member("effect"));
        }
        if let Some(channel) = &self.channel {
            channel.write(object.member("channel"));
        }
        self.write_customer(&mut object);
        if let Some(token) = self.contact_token {
            object.text("contact_token", token);
        }
        object.close();
    }

    /// The members that tell about the customer.
    fn write_customer(&self, object: &mut Object<'_>) {
        if !self.contact_budget.is_empty() {
            let mut budgets = Object::open(object.member("contact_budget"));
            for (purpose, budget) in &self.contact_budget {
                budget.write(budgets.entry(purpose));
            }
            budgets.close();
        }
        if !self.suppressions.is_empty() {
            object.list("suppressions", &self.suppressions, |out, purpose| {
                text(out, purpose);
            });
        }
        if let Some(until) = self.contact_window_until {
            object.instant("contact_window_until", until);
        }
        if !self.commitments_active.is_empty() {
            let commitments = &self.commitments_active;
            object.list("commitments_active", commitments, |out, commitment| {
                commitment.write(out);
            });
        }
    }
}

impl Owner<'_> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.text("holder", self.holder);
        object.word("kind", self.kind);
        object.text("level", self.level);
        object.text("source", self.source);
        object.word("via", self.via);
        object.instant("since", self.since);
        object.instant("valid_until", self.valid_until);
        object.number("epoch", self.epoch);
        object.close();
    }
}

impl Lock<'_> {
    fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.text("holder", self.holder);
        object.word("kind", "task_lock");
        object.text("task", self.task);
        object.instant("until", self.until);
        object.close();
    }
}

impl EffectStatus {
    fn write(self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.word("state", self.state);
        if let Some(attempt) = self.attempt {
            object.number("attempt", u64::from(attempt));
        }
        object.close();
    }
}

impl ChannelState {
    fn write(self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        if let Some(until) = self.free_form_until {
            object.instant("free_form_until", until);
        }
        object.boolean("template_required", self.template_required);
        if let Some(until) = self.quiet_until {
            object.instant("quiet_until", until);
        }
        object.close();
    }
}

impl ContactBudget {
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.number("remaining", u64::from(self.remaining));
        if let Some(next) = self.next_allowed_at {
            object.instant("next_allowed_at", next);
        }
        object.close();
    }
}

impl CommitmentRef<'_> {
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::open(out);
        object.text("id", self.id);
        object.text("type", self.r#type);
        if let Some(until) = self.valid_until {
            object.instant("valid_until", until);
        }
        object.close();
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
