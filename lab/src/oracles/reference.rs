//! A second model of the orders, which knows nothing of dots, stores, promises or merges.
//!
//! It sees what a passenger sees: somebody presses a button or asks a kiosk for a trip, the lamp goes
//! on or the kiosk names a car, and a car stands at the floor with its door not closed and its lantern
//! lit in the right direction. From then until then the order has to exist. It takes no node's word for
//! a service. [`Promises`](super::promises::Promises) says the same of each press by the brain's own
//! names, and is exact where presses repeat; this model would notice a brain whose names lie.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Button, DoorState, Trip};
use elevator_fleet::model::{Call, HallCall, NodeId};

use super::{Finding, Violation};
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// The orders that have to exist.
#[derive(Debug, Default)]
pub(crate) struct Reference {
    /// The calls for which somebody has pressed since a car was last there for them.
    pressed: BTreeSet<Call>,
    /// Those of them that a lamp or a kiosk has promised, and since when.
    open: BTreeMap<Call, Duration>,
    /// A process that shows what its disk holds, and has heard nothing yet: its lamps may show
    /// orders that were served while it was away.
    starting: bool,
    /// The trips that the process of each node found on its disk and has not shown yet: its kiosk names
    /// their cars once its panel is there. They may have been served while it was away.
    found: BTreeMap<NodeId, BTreeSet<Call>>,
    /// When the process of each node last went on after a suspension. What it lights at that moment
    /// it may have heard of long ago.
    resumed_at: BTreeMap<NodeId, Duration>,
}

impl Reference {
    /// A process begins to show what its disk holds, or has shown it.
    pub(crate) fn starting(&mut self, starting: bool) {
        self.starting = starting;
    }

    /// The process of this node has found these trips on its disk.
    pub(crate) fn finds(&mut self, at: &NodeId, trips: BTreeSet<Call>) {
        self.found.insert(at.clone(), trips);
    }

    /// The suspended process of this node goes on.
    pub(crate) fn resumed(&mut self, at: &NodeId, now: Duration) {
        self.resumed_at.insert(at.clone(), now);
    }

    /// The controller of a panel hears that somebody presses a button.
    pub(crate) fn pressed(&mut self, at: &NodeId, button: Button) {
        self.pressed.insert(Call::of_button(button, at));
    }

    /// A controller hears that somebody asks for a trip at its kiosk.
    pub(crate) fn requested(&mut self, trip: Trip) {
        self.pressed.extend(HallCall::to(trip.from(), trip.to()).map(Call::Hall));
    }

    /// A lamp that was dark goes on.
    pub(crate) fn lit(&mut self, at: &NodeId, button: Button, now: Duration) {
        self.promised(at, Call::of_button(button, at), now);
    }

    /// A kiosk names the car of a trip that it did not show before.
    pub(crate) fn shown(&mut self, at: &NodeId, trip: Trip, now: Duration) {
        if let Some(call) = HallCall::to(trip.from(), trip.to()) {
            let call = Call::Hall(call);
            let is_found = self.found.get_mut(at).is_some_and(|found| found.remove(&call));
            if !is_found {
                self.promised(at, call, now);
            }
        }
    }

    fn promised(&mut self, at: &NodeId, call: Call, now: Duration) {
        let is_old = self.starting || self.resumed_at.get(at) == Some(&now);
        if !is_old && self.pressed.contains(&call) {
            self.open.entry(call).or_insert(now);
        }
    }

    /// Looks whether a car is there for whom it may concern.
    pub(crate) fn look(&mut self, machine: &Machine) {
        let car = &machine.car;
        if self.pressed.is_empty() || car.inputs().door == DoorState::Closed {
            return;
        }
        let is_served = |call: &Call| match call {
            Call::Car { car: of, floor } => {
                *of == machine.name && machine.is_taken_to_be_at(*floor)
            }
            Call::Hall(HallCall { floor, direction, .. }) => {
                machine.is_taken_to_be_at(*floor) && car.lantern() == Some(*direction)
            }
        };
        self.open.retain(|call, _| !is_served(call));
        self.pressed.retain(|call| !is_served(call));
    }

    /// In a fire recall nobody serves anybody: who waits has to press again.
    pub(crate) fn recalled(&mut self) {
        self.pressed.clear();
        self.open.clear();
    }

    /// O1: an order that has to exist is in the store of a node that runs, or on a disk.
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut nodes = snapshot.machines.iter().filter_map(Machine::node);
        if nodes.any(|node| node.directives().is_fire_recalled()) {
            self.recalled();
        }
        for machine in snapshot.machines {
            self.look(machine);
            if let Some((node, found)) = machine.node().zip(self.found.get_mut(&machine.name)) {
                found.retain(|call| node.orders().is_open(call));
            }
        }
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
        let has = machine.node().is_some_and(|node| node.orders().is_open(call));
        has || (!machine.disk.failed() && machine.disk.holds(call))
    })
}
