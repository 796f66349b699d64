//! What every way to place a call by a program has in common: HTTP and MQTT.

use axum::http::StatusCode;
use elevator_fleet::directives::RequestId;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::Taken;
use liftmesh_api::{CallSchema, id_of};
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;

/// The longest id of a request, in bytes.
const LONGEST_ID: usize = 64;

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PlacedCall {
    /// Names the order in `/api/v1/orders`, once it is there.
    #[schema(example = "hall-3-up")]
    id: String,
    pub(crate) state: PlacedState,
    #[schema(value_type = CallSchema)]
    call: CallForm,
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
    pub(crate) fn new(call: &Call, form: CallForm, taken: Taken) -> Self {
        let state = match taken {
            Taken::Placed => PlacedState::Placed,
            Taken::Absorbed => PlacedState::Absorbed,
            Taken::Waiting => PlacedState::Waiting,
        };
        Self { id: id_of(call), state, call: form }
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
