//! The operating states of a car, and its transitions.

use elevator_driver::{Direction, DoorCommand, DoorState, DriveFeedback, Floor, MotorCommand};

use super::Car;
use super::door::DoorCycle;
use super::event::CarEvent;
use super::flight::{Flight, Homing};
use super::supervision::{FoundBy, Missed};
use crate::dispatch::StopSet;
use crate::model::{HangCause, Mode, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// The operating state of a car.
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
/// ```
///
/// A drive that does not start leads to Settling, like one that stops short;
/// [`supervision`](super::supervision) decides what follows from such faults. `Hung` and `ShutDown`
/// (from anywhere) are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperatingState {
    NoPanel,
    /// The panel answers, but its sensors have not been read yet.
    Connecting,
    /// Motor off, waiting to be seen at rest for a while. The drive's motion is unknown.
    Settling {
        halt: Halt,
        /// When the car will have been at rest for long enough, or `None` while it is not at rest,
        /// the stop switch is pulled, or the door is open between floors.
        until: Option<Timestamp>,
    },
    Homing {
        direction: Direction,
        homing: Homing,
        /// The flight that led here, until it is classified.
        missed: Option<Missed>,
    },
    /// At rest at a floor with the door closed.
    Idle {
        after: Closed,
    },
    Moving {
        direction: Direction,
        stop_at: Floor,
        flight: Flight,
    },
    AtDoor(DoorCycle),
    /// The drive can't be trusted: an operator has to check it.
    Hung,
    ShutDown {
        /// The last door command: an open door may stay open.
        door: DoorCommand,
    },
}

/// The cause of an unplanned stop, which determines where to look for a floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Halt {
    /// Stop switch, a new panel, a voided flight.
    Unplanned,
    /// The drive ended a flight elsewhere than at the sensor of its stop.
    Missed(Missed),
    /// Homing in this direction ended without a floor.
    Unfound { direction: Direction, missed: Option<Missed> },
}

