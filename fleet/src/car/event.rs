use elevator_driver::{DoorState, Entrance, Floor};

use crate::model::{Call, FlightRecord, HallCall, HangEvidence, NodeId, Reason, Wear};
use crate::settings::{RequestId, SessionEnd};

/// An event of a car. Drained with [`poll_event`](super::Car::poll_event) after every call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CarEvent {
    Served(Vec<ServedCall>),
    /// The car did not reach a floor in time (F9). The motor is stopped, and never runs again.
    Hung(HangEvidence),
    Departed,
    DoorChanged {
        to: DoorState,
    },
    /// The group can count on the car now (`None`), or can't any more.
    AvailabilityChanged(Option<Reason>),
    /// The car stopped for this floor but its sensor was silent: it is locked out for a while.
    FloorUnreachable(Floor),
    /// The drive did not report that it runs after the command; it is retried after a while.
    DriveRefused,
    /// A flight did not end at its stop, or went the wrong way: see
    /// [`HangCause::OffTarget`](crate::model::HangCause::OffTarget).
    OffTarget {
        stop_at: Floor,
        /// The floor at which the car is, or `None` between two.
        at: Option<Floor>,
    },
    FlightLearned(FlightRecord),
    /// This has reached its threshold.
    MaintenanceDue {
        wear: Wear,
        count: u64,
    },
    /// The priority call is over: it was long enough, or something more important has come.
    PriorityOver,
    SessionOpen(SessionLeg),
    /// It was held open for long enough, or something more important has come.
    SessionOver(SessionLeg, SessionEnd),
}

/// The floor of a session that a car was sent to, among those that the robot has asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLeg {
    pub id: RequestId,
    /// How often the robot had asked for a floor again.
    pub leg: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServedCall {
    Hall(HallCall),
    Car(Entrance),
}

impl ServedCall {
    pub(crate) fn at(self, car: &NodeId) -> Call {
        match self {
            Self::Hall(call) => Call::Hall(call),
            Self::Car(entrance) => Call::ride(car, entrance),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CarTimer {
    Dwell,
    /// After an interruption the panel has had the time to say that the car is still there.
    Seen,
    /// The door has been kept open for too long in total.
    Nudge,
    /// The attendant has not sent the car off for too long.
    Attendant,
    /// The stay at the floor of the priority call, or of the session, is over.
    Priority,
    /// An obstruction or an overload has held the door for too long.
    DoorBlocked,
    /// The door has not obeyed a command for too long.
    DoorTravel,
    Overdue,
    /// A floor was not reached in time, or the motor did not stop in time (F9).
    Flight,
    Homing,
    DriveStart,
    DriveRetry,
    /// The car has been at rest for long enough to continue.
    Settle,
    UnreachableFloor,
    Park,
    /// The light and the fan go off.
    Light,
}
