//! What the master wants a car to do besides serving its calls.

use elevator_driver::{Direction, Floor};
use serde::{Deserialize, Serialize};

/// What a car does besides serving its calls. A car that has a call, or can't do it, ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CarPlan {
    /// The direction in which a car without passengers begins; `None` if it has no choice.
    pub direction: Option<Direction>,
    /// Where it waits if it has no call; `None` if it stays.
    pub park: Option<Floor>,
}
