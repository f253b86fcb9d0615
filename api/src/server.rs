//! The HTTP server: which route is whose.
//!
//! Here: the table of routes. Not here: any handler, and how it listens (`listen`).

use std::io;
use std::net::SocketAddr;

use actix_web::body::BoxBody;
use actix_web::dev::{Server, ServiceFactory, ServiceRequest, ServiceResponse};
use actix_web::{App, Error, HttpRequest, HttpResponse, middleware, rt, web};
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
use crate::state::AppState;
use crate::{config as documents, health, keys, listen, metrics, openapi, profile, test_clock};

/// The route of a server started with a test clock; it is in no document.
const TEST_CLOCK: &str = "/test/clock";

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
        .configure(|config| routes(config, &shared.state))
        .default_service(web::to(not_found))
        .wrap(middleware::from_fn(move |request, next| {
            observe(request, next, access_log)
        }))
}

/// The table of routes.
pub fn routes<D>(config: &mut web::ServiceConfig, state: &web::Data<AppState<D>>)
where
    D: Decider,
{
    config.app_data(state.clone());
    documents_of_spaces::<D>(config);
    counts::<D>(config);
    erasures_and_holds::<D>(config);
    suppression_list::<D>(config);
    handed_over::<D>(config);
    paid_and_settled::<D>(config);
    asked_by_machines::<D>(config);
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    add("/metrics", web::get().to(metrics::get::<D>));
    add("/openapi.json", web::get().to(openapi::get));
    add("/v1/sdk/profile", web::get().to(profile::profile::<D>));
    add("/v1/sources/me", web::get().to(profile::me::<D>));
    let published = "/.well-known/niadra-contact-keys.json";
    add(published, web::get().to(keys::get::<D>));
    add("/v1/batch", web::post().to(messages::post::<D>));
    add("/v1/context", web::post().to(context::post::<D>));
    let contact = "/v1/coordination";
    add(
        &format!("{contact}/check"),
        web::post().to(check::post::<D>),
    );
    add(
        &format!("{contact}/check/batch"),
        web::post().to(batch::post::<D>),
    );
    add(
        &format!("{contact}/declare"),
        web::post().to(declare::post::<D>),
    );
    add(
        &format!("{contact}/effects"),
        web::post().to(effects::reserve::<D>),
    );
    let settle = format!("{contact}/effects/{{effect_id}}/settle");
    add(&settle, web::post().to(effects::settle::<D>));
    add(
        &format!("{contact}/claims"),
        web::post().to(claims::post::<D>),
    );
    let release = format!("{contact}/claims/{{claim_id}}/release");
    add(&release, web::post().to(claims::release::<D>));
    if let Some(clock) = &state.test_clock {
        config.app_data(web::Data::from(clock.clone()));
        config.service(
            web::resource(TEST_CLOCK)
                .route(web::get().to(test_clock::get))
                .route(web::put().to(test_clock::put::<D>))
                .default_service(web::to(wrong_method)),
        );
    }
}

/// Whether the node is well. Probes of balancers ask with `HEAD` too: the server leaves out the body.
fn asked_by_machines<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, [get, head]: [actix_web::Route; 2]| {
        let resource = web::resource(path).route(get).route(head);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    let alive = [web::get(), web::head()].map(|route| route.to(health::alive));
    add("/healthz", alive);
    let ready = [web::get(), web::head()].map(|route| route.to(health::ready::<D>));
    add("/readyz", ready);
}

/// Erasures and legal holds.
fn erasures_and_holds<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    add("/v1/forget", web::post().to(forget::post::<D>));
    add("/v1/forget/{request_id}", web::get().to(forget::get::<D>));
    add("/v1/legal-holds", web::post().to(legal_holds::post::<D>));
    let release = "/v1/legal-holds/{hold_id}/release";
    add(release, web::post().to(legal_holds::release::<D>));
    let live = "/v1/operator/legal-holds";
    add(live, web::get().to(legal_holds::get::<D>));
}

