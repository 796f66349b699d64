//! What is lit is promised, and what is served is dark.

use std::collections::BTreeSet;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot, NodeId};

use super::EQUAL_WITHIN;
use crate::World;
use crate::disk::Disk;
use crate::machine::{LostDisk, Machine};

impl World {
    /// P3: at the start, before anything is heard, the lamps are lit that the disk promises.
    pub(crate) fn the_disk_has_lit_the_lamps(&mut self, node: usize) {
        let machine = &self.machines[node];
        if machine.disk.failed() || self.settings.roles.contains_key(&node) {
            return;
        }
        let dark: Vec<Call> = machine
            .disk
            .restored()
            .records
            .into_iter()
            .filter(|record| !record.state.is_served())
            .map(|record| record.call)
            .filter(|call| match call {
                Call::Hall(_) => true,
                Call::Cab { car, .. } => *car == machine.name,
            })
            .filter(|call| !machine.lit.contains_key(&call.button()))
            .collect();
        for call in dark {
            self.wrong("P3", node, &format!("{call} is on its disk and dark"));
        }
    }

    /// P1, P5: a lamp goes on when some disk that works knows of the press. That it has been served
    /// since, the node may be the last to hear.
    ///
    /// So it may of the loss of a disk: no node can tell the word of a machine that runs from what
    /// was under way when the machine was lost, disk and all. The lamp promises no less for it, for
    /// the node holds the press, and so it outlives the one loss. What a lost disk knew counts with
    /// those that heard its machine, until they notice; never a press that it did not know.
    pub(crate) fn some_disk_knows(&mut self, node: usize, dot: Dot, call: &Call) {
        let works = |disk: &Disk| !disk.failed() && disk.knows(dot, call);
        let knows = |machine: &Machine| {
            let believed = |lost: &LostDisk| lost.unaware.contains(&node) && works(&lost.disk);
            works(&machine.disk) || machine.lost.as_ref().is_some_and(believed)
        };
        if !self.machines.iter().any(knows) {
            let own_failed = self.machines[node].disk.failed();
            let id = if own_failed { "P5" } else { "P1" };
            let what = format!("{call} is lit, and no disk that works knows of it");
            self.wrong(id, node, &what);
        }
    }

    /// This node does not count on the machine of this name for what it held.
    pub(crate) fn notices_a_lost_disk(&mut self, node: usize, name: &NodeId) {
        let of_name = self.machines.iter_mut().filter(|m| m.name == *name);
        for lost in of_name.filter_map(|machine| machine.lost.as_mut()) {
            lost.unaware.remove(&node);
        }
    }

    /// P1, O1, F12, F14: a lamp goes out with the service of what it promised.
    pub(crate) fn went_dark(&mut self, node: usize, button: Button, dots: &[Dot]) {
        let call = Call::of_button(button, &self.machines[node].name);
        for dot in dots {
            if !self.history.is_closed(*dot, &call) {
                let what = format!("the lamp of {button} went out, {dot} was not served");
                self.wrong("P1", node, &what);
            }
        }
    }

    pub(crate) fn remember_promises(&mut self) {
        for node in 0..self.machines.len() {
            let lit: Vec<Button> = self.machines[node].lit.keys().copied().collect();
            for button in lit {
                self.remember_promise(node, button);
            }
        }
    }

    /// P4: hall lamps are the same on every panel of a group.
    pub(crate) fn hall_lamps_are_equal(&mut self) {
        for group in self.calm_groups(EQUAL_WITHIN) {
            // Where no disk works nothing is lit anew (P5), as on the panel of a node that starts.
            if group.iter().all(|node| self.machines[*node].disk.failed()) {
                continue;
            }
            let hall = |node: &usize| -> BTreeSet<Button> {
                let lit = self.machines[*node].lit.keys();
                lit.copied()
                    .filter(|button| matches!(button, Button::Hall(..)))
                    .collect()
            };
            let lamps: Vec<BTreeSet<Button>> = group.iter().map(hall).collect();
            let all: BTreeSet<Button> = lamps.iter().flatten().copied().collect();
            for button in all {
                let key = format!("P4 {button} {group:?}");
                if !lamps.iter().all(|lamps| lamps.contains(&button)) {
                    let what = format!("{button} is lit on some panels of {group:?} only");
                    self.lasts(&key, "P4", group[0], &what);
                }
            }
        }
    }

    /// P2: a lamp whose presses have all been served, as somebody in the group knows, is dark soon
    /// after.
    pub(crate) fn served_lamps_are_dark(&mut self) {
        for group in self.calm_groups(EQUAL_WITHIN) {
            for node in &group {
                let lit: Vec<Button> = self.machines[*node].lit.keys().copied().collect();
                for button in lit {
                    let key = format!("P2 {node} {button}");
                    if self.is_served_in(&group, *node, button) {
                        let what = format!("{button} is still lit, though it was served");
                        self.lasts(&key, "P2", *node, &what);
                    }
                }
            }
        }
    }

    pub(crate) fn is_served_in(&self, group: &[usize], node: usize, button: Button) -> bool {
        let machine = &self.machines[node];
        let call = Call::of_button(button, &machine.name);
        let known = |dot: Dot| {
            group
                .iter()
                .filter_map(|other| self.machines[*other].node())
                .any(|other| other.orders().get(dot).is_none())
        };
        machine
            .node()
            .is_some_and(|node| node.orders().of_call(&call).all(|order| known(order.dot)))
    }
}
