//! No car moves as it must not.

use std::time::Duration;

use crate::lab::World;
use crate::lab::history::Violation;

/// Within this time after its controller fell silent a car stands: the watchdog, and braking.
const STOPPED_WITHIN: Duration = Duration::from_secs(5);

/// A flight takes no longer than this, deadline and all.
const FLIGHT: Duration = Duration::from_secs(30);

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

    /// H1: only a car that sticks, or did a moment ago, counts as hung.
    pub(in crate::lab) fn only_a_stuck_car_hangs(&mut self, node: usize) {
        let machine = &self.machines[node];
        let stuck = machine.car.shaft().motor_stuck()
            || machine
                .stuck_at
                .is_some_and(|at| self.now.saturating_sub(at) < FLIGHT);
        if !stuck {
            self.wrong("H1", node, "a sound car counts as hung");
        }
    }
}
