//! The messages of `rmf_lift_msgs`. Their fields, in this order, are what goes over the network.

use ros2_client::Message;
use serde::{Deserialize, Serialize};

/// Of `LiftState`, and of `LiftRequest` too.
pub(crate) const DOOR_OPEN: u8 = 2;

/// The state of a lift; `lift_state` of a car in the API has the same fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct LiftState {
    pub(crate) lift_time: Time,
    pub(crate) lift_name: String,
    pub(crate) available_floors: Vec<String>,
    pub(crate) current_floor: String,
    pub(crate) destination_floor: String,
    pub(crate) door_state: u8,
    pub(crate) motion_state: u8,
    pub(crate) available_modes: Vec<u8>,
    pub(crate) current_mode: u8,
    pub(crate) session_id: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LiftRequest {
    pub(crate) lift_name: String,
    pub(crate) request_time: Time,
    pub(crate) session_id: String,
    pub(crate) request_type: u8,
    pub(crate) destination_floor: String,
    pub(crate) door_state: u8,
}

/// `builtin_interfaces/Time`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Time {
    pub(crate) sec: i32,
    pub(crate) nanosec: u32,
}

impl LiftRequest {
    pub(crate) const END_SESSION: u8 = 0;
    pub(crate) const AGV_MODE: u8 = 1;
}

impl Message for LiftState {}
impl Message for LiftRequest {}
