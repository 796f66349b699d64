//! The states of a car, and the way from one to the next.

use elevator_driver::{
    Direction, DoorCommand, DoorState, DriveFeedback, Floor, KeySwitch, MotorCommand,
};

use super::Car;
use super::door::DoorCycle;
use super::event::CarEvent;
use super::flight::Flight;
use crate::model::Timestamp;

/// What a car is doing.
///
/// ```text
///            Disconnected (from anywhere below)
///                 │          Connected (likewise)
///                 ▼              ▼
///             NoPanel ───► Connecting
///                                │ Inputs
///                                ▼        at rest between floors
///    ┌────────────────────► Settling ◄─────────────────────► Homing ──┐
///    │ stop switch,          │    ▲                            │      │
///    │ stop at another floor │    │ sensor lost                │      │ past the
///    │                       ▼    │            found a floor   │      │ deadline
///    │         ┌───────────► Idle ◄────────────────────────────┘      ▼
///    │ door    │             │  │  ▲                                 Hung
///    │ closed  │  call here  │  │  │ came to rest                     ▲
///    │         └── AtDoor ◄──┘  │  │ at the stop                      │
///    │                          ▼  │                                  │
///    └────────────────────────  Moving  ──────────────────────────────┘
///                                 │ the drive does not start (nor when homing)
///                                 ▼
///                            DriveRefused ───► Settling, after a while
/// ```
///
/// `Hung` and `ShutDown` (from anywhere) are never left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The panel does not answer.
    NoPanel,
    /// The panel answers, and its sensors have not been read.
    Connecting,
    /// Motor off, waiting to be seen at rest for a while: nothing is known of what the drive still
    /// does.
    Settling {
        halt: Halt,
        /// When the car will have been at rest for long enough, or `None` while it is not at rest,
        /// the stop switch is pulled, or the door is open between floors.
        until: Option<Timestamp>,
    },
    /// Looking for a floor.
    Homing {
        direction: Direction,
        flight: Flight,
    },
    /// At rest at a floor with the door closed.
    Idle { after: Closed },
    /// On the way to a floor.
    Moving {
        direction: Direction,
        stop_at: Floor,
        flight: Flight,
    },
    /// At a floor, the door on its way open, open, or on its way closed.
    AtDoor(DoorCycle),
    /// The drive did not start when told to.
    DriveRefused { until: Timestamp },
    /// A floor was not reached in time.
    Hung,
    /// The controller is about to end.
    ShutDown {
        /// The door was to be open, and may stay so.
        door: DoorCommand,
    },
}

/// What led to a stop that was not planned, for it says where to look for a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// Stop switch, a new panel, a voided flight.
    Unplanned,
    /// The drive ended a flight elsewhere than at this floor's sensor.
    Missed {
        stop_at: Floor,
        direction: Direction,
    },
    /// Homing ended without a floor.
    Unfound { direction: Direction },
}

/// How the door came to be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// As usual.
    Freely,
    /// By nudging: it doesn't open again here while there is a stop elsewhere, or presses could
    /// hold the car for ever.
    Nudged,
}

impl State {
    pub(super) fn halted(halt: Halt) -> Self {
        Self::Settling { halt, until: None }
    }

    /// What motor and door are to do, as far as it is safe (S1).
    pub(super) fn commands(self) -> (MotorCommand, DoorCommand) {
        let motor = match self {
            Self::Moving {
                direction, stop_at, ..
            } => MotorCommand::Run { direction, stop_at },
            Self::Homing { direction, .. } => MotorCommand::Home { direction },
            Self::AtDoor(cycle) => return (MotorCommand::Stop, cycle.command()),
            Self::ShutDown { door } => return (MotorCommand::Stop, door),
            Self::NoPanel
            | Self::Connecting
            | Self::Settling { .. }
            | Self::Idle { .. }
            | Self::DriveRefused { .. }
            | Self::Hung => MotorCommand::Stop,
        };
        (motor, DoorCommand::Close)
    }

    /// The motor is to run.
    pub(super) fn is_driving(self) -> bool {
        self.commands().0 != MotorCommand::Stop
    }

    /// Those at the landings are told where the car goes.
    pub(super) fn announces(self) -> bool {
        matches!(self, Self::Moving { .. } | Self::AtDoor(_))
    }

    /// Nothing has been heard of the car yet.
    pub(super) fn is_unseen(self) -> bool {
        matches!(self, Self::NoPanel | Self::Connecting)
    }

    /// The car stays as it is until the process ends.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Hung | Self::ShutDown { .. })
    }
}

