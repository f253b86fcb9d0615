//! `GET /v1/sdk/profile` and `GET /v1/sources/me`: what a key is, so that the SDK is quiet.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_wire::json::{self, Object};

use crate::directory::Scope;
use crate::extract;
use crate::problem::Failure;
use crate::state::AppState;

/// How long the SDK may rely on the profile, in seconds.
const PROFILE_VALID_S: u64 = 300;

/// `GET /v1/sdk/profile`.
pub(crate) async fn profile<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::caller(&request, &state.directory)?;
    let features: &[&str] = if caller.space.features.coordination {
        &["coordination"]
    } else {
        &[]
    };
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.list("features", features, |out, word| json::text(out, word));
    object.number("valid_for_s", PROFILE_VALID_S);
    object.close();
    Ok(json_body(body))
}

/// `GET /v1/sources/me`.
pub(crate) async fn me<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::caller(&request, &state.directory)?;
    let key = &caller.key;
    let mut body = Vec::new();
    let mut object = Object::open(&mut body);
    object.uuid("space_id", &key.space.0);
    // A space is a tenant here, so both ids are one.
    object.uuid("tenant_id", &key.space.0);
    object.text("region", &key.region);
    object.text("environment", if key.test { "test" } else { "live" });
    json::number(object.member("source_number"), u64::from(key.source.id.0));
    object.text("source_id", &key.source.name);
    object.text("source_name", &key.source.name);
    object.text("key_id", &key.key_id);
    object.list("scopes", &key.scopes, |out, scope: &Scope| {
        json::text(out, scope.name());
    });
    object.text("audience", "agent");
    // A coordinator verifies nobody.
    object.text("verification_ceiling", "V0");
    object.close();
    Ok(json_body(body))
}

fn json_body(body: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
