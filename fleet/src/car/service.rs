//! Service modes: which calls count, what keeps the door open, and what the group learns.

use std::collections::BTreeSet;

use elevator_driver::{DoorState, DriveFeedback, Entrance, Floor, KeySwitch, Side};

use super::Car;
use super::door::{DoorCycle, Stage};
use super::firefighter::FireKey;
use super::special::Stay;
use super::state::OperatingState;
use super::supervision::DoorHealth;
use crate::dispatch::StopSet;
use crate::model::{Availability, Mode, Timestamp, Unavailable};
use crate::seeded::{SeededBug, is_seeded};

/// How much of a text an indicator shows, in bytes.
const DISPLAY_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    Order,
    /// A command to the car, which it has obeyed or ignored; no order.
    Command,
}

impl Car {
    /// The service mode: the most restrictive one of key switch and command, in the order of
    /// [`Mode`]. *Out of service* by the key switch is above all of them, as a mechanic may be in the
    /// shaft (ASME A17.1, phase I; EN 81-73). A turn of the key to *fire recall* in a car that a
    /// command has recalled puts it into fire service (phase II): see `firefighter.rs`.
    #[must_use]
    pub fn mode(&self) -> Mode {
        if self.fire_key == FireKey::Drives {
            return Mode::FireService;
        }
        self.command.with_key(self.inputs.key)
    }

    /// Where the key switch stands; `None` while the panel has not said it.
    pub(crate) fn key_switch(&self) -> Option<KeySwitch> {
        (!self.state.is_unseen()).then_some(self.inputs.key)
    }

    /// Whether the key switch has taken the car out of service: a mechanic may run it.
    pub(super) fn is_switched_off(&self) -> bool {
        self.inputs.key == KeySwitch::OutOfService
    }

    /// The stops of the current service mode, without floors that can't be reached.
    pub(super) fn sweep(&self) -> StopSet {
        let opens = |at: &Entrance| self.settings.doors.contains_key(at);
        let floors = |calls: &BTreeSet<Entrance>| {
            calls.iter().filter(|call| opens(call)).map(|call| call.floor).collect()
        };
        let own = || -> BTreeSet<Floor> { floors(&self.own_calls) };
        let car_calls: BTreeSet<Floor> = match self.mode() {
            Mode::InService | Mode::Attendant | Mode::Independent => own(),
            // Riders on the way get off, and the car does not turn for those behind.
            Mode::Priority => own().into_iter().chain(self.errand.map(Stay::floor)).collect(),
            Mode::FireRecall | Mode::EmergencyPower => [self.settings.recall_floor].into(),
            Mode::FireService => self.fire_call.into_iter().map(|call| call.floor).collect(),
            Mode::OutOfService if self.is_switched_off() => BTreeSet::new(),
            Mode::OutOfService => floors(&self.timely_calls()),
        };
        // A car that still has to prove that it can run serves its own passengers only.
        let collects = matches!(self.mode(), Mode::InService | Mode::Attendant)
            && !self.is_full()
            && !self.supervision.strikes.is_out_of_group();
        let reachable =
            |floor: &Floor| self.settings.floors.contains(*floor) && !self.leaves_out(*floor);
        let stops = StopSet::of_car_calls(car_calls.into_iter().filter(reachable));
        let hall = self.assigned.iter().filter(|call| collects && reachable(&call.floor));
        let hall = hall.filter(|call| opens(&call.entrance()));
        hall.fold(stops, |stops, call| stops.with(*call))
    }

    /// Whether there is no room for more passengers, and somebody to take somewhere first.
    fn is_full(&self) -> bool {
        !self.own_calls.is_empty() && self.load_reaches(self.settings.bypass_load)
    }

    pub(super) fn is_overloaded(&self) -> bool {
        self.load_reaches(self.settings.overload)
    }

    fn load_reaches(&self, limit: u8) -> bool {
        self.inputs.load.is_some_and(|load| load >= limit)
    }

