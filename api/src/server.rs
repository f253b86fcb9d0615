//! The HTTP server: which route is whose.
//!
//! Here: the table of routes. Not here: how one is registered (`router`), any handler, and how it listens
//! (`listen`).

use std::io;
use std::net::SocketAddr;

use actix_web::body::BoxBody;
use actix_web::dev::{Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::{App, Error, HttpResponse, middleware, rt, web};
use interlock_wire::problem::Code;

use crate::analysis::runs;
use crate::body_budget::BodyBudget;
use crate::contact::{
    admissions, awaiting, batch, check, claims, context, declare, effects, facts, forget, handoffs,
    legal_holds, messages, operator, people, promises, reports, suppressions,
};
use crate::decider::Decider;
use crate::limits::ListenOptions;
use crate::lines::Lines;
use crate::observe::observe;
use crate::problem::Failure;
use crate::rate::Rates;
use crate::router::{Router, TEST_CLOCK, get, head, post, put};
use crate::state::AppState;
use crate::{config as documents, health, keys, listen, metrics, openapi, profile, test_clock};

/// Binds the addresses and builds the server; it runs while the returned future is awaited, inside
/// an `actix_web::rt::System`.
///
/// Stop it through [`Server::handle`]: a graceful stop accepts nothing more and waits for the
/// requests under way. It takes no signals itself.
///
/// # Errors
/// An address cannot be bound.
pub fn server<D>(
    state: AppState<D>,
    options: &ListenOptions,
) -> io::Result<(Server, Vec<SocketAddr>)>
where
    D: Decider,
{
    metrics::describe();
    let shared = Shared {
        bodies: web::Data::from(BodyBudget::new(state.limits.bodies_bytes_max)),
        lines: web::Data::new(Lines::new(&state.limits)),
        page: web::Data::new(metrics::Page::new()),
        rates: web::Data::new(Rates::new(&state.limits)),
        state: web::Data::new(state),
        access_log: options.access_log,
    };
    // It waits until the node is ready, and ends with the system that runs the server.
    drop(rt::spawn(runs::resume(shared.state.clone())));
    let app = move || app(&shared);
    listen::server(app, options)
}

/// What the routes of all workers share.
struct Shared<D> {
    bodies: web::Data<BodyBudget>,
    lines: web::Data<Lines>,
    page: web::Data<metrics::Page>,
    rates: web::Data<Rates>,
    state: web::Data<AppState<D>>,
    access_log: bool,
}

impl<D> Clone for Shared<D> {
    fn clone(&self) -> Self {
        Self {
            bodies: self.bodies.clone(),
            lines: self.lines.clone(),
            page: self.page.clone(),
            rates: self.rates.clone(),
            state: self.state.clone(),
            access_log: self.access_log,
        }
    }
}

/// The routes of one worker, with what happens around every request.
fn app<D>(
    shared: &Shared<D>,
) -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    > + use<D>,
>
where
    D: Decider,
{
    let access_log = shared.access_log;
    App::new()
        .app_data(shared.bodies.clone())
        .app_data(shared.lines.clone())
        .app_data(shared.page.clone())
        .app_data(shared.rates.clone())
        .configure(|config| drop(routes(config, &shared.state)))
        .default_service(web::to(not_found))
        .wrap(middleware::from_fn(move |request, next| {
            observe(request, next, access_log)
        }))
}

/// The table of routes; answers which they are.
pub fn routes<D>(
    config: &mut web::ServiceConfig,
    state: &web::Data<AppState<D>>,
) -> Vec<(Method, String)>
where
    D: Decider,
{
    config.app_data(state.clone());
    if let Some(clock) = &state.test_clock {
        config.app_data(web::Data::from(clock.clone()));
    }
    let mut router = Router::new(config);
    documents_of_spaces::<D>(&mut router);
    counts::<D>(&mut router);
    erasures_and_holds::<D>(&mut router);
    suppression_list::<D>(&mut router);
    handed_over::<D>(&mut router);
    paid_and_settled::<D>(&mut router);
    asked_by_machines::<D>(&mut router);
    asked_and_declared::<D>(&mut router);
    if state.test_clock.is_some() {
        let both = [get(test_clock::get), put(test_clock::put::<D>)];
        router.add(TEST_CLOCK, both);
    }
    router.listed()
}

/// Checks, declarations, effects and claims.
fn asked_and_declared<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/v1/batch", [post(messages::post::<D>)]);
    router.add("/v1/context", [post(context::post::<D>)]);
    let contact = "/v1/coordination";
    router.add(&format!("{contact}/check"), [post(check::post::<D>)]);
    router.add(&format!("{contact}/check/batch"), [post(batch::post::<D>)]);
    router.add(&format!("{contact}/declare"), [post(declare::post::<D>)]);
    router.add(&format!("{contact}/effects"), [post(effects::reserve::<D>)]);
    let settle = format!("{contact}/effects/{{effect_id}}/settle");
    router.add(&settle, [post(effects::settle::<D>)]);
    router.add(&format!("{contact}/claims"), [post(claims::post::<D>)]);
    let release = format!("{contact}/claims/{{claim_id}}/release");
    router.add(&release, [post(claims::release::<D>)]);
}

