//! `POST /v1/coordination/shadow`, `GET /v1/coordination/reports` and `/v1/coordination/overview`.
//!
//! Here: who may ask, and how runs and figures are shown (§18). Not here: what is counted (`domain`)
//! and when (`analysis`).

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_domain::contact::claim::{ClaimKind, ClaimVia};
use interlock_domain::contact::command::{Body, EffectKind, ReadReports, RequestReport, Route};
use interlock_domain::contact::policy::{HolderKind, Policy};
use interlock_domain::contact::reply::{EffectState, Reply};
use interlock_domain::contact::reports::{Run, RunState};
use interlock_domain::contact::tally::Became;
use interlock_domain::ids::Id;
use interlock_wire::contact::check as wire;
use interlock_wire::contact::claims::ClaimKind as WireClaimKind;
use interlock_wire::contact::effects::EffectState as WireEffectState;
use interlock_wire::contact::reports::{
    AskedRun, ConflictCounts, ContactBudgetUse, ContactCount, ContactState, CoordinationOverview,
    CoordinationReport, CoordinationReportPage, EffectCount, HolderKind as WireHolderKind,
    OwnershipCount, RunStatus, ShadowRequest, ShadowRun,
};
use interlock_wire::problem::Code;
use interlock_wire::read;

use crate::analysis::figures::{self, NoFigures, Overview};
use crate::analysis::runs;
use crate::contact::{ask, command, refused};
use crate::decider::Decider;
use crate::extract;
use crate::problem::Failure;
use crate::query;
use crate::signing;
use crate::state::AppState;

/// Most days anything here looks back.
const DAYS_MAX: u32 = 90;
/// Days of an overview when it does not say.
const OVERVIEW_DAYS: u32 = 7;
/// Most items of a page, and how many it has when it does not say.
const LIMIT_MAX: u32 = 200;
const LIMIT: u32 = 50;
/// When to come back to a full queue, in seconds.
const QUEUE_RETRY_S: u32 = 30;

/// Asks for a shadow run.
pub(crate) async fn shadow<D: Decider>(
    request: HttpRequest,
    payload: web::Payload,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::analysing(&request, &state.directory)?;
    let body = extract::body(&request, payload, limits, limits.body_bytes_max).await?;
    let wanted: ShadowRequest = read::body(&body)?;
    let Some(place) = state.analysis.runs.place() else {
        let pending = runs::under_way(&state, &caller.space).await;
        let pending = pending.ok_or_else(|| {
            let detail = "as many shadow runs wait as may; ask again when some have ended";
            Failure::new(Code::RateLimited, detail).retry_after(QUEUE_RETRY_S)
        })?;
        return Ok(accepted(pending.id));
    };
    let days = u8::try_from(wanted.days.0).unwrap_or(u8::MAX);
    let wanted = Body::RequestReport(RequestReport { days });
    let wanted = command::of(&caller, Route::Shadow, None, wanted);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, body.len()).await?;
    let Reply::RunAsked(asked) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    runs::take_up(&state, &caller.space, asked, place);
    Ok(accepted(asked.id))
}

fn accepted(run: Id) -> HttpResponse {
    let mut answer = Vec::with_capacity(96);
    ShadowRun {
        report_id: &signing::hyphenated(&run.0),
        status: AskedRun::Pending,
    }
    .write(&mut answer);
    ask::json(StatusCode::ACCEPTED, answer)
}

/// A page of shadow runs.
pub(crate) async fn list<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::analysing(&request, &state.directory)?;
    query::only(request.query_string(), &["cursor", "limit"])?;
    let limit = number(request.query_string(), "limit", LIMIT_MAX)?.unwrap_or(LIMIT);
    let before = number(request.query_string(), "cursor", u32::MAX)?;
    let read = Body::ReadReports(ReadReports {
        before,
        limit: limit as usize,
    });
    let wanted = command::of(&caller, Route::Reports, None, read);
    let deadline = limits.request_deadline_ms;
    let reply = ask::one(&state, &caller, wanted, started, deadline, 0).await?;
    let Reply::Runs(page) = reply else {
        return Err(refused::reply(&reply, limits));
    };
    let ids: Vec<String> = page
        .runs
        .iter()
        .map(|run| signing::hyphenated(&run.id.0))
        .collect();
    let next = page.next.map(|next| next.to_string());
    let mut answer = Vec::with_capacity(512);
    CoordinationReportPage {
        items: page
            .runs
            .iter()
            .zip(&ids)
            .map(|(run, id)| report(run, id))
            .collect(),
        next_cursor: next.as_deref(),
    }
    .write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