impl Car {
    /// The state that follows from what is known at this moment; the same one if nothing is due.
    pub(super) fn step(&mut self, now: Timestamp) -> State {
        match self.state {
            State::NoPanel | State::Connecting | State::Hung | State::ShutDown { .. } => self.state,
            State::Settling { halt, until } => self.step_settling(halt, until, now),
            State::Homing { direction, flight } => self.step_homing(direction, flight, now),
            State::Idle { after } => self.step_idle(after, now),
            State::Moving {
                direction,
                stop_at,
                flight,
            } => self.step_moving(direction, stop_at, flight, now),
            State::AtDoor(cycle) => self.step_door(cycle, now),
            State::DriveRefused { until } => {
                if now < until {
                    return self.state;
                }
                State::halted(Halt::Unplanned)
            }
        }
    }

    fn step_settling(&mut self, halt: Halt, until: Option<Timestamp>, now: Timestamp) -> State {
        let at_rest = self.inputs.drive == DriveFeedback::Stopped;
        let closed = self.inputs.door == DoorState::Closed;
        // With a door that is open between floors there is nothing to do but to wait.
        if self.inputs.stop || !at_rest || (self.inputs.floor.is_none() && !closed) {
            return State::halted(halt);
        }
        let Some(until) = until else {
            return State::Settling {
                halt,
                until: Some(now + self.settings.settle),
            };
        };
        if now < until {
            return self.state;
        }
        match self.inputs.floor {
            Some(floor) if closed => self.arrive(floor, now),
            // Somebody may stand in it: it opens, dwells and closes like any other.
            Some(floor) => State::AtDoor(DoorCycle::begin(floor, now)),
            None => State::Homing {
                direction: self.home_direction(halt, now),
                flight: Flight::begin(now),
            },
        }
    }

    fn step_idle(&mut self, after: Closed, now: Timestamp) -> State {
        let at_rest = self.inputs.drive == DriveFeedback::Stopped;
        let Some(floor) = self.inputs.floor.filter(|_| at_rest) else {
            return State::halted(Halt::Unplanned);
        };
        if self.inputs.stop {
            return self.state;
        }
        if self.inputs.door != DoorState::Closed || self.holds_open(floor) {
            return State::AtDoor(DoorCycle::begin(floor, now));
        }
        let plan = self.plan();
        let departure = plan.departure(floor, self.direction, self.older);
        let may_open = match after {
            Closed::Freely => true,
            Closed::Nudged => departure.is_none(),
        };
        let announced = plan.announce(floor, self.direction, self.older);
        if may_open && plan.opens_at(floor, announced) {
            self.head(announced);
            return State::AtDoor(DoorCycle::begin(floor, now));
        }
        let Some((direction, stop_at)) = departure else {
            self.head(None);
            return self.state;
        };
        self.head(Some(direction));
        self.events.push_back(CarEvent::Departed {
            from: floor,
            direction,
            stop_at,
        });
        State::Moving {
            direction,
            stop_at,
            flight: Flight::begin(now),
        }
    }

    /// The car has come to rest at a floor with its door closed.
    pub(super) fn arrive(&mut self, floor: Floor, now: Timestamp) -> State {
        self.events.push_back(CarEvent::Arrived(floor));
        match self.inputs.key {
            // Whoever is in the car gets out here.
            KeySwitch::OutOfService => State::AtDoor(DoorCycle::begin(floor, now)),
            KeySwitch::Normal | KeySwitch::Independent | KeySwitch::FireRecall => State::Idle {
                after: Closed::Freely,
            },
        }
    }

    /// Sets the direction in which the car collects, or `None` when it may turn either way.
    pub(super) fn head(&mut self, direction: Option<Direction>) {
        self.direction = direction;
        self.older = direction.unwrap_or(self.older);
    }

    /// Where to look for a floor. A floor that was missed is left out for a while, or the car would
    /// try for it for ever.
    fn home_direction(&mut self, halt: Halt, now: Timestamp) -> Direction {
        match halt {
            Halt::Unplanned => self.settings.home_direction,
            Halt::Missed { stop_at, direction } => {
                self.skipped
                    .insert(stop_at, now + self.settings.unreachable_retry);
                self.events.push_back(CarEvent::FloorUnreachable(stop_at));
                match self.settings.floors.next(stop_at, direction) {
                    Some(_) => direction,
                    None => direction.opposite(),
                }
            }
            Halt::Unfound { direction } => direction.opposite(),
        }
    }
}
