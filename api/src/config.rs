//! `/v1/config`: a space's documents, and the edits of them (`docs/spec/contact.md` §19).
//!
//! Here: the routes, who may call them at all, and their answers. Not here: who may agree to what and
//! how an edit comes into force (`plane`). A key reads and changes the documents of its own space; a
//! space that does not coordinate has them too.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_wire::plane::{
    ConfigApproval, ConfigDiff, ConfigDiffCreate, ConfigDifference, ConfigDiffs, ConfigDocument,
    DocumentKind,
};
use interlock_wire::problem::Code;
use interlock_wire::read;
use interlock_wire::value::Uuid;

use crate::contact::{ask, refused};
use crate::directory::{Caller, Role};
use crate::extract;
use crate::plane::{Diff, Proposal, Refused, Who};
use crate::problem::Failure;
use crate::state::AppState;

/// Who reads documents and edits.
const READERS: &[Role] = &[Role::Security, Role::Integration, Role::Analysis];
/// Who proposes, agrees and turns down; which of them what, the plane says.
const EDITORS: &[Role] = &[Role::Security, Role::Integration];

/// `GET /v1/config/{type}`.
pub(crate) async fn document<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, READERS)?;
    of_the_key(&caller, request.query_string())?;
    let kind = request.match_info().get("type").unwrap_or_default();
    let mut kinds = DocumentKind::ALL.iter();
    let kind = kinds.find(|known| known.word() == kind).ok_or_else(|| {
        Failure::new(
            Code::NotFound,
            "there is no such document; there are `features` and `coordination`",
        )
    })?;
    let space = caller.space.id;
    let document = state.plane.document(space, *kind).await;
    let document = document.map_err(|why| failure(why, &state))?;
    let (role, agreeing_role) = match kind {
        DocumentKind::Features => (Role::Security, None),
        DocumentKind::Coordination => (Role::Integration, Some(Role::Security)),
    };
    let answer = ConfigDocument {
        space_id: space.0,
        r#type: *kind,
        version: document.version,
        document: &document.text,
        role: role.name(),
        agreeing_role: agreeing_role.map(Role::name),
        since: document.since.map(|at| at.0),
    };
    let mut body = Vec::with_capacity(document.text.len() + 256);
    answer.write(&mut body);
    Ok(ask::json(StatusCode::OK, body))
}

/// `POST /v1/config/diffs`.
pub(crate) async fn propose<D: 'static>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, EDITORS)?;
    let limits = &state.limits;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let wanted: ConfigDiffCreate<'_> = read::body(&body)?;
    if wanted.space_id.0 != caller.space.id.0 {
        return Err(no_space());
    }
    let proposal = Proposal {
        kind: wanted.r#type,
        document: wanted.document.0.get().to_owned(),
        reason: wanted.reason.to_string(),
    };
    let diff = state.plane.propose(who(&caller), proposal).await;
    let diff = diff.map_err(|why| failure(why, &state))?;
    Ok(answer(StatusCode::CREATED, &caller, &diff))
}

/// `GET /v1/config/diffs`.
pub(crate) async fn diffs<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, READERS)?;
    of_the_key(&caller, request.query_string())?;
    let found = state.plane.diffs(caller.space.id).await;
    let found = found.map_err(|why| failure(why, &state))?;
    let items = found.iter().map(|diff| show(&caller, diff)).collect();
    let mut body = Vec::with_capacity(512);
    ConfigDiffs { items }.write(&mut body);
    Ok(ask::json(StatusCode::OK, body))
}

/// `GET /v1/config/diffs/{diff_id}`.
pub(crate) async fn diff<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, READERS)?;
    let found = state.plane.diff(caller.space.id, named(&request)?).await;
    let found = found.map_err(|why| failure(why, &state))?;
    Ok(answer(StatusCode::OK, &caller, &found))
}

/// `POST /v1/config/diffs/{diff_id}/approve`.
pub(crate) async fn approve<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, EDITORS)?;
    let diff = state.plane.approve(who(&caller), named(&request)?).await;
    let diff = diff.map_err(|why| failure(why, &state))?;
    Ok(answer(StatusCode::OK, &caller, &diff))
}

