//! What has to hold: one function an invariant, which cites it. Safety is checked always, convergence
//! and liveness in calm only: see [`Snapshot::calm_group`].
//!
//! ```text
//!   World ── Snapshot: read only ──▶ oracles ── Finding ──▶ Verdicts ── Violation ──▶
//!                                    │  fn(&Snapshot) -> Vec<Finding>, or, where the past counts,
//!                                    └─ a struct that is shown one snapshot after the other
//! ```
//!
//! An oracle can't change what it judges. [`Verdicts`] decides what becomes of a finding: some
//! things are wrong at once, some only if they last, and none of an invariant that a fault which has
//! not healed invalidates.
//!
//! O2, O3 and O6 are properties of the store, and proved beside it; E5 is kept by what `fleet/` may
//! import.

mod cars;
mod climate;
mod elections;
mod lamps;
mod orders;
mod planning;
mod promises;
mod service;
mod verdicts;

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, PanelOutputs};
use elevator_fleet::model::{Call, Term};
use elevator_fleet::node::Report;
use elevator_fleet::wire::NodeState;

use self::cars::CarWatch;
use self::climate::Readings;
use self::elections::Masterships;
use self::orders::Orders;
use self::planning::PlanRate;
use self::promises::Promises;
use self::service::Service;
pub use self::verdicts::Violation;
use self::verdicts::{Finding, Verdicts};
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// In calm stores and hall lamps are equal within 1 s, and served lamps dark (O7, P2, P4).
const WITHIN: Duration = Duration::from_secs(1);

/// Every oracle, with what it remembers.
#[derive(Debug)]
pub(super) struct Oracles {
    verdicts: Verdicts,
    promises: Promises,
    orders: Orders,
    service: Service,
    masterships: Masterships,
    plan_rate: PlanRate,
    readings: Readings,
    /// By node.
    cars: Vec<CarWatch>,
    /// The machines whose car hung, and nobody has cleared that.
    latched: BTreeSet<usize>,
}

