//! No car moves as it must not.

use std::time::Duration;

use elevator_driver::{Direction, Floor, KeySwitch, MotorCommand};
use elevator_fleet::car::CarSettings;

use crate::World;
use crate::history::Violation;

/// Within this time after its controller fell silent a car stands: the watchdog, and braking.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// A car counts as hung so soon after its limit, however often the drive starts and stops meanwhile.
const WITHIN: Duration = Duration::from_secs(1);

/// So many times its limit a motor may be driven for nothing if something interrupts it all the time.
const MOST_INTERRUPTED: u32 = 5;

impl World {
    /// S1: nobody asked for a motion with an open door, or for an open door in motion.
    pub(crate) fn unsafe_cars(&self) -> Vec<Violation> {
        self.machines
            .iter()
            .flat_map(|machine| {
                machine.car.violations().iter().map(|violation| Violation {
                    at: Duration::from_millis(violation.time_ms),
                    id: "S1",
                    what: format!("{}: {:?}", machine.name, violation.kind),
                })
            })
            .collect()
    }

    /// S2: a panel without a controller has stopped its motor.
    pub(crate) fn motors_stop_without_a_controller(&mut self) {
        for node in 0..self.machines.len() {
            let machine = &self.machines[node];
            let silent = machine
                .silent_since
                .is_some_and(|since| self.now.saturating_sub(since) > STOPPED_WITHIN);
            if silent && machine.car.shaft().driven().is_some() {
                self.once("S2", node, "its motor runs without a controller");
            }
        }
    }

    /// H1: only a car that is broken counts as hung, or one that was and has not got anywhere since.
    /// A dead sensor, another speed, a drive that does not level and interruptions are no reason.
    pub(crate) fn only_a_broken_car_hangs(&mut self, node: usize) {
        self.watch_car(node);
        if !self.machines[node].watch.suspect {
            self.wrong("H1", node, "a sound car counts as hung");
        }
    }

    /// H5: a car whose motor is driven without a new floor counts as hung within its limit: neither
    /// retries nor the search for a floor renew it, and interruptions only a few times.
    pub(crate) fn cars_without_progress_hang(&mut self) {
        let limits = CarSettings::new(self.settings.floors);
        for node in 0..self.machines.len() {
            self.watch_car(node);
            let machine = &self.machines[node];
            let watch = &machine.watch;
            let limit = match machine.motor_command() {
                MotorCommand::Stop => continue,
                MotorCommand::Run { .. } => limits.flight_limit,
                MotorCommand::Home { .. } => limits.homing_limit,
            };
            let longest = if watch.homed {
                limits.homing_limit
            } else {
                limit
            };
            let (driven, in_all) = (watch.driven, watch.driven_in_all);
            if driven > limit + WITHIN {
                let what = format!("driven for more than {limit:?} without a new floor");
                self.once("H5", node, &what);
            } else if in_all > longest * MOST_INTERRUPTED + WITHIN {
                let most = longest * MOST_INTERRUPTED;
                let what = format!("driven for more than {most:?}, with interruptions");
                self.once("H5", node, &what);
            }
        }
    }

    /// S3: a car on which riders rely for their floors ahead goes on to them.
    pub(crate) fn no_rider_is_carried_away(&mut self, node: usize, heading: Direction) {
        let machine = &self.machines[node];
        let (Some(riders), Some(process)) = (&machine.watch.riders, &machine.process) else {
            return;
        };
        let keyed = match machine.told.key {
            KeySwitch::Normal | KeySwitch::Independent => false,
            KeySwitch::FireRecall | KeySwitch::OutOfService => true,
        };
        if riders.direction == heading || keyed {
            return;
        }
        let position = process.node.outputs().and_then(|outputs| outputs.indicator);
        let status = process.node.status(process.clock(self.now));
        let left_out = status.car.map(|car| car.left_out).unwrap_or_default();
        let carried_away: Vec<Floor> = riders
            .calls
            .iter()
            .filter(|(dot, _)| process.node.orders().get(**dot).is_some())
            .map(|(_, floor)| *floor)
            .filter(|floor| !left_out.contains(floor))
            .filter(|floor| position.is_some_and(|at| floor.is_beyond(at, riders.direction)))
            .collect();
        if !carried_away.is_empty() {
            let (at, was) = (position, riders.direction);
            let what =
                format!("turns {heading:?} at {at:?}, with riders {was:?} to {carried_away:?}");
            self.wrong("S3", node, &what);
        }
    }
}