    /// Whether this door has to stay open at `floor` in the current conditions.
    pub(super) fn holds_open(&self, floor: Floor, door: Side) -> bool {
        let is_usual = self.usual_door(floor) == Some(door);
        let is_here = |call: Entrance| call.floor == floor;
        let by_mode = match self.mode() {
            Mode::InService | Mode::Attendant | Mode::OutOfService => false,
            // Until another floor is asked for.
            Mode::FireService => self
                .fire_call
                .is_none_or(|call| is_here(call) && self.settings.doors.get(&call) == Some(&door)),
            Mode::Independent => {
                self.sweep().car_calls().iter().all(|stop| stop == floor)
                    && self.servable(floor, door.other()).is_empty()
            }
            Mode::Priority => is_usual && self.errand.is_some_and(|stay| stay.floor() == floor),
            // Or at any floor, while the recall floor can't be reached.
            Mode::FireRecall | Mode::EmergencyPower => {
                let recall = self.settings.recall_floor;
                is_usual && floor == recall || self.leaves_out(recall)
            }
        };
        by_mode || self.is_overloaded()
    }

    pub(super) fn serves_car_calls(&self) -> bool {
        self.mode() < Mode::FireRecall
    }

    /// A button in the car was pressed. In some modes that is a command, beside an order or
    /// instead.
    #[must_use]
    pub fn handle_press(&mut self, entrance: Entrance, now: Timestamp) -> Press {
        let floor = entrance.floor;
        let press = match self.mode() {
            Mode::InService | Mode::Independent | Mode::FireRecall => Press::Order,
            Mode::Attendant => {
                self.leave_for(entrance, now);
                Press::Order
            }
            Mode::Priority => {
                self.end_stay(floor, now);
                Press::Order
            }
            // Its riders need not wait for its turn.
            Mode::EmergencyPower => {
                if !self.has_power() {
                    self.let_out(None, now);
                }
                Press::Order
            }
            // What is kept until the mechanic is done.
            Mode::OutOfService if self.is_switched_off() => Press::Order,
            Mode::OutOfService => {
                self.let_out(None, now);
                Press::Command
            }
            Mode::FireService => {
                if self.settings.floors.contains(floor) {
                    // Only the door buttons, where there are any, open the door: the button of this
                    // floor cancels the call to another.
                    let is_here = self.inputs.floor == Some(floor) && !self.state.is_driving();
                    let is_cancelled = is_here && self.inputs.door_buttons.is_some();
                    self.fire_call = (!is_cancelled).then_some(entrance);
                }
                Press::Command
            }
        };
        self.advance(now);
        press
    }

    /// Whether a car call for this car makes an order in its present mode.
    pub(crate) fn takes_car_calls(&self) -> bool {
        let mode = self.mode();
        mode != Mode::FireService && (mode != Mode::OutOfService || self.is_switched_off())
    }

    /// The attendant's command to close the door and go.
    fn leave_for(&mut self, to: Entrance, now: Timestamp) {
        if let OperatingState::AtDoor(cycle) = self.state
            && cycle.is_attended()
            && (cycle.floor != to.floor || self.settings.doors.get(&to) != Some(&cycle.side))
        {
            self.state = OperatingState::AtDoor(cycle.dismissed(now));
        }
    }

    /// Nobody is locked into a car that is out of service. Opens this door, or any. While the other
    /// one is open, this one opens next.
    pub(super) fn let_out(&mut self, door: Option<Side>, now: Timestamp) {
        match (self.state, self.inputs.floor) {
            (OperatingState::Idle { .. }, Some(floor)) if self.may_open() && self.serves(floor) => {
                let door = door.unwrap_or_else(|| self.door_at(floor));
                let is_free = self.inputs.door == DoorState::Closed || self.inputs.side == door;
                if is_free && self.opens(floor, door) {
                    self.state = OperatingState::AtDoor(DoorCycle::begin(floor, door, now));
                }
            }
            (OperatingState::AtDoor(cycle), Some(_)) => {
                let is_this = door.is_none_or(|door| door == cycle.side);
                let next = if is_this {
                    cycle.reopened(now)
                } else if cycle.is_attended() && self.opens(cycle.floor, cycle.side.other()) {
                    cycle.dismissed(now).asked_for_other()
                } else {
                    cycle.asked_for_other()
                };
                self.state = OperatingState::AtDoor(next);
            }
            _ => {}
        }
    }

