//! `POST /v1/forget`: a customer is erased; and `GET /v1/forget/{request_id}`: what was.
//!
//! Here: whom it is about, and the rows that only the edge can name. Not here: what goes and what
//! stays (`domain`). An answer holds counts and a pseudonym, never a handle.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::command::{Body, ForgetCustomer, Route, Show};
use interlock_domain::contact::customer::Customer;
use interlock_domain::contact::directory::{DirectoryRow, Target};
use interlock_domain::contact::entity::ContactEntity;
use interlock_domain::contact::reply::{ErasedReply, Reply};
use interlock_domain::contact::text::Text;
use interlock_domain::ids::Id;
use interlock_domain::key::{KeyHash, Kind};
use interlock_wire::contact::privacy::{Erasure, ForgetRequest, ForgetTarget};
use interlock_wire::contact::subject::Handle;
use interlock_wire::problem::Code;
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::keyed::{Request, Wanted};
use crate::contact::sought::Left;
use crate::contact::{ask, command, identity, offers, ownership, refused, sought};
use crate::decider::Decider;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// How often an erasure reads the customer again when something was offered meanwhile.
const TRIES: usize = 4;

/// Erases a customer.
pub(crate) async fn post<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let opened = Request::governing(&request, payload, &state, true).await?;
    let forget: ForgetRequest<'_> = read::body(&opened.body)?;
    let secret = opened.caller.space.secret.prepared();
    let customer = identity::customer(secret, handle(&forget)?);
    let new_id = ownership::new_id(&state)?;
    for _ in 0..TRIES {
        let (offers, handoffs) = rows(&opened, &state, customer).await?;
        let wanted = Wanted {
            route: "forget",
            noted: Route::Forget,
            place: &[],
            request: &forget,
            body: Body::ForgetCustomer(ForgetCustomer {
                customer,
                new_id,
                offers,
                handoffs,
            }),
        };
        let reply = opened.decide(&state, wanted).await?;
        if let Reply::Erased(erased) = &reply {
            return Ok(ask::json(StatusCode::OK, written(erased)));
        }
        if reply != Reply::Moved {
            return Err(refused::reply(&reply, &state.limits));
        }
    }
    Err(refused::busy(&state.limits))
}

/// The handle that the request names, and nothing else.
fn handle<'a, 'r>(forget: &'r ForgetRequest<'a>) -> Result<&'r Handle<'a>, Failure> {
    match forget.target {
        ForgetTarget::Handle => {}
        ForgetTarget::Profile | ForgetTarget::Conversation => {
            return Err(Failure::invalid(
                "`target` must be `handle`: this server knows customers by their handles and keeps \
                 neither profiles nor conversations; erase each handle of the customer",
            ));
        }
    }
    if forget.profile_id.is_some() || forget.conversation_id.is_some() {
        return Err(Failure::invalid(
            "with `target` `handle` only `handle` is named; leave `profile_id` and `conversation_id` out",
        ));
    }
    forget.handle.as_ref().ok_or_else(|| {
        Failure::invalid("`handle` is missing; it must be the handle that `target` announces")
    })
}

/// What keeps something sealed beside the customer: what it was offered, with the names of the rows of
/// the terms, and its handoffs.
async fn rows<D: Decider>(
    opened: &Request<'_>,
    state: &AppState<D>,
    customer: KeyHash,
) -> Result<(Vec<(Text, KeyHash)>, Vec<Id>), Failure> {
    let show = Body::Show(Show {
        kind: Kind::Customer,
        hash: customer,
    });
    let reply = opened.look(state, Route::Forget, show).await?;
    let Reply::Shown(shown) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let secret = opened.caller.space.secret.prepared();
    let known = shown.as_deref().and_then(ContactEntity::as_customer);
    let offers = known.map_or(&[][..], |known| &known.rare.commitments);
    let named = offers
        .iter()
        .map(|offer| (offer.id.clone(), offers::row(secret, &offer.id)));
    let mut named: Vec<(Text, KeyHash)> = named.collect();
    let handoffs = known.map_or(&[][..], Customer::handoffs).iter();
    let mut handoffs: Vec<Id> = handoffs.map(|known| known.id).collect();
    // A customer forgets offers that ended, whose rows keep the terms with the ids, and handoffs of
    // long ago, which a hold on their conversation keeps.
    let space = opened.caller.space.id;
    for left in sought::left(state, opened.started, space, customer).await? {
        match left {
            Left::Handoff(id) if !handoffs.contains(&id) => handoffs.push(id),
            Left::Terms(row) if named.iter().all(|(_, known)| *known != row) => {
                named.push((Text::from(""), row));
            }
            Left::Handoff(_) | Left::Terms(_) => {}
        }
    }
    Ok((named, handoffs))
}

/// What an erasure took.
pub(crate) async fn get<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
    path: web::Path<String>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::governing(&request, &state.directory)?;
    let id = Id(Uuid::parse(&path).ok_or_else(unknown)?.0);
    let show = Body::Show(Show {
        kind: Kind::Directory,
        hash: KeyHash(id.0),
    });
    let command = command::of(&caller, Route::Forget, None, show);
    let (started, deadline) = (extract::started(&request), state.limits.request_deadline_ms);
    let reply = ask::one(&state, &caller, command, started, deadline, 0).await?;
    let Reply::Shown(shown) = reply else {
        return Err(refused::reply(&reply, &state.limits));
    };
    let row = shown.as_deref().and_then(ContactEntity::as_directory);
    let row = row.filter(|row| (state.now)() < row.until);
    let erased = row.and_then(|row| erased(id, row)).ok_or_else(unknown)?;
    Ok(ask::json(StatusCode::OK, written(&erased)))
}

/// The row of an erasure; `None` when the id is another one's.
fn erased(request_id: Id, row: &DirectoryRow) -> Option<ErasedReply> {
    let (Some(erased), Target::Customer(customer)) = (&row.erased, row.target) else {
        return None;
    };
    Some(ErasedReply {
        request_id,
        customer,
        erased: **erased,
    })
}

fn unknown() -> Failure {
    Failure::new(
        Code::NotFound,
        "there is no erasure of this id, or it is forgotten; check the id in the path",
    )
}

/// An erasure as the client reads it.
pub(crate) fn written(reply: &ErasedReply) -> Vec<u8> {
    let pseudonym = format!("c_{:032x}", u128::from_be_bytes(reply.customer.0));
    let taken = reply.erased.taken();
    let erasure = Erasure {
        request_id: reply.request_id.0,
        status: "completed",
        target_kind: "handle",
        target_id: &pseudonym,
        requested_at: reply.erased.at.0,
        completed_at: Some(reply.erased.at.0),
        erased: taken
            .into_iter()
            .map(|(kind, count)| (kind, u64::from(count)))
            .collect(),
        suppressions_kept: u64::from(reply.erased.suppressions_kept),
    };
    let mut answer = Vec::with_capacity(512);
    erasure.write(&mut answer);
    answer
}
