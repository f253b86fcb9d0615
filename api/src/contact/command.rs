//! From a request to a command: names become numbers, handles and keys become hashes.
//!
//! Here: what needs the space's rules or secret. Not here: the shape of a request (`wire`) and what a
//! command does (`domain`). A name the rules do not have is refused here, before anything is asked.

use interlock_domain::contact::command::{
    AddSuppression, Body, Check, Command, DeclareContactMade, DeclareEffect, Direction, EffectKind,
    EffectRef, LiftSuppression, ReceiptRef, ReserveEffect, Route, SettleEffect, SettledBy,
    Settlement,
};
use interlock_domain::contact::name::{AgentId, ChannelId, GatewayId, IntentId, PurposeId, TaskId};
use interlock_domain::contact::policy::Policy;
use interlock_domain::contact::reply::Member;
use interlock_domain::contact::window::Window;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;
use interlock_token::NoDestination;
use interlock_wire::contact::check::{self as wire, CheckRequest};
use interlock_wire::contact::declare::{
    ContactMadeDetail, ContactWindow, EffectDetail, SuppressionAddedDetail, SuppressionLiftedDetail,
};
use interlock_wire::contact::effects::{EffectOutcome, EffectReserve, EffectSettle};
use interlock_wire::contact::subject::Handle;
use interlock_wire::value::Name;

use crate::contact::{destination, identity, refused};
use crate::directory::{Caller, SpaceEntry};
use crate::hashing::key_hash;
use crate::problem::Failure;

/// A command of this caller.
pub(crate) fn of(
    caller: &Caller,
    route: Route,
    receipt: Option<ReceiptRef>,
    body: Body,
) -> Command {
    Command {
        space: caller.space.id,
        source: caller.key.source.id,
        route,
        receipt,
        body,
    }
}

/// `check`; `now` says which key signs.
pub(crate) fn check(
    caller: &Caller,
    request: &CheckRequest<'_>,
    now: Timestamp,
) -> Result<Body, Failure> {
    let policy = &caller.space.policy;
    let secret = caller.space.secret.prepared();
    let effect = request.effect_key.as_ref().map(|key| {
        let id = identity::effect_id(secret, key);
        effect_ref(&id, request.effect_kind)
    });
    let subject = request.subject.as_ref();
    let object = request.object.as_ref();
    Ok(Body::Check(Check {
        direction: direction(request.direction),
        agent: AgentId::of(&request.agent),
        intent: IntentId::of(&request.intent),
        purpose: purpose(policy, &request.purpose)?,
        channel: channel(policy, request.channel.as_ref())?,
        gateway: gateway(policy, request.gateway_id.as_ref())?,
        customer: subject.map(|handle| identity::customer(secret, handle)),
        object: object.map(|object| identity::object(secret, object)),
        task: request.task.as_ref().map(|task| TaskId::of(task)),
        effect,
        signer: caller.space.signing.signer(now).number,
    }))
}

/// `effects`.
pub(crate) fn reserve_effect(
    space: &SpaceEntry,
    request: &EffectReserve<'_>,
    effect_id: &[u8; 32],
) -> Body {
    let policy = &space.policy;
    let effect = effect_ref(effect_id, request.kind);
    let counts = policy.effect_key_of_fact(effect.kind);
    let fact = request.fact.as_ref().filter(|_| counts);
    let draws_on = match request.kind {
        wire::EffectKind::PaidCall => policy.paid_call_operation.clone(),
        wire::EffectKind::Delivery
        | wire::EffectKind::Document
        | wire::EffectKind::Notice
        | wire::EffectKind::Filing
        | wire::EffectKind::ExternalAction => None,
    };
    Body::ReserveEffect(ReserveEffect {
        // More units than 32 bits hold are above every ceiling, and so is what stands for them.
        cost_units: u32::try_from(request.cost_units.0).unwrap_or(u32::MAX),
        draws_on,
        effect,
        fact: fact.map(|object| identity::object(space.secret.prepared(), object)),
    })
}

fn effect_ref(id: &[u8; 32], kind: wire::EffectKind) -> EffectRef {
    let mut rest = [0; 16];
    rest.copy_from_slice(&id[16..]);
    EffectRef {
        hash: key_hash(id),
        rest,
        kind: effect_kind(kind),
    }
}

