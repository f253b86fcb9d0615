//! `POST /v1/handoffs`, `GET /v1/handoffs/{handoff_id}` and its `/accept` and `/outcome` (§16).
//!
//! Here: the four routes and the declaration `handoff`. In `handoffs/`: the texts only the edge reads,
//! and the package as a client reads it. Not here: states, holds and what an outcome does (`domain`).

mod show;
mod texts;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, ClaimPlace, Route};
use interlock_domain::contact::handoff::command::{
    AcceptHandoff, CloseHandoff, CreateHandoff, HandoffCommand, ListEffects, ReadHandoff, SeeEffect,
};
use interlock_domain::contact::handoff::{EffectSeen, Handoff};
use interlock_domain::contact::reply::{HandoffReply, Reply};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::declare::{HandoffDetail, HandoffMoved};
use interlock_wire::contact::handoffs::{HandoffCreate, HandoffOutcome};
use interlock_wire::contact::subject::Handle;
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::{ask, command, destination, identity, ownership, refused};
use crate::decider::Decider;
use crate::directory::Caller;
use crate::extract;
use crate::hashing::{PreparedKey, key_hash};
use crate::problem::Failure;
use crate::state::AppState;

#[cfg(test)]
pub(crate) use self::show::written;
#[cfg(test)]
pub(crate) use self::texts::Texts;

/// Hands a customer over.
pub(crate) async fn create<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let create: HandoffCreate<'_> = read::body(&opened.body)?;
    let id = ownership::new_id(&state)?;
    let secret = opened.caller.space.secret.prepared();
    let customer = identity::customer(secret, &create.subject);
    let created = CreateHandoff {
        id,
        customer,
        target: Text::from(&*create.target),
        expected_by: create.expected_by.map(|by| Timestamp(by.0)),
        sealed: texts::of(&opened.caller, &create)
            .seal(secret, id)
            .ok_or_else(refused::broken)?,
        destination: sealed_destination(secret, customer, &create.subject)?,
        conversation: create
            .conversation_id
            .as_deref()
            .map(|id| identity::conversation(secret, id)),
        effects: effects(&opened, &state, customer).await?,
    };
    let wanted = Wanted {
        route: "handoffs",
        noted: Route::Handoffs,
        place: &[],
        body: body(HandoffCommand::Create(Box::new(created))),
        request: &create,
    };
    let reply = opened.decide(&state, wanted).await?;
    answered(&opened, &state, StatusCode::CREATED, &reply).await
}

/// The destination as the suppression list keeps it, for an outcome that suppresses; empty for a
/// handle that is none.
fn sealed_destination(
    secret: &PreparedKey,
    customer: KeyHash,
    handle: &Handle<'_>,
) -> Result<Box<[u8]>, Failure> {
    let Ok(canonical) = identity::canonical(handle) else {
        return Ok(Box::default());
    };
    destination::seal(secret, customer, &canonical).ok_or_else(refused::broken)
}

/// Reads a handoff.
pub(crate) async fn read<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let caller = extract::coordinating(&request, &state.directory)?;
    let handoff = named(&path, &state)?;
    let wanted = body(HandoffCommand::Read(ReadHandoff { handoff }));
    let wanted = command::of(&caller, Route::Handoffs, None, wanted);
    let deadline = state.limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, 0).await?;
    let (shown, handoff) = whole(&reply).ok_or_else(|| refused::reply(&reply, &state.limits))?;
    shown_as(StatusCode::OK, &caller, shown, handoff)
}

/// Takes a handoff over. It has no body; an empty object is let through.
pub(crate) async fn accept<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let handoff = named(&path, &state)?;
    if !matches!(opened.body.trim_ascii(), b"" | b"{}") {
        return Err(Failure::invalid("the route takes no body; leave it out"));
    }
    let wanted = Wanted {
        route: "handoffs/accept",
        noted: Route::HandoffAccept,
        place: &handoff.0,
        body: body(HandoffCommand::Accept(AcceptHandoff {
            handoff,
            subject: None,
        })),
        request: (),
    };
    let reply = opened.decide(&state, wanted).await?;
    answered(&opened, &state, StatusCode::OK, &reply).await
}

/// Reports how a handoff ended.
pub(crate) async fn outcome<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::open(&request, payload, &state).await?;
    let handoff = named(&path, &state)?;
    let outcome: HandoffOutcome<'_> = read::body(&opened.body)?;
    let wanted = Wanted {
        route: "handoffs/outcome",
        noted: Route::HandoffOutcome,
        place: &handoff.0,
        body: close(handoff, Some(&outcome.outcome), None),
        request: &outcome,
    };
    let reply = opened.decide(&state, wanted).await?;
    answered(&opened, &state, StatusCode::OK, &reply).await
}

