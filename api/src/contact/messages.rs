//! `POST /v1/batch`: what happened in conversations.
//!
//! Here: messages of customers, which open a channel's free-form window (§12); messages to them, which
//! are noted for shadow runs (§18); events that the space maps to ownership (§9). What else a
//! conversation reports is taken and changes nothing here. No text of a message is read. Not here:
//! when a window is open and who holds what (`domain`).

use std::borrow::Cow;
use std::ops::Range;

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{
    Body, Command, NoteMessage, ObserveMessage, ReceiptRef, Route,
};
use interlock_domain::contact::name::{AgentId, IntentId};
use interlock_domain::contact::reply::Reply;
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::KeyHash;
use interlock_domain::time::Timestamp;
use interlock_wire::contact::messages::{self as wire, BatchRequest, BatchResponse, Message, Ours};
use interlock_wire::contact::subject::Handle;
use interlock_wire::value;
use serde::Serialize;

use crate::contact::identity::{self, Keyed};
use crate::contact::{ask, command, mappings, refused};
use crate::decider::{Answer, Asked, Decider};
use crate::directory::Caller;
use crate::extract;
use crate::problem::Failure;
use crate::slices;
use crate::state::AppState;

/// Most characters of an agent's name that is kept to be shown.
const AGENT_SHOWN_MAX: usize = 64;

/// Takes what happened in conversations.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::tracking(&request, &state.directory)?;
    let patience = started.left(limits.request_deadline_ms);
    let body = extract::batch(&request, payload, &caller, limits, patience).await?;
    let batch = BatchRequest::read(&body)?;
    extract::take(&request, &caller, batch.items.len())?;
    let now = (state.now)();
    let mut told = BatchResponse::default();
    let mut commands = Vec::new();
    let mut items: Vec<Range<usize>> = Vec::new();
    for (index, item) in batch.items.iter().enumerate() {
        let first = commands.len();
        match of_item(&caller, item, now, &mut commands) {
            Err(why) => told.errors.push((index, why)),
            Ok(()) => items.push(first..commands.len()),
        }
        slices::make_way(index + 1).await;
    }
    let mut again = Vec::new();
    if !commands.is_empty() {
        let asked = Asked {
            commands,
            policy: caller.space.policy.clone(),
            deadline: started.left(limits.request_deadline_ms),
            bytes: body.len(),
        };
        for answer in state.decider.submit(asked).await? {
            again.push(is_again(&answer, &state)?);
        }
    }
    for item in items {
        // An item about several customers is a duplicate when all of it is.
        let repeated = again.get(item).filter(|parts| !parts.is_empty());
        match repeated.is_some_and(|parts| parts.iter().all(|again| *again)) {
            true => told.duplicates += 1,
            false => told.accepted += 1,
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

/// Adds an item's commands: one for each customer or object that it is about.
fn of_item(
    caller: &Caller,
    item: &serde_json::value::RawValue,
    now: Timestamp,
    commands: &mut Vec<Command>,
) -> Result<(), &'static str> {
    let told = wire::told(item)?;
    if !caller.space.features.coordination {
        return Ok(());
    }
    match told {
        wire::Told::Message(message) => commands.extend(noted(caller, &message, now)),
        wire::Told::Event(event) => commands.extend(mappings::commands(caller, &event, now)?),
        wire::Told::Other => {}
    }
    Ok(())
}

/// A message's commands: one for each customer it names. One of a customer on a channel that the
/// space does not declare opens no window.
fn noted(caller: &Caller, message: &Message<'_>, now: Timestamp) -> Vec<Command> {
    let channel = caller.space.policy.channel(&message.channel);
    let occurred_at = message.occurred_at.map_or(now, Timestamp);
    let body = |customer: KeyHash| match &message.ours {
        Some(ours) => Some(Body::NoteMessage(NoteMessage {
            channel,
            occurred_at,
            ..sent(caller, ours, customer)
        })),
        None => channel.map(|channel| {
            Body::ObserveMessage(ObserveMessage {
                customer,
                channel,
                occurred_at,
            })
        }),
    };
    let of_one = |customer: KeyHash| {
        let receipt = receipt(
            caller,
            message.idempotency_key.as_ref(),
            &customer.0,
            message,
        );
        Some(command::of(caller, Route::Batch, receipt, body(customer)?))
    };
    customers(caller, &message.handles)
        .into_iter()
        .filter_map(of_one)
        .collect()
}

/// A message to a customer, as far as it does not depend on where and when.
fn sent(caller: &Caller, ours: &Ours<'_>, customer: KeyHash) -> NoteMessage {
    let policy = &caller.space.policy;
    let name = ours.agent.as_deref().unwrap_or(&caller.key.source.name);
    let intent = ours.intent.as_deref().filter(|name| value::is_name(name));
    NoteMessage {
        customer,
        channel: None,
        agent: AgentId::of(name),
        name: Some(name)
            .filter(|name| !ours.is_person && is_shown(name))
            .map(Text::from),
        purpose: ours
            .purpose
            .as_deref()
            .and_then(|name| policy.purpose(name)),
        intent: intent.map(IntentId::of),
        jti: ours.jti.map(Id),
        occurred_at: Timestamp::default(),
        template: ours.template,
    }
}

/// Whether an agent's name may be shown in a report. A report shows nothing personal, so a name
/// must look like that of a program: a handle or a person's name has other characters.
fn is_shown(name: &str) -> bool {
    name.len() <= AGENT_SHOWN_MAX
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || matches!(one, '_' | '-' | '.' | ':' | '/'))
}

