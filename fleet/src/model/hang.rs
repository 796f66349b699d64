//! Why a car hung (F9).

use std::fmt;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use serde::{Deserialize, Serialize};

/// The evidence of a hang (F9), for the latch and the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HangEvidence {
    pub cause: HangCause,
    /// The floor of its stop; `None` while homing, or if it was told to stop.
    pub floor: Option<Floor>,
    /// The direction in which it was going, or last went.
    pub direction: Direction,
    /// The time limit of the flight.
    pub expected: Duration,
    /// How long the motor had been driven without a new floor, or since it was told to stop.
    pub actual: Duration,
    pub last_sensor: Option<Floor>,
}

impl fmt::Display for HangEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actual = self.actual.as_secs_f64();
        match (self.floor, self.cause) {
            (Some(floor), _) => write!(f, "hung on the way to {floor} after {actual:.1} s"),
            (None, HangCause::NotStopped) => {
                write!(f, "hung: the motor did not stop for {actual:.1} s")
            }
            (None, HangCause::NoProgress | HangCause::OffTarget(_)) => {
                write!(f, "hung while homing after {actual:.1} s")
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HangCause {
    /// The motor was driven for too long without a new floor (H5).
    NoProgress,
    /// This many flights in a row missed their stop. One in the wrong direction counts twice.
    OffTarget(u8),
    /// The motor was driven for too long after the command to stop (H5).
    NotStopped,
}

impl HangCause {
    /// How many flights in a row did not end at their stop, if that is the cause.
    #[must_use]
    pub fn flights(self) -> Option<u8> {
        if let Self::OffTarget(flights) = self { Some(flights) } else { None }
    }
}
