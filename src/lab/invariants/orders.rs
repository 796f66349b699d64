//! No order is lost, and every store comes to hold the same.

use std::time::Duration;

use elevator_driver::DoorState;
use elevator_fleet::model::{Call, Dot};
use elevator_fleet::orders::State;

use super::EQUAL_WITHIN;
use crate::lab::World;
use crate::lab::history::{Service, Violation};

impl World {
    /// O1: what a lamp has promised is on some disk, at every moment, until it is served.
    ///
    /// A disk that is lost may have been the only one so far: then another is being written, for
    /// every holder writes what it holds. Only a press that the lost disk knew has this time.
    pub(in crate::lab) fn promised_orders_are_on_a_disk(&mut self) {
        let owed: Vec<(Dot, Call)> = self
            .history
            .owed()
            .map(|(dot, call)| (*dot, call.clone()))
            .collect();
        for (dot, call) in owed {
            let held = self.machines.iter().any(|m| m.disk.holds(&call));
            if !held && !self.another_disk_is_being_written(dot, &call) {
                self.once("O1", 0, &format!("{call}, {dot}, is lit and on no disk"));
            }
        }
    }

    fn another_disk_is_being_written(&self, dot: Dot, call: &Call) -> bool {
        let lost = self.machines.iter().filter_map(|m| m.lost.as_ref());
        let mut knew = lost.filter(|lost| !lost.disk.failed() && lost.disk.knows(dot, call));
        knew.next().is_some() && self.machines.iter().any(|m| m.disk.is_writing(dot, call))
    }

    /// O4: one dot is one press, wherever it is told of.
    pub(in crate::lab) fn no_dot_is_used_twice(&mut self) {
        for node in 0..self.machines.len() {
            let Some(process) = &self.machines[node].process else {
                continue;
            };
            let mut twice = Vec::new();
            for order in process.node.orders().orders() {
                if !self.history.is_the_press(order) {
                    twice.push(format!(
                        "{}: {} is another press too",
                        order.dot, order.call
                    ));
                }
            }
            for what in twice {
                self.once("O4", node, &what);
            }
        }
    }

    /// F18: whoever says that it serves has its door open at the floor. Where the floor's sensor is
    /// dead, the car's place counts: it may have died while the node was held up, after it had told
    /// of the floor.
    pub(in crate::lab) fn served_here(&mut self, node: usize, call: &Call, waited: Duration) {
        let machine = &self.machines[node];
        let (floor, door) = (machine.car.shaft().floor(), machine.car.inputs().door);
        if floor != Some(call.floor()) || door == DoorState::Closed {
            let what = format!("served {call} at {floor:?}, door {door:?}");
            self.wrong("F18", node, &what);
        }
        let machine = &self.machines[node];
        if let Some(process) = &machine.process {
            for record in process.node.orders().records(process.clock(self.now)) {
                if record.call == *call && record.state == State::Served {
                    self.history.close(record.dot, call);
                }
            }
        }
        self.history.serve(Service {
            at: self.now,
            node,
            call: call.clone(),
            waited,
        });
    }

    /// P1, O1, F12, F13: at the end of all things every promise has been kept.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<Violation> {
        self.history
            .owed()
            .map(|(dot, call)| Violation {
                at: self.now,
                id: "O1",
                what: format!("{call}, {dot}, was lit and never served"),
            })
            .collect()
    }

    /// O7: where all hear each other and no order changes, digests are equal.
    pub(in crate::lab) fn stores_are_equal(&mut self) {
        for group in self.calm_groups(EQUAL_WITHIN) {
            let digests: Vec<u64> = group
                .iter()
                .filter_map(|node| Some(self.machines[*node].node()?.orders().digest()))
                .collect();
            let equal = digests.windows(2).all(|pair| pair[0] == pair[1]);
            // A change of any of them starts the time anew.
            let state = format!("O7 {group:?} {digests:?}");
            if let Some(first) = group.first().copied().filter(|_| !equal) {
                self.lasts(
                    &state,
                    "O7",
                    first,
                    &format!("the stores of {group:?} differ"),
                );
            }
        }
    }

    pub(in crate::lab) fn remember_orders(&mut self) {
        for machine in &mut self.machines {
            for order in machine
                .process
                .iter()
                .flat_map(|p| p.node.orders().orders())
            {
                machine.known.entry(order.dot).or_insert(self.now);
            }
        }
    }
}
