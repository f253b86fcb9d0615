//! One operation of the document.
//!
//! Here: what all operations share: the header of repeats, the credential, and which problems come
//! with which property of a route, so that no operation lists them by hand.

use std::collections::BTreeMap;

use interlock_wire::problem::{Code, MEDIA_TYPE, Problem};
use interlock_wire::shape::{self, Components, RefOr, Schema, Shape};
use serde_json::Value;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::header::HeaderBuilder;
use utoipa::openapi::path::{OperationBuilder, ParameterBuilder, ParameterIn, PathItemBuilder};
use utoipa::openapi::request_body::RequestBodyBuilder;
use utoipa::openapi::response::ResponseBuilder;
use utoipa::openapi::{
    ContentBuilder, HttpMethod, PathItem, Required, Response, security::SecurityRequirement,
};

use crate::extract::IDEMPOTENCY_KEY_MAX;

/// The name of the credential.
pub(super) const BEARER: &str = "bearer";
/// The tag of what agents ask.
pub(super) const COORDINATION: &str = "coordination";
/// The tag of the node's own routes.
pub(super) const NODE: &str = "node";

const JSON: &str = "application/json";

/// An operation under construction.
pub(super) struct Operation {
    method: HttpMethod,
    path: &'static str,
    about: String,
    public: bool,
    /// What is said of each status of success.
    answers: BTreeMap<u16, Response>,
    /// The problems of each status.
    problems: BTreeMap<u16, Vec<Code>>,
    inner: OperationBuilder,
}

impl Operation {
    pub(super) fn get(path: &'static str, name: &str, about: &str) -> Self {
        Self::new(HttpMethod::Get, "get", path, name, about)
    }

    /// The same as a `get` without the body: what a probe asks.
    pub(super) fn head(path: &'static str, name: &str, about: &str) -> Self {
        Self::new(HttpMethod::Head, "head", path, name, about)
    }

    pub(super) fn post(path: &'static str, name: &str, about: &str) -> Self {
        Self::new(HttpMethod::Post, "post", path, name, about)
    }

    fn new(method: HttpMethod, word: &str, path: &'static str, name: &str, about: &str) -> Self {
        // The published contract forms its names this way, and generated clients call by them.
        let place = path.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        let id = format!("{name}{place}_{word}");
        Self {
            method,
            path,
            about: about.to_owned(),
            public: false,
            answers: BTreeMap::new(),
            problems: BTreeMap::new(),
            inner: OperationBuilder::new().operation_id(Some(id)),
        }
    }

    /// A route of coordination: a key with a scope, in a space with the feature, at a bounded rate.
    pub(super) fn coordinating(self) -> Self {
        self.keyed_by_source().problems(&[
            Code::Forbidden,
            Code::NotFound,
            Code::RateLimited,
            Code::Internal,
            Code::CoordinationUnavailable,
        ])
    }

    /// A route that needs any key.
    pub(super) fn keyed_by_source(self) -> Self {
        self.problems(&[Code::Unauthenticated])
    }

    /// A route that needs no key.
    pub(super) fn public(mut self) -> Self {
        self.public = true;
        self
    }

    /// A route whose repeats are told by their Idempotency-Key.
    pub(super) fn repeatable(self, required: bool) -> Self {
        let about = "The same for a repeat of the same request, which is then answered and not done \
            again.";
        let key = shape::text(Some(1), Some(IDEMPOTENCY_KEY_MAX));
        self.parameter(ParameterIn::Header, "Idempotency-Key", about, required, key)
            .problems(&[Code::IdempotencyConflict, Code::InvalidInput])
    }

    pub(super) fn in_path(self, name: &str, about: &str) -> Self {
        let shape = shape::text(None, None);
        self.parameter(ParameterIn::Path, name, about, true, shape)
    }

    pub(super) fn in_query(
        self,
        name: &str,
        about: &str,
        required: bool,
        shape: RefOr<Schema>,
    ) -> Self {
        self.parameter(ParameterIn::Query, name, about, required, shape)
            .problems(&[Code::InvalidInput])
    }