impl Oracles {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            verdicts: Verdicts::default(),
            promises: Promises::new(nodes),
            orders: Orders::default(),
            service: Service::default(),
            masterships: Masterships::new(nodes),
            plan_rate: PlanRate::default(),
            readings: Readings::default(),
            cars: (0..nodes).map(|_| CarWatch::default()).collect(),
            latched: BTreeSet::new(),
        }
    }

    /// What has gone wrong so far, and what can be seen to be wrong at this moment.
    pub(super) fn violations(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let mut violations = self.verdicts.violations().to_vec();
        violations.extend(cars::unsafe_cars(snapshot));
        violations
    }

    pub(super) fn broken_promises(&self, snapshot: &Snapshot) -> Vec<Violation> {
        self.promises.broken(snapshot)
    }

    /// The process of a machine is about to start with what its disk holds. H3: no car that hung is
    /// driven again before an operator has looked into it.
    pub(super) fn starting(&mut self, snapshot: &Snapshot, node: usize) {
        self.masterships.started(snapshot, node);
        self.cars[node].start_over();
        self.service.starts(node);
        let what = || "starts although nobody has cleared the hang of its car".to_owned();
        let starts = self.latched.contains(&node).then(|| Finding::new("H3", node, what()));
        self.verdicts.record(snapshot, starts);
    }

    /// The process has shown the panel what its disk holds, and heard nothing yet.
    pub(super) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        let findings = lamps::the_disk_has_lit_the_lamps(snapshot, node);
        self.verdicts.record(snapshot, findings);
    }

    pub(super) fn ends(&mut self, snapshot: &Snapshot, node: usize) {
        self.promises.process_ends(snapshot, node);
    }

    pub(super) fn hang_is_cleared(&mut self, node: usize) {
        self.latched.remove(&node);
    }

    /// The controller of a panel is about to hear of a press.
    pub(super) fn told(&mut self, machine: &Machine, button: Button) {
        self.orders.told(machine, button);
    }

    pub(super) fn pressed(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        self.orders.pressed(snapshot, node, button);
    }

    /// A lamp is lit, or lit still.
    pub(super) fn lamp_is_lit(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let findings = self.promises.lamp_is_lit(snapshot, node, button);
        self.verdicts.record(snapshot, findings);
    }

    pub(super) fn lamp_went_dark(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let findings = self.promises.lamp_went_dark(snapshot, node, button);
        self.verdicts.record(snapshot, findings);
    }

    /// Something about a car, its faults or its commands has changed.
    pub(super) fn car_changed(&mut self, snapshot: &Snapshot, node: usize) {
        self.cars[node].look(&snapshot.machines[node], snapshot.now);
    }

    pub(super) fn commanded(&mut self, snapshot: &Snapshot, node: usize, outputs: &PanelOutputs) {
        let finding = self.cars[node].look_at_riders(snapshot, node, outputs);
        self.verdicts.record(snapshot, finding);
    }

    /// Nobody knows what the car does meanwhile (H1).
    pub(super) fn car_interrupted(&mut self, node: usize) {
        self.cars[node].interrupt();
    }

    /// F5: a message was read as something else than was written.
    pub(super) fn misread(&mut self, snapshot: &Snapshot, node: usize, what: String) {
        self.verdicts.record(snapshot, [Finding::new("F5", node, what)]);
    }

    pub(super) fn reported(&mut self, snapshot: &Snapshot, node: usize, report: &Report) {
        self.plan_rate.reported(report);
        if let Report::Served { call, .. } | Report::Dropped { call } = report
            && call.is_trip()
        {
            self.promises.trip_is_over(node, call);
        }
        let findings = match report {
            Report::Served { call, here: true, .. } => {
                self.promises.served(snapshot, node, call);
                self.car_changed(snapshot, node);
                let boarded = self.service.boarded(snapshot, node, (call, &self.cars[node]));
                boarded.into_iter().chain(service::served_here(snapshot, node, call)).collect()
            }
            Report::Dropped { call } => self.dropped(snapshot, node, call).into_iter().collect(),
            Report::Promised { call } => self.promised(snapshot, node, call),
            Report::NodeState { to, term, .. } => {
                let quiet = elections::no_change_of_master(snapshot, node, report);
                let changed = self.changed_state(snapshot, node, to, *term);
                quiet.into_iter().chain(changed).collect()
            }
            // A mastership that rotates is no change of master.
            Report::Rotated { to, term, .. } => {
                self.changed_state(snapshot, node, to, *term).into_iter().collect()
            }
            Report::Hung(_) => {
                self.latched.insert(node);
                self.car_changed(snapshot, node);
                let stops = cars::the_motor_is_stopped_first(&snapshot.machines[node], node);
                stops.into_iter().chain(self.cars[node].only_a_broken_car_hangs(node)).collect()
            }
            Report::Conflict(what) => vec![Finding::new("C7", node, what.clone())],
            Report::Placed { call, origin, press: Some(press) } => {
                self.service.placed(call, *press, snapshot.now);
                let at = (node, &snapshot.machines[node]);
                self.orders.placed(at, (call, origin, *press)).into_iter().collect()
            }
            Report::Assigned { call, car, .. } => {
                self.masterships.assigned(snapshot, node, (call, car)).into_iter().collect()
            }
            _ => Vec::new(),
        };
        self.verdicts.record(snapshot, findings);
    }

    fn promised(&mut self, snapshot: &Snapshot, node: usize, call: &Call) -> Vec<Finding> {
        match call.button() {
            Some(button) => self.promises.lamp_is_lit(snapshot, node, button),
            None => self.promises.is_shown(snapshot, node, call),
        }
    }

    /// O1: what a node drops has been recalled.
    fn dropped(&mut self, snapshot: &Snapshot, node: usize, call: &Call) -> Option<Finding> {
        self.promises.dropped(snapshot, call);
        let is_recalled = snapshot.node(node).is_some_and(|it| it.directives().is_fire_recalled());
        (!is_recalled).then(|| Finding::new("O1", node, format!("{call} was dropped")))
    }

    fn changed_state(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        to: &NodeState,
        term: Term,
    ) -> Option<Finding> {
        match to {
            NodeState::Slave { master } => {
                elections::orders_are_handed_over(snapshot, node, master)
            }
            NodeState::Master => self.masterships.became_master(node, term),
            NodeState::Seeking => None,
        }
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self, snapshot: &Snapshot) {
        for (node, machine) in snapshot.machines.iter().enumerate() {
            for button in &machine.lit {
                self.lamp_is_lit(snapshot, node, *button);
            }
            self.cars[node].look(machine, snapshot.now);
            let hangs = self.cars[node].hangs_without_progress(snapshot, node);
            self.verdicts.record(snapshot, hangs);
        }
        let moves = cars::one_car_moves_on_emergency_power(snapshot);
        self.verdicts.record(snapshot, moves);
        let master = elections::there_is_one_master(snapshot);
        self.verdicts.record(snapshot, master);
        let findings = [
            self.promises.are_on_a_disk(snapshot),
            self.orders.presses_are_taken(snapshot),
            self.orders.stores_are_equal(snapshot),
            self.plan_rate.inspect(snapshot),
            self.masterships.inspect(snapshot),
            elections::calls_are_assigned(snapshot),
            cars::motors_stop(snapshot),
            self.service.inspect(snapshot, &self.cars),
            lamps::lamps_converge(snapshot),
            self.readings.inspect(snapshot),
        ];
        for findings in findings {
            self.verdicts.record(snapshot, findings);
        }
        self.verdicts.end_inspection();
    }
}

#[cfg(test)]
mod tests;
