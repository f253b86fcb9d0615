//! What a check must come to: the table of §4.2 and the inbound rules of §5, over the books.

use interlock_domain::contact::claim::Claim;
use interlock_domain::contact::command::{Check, Direction};
use interlock_domain::contact::name::{AgentId, ChannelId, IntentId, PurposeId, SourceId, TaskId};
use interlock_domain::contact::reason::{Reason, Verdict};
use interlock_domain::contact::reply::{
    BudgetView, ChannelView, CheckReply, EffectView, EffectViewState, OwnerView,
};
use interlock_domain::key::{EntityKey, KeyHash, Kind};
use interlock_domain::time::Timestamp;

use super::books::{Attempt, Entry, State};
use super::budget::{Left, left, remembered};
use super::change::Change;
use super::judge::Moment;
use super::limits::CHECK_VALID_S;
use super::rules::Rules;
use super::{claims, locks, offers};

/// What a check must come to.
#[derive(Debug)]
pub(super) struct Decided {
    pub(super) verdict: Verdict,
    pub(super) reasons: Vec<Reason>,
    /// The claim that governs, whoever asks.
    pub(super) owner: Option<OwnerView>,
    pub(super) effect: Option<EffectView>,
    /// Ends of the windows that defer it; any of them may be named.
    pub(super) windows: Vec<Timestamp>,
    pub(super) changes: Vec<Change>,
    /// It was decided over what is known, and may be relied on.
    pub(super) relied_on: bool,
    /// There is no room, and who asked is told so by an error.
    pub(super) capacity: bool,
}

/// Where an effect stands for somebody who would reserve it.
pub(super) enum Standing {
    Free(u32),
    Held(State, u32),
}

pub(super) fn standing(attempt: Option<&Attempt>, now: Timestamp) -> Standing {
    match attempt.map(|attempt| (attempt.at(now), attempt.number)) {
        None | Some((None, _)) => Standing::Free(1),
        Some((Some(State::Failed { .. }), number)) => Standing::Free(number + 1),
        Some((Some(state), number)) => Standing::Held(state, number),
    }
}

/// Decides, once for each claim that may govern.
pub(super) fn decide(moment: &Moment<'_>, check: &Check, source: SourceId) -> Vec<Decided> {
    claims::governing(moment, check.customer, check.object)
        .into_iter()
        .map(|governs| decide_under(moment, check, source, governs))
        .collect()
}

fn decide_under(
    moment: &Moment<'_>,
    check: &Check,
    source: SourceId,
    governs: Option<&Claim>,
) -> Decided {
    let mut decided = Decided {
        verdict: Verdict::Allow,
        reasons: Vec::new(),
        owner: governs.map(claims::owner),
        effect: None,
        windows: Vec::new(),
        changes: Vec::new(),
        relied_on: true,
        capacity: false,
    };
    let reserved = effect(moment, check, source, &mut decided);
    let fails_closed = moment.rules.fails_closed(check.purpose);
    if check.direction == Direction::Inbound {
        inbound(moment, check, governs, &mut decided);
        if decided.verdict == Verdict::Allow && moment.full && reserved.is_some() {
            return blind(decided, Verdict::Allow, true);
        }
        if decided.verdict == Verdict::Allow {
            decided.changes.extend(reserved);
        } else if reserved.is_some() {
            decided.effect = None;
        }
        return decided;
    }
    if moment.suspect && fails_closed {
        return blind(decided, Verdict::Defer, reserved.is_some());
    }
    let stopped = if decided.reasons.is_empty() {
        stop(moment, check, governs, &mut decided)
    } else {
        Some(Verdict::Deny)
    };
    if let Some(verdict) = stopped {
        decided.verdict = verdict;
        if reserved.is_some() {
            decided.effect = None;
        }
        return decided;
    }
    if moment.full && (reserved.is_some() || check.customer.is_some()) {
        decided.capacity = !fails_closed;
        return blind(decided, Verdict::Defer, reserved.is_some());
    }
    decided.changes.extend(reserved);
    if let Some(customer) = check.customer {
        let rules = moment.rules.purpose(check.purpose);
        let budget = rules.and_then(|purpose| purpose.budget.as_ref());
        let slice = budget.and_then(|budget| budget.slice(check.intent));
        decided.changes.push(Change::Counted {
            key: moment.key(Kind::Customer, customer),
            purpose: check.purpose,
            share: slice.map_or(0, |_| check.intent.0),
            decided: true,
        });
    }
    if needs_template(moment, check) {
        decided.reasons.push(Reason::TemplateRequired);
    }
    decided
}

