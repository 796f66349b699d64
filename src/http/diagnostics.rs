//! What a node says of itself, and what only its own user may change there.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use elevator_fleet::node::Status;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::auth::{authorize, authorize_local};
use super::commands::wrong;
use super::routes::{self, App, parsed};
use crate::mesh::Cable;
use crate::operator::words;
use crate::presses::Presses;
use crate::programs::Problem;
use crate::tokens::{ChangeToken, Scope};

/// The network cable that fault injection is to have.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Rewire {
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

/// Everything the node knows about itself and the fleet.
#[utoipa::path(
    get,
    path = "/status",
    responses((status = 200, body = Status))
)]
pub(super) async fn get_status(State(app): State<App>) -> Result<Response, Problem> {
    Ok(routes::json(StatusCode::OK, &app.look().await?.status))
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
    parts: Parts,
) -> Result<Response, Problem> {
    authorize(&app, &parts, Scope::Operate).await?;
    // The journal's thread reads it between two commits.
    let _turn = app
        .audits
        .try_acquire()
        .map_err(|_busy| Problem::busy("another request is reading the audit log: try again"))?;
    Ok(routes::json(StatusCode::OK, &app.node_loop.audit().await?))
}

/// The latest presses of the panel of the node that answers, for the command line.
pub(super) async fn list_presses(
    State(app): State<App>,
    parts: Parts,
) -> Result<Response, Problem> {
    authorize(&app, &parts, Scope::Operate).await?;
    let (presses, forgotten) = app.node_loop.presses().await?;
    Ok(routes::json(StatusCode::OK, &Presses { presses, forgotten }))
}

pub(super) async fn change_token(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let account = authorize_local(&parts)?;
    let ChangeToken { change, operator } = parsed(body).await?;
    let operator = words::operator(&operator).map_err(|cause| wrong("operator", cause))?;
    app.node_loop.change_token(change, operator, account).await?;
    Ok(routes::json(StatusCode::OK, &json!({})))
}

pub(super) async fn rewire(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    authorize_local(&parts)?;
    let rewire: Rewire = parsed(body).await?;
    app.node_loop.rewire(rewire.cable).await?;
    Ok(routes::json(StatusCode::OK, &rewire))
}
