//! What has to hold whatever happens: one function an invariant.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, DoorState};
use elevator_fleet::model::{Call, Dot};
use elevator_fleet::node::Report;
use elevator_fleet::orders::State;

use super::World;
use super::history::{Service, Violation};

/// Within this time a group that all hear each other has its master (E1).
const ELECTED_WITHIN: Duration = Duration::from_secs(2);

/// Within this time stores and hall lamps are equal, and served lamps dark (O7, P2, P4).
const EQUAL_WITHIN: Duration = Duration::from_secs(1);

impl World {
    pub(super) fn wrong(&mut self, id: &'static str, node: usize, what: &str) {
        let what = format!("{}: {what}", self.machines[node].name);
        self.history.wrong(self.now, id, what);
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self) {
        self.remember_promises();
        self.terms_never_decrease();
        self.one_master_in_each_group();
        self.stores_are_equal();
        self.hall_lamps_are_equal();
        self.served_lamps_are_dark();
        self.history.end_inspection();
    }

    /// Looks at what a report shows.
    pub(super) fn judge(&mut self, node: usize, report: &Report) {
        match report {
            Report::Served {
                call,
                waited,
                here: true,
            } => self.served_here(node, call, *waited),
            Report::Promised { call } => self.remember_promise(node, call.button()),
            Report::Standing { .. } => self.no_change_of_leader_in_quiet(node, report),
            Report::Conflict(what) => self.wrong("C7", node, what),
            Report::Served { here: false, .. }
            | Report::PeerFound { .. }
            | Report::PeerLost { .. }
            | Report::Joined { .. }
            | Report::Repair { .. }
            | Report::Placed { .. }
            | Report::Assigned { .. }
            | Report::Door(_)
            | Report::Floor(_)
            | Report::Availability(_)
            | Report::Panel(_)
            | Report::FloorUnreachable(_)
            | Report::DriveRefused
            | Report::Hung(_)
            | Report::DiskFailed => {}
        }
    }

    /// S1: nobody asked for a motion with an open door, or for an open door in motion.
    pub(super) fn unsafe_cars(&self) -> Vec<Violation> {
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

    /// F18: whoever says that it serves has its door open at the floor.
    fn served_here(&mut self, node: usize, call: &Call, waited: Duration) {
        let machine = &self.machines[node];
        let inputs = machine.car.inputs();
        if inputs.floor != Some(call.floor()) || inputs.door == DoorState::Closed {
            let what = format!(
                "served {call} at {:?}, door {:?}",
                inputs.floor, inputs.door
            );
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

    /// P1, O1, F12, F14: a lamp goes out with the service of what it promised.
    pub(super) fn went_dark(&mut self, node: usize, button: Button, dots: &[Dot]) {
        let call = Call::of_button(button, &self.machines[node].name);
        for dot in dots {
            if !self.history.is_closed(*dot, &call) {
                let what = format!("the lamp of {button} went out, {dot} was not served");
                self.wrong("P1", node, &what);
            }
        }
    }

    /// E6: where nobody comes or goes, nobody takes or leaves office.
    fn no_change_of_leader_in_quiet(&mut self, node: usize, report: &Report) {
        let groups = self.calm_groups(ELECTED_WITHIN);
        if groups.iter().any(|group| group.contains(&node)) {
            self.wrong("E6", node, &format!("{report:?}"));
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

    fn remember_promises(&mut self) {
        for node in 0..self.machines.len() {
            let lit: Vec<Button> = self.machines[node].lit.keys().copied().collect();
            for button in lit {
                self.remember_promise(node, button);
            }
        }
    }

    /// E3
    fn terms_never_decrease(&mut self) {
        for node in 0..self.machines.len() {
            let Some(term) = self.machines[node]
                .node()
                .map(elevator_fleet::node::Node::term)
            else {
                continue;
            };
            let before = std::mem::replace(&mut self.machines[node].term, term);
            if term < before {
                self.wrong("E3", node, &format!("term {before} became {term}"));
            }
        }
    }

    /// E1, E2, E7, F3: each group has one master, known to all: the lowest address.
    fn one_master_in_each_group(&mut self) {
        for group in self.calm_groups(ELECTED_WITHIN) {
            let master = self.master_of(&group);
            if master != group.first().copied() {
                let what = format!("the group {group:?} has the master {master:?}");
                if let Some(first) = group.first() {
                    self.once("E1", *first, &what);
                }
            }
        }
    }

    /// O7: where all hear each other and no order changes, digests are equal.
    fn stores_are_equal(&mut self) {
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

    /// P4: hall lamps are the same on every panel of a group.
    fn hall_lamps_are_equal(&mut self) {
        for group in self.calm_groups(EQUAL_WITHIN) {
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
    fn served_lamps_are_dark(&mut self) {
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

    fn is_served_in(&self, group: &[usize], node: usize, button: Button) -> bool {
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

    /// Complains if this lasts.
    fn lasts(&mut self, key: &str, id: &'static str, node: usize, what: &str) {
        let since = self.history.stands(key, self.now);
        if self.now.saturating_sub(since) > EQUAL_WITHIN {
            self.once(id, node, what);
        }
    }

    /// Complains once until something else happens.
    fn once(&mut self, id: &'static str, node: usize, what: &str) {
        if self.history.is_news(format!("{id} {what}")) {
            self.wrong(id, node, what);
        }
    }
}
