//! No car moves as it must not.

use std::time::Duration;

use elevator_driver::{Direction, Floor, KeySwitch, MotorCommand};
use elevator_fleet::car::CarSettings;
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;

use super::car_watch::{CarWatch, Riders};
use super::{Finding, Violation};
use crate::machine::{Line, Machine};
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
    let of_car = |machine: &crate::machine::Machine| -> Vec<Violation> {
        let violations = machine.car.violations().iter();
        violations
            .map(|violation| Violation {
                at: Duration::from_millis(violation.time_ms),
                id: "S1",
                what: format!("{}: {:?}", machine.name, violation.kind),
            })
            .collect()
    };
    snapshot.machines.iter().flat_map(of_car).collect()
}

/// S1: a controller that knows of the stop switch commands no motion.
pub(super) fn stop_switches_stop_the_motor(snapshot: &Snapshot) -> Vec<Finding> {
    let machines = snapshot.machines.iter().enumerate();
    machines
        .filter(|(_, machine)| machine.car.inputs().stop)
        .filter(|(_, machine)| machine.motor_command() != MotorCommand::Stop)
        .map(|(node, _)| {
            let finding = Finding::new("S1", node, "drives despite the stop switch".to_owned());
            finding.lasting(format!("S1 {node}"), STOP_WITHIN)
        })
        .collect()
}

/// S2: a panel without a controller has stopped its motor.
pub(super) fn motors_stop_without_a_controller(snapshot: &Snapshot) -> Vec<Finding> {
    let is_silent = |since: Duration| snapshot.now.saturating_sub(since) > STOPPED_WITHIN;
    let machines = snapshot.machines.iter().enumerate();
    machines
        .filter(|(_, machine)| machine.silent_since.is_some_and(is_silent))
        .filter(|(_, machine)| machine.car.shaft().driven().is_some())
        .map(|(node, _)| {
            let what = "its motor runs without a controller".to_owned();
            Finding::new("S2", node, what).once()
        })
        .collect()
}

/// H1: only a car that is broken counts as hung, or one that was and has not got anywhere since.
/// A dead sensor, another speed, a drive that does not level and interruptions are no reason.
pub(super) fn only_a_broken_car_hangs(watch: &CarWatch, node: usize) -> Vec<Finding> {
    let finding = || Finding::new("H1", node, "a sound car counts as hung".to_owned());
    (!watch.suspect).then(finding).into_iter().collect()
}

/// H6: who reports that a car hangs has stopped its motor before.
pub(super) fn the_motor_is_stopped_first(machine: &Machine, node: usize) -> Option<Finding> {
    let is_told = machine.line == Line::Plugged;
    let is_stopped = machine.car.motor() == MotorCommand::Stop;
    let finding = || Finding::new("H6", node, "reports a hang with the motor on".to_owned());
    (is_told && !is_stopped).then(finding)
}

/// H5: a car whose motor is driven without a new floor counts as hung within its limit: neither
/// retries nor the search for a floor renew it, and interruptions only a few times.
pub(super) fn cars_without_progress_hang(
    snapshot: &Snapshot,
    cars: &mut [CarWatch],
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (node, watch) in cars.iter_mut().enumerate() {
        watch.look(&snapshot.machines[node], snapshot.now);
        findings.extend(lacks_progress(snapshot, watch, node));
    }
    findings
}

fn lacks_progress(snapshot: &Snapshot, watch: &CarWatch, node: usize) -> Option<Finding> {
    let limits = CarSettings::new(snapshot.settings.floors);
    let limit = match snapshot.machines[node].motor_command() {
        MotorCommand::Stop => return None,
        MotorCommand::Run { .. } => limits.flight_limit,
        MotorCommand::Home { .. } => limits.homing_limit,
    };
    let longest = if watch.homed { limits.homing_limit } else { limit };
    let most = longest * MOST_INTERRUPTED;
    let what = if watch.driven > limit + WITHIN {
        format!("driven for more than {limit:?} without a new floor")
    } else if watch.driven_in_all > most + WITHIN {
        format!("driven for more than {most:?}, with interruptions")
    } else {
        return None;
    };
    Some(Finding::new("H5", node, what).once())
}

/// On emergency power one motor runs at a time, of those whose nodes know of it. What a node believed
/// that was deceived does not count.
pub(super) fn one_car_moves_on_emergency_power(snapshot: &Snapshot) -> Vec<Finding> {
    if snapshot.disturbances.are_nodes_deceived(snapshot.now)
        || snapshot.disturbances.are_there_twins(snapshot.now)
    {
        return Vec::new();
    }
    let runs = |machine: &&Machine| {
        let node = machine.awake().filter(|node| node.directives().emergency_power().is_some());
        let outputs = node.and_then(Node::outputs);
        outputs.is_some_and(|outputs| outputs.motor != MotorCommand::Stop)
    };
    let running: Vec<&str> =
        snapshot.machines.iter().filter(runs).map(|machine| machine.name.as_str()).collect();
    if running.len() < 2 {
        return Vec::new();
    }
    let what = format!("{} move on emergency power", running.join(" and "));
    vec![Finding::new("S1", 0, what).once()]
}

/// S3: a car on which riders rely for their floors ahead goes on to them.
pub(super) fn no_rider_is_carried_away(
    snapshot: &Snapshot,
    node: usize,
    riders: &Riders,
    heading: Direction,
) -> Vec<Finding> {
    let machine = &snapshot.machines[node];
    let Some(process) = &machine.process else {
        return Vec::new();
    };
    let keyed = match machine.reported.key {
        KeySwitch::Normal | KeySwitch::Attendant | KeySwitch::Independent => false,
        KeySwitch::FireRecall | KeySwitch::RecallAll | KeySwitch::OutOfService => true,
    };
    let recalled = snapshot.disturbances.fire_recalled
        || machine.modes().into_iter().any(|mode| mode >= Mode::EmergencyPower);
    if riders.direction == heading || keyed || recalled {
        return Vec::new();
    }
    let position = process.node.outputs().and_then(|outputs| outputs.indicator);
    let status = process.node.status(process.clock(snapshot.now));
    let locked_out = status.car.map(|car| car.view.locked_out).unwrap_or_default();
    let carried_away: Vec<Floor> = riders
        .calls
        .iter()
        .filter(|(dot, _)| process.node.orders().get(**dot).is_some())
        .map(|(_, floor)| *floor)
        .filter(|floor| !locked_out.contains(*floor))
        .filter(|floor| position.is_some_and(|at| floor.is_beyond(at, riders.direction)))
        .collect();
    if carried_away.is_empty() {
        return Vec::new();
    }
    let (at, was) = (position, riders.direction);
    let what = format!("turns {heading:?} at {at:?}, with riders {was:?} to {carried_away:?}");
    vec![Finding::new("S3", node, what)]
}
