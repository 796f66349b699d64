//! What operators command over HTTP, and how access control lets people in. And where a hang can be
//! cleared, which a running node can't.

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::Status;
use liftmesh_api::{ClearHang, Command, GiveCommand, HangCleared, Release, Released, hung};
use serde::Serialize;
use utoipa::ToSchema;

use super::extract::{ACCESS, By, Json, OPERATE, Path};
use super::routes::{App, json};
use crate::latch::{Evidence, Latch};
use crate::operator::{Author, NodeRequest, Request, words};
use crate::programs::{Problem, no_car};

/// Whether the node runs, and the latch that keeps it from running.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(super) struct LatchState {
    pub(super) running: bool,
    #[schema(value_type = String, example = "B")]
    pub(super) node: NodeId,
    /// As in `liftmesh status --json`. Null while the node runs.
    #[schema(value_type = Option<LatchSchema>)]
    pub(super) latch: Option<Latch>,
    /// The latch in words.
    pub(super) text: Option<String>,
    /// The command that clears it on the node's computer.
    pub(super) remedy: Option<String>,
    /// Whether a token can clear it: the journal can be read, and has one with scope `operate`. Null
    /// while the node runs.
    pub(super) tokens_usable: Option<bool>,
}

/// A latch, in one form for all causes.
#[derive(Serialize, ToSchema)]
#[schema(as = Latch)]
struct LatchSchema {
    /// `hang`, `journal-lost`, `unreadable` or `removed`.
    #[schema(example = "hang")]
    cause: String,
    /// When the car hung, in UTC.
    at: Option<String>,
    /// The node whose car hung.
    node: Option<String>,
    /// The version of the program that recorded the hang.
    program: Option<String>,
    /// What was known of the hang.
    evidence: Option<Evidence>,
    /// Why the latch is `unreadable`.
    reason: Option<String>,
    /// The hang whose latch was `removed`.
    recorded: Option<String>,
}

pub(super) fn checked(
    operator: &str,
    reason: Option<&str>,
) -> Result<(String, Option<String>), Problem> {
    let wrong = |what: &str, cause| Problem::malformed(format!("{what}: {cause}"));
    let operator = words::operator(operator).map_err(|cause| wrong("operator", cause))?;
    let reason = reason.map(words::reason).transpose().map_err(|cause| wrong("reason", cause))?;
    Ok((operator, reason))
}

/// Gives a command, which holds until another one is given. The answer is the command as it is carried
/// out: of a priority call for any car, with the car that goes.
#[utoipa::path(
    post,
    path = "/commands",
    request_body = GiveCommand,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = Command, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "No car can go, all cars are recalled, this node knows of no fire recall to end or of no alarm to acknowledge, or the fleet has too many settings"),
        (status = 422, body = Problem, description = "No known node has this car, or there is no such floor"),
    )
)]
pub(super) async fn give_command(
    State(app): State<App>,
    By(bearer): By<OPERATE>,
    Json(GiveCommand { command, operator, reason }): Json<GiveCommand>,
) -> Result<Response, Problem> {
    let (operator, reason) = checked(&operator, reason.as_deref())?;
    let author = Author { operator, reason, account: bearer.account };
    let done =
        app.node_loop.ask_node(|reply| NodeRequest::Command(command, author, reply)).await??;
    Ok(json(StatusCode::OK, &done))
}

/// Clears the hang of this computer's car, while its node does not run because of it and `liftmesh
/// caretaker` answers here. A running node has no hang, and says where to clear another car's.
#[utoipa::path(
    post,
    path = "/cars/{car}/clear-hang",
    params(("car" = String, Path, description = "The car")),
    request_body = ClearHang,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = HangCleared, description = "Cleared and audited; the node restarts"),
        (status = 409, body = Problem, description = "Nothing to clear on this computer"),
        (status = 422, body = Problem, description = "No known node has this car"),
        (status = 503, body = Problem, description = "The clearing can't be recorded, so nothing was cleared"),
    )
)]
pub(super) async fn clear_hang(
    State(app): State<App>,
    By(bearer): By<OPERATE>,
    Path(car): Path<String>,
    Json(ClearHang { operator, reason }): Json<ClearHang>,
) -> Result<Response, Problem> {
    let (operator, reason) = checked(&operator, Some(&reason))?;
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    let Some(latched) = &app.latched else {
        return Err(not_cleared(&app.looks.take().await?.status, &car));
    };
    let by = (operator, reason.unwrap_or_default());
    Ok(json(StatusCode::OK, &latched.clear(&car, by, bearer.account).await?))
}

fn not_cleared(status: &Status, car: &NodeId) -> Problem {
    let lost = status.lost.iter().find(|lost| lost.node == *car && lost.role == Role::Cabin);
    // One that has just hung still counts as a peer for a moment.
    let peer = status.peers.iter().find(|peer| peer.node == *car && peer.car.is_some());
    let address = lost.map(|lost| lost.address).or(peer.map(|peer| peer.address));
    match address {
        Some(address) if hung(status).contains(car) => not_here(format!(
            "the latch of {car} is on its own computer, {address}: clear it at the panel there, which \
             `liftmesh caretaker` serves, or with `liftmesh clear-hang`"
        )),
        Some(address) if lost.is_some() => not_here(format!(
            "node {car} is lost; if its car hung, clear the hang on its own computer, {address}"
        )),
        Some(_) | None if status.cars().any(|known| known == car) => {
            let detail = format!("node {car} runs, so there is no hang to clear");
            Problem::conflict("nothing_to_clear", detail)
        }
        Some(_) | None => no_car(&format!("unknown car {car}")),
    }
}

fn not_here(detail: String) -> Problem {
    Problem::conflict("not_here", detail)
}

/// Whether the node is running, and if not, why. Needs no token.
#[utoipa::path(
    get,
    path = "/latch",
    responses((status = 200, body = LatchState))
)]
pub(super) async fn get_latch(State(app): State<App>) -> Result<Response, Problem> {
    if let Some(latched) = &app.latched {
        return Ok(json(StatusCode::OK, &*latched.state()));
    }
    let node = app.looks.take().await?.status.node.clone();
    let (latch, text, remedy, tokens_usable) = Default::default();
    let state = LatchState { running: true, node, latch, text, remedy, tokens_usable };
    Ok(json(StatusCode::OK, &state))
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
        (status = 409, body = Problem, description = "The car belongs to another node: `detail` has its address"),
        (status = 422, body = Problem, description = "No such car or floor"),
    )
)]
pub(super) async fn release_floor(
    State(app): State<App>,
    By(bearer): By<ACCESS>,
    Path(car): Path<String>,
    Json(Release { floor, seconds }): Json<Release>,
) -> Result<Response, Problem> {
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    let look = app.looks.take().await?;
    let status = &look.status;
    if status.node != car {
        let peer = status.peers.iter().find(|peer| peer.node == car && peer.car.is_some());
        let peer = peer.ok_or_else(|| no_car(&format!("unknown car {car}")))?;
        let address = peer.address;
        let detail = format!("to release a floor in {car}, ask its own node, {address}");
        return Err(Problem::conflict("other_node", detail));
    }
    let (time, account) = (Duration::from_secs(seconds.into()), bearer.account);
    app.node_loop.ask(|reply| Request::Release { floor, time, account, reply }).await??;
    Ok(json(StatusCode::OK, &Released { car, floor, seconds }))
}