/// `POST /v1/config/diffs/{diff_id}/reject`.
pub(crate) async fn reject<D: 'static>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let caller = extract::administering(&request, &state.directory, EDITORS)?;
    let diff = state.plane.reject(who(&caller), named(&request)?).await;
    let diff = diff.map_err(|why| failure(why, &state))?;
    Ok(answer(StatusCode::OK, &caller, &diff))
}

fn who(caller: &Caller) -> Who {
    Who {
        space: caller.space.id,
        key_id: caller.key.key_id.clone(),
        roles: caller.key.roles.clone(),
    }
}

/// The edit a path names. An id of another form is no edit's.
fn named(request: &HttpRequest) -> Result<[u8; 16], Failure> {
    let id = request.match_info().get("diff_id").unwrap_or_default();
    let id = Uuid::parse(id).ok_or_else(no_diff)?;
    Ok(id.0)
}

/// Refuses a query that does not name the space of the key.
fn of_the_key(caller: &Caller, query: &str) -> Result<(), Failure> {
    let mut values = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("space_id="));
    let id = match (values.next(), values.next()) {
        (Some(value), None) => Uuid::parse(value),
        _ => None,
    };
    let id = id.ok_or_else(|| {
        Failure::invalid(
            "the query must be `space_id=` and the space's UUID in its hyphenated form",
        )
    })?;
    if id.0 == caller.space.id.0 {
        return Ok(());
    }
    Err(no_space())
}

fn no_space() -> Failure {
    Failure::new(
        Code::NotFound,
        "the key knows no such space; `space_id` must be the key's own space",
    )
}

fn no_diff() -> Failure {
    Failure::new(
        Code::NotFound,
        "the space has no such edit, or it is closed and forgotten; see `GET /v1/config/diffs`",
    )
}

fn failure<D>(why: Refused, state: &AppState<D>) -> Failure {
    match why {
        Refused::Invalid(what) => Failure::invalid(what),
        Refused::Forbidden(what) => Failure::new(Code::Forbidden, what),
        Refused::NotFound => no_diff(),
        Refused::Stale => Failure::new(
            Code::StaleVersion,
            "another version of the document came in since the edit was proposed; read the document \
             and propose the edit again",
        ),
        Refused::Closed => Failure::new(
            Code::DiffClosed,
            "the edit is applied or rejected already; propose another one",
        ),
        Refused::Full => Failure::new(
            Code::TargetFull,
            "the space has as many open edits as it may have; approve or reject one first",
        ),
        Refused::NoRoom => refused::no_room(&state.limits),
        Refused::Unavailable => Failure::new(
            Code::CoordinationUnavailable,
            "the node is going down; whether the edit is kept shows after the next start",
        )
        .retry_after(state.limits.retry_after_s),
    }
}

fn answer(status: StatusCode, caller: &Caller, diff: &Diff) -> HttpResponse {
    let mut body = Vec::with_capacity(512);
    show(caller, diff).write(&mut body);
    ask::json(status, body)
}

fn show<'a>(caller: &Caller, diff: &'a Diff) -> ConfigDiff<'a> {
    let differences = diff.differences.iter();
    let approvals = diff.approvals.iter();
    let given = |role: &Role| diff.approvals.iter().any(|one| one.role == *role);
    let needs = diff.needs.iter();
    let missing = diff.needs.iter().filter(|role| !given(role));
    ConfigDiff {
        diff_id: diff.id,
        space_id: caller.space.id.0,
        r#type: diff.kind,
        state: diff.state,
        from_version: diff.from_version,
        version: diff.version,
        reason: &diff.reason,
        proposed_by: &diff.proposed_by,
        proposed_at: diff.proposed_at.0,
        document: diff.document.as_deref(),
        differences: differences
            .map(|one| ConfigDifference {
                member: &one.member,
                from: one.from.as_deref(),
                to: one.to.as_deref(),
                note: one.note.as_deref(),
            })
            .collect(),
        differences_count: diff.differences_count,
        sensitive: diff.sensitive.iter().map(String::as_str).collect(),
        needs: needs.map(|role| role.name()).collect(),
        missing: missing.map(|role| role.name()).collect(),
        approvals: approvals
            .map(|one| ConfigApproval {
                role: one.role.name(),
                key_id: &one.key_id,
                at: one.at.0,
            })
            .collect(),
        closed_at: diff.closed_at.map(|at| at.0),
        closed_by: diff.closed_by.as_deref(),
    }
}