/// There is no room for what an allowed check reserves, or the clock cannot be trusted: nothing is
/// reserved, and a key that was free is not shown.
fn blind(mut decided: Decided, verdict: Verdict, was_free: bool) -> Decided {
    decided.verdict = verdict;
    decided.reasons = vec![Reason::Unavailable];
    decided.relied_on = false;
    if was_free {
        decided.effect = None;
    }
    decided
}

/// Step 1: how the effect stands, and its reservation when it is free.
fn effect(
    moment: &Moment<'_>,
    check: &Check,
    source: SourceId,
    decided: &mut Decided,
) -> Option<Change> {
    let mut reserved = None;
    if let Some(effect) = check.effect {
        let key = moment.key(Kind::Effect, effect.hash);
        match standing(moment.books.attempt(key, moment.record), moment.now) {
            Standing::Free(attempt) => {
                let state = EffectViewState::None;
                decided.effect = Some(EffectView { state, attempt });
                let kept = moment.books.attempt(key, moment.record);
                let alive = kept.filter(|_| attempt > 1);
                reserved = Some(Change::Reserved {
                    key,
                    attempt,
                    source,
                    kind: alive.map_or(effect.kind, |attempt| attempt.kind),
                    // Nothing ties a key that a check reserves first.
                    tied: alive.is_some_and(|attempt| attempt.tied),
                });
            }
            Standing::Held(state, attempt) => {
                let (state, reason) = match state {
                    State::Done { .. } => (EffectViewState::Done, Reason::EffectDone),
                    State::Reserved { .. } => (EffectViewState::InFlight, Reason::EffectInFlight),
                    State::Unknown | State::Failed { .. } => (
                        EffectViewState::UnknownOutcome,
                        Reason::EffectUnknownOutcome,
                    ),
                };
                decided.effect = Some(EffectView { state, attempt });
                decided.reasons.push(reason);
            }
        }
    }
    reserved
}

/// The inbound rules: only an owner sends the customer elsewhere.
fn inbound(moment: &Moment<'_>, check: &Check, governs: Option<&Claim>, decided: &mut Decided) {
    if is_stopped_by(check, governs) {
        decided.verdict = Verdict::HandoffTo;
        decided.reasons = vec![Reason::OwnerActive];
    } else if task_is_taken(moment, check) {
        decided.reasons.push(Reason::LockHeld);
    }
}

/// Does the claim that governs keep this agent from this intent?
fn is_stopped_by(check: &Check, governs: Option<&Claim>) -> bool {
    governs.is_some_and(|claim| {
        AgentId::of(&claim.holder) != check.agent && !claim.intents.contains(&check.intent)
    })
}

/// Has somebody else the task on the object?
fn task_is_taken(moment: &Moment<'_>, check: &Check) -> bool {
    let Some(task) = check.task else {
        return false;
    };
    locks::locks(moment, check.object)
        .iter()
        .any(|lock| TaskId::of(&lock.task) == task && AgentId::of(&lock.holder) != check.agent)
}

/// Steps 2 to 7: what stops an outbound contact.
fn stop(
    moment: &Moment<'_>,
    check: &Check,
    governs: Option<&Claim>,
    decided: &mut Decided,
) -> Option<Verdict> {
    if let Some(verdict) = stop_suppressed(moment, check, decided) {
        return Some(verdict);
    }
    if is_stopped_by(check, governs) {
        decided.reasons.push(Reason::OwnerActive);
        return Some(Verdict::Defer);
    }
    if task_is_taken(moment, check) {
        decided.reasons.push(Reason::LockHeld);
        return Some(Verdict::Defer);
    }
    if let Some(left) = asked_share(moment, check, moment.record) {
        if left.remaining == 0 {
            decided.reasons.push(Reason::BudgetExhausted);
            return Some(Verdict::Deny);
        }
        if left.paced {
            decided.reasons.push(Reason::BudgetPaced);
            return Some(Verdict::Defer);
        }
    }
    if quiet_until(moment, check).is_some() {
        decided.reasons.push(Reason::QuietHours);
        return Some(Verdict::Defer);
    }
    None
}

