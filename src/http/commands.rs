//! What an operator commands over HTTP: the mode of a car, priority calls, fire recalls and emergency
//! power, as the commands of these names do. And where a hang can be cleared, which a running node can't.

use std::fmt::Display;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use elevator_driver::Floor;
use elevator_fleet::model::{Mode, NodeId, Role};
use elevator_fleet::node::{FireRecall, Status};
use liftmesh_api::hung;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::authorize;
use super::extract::Path;
use super::routes::{App, json, parsed};
use crate::journal::Account;
use crate::latch::{Evidence, Latch};
use crate::operator::{Command, words};
use crate::programs::{Problem, no_car};
use crate::tokens::Scope;

/// The mode to set for a car.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetMode {
    /// One of `modes` of the fleet.
    #[schema(value_type = String, example = "independent")]
    mode: Mode,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "new carpet")]
    reason: Option<String>,
}

/// The new mode of a car, unless something more restrictive applies to it.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ModeSet {
    #[schema(value_type = String, example = "B")]
    car: NodeId,
    #[schema(value_type = String, example = "independent")]
    mode: Mode,
}

/// Starts or ends a fire recall.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetFireRecall {
    on: bool,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "alarm on floor 3")]
    reason: Option<String>,
}

/// Whether all cars are now recalled.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct FireRecallSet {
    on: bool,
}

/// Sends a car to a floor with priority.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetPriority {
    /// The car; null means the one in service that gets there first.
    #[schema(example = "B")]
    car: Option<String>,
    /// The floor; null ends the car's priority call.
    #[schema(example = 5)]
    floor: Option<u8>,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "ward 5")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "patient transport")]
    reason: Option<String>,
}

/// The priority call of a car.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct PrioritySet {
    /// The car that was sent, or whose call ended.
    #[schema(value_type = Option<String>, example = "B")]
    car: Option<NodeId>,
    /// The floor; null if its priority call ended.
    #[schema(example = 5)]
    floor: Option<u8>,
}

/// Starts or ends emergency power.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SetEmergencyPower {
    on: bool,
    /// The car that serves calls once all are down; null means the first one that can.
    #[schema(example = "B")]
    car: Option<String>,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "mains failure")]
    reason: Option<String>,
}

/// Whether the building now runs on emergency power.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct EmergencyPowerSet {
    on: bool,
    #[schema(value_type = Option<String>, example = "B")]
    car: Option<NodeId>,
}

/// Who clears a hang, and what was found and done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ClearHang {
    /// Who inspected the car: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// What was found and done: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "brake replaced")]
    reason: String,
}

/// A hang that was cleared.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct HangCleared {
    #[schema(value_type = String, example = "B")]
    pub(super) car: NodeId,
    /// What was cleared.
    pub(super) cleared: String,
    /// The number of records in the audit log, including this one.
    pub(super) audit_records: u64,
}

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

impl ClearHang {
    /// Operator and reason, as the audit log takes them.
    pub(super) fn checked(&self) -> Result<(String, String), Problem> {
        let operator = words::operator(&self.operator).map_err(|cause| wrong("operator", cause))?;
        let reason = words::reason(&self.reason).map_err(|cause| wrong("reason", cause))?;
        Ok((operator, reason))
    }
}

/// Sets the mode of any car of the fleet, until it is set again.
#[utoipa::path(
    put,
    path = "/cars/{car}/mode",
    params(("car" = String, Path, description = "The car")),
    request_body = SetMode,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = ModeSet, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "The fleet has too many settings"),
        (status = 422, body = Problem, description = "No known node has this car"),
        (status = 503, body = Problem, description = "The node does not answer: the mode may or may not have been set"),
    )
)]
pub(super) async fn set_mode(
    State(app): State<App>,
    Path(car): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let SetMode { mode, operator, reason } = parsed(body).await?;
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    let command = Command::Mode { car: car.clone(), mode };
    direct(&app, command, &operator, reason.as_deref(), bearer.account.clone()).await?;
    Ok(json(StatusCode::OK, &ModeSet { car, mode }))
}

