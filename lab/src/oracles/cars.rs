//! S1 to S3, H1, H5, H6: no car moves as it must not, and one that gets nowhere counts as hung.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{
    Direction, DoorState, DriveFeedback, Floor, HallLantern, KeySwitch, MotorCommand, PanelOutputs,
};
use elevator_fleet::car::CarSettings;
use elevator_fleet::model::{Call, Dot, Mode};
use elevator_fleet::node::Node;

use super::{Finding, Violation};
use crate::machine::{Given, Line, Machine};
use crate::snapshot::Snapshot;

/// How long after its controller fell silent a car has stopped: the watchdog, and braking.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// How long a controller takes to obey the stop switch.
const STOP_WITHIN: Duration = Duration::from_millis(100);

/// A car counts as hung so soon after its limit, however often the drive starts and stops meanwhile.
const WITHIN: Duration = Duration::from_secs(1);

/// A motor may be driven without progress for this many times its limit, if it is interrupted all
/// the time.
const MOST_INTERRUPTED: u32 = 5;

/// S1: nobody asked for a motion with an open door, or for an open door in motion. The panels keep
/// the record.
pub(super) fn unsafe_cars(snapshot: &Snapshot) -> Vec<Violation> {
    let records = snapshot.machines.iter().flat_map(|machine| {
        machine.car.violations().iter().map(|violation| Violation {
            at: Duration::from_millis(violation.time_ms),
            id: "S1",
            what: format!("{}: {:?}", machine.name, violation.kind),
        })
    });
    records.collect()
}

/// S1, S2: a controller that knows of the stop switch commands no motion, and a panel without a
/// controller has stopped its motor.
pub(super) fn inspect(snapshot: &Snapshot, cars: &mut [CarWatch]) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        one_car_moves_on_emergency_power(snapshot).into_iter().collect();
    for (node, (machine, car)) in snapshot.machines.iter().zip(cars).enumerate() {
        car.look(machine, snapshot.now);
        findings.extend(car.hangs_without_progress(snapshot, node));
        if machine.car.inputs().stop && machine.motor_command() != MotorCommand::Stop {
            let drives = Finding::new("S1", node, "drives despite the stop switch");
            findings.push(drives.lasting(STOP_WITHIN));
        }
        if opens_onto_a_wall(machine) {
            findings.push(Finding::new("S1", node, "opens a door where the floor has none"));
        }
        let is_silent = |since| snapshot.now.saturating_sub(since) > STOPPED_WITHIN;
        if machine.silent_since.is_some_and(is_silent) && machine.car.shaft().driven().is_some() {
            findings.push(Finding::new("S2", node, "its motor runs without a controller"));
        }
    }
    findings
}

fn opens_onto_a_wall(machine: &Machine) -> bool {
    let node = machine.awake();
    let door = node.and_then(Node::outputs).and_then(|outputs| outputs.door.opens());
    let landings = node.map(|node| node.building().landings());
    let landing = machine.car.shaft().floor().map(|floor| usize::from(floor.index()));
    let landing = landings.zip(landing).and_then(|(all, floor)| all.get(floor));
    landing.zip(door).is_some_and(|(landing, door)| !landing.doors.contains(&door))
}

/// S1: on emergency power one motor runs at a time, of those whose nodes know of it.
fn one_car_moves_on_emergency_power(snapshot: &Snapshot) -> Option<Finding> {
    let runs = |machine: &&Machine| {
        let node = machine.awake().filter(|node| node.settings().emergency_power().is_some());
        let outputs = node.and_then(Node::outputs);
        outputs.is_some_and(|outputs| outputs.motor != MotorCommand::Stop)
    };
    let running: Vec<&str> =
        snapshot.machines.iter().filter(runs).map(|machine| machine.name.as_str()).collect();
    let what = || format!("{} move on emergency power", running.join(" and "));
    let is_wrong = running.len() > 1 && !snapshot.is_invalid("power");
    is_wrong.then(|| Finding::new("S1", 0, what()))
}

