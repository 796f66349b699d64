//! Whether the node is there, and whether it is ready.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use elevator_fleet::node::Status;

use super::routes::App;
use crate::programs::Problem;

/// `GET /healthz`: the process answers.
pub(super) async fn live() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the node's loop answers, and its panel and its disk can be used.
pub(super) async fn ready(State(app): State<App>) -> Response {
    if let Some(latched) = &app.latched {
        return latched.refusal().into_response();
    }
    let reasons = match app.looks.take().await {
        Ok(look) => reasons(&look.status),
        Err(refused) => vec![refused.message],
    };
    if reasons.is_empty() {
        return "ok\n".into_response();
    }
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", reasons.join("; ")).into_response()
}

/// Why a node is not ready, if so.
fn reasons(status: &Status) -> Vec<String> {
    let panel = status.car.as_ref().and_then(|car| car.connection.as_ref().err());
    let panel = panel.map(|reason| format!("its panel does not answer: {reason}"));
    let disk = status.disk_failed.then(|| "its disk has failed".to_owned());
    panel.into_iter().chain(disk).collect()
}