/// The customers of some handles, each once.
pub(crate) fn customers(caller: &Caller, handles: &[Handle<'_>]) -> Vec<KeyHash> {
    let secret = caller.space.secret.prepared();
    let named = handles.iter();
    let mut customers: Vec<_> = named
        .map(|handle| identity::customer(secret, handle))
        .collect();
    customers.sort_unstable();
    customers.dedup();
    customers
}

/// The receipt of one command of an item; `part` tells the commands of an item apart.
pub(crate) fn receipt(
    caller: &Caller,
    key: Option<&Cow<'_, str>>,
    part: &[u8],
    item: &impl Serialize,
) -> Option<ReceiptRef> {
    let secret = caller.space.secret.prepared();
    let keyed = Keyed {
        route: "batch",
        key: key?,
    };
    Some(ReceiptRef {
        hash: keyed.hash(secret, caller.key.source.id, part),
        fingerprint: keyed.fingerprint(secret, &[], item),
    })
}

/// Whether what was answered was taken before. A key that came with another item is the client's
/// own affair: the first one counts. A name that newer rules have dropped is no longer of use.
fn is_again<D: Decider>(answer: &Answer<Reply>, state: &AppState<D>) -> Result<bool, Failure> {
    let limits = &state.limits;
    match answer {
        Answer::Decided(Reply::Observed | Reply::Undeclared(_)) => Ok(false),
        Answer::Decided(Reply::ObservedAgain | Reply::Conflict) => Ok(true),
        Answer::Decided(reply) | Answer::Instead(reply) => Err(refused::reply(reply, limits)),
        Answer::NotDecided(why) => Err(refused::undecided(*why, limits)),
        Answer::Broken => Err(refused::broken()),
        Answer::Unavailable => Err(refused::unavailable(limits)),
        Answer::Busy => Err(refused::busy(limits)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_shown_when_it_is_that_of_a_program() {
        for name in ["closing", "sales-bot/2.1", "a", "Vendor:agent_1"] {
            assert!(is_shown(name), "{name}");
        }
        let long = "a".repeat(65);
        for name in [
            "",
            "+5511987654321",
            "ana@example.com",
            "Ana Souza",
            "55119",
            &long,
        ] {
            assert!(!is_shown(name), "{name}");
        }
    }
}