/// One car, as somebody sees it who knows its sensors, its commands and its faults.
#[derive(Debug, Default)]
pub(crate) struct CarWatch {
    progress: Progress,
    /// Until when the time has been counted, while the motor is driven as commanded.
    counted_until: Option<Duration>,
    /// The last floor whose sensor was active. That of the stop counts once the car rests there: who
    /// goes on past it was told a lie.
    last: Option<Floor>,
    /// There has been a fault that a hang may follow from, and since then no run has ended at its
    /// stop.
    pub(crate) suspect: bool,
    /// It hung, and nobody has cleared that.
    pub(crate) latched: bool,
    /// Where the riders want to go who have been told that the car goes their way.
    riders: Option<(Direction, BTreeMap<Dot, Floor>)>,
    /// What decided then where the car goes, besides its calls.
    ruled_by: (Mode, KeySwitch, Given),
    /// When its door was last not closed at a floor, with its lantern lit in a direction.
    pub(crate) opened: BTreeMap<(Floor, Direction), Duration>,
}

/// What a car has done since the last new floor.
#[derive(Debug, Default)]
struct Progress {
    /// That floor. It is new once, however long the car sticks there.
    reached: Option<Floor>,
    /// The car has left it.
    away: bool,
    /// How long the motor has been driven since the last interruption.
    driven: Duration,
    /// The same with all interruptions.
    driven_in_all: Duration,
    /// The car has looked for a floor.
    homed: bool,
}

impl CarWatch {
    /// A new controller knows nothing of what was before.
    pub(crate) fn start_over(&mut self) {
        *self = Self { suspect: self.suspect, latched: self.latched, ..Self::default() };
    }

    /// Nobody knows what the car does meanwhile (H1).
    pub(crate) fn interrupt(&mut self) {
        self.progress.driven = Duration::ZERO;
        self.riders = None;
    }

    fn reach_new_floor(&mut self, floor: Floor) {
        self.progress = Progress { reached: Some(floor), ..Progress::default() };
    }

    /// Counts how long the motor has been driven, and sees what door and floor sensors say.
    pub(crate) fn look(&mut self, machine: &Machine, now: Duration) {
        let (car, shaft) = (&machine.car, machine.car.shaft());
        if let Some(direction) = car.lantern().filter(|_| car.inputs().door != DoorState::Closed) {
            // Where a sensor reports another floor, at both.
            let floors = [shaft.floor(), shaft.sensed_floor()].into_iter().flatten();
            self.opened.extend(floors.map(|floor| ((floor, direction), now)));
        }
        let command = machine.motor_command();
        let (floor, drive) = (machine.reported.floor, machine.reported.drive);
        let broken = machine.may_hang();
        self.suspect |= broken;
        self.progress.away |= floor.is_none();
        let resting = floor.filter(|_| drive == DriveFeedback::Stopped);
        if let Some(until) = self.counted_until.take() {
            // The node counts by its own clock.
            let passed = now.saturating_sub(until) * machine.clock_rate / 1_000;
            self.progress.driven += passed;
            self.progress.driven_in_all += passed;
            // Its turn is over in the middle of a flight: that interrupts it like a stop switch.
            if command == MotorCommand::Stop && machine.waits_for_its_turn() {
                self.interrupt();
            }
        }
        // The next command may come in the moment in which the car is seen at rest. That counts
        // unless it has been there all the time.
        if let Some(floor) = resting
            && (self.progress.away || self.last != Some(floor))
        {
            self.reach_new_floor(floor);
        }
        match command {
            MotorCommand::Stop => self.last = floor.or(self.last),
            MotorCommand::Run { direction, stop_at } => {
                let is_new = |floor: &Floor| {
                    let is_ahead = self.last.is_none_or(|last| floor.is_beyond(last, direction));
                    is_ahead && self.progress.reached != Some(*floor)
                };
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
                self.progress.homed = true;
                self.last = floor.or(self.last);
            }
        }
        let is_driven = command != MotorCommand::Stop && drive != DriveFeedback::Stopped;
        self.counted_until = is_driven.then_some(now);
    }

