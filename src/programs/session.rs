//! What a robot asks for, and why it does not get it.

use std::fmt::Display;

use axum::http::StatusCode;
use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::{Access, LONGEST_HOLD, SessionRefused, SessionRequest};
use elevator_fleet::settings::{Asked, RequestId};
use liftmesh_api::RobotTrip;
use serde::Deserialize;
use utoipa::ToSchema;

use super::problem::Problem;

/// How long a door is held open if the robot does not say.
const USUAL_HOLD: u16 = 30;

/// A robot's request for a car.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenSession {
    /// The car; null means the one that gets there first.
    #[schema(example = "B")]
    car: Option<String>,
    /// Where the car holds its door open.
    #[schema(value_type = String, example = "3")]
    floor: Floor,
    /// Where it goes next by itself and holds its door open again; null if the robot will ask for
    /// it.
    #[schema(value_type = Option<String>)]
    to: Option<Floor>,
    /// How long, at each floor: 1 to 120 seconds; default 30.
    #[schema(minimum = 1, maximum = 120, example = 30)]
    seconds: Option<u16>,
    /// Chosen by the client, 1 to 64 bytes without control characters: repeating an id with the
    /// same token means the same session, at any node.
    #[schema(min_length = 1, max_length = 64, example = "5b0e0f4e-0c65-4b5e-9d0f-1f1d6a8f2f11")]
    pub(crate) request_id: Option<String>,
    /// The robot has a right of access, so a locked floor accepts it. Needs a token with the scope
    /// `access`.
    #[serde(default)]
    pub(crate) access: bool,
}

impl OpenSession {
    pub(crate) fn of_trip(
        RobotTrip { from, to, car, seconds, .. }: RobotTrip,
        request_id: Option<String>,
        access: bool,
    ) -> Self {
        Self { car, floor: from, to: Some(to), seconds, request_id, access }
    }

    pub(crate) fn request(
        self,
        id: RequestId,
        bearer: String,
        access: Access,
    ) -> Result<SessionRequest, Problem> {
        let Self { car, floor, to, seconds, request_id: _, access: _ } = self;
        let asked = Asked {
            floor,
            to,
            seconds: seconds.unwrap_or(USUAL_HOLD),
            car: car.as_deref().map(NodeId::new).transpose().map_err(|cause| no_car(&cause))?,
        };
        Ok(SessionRequest { id, bearer, asked, access })
    }
}

/// The session of this name.
pub(crate) fn named(id: &str) -> Result<RequestId, Problem> {
    RequestId::parse(id).ok_or_else(not_open)
}

pub(crate) fn not_open() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not_open", "unknown session")
}

pub(crate) fn other_owner(detail: &str) -> Problem {
    Problem::new(StatusCode::FORBIDDEN, "other_owner", detail)
}

pub(crate) fn no_car(detail: &dyn Display) -> Problem {
    Problem::unprocessable("unknown_car", detail.to_string())
}

impl From<SessionRefused> for Problem {
    fn from(cause: SessionRefused) -> Self {
        let text = cause.to_string();
        match cause {
            SessionRefused::NoSuchFloor { .. } | SessionRefused::SameFloor(_) => {
                Self::unprocessable("no_such_button", text)
            }
            SessionRefused::NotServed(_) => Self::conflict("floor_not_served", text),
            SessionRefused::UnknownCar(_) => Self::unprocessable("unknown_car", text),
            SessionRefused::Time => Self::malformed(text),
            SessionRefused::Recalled => Self::conflict("fire_recall", text),
            SessionRefused::EmergencyPower => Self::conflict("emergency_power", text),
            SessionRefused::FloorLocked(_) => Self::conflict("floor_locked", text),
            SessionRefused::TooMany => Self::conflict("too_many_sessions", text),
            SessionRefused::Reused => Self::conflict("request_id_reused", text),
            SessionRefused::NotOpen => not_open(),
            SessionRefused::Setting(_) => Self::conflict("too_many_settings", text),
        }
    }
}

const _: () = assert!(USUAL_HOLD <= LONGEST_HOLD);