/// What programs ask of the node itself. Probes of balancers ask whether it is well with `HEAD` too.
fn asked_by_machines<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/healthz", [get(health::alive), head(health::alive)]);
    let ready = [get(health::ready::<D>), head(health::ready::<D>)];
    router.add("/readyz", ready);
    router.add("/metrics", [get(metrics::get::<D>)]);
    router.add("/openapi.json", [get(openapi::get)]);
    router.add("/v1/sdk/profile", [get(profile::profile::<D>)]);
    router.add("/v1/sources/me", [get(profile::me::<D>)]);
    let published = "/.well-known/niadra-contact-keys.json";
    router.add(published, [get(keys::get::<D>)]);
}

/// Erasures and legal holds.
fn erasures_and_holds<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/v1/forget", [post(forget::post::<D>)]);
    router.add("/v1/forget/{request_id}", [get(forget::get::<D>)]);
    router.add("/v1/legal-holds", [post(legal_holds::post::<D>)]);
    let release = "/v1/legal-holds/{hold_id}/release";
    router.add(release, [post(legal_holds::release::<D>)]);
    router.add("/v1/operator/legal-holds", [get(legal_holds::get::<D>)]);
}

/// The suppression list.
fn suppression_list<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/v1/suppressions", [get(suppressions::get::<D>)]);
    router.add("/v1/suppressions/salt", [get(suppressions::salt::<D>)]);
    router.add("/v1/operator/suppressions", [post(people::post::<D>)]);
}

/// Paid operations, effects that others than their holder settle, and facts that keys are tied to.
fn paid_and_settled<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    let admissions = "/v1/coordination/admissions";
    router.add(admissions, [post(admissions::post::<D>)]);
    let settle = format!("{admissions}/{{admission_id}}/settle");
    router.add(&settle, [post(admissions::settle::<D>)]);
    router.add("/v1/operator/effects/awaiting", [get(awaiting::get::<D>)]);
    let settle = "/v1/operator/effects/{effect_id}/settle";
    router.add(settle, [post(operator::settle::<D>)]);
    router.add("/v1/operator/facts/end", [post(facts::end::<D>)]);
}

/// Handoffs, and what an operator's feed says of promises.
fn handed_over<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/v1/handoffs", [post(handoffs::create::<D>)]);
    let handoff = "/v1/handoffs/{handoff_id}";
    router.add(handoff, [get(handoffs::read::<D>)]);
    router.add(&format!("{handoff}/accept"), [post(handoffs::accept::<D>)]);
    router.add(
        &format!("{handoff}/outcome"),
        [post(handoffs::outcome::<D>)],
    );
    router.add("/v1/operator/promises", [post(promises::post::<D>)]);
}

/// The configuration plane.
fn documents_of_spaces<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    // Before `/v1/config/{type}`, which would match it too.
    let diffs = "/v1/config/diffs";
    let both = [get(documents::diffs::<D>), post(documents::propose::<D>)];
    router.add(diffs, both);
    let diff = format!("{diffs}/{{diff_id}}");
    router.add(&diff, [get(documents::diff::<D>)]);
    router.add(&format!("{diff}/approve"), [post(documents::approve::<D>)]);
    router.add(&format!("{diff}/reject"), [post(documents::reject::<D>)]);
    router.add("/v1/config/{type}", [get(documents::document::<D>)]);
}

/// What is counted over many decisions.
fn counts<D>(router: &mut Router<'_>)
where
    D: Decider,
{
    router.add("/v1/coordination/shadow", [post(reports::shadow::<D>)]);
    router.add("/v1/coordination/reports", [get(reports::list::<D>)]);
    router.add("/v1/coordination/overview", [get(reports::overview::<D>)]);
}

async fn not_found() -> Result<HttpResponse, Failure> {
    Err(Failure::new(
        Code::NotFound,
        "there is no such route; check the path. `/openapi.json` has all routes",
    ))
}