/// The declaration `handoff` (§17): what the routes do, for an id that may be one of ours. That one was
/// made moves nothing, and an id of another form was never handed out here. A customer that is named
/// has to be the handoff's.
pub(crate) fn declared(
    caller: &Caller,
    subject: Option<&Handle<'_>>,
    detail: &HandoffDetail<'_>,
) -> Body {
    let secret = caller.space.secret.prepared();
    let subject = subject.map(|handle| identity::customer(secret, handle));
    let id = Uuid::parse(&detail.handoff_id).map(|id| Id(id.0));
    match (detail.status, id) {
        (HandoffMoved::Created, _) | (_, None) => body(HandoffCommand::Note),
        (HandoffMoved::Accepted, Some(handoff)) => {
            body(HandoffCommand::Accept(AcceptHandoff { handoff, subject }))
        }
        (HandoffMoved::Closed, Some(handoff)) => close(handoff, detail.outcome.as_deref(), subject),
    }
}

const fn body(command: HandoffCommand) -> Body {
    Body::Handoff(command)
}

fn close(handoff: Id, outcome: Option<&str>, subject: Option<KeyHash>) -> Body {
    body(HandoffCommand::Close(CloseHandoff {
        handoff,
        outcome: outcome.map(Text::from),
        subject,
        place: ClaimPlace::ToFind,
    }))
}

/// The handoff a path names. No handoff has an id of another form, so it is unknown rather than
/// wrong.
fn named<D: Decider>(path: &str, state: &AppState<D>) -> Result<Id, Failure> {
    let id = Uuid::parse(path).map(|id| Id(id.0));
    id.ok_or_else(|| refused::reply(&Reply::NotFound, &state.limits))
}

/// What a package shows of effects. It is read before the handoff is made, because the answer, and
/// every repeat of it, has to be what the handoff keeps. A check or a settlement between these reads
/// and the decision is not in the package; an effect is never shown as something it was not.
async fn effects<D: Decider>(
    opened: &Request<'_>,
    state: &AppState<D>,
    customer: KeyHash,
) -> Result<Vec<EffectSeen>, Failure> {
    let list = body(HandoffCommand::ListEffects(ListEffects { customer }));
    let listed = opened.look_all(state, Route::Handoffs, [list]).await?;
    let Some(Reply::Effects(ids)) = listed.first() else {
        return Err(refused::broken());
    };
    let looks = ids.iter().map(|id| {
        let effect = key_hash(id);
        body(HandoffCommand::SeeEffect(SeeEffect { effect }))
    });
    let replies = opened.look_all(state, Route::Handoffs, looks).await?;
    let sights = ids.iter().zip(&replies).filter_map(|(id, reply)| {
        let Reply::EffectSeen(Some(sight)) = reply else {
            return None;
        };
        Some(EffectSeen {
            id: *id,
            kind: sight.kind,
            state: sight.state,
        })
    });
    Ok(sights.collect())
}

/// The answer of a keyed route: what a receipt does not keep is read from the handoff, which outlives
/// every receipt.
async fn answered<D: Decider>(
    opened: &Request<'_>,
    state: &AppState<D>,
    status: StatusCode,
    reply: &Reply,
) -> Result<HttpResponse, Failure> {
    let Reply::Handoff(shown) = reply else {
        return Err(refused::reply(reply, &state.limits));
    };
    let caller = &opened.caller;
    if let Some(handoff) = &shown.handoff {
        return shown_as(status, caller, shown, handoff);
    }
    let read = body(HandoffCommand::Read(ReadHandoff { handoff: shown.id }));
    let read = opened.look_all(state, Route::Handoffs, [read]).await?;
    let read = read.first().ok_or_else(refused::broken)?;
    let (_, handoff) = whole(read).ok_or_else(|| refused::reply(read, &state.limits))?;
    shown_as(status, caller, shown, handoff)
}

fn whole(reply: &Reply) -> Option<(&HandoffReply, &Handoff)> {
    let Reply::Handoff(shown) = reply else {
        return None;
    };
    Some((shown, shown.handoff.as_ref()?))
}

fn shown_as(
    status: StatusCode,
    caller: &Caller,
    shown: &HandoffReply,
    handoff: &Handoff,
) -> Result<HttpResponse, Failure> {
    let secret = caller.space.secret.prepared();
    let texts = texts::open(secret, shown.id, &handoff.sealed).ok_or_else(refused::broken)?;
    let mut answer = Vec::with_capacity(1_024);
    show::written(&mut answer, shown, handoff, &texts).ok_or_else(refused::broken)?;
    Ok(ask::json(status, answer))
}
