//! What a car tells its node.

use std::time::Duration;

use elevator_driver::{Direction, DoorState, Floor};

use super::supervision::FlightRecord;
use crate::model::{Availability, HallCall};

/// What a car tells its node; drained with [`poll_event`](super::Car::poll_event) after every call,
/// so that no more than one call's worth ever waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CarEvent {
    /// These calls are served (F18): the door is open.
    Served(Vec<ServedCall>),
    /// The car did not reach a floor in time (F9). The motor is stopped, and never runs again.
    Hung(HangEvidence),
    /// The car leaves a floor.
    Departed {
        /// The floor it leaves.
        from: Floor,
        /// Where to.
        direction: Direction,
        /// Where it means to stop.
        stop_at: Floor,
    },
    /// The car has come to rest at a floor.
    Arrived(Floor),
    /// The door is in another state.
    DoorChanged {
        /// The state it was in.
        from: DoorState,
        /// The state it is in.
        to: DoorState,
    },
    /// The group may, or may no longer, count on the car.
    AvailabilityChanged(Availability),
    /// The car stopped for this floor and its sensor said nothing: the floor is locked out for a
    /// while.
    FloorUnreachable(Floor),
    /// The drive was told to run and did not report that it does; it is tried again after a while.
    DriveRefused,
    /// A flight did not end at its stop, or went the wrong way: see [`HangCause::OffTarget`].
    OffTarget {
        /// Where it was to stop.
        stop_at: Floor,
        /// The floor at which the car is, or `None` between two.
        at: Option<Floor>,
    },
    /// What has been learned of a leg is worth keeping on disk.
    FlightLearned(FlightRecord),
}

/// A call that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServedCall {
    /// A passenger on a landing, whichever car was to fetch them.
    Hall(HallCall),
    /// A passenger in this car, to this floor.
    Car(Floor),
}

/// What was known when a car hung (F9), for the latch and the operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HangEvidence {
    /// What made it count as hung.
    pub cause: HangCause,
    /// The floor that it was to stop at; `None` while homing, or where it was told to stop.
    pub floor: Option<Floor>,
    /// Where it was going, or went last.
    pub direction: Direction,
    /// The time that the flight was allowed.
    pub expected: Duration,
    /// The time that the motor had been driven without a new floor, over all tries; or, if it does
    /// not stop, since it was told to.
    pub actual: Duration,
    /// The last floor sensor seen.
    pub last_sensor: Option<Floor>,
}

/// What made a car count as hung.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangCause {
    /// The motor was driven for too long without a new floor (H5).
    NoProgress,
    /// So many flights in a row did not end where they were to. One that goes the wrong way counts
    /// twice.
    OffTarget(u8),
    /// The motor was told to stop, and was driven on for too long (H5).
    NotStopped,
}

impl HangCause {
    /// How many flights in a row did not end where they were to, if that is the cause.
    #[must_use]
    pub fn flights(self) -> Option<u8> {
        match self {
            Self::NoProgress | Self::NotStopped => None,
            Self::OffTarget(flights) => Some(flights),
        }
    }
}

/// Why a car wants to be woken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarTimer {
    /// The door has been open for long enough.
    Dwell,
    /// The door has been kept open for too long altogether.
    Nudge,
    /// An obstruction or too much load has held the door for too long.
    DoorBlocked,
    /// The door has not obeyed for too long.
    DoorTravel,
    /// A flight takes longer than it ever took.
    Overdue,
    /// A floor has not been reached in time, or the motor has not stopped in time (F9).
    Flight,
    /// No floor has been found in time (F9).
    Homing,
    /// The drive has not started in time.
    DriveStart,
    /// The drive is to be tried again.
    DriveRetry,
    /// The car has been at rest for long enough to go on.
    Settle,
    /// A floor that could not be reached is to be tried again.
    UnreachableFloor,
}
