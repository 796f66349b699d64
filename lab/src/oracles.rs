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

use std::time::Duration;

use elevator_driver::{Button, PanelOutputs};
use elevator_fleet::model::Call;
use elevator_fleet::node::Report;

use self::cars::CarWatch;
use self::climate::Readings;
use self::elections::Masterships;
use self::orders::Orders;
use self::planning::PlanRate;
use self::promises::Promises;
use self::service::Service;
pub use self::verdicts::Violation;
use self::verdicts::{Finding, Verdicts};
use crate::snapshot::Snapshot;

/// In calm stores and hall lamps are equal within 1 s, and served lamps dark (O7, P2, P4).
const WITHIN: Duration = Duration::from_secs(1);

/// Every oracle, with what it remembers.
#[derive(Debug)]
pub(super) struct Oracles {
    verdicts: Verdicts,
    pub(super) promises: Promises,
    pub(super) orders: Orders,
    service: Service,
    masterships: Masterships,
    plan_rate: PlanRate,
    readings: Readings,
    /// By node.
    pub(super) cars: Vec<CarWatch>,
}

impl Oracles {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            verdicts: Verdicts::default(),
            promises: Promises::new(nodes),
            orders: Orders::default(),
            service: Service::default(),
            masterships: Masterships::default(),
            plan_rate: PlanRate::default(),
            readings: Readings::default(),
            cars: (0..nodes).map(|_| CarWatch::default()).collect(),
        }
    }

    /// What has gone wrong so far, and what can be seen to be wrong at this moment.
    pub(super) fn violations(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let mut violations = self.verdicts.violations.clone();
        violations.extend(cars::unsafe_cars(snapshot));
        violations
    }

    /// The process of a machine is about to start with what its disk holds. H3: no car that hung is
    /// driven again before an operator has looked into it.
    pub(super) fn starting(&mut self, snapshot: &Snapshot, node: usize) {
        self.masterships.started(snapshot, node);
        self.cars[node].start_over();
        let what = "starts although nobody has cleared the hang of its car";
        let starts = self.cars[node].latched.then(|| Finding::new("H3", node, what));
        self.verdicts.record(snapshot, starts);
    }

    /// The process has shown the panel what its disk holds, and heard nothing yet.
    pub(super) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        let findings = lamps::the_disk_has_lit_the_lamps(snapshot, node);
        self.verdicts.record(snapshot, findings);
    }

    /// A lamp is lit, or lit still.
    pub(super) fn lamp_is_lit(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let call = Call::of_button(button, &snapshot.machines[node].name);
        let findings = self.promises.is_shown(snapshot, node, &call);
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
        let mut findings = Vec::new();
        match report {
            Report::Served { call, here: true, .. } => {
                self.promises.served(snapshot, node, call);
                self.car_changed(snapshot, node);
                let known = (&self.cars[node], &self.orders);
                findings.extend(service::boarded(snapshot, node, call, known));
                findings.extend(service::served_here(snapshot, node, call));
            }
            Report::Dropped { call } => {
                findings.extend(self.promises.dropped(snapshot, node, call));
            }
            Report::Promised { call } => {
                findings.extend(self.promises.is_shown(snapshot, node, call));
            }
            Report::NodeState { to, term, .. } => {
                // E6: where no node comes or goes, no node becomes master or ceases to be.
                let settled = snapshot.settled_group();
                findings.extend(settled.map(|_| Finding::new("E6", node, format!("{report:?}"))));
                findings.extend(self.masterships.changed_state(snapshot, node, (to, *term)));
            }
            // A mastership that rotates is no change of master.
            Report::Rotated { to, term, .. } => {
                findings.extend(self.masterships.changed_state(snapshot, node, (to, *term)));
            }
            Report::Hung(_) => {
                self.car_changed(snapshot, node);
                findings.extend(self.cars[node].hung(&snapshot.machines[node], node));
            }
            Report::Conflict { text: what } => {
                findings.push(Finding::new("C7", node, what.clone()));
            }
            Report::Placed { call, origin, press: Some(press) } => {
                findings.extend(self.orders.placed(snapshot, node, (call, origin, *press)));
            }
            Report::Assigned { call, car, .. } => {
                findings.extend(self.masterships.assigned(snapshot, node, (call, car)));
            }
            _ => {}
        }
        self.verdicts.record(snapshot, findings);
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self, snapshot: &Snapshot) {
        let findings = [
            self.promises.inspect(snapshot),
            cars::inspect(snapshot, &mut self.cars),
            self.orders.presses_are_taken(snapshot),
            self.orders.stores_are_equal(snapshot),
            self.plan_rate.inspect(snapshot),
            self.masterships.inspect(snapshot),
            elections::calls_are_assigned(snapshot),
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