/// `effects/{effect_id}/settle`.
pub(crate) fn settle_effect(request: &EffectSettle, effect_id: &[u8; 32]) -> Body {
    Body::SettleEffect(SettleEffect {
        effect: key_hash(effect_id),
        attempt: Some(request.attempt.0),
        settlement: settlement(request.state),
        by: SettledBy::Holder,
    })
}

/// `contact.made`.
pub(crate) fn contact_made(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &ContactMadeDetail<'_>,
) -> Result<Body, Failure> {
    let policy = &caller.space.policy;
    let secret = caller.space.secret.prepared();
    Ok(Body::DeclareContactMade(DeclareContactMade {
        customer: subject.map(|handle| identity::customer(secret, handle)),
        purpose: purpose(policy, &detail.purpose)?,
        channel: declared_channel(policy, &detail.channel)?,
        gateway: gateway(policy, detail.gateway_id.as_ref())?,
        decision: detail.decision_id.map(|id| Id(id.0)),
        jti: detail.jti.map(|id| Id(id.0)),
        unchecked: detail.unchecked,
    }))
}

/// `effect`.
pub(crate) fn declare_effect(caller: &Caller, detail: &EffectDetail<'_>) -> Body {
    let secret = caller.space.secret.prepared();
    Body::DeclareEffect(DeclareEffect {
        effect: key_hash(&identity::effect_id(secret, &detail.effect_key)),
        attempt: detail.attempt.0,
        settlement: settlement(detail.state),
    })
}

