//! `GET /v1/sdk/profile` and `GET /v1/sources/me`: what a key is, so that the SDK is quiet.

use actix_web::http::header::CONTENT_TYPE;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_wire::profile::{SdkProfile, SourceMe};

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
    let profile = SdkProfile {
        features,
        valid_for_s: PROFILE_VALID_S,
    };
    let mut body = Vec::new();
    profile.write(&mut body);
    Ok(json_body(body))
}

/// `GET /v1/sources/me`.
pub(crate) async fn me<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::caller(&request, &state.directory)?;
    let key = &caller.key;
    let me = SourceMe {
        space_id: key.space.0,
        // A space is a tenant here, so both ids are one.
        tenant_id: key.space.0,
        region: &key.region,
        environment: if key.test { "test" } else { "live" },
        source_number: key.source.id.0,
        source_id: &key.source.name,
        source_name: &key.source.name,
        key_id: &key.key_id,
        scopes: key.scopes.iter().map(|scope| scope.name()).collect(),
        audience: "agent",
        // A coordinator verifies nobody.
        verification_ceiling: "V0",
    };
    let mut body = Vec::new();
    me.write(&mut body);
    Ok(json_body(body))
}

fn json_body(body: Vec<u8>) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(body)
}
