//! What every way to place a call by a program has in common: HTTP and MQTT.

use axum::http::StatusCode;
use elevator_fleet::directives::{RequestId, SessionId};
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::Taken;
use liftmesh_api::{CallWish, CallWishSchema, RobotTrip, id_of};
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;

/// The longest id of a request, in bytes.
const LONGEST_ID: usize = 64;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PlacedCall {
    /// Names the order in `/api/v1/orders`, once it is there; of a robot, its session.
    #[schema(example = "hall-3-up")]
    id: String,
    /// By which `/api/v1/calls/{receipt}` says how far this call is. Null if there is no order yet, and
    /// for a call without `request_id` over MQTT.
    #[schema(example = "6f1c0d2e9ab34c576f1c0d2e9ab34c57")]
    pub(super) receipt: Option<String>,
    pub(crate) state: PlacedState,
    #[schema(value_type = CallWishSchema)]
    call: CallWish,
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlacedState {
    /// The node has accepted the order; it is promised once `promised` says so.
    Placed,
    /// There is no order: a car is at the floor with its door open in that direction.
    Absorbed,
    /// There is no order yet, because the node's disk does not answer.
    Waiting,
}

impl PlacedCall {
    /// `request` is by what the fleet remembers the call, if it does.
    pub(crate) fn new(
        call: &Call,
        form: CallForm,
        taken: Taken,
        request: Option<RequestId>,
    ) -> Self {
        let state = match taken {
            Taken::Placed => PlacedState::Placed,
            Taken::Absorbed => PlacedState::Absorbed,
            Taken::Waiting => PlacedState::Waiting,
        };
        let receipt = request.filter(|_| taken != Taken::Waiting).map(|id| id.to_string());
        Self { id: id_of(call), receipt, state, call: CallWish::Order(form) }
    }

    /// Of a robot.
    pub(super) fn of_trip(session: SessionId, trip: RobotTrip) -> Self {
        let id = session.to_string();
        let (receipt, state) = (Some(id.clone()), PlacedState::Placed);
        Self { id, receipt, state, call: CallWish::Robot(trip) }
    }
}

/// Whether an id of a request is one: 1 to 64 bytes without control characters.
pub(crate) fn check_id(id: &str) -> Result<(), Problem> {
    if (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!("request_id has 1 to {LONGEST_ID} bytes and no control characters");
    Err(Problem::malformed(detail))
}

/// The id of a request that has none is like no other.
pub(super) fn chosen_or_random(id: Option<String>) -> Result<String, Problem> {
    let Some(id) = id else {
        return Ok(format!("{:016x}", getrandom::u64().map_err(|_none| Problem::no_answer())?));
    };
    check_id(&id)?;
    Ok(id)
}

/// By which the fleet remembers a request, from what tells the request from all others that come this
/// way.
pub(crate) fn id_of_request(way: &'static str, parts: [&[u8]; 2]) -> RequestId {
    let mut hasher = blake3::Hasher::new_derive_key(way);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part);
    }
    let mut id = [0; 16];
    hasher.finalize_xof().fill(&mut id);
    RequestId(id)
}

/// An id was used before, for another call.
pub(crate) fn id_reused() -> Problem {
    Problem::new(
        StatusCode::CONFLICT,
        "request_id_reused",
        "an earlier request with this request_id was for another call: use a new id for each call",
    )
}
