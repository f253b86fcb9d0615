//! `POST /v1/batch`: customers' messages, which open a channel's free-form window (§12).
//!
//! Here: inbound messages; what else a conversation reports is taken and changes nothing here. A
//! message on a channel that the space does not declare says nothing about a window and is taken
//! too. Not here: when a window is open (`domain`).

use std::borrow::Cow;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, Command, ObserveMessage, ReceiptRef, Route};
use interlock_domain::contact::reply::Reply;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::messages::{
    BatchRequest, BatchResponse, CustomerMessage, customer_message,
};

use crate::contact::identity::{self, Keyed};
use crate::contact::{ask, command, refused};
use crate::decider::{Answer, Asked, Decider};
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// Takes what happened in conversations.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::tracking(&request, &state.directory)?;
    let body = extract::body(&request, payload, limits, limits.batch_bytes_max).await?;
    let batch = BatchRequest::read(&body)?;
    extract::take(&request, &caller, batch.items.len())?;
    let now = (state.now)();
    let mut told = BatchResponse::default();
    let mut commands = Vec::new();
    for (index, item) in batch.items.iter().enumerate() {
        match customer_message(item) {
            Err(why) => told.errors.push((index, why)),
            Ok(message) => {
                told.accepted += 1;
                commands.extend(message.iter().flat_map(|seen| noted(&caller, seen, now)));
            }
        }
    }
    if !commands.is_empty() {
        let asked = Asked {
            commands,
            policy: caller.space.policy.clone(),
            deadline: started.left(limits.request_deadline_ms),
            bytes: body.len(),
        };
        for answer in state.decider.submit(asked).await? {
            taken(&answer, &state)?;
        }
    }
    let status = if told.errors.is_empty() {
        StatusCode::OK
    } else {
        StatusCode::MULTI_STATUS
    };
    let mut answer = Vec::with_capacity(64);
    told.write(&mut answer);
    Ok(ask::json(status, answer))
}

/// A message's commands: one for each customer it names.
fn noted(caller: &Caller, message: &CustomerMessage<'_>, now: Timestamp) -> Vec<Command> {
    let space = &caller.space;
    let channel = space.policy.channel(&message.channel);
    let Some(channel) = channel.filter(|_| space.features.coordination) else {
        return Vec::new();
    };
    let secret = caller.space.secret.prepared();
    let named = message.handles.iter();
    let mut customers: Vec<_> = named
        .map(|handle| identity::customer(secret, handle))
        .collect();
    customers.sort_unstable();
    customers.dedup();
    let command = |customer: KeyHash| {
        let receipt = message.idempotency_key.as_ref().map(|key: &Cow<'_, str>| {
            let keyed = Keyed {
                route: "batch",
                key,
            };
            ReceiptRef {
                hash: keyed.hash(secret, caller.key.source.id, &customer.0),
                fingerprint: keyed.fingerprint(secret, &[], message),
            }
        });
        let body = Body::ObserveMessage(ObserveMessage {
            customer,
            channel,
            occurred_at: message.occurred_at.map_or(now, Timestamp),
        });
        command::of(caller, Route::Batch, receipt, body)
    };
    customers.into_iter().map(command).collect()
}

/// Goes on when the message was noted, now or before. A key that came with another message is the
/// client's own affair: the first message counts.
fn taken<D: Decider>(answer: &Answer<Reply>, state: &AppState<D>) -> Result<(), Failure> {
    let limits = &state.limits;
    match answer {
        Answer::Decided(Reply::Observed | Reply::Conflict) => Ok(()),
        Answer::Decided(reply) => Err(refused::reply(reply, limits)),
        Answer::NotDecided(why) => Err(refused::undecided(*why, limits)),
        Answer::Broken => Err(refused::broken()),
        Answer::Unavailable => Err(refused::unavailable(limits)),
        Answer::Busy => Err(refused::busy(limits)),
    }
}
