//! The latest presses of a node's own panel.

use elevator_fleet::json::{CallForm, Seconds};
use elevator_fleet::model::NodeId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A press of a button of the node's panel, or a destination given at its kiosk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = Press)]
pub struct PressStatus {
    /// When, in UTC by the machine's clock as it goes now.
    #[schema(example = "2026-05-01T12:00:00.123Z")]
    pub at: String,
    pub call: CallForm,
    /// How often this button in a row, with the same result.
    pub times: u32,
    /// When for the last time, if more than once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    #[serde(flatten)]
    #[schema(value_type = FateSchema)]
    pub fate: PressFate,
}

/// The latest presses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Presses {
    /// The oldest first.
    pub presses: Vec<PressStatus>,
    /// How many presses before them are no longer remembered.
    pub forgotten: u64,
}

/// What became of a press.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
pub enum PressFate {
    /// Its order is open. Promised: its lamp may be lit (F12).
    Open { promised: bool },
    /// A car has served it, after the call has waited so long.
    Served { car: Option<NodeId>, waited: Seconds },
    /// Its order was dropped because of a fire recall.
    Dropped,
    /// It made no order: it keeps the door open, which was open for it.
    Absorbed,
    /// It made no order: it drives a car in a special mode.
    Command,
    /// It made no order: it cancelled the call, which counts as served.
    Cancelled,
    /// It made no order.
    Refused { reason: String },
}

/// What became of a press, in one form for every fate.
#[derive(Serialize, ToSchema)]
#[schema(as = PressFate)]
struct FateSchema {
    /// `open`, `served`, `dropped`, `absorbed`, `command`, `cancelled` or `refused`.
    fate: String,
    /// Whether the lamp of an open order may be lit.
    promised: Option<bool>,
    /// Which car has served it, and after how many seconds.
    car: Option<String>,
    waited: Option<f64>,
    /// Why it was refused.
    reason: Option<String>,
}
