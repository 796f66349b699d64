//! `GET /api/v1/openapi.json`: the API in the form that programs read, made from the code.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use super::{access, commands, routes, statistics};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Liftmesh",
        description = "A fleet of elevators, as one of its nodes sees it. Floors count from 0 at the \
                       bottom, times are in seconds. Later versions may add fields."
    ),
    servers((url = "/api/v1")),
    paths(
        routes::fleet,
        routes::cars,
        routes::orders,
        routes::events,
        routes::place,
        routes::cancel,
        access::set_lock,
        access::release,
        commands::set_mode,
        commands::set_fire_recall,
        commands::set_priority,
        commands::set_emergency_power,
        commands::clear_hang,
        commands::latch,
        statistics::statistics,
        statistics::csv
    ),
    modifiers(&Bearer),
)]
struct Api;

/// The tokens of `liftmesh token`.
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, api: &mut utoipa::openapi::OpenApi) {
        let components = api.components.get_or_insert_default();
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        components.add_security_scheme("token", SecurityScheme::Http(scheme));
    }
}

static DOCUMENT: LazyLock<Bytes> =
    LazyLock::new(|| Api::openapi().to_pretty_json().unwrap_or_default().into());

pub(super) async fn document() -> Response {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_address_and_every_type_is_described() {
        let api: serde_json::Value = serde_json::from_slice(&DOCUMENT).unwrap();
        let paths: Vec<_> = api["paths"].as_object().unwrap().keys().collect();
        let all = [
            "/calls",
            "/calls/{id}",
            "/cars",
            "/cars/{car}/clear-hang",
            "/cars/{car}/mode",
            "/cars/{car}/release",
            "/emergency-power",
            "/events",
            "/fire-recall",
            "/fleet",
            "/floors/{floor}/lock",
            "/latch",
            "/orders",
            "/priority",
            "/statistics",
            "/statistics.csv",
        ];
        assert_eq!(paths, all);
        let text = api.to_string();
        let schemas = api["components"]["schemas"].as_object().unwrap();
        for (start, name) in text.match_indices("#/components/schemas/") {
            let rest = &text[start + name.len()..];
            let name = rest.split('"').next().unwrap();
            assert!(schemas.contains_key(name), "{name} has no schema");
        }
        assert_eq!(schemas["Call"]["oneOf"].as_array().unwrap().len(), 3);
        let problem = &api["paths"]["/calls"]["post"]["responses"]["409"]["content"];
        assert!(problem["application/problem+json"].is_object(), "{problem}");
    }
}
