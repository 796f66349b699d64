//! No car moves as it must not.

use std::time::Duration;

use elevator_driver::{Direction, Floor, KeySwitch};

use crate::lab::World;
use crate::lab::history::Violation;

/// Within this time after its controller fell silent a car stands: the watchdog, and braking.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

impl World {
    /// S1: nobody asked for a motion with an open door, or for an open door in motion.
    pub(in crate::lab) fn unsafe_cars(&self) -> Vec<Violation> {
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
    pub(in crate::lab) fn motors_stop_without_a_controller(&mut self) {
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
    pub(in crate::lab) fn only_a_broken_car_hangs(&mut self, node: usize) {
        self.watch_car(node);
        if !self.machines[node].watch.suspect {
            self.wrong("H1", node, "a sound car counts as hung");
        }
    }

    /// S3: a car on which riders rely for their floors ahead goes on to them.
    pub(in crate::lab) fn no_rider_is_carried_away(&mut self, node: usize, heading: Direction) {
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
