//! `GET /api/v1/openapi.json`: the API in the form that programs read, made from the code.
//!
//! The [router](routes::api) is built from the descriptions of the handlers, so that what is served is
//! described. What holds for many of them is added here.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::OpenApi;
use utoipa::openapi::path::{Operation, ParameterIn, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

use super::routes;
use crate::programs::Problem;
use crate::tokens::Scope;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Liftmesh",
        description = "A fleet of elevators, as one of its nodes sees it. Floors count from 0 at the \
                       bottom, times are in seconds. Later versions may add fields. On loopback, \
                       reading needs no token."
    ),
    servers((url = "/api/v1")),
    components(schemas(Problem)),
)]
struct Api;

pub(super) fn preamble() -> utoipa::openapi::OpenApi {
    let mut api = Api::openapi();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(scheme));
    api
}

const PROBLEM: &str = "application/problem+json";

const TOKEN: &str = "token";

/// What may go wrong at every address: it depends on a token.
const OF_ALL: [(&str, &str); 4] = [
    ("401", "No token, or an invalid one"),
    (
        "403",
        "The token's scope does not allow this, or it belongs to another token or the own socket",
    ),
    ("421", "The request is for another host"),
    ("429", "Too many requests"),
];

/// Of every address that takes a body.
const OF_BODIES: [(&str, &str); 2] =
    [("400", "Invalid request body"), ("413", "The request body is too long")];

/// The groups of addresses, by how these begin.
const TAGS: [&str; 6] = ["calls", "sessions", "statistics", "events", "latch", "audit"];

/// Adds what the layers around all handlers do, and what they have in common.
fn complete(path: &str, item: &mut PathItem) {
    let tag = TAGS.into_iter().find(|tag| path.trim_start_matches('/').starts_with(tag));
    let tag = tag.unwrap_or(if item.get.is_some() { "state" } else { "commands" });
    if let Some(read) = &mut item.get {
        // What nobody needs a token for is there beyond loopback as well, but not here.
        let token = SecurityRequirement::new(TOKEN, [Scope::View.to_string()]);
        read.security.get_or_insert_with(|| vec![SecurityRequirement::default(), token]);
    }
    let all = [&mut item.get, &mut item.put, &mut item.post, &mut item.delete];
    for (operation, is_reading) in all.into_iter().zip([true, false, false, false]) {
        let Some(operation) = operation else { continue };
        operation.tags = Some(vec![tag.to_owned()]);
        let summary = operation.summary.clone().unwrap_or_default();
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(response) = response else { continue };
            if response.description.is_empty() {
                response.description.clone_from(&summary);
            }
            // What fails is described by a `Problem`.
            if status.as_str() >= "400"
                && let Some(content) = response.content.shift_remove("application/json")
            {
                response.content.insert(PROBLEM.to_owned(), content);
            }
        }
        let of_body = operation.request_body.is_some().then_some(OF_BODIES);
        let of_body = of_body.into_iter().flatten();
        let of_address = has_parameters(operation).then_some(("400", "Invalid address"));
        let no_answer = if is_reading {
            "The node does not answer"
        } else {
            "The node does not answer: what was asked may or may not have been done"
        };
        let usual = OF_ALL.into_iter().chain(of_body).chain(of_address);
        for (status, why) in usual.chain([("503", no_answer)]) {
            let responses = &mut operation.responses.responses;
            responses.entry(status.to_owned()).or_insert_with(|| problem(why));
        }
    }
}

fn has_parameters(operation: &Operation) -> bool {
    operation.parameters.iter().flatten().any(|parameter| match parameter {
        RefOr::T(it) => it.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    })
}

fn problem(why: &str) -> RefOr<utoipa::openapi::Response> {
    let schema = Ref::from_schema_name("Problem");
    let content = ContentBuilder::new().schema(Some(schema)).build();
    let response = ResponseBuilder::new().description(why);
    response.content(PROBLEM, content).build().into()
}

static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
    let mut api = routes::api().into_openapi();
    api.paths.paths.iter_mut().for_each(|(path, item)| complete(path, item));
    api.to_pretty_json().unwrap_or_default().into()
});

pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn api() -> Value {
        serde_json::from_slice(&DOCUMENT).unwrap()
    }

    /// A validator and a generated client check the rest, in `tests/processes/http/generated.rs`.
    #[test]
    fn every_type_is_described() {
        let api = api();
        let schemas = api["components"]["schemas"].as_object().unwrap();
        assert_eq!(schemas["Call"]["oneOf"].as_array().unwrap().len(), 3);
        for (name, schema) in schemas {
            let text = schema.to_string();
            assert!(!text.contains(r#"{"type":"object"}"#), "{name} has an object of no form");
        }
    }
}
