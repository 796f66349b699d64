//! What an operator commands over HTTP. And where a hang can be cleared, which a running node can't.

use std::fmt::Display;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::Status;
use liftmesh_api::{Command, hung};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::authorize;
use super::extract::Path;
use super::routes::{App, json, parsed};
use crate::latch::{Evidence, Latch};
use crate::operator::{Author, words};
use crate::programs::{Problem, no_car};
use crate::tokens::Scope;

/// A command, and who gives it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct GiveCommand {
    command: Command,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "new carpet")]
    reason: Option<String>,
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
    fn checked(&self) -> Result<(String, String), Problem> {
        let operator = words::operator(&self.operator).map_err(|cause| wrong("operator", cause))?;
        let reason = words::reason(&self.reason).map_err(|cause| wrong("reason", cause))?;
        Ok((operator, reason))
    }
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
        (status = 409, body = Problem, description = "No car can go, all cars are recalled, this node knows of no fire recall to end, or the fleet has too many settings"),
        (status = 422, body = Problem, description = "No known node has this car, or there is no such floor"),
        (status = 503, body = Problem, description = "The node does not answer: the command may or may not have taken effect"),
    )
)]
pub(super) async fn give_command(
    State(app): State<App>,
    request: Request<Body>,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let GiveCommand { command, operator, reason } = parsed(body).await?;
    let operator = words::operator(&operator).map_err(|cause| wrong("operator", cause))?;
    let reason = reason.as_deref().map(words::reason).transpose();
    let reason = reason.map_err(|cause| wrong("reason", cause))?;
    let author = Author { operator, reason, account: bearer.account.clone() };
    Ok(json(StatusCode::OK, &app.node_loop.command(command, author).await?))
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
    let bearer = authorize(&app, &parts, Scope::Operate).await?;
    let by = parsed::<ClearHang>(body).await?.checked()?;
    let car = NodeId::new(&car).map_err(|cause| no_car(&cause))?;
    match &app.latched {
        Some(latched) => Ok(json(StatusCode::OK, &latched.clear(&car, by, bearer.account).await?)),
        None => Err(not_cleared(&app.look().await?.status, &car)),
    }
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
    if let Some(latched) = &app.latched {
        return Ok(json(StatusCode::OK, &*latched.state()));
    }
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
