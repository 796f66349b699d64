//! A second model of the orders, which knows nothing of dots, stores, promises or merges.
//!
//! It sees what a passenger sees: somebody presses a button, its lamp goes on, a car comes. From
//! then until then the order has to exist. [`Promises`](super::promises::Promises) says the same of
//! each press by the brain's own names, and is exact where presses repeat; this model would notice
//! a brain whose names lie.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, NodeId};

use super::{Finding, Violation};
use crate::snapshot::Snapshot;

/// The orders that have to exist.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    /// The calls for which somebody has pressed since they were last served.
    pressed: BTreeSet<Call>,
    /// Those of them that a lamp has promised, and since when.
    open: BTreeMap<Call, Duration>,
    /// A process that shows what its disk holds, and has heard nothing yet: its lamps may show
    /// orders that were served while it was away.
    starting: bool,
    /// When a process last went on after a suspension. What it lights at that moment it may have
    /// heard of long ago.
    resumed_at: Option<Duration>,
}

impl Reference {
    /// A process begins to show what its disk holds, or has shown it.
    pub(crate) fn starting(&mut self, starting: bool) {
        self.starting = starting;
    }

    /// A suspended process goes on.
    pub(crate) fn resumed(&mut self, now: Duration) {
        self.resumed_at = Some(now);
    }

    /// Somebody presses a button of a panel whose controller is there.
    pub(crate) fn pressed(&mut self, at: &NodeId, button: Button) {
        self.pressed.insert(Call::of_button(button, at));
    }

    /// A lamp that was dark goes on.
    pub(crate) fn lit(&mut self, at: &NodeId, button: Button, now: Duration) {
        let call = Call::of_button(button, at);
        let is_old = self.starting || self.resumed_at == Some(now);
        if !is_old && self.pressed.contains(&call) {
            self.open.entry(call).or_insert(now);
        }
    }

    /// A car is there for this call with its door open: F18 checks that it is.
    pub(crate) fn served(&mut self, call: &Call) {
        self.pressed.remove(call);
        self.open.remove(call);
    }

    /// O1: an order that has to exist is in the store of a node that runs, or on a disk.
    pub(crate) fn inspect(&self, snapshot: &Snapshot) -> Vec<Finding> {
        let lost = self.open.iter().filter(|(call, _)| !exists(snapshot, call));
        lost.map(|(call, since)| {
            let what = format!("{call} was lit at {since:?}, and no store has it");
            Finding::new("O1", 0, what).once()
        })
        .collect()
    }

    /// O1, F12, F13: at the end no order is left.
    pub(crate) fn left(&self, snapshot: &Snapshot) -> Vec<Violation> {
        self.open
            .iter()
            .map(|(call, since)| Violation {
                at: snapshot.now,
                id: "O1",
                what: format!("no car came for {call}, which was lit at {since:?}"),
            })
            .collect()
    }
}

fn exists(snapshot: &Snapshot, call: &Call) -> bool {
    snapshot.machines.iter().any(|machine| {
        let has = machine.node().is_some_and(|node| node.orders().of_call(call).next().is_some());
        has || (!machine.disk.failed() && machine.disk.holds(call))
    })
}
