//! One car: where it goes, when its door opens, what it may do, and when it counts as hung.
//!
//! [`Car`] is driven like everything in the brain: call a `handle_*` or `set_*` method, drain
//! [`poll_event`](Car::poll_event), pass the outputs to the panel, and wait until
//! [`poll_timeout`](Car::poll_timeout). It obeys the stop switch, the obstruction sensor and S1 by
//! itself. `state.rs` and `door.rs` have diagrams of its states.

mod buttons;
mod counters;
mod door;
mod event;
mod firefighter;
mod flight;
mod parking;
mod service;
mod settings;
mod special;
mod state;
mod supervision;
mod sweep;

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use elevator_driver::{
    Direction, DoorCommand, DriveFeedback, Entrance, Floor, HallLantern, MotorCommand, PanelEvent,
    PanelInputs,
};

pub use self::event::{CarEvent, CarTimer, ServedCall, SessionLeg};
pub use self::firefighter::FireKey;
pub use self::service::Press;
pub use self::settings::{CarSettings, Maintenance};
pub use self::special::{Errand, Power};
pub use crate::model::{FlightRecord, HangCause, HangEvidence, Leg, LegEnd};

use self::counters::Tally;
use self::door::Stage;
use self::special::Stay;
use self::state::OperatingState;
use self::supervision::{DoorHealth, Punctuality, Supervision};
use crate::dispatch::CarPlan;
use crate::model::{
    CarPhase, CarView, FloorSet, HallCall, Mode, Reason, Shut, Timestamp, Unavailable,
};
use crate::seeded::{SeededBug, is_seeded};

#[derive(Debug, Clone, Copy)]
pub struct Stops<'a> {
    pub car_calls: &'a BTreeSet<Entrance>,
    pub assigned: &'a BTreeSet<HallCall>,
    /// All open hall calls, whichever car they are assigned to.
    pub hall: &'a BTreeSet<HallCall>,
}

#[derive(Debug, Clone)]
pub struct Car {
    settings: CarSettings,
    inputs: PanelInputs,
    own_calls: BTreeSet<Entrance>,
    /// Of these, those that came while the car was out of service by command; `None` at first.
    late_calls: Option<BTreeSet<Entrance>>,
    assigned: BTreeSet<HallCall>,
    hall: BTreeSet<HallCall>,
    plan: CarPlan,
    command: Mode,
    errand: Option<Stay>,
    power: Power,
    fire_key: FireKey,
    /// In fire service, the floor that was asked for last: there the car goes, or its door is open.
    fire_call: Option<Entrance>,
    state: OperatingState,
    /// The last floor sensor seen since the panel was last connected.
    position: Option<Floor>,
    /// The direction in which the car collects, or `None` when it may turn either way.
    direction: Option<Direction>,
    older: Direction,
    supervision: Supervision,
    /// Nobody has used the car for long: its light and fan are off.
    is_dark: bool,
    tally: Tally,
    events: VecDeque<CarEvent>,
    /// Why no hall call may be assigned to it, as was last reported; `None` where one may.
    reported: Option<Reason>,
    phase: CarPhase,
    phase_since: Timestamp,
}

impl Car {
    /// The most transitions on one input, with a reserve. More would be a cycle.
    const TRANSITIONS: usize = 16;

    #[must_use]
    pub fn new(settings: CarSettings) -> Self {
        Self {
            older: settings.home_direction,
            settings,
            inputs: PanelInputs::default(),
            own_calls: BTreeSet::new(),
            late_calls: None,
            assigned: BTreeSet::new(),
            hall: BTreeSet::new(),
            plan: CarPlan::default(),
            command: Mode::default(),
            errand: None,
            power: Power::default(),
            fire_key: FireKey::default(),
            fire_call: None,
            state: OperatingState::NoPanel,
            position: None,
            direction: None,
            supervision: Supervision::default(),
            is_dark: false,
            tally: Tally::default(),
            events: VecDeque::new(),
            reported: Some(Reason::Other(Unavailable::NoPanel)),
            phase: CarPhase::Idle,
            phase_since: Timestamp::START,
        }
    }

    /// Restores what an earlier process has learned, from the records of
    /// [`CarEvent::FlightLearned`]. Records that don't fit the shaft are ignored.
    #[must_use]
    pub fn with_flight_times(mut self, records: &[FlightRecord]) -> Self {
        self.supervision.times.restore(records, self.settings.floors);
        self
    }

