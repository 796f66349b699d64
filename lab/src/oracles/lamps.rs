//! P2 to P4, F12: lamps are lit for what is promised, the same on every panel, and dark once served.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot};
use elevator_fleet::node::Node;
use elevator_fleet::store::RecordState;

use super::{Finding, WITHIN};
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// P3: at the start, before anything is heard, the lamps are lit that the disk promises.
pub(super) fn the_disk_has_lit_the_lamps(snapshot: &Snapshot, node: usize) -> Vec<Finding> {
    let machine = &snapshot.machines[node];
    // What a failed disk holds can't be read, and a node without a car lights nothing at its start.
    if machine.disk.failed() || snapshot.settings.roles.contains_key(&node) {
        return Vec::new();
    }
    let recalls = machine.node().map_or(0, |node| node.orders().recalls());
    let open = machine
        .disk
        .restored()
        .records
        .into_iter()
        .filter(|it| matches!(it.state, RecordState::Open { recall, .. } if recall >= recalls));
    let dark = open.map(|record| record.call).filter(|call| {
        has_lamp(machine, call) && call.button().is_some_and(|it| !machine.lit.contains(&it))
    });
    dark.map(|call| Finding::new("P3", node, format!("{call} is on its disk and dark"))).collect()
}

/// Whether the panel of a machine has a lamp for this call.
pub(super) fn has_lamp(machine: &Machine, call: &Call) -> bool {
    match call {
        Call::Hall(_) => true,
        Call::Car { car, .. } => *car == machine.name,
    }
}

/// P2, P4, F12 in calm.
pub(super) fn lamps_converge(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(group) = snapshot.calm_group(WITHIN) else { return findings };
    // What waits for a disk waits for the transaction that is under way, and for its own.
    let limit = WITHIN + 2 * Duration::from_micros(*snapshot.settings.commit.end());
    let lit = |node: &usize| &snapshot.machines[*node].lit;
    let hall = |button: &&Button| button.direction().is_some();
    let somewhere: BTreeSet<&Button> = group.iter().flat_map(lit).filter(hall).collect();
    let is_partly_lit = |button: &&&Button| !group.iter().all(|node| lit(node).contains(button));
    findings.extend(somewhere.iter().filter(is_partly_lit).map(|button| {
        let what = format!("{button} is lit on some panels only");
        Finding::new("P4", group[0], what).lasting(limit)
    }));
    let nodes: Vec<&Node> = group.iter().filter_map(|node| snapshot.node(*node)).collect();
    let is_served = |dot: Dot| nodes.iter().any(|node| node.orders().get(dot).is_none());
    for (node, process) in group.iter().copied().zip(&nodes) {
        let machine = &snapshot.machines[node];
        let orders = process.orders();
        let open = orders.orders().filter(|order| has_lamp(machine, &order.call));
        let unpromised = open.filter(|order| !process.has_promised(order.dot));
        findings.extend(unpromised.map(|order| {
            let what = format!("{}, {}, is not promised", order.call, order.dot);
            Finding::new("F12", node, what).lasting(limit)
        }));
        let served = machine.lit.iter().filter(|button| {
            orders.presses_of(&Call::of_button(**button, &machine.name)).all(is_served)
        });
        findings.extend(served.map(|button| {
            let what = format!("{button} is still lit, though it was served");
            Finding::new("P2", node, what).lasting(limit)
        }));
    }
    findings
}
