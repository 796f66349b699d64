//! What programs and operators ask for, and what only the answer to a request has.

use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Command;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::CallWish;

/// A call to place.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceCall {
    pub call: CallWish,
    /// Chosen by the client, 1 to 64 bytes without control characters: repeating an id with the
    /// same token has no effect and gets the same answer, at any node.
    #[schema(min_length = 1, max_length = 64, example = "5b0e0f4e-0c65-4b5e-9d0f-1f1d6a8f2f11")]
    pub request_id: Option<String>,
    /// The passenger or robot has a right of access, so a locked floor accepts the call. Needs a
    /// token with the scope `access`.
    #[serde(default)]
    pub access: bool,
}

/// Where the robot wants to go next.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NextFloor {
    /// The floor where the door is open means more time there.
    #[schema(value_type = String, example = "5")]
    pub floor: Floor,
    /// How long the door stays open there: 1 to 120 seconds; by default as before.
    #[schema(minimum = 1, maximum = 120, example = 30)]
    pub seconds: Option<u16>,
    /// As for the session itself.
    #[serde(default)]
    pub access: bool,
}

/// A command, and who gives it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GiveCommand {
    pub command: Command,
    /// Who gives the command: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    pub operator: String,
    /// Why: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "new carpet")]
    pub reason: Option<String>,
}

/// Who clears a hang, and what was found and done.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClearHang {
    /// Who inspected the car: 1 to 64 characters, for the audit log.
    #[schema(min_length = 1, max_length = 64, example = "J. Kovac")]
    pub operator: String,
    /// What was found and done: 1 to 500 characters, for the audit log.
    #[schema(min_length = 1, max_length = 500, example = "brake replaced")]
    pub reason: String,
}

/// A hang that was cleared.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HangCleared {
    #[schema(value_type = String, example = "B")]
    pub car: NodeId,
    pub cleared: String,
    /// The number of records in the audit log, including this one.
    pub audit_records: u64,
}

/// A floor to release in a car.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Release {
    #[schema(value_type = String, example = "5")]
    pub floor: Floor,
    /// How long: 1 to 60 seconds.
    #[schema(minimum = 1, maximum = 60, example = 10)]
    pub seconds: u8,
}

/// A floor that is released in a car.
#[derive(Debug, Serialize, ToSchema)]
pub struct Released {
    #[schema(value_type = String, example = "B")]
    pub car: NodeId,
    #[schema(value_type = String, example = "5")]
    pub floor: Floor,
    pub seconds: u8,
}
