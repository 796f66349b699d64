//! Locked floors over HTTP: an access-control system lets people in.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::authorize;
use super::extract::Path;
use super::routes::{App, json, parsed};
use crate::programs::{Problem, no_car};
use crate::tokens::Scope;

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
