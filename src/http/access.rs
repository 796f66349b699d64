//! Locked floors over HTTP: an operator locks them, and an access-control system lets people in.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::FloorLock;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::authorize;
use super::commands::direct;
use super::extract::Path;
use super::routes::{App, json, parsed};
use crate::operator::Command;
use crate::programs::{Problem, no_car};
use crate::tokens::Scope;

/// Locks or unlocks a floor.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetLock {
    /// Whether calls to the floor need a right of access.
    locked: bool,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "server room")]
    reason: Option<String>,
}

/// The new lock of a floor.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct LockSet {
    #[schema(value_type = u8, example = 5)]
    floor: Floor,
    locked: bool,
}

/// A floor to release in a car.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    #[schema(value_type = u8, example = 5)]
    floor: Floor,
    /// How long: 1 to 60 seconds.
    #[schema(minimum = 1, maximum = 60, example = 10)]
    seconds: u8,
}

/// A floor that is released in a car.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Released {
    #[schema(value_type = String, example = "B")]
    car: NodeId,
    #[schema(value_type = u8, example = 5)]
    floor: Floor,
    seconds: u8,
}

/// Locks or unlocks a floor for the whole fleet, until the next such command.
#[utoipa::path(
    put,
    path = "/floors/{floor}/lock",
    params(("floor" = u8, Path, description = "The floor, from 0 at the bottom")),
    request_body = SetLock,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = LockSet, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "The fleet has too many settings"),
        (status = 422, body = Problem, description = "No such floor"),
        (status = 503, body = Problem, description = "The node does not answer: the command may or may not have taken effect"),
    )
)]
pub(super) async fn set_floor_lock(
    State(app): State<App>,
    Path(floor): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let SetLock { locked, operator, reason } = parsed(body).await?;
    let index = floor.parse::<u8>().ok();
    let floor = index.and_then(|index| Floor::try_from(index).ok()).ok_or_else(|| {
        let detail = format!("there is no floor {floor}");
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_button", detail)
    })?;
    let lock = if locked { FloorLock::Lock } else { FloorLock::Unlock };
    let command = Command::FloorLock { floor, lock };
    direct(&app, command, &operator, reason.as_deref(), bearer.account.clone()).await?;
    Ok(json(StatusCode::OK, &LockSet { floor, locked }))
}

/// Lets anyone in a car press the button of a locked floor for some seconds, for example after a
/// card reader in the car. Only the car's node takes it, and a restart of that node ends it.
#[utoipa::path(
    post,
    path = "/cars/{car}/release",
    params(("car" = String, Path, description = "The car of the node that answers")),
    request_body = Release,
    security(("token" = ["access"])),
    responses(
        (status = 200, body = Released, description = "The button of the floor now places calls"),
        (status = 400, body = Problem, description = "Invalid request body, or the time is too long"),
        (status = 409, body = Problem, description = "The car belongs to another node: `detail` has its address"),
        (status = 422, body = Problem, description = "No such car or floor"),
    )
)]
pub(super) async fn release_floor(
    State(app): State<App>,
    Path(car): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Access).await?;
    let Release { floor, seconds } = parsed(body).await?;
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    let look = app.look().await?;
    let status = &look.status;
    if status.node != car {
        let peer = status.peers.iter().find(|peer| peer.node == car && peer.car.is_some());
        let peer = peer.ok_or_else(|| no_car(&format!("unknown car {car}")))?;
        return Err(Problem::new(
            StatusCode::CONFLICT,
            "other_node",
            format!("to release a floor in {car}, ask its own node, {}", peer.address),
        ));
    }
    let (time, account) = (Duration::from_secs(seconds.into()), bearer.account.clone());
    app.node_loop.release(floor, time, account).await?;
    Ok(json(StatusCode::OK, &Released { car, floor, seconds }))
}