    #[must_use]
    pub fn settings(&self) -> &CarSettings {
        &self.settings
    }

    /// The motor command: to run only with the door closed, and the stop switch off (S1).
    #[must_use]
    pub fn motor(&self) -> MotorCommand {
        if self.may_run() { self.state.commands().0 } else { MotorCommand::Stop }
    }

    /// The door command: open only while the drive is at rest and a floor sensor is active (S1).
    #[must_use]
    pub fn door(&self) -> DoorCommand {
        if let OperatingState::Moving { stop_at, .. } = self.state
            && self.inputs.floor == Some(stop_at)
            && is_seeded(SeededBug::DoorOpensBeforeStop)
        {
            return DoorCommand::Open;
        }
        let (_, wanted) = self.state.commands();
        match wanted {
            DoorCommand::Open | DoorCommand::OpenRear if !self.may_open() => DoorCommand::Close,
            DoorCommand::Open | DoorCommand::OpenRear | DoorCommand::Close | DoorCommand::Nudge => {
                wanted
            }
        }
    }

    /// The floor to show: where the car is, or which it last passed.
    #[must_use]
    pub fn indicator(&self) -> Option<Floor> {
        self.position
    }

    /// The direction in which the car goes, or will go once its door is closed; dark when idle.
    #[must_use]
    pub fn lantern(&self) -> HallLantern {
        match self.direction.filter(|_| self.state.announces()) {
            Some(direction) => HallLantern::Lit(direction),
            None => HallLantern::Dark,
        }
    }

    #[must_use]
    pub fn stop_lamp(&self) -> bool {
        self.inputs.stop
    }

    /// The floors that are locked out for a while: the car stopped there and no sensor responded.
    pub fn locked_out(&self) -> impl Iterator<Item = Floor> {
        self.supervision.locked_out.keys().copied()
    }

    /// Whether its door opens there. At other floors it may come to rest by chance only.
    fn serves(&self, floor: Floor) -> bool {
        !self.settings.unserved.contains(floor)
    }

    /// Whether it can't stop there, ever or for now.
    fn leaves_out(&self, floor: Floor) -> bool {
        !self.serves(floor) || self.supervision.is_locked_out(floor)
    }

    #[must_use]
    pub fn view(&self, now: Timestamp) -> CarView {
        CarView {
            availability: self.availability(),
            floor: self.position,
            phase: self.current_phase(),
            elapsed: now.since(self.phase_since),
            direction: self.direction,
            load: self.inputs.load,
            locked_out: self.locked_out().collect::<FloorSet>().union(&self.settings.unserved),
            mode: self.mode(),
            shut: Shut::default(),
        }
    }

    /// Handles an event of the panel. Of presses the node makes orders: [`absorbs`](Self::absorbs).
    pub fn handle_panel(&mut self, event: &PanelEvent, now: Timestamp) {
        match event {
            PanelEvent::Connected => self.start_over(OperatingState::Connecting, now),
            PanelEvent::Disconnected(_) => self.start_over(OperatingState::NoPanel, now),
            PanelEvent::Pressed(_)
            | PanelEvent::Requested(_)
            | PanelEvent::Alarm
            | PanelEvent::Refused(_) => return,
            PanelEvent::Inputs(inputs) => {
                let before = self.inputs.door_buttons;
                self.read(inputs, now);
                self.on_door_buttons(before, now);
            }
        }
        self.advance(now);
    }

    pub fn set_stops(&mut self, stops: Stops<'_>, now: Timestamp) {
        self.note_late_calls(stops.car_calls);
        self.own_calls.clone_from(stops.car_calls);
        self.assigned.clone_from(stops.assigned);
        self.hall.clone_from(stops.hall);
        // Parking is no order: a call ends it, and nobody resumes it.
        if !self.own_calls.is_empty() || !self.assigned.is_empty() {
            self.plan.park = None;
        }
        self.advance(now);
    }

    /// Sets what the master wants besides calls; [`set_stops`](Self::set_stops) has to follow.
    pub fn set_plan(&mut self, plan: CarPlan) {
        self.plan = plan;
    }

