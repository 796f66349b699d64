//! Sessions of robots.

use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use elevator_fleet::settings::{Session, SessionState};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A session.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct SessionView {
    /// Its name; `session_id` of the car's `lift_state` while it has one.
    #[schema(example = "5bd1e99500c0ffee00c0ffee")]
    id: String,
    state: State,
    /// Why it ended: `done`, `time`, `recalled`, `car_lost`, `no_car`, `withdrawn` or `operator`;
    /// null while it is open.
    #[schema(value_type = Option<String>, example = "done")]
    reason: Option<String>,
    /// Its car.
    #[schema(value_type = Option<String>, example = "B")]
    car: Option<NodeId>,
    /// Where the car holds its door open.
    #[schema(value_type = String, example = "3")]
    floor: Floor,
    /// Where it goes next by itself.
    #[schema(value_type = Option<String>)]
    to: Option<Floor>,
    /// How long it holds its door open, in seconds.
    #[schema(example = 30)]
    seconds: u16,
}

/// The progress of a session.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionState)]
#[serde(rename_all = "snake_case")]
enum State {
    /// No car is free.
    Queued,
    /// The car is on its way to the floor.
    Coming,
    /// The car holds its door open at the floor.
    Open,
    /// It has ended.
    Ended,
}

impl From<&Session> for SessionView {
    fn from(session: &Session) -> Self {
        let car = session.car().cloned();
        let (state, reason) = match &session.state {
            SessionState::Queued => (State::Queued, None),
            SessionState::Coming(_) => (State::Coming, None),
            SessionState::Open(_) => (State::Open, None),
            SessionState::Ended(end) => (State::Ended, Some(end.name().to_owned())),
        };
        let Session { id, floor, to, seconds, .. } = *session;
        Self { id: id.to_string(), state, reason, car, floor, to, seconds }
    }
}