fn report<'a>(run: &'a Run, id: &'a str) -> CoordinationReport<'a> {
    let (status, finished_at, summary) = match &run.state {
        RunState::Pending => (RunStatus::Pending, None, None),
        RunState::Failed { at } => (RunStatus::Failed, Some(at.0), None),
        RunState::Done { at, summary } => {
            let summary = std::str::from_utf8(summary).unwrap_or("{}");
            (RunStatus::Done, Some(at.0), Some(summary))
        }
    };
    CoordinationReport {
        report_id: id,
        status,
        requested_at: run.requested_at.0,
        finished_at,
        days: u32::from(run.days),
        summary,
    }
}

/// What is held now and what was decided in the last days.
pub(crate) async fn overview<D: Decider>(
    request: HttpRequest,
    state: web::Data<AppState<D>>,
) -> Result<HttpResponse, Failure> {
    let started = extract::started(&request);
    let limits = &state.limits;
    let caller = extract::analysing(&request, &state.directory)?;
    query::only(request.query_string(), &["days"])?;
    let days = number(request.query_string(), "days", DAYS_MAX)?.unwrap_or(OVERVIEW_DAYS);
    let days = u8::try_from(days).unwrap_or(u8::MAX);
    let within = (started, limits.request_deadline_ms);
    let made = figures::overview(&state, &caller.space, days, within).await;
    let made = made.map_err(|why| match why {
        NoFigures::Busy => Failure::new(
            Code::RateLimited,
            "as many overviews are counted as may; ask again in a moment",
        )
        .retry_after(limits.retry_after_s),
        NoFigures::Late => Failure::new(
            Code::CoordinationUnavailable,
            "the figures are not counted yet; ask again in a moment",
        )
        .retry_after(limits.retry_after_s),
    })?;
    let mut answer = Vec::with_capacity(1_024);
    shown(&made, &caller.space.policy).write(&mut answer);
    Ok(ask::json(StatusCode::OK, answer))
}

fn shown<'a>(made: &'a Overview, policy: &'a Policy) -> CoordinationOverview<'a> {
    let (holdings, decided) = (&made.holdings, &made.decided);
    let ownership = holdings.ownership.iter().map(|(row, held)| OwnershipCount {
        kind: claim_kind(row.kind),
        level: &row.level,
        via: via(row.via),
        holder_kind: holder_kind(row.holder_kind),
        claims: held.claims,
        holders: held.holders.len() as u64,
    });
    let effects = holdings
        .effects
        .iter()
        .map(|(&(kind, state), &count)| EffectCount {
            kind: effect_kind(kind),
            state: effect_state(state),
            effects: count,
        });
    let contacts = decided.contacts.iter().filter_map(|one| {
        Some(ContactCount {
            direction: if one.outbound {
                wire::Direction::Outbound
            } else {
                wire::Direction::Inbound
            },
            purpose: policy.purpose_name(one.purpose)?,
            state: match one.became {
                Became::Reserved => ContactState::Reserved,
                Became::Made => ContactState::Made,
                Became::Expired => ContactState::Expired,
            },
            contacts: one.count,
        })
    });
    CoordinationOverview {
        since: decided.since.0,
        ownership: ownership.collect(),
        effects: effects.collect(),
        awaiting_decision: holdings.awaiting_decision,
        conflicts: ConflictCounts {
            ownership_overlaps: decided.ownership_overlaps,
            commitments_superseded: holdings.commitments_superseded,
            handoffs_expired: holdings.handoffs_expired,
            tokens_reused: decided.tokens_reused,
        },
        budgets: budgets(made, policy),
        contacts: contacts.collect(),
    }
}