    /// Sets the commanded mode. The key switch may be more restrictive: see [`mode`](Self::mode).
    pub fn set_command(&mut self, command: Mode, now: Timestamp) {
        let before = self.mode();
        self.command = command;
        self.end_back_off_if_recalled(before);
        self.advance(now);
    }

    pub fn set_errand(&mut self, errand: Option<Errand>, now: Timestamp) {
        if self.errand.map(|stay| stay.errand) != errand {
            self.errand = errand.map(Stay::new);
            self.advance(now);
        }
    }

    pub fn set_power(&mut self, power: Power, now: Timestamp) {
        if self.power != power {
            self.power = power;
            self.advance(now);
        }
    }

    #[must_use]
    pub fn power(&self) -> Power {
        self.power
    }

    pub fn handle_timeout(&mut self, now: Timestamp) {
        self.advance(now);
    }

    /// The controller did not run for `late`, so what the car did is unknown. A flight is void
    /// (H1): the motor stops, and the car has to be seen at rest before it continues, because the
    /// panel's next reports may be old (S1). The door's times restart.
    pub fn handle_interrupted(&mut self, late: Duration, now: Timestamp) {
        self.supervision.defied.interrupt(late, now);
        self.tally.interrupt(late, now);
        if self.state.is_driving() {
            self.state = self.interrupted(late, now);
        } else if let OperatingState::AtDoor(cycle) = &mut self.state {
            *cycle = cycle.voided(now);
        }
        self.advance(now);
    }

    /// Stops the motor for good, because the controller is about to end. An open door stays open.
    pub fn shut_down(&mut self, now: Timestamp) {
        if self.state != OperatingState::Hung {
            let (_, door) = self.state.commands();
            self.state = OperatingState::ShutDown { door };
        }
        self.advance(now);
    }

    /// Whether it hung: then it stays so until the process ends.
    #[must_use]
    pub fn is_hung(&self) -> bool {
        self.state == OperatingState::Hung
    }

    pub fn poll_event(&mut self) -> Option<CarEvent> {
        self.events.pop_front()
    }

