//! `GET /openapi.json`: the contract as a document (OpenAPI 3.1), made from the types that enforce it.
//!
//! Here: the document as a whole and its route. The operations are in the files of this folder, the
//! schemas in `wire`. `docs/openapi.json` is a copy, so that a change of the contract is seen in
//! review; a test holds it to this one.

mod coordination;
mod handoffs;
mod node;
mod operation;
mod pages;
mod paid;
mod plane;
mod privacy;
mod reports;
mod suppressions;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use actix_web::{HttpRequest, HttpResponse, web};
use interlock_wire::shape::Components;
use sha2::{Digest, Sha256};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, PathsBuilder};

use self::operation::{BEARER, Operation};

/// The document as it is served.
#[derive(Debug)]
pub struct Document {
    /// The JSON text: members in alphabetical order, so that it is the same in every process.
    pub json: String,
    /// Its ETag, in quotes.
    pub etag: String,
}

/// Built when it is first asked for; it never changes while the process runs.
static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
    let value = serde_json::json!(build());
    let mut json = format!("{value:#}");
    json.push('\n');
    let digest = Sha256::digest(&json);
    let short: String = digest
        .iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let etag = format!("\"{short}\"");
    Document { json, etag }
});

/// The document.
#[must_use]
pub fn document() -> &'static Document {
    &DOCUMENT
}

/// The methods of each path of the document, as the header `Allow` lists them.
static METHODS: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let document = serde_json::json!(build());
    let paths = document["paths"].as_object();
    let listed = paths.into_iter().flatten().map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        let methods: Vec<String> = methods
            .map(|(method, _)| method.to_ascii_uppercase())
            .collect();
        (path.clone(), methods.join(", "))
    });
    listed.collect()
});

/// The methods of a path of the document, as the header `Allow` lists them; none for a path that is
/// not in it.
pub(crate) fn methods(path: &str) -> Option<&'static str> {
    METHODS.get(path).map(String::as_str)
}

/// `GET /openapi.json`. Needs no key: it says nothing about any space.
pub(crate) async fn get(request: HttpRequest) -> HttpResponse {
    let document = document();
    let known = request.headers().get(IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == document.etag.as_bytes());
    let mut response = if is_known {
        HttpResponse::NotModified()
    } else {
        HttpResponse::Ok()
    };
    response
        .insert_header((CACHE_CONTROL, "max-age=300"))
        .insert_header((ETAG, document.etag.as_str()));
    if is_known {
        return response.finish();
    }
    response
        .insert_header((CONTENT_TYPE, "application/json"))
        .body(web::Bytes::from_static(document.json.as_bytes()))
}

fn build() -> OpenApi {
    let mut components = Components::default();
    let operations: Vec<Operation> = [
        coordination::all,
        paid::all,
        handoffs::all,
        privacy::all,
        plane::all,
        reports::all,
        suppressions::all,
        node::all,
    ]
    .into_iter()
    .flat_map(|all| all(&mut components))
    .collect();
    let mut paths = PathsBuilder::new();
    for operation in operations {
        let (path, item) = operation.into_item(&mut components);
        paths = paths.path(path, item);
    }
    let mut known = ComponentsBuilder::new();
    for (name, schema) in components.into_schemas() {
        known = known.schema(name, schema);
    }
    let bearer = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key of a source: `nia_sk_…`."));
    let tag = |name: &str, about: &str| {
        let tag = TagBuilder::new().name(name);
        tag.description(Some(about)).build()
    };
    OpenApiBuilder::new()
        .info(
            InfoBuilder::new()
                .title("Interlock")
                .version(env!("CARGO_PKG_VERSION"))
                .description(Some(
                    "May this agent act, now? What an answer promises is reserved in the same step \
                     and durable before it leaves. Every answer carries `X-Request-Id`. Later \
                     versions may add members to answers; take no notice of those you do not know.",
                )),
        )
        .tags(Some([
            tag(operation::COORDINATION, "What agents ask and declare."),
            tag(operation::NODE, "The node itself, and what a key is."),
        ]))
        .paths(paths)
        .components(Some(
            known
                .security_scheme(BEARER, SecurityScheme::Http(bearer.build()))
                .build(),
        ))
        .build()
}

#[cfg(test)]
mod tests {
    use interlock_wire::contact::check::CheckRequest;
    use interlock_wire::contact::claims::ClaimRequest;
    use interlock_wire::read;

    use super::*;

    /// Another reader's idea of OpenAPI 3.1: what it does not know would be gone after the way
    /// through its types.
    #[test]
    fn the_document_reads_back_as_openapi() {
        let sent: serde_json::Value = serde_json::from_str(&document().json).unwrap();
        let read: OpenApi = serde_json::from_str(&document().json).unwrap();
        assert_eq!(serde_json::json!(read), sent);
        assert!(sent["openapi"].as_str().unwrap().starts_with("3.1."));
    }

    #[test]
    fn every_reference_leads_somewhere() {
        fn look(whole: &serde_json::Value, part: &serde_json::Value) {
            match part {
                serde_json::Value::Object(members) => {
                    if let Some(place) = members.get("$ref").and_then(|place| place.as_str()) {
                        let target = whole.pointer(place.trim_start_matches('#'));
                        assert!(target.is_some(), "{place} is not there");
                    }
                    members.values().for_each(|inner| look(whole, inner));
                }
                serde_json::Value::Array(items) => {
                    items.iter().for_each(|inner| look(whole, inner));
                }
                serde_json::Value::Null
                | serde_json::Value::Bool(_)
                | serde_json::Value::Number(_)
                | serde_json::Value::String(_) => {}
            }
        }
        let whole: serde_json::Value = serde_json::from_str(&document().json).unwrap();
        look(&whole, &whole);
    }

    #[test]
    fn operations_have_names_of_their_own() {
        let whole: serde_json::Value = serde_json::from_str(&document().json).unwrap();
        let mut names = Vec::new();
        for item in whole["paths"].as_object().unwrap().values() {
            for operation in item.as_object().unwrap().values() {
                names.push(operation["operationId"].as_str().unwrap().to_owned());
            }
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn the_examples_are_requests() {
        let check = coordination::check_example().to_string();
        read::body::<CheckRequest<'_>>(check.as_bytes()).unwrap();
        let claim = coordination::claim_example().to_string();
        read::body::<ClaimRequest<'_>>(claim.as_bytes()).unwrap();
    }
}