/// Step 2: the suppression list.
fn stop_suppressed(moment: &Moment<'_>, check: &Check, decided: &mut Decided) -> Option<Verdict> {
    if let Some(customer) = check.customer {
        let stops: Vec<&Entry> = entries(moment, customer)
            .filter(|entry| entry.purpose == check.purpose || entry.purpose == PurposeId::ANY)
            .filter(|entry| entry.channel.is_none() || entry.channel == check.channel)
            .collect();
        if stops.iter().any(|entry| entry.window.is_none()) {
            decided.reasons.push(Reason::Suppressed);
            return Some(Verdict::Deny);
        }
        let ends = stops.iter().filter_map(|entry| {
            let end = entry.window.as_ref()?.end(moment.now)?;
            Some(entry.until.map_or(end, |until| until.min(end)))
        });
        decided.windows = ends.collect();
        if !decided.windows.is_empty() {
            decided.reasons.push(Reason::ContactWindow);
            return Some(Verdict::Defer);
        }
    }
    None
}

fn entries<'a>(moment: &Moment<'a>, customer: KeyHash) -> impl Iterator<Item = &'a Entry> {
    let key = moment.key(Kind::Customer, customer);
    let now = moment.now;
    let entries = moment.books.entries(key, moment.record);
    entries.filter(move |entry| entry.in_force(now))
}

/// What is left for the asked purpose and intent before a record.
fn asked_share(moment: &Moment<'_>, check: &Check, before: u64) -> Option<Left> {
    let key = moment.key(Kind::Customer, check.customer?);
    let budget = moment.rules.purpose(check.purpose)?.budget.as_ref()?;
    let contacts = remembered(moment, key, before);
    let intent = Some(check.intent);
    Some(left(budget, check.purpose, intent, contacts, moment.now))
}

/// The end of the quiet hours, where the purpose must keep them.
fn quiet_until(moment: &Moment<'_>, check: &Check) -> Option<Timestamp> {
    let purpose = moment.rules.purpose(check.purpose);
    if purpose.is_some_and(|purpose| purpose.exempt) {
        return None;
    }
    let channel = moment.rules.channel(check.channel?)?;
    channel.quiet.as_ref()?.end(moment.now)
}

fn free_form_until(moment: &Moment<'_>, check: &Check) -> Option<Timestamp> {
    let channel = moment.rules.channel(check.channel?)?;
    let key = moment.key(Kind::Customer, check.customer?);
    let last = moment.books.message(key, check.channel?, moment.record)?;
    let until = last.plus_ms(channel.free_form_hours? * 3_600_000);
    (moment.now < until).then_some(until)
}

fn needs_template(moment: &Moment<'_>, check: &Check) -> bool {
    let channel = check.channel.and_then(|id| moment.rules.channel(id));
    channel.is_some_and(|channel| channel.template) && free_form_until(moment, check).is_none()
}

