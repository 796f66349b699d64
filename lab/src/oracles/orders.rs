//! No order is lost, and every store comes to hold the same.

use elevator_fleet::model::{Call, Dot};

use super::{EQUAL_AFTER_A_LIE, EQUAL_WITHIN};
use crate::World;
use crate::history::Violation;

impl World {
    /// O1: what a lamp has promised is on some disk, at every moment, until it is served.
    /// A disk that has failed does not count.
    ///
    /// A disk that is taken away may have been the only one so far: then another is being written,
    /// for every holder writes what it holds. Only a press that the lost disk knew has this time.
    pub(crate) fn promised_orders_are_on_a_disk(&mut self) {
        let owed: Vec<(Dot, Call)> = self
            .history
            .owed()
            .map(|(dot, call)| (*dot, call.clone()))
            .collect();
        for (dot, call) in owed {
            let held = self
                .machines
                .iter()
                .any(|m| !m.disk.failed() && m.disk.holds(&call));
            if !held && !self.another_disk_is_being_written(dot, &call) {
                self.once("O1", 0, &format!("{call}, {dot}, is lit and on no disk"));
            }
        }
    }

    fn another_disk_is_being_written(&self, dot: Dot, call: &Call) -> bool {
        let lost = self.machines.iter().filter_map(|m| m.lost.as_ref());
        let mut knew = lost.filter(|lost| !lost.disk.failed() && lost.disk.knows(dot, call));
        let mut sound = self.machines.iter().filter(|m| !m.disk.failed());
        knew.next().is_some() && sound.any(|m| m.disk.is_writing(dot, call))
    }

    /// O4: one dot is one press, wherever it is told of.
    pub(crate) fn no_dot_is_used_twice(&mut self) {
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
    pub(crate) fn stores_are_equal(&mut self) {
        let calm = if self.forged {
            EQUAL_AFTER_A_LIE
        } else {
            EQUAL_WITHIN
        };
        for group in self.calm_groups(calm) {
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

    pub(crate) fn remember_orders(&mut self) {
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
