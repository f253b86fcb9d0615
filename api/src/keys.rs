//! `GET /.well-known/niadra-contact-keys.json`: the public keys a gateway verifies tokens with (§13.4).
//!
//! Here: the one route that is public by contract. A space that does not exist and one that does not
//! coordinate look alike. The contract has two states of a key, `active` and `retiring`: the next key
//! is `active` before it signs, so that gateways know it when it does.

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::key::SpaceId;
use interlock_wire::contact::keys::{ContactKey, ContactKeys, KeyCurve, KeyStatus, KeyType};
use interlock_wire::problem::Code;
use interlock_wire::value::Uuid;

use crate::decider::Decider;
use crate::problem::Failure;
use crate::state::AppState;

/// The keys of a space.
pub(crate) async fn get<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let id = space(request.query_string()).ok_or_else(|| {
        Failure::invalid("the query must be `space=` and the space's UUID in its hyphenated form")
    })?;
    let known = state.directory.space(id);
    let known = known.filter(|space| space.features.coordination);
    let space = known.ok_or_else(|| {
        Failure::new(
            Code::NotFound,
            "there is no such space, or it does not coordinate; check `space`",
        )
    })?;
    let published = space.signing.published((state.now)());
    let keys = published.map(|one| ContactKey {
        kty: KeyType::Okp,
        crv: KeyCurve::Ed25519,
        x: one.key.public(),
        kid: &one.key.kid,
        space: space.id.0,
        status: match one.retiring {
            true => KeyStatus::Retiring,
            false => KeyStatus::Active,
        },
        not_after: one.not_after.map(|end| end.0),
    });
    let keys = ContactKeys {
        keys: keys.collect(),
    };
    let mut body = Vec::with_capacity(256);
    keys.write(&mut body);
    Ok(HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .insert_header((CACHE_CONTROL, "max-age=60"))
        .body(body))
}

/// The space of a query: the parameter is there once.
fn space(query: &str) -> Option<SpaceId> {
    let mut values = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("space="));
    let value = values.next()?;
    if values.next().is_some() {
        return None;
    }
    Uuid::parse(value).map(|id| SpaceId(id.0))
}