/// Starts or ends a fire recall of all cars.
#[utoipa::path(
    put,
    path = "/fire-recall",
    request_body = SetFireRecall,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = FireRecallSet, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "This node knows of no fire recall to end, or the fleet has too many settings"),
        (status = 503, body = Problem, description = "The node does not answer: the command may or may not have taken effect"),
    )
)]
pub(super) async fn set_fire_recall(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let SetFireRecall { on, operator, reason } = parsed(body).await?;
    let recall = if on { FireRecall::Start } else { FireRecall::End };
    let command = Command::FireRecall(recall);
    direct(&app, command, &operator, reason.as_deref(), bearer.account.clone()).await?;
    Ok(json(StatusCode::OK, &FireRecallSet { on }))
}

/// Sends a car to a floor with priority, or cancels that.
#[utoipa::path(
    put,
    path = "/priority",
    request_body = SetPriority,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = PrioritySet, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "No car can go, all cars are recalled, or the fleet has too many settings"),
        (status = 422, body = Problem, description = "No known node has this car, or there is no such floor"),
        (status = 503, body = Problem, description = "The node does not answer: the command may or may not have taken effect"),
    )
)]
pub(super) async fn set_priority(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let SetPriority { car, floor, operator, reason } = parsed(body).await?;
    let car = named(car.as_deref())?;
    let there = floor.map(Floor::try_from).transpose();
    let there = there.map_err(|cause| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "no_such_button", cause.to_string())
    })?;
    let command = Command::Priority { car: car.clone(), floor: there };
    let account = bearer.account.clone();
    let sent = direct(&app, command, &operator, reason.as_deref(), account).await?;
    Ok(json(StatusCode::OK, &PrioritySet { car: sent.or(car), floor }))
}

/// Starts or ends emergency power: all cars come down, one at a time.
#[utoipa::path(
    put,
    path = "/emergency-power",
    request_body = SetEmergencyPower,
    security(("token" = ["operate"])),
    responses(
        (status = 200, body = EmergencyPowerSet, description = "Accepted by this node, which passes it on"),
        (status = 409, body = Problem, description = "The fleet has too many settings"),
        (status = 422, body = Problem, description = "No known node has this car"),
        (status = 503, body = Problem, description = "The node does not answer: the command may or may not have taken effect"),
    )
)]
pub(super) async fn set_emergency_power(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let SetEmergencyPower { on, car, operator, reason } = parsed(body).await?;
    let car = named(car.as_deref())?;
    let command = Command::EmergencyPower { on, serving: car.clone() };
    direct(&app, command, &operator, reason.as_deref(), bearer.account.clone()).await?;
    Ok(json(StatusCode::OK, &EmergencyPowerSet { on, car }))
}

fn named(car: Option<&str>) -> Result<Option<NodeId>, Problem> {
    car.map(NodeId::new).transpose().map_err(|cause| no_car(&cause))
}

/// Gives a command to the node's loop.
pub(super) async fn direct(
    app: &App,
    command: Command,
    operator: &str,
    reason: Option<&str>,
    account: Account,
) -> Result<Option<NodeId>, Problem> {
    let operator = words::operator(operator).map_err(|cause| wrong("operator", cause))?;
    let reason = reason.map(words::reason).transpose().map_err(|cause| wrong("reason", cause))?;
    Ok(app.node_loop.direct(command, operator, reason, account).await?)
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
    Path(car): Path<String>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    authorize(&app, &parts, Scope::Operate).await?;
    parsed::<ClearHang>(body).await?.checked()?;
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    Err(not_cleared(&app.look().await?.status, &car))
}

/// Why a running node clears no hang of this car.
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
            nothing_to_clear(&format!("node {car} runs, so there is no hang to clear"))
        }
        Some(_) | None => no_car(&format!("unknown car {car}")),
    }
}

pub(super) fn nothing_to_clear(detail: &str) -> Problem {
    Problem::new(StatusCode::CONFLICT, "nothing_to_clear", detail)
}

pub(super) fn not_here(detail: String) -> Problem {
    Problem::new(StatusCode::CONFLICT, "not_here", detail)
}

pub(super) fn wrong(what: &str, cause: impl Display) -> Problem {
    Problem::malformed(format!("{what}: {cause}"))
}

/// Whether the node is running, and if not, why. Needs no token.
#[utoipa::path(
    get,
    path = "/latch",
    responses((status = 200, body = LatchState))
)]
pub(super) async fn get_latch(State(app): State<App>) -> Result<Response, Problem> {
    let node = app.look().await?.status.node.clone();
    let state = LatchState {
        running: true,
        node,
        latch: None,
        text: None,
        remedy: None,
        tokens_usable: None,
    };
    Ok(json(StatusCode::OK, &state))
}
