//! Telling actix of a route, and knowing afterwards which there are.
//!
//! Here: the one place where a route is registered (`cargo xtask tidy` keeps it the only one), so that a
//! test can hold all of them to the document; and what a path answers to other methods. Not here: which
//! routes there are (`server`). Called by `server`.

use actix_web::http::Method;
use actix_web::{FromRequest, Handler, HttpRequest, HttpResponse, Responder, Route, web};

use crate::openapi;
use crate::problem::Failure;

/// The route of a server started with a test clock; it is in no document.
pub(crate) const TEST_CLOCK: &str = "/test/clock";

/// Registers routes and lists them.
pub(crate) struct Router<'a> {
    config: &'a mut web::ServiceConfig,
    listed: Vec<(Method, String)>,
}

impl<'a> Router<'a> {
    pub(crate) const fn new(config: &'a mut web::ServiceConfig) -> Self {
        Self {
            config,
            listed: Vec::new(),
        }
    }

    /// Registers the methods of a path. One that an earlier path matches too is never asked.
    pub(crate) fn add<const N: usize>(&mut self, path: &str, routes: [(Method, Route); N]) {
        let mut resource = web::resource(path);
        for (method, route) in routes {
            resource = resource.route(route);
            self.listed.push((method, path.to_owned()));
        }
        let resource = resource.default_service(web::to(wrong_method));
        self.config.service(resource);
    }

    /// What was registered.
    pub(crate) fn listed(self) -> Vec<(Method, String)> {
        self.listed
    }
}

/// What a method of a path does.
fn on<F, Args>(method: Method, handler: F) -> (Method, Route)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    let route = web::method(method.clone()).to(handler);
    (method, route)
}

/// What `GET` does.
pub(crate) fn get<F, Args>(handler: F) -> (Method, Route)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    on(Method::GET, handler)
}

/// What `HEAD` does; the server leaves out the body.
pub(crate) fn head<F, Args>(handler: F) -> (Method, Route)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    on(Method::HEAD, handler)
}

/// What `POST` does.
pub(crate) fn post<F, Args>(handler: F) -> (Method, Route)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    on(Method::POST, handler)
}

/// What `PUT` does.
pub(crate) fn put<F, Args>(handler: F) -> (Method, Route)
where
    F: Handler<Args>,
    Args: FromRequest + 'static,
    F::Output: Responder + 'static,
{
    on(Method::PUT, handler)
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