impl Halt {
    /// The flight that is not classified yet.
    fn missed(self) -> Option<Missed> {
        match self {
            Self::Unplanned => None,
            Self::Missed(missed) => Some(missed),
            Self::Unfound { missed, .. } => missed,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    Freely,
    /// By nudging: the door does not open again here while there is a stop elsewhere.
    Nudged,
}

impl OperatingState {
    pub(super) fn halted(halt: Halt) -> Self {
        Self::Settling { halt, until: None }
    }

    /// The commands for motor and door, subject to safety (S1).
    pub(super) fn commands(self) -> (MotorCommand, DoorCommand) {
        let motor = match self {
            Self::Moving { direction, stop_at, .. } => MotorCommand::Run { direction, stop_at },
            Self::Homing { direction, .. } => MotorCommand::Home { direction },
            Self::AtDoor(cycle) => return (MotorCommand::Stop, cycle.command()),
            Self::ShutDown { door } => return (MotorCommand::Stop, door),
            Self::NoPanel
            | Self::Connecting
            | Self::Settling { .. }
            | Self::Idle { .. }
            | Self::Hung => MotorCommand::Stop,
        };
        (motor, DoorCommand::Close)
    }

    pub(super) fn is_driving(self) -> bool {
        self.commands().0 != MotorCommand::Stop
    }

    /// Whether passengers at the landings are shown the direction of the car.
    pub(super) fn announces(self) -> bool {
        matches!(self, Self::Moving { .. } | Self::AtDoor(_))
    }

    pub(super) fn is_unseen(self) -> bool {
        matches!(self, Self::NoPanel | Self::Connecting)
    }

    /// Whether the car stays as it is until the process ends.
    pub(super) fn is_final(self) -> bool {
        matches!(self, Self::Hung | Self::ShutDown { .. })
    }
}

impl Car {
    /// The next state according to what is known now; the same one if nothing is due.
    pub(super) fn step(&mut self, now: Timestamp) -> OperatingState {
        match self.state {
            OperatingState::NoPanel
            | OperatingState::Connecting
            | OperatingState::Hung
            | OperatingState::ShutDown { .. } => self.state,
            OperatingState::Settling { halt, until } => self.step_settling(halt, until, now),
            OperatingState::Homing { direction, homing, missed } => {
                self.step_homing(direction, homing, missed, now)
            }
            OperatingState::Idle { after } => self.step_idle(after, now),
            OperatingState::Moving { direction, stop_at, flight } => {
                self.step_moving(direction, stop_at, flight, now)
            }
            OperatingState::AtDoor(cycle) => self.step_door(cycle, now),
        }
    }

    fn step_settling(
        &mut self,
        halt: Halt,
        until: Option<Timestamp>,
        now: Timestamp,
    ) -> OperatingState {
        let at_rest = self.inputs.drive == DriveFeedback::Stopped;
        let closed = self.inputs.door == DoorState::Closed;
        let limit = self.settings.flight_limit;
        if !at_rest && self.supervision.defied.total(now) >= limit {
            return self.hang(None, self.older, HangCause::NotStopped, now);
        }
        // If the door is open between floors, all that is left is to wait; likewise for power.
        let may_search = closed && self.has_power();
        if self.inputs.stop || !at_rest || (self.inputs.floor.is_none() && !may_search) {
            return OperatingState::halted(halt);
        }
        let Some(until) = until else {
            return OperatingState::Settling { halt, until: Some(now + self.settings.settle) };
        };
        if now < until {
            return self.state;
        }
        match self.inputs.floor {
            // If the door is not closed, somebody may stand in it: it opens, dwells and closes.
            Some(floor) => self.locate(floor, halt.missed(), FoundBy::Standstill, now),
            None if self.back_off().is_some() => {
                OperatingState::Settling { halt, until: self.back_off() }
            }
            None => OperatingState::Homing {
                direction: self.home_direction(halt, now),
                homing: Homing::Starting { since: now },
                missed: halt.missed(),
            },
        }
    }

    fn step_idle(&mut self, after: Closed, now: Timestamp) -> OperatingState {
        let at_rest = self.inputs.drive == DriveFeedback::Stopped;
        let Some(floor) = self.inputs.floor.filter(|_| at_rest) else {
            return self.lose_floor(now);
        };
        if self.inputs.stop && !is_seeded(SeededBug::StopSwitchIgnored) {
            return self.state;
        }
        let is_open =
            self.inputs.door != DoorState::Closed && !is_seeded(SeededBug::RunsWithOpenDoor);
        let sweep = self.sweep();
        let departure = self.next_departure(&sweep, floor, now);
        let asked_for = self.door_asked_for(floor);
        let waits = if self.mode() == Mode::Attendant {
            departure.is_none() || self.is_overloaded()
        } else if self.mode() == Mode::FireService {
            // A door opens on a fire floor only for somebody who asks for it, or who asks to leave
            // with too many.
            match self.inputs.door_buttons {
                Some(_) => asked_for.is_some() || self.fire_call.is_some() && self.is_overloaded(),
                None => {
                    self.fire_call.is_some_and(|stop| stop.floor == floor || self.is_overloaded())
                }
            }
        } else {
            self.holds_open(floor, self.door_at(floor))
        };
        // One that is held since before the car was at rest counts; one that is stuck until it
        // nudged does not.
        let is_wanted = after == Closed::Freely && asked_for.is_some() && self.may_let_out();
        if is_open || (waits || is_wanted) && self.serves(floor) {
            let by_hand = is_wanted || self.mode() == Mode::FireService;
            let door = asked_for.filter(|_| by_hand && !is_open);
            let door = door.unwrap_or_else(|| self.door_at(floor));
            return OperatingState::AtDoor(DoorCycle::begin(floor, door, now));
        }
        let may_open = match after {
            Closed::Freely => true,
            Closed::Nudged => departure.is_none(),
        };
        let announced = sweep.announce(floor, self.first_direction(), self.older);
        if may_open && sweep.opens_at(floor, announced) {
            self.head(announced);
            return self.open(floor, now);
        }
        let Some((direction, stop_at)) = departure else {
            // Passengers who wait for the end of a back-off still travel in the same direction.
            if self.back_off().is_none() {
                self.head(None);
            }
            return self.state;
        };
        if !self.has_power() {
            return self.state;
        }
        self.head(Some(direction));
        self.supervision.strikes.settle();
        self.events.push_back(CarEvent::Departed);
        OperatingState::Moving { direction, stop_at, flight: Flight::Starting { since: now } }
    }

    /// Where the car goes from `floor`: to its stops, or without any to where it is to wait. After
    /// a fault of its drive it stays for a while, and then goes at least to the next floor, to
    /// prove that it can. It also leaves a floor that it does not serve, so that its riders get
    /// out, unless somebody drives it.
    pub(super) fn next_departure(
        &self,
        sweep: &StopSet,
        floor: Floor,
        now: Timestamp,
    ) -> Option<(Direction, Floor)> {
        if self.back_off().is_some() {
            return None;
        }
        let departure = sweep.departure(floor, self.first_direction(), self.older);
        let proves = self.supervision.strikes.is_proving() && self.mode() == Mode::InService;
        let is_driven = self.is_switched_off() || self.mode() == Mode::FireService;
        let leaves = proves || !is_driven && !self.serves(floor);
        departure
            .or_else(|| leaves.then(|| self.proving_run(floor)).flatten())
            .or_else(|| self.parking_departure(floor, now))
    }

    /// To the nearest floor that is not locked out; of two, the one in the last direction.
    fn proving_run(&self, floor: Floor) -> Option<(Direction, Floor)> {
        let floors = self.settings.floors.floors();
        floors
            .filter(|stop_at| !self.leaves_out(*stop_at))
            .filter_map(|stop_at| Some((floor.direction_to(stop_at)?, stop_at)))
            .min_by_key(|(direction, stop_at)| (floor.distance(*stop_at), *direction != self.older))
    }

    /// Until when the car does not use a faulty drive. In a fire it does not wait.
    fn back_off(&self) -> Option<Timestamp> {
        let until = self.supervision.strikes.until();
        until.filter(|_| self.mode() < Mode::FireRecall)
    }

    /// The car has come to rest at a floor. A door that is not closed is opened first.
    pub(super) fn arrive(&mut self, floor: Floor, now: Timestamp) -> OperatingState {
        if self.mode() == Mode::FireService {
            self.fire_call = self.fire_call.filter(|stop| stop.floor != floor);
            return OperatingState::Idle { after: Closed::Freely };
        }
        // Passengers get off a car that may not continue for a while.
        let is_detained = self.supervision.strikes.until().is_some() || self.is_switched_off();
        if is_detained && self.serves(floor) {
            return self.open(floor, now);
        }
        OperatingState::Idle { after: Closed::Freely }
    }

    pub(super) fn open(&self, floor: Floor, now: Timestamp) -> OperatingState {
        OperatingState::AtDoor(DoorCycle::begin(floor, self.door_at(floor), now))
    }

    /// Sets the direction in which the car collects, or `None` when it may turn either way.
    pub(super) fn head(&mut self, direction: Option<Direction>) {
        self.direction = direction;
        self.older = direction.unwrap_or(self.older);
    }

    /// Where to look for a floor. A floor that was missed is locked out until it is judged.
    fn home_direction(&mut self, halt: Halt, now: Timestamp) -> Direction {
        match halt {
            Halt::Unplanned => self.settings.home_direction,
            Halt::Missed(Missed { stop_at, direction, .. }) => {
                self.lock_out(stop_at, now);
                match self.settings.floors.next(stop_at, direction) {
                    Some(_) => direction,
                    None => direction.opposite(),
                }
            }
            Halt::Unfound { direction, .. } => direction.opposite(),
        }
    }
}