fn budgets<'a>(made: &Overview, policy: &'a Policy) -> Vec<ContactBudgetUse<'a>> {
    let of = |purpose: &'a interlock_domain::contact::policy::Purpose| {
        let budget = purpose.budget.as_ref()?;
        let used = made.holdings.budgets.get(&purpose.id);
        let used = used.copied().unwrap_or_default();
        Some(ContactBudgetUse {
            purpose: &purpose.name,
            limit: u64::from(budget.limit),
            per_hours: u64::from(budget.per_hours),
            subjects: used.subjects,
            spent: used.spent,
            at_limit: used.at_limit,
        })
    };
    policy.purposes().iter().filter_map(of).collect()
}

const fn claim_kind(kind: ClaimKind) -> WireClaimKind {
    match kind {
        ClaimKind::Owner => WireClaimKind::Owner,
        ClaimKind::Case => WireClaimKind::Case,
        ClaimKind::TaskLock => WireClaimKind::TaskLock,
    }
}

const fn via(via: ClaimVia) -> wire::ClaimVia {
    match via {
        ClaimVia::Declaration | ClaimVia::Handoff => wire::ClaimVia::Declaration,
        ClaimVia::Mapping => wire::ClaimVia::Mapping,
        ClaimVia::Worker => wire::ClaimVia::Worker,
    }
}

const fn holder_kind(kind: HolderKind) -> WireHolderKind {
    match kind {
        HolderKind::Agent => WireHolderKind::Agent,
        HolderKind::Human => WireHolderKind::Human,
        HolderKind::Queue => WireHolderKind::Queue,
        HolderKind::System => WireHolderKind::System,
    }
}

const fn effect_kind(kind: EffectKind) -> wire::EffectKind {
    match kind {
        EffectKind::Delivery => wire::EffectKind::Delivery,
        EffectKind::Document => wire::EffectKind::Document,
        EffectKind::Notice => wire::EffectKind::Notice,
        EffectKind::Filing => wire::EffectKind::Filing,
        EffectKind::PaidCall => wire::EffectKind::PaidCall,
        EffectKind::ExternalAction => wire::EffectKind::ExternalAction,
    }
}

const fn effect_state(state: EffectState) -> WireEffectState {
    match state {
        EffectState::Reserved => WireEffectState::Reserved,
        EffectState::Done => WireEffectState::Done,
        EffectState::Failed => WireEffectState::Failed,
        EffectState::UnknownOutcome => WireEffectState::UnknownOutcome,
    }
}

/// A whole number of the query, from 1 to `max`; `None` when it is not there.
fn number(query: &str, name: &str, max: u32) -> Result<Option<u32>, Failure> {
    let mut values = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let Some(value) = values.next() else {
        return Ok(None);
    };
    let digits = (1..=10).contains(&value.len()) && value.bytes().all(|one| one.is_ascii_digit());
    let number = value
        .parse()
        .ok()
        .filter(|_| digits && values.next().is_none());
    match number.filter(|number| (1..=max).contains(number)) {
        Some(number) => Ok(Some(number)),
        None if name == "cursor" => Err(Failure::invalid(
            "`cursor` must be the `next_cursor` of a page; leave it out for the first page",
        )),
        None => Err(Failure::invalid(format!(
            "`{name}` must be a whole number from 1 to {max}, given once"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_the_query_is_there_once_and_in_its_bounds() {
        assert_eq!(number("", "days", 90).unwrap(), None);
        assert_eq!(number("a=1&days=90", "days", 90).unwrap(), Some(90));
        for query in [
            "days=",
            "days=0",
            "days=91",
            "days=-1",
            "days=+1",
            "days=1&days=2",
        ] {
            assert!(number(query, "days", 90).is_err(), "{query}");
        }
        assert!(number("days=99999999999", "days", u32::MAX).is_err());
    }
}