    /// When, and why, to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Timestamp, CarTimer)> {
        let due = match self.state {
            OperatingState::NoPanel
            | OperatingState::Connecting
            | OperatingState::Hung
            | OperatingState::ShutDown { .. } => None,
            OperatingState::Idle { .. } => self.parking_deadline(),
            OperatingState::Settling { until, .. } => {
                let limit = self.supervision.defied.deadline(self.settings.flight_limit);
                let settled = until.map(|until| (until, CarTimer::Settle));
                settled.or(limit.map(|at| (at, CarTimer::Flight)))
            }
            OperatingState::Homing { homing, .. } => self.homing_deadline(homing),
            OperatingState::Moving { stop_at, flight, .. } => self.flight_deadline(stop_at, flight),
            OperatingState::AtDoor(cycle) => {
                cycle.deadlines(self.supervision.door, &self.settings).min()
            }
        };
        let others = self.stay_deadline().into_iter().chain(self.light_deadline());
        due.into_iter().chain(others).chain(self.supervision.deadlines()).min()
    }

    /// The panel is new or gone: of the car only its passengers' destinations are known (H1, S3).
    fn start_over(&mut self, state: OperatingState, now: Timestamp) {
        if self.state.is_final() {
            return;
        }
        self.void_evidence(Duration::ZERO, now);
        self.supervision.defied.interrupt(Duration::ZERO, now);
        self.state = state;
        self.inputs = PanelInputs::default();
        self.position = None;
        self.fire_call = None;
        if self.own_calls.is_empty() {
            self.direction = None;
        }
    }

    fn read(&mut self, inputs: &PanelInputs, now: Timestamp) {
        let floors = self.settings.floors;
        let mode_before = self.mode();
        let before = std::mem::replace(&mut self.inputs, inputs.clone());
        self.inputs.floor = inputs.floor.filter(|floor| floors.contains(*floor));
        self.inputs.next_stop = inputs.next_stop.filter(|floor| floors.contains(*floor));
        let left = self.position;
        self.position = self.inputs.floor.or(left);
        let way = left.zip(self.position).map(|(from, to)| self.settings.way(from, to));
        let known = (!self.state.is_unseen()).then_some(&before);
        self.tally.observe(known, &self.inputs, way.unwrap_or_default(), now);
        self.review_maintenance();
        self.follow_key((!self.state.is_unseen()).then_some(before.key));
        self.supervision.observe_floor(self.inputs.floor);
        self.end_back_off_if_recalled(mode_before);
        if before.door != inputs.door {
            self.events.push_back(CarEvent::DoorChanged { to: inputs.door });
        }
        if self.state == OperatingState::Connecting {
            self.state = OperatingState::halted(state::Halt::Unplanned);
        }
    }

    /// In a fire the car does not wait for the end of a back-off.
    fn end_back_off_if_recalled(&mut self, before: Mode) {
        let is_recalled = self.mode() >= Mode::FireRecall && before < Mode::FireRecall;
        if let OperatingState::Settling { halt, .. } = self.state
            && is_recalled
        {
            self.state = OperatingState::halted(halt);
        }
    }

    /// Performs transitions until none is due, and reports the changes.
    fn advance(&mut self, now: Timestamp) {
        self.supervision.expire(now);
        if self.mode() != Mode::FireService {
            self.fire_call = None;
        }
        for _ in 0..Self::TRANSITIONS {
            self.watch_errand(now);
            let next = self.step(now);
            if next == self.state {
                break;
            }
            self.enter(next);
        }
        self.watch_errand(now);
        let (driven, defied) = (self.is_driven(), self.defies());
        self.supervision.progress.driven.observe(driven, now);
        self.supervision.defied.observe(defied, now);
        if !defied && !self.state.is_unseen() {
            self.supervision.defied.clear(now);
        }
        let phase = self.current_phase();
        if std::mem::discriminant(&phase) != std::mem::discriminant(&self.phase) {
            self.phase_since = now;
        }
        self.phase = phase;
        self.is_dark = self.light_off_at().is_some_and(|at| at <= now);
        let mode = self.mode();
        let reason = self.availability().unavailable().map(|why| Reason::in_mode(why, mode));
        if reason != self.reported {
            self.reported = reason;
            self.events.push_back(CarEvent::AvailabilityChanged(reason));
        }
    }

    /// Evidence of a fault counts only while the car is doing what showed it.
    fn enter(&mut self, next: OperatingState) {
        self.state = next;
        if !matches!(next, OperatingState::AtDoor(_)) {
            self.supervision.door = DoorHealth::Sound;
        }
        if !matches!(next, OperatingState::Moving { .. }) {
            self.supervision.flight = Punctuality::OnTime;
        }
    }

    /// Whether the panel reports the motor as driven, with or without a command.
    fn is_driven(&self) -> bool {
        let driven = self.inputs.drive != DriveFeedback::Stopped;
        (driven && self.state.is_driving()) || self.defies()
    }

    /// The panel reports the motor as driven despite a stop command; a mechanic may run it.
    fn defies(&self) -> bool {
        matches!(self.state, OperatingState::Settling { .. })
            && self.inputs.drive != DriveFeedback::Stopped
            && !self.is_switched_off()
    }

    fn current_phase(&self) -> CarPhase {
        match self.state {
            OperatingState::Moving { direction, stop_at, .. } => CarPhase::Moving {
                direction,
                stop_at,
                next_stop: self
                    .inputs
                    .next_stop
                    .or_else(|| self.settings.floors.next(self.position?, direction))
                    .unwrap_or(stop_at),
            },
            OperatingState::Homing { .. } => CarPhase::Homing,
            OperatingState::Settling { .. } if !self.has_power() => {
                // It waits for power, once it stands.
                match self.inputs.drive {
                    DriveFeedback::Stopped => CarPhase::Idle,
                    DriveFeedback::Driven(_) => CarPhase::Homing,
                }
            }
            OperatingState::Settling { .. } if self.inputs.floor.is_none() => CarPhase::Homing,
            OperatingState::AtDoor(cycle) => match cycle.stage {
                Stage::Opening { .. } => CarPhase::Opening,
                Stage::Open { .. } | Stage::Obstructed | Stage::Held | Stage::Attended { .. } => {
                    CarPhase::Open
                }
                Stage::Closing { .. } | Stage::Nudging { .. } => CarPhase::Closing,
            },
            OperatingState::NoPanel
            | OperatingState::Connecting
            | OperatingState::Settling { .. }
            | OperatingState::Idle { .. }
            | OperatingState::Hung
            | OperatingState::ShutDown { .. } => CarPhase::Idle,
        }
    }
}

#[cfg(test)]
mod tests;