    /// H1: only a car that is broken counts as hung, or one that was and has not got anywhere since.
    /// A dead sensor, another speed, a drive that does not level and interruptions are no reason.
    ///
    /// H6: a node that reports a hang has stopped its motor before.
    pub(super) fn hung(&mut self, machine: &Machine, node: usize) -> Vec<Finding> {
        self.latched = true;
        let drives = machine.line == Line::Plugged && machine.car.motor() != MotorCommand::Stop;
        let drives = drives.then(|| Finding::new("H6", node, "reports a hang with the motor on"));
        let is_sound =
            (!self.suspect).then(|| Finding::new("H1", node, "counts a sound car as hung"));
        drives.into_iter().chain(is_sound).collect()
    }

    /// H5: a car whose motor is driven without a new floor counts as hung within its limit: neither
    /// retries nor the search for a floor renew it, and interruptions only a few times.
    fn hangs_without_progress(&self, snapshot: &Snapshot, node: usize) -> Option<Finding> {
        let limits = CarSettings::new(snapshot.settings.floors);
        let limit = match snapshot.machines[node].motor_command() {
            MotorCommand::Stop => return None,
            MotorCommand::Run { .. } => limits.flight_limit,
            MotorCommand::Home { .. } => limits.homing_limit,
        };
        let longest = if self.progress.homed { limits.homing_limit } else { limit };
        let most = longest * MOST_INTERRUPTED;
        let is_late =
            self.progress.driven > limit + WITHIN || self.progress.driven_in_all > most + WITHIN;
        let what = || format!("driven for over {limit:?}, or {most:?} in all, and at no new floor");
        is_late.then(|| Finding::new("H5", node, what()))
    }

    /// S3: a car on which riders rely for their floors ahead goes on to them. Sees who relies on it
    /// from here on.
    pub(crate) fn look_at_riders(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        outputs: &PanelOutputs,
    ) -> Option<Finding> {
        let machine = &snapshot.machines[node];
        let process = machine.process.as_ref()?;
        let ruled_by = (machine.mode(), machine.reported.key, Given::of(&process.node));
        let is_ruled_anew = std::mem::replace(&mut self.ruled_by, ruled_by) != ruled_by;
        if matches!(outputs.motor, MotorCommand::Home { .. }) || is_ruled_anew {
            self.riders = None;
        }
        let heading = match (outputs.motor, outputs.lantern) {
            (MotorCommand::Home { .. }, _) | (MotorCommand::Stop, HallLantern::Dark) => {
                return None;
            }
            (MotorCommand::Run { direction, .. }, _) | (_, HallLantern::Lit(direction)) => {
                direction
            }
        };
        let finding = self.turns_from_riders(snapshot, node, heading);
        let orders = process.node.orders().orders();
        let ahead = orders.filter_map(|order| match &order.call {
            Call::Car { car, floor, .. } if *car == machine.name => {
                floor.is_beyond(outputs.indicator?, heading).then_some((order.dot, *floor))
            }
            Call::Car { .. } | Call::Hall(_) => None,
        });
        let calls: BTreeMap<Dot, Floor> = ahead.collect();
        self.riders = (!calls.is_empty()).then_some((heading, calls));
        finding
    }

    /// Riders are carried away from where they want to go by a car that turns.
    fn turns_from_riders(
        &self,
        snapshot: &Snapshot,
        node: usize,
        heading: Direction,
    ) -> Option<Finding> {
        let (direction, riders) = self.riders.as_ref()?;
        let machine = &snapshot.machines[node];
        let process = machine.node()?;
        let is_keyed = matches!(
            machine.reported.key,
            KeySwitch::FireRecall | KeySwitch::RecallAll | KeySwitch::OutOfService
        );
        if *direction == heading || is_keyed || machine.mode() >= Mode::EmergencyPower {
            return None;
        }
        let at = process.outputs()?.indicator?;
        let locked_out = snapshot.car_view(node).map(|view| view.locked_out).unwrap_or_default();
        let mut lost = riders.iter().filter(|(dot, floor)| {
            let is_ahead = floor.is_beyond(at, *direction) && !locked_out.contains(**floor);
            is_ahead && process.orders().get(**dot).is_some()
        });
        lost.next().map(|(_, floor)| {
            Finding::new("S3", node, format!("turns {heading:?} at {at}, with riders to {floor}"))
        })
    }
}