/// The suppression list.
fn suppression_list<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    let list = "/v1/suppressions";
    add(list, web::get().to(suppressions::get::<D>));
    let salt = "/v1/suppressions/salt";
    add(salt, web::get().to(suppressions::salt::<D>));
    let by_people = "/v1/operator/suppressions";
    add(by_people, web::post().to(people::post::<D>));
}

/// Paid operations, effects that others than their holder settle, and facts that keys are tied to.
fn paid_and_settled<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    let admissions = "/v1/coordination/admissions";
    add(admissions, web::post().to(admissions::post::<D>));
    let settle = format!("{admissions}/{{admission_id}}/settle");
    add(&settle, web::post().to(admissions::settle::<D>));
    let awaiting = "/v1/operator/effects/awaiting";
    add(awaiting, web::get().to(awaiting::get::<D>));
    let settle = "/v1/operator/effects/{effect_id}/settle";
    add(settle, web::post().to(operator::settle::<D>));
    let end_of_fact = "/v1/operator/facts/end";
    add(end_of_fact, web::post().to(facts::end::<D>));
}

/// Handoffs, and what an operator's feed says of promises.
fn handed_over<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    add("/v1/handoffs", web::post().to(handoffs::create::<D>));
    let handoff = "/v1/handoffs/{handoff_id}";
    add(handoff, web::get().to(handoffs::read::<D>));
    let accept = format!("{handoff}/accept");
    add(&accept, web::post().to(handoffs::accept::<D>));
    let outcome = format!("{handoff}/outcome");
    add(&outcome, web::post().to(handoffs::outcome::<D>));
    let promises = "/v1/operator/promises";
    add(promises, web::post().to(promises::post::<D>));
}

/// The configuration plane.
fn documents_of_spaces<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |resource: actix_web::Resource| {
        config.service(resource.default_service(web::to(wrong_method)));
    };
    // Before `/v1/config/{type}`, which would match it too.
    let diffs = "/v1/config/diffs";
    add(web::resource(diffs)
        .route(web::get().to(documents::diffs::<D>))
        .route(web::post().to(documents::propose::<D>)));
    let diff = format!("{diffs}/{{diff_id}}");
    add(web::resource(&*diff).route(web::get().to(documents::diff::<D>)));
    let approve = format!("{diff}/approve");
    add(web::resource(approve).route(web::post().to(documents::approve::<D>)));
    let reject = format!("{diff}/reject");
    add(web::resource(reject).route(web::post().to(documents::reject::<D>)));
    let document = "/v1/config/{type}";
    add(web::resource(document).route(web::get().to(documents::document::<D>)));
}

/// What is counted over many decisions.
fn counts<D>(config: &mut web::ServiceConfig)
where
    D: Decider,
{
    let mut add = |path: &str, route: actix_web::Route| {
        let resource = web::resource(path).route(route);
        config.service(resource.default_service(web::to(wrong_method)));
    };
    let shadow = "/v1/coordination/shadow";
    add(shadow, web::post().to(reports::shadow::<D>));
    let list = "/v1/coordination/reports";
    add(list, web::get().to(reports::list::<D>));
    let overview = "/v1/coordination/overview";
    add(overview, web::get().to(reports::overview::<D>));
}

async fn not_found() -> Result<HttpResponse, Failure> {
    Err(Failure::new(
        Code::NotFound,
        "there is no such route; check the path",
    ))
}

/// Every route is in the document with its methods; that of the test clock alone is not.
async fn wrong_method(request: HttpRequest) -> Result<HttpResponse, Failure> {
    let methods = match request.match_pattern().as_deref() {
        Some(TEST_CLOCK) => Some("GET, PUT"),
        Some(path) => openapi::methods(path),
        None => None,
    };
    Err(Failure::wrong_method(methods))
}
