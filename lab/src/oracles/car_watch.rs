//! What is seen of each car from outside: how long its motor is driven without progress, and where
//! its riders want to go.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{
    Direction, DoorState, DriveFeedback, Floor, HallLantern, MotorCommand, PanelOutputs,
};
use elevator_fleet::model::{Call, Dot};

use super::Finding;
use super::cars::no_rider_is_carried_away;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// One car, as somebody sees it who knows its sensors, its commands and its faults.
#[derive(Debug, Default)]
pub(crate) struct CarWatch {
    /// How long the motor has been driven without a new floor since the last interruption.
    pub(crate) driven: Duration,
    /// The same with all interruptions since the last new floor.
    pub(crate) driven_in_all: Duration,
    /// The car has looked for a floor since the last new floor.
    pub(crate) homed: bool,
    /// Until when the time has been counted, while the motor is driven as commanded.
    counted_until: Option<Duration>,
    /// The last floor whose sensor was active. That of the stop counts once the car rests there: who
    /// goes on past it was told a lie.
    last: Option<Floor>,
    /// The last floor that was new. It is so once, however long the car sticks there.
    reached: Option<Floor>,
    /// The car has left that floor.
    away: bool,
    /// There has been a fault that a hang may follow from, and since then no run has ended at its
    /// stop.
    pub(crate) suspect: bool,
    /// Where the riders want to go who have been told that the car goes their way.
    pub(crate) riders: Option<Riders>,
    /// When its door was last not closed at a floor, with its lantern lit in a direction.
    opened: BTreeMap<(Floor, Direction), Duration>,
}

/// Riders whose floors are ahead of the car.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Riders {
    pub(crate) direction: Direction,
    pub(crate) calls: BTreeMap<Dot, Floor>,
}

impl CarWatch {
    /// When its door was last not closed at a floor, with its lantern lit in a direction. Where a sensor
    /// reports another floor, at both.
    pub(crate) fn opened(&self) -> &BTreeMap<(Floor, Direction), Duration> {
        &self.opened
    }

    fn note_door(&mut self, machine: &Machine, now: Duration) {
        let (car, shaft) = (&machine.car, machine.car.shaft());
        if let Some(direction) = car.lantern().filter(|_| car.inputs().door != DoorState::Closed) {
            let floors = [shaft.floor(), shaft.sensed_floor()].into_iter().flatten();
            self.opened.extend(floors.map(|floor| ((floor, direction), now)));
        }
    }

    /// A new controller knows nothing of what was before.
    pub(crate) fn start_over(&mut self) {
        *self = Self { suspect: self.suspect, ..Self::default() };
    }

    /// Nobody knows what the car does meanwhile (H1).
    pub(crate) fn interrupt(&mut self) {
        self.driven = Duration::ZERO;
        self.riders = None;
    }

    fn reach_new_floor(&mut self, floor: Floor) {
        self.reached = Some(floor);
        self.driven = Duration::ZERO;
        self.driven_in_all = Duration::ZERO;
        self.homed = false;
        self.away = false;
    }

    /// The car stands here with its drive off. That counts unless it has been here all the time.
    fn rest(&mut self, floor: Floor) {
        if self.away || self.last != Some(floor) {
            self.reach_new_floor(floor);
        }
    }

    /// Counts how long the motor has been driven, and sees what the floor sensors say.
    pub(crate) fn look(&mut self, machine: &Machine, now: Duration) {
        self.note_door(machine, now);
        let command = machine.motor_command();
        let (floor, drive) = (machine.reported.floor, machine.reported.drive);
        let broken = machine.may_hang();
        self.suspect |= broken;
        self.away |= floor.is_none();
        let resting = floor.filter(|_| drive == DriveFeedback::Stopped);
        if let Some(until) = self.counted_until.take() {
            // The node counts by its own clock.
            let passed = now.saturating_sub(until) * machine.clock_rate / 1_000;
            self.driven += passed;
            self.driven_in_all += passed;
            // Its turn is over in the middle of a flight: that interrupts it like a stop switch.
            if command == MotorCommand::Stop && machine.waits_for_its_turn() {
                self.interrupt();
            }
        }
        // The next command may come in the moment in which the car is seen at rest.
        if let Some(floor) = resting {
            self.rest(floor);
        }
        match command {
            MotorCommand::Stop => {
                self.last = floor.or(self.last);
                return;
            }
            MotorCommand::Run { direction, stop_at } => {
                let new = |floor: &Floor| {
                    let is_beyond = |last: Floor| floor.is_beyond(last, direction);
                    self.last.is_none_or(is_beyond)
                };
                let is_new = |floor: &Floor| new(floor) && self.reached != Some(*floor);
                if let Some(floor) = floor.filter(is_new) {
                    self.reach_new_floor(floor);
                }
                if resting == Some(stop_at) {
                    self.reach_new_floor(stop_at);
                    self.suspect &= broken;
                }
                let passed = floor.filter(|floor| *floor != stop_at || resting.is_some());
                self.last = passed.or(self.last);
            }
            MotorCommand::Home { .. } => {
                self.homed = true;
                self.last = floor.or(self.last);
            }
        }
        if drive != DriveFeedback::Stopped {
            self.counted_until = Some(now);
        }
    }

    /// Takes note of the riders who are shown where the car goes; S3 of those who were before.
    pub(crate) fn look_at_riders(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        outputs: &PanelOutputs,
    ) -> Vec<Finding> {
        if let MotorCommand::Home { .. } = outputs.motor {
            self.riders = None;
            return Vec::new();
        }
        let heading = match (outputs.motor, outputs.lantern) {
            (MotorCommand::Run { direction, .. }, _) | (_, HallLantern::Lit(direction)) => {
                direction
            }
            (MotorCommand::Stop | MotorCommand::Home { .. }, HallLantern::Dark) => {
                return Vec::new();
            }
        };
        let riders = self.riders.as_ref();
        let findings =
            riders.map(|riders| no_rider_is_carried_away(snapshot, node, riders, heading));
        let machine = &snapshot.machines[node];
        if let (Some(process), Some(at)) = (&machine.process, outputs.indicator) {
            let ahead = process.node.orders().orders().filter_map(|order| {
                let Call::Car { car, floor } = &order.call else {
                    return None;
                };
                let is_ahead = *car == machine.name && floor.is_beyond(at, heading);
                is_ahead.then_some((order.dot, *floor))
            });
            let calls: BTreeMap<Dot, Floor> = ahead.collect();
            let direction = heading;
            self.riders = (!calls.is_empty()).then_some(Riders { direction, calls });
        }
        findings.into_iter().flatten().collect()
    }
}
