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

/// What there is to say of all addresses together.
pub(super) fn preamble() -> utoipa::openapi::OpenApi {
    let mut api = Api::openapi();
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let components = api.components.get_or_insert_default();
    components.add_security_scheme(TOKEN, SecurityScheme::Http(scheme));
    api
}

/// What a [`Problem`] is sent as.
const PROBLEM: &str = "application/problem+json";

/// The tokens of `liftmesh token`.
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
const TAGS: [(&str, &str); 6] = [
    ("/calls", "calls"),
    ("/sessions", "sessions"),
    ("/statistics", "statistics"),
    ("/events", "events"),
    ("/latch", "latch"),
    ("/audit", "audit"),
];

/// Adds what the layers around all handlers do, and what they have in common.
fn complete(path: &str, item: &mut PathItem) {
    let tag = TAGS.iter().find(|(start, _)| path.starts_with(start)).map(|(_, tag)| *tag);
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
    use serde_json::{Value, json};

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

    #[test]
    fn every_operation_says_what_may_go_wrong_and_whether_it_needs_a_token() {
        let api = api();
        let mut operations = 0;
        for (path, item) in api["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                operations += 1;
                let responses = operation["responses"].as_object().unwrap();
                for status in ["401", "403", "421", "429", "503"] {
                    assert!(responses.contains_key(status), "{method} {path}: {status}");
                }
                let may_do_without = operation["security"].as_array().unwrap().contains(&json!({}));
                // The own socket takes the place of a token.
                let is_open = match path.as_str() {
                    "/audit" | "/presses" => false,
                    "/tokens" | "/cable" => true,
                    _ => method == "get",
                };
                assert_eq!(may_do_without, is_open, "{method} {path}");
                assert!(!path.contains('{') || responses.contains_key("400"), "{path}");
                let takes_body = operation["requestBody"].is_object();
                assert!(!takes_body || responses.contains_key("413"), "{method} {path}");
                for (status, response) in responses.iter().filter(|(it, _)| it.as_str() >= "400") {
                    let of_problem = &response["content"]["application/problem+json"];
                    assert!(of_problem.is_object(), "{method} {path}: {status}");
                }
            }
        }
        assert!(operations > 20, "{operations}");
    }
}