    fn parameter(
        mut self,
        place: ParameterIn,
        name: &str,
        about: &str,
        required: bool,
        shape: RefOr<Schema>,
    ) -> Self {
        let required = if required {
            Required::True
        } else {
            Required::False
        };
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(place)
            .required(required)
            .description(Some(about))
            .schema(Some(shape));
        self.inner = self.inner.parameter(parameter);
        self
    }

    /// A route with a body.
    pub(super) fn takes(mut self, shape: RefOr<Schema>, example: Option<Value>) -> Self {
        let content = ContentBuilder::new().schema(Some(shape)).example(example);
        let body = RequestBodyBuilder::new()
            .required(Some(Required::True))
            .content(JSON, content.build());
        self.inner = self.inner.request_body(Some(body.build()));
        self.problems(&[
            Code::NotReadable,
            Code::RequestTimeout,
            Code::TooLarge,
            Code::UnsupportedMediaType,
            Code::InvalidInput,
            Code::CoordinationUnavailable,
        ])
    }

    /// A success.
    pub(super) fn answers(self, status: u16, about: &str, shape: RefOr<Schema>) -> Self {
        self.answers_as(status, about, JSON, shape)
    }

    /// A success in another media type.
    pub(super) fn answers_as(
        mut self,
        status: u16,
        about: &str,
        media_type: &str,
        shape: RefOr<Schema>,
    ) -> Self {
        let content = ContentBuilder::new().schema(Some(shape)).build();
        let response = ResponseBuilder::new().description(about);
        let response = response.content(media_type, content).build();
        self.answers.insert(status, response);
        self
    }

    /// An answer without a body.
    pub(super) fn answers_nothing(mut self, status: u16, about: &str) -> Self {
        let response = ResponseBuilder::new().description(about).build();
        self.answers.insert(status, response);
        self
    }

    /// Problems it may answer with.
    pub(super) fn problems(mut self, codes: &[Code]) -> Self {
        for code in codes {
            let known = self.problems.entry(code.status()).or_default();
            if !known.contains(code) {
                known.push(*code);
            }
        }
        self
    }

    /// Its path, and the path's item with only this operation.
    pub(super) fn into_item(self, into: &mut Components) -> (&'static str, PathItem) {
        let problem = Problem::shape(into);
        let tag = if self.path.starts_with("/v1/coordination")
            || self.path.starts_with("/v1/handoffs")
            || self.path.starts_with("/v1/suppressions")
            || self.path.starts_with("/v1/forget")
            || self.path.starts_with("/v1/legal-holds")
            || self.path.starts_with("/v1/operator")
            || self.path.starts_with("/.well-known")
        {
            COORDINATION
        } else {
            NODE
        };
        let mut inner = self.inner.tag(tag).description(Some(self.about));
        inner = if self.public {
            inner.securities(Some([]))
        } else {
            inner.security(SecurityRequirement::new(BEARER, [""; 0]))
        };
        for (status, response) in self.answers {
            inner = inner.response(status.to_string(), response);
        }
        for (status, codes) in &self.problems {
            inner = inner.response(status.to_string(), refused(*status, codes, &problem));
        }
        let item = PathItemBuilder::new().operation(self.method, inner.build());
        (self.path, item.build())
    }
}

/// The problems of one status.
fn refused(status: u16, codes: &[Code], problem: &RefOr<Schema>) -> Response {
    let words: Vec<&str> = codes.iter().map(|code| code.word()).collect();
    let said = |code: &Code| format!("`{}`: {}.", code.word(), code.title());
    let about: Vec<String> = codes.iter().map(said).collect();
    let content = ContentBuilder::new().schema(Some(problem.clone()));
    let mut response = ResponseBuilder::new()
        .description(about.join(" "))
        .content(MEDIA_TYPE, content.build())
        .extensions(Some(
            ExtensionsBuilder::new()
                .add("x-interlock-codes", words)
                .build(),
        ));
    if matches!(status, 429 | 503) {
        let seconds = HeaderBuilder::new()
            .description(Some(
                "When to come back, in seconds; absent where a repeat is no help.",
            ))
            .schema(shape::integer(1, u64::MAX));
        response = response.header("Retry-After", seconds.build());
    }
    response.build()
}
