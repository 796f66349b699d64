//! No press is confused with another, and every store comes to hold the same.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::model::{Call, Dot, NodeId, Order};

use super::{EQUAL_WITHIN, Finding, TOO_LONG};
use crate::snapshot::Snapshot;

/// Where a node has sent what no sound node sends, stores have this much longer.
const EQUAL_AFTER_A_LIE: Duration = Duration::from_secs(9);

/// O4: one dot is one press, wherever it is seen.
#[derive(Debug, Default)]
pub(crate) struct Presses {
    /// What each dot names: the call, and where it was pressed.
    known: BTreeMap<Dot, (Call, NodeId)>,
}

impl Presses {
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for node in 0..snapshot.machines.len() {
            let orders = snapshot.node(node).map(|node| node.orders().orders());
            for order in orders.into_iter().flatten() {
                if !self.is_the_press(order) {
                    let what = format!("{}: {} is another press too", order.dot, order.call);
                    findings.push(Finding::new("O4", node, what).once());
                }
            }
        }
        findings
    }

    /// Whether the dot of an order has named no other press before.
    pub(crate) fn is_the_press(&mut self, order: &Order) -> bool {
        let known = self
            .known
            .entry(order.dot)
            .or_insert_with(|| (order.call.clone(), order.origin.clone()));
        (&known.0, &known.1) == (&order.call, &order.origin)
    }
}

/// O7: where all hear each other and no order changes, digests are equal.
pub(super) fn stores_are_equal(snapshot: &Snapshot) -> Vec<Finding> {
    let calm = if snapshot.disturbances.forged { EQUAL_AFTER_A_LIE } else { EQUAL_WITHIN };
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(calm) {
        let digests: Vec<u64> =
            group.iter().filter_map(|node| Some(snapshot.node(*node)?.orders().digest())).collect();
        let equal = digests.windows(2).all(|pair| pair[0] == pair[1]);
        if let Some(first) = group.first().filter(|_| !equal) {
            // A change of any of them starts the time anew.
            let key = format!("O7 {group:?} {digests:?}");
            let what = format!("the stores of {group:?} differ");
            findings.push(Finding::new("O7", *first, what).lasting(key, TOO_LONG));
        }
    }
    findings
}