/// Is this answer what the decision must say? Names the member that is not.
pub(super) fn compare(
    moment: &Moment<'_>,
    check: &Check,
    decided: &Decided,
    reply: &CheckReply,
) -> Result<(), String> {
    let allowed = decided.verdict == Verdict::Allow;
    let outbound = check.direction == Direction::Outbound;
    let token = check.gateway.is_some()
        && check.channel.is_some()
        && check.customer.is_some()
        && moment
            .rules
            .purpose(check.purpose)
            .is_some_and(|purpose| purpose.token);
    is("verdict", &reply.verdict, &decided.verdict)?;
    is("direction", &reply.direction, &check.direction)?;
    // More than one is there only where none of them decided: then in any order.
    let [mut said, mut due] = [reply.reasons.to_vec(), decided.reasons.clone()];
    said.sort_unstable();
    due.sort_unstable();
    is("reasons", &said, &due)?;
    is("owner", &reply.owner, &decided.owner)?;
    let mut shown = reply.locks.clone();
    locks::sort(&mut shown);
    is("locks", &shown, &locks::locks(moment, check.object))?;
    is("effect", &reply.effect, &decided.effect)?;
    is("decided_at", &reply.decided_at, &moment.now)?;
    let valid_s = if decided.relied_on { CHECK_VALID_S } else { 0 };
    is("valid_for_s", &reply.valid_for_s, &valid_s)?;
    let sign = allowed && outbound && token && !moment.suspect;
    is("sign", &reply.sign, &sign)?;
    is("signer", &reply.signer, &check.signer)?;
    let window = reply.contact_window_until;
    let window_fits = match window {
        Some(end) => decided.windows.contains(&end),
        None => decided.windows.is_empty(),
    };
    is("contact_window_until", &window_fits, &true)?;
    let channel = check.channel.map(|_| ChannelView {
        free_form_until: free_form_until(moment, check),
        template_required: needs_template(moment, check),
        quiet_until: quiet_until(moment, check),
    });
    is("channel", &reply.channel, &channel)?;
    let mut shown = reply.suppressions.to_vec();
    shown.sort_unstable();
    is("suppressions", &shown, &suppressed(moment, check))?;
    let (holding, open) = offers::shown(moment, check.customer);
    let mut shown = reply.commitments.clone();
    shown.sort_by(|one, other| one.id.cmp(&other.id));
    is("commitments", &shown, &holding)?;
    let mut shown = reply.promises.clone();
    shown.sort_by(|one, other| one.id.cmp(&other.id));
    is("promises", &shown, &open)?;
    is("budgets", &reply.budgets.to_vec(), &budgets(moment, check))
}

fn is<T: PartialEq + std::fmt::Debug>(what: &str, said: &T, due: &T) -> Result<(), String> {
    if said == due {
        return Ok(());
    }
    Err(format!("{what} is {said:?}, not {due:?}"))
}

/// Purposes with an all-hours entry in force on the asked channel or on every channel; without a
/// channel in the check, any entry.
fn suppressed(moment: &Moment<'_>, check: &Check) -> Vec<PurposeId> {
    let customer = check.customer;
    customer.map_or_else(Vec::new, |customer| {
        suppressed_on(moment, customer, check.channel)
    })
}

/// The same on a channel, or on any.
pub(super) fn suppressed_on(
    moment: &Moment<'_>,
    customer: KeyHash,
    channel: Option<ChannelId>,
) -> Vec<PurposeId> {
    let mut purposes: Vec<PurposeId> = entries(moment, customer)
        .filter(|entry| entry.window.is_none())
        .filter(|entry| channel.is_none() || entry.channel.is_none() || entry.channel == channel)
        .map(|entry| entry.purpose)
        .collect();
    purposes.sort_unstable();
    purposes.dedup();
    purposes
}

/// What is left of every budget after the decision: the record itself counts.
fn budgets(moment: &Moment<'_>, check: &Check) -> Vec<BudgetView> {
    let Some(customer) = check.customer else {
        return Vec::new();
    };
    let intent = |id| (id == check.purpose).then_some(check.intent);
    budgets_of(moment, customer, moment.record + 1, intent)
}

/// What is left of every budget of a customer before a record, of an intent's share where one is named.
pub(super) fn budgets_of(
    moment: &Moment<'_>,
    customer: KeyHash,
    before: u64,
    intent: impl Fn(PurposeId) -> Option<IntentId>,
) -> Vec<BudgetView> {
    let key: EntityKey = moment.key(Kind::Customer, customer);
    let Rules { purposes, .. } = moment.rules;
    let mut views = Vec::new();
    for purpose in purposes {
        let Some(budget) = &purpose.budget else {
            continue;
        };
        let id = PurposeId::of(purpose.name);
        let contacts = remembered(moment, key, before);
        let left = left(budget, id, intent(id), contacts, moment.now);
        let shown = left.remaining == 0 || left.paced;
        views.push(BudgetView {
            purpose: id,
            remaining: u32::try_from(left.remaining).unwrap_or(u32::MAX),
            next_allowed_at: left.next_at.filter(|_| shown),
        });
    }
    views
}
