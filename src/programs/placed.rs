//! What every way to place a call by a program has in common: HTTP and MQTT.

use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::Taken;
use elevator_fleet::settings::RequestId;
use liftmesh_api::{CallWish, RobotTrip, id_of};
use serde::Serialize;
use utoipa::ToSchema;

use super::problem::Problem;

const LONGEST_ID: usize = 64;

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PlacedCall {
    /// The id of the order in `/api/v1/orders`, once it is there; for a robot, of its session.
    #[schema(example = "hall-3-up")]
    id: String,
    /// For `/api/v1/calls/{receipt}`, which shows the progress of this call.
    #[schema(example = "5bd1e99500c0ffee00c0ffee")]
    pub(crate) receipt: String,
    pub(crate) state: PlacedState,
    call: CallWish,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlacedState {
    /// The node has accepted the order; it is promised once `promised` says so.
    Placed,
    /// No order was placed: a car is at the floor with its door open in that direction.
    Absorbed,
}

impl PlacedCall {
    /// `request` is by what the fleet remembers the call.
    pub(crate) fn new(call: &Call, form: CallForm, taken: Taken, request: RequestId) -> Self {
        let state = match taken {
            Taken::Placed => PlacedState::Placed,
            Taken::Absorbed => PlacedState::Absorbed,
        };
        let receipt = request.to_string();
        Self { id: id_of(call), receipt, state, call: CallWish::Order(form) }
    }

    pub(crate) fn of_trip(session: RequestId, trip: RobotTrip) -> Self {
        let id = session.to_string();
        let (receipt, state) = (id.clone(), PlacedState::Placed);
        Self { id, receipt, state, call: CallWish::Robot(trip) }
    }
}

pub(crate) fn check_id(id: &str) -> Result<(), Problem> {
    if (1..=LONGEST_ID).contains(&id.len()) && !id.chars().any(char::is_control) {
        return Ok(());
    }
    let detail = format!("request_id must be 1 to {LONGEST_ID} bytes without control characters");
    Err(Problem::malformed(detail))
}

pub(crate) fn chosen_or_random(id: Option<String>) -> Result<String, Problem> {
    let Some(id) = id else {
        return Ok(format!("{:016x}", getrandom::u64().map_err(|_none| Problem::no_answer())?));
    };
    check_id(&id)?;
    Ok(id)
}

/// A way by which programs make requests. None can take itself for a program of another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// A program is told by the hash of its token.
    Http,
    /// By the topic of its answers.
    Mqtt,
}

impl Way {
    /// What the fleet calls a program of this way.
    pub(crate) fn owner(self, program: &[u8]) -> u32 {
        let (way, bit) = match self {
            Self::Http => ("liftmesh HTTP owner of requests", 0),
            Self::Mqtt => ("liftmesh MQTT owner of requests", RequestId::ANYBODY),
        };
        let [a, b, c, d, ..] = hash(way, [program, b""]);
        u32::from_be_bytes([a, b, c, d]) & !RequestId::ANYBODY | bit
    }

    pub(crate) fn request(self, program: &[u8], request_id: &str) -> RequestId {
        let way = match self {
            Self::Http => "liftmesh HTTP request",
            Self::Mqtt => "liftmesh MQTT request",
        };
        let request = u64::from_be_bytes(hash(way, [program, request_id.as_bytes()]));
        RequestId { owner: self.owner(program), request }
    }
}

fn hash(what: &'static str, parts: [&[u8]; 2]) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new_derive_key(what);
    for part in parts {
        hasher.update(&(part.len() as u64).to_be_bytes()).update(part);
    }
    let mut hash = [0; 8];
    hasher.finalize_xof().fill(&mut hash);
    hash
}

pub(crate) fn id_reused() -> Problem {
    Problem::conflict(
        "request_id_reused",
        "an earlier request with this request_id was for another call: use a new id for each call",
    )
}
