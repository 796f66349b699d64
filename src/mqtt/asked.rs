//! What clients ask for over MQTT: the payloads of `calls` and `sessions`.

use axum::http::StatusCode;
use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::node::Access;
use elevator_fleet::settings::RequestId;
use liftmesh_api::{CallWish, RobotTrip};
use serde::Deserialize;

use crate::operator::SessionChange;
use crate::programs::{OpenSession, Problem, check_id, named};

/// The longest payload, in bytes.
const LONGEST: usize = 4 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inbox {
    Calls,
    /// For a robot's session, from its opening to its end.
    Sessions,
}

#[derive(Debug)]
pub(super) enum Asked {
    Call {
        form: CallForm,
        request_id: Option<String>,
    },
    /// `trip`: it was asked for as a call.
    Open {
        session: OpenSession,
        trip: Option<RobotTrip>,
        request_id: String,
    },
    Change {
        id: RequestId,
        change: SessionChange,
    },
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceCall {
    call: CallWish,
    request_id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum SessionForm {
    /// The body of `POST /api/v1/sessions`.
    Open(OpenSession),
    /// That of `PUT /api/v1/sessions/{id}`, with the id.
    Go {
        id: String,
        floor: Floor,
        seconds: Option<u16>,
    },
    End {
        id: String,
    },
}

impl Inbox {
    pub(super) const ALL: [Self; 2] = [Self::Calls, Self::Sessions];

    pub(super) fn topic(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Sessions => "sessions",
        }
    }

    pub(super) fn at(topic: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|inbox| inbox.topic() == topic)
    }

    /// Reads what came there; an error is what the client is told.
    pub(super) fn read(self, payload: &[u8]) -> Result<Asked, Problem> {
        if payload.len() > LONGEST {
            return Err(too_large(format!("a request has at most {LONGEST} bytes")));
        }
        let malformed = |error: serde_json::Error| Problem::malformed(error.to_string());
        match self {
            Self::Calls => {
                let read: PlaceCall = serde_json::from_slice(payload).map_err(malformed)?;
                if let Some(id) = &read.request_id {
                    check_id(id)?;
                }
                let PlaceCall { call, request_id } = read;
                Ok(match call {
                    CallWish::Order(form) => Asked::Call { form, request_id },
                    CallWish::Robot(trip) => {
                        let request_id = request_id.ok_or_else(no_id)?;
                        let session = OpenSession::of_trip(trip.clone(), None, false);
                        Asked::Open { session, trip: Some(trip), request_id }
                    }
                })
            }
            Self::Sessions => Ok(match serde_json::from_slice(payload).map_err(malformed)? {
                // There is no token that could give it.
                SessionForm::Open(OpenSession { access: true, .. }) => {
                    return Err(Problem::malformed("a right of access needs HTTP and a token"));
                }
                SessionForm::Open(mut session) => {
                    let request_id = session.request_id.take().ok_or_else(no_id)?;
                    check_id(&request_id)?;
                    Asked::Open { session, trip: None, request_id }
                }
                SessionForm::Go { id, floor, seconds } => {
                    let change = SessionChange::Floor { floor, seconds, access: Access::Public };
                    Asked::Change { id: named(&id)?, change }
                }
                SessionForm::End { id } => {
                    Asked::Change { id: named(&id)?, change: SessionChange::End }
                }
            }),
        }
    }
}

impl Asked {
    pub(super) fn is_of_robot(&self) -> bool {
        !matches!(self, Self::Call { .. })
    }

    /// The request's id, and the session that it is to change.
    pub(super) fn names(&self) -> (Option<String>, Option<RequestId>) {
        match self {
            Self::Call { request_id, .. } => (request_id.clone(), None),
            Self::Open { request_id, .. } => (Some(request_id.clone()), None),
            Self::Change { id, .. } => (None, Some(*id)),
        }
    }
}

/// The broker may deliver a message twice, and a second session would have a second car.
fn no_id() -> Problem {
    Problem::malformed("a robot's request over MQTT needs a request_id")
}

/// No answer may go to the topic that was named.
pub(super) fn no_topic() -> Problem {
    Problem::malformed("a robot's request over MQTT needs a topic for answers")
}

pub(super) fn too_large(detail: String) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}
