//! Lamps are the same on every panel, and what is served is dark.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot};
use elevator_fleet::node::Node;

use super::orders::{are_equal, digests};
use super::{Finding, TOO_LONG};
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// P3: at the start, before anything is heard, the lamps are lit that the disk promises.
pub(super) fn the_disk_has_lit_the_lamps(snapshot: &Snapshot, node: usize) -> Vec<Finding> {
    let machine = &snapshot.machines[node];
    // What a failed disk holds can't be read. A node without a car, a control unit say, lights
    // nothing at its start: P3 does not hold there.
    if machine.disk.failed() || snapshot.settings.roles.contains_key(&node) {
        return Vec::new();
    }
    let open = machine.disk.restored().records.into_iter();
    open.filter(|record| !record.state.is_served())
        .map(|record| record.call)
        .filter(|call| match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == machine.name,
        })
        .filter(|call| call.button().is_some_and(|button| !machine.lit.contains(&button)))
        .map(|call| Finding::new("P3", node, format!("{call} is on its disk and dark")))
        .collect()
}

/// P4: hall lamps are the same on every panel of a group.
pub(super) fn hall_lamps_are_equal(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(super::EQUAL_WITHIN) {
        // Where no disk works nothing is lit anew (P5), as on the panel of a node that starts.
        let has_failed = |node: &usize| snapshot.machines[*node].disk.failed();
        if group.iter().all(has_failed) {
            continue;
        }
        let hall = |node: &usize| {
            let lit = snapshot.machines[*node].lit.iter();
            lit.copied().filter(|button| matches!(button, Button::Hall(..)))
        };
        if group.windows(2).all(|pair| hall(&pair[0]).eq(hall(&pair[1]))) {
            continue;
        }
        let all: BTreeSet<Button> = group.iter().flat_map(hall).collect();
        for button in all {
            if !group.iter().all(|node| snapshot.machines[*node].lit.contains(&button)) {
                let what = format!("{button} is lit on some panels of {group:?} only");
                let call = Call::of_button(button, &snapshot.machines[group[0]].name);
                let limit = TOO_LONG + longest_write_of(snapshot, &group, button, &call);
                let key = format!("P4 {button} {group:?}");
                findings.push(Finding::new("P4", group[0], what).lasting(key, limit));
            }
        }
    }
    findings
}

/// How much longer the lamp of a call may be lit on some panels of a group only: those where it is dark
/// wait for the quickest disk that works, as long as none has a press that their nodes know. One of an
/// earlier press may keep the lamp of the others lit.
fn longest_write_of(snapshot: &Snapshot, group: &[usize], button: Button, call: &Call) -> Duration {
    let machines = || group.iter().map(|node| &snapshot.machines[*node]);
    let works = || machines().filter(|machine| !machine.disk.failed());
    let is_on_a_disk = |dot: Dot| works().any(|machine| machine.disk.knows(dot, call));
    let waits = |machine: &Machine| {
        machine.node().map(Node::orders).is_some_and(|orders| {
            orders.is_open(call) && !orders.presses_of(call).any(is_on_a_disk)
        })
    };
    let mut dark = machines().filter(|machine| !machine.lit.contains(&button));
    let quickest = works().map(|machine| machine.longest_write(snapshot.settings)).min();
    quickest.filter(|_| dark.all(waits)).unwrap_or_default()
}

/// F12: every order of a group in which a disk works comes to be promised, by each node that has a
/// lamp for it.
pub(super) fn orders_are_promised(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(super::EQUAL_WITHIN) {
        let disks = group.iter().map(|node| &snapshot.machines[*node]);
        let works = disks.filter(|machine| !machine.disk.failed());
        let Some(quickest) = works.map(|machine| machine.longest_write(snapshot.settings)).min()
        else {
            continue;
        };
        let limit = TOO_LONG + quickest;
        for node in group.iter().copied() {
            let machine = &snapshot.machines[node];
            let has_lamp = |call: &Call| match call {
                Call::Hall(_) => true,
                Call::Car { car, .. } => *car == machine.name,
            };
            let Some(process) = machine.node() else { continue };
            let orders = process.orders();
            let with_lamps = orders.calls().filter(|call| has_lamp(call));
            let open = with_lamps.flat_map(|call| orders.presses_of(call));
            let unpromised = open.filter(|dot| !process.has_promised(*dot));
            findings.extend(unpromised.filter_map(|dot| orders.get(dot)).map(|order| {
                let what = format!("{}, {}, is not promised", order.call, order.dot);
                Finding::new("F12", node, what.clone()).lasting(what, limit)
            }));
        }
    }
    findings
}

/// P2: a lamp whose presses have all been served, as some node of the group knows, is dark soon
/// after.
pub(super) fn served_lamps_are_dark(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(super::EQUAL_WITHIN) {
        // Nodes with equal stores know the same services.
        let others: &[usize] = if are_equal(&digests(snapshot, &group)) { &[] } else { &group };
        for node in &group {
            for button in &snapshot.machines[*node].lit {
                if is_served_in(snapshot, others, *node, *button) {
                    let what = format!("{button} is still lit, though it was served");
                    let key = format!("P2 {node} {button}");
                    findings.push(Finding::new("P2", *node, what).lasting(key, TOO_LONG));
                }
            }
        }
    }
    findings
}

fn is_served_in(snapshot: &Snapshot, group: &[usize], node: usize, button: Button) -> bool {
    let call = Call::of_button(button, &snapshot.machines[node].name);
    let is_served = |dot: Dot| {
        let mut others = group.iter().filter_map(|other| snapshot.node(*other));
        others.any(|other| other.orders().get(dot).is_none())
    };
    snapshot.node(node).is_some_and(|node| node.orders().presses_of(&call).all(is_served))
}
