//! What a node says of itself, and what only its own user may change there.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use elevator_fleet::node::Status;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::commands::checked;
use super::extract::{By, Json, OPERATE, OwnUser};
use super::routes::{self, App};
use crate::mesh::Cable;
use crate::operator::{Author, Request};
use crate::programs::Problem;
use crate::tokens::ChangeToken;
use liftmesh_api::Presses;

/// The network cable that fault injection is to have.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
pub(super) struct Rewire {
    cable: Cable,
}

/// A record of the audit log. Further fields depend on `kind`.
#[derive(Serialize, ToSchema)]
pub(super) struct AuditRecord {
    /// When, in UTC.
    #[schema(example = "2026-05-01T12:00:00.123Z")]
    at: String,
    /// The node whose log this is.
    #[schema(example = "A")]
    node: String,
    /// The version of the program that wrote it.
    program: String,
    /// What happened: `hang`, `latch-found`, `clear-hang`, `setting`, `unrecorded`, `release` or
    /// `fleet-keys`.
    #[schema(example = "setting")]
    kind: String,
}

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
        Err(problem) => vec![problem.detail],
    };
    if reasons.is_empty() {
        return "ok\n".into_response();
    }
    Problem::unavailable("not_ready", reasons.join("; ")).into_response()
}

fn reasons(status: &Status) -> Vec<String> {
    let panel = status.car.as_ref().and_then(|car| car.connection.as_ref().err());
    let panel = panel.map(|reason| format!("its panel does not answer: {reason}"));
    let disk = status.disk_failed.then(|| "its disk has failed".to_owned());
    panel.into_iter().chain(disk).collect()
}

/// Everything the node knows about itself and the fleet.
#[utoipa::path(get, path = "/status", responses((status = 200, body = Status)))]
pub(super) async fn get_status(State(app): State<App>) -> Result<Response, Problem> {
    Ok(routes::json(StatusCode::OK, &app.looks.take().await?.status))
}

/// The audit log of the node that answers, the oldest record first.
#[utoipa::path(
    get,
    path = "/audit",
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = Vec<AuditRecord>),
        (status = 503, body = Problem, description = "The disk has failed, or the node does not answer"),
    )
)]
pub(super) async fn list_audit_records(
    State(app): State<App>,
    By(_): By<OPERATE>,
) -> Result<Response, Problem> {
    // The journal's thread reads it between two commits.
    let _turn = app
        .audits
        .try_acquire()
        .map_err(|_busy| Problem::busy("another request is reading the audit log: try again"))?;
    Ok(routes::json(StatusCode::OK, &app.node_loop.audit().await?))
}

/// The latest presses of the panel of the node that answers, and what became of each.
#[utoipa::path(
    get,
    path = "/presses",
    security(("token" = ["operate"])),
    responses((status = 200, body = Presses))
)]
pub(super) async fn list_presses(
    State(app): State<App>,
    By(_): By<OPERATE>,
) -> Result<Response, Problem> {
    Ok(routes::json(StatusCode::OK, &app.node_loop.ask(Request::Presses).await?))
}

/// Creates or revokes a token, for every node of the fleet. Only over the node's own Unix socket.
#[utoipa::path(
    post,
    path = "/tokens",
    request_body = ChangeToken,
    security(()),
    responses(
        (status = 200, description = "The token is valid, or revoked, at this node; the other nodes follow"),
        (status = 404, body = Problem, description = "There is no token of this name"),
        (status = 409, body = Problem, description = "The name is taken, or there are too many tokens or settings"),
    )
)]
pub(super) async fn change_token(
    State(app): State<App>,
    OwnUser(account): OwnUser,
    Json(ChangeToken { change, operator }): Json<ChangeToken>,
) -> Result<Response, Problem> {
    let (operator, reason) = checked(&operator, None)?;
    let by = Author { operator, reason, account };
    app.node_loop.ask(|reply| Request::Token { change, by, reply }).await??;
    Ok(routes::json(StatusCode::OK, &json!({})))
}

/// Cuts the node off the network, or connects it again: for demo and tests only. Only over the own
/// Unix socket of a node that runs with `--allow-faults`.
#[utoipa::path(
    put,
    path = "/cable",
    request_body = Rewire,
    security(()),
    responses((status = 200, body = Rewire))
)]
pub(super) async fn rewire(
    State(app): State<App>,
    OwnUser(_): OwnUser,
    Json(rewire): Json<Rewire>,
) -> Result<Response, Problem> {
    app.node_loop.rewire(rewire.cable).await?;
    Ok(routes::json(StatusCode::OK, &rewire))
}