    /// The car calls have changed. While an operator has taken the car out of service, those that
    /// come from a node which has not heard of it are kept, and served once the mode ends.
    pub(super) fn note_late_calls(&mut self, car_calls: &BTreeSet<Entrance>) {
        // Those of an earlier process are in time: passengers may be in the car.
        let Some(late) = self.late_calls.as_mut() else {
            self.late_calls = Some(BTreeSet::new());
            return;
        };
        late.retain(|call| car_calls.contains(call));
        if self.command == Mode::OutOfService {
            late.extend(car_calls.difference(&self.own_calls));
        } else {
            late.clear();
        }
    }

    /// The car calls from before the car was taken out of service.
    fn timely_calls(&self) -> BTreeSet<Entrance> {
        let late = self.late_calls.clone().unwrap_or_default();
        self.own_calls.difference(&late).copied().collect()
    }

    /// The hall calls as an attendant is shown them: those of this car, else all.
    pub(crate) fn calls_for_attendant(&self) -> Option<String> {
        if self.mode() != Mode::Attendant {
            return None;
        }
        let calls = if self.assigned.is_empty() { &self.hall } else { &self.assigned };
        calls.iter().map(|call| format!("{} {}", call.entrance(), call.direction)).reduce(
            |text, next| {
                let longer = format!("{text}, {next}");
                if longer.len() > DISPLAY_BYTES { text } else { longer }
            },
        )
    }

    pub(super) fn may_run(&self) -> bool {
        let is_closed =
            self.inputs.door == DoorState::Closed || is_seeded(SeededBug::RunsWithOpenDoor);
        is_closed
            && self.has_power()
            && (!self.inputs.stop || is_seeded(SeededBug::StopSwitchIgnored))
    }

    pub(super) fn may_open(&self) -> bool {
        self.inputs.drive == DriveFeedback::Stopped && self.inputs.floor.is_some()
    }

    pub(crate) fn availability(&self) -> Availability {
        self.hindrance().map_or(Availability::InService, Availability::Unavailable)
    }

    fn hindrance(&self) -> Option<Unavailable> {
        // The nearest that messages can name; `Reason` has the mode.
        let by_mode = || self.mode().unavailable();
        let by_inputs = self.inputs.stop.then_some(Unavailable::Stopped).or_else(by_mode);
        let by_place = match self.state {
            OperatingState::Hung => return Some(Unavailable::Hung),
            OperatingState::ShutDown { .. } => return Some(Unavailable::OutOfService),
            OperatingState::NoPanel | OperatingState::Connecting => {
                return Some(Unavailable::NoPanel);
            }
            OperatingState::Homing { .. } => Some(Unavailable::Homing),
            OperatingState::Settling { until, .. }
                if self.inputs.floor.is_none() || until.is_none() =>
            {
                Some(Unavailable::Homing)
            }
            OperatingState::AtDoor(cycle) => match self.supervision.door {
                DoorHealth::Sound if cycle.stage == Stage::UNATTENDED => {
                    Some(Unavailable::Independent)
                }
                DoorHealth::Sound => None,
                DoorHealth::Blocked => Some(Unavailable::DoorBlocked),
            },
            OperatingState::Settling { .. }
            | OperatingState::Idle { .. }
            | OperatingState::Moving { .. } => None,
        };
        by_inputs.or(self.supervision.hindrance()).or(by_place)
    }
}