/// `suppression.added`. A window that is refused is named by `window_at`.
pub(crate) fn add_suppression(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    (detail, window_at): (&SuppressionAddedDetail<'_>, &str),
) -> Result<Body, Failure> {
    let policy = &caller.space.policy;
    let reason = policy.suppression_reason(&detail.reason);
    let hours = detail.window.as_ref().map(|hours| window(hours, window_at));
    let (customer, canonical) = destination(caller, subject)?;
    let secret = caller.space.secret.prepared();
    let sealed = destination::seal(secret, customer, &canonical);
    Ok(Body::AddSuppression(AddSuppression {
        customer,
        destination: sealed.ok_or_else(refused::broken)?,
        purpose: suppressed_purpose(policy, &detail.purpose)?,
        channel: channel(policy, detail.channel.as_ref())?,
        reason: reason.ok_or_else(|| refused::undeclared(Member::Reason))?,
        until: detail.until.map(|until| Timestamp(until.0)),
        window: hours.transpose()?,
    }))
}

/// `suppression.lifted`. A name the rules do not have may be one they had: whether something was added
/// under it is known where the entries are (`domain`).
pub(crate) fn lift_suppression(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &SuppressionLiftedDetail<'_>,
) -> Result<Body, Failure> {
    let policy = &caller.space.policy;
    let channel = detail.channel.as_ref();
    let channel = channel.map(|name| lifted_channel(policy, name));
    Ok(Body::LiftSuppression(LiftSuppression {
        customer: destination(caller, subject)?.0,
        purpose: lifted_purpose(policy, &detail.purpose)?,
        channel: channel.transpose()?,
    }))
}

/// The customer of a suppression and its canonical form: only a destination can be suppressed (§15).
fn destination(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
) -> Result<(KeyHash, String), Failure> {
    let handle = subject.ok_or_else(|| {
        Failure::invalid("`subject` is missing; it must be a phone number or an e-mail address")
    })?;
    let canonical = identity::canonical(handle).map_err(|why| {
        Failure::invalid(match why {
            NoDestination::UnsupportedType => {
                "`subject.type` must be `phone_e164`, `wa_id`, `wa_jid` or `email`: only a \
                 destination can be suppressed"
            }
            NoDestination::InvalidHandle => {
                "`subject.value` must be a phone number or an e-mail address, as `subject.type` says"
            }
        })
    })?;
    let customer = identity::customer(caller.space.secret.prepared(), handle);
    Ok((customer, canonical))
}

/// Whether the published SDK reads the name of a zone: `^[A-Za-z_]+(/[A-Za-z0-9_+-]+)*$`. It leaves out
/// the names with a digit or a sign before any `/`, such as `GMT0` and `PST8PDT`.
fn is_read_by_sdks(zone: &str) -> bool {
    let mut parts = zone.split('/');
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let is_first = |part: &str| !part.is_empty() && part.bytes().all(is_letter);
    let is_more = |byte: u8| is_letter(byte) || byte.is_ascii_digit() || b"+-".contains(&byte);
    parts.next().is_some_and(is_first)
        && parts.all(|part| !part.is_empty() && part.bytes().all(is_more))
}

fn window(window: &ContactWindow<'_>, at: &str) -> Result<Window, Failure> {
    // Only what comes in is judged by this: what is stored stays in force.
    if !is_read_by_sdks(&window.tz) {
        return Err(Failure::invalid(format!(
            "`{at}.tz` must be a zone of the IANA database that copies of the suppression list can \
             read: letters and `_`, then parts after `/`, such as `America/New_York` or `Etc/GMT+3`"
        )));
    }
    let days = window.days.as_ref();
    let days: Option<Vec<u8>> = days.map(|days| days.0.iter().map(|day| day.0).collect());
    Window::new(&window.from, &window.to, &window.tz, days.as_deref()).map_err(|invalid| {
        let (member, rule) = (invalid.member(), invalid.rule());
        Failure::invalid(format!("`{at}.{member}`: {rule}"))
    })
}

fn purpose(policy: &Policy, name: &Name<'_>) -> Result<PurposeId, Failure> {
    let known = policy.purpose(name);
    known.ok_or_else(|| refused::undeclared(Member::Purpose))
}

fn suppressed_purpose(policy: &Policy, name: &Name<'_>) -> Result<PurposeId, Failure> {
    let known = policy.suppression_purpose(name);
    known.ok_or_else(|| refused::undeclared(Member::Purpose))
}

fn lifted_purpose(policy: &Policy, name: &Name<'_>) -> Result<PurposeId, Failure> {
    let gone = PurposeId::of(name);
    // Never the number that another name has now.
    let free = policy.purpose_rules(gone).is_none().then_some(gone);
    let known = policy.suppression_purpose(name).or(free);
    known.ok_or_else(|| refused::undeclared(Member::Purpose))
}

fn lifted_channel(policy: &Policy, name: &Name<'_>) -> Result<ChannelId, Failure> {
    let gone = ChannelId::of(name);
    let free = policy.channel_rules(gone).is_none().then_some(gone);
    let known = policy.channel(name).or(free);
    known.ok_or_else(|| refused::undeclared(Member::Channel))
}

fn declared_channel(policy: &Policy, name: &Name<'_>) -> Result<ChannelId, Failure> {
    let known = policy.channel(name);
    known.ok_or_else(|| refused::undeclared(Member::Channel))
}

fn channel(policy: &Policy, name: Option<&Name<'_>>) -> Result<Option<ChannelId>, Failure> {
    name.map(|name| declared_channel(policy, name)).transpose()
}

fn gateway(policy: &Policy, name: Option<&Name<'_>>) -> Result<Option<GatewayId>, Failure> {
    let known = name.map(|name| {
        let known = policy.gateway(name);
        known.ok_or_else(|| refused::undeclared(Member::GatewayId))
    });
    known.transpose()
}

const fn direction(direction: wire::Direction) -> Direction {
    match direction {
        wire::Direction::Inbound => Direction::Inbound,
        wire::Direction::Outbound => Direction::Outbound,
    }
}

const fn effect_kind(kind: wire::EffectKind) -> EffectKind {
    match kind {
        wire::EffectKind::Delivery => EffectKind::Delivery,
        wire::EffectKind::Document => EffectKind::Document,
        wire::EffectKind::Notice => EffectKind::Notice,
        wire::EffectKind::Filing => EffectKind::Filing,
        wire::EffectKind::PaidCall => EffectKind::PaidCall,
        wire::EffectKind::ExternalAction => EffectKind::ExternalAction,
    }
}

const fn settlement(outcome: EffectOutcome) -> Settlement {
    match outcome {
        EffectOutcome::Done => Settlement::Done,
        EffectOutcome::Failed => Settlement::Failed,
        EffectOutcome::UnknownOutcome => Settlement::UnknownOutcome,
    }
}
