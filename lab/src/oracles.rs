//! What has to hold whatever happens: one function an invariant, which cites it.
//!
//! ```text
//!   World ── Snapshot: read only ──▶ oracles ── Finding ──▶ Verdicts ── Violation ──▶
//!                                    │  fn(&Snapshot) -> Vec<Finding>, or, where the past counts,
//!                                    └─ a struct that is shown one snapshot after the other
//! ```
//!
//! An oracle can't change what it judges. [`Verdicts`] decides what becomes of a finding: some
//! things are wrong at once, some only if they last.
//!
//! O2, O3 and O6 are properties of the store, and proved beside it; E5 is kept by what `fleet/` may
//! import.

mod car_watch;
mod cars;
mod climate;
mod directives;
mod election;
mod lamps;
mod latches;
pub(crate) mod mastership;
mod orders;
mod planning;
mod promises;
mod reference;
mod robots;
mod service;
mod verdicts;
mod waits;

use std::time::Duration;

use elevator_driver::{Button, PanelEvent, PanelOutputs, Trip};
use elevator_fleet::directives::Session;
use elevator_fleet::model::{Call, NodeId, Term};
use elevator_fleet::node::Report;
use elevator_fleet::wire::NodeState;

use self::car_watch::CarWatch;
use self::election::{Handovers, Plans, Terms};
use self::latches::Latches;
use self::mastership::{Mastership, MastershipWatch};
use self::orders::{Locks, Presses, StoreChanges, Stores, Taken};
use self::planning::PlanRate;
use self::promises::Promises;
use self::reference::Reference;
use self::robots::RobotWatch;
use self::service::Boardings;
pub use self::verdicts::Violation;
use self::verdicts::{Finding, Verdicts};
use self::waits::Waits;
use crate::Fault;
use crate::history::Note;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// Within this time stores and hall lamps are equal, and served lamps dark (O7, P2, P4).
const EQUAL_WITHIN: Duration = Duration::from_secs(1);

/// What lasts longer than [`EQUAL_WITHIN`] lasts too long.
const TOO_LONG: Duration = EQUAL_WITHIN.saturating_add(Duration::from_nanos(1));

/// Every oracle, with what it remembers.
#[derive(Debug)]
pub(super) struct Oracles {
    verdicts: Verdicts,
    promises: Promises,
    reference: Reference,
    boardings: Boardings,
    changes: StoreChanges,
    presses: Presses,
    taken: Taken,
    stores: Stores,
    locks: Locks,
    plans: Plans,
    plan_rate: PlanRate,
    terms: Terms,
    handovers: Handovers,
    /// By node.
    cars: Vec<CarWatch>,
    latches: Latches,
    /// By node.
    robots: Vec<RobotWatch>,
    waits: Waits,
    mastership: MastershipWatch,
}

impl Oracles {
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            verdicts: Verdicts::default(),
            promises: Promises::new(nodes),
            reference: Reference::default(),
            boardings: Boardings::default(),
            changes: StoreChanges::new(nodes),
            presses: Presses::default(),
            taken: Taken::default(),
            stores: Stores::default(),
            locks: Locks::default(),
            plans: Plans::new(nodes),
            plan_rate: PlanRate::default(),
            terms: Terms::new(nodes),
            handovers: Handovers::new(nodes),
            cars: (0..nodes).map(|_| CarWatch::default()).collect(),
            latches: Latches::default(),
            robots: (0..nodes).map(|_| RobotWatch::default()).collect(),
            waits: Waits::default(),
            mastership: MastershipWatch::default(),
        }
    }

    /// What has gone wrong so far, and what can be seen to be wrong at this moment.
    pub(super) fn violations(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let mut violations = self.verdicts.violations().to_vec();
        violations.extend(cars::unsafe_cars(snapshot));
        violations
    }

    /// The promises that are open; at the end, when none may be.
    pub(super) fn broken_promises(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let mut broken = self.promises.broken(snapshot);
        broken.extend(self.reference.left(snapshot));
        broken
    }

    pub(super) fn mastership(&self) -> Mastership {
        self.mastership.mastership
    }

    /// Something happened after which the fleet may take its time to come to rest.
    pub(super) fn disturbed(&mut self) {
        self.verdicts.disturbed();
    }

    /// The process of a machine is about to start with what its disk holds.
    pub(super) fn starting(&mut self, snapshot: &Snapshot, node: usize) {
        self.terms.started(snapshot, node);
        self.reference.starting(true);
        self.handovers.started(node);
        self.cars[node].start_over();
        let findings = self.latches.starting(node);
        self.verdicts.record(snapshot, findings);
        self.robots[node] = RobotWatch::default();
    }

    /// The process has shown the panel what its disk holds, and heard nothing yet.
    pub(super) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        self.reference.starting(false);
        if let Some(process) = snapshot.node(node) {
            let trips = process.orders().calls().filter(|call| call.is_trip()).cloned();
            self.reference.finds(&snapshot.machines[node].name, trips.collect());
        }
        let findings = lamps::the_disk_has_lit_the_lamps(snapshot, node);
        self.verdicts.record(snapshot, findings);
    }

    /// The process of a machine is about to end.
    pub(super) fn ends(&mut self, snapshot: &Snapshot, node: usize) {
        self.promises.process_ends(snapshot, node);
        self.reference.starting(false);
    }

    /// A machine has lost its disk.
    pub(super) fn disk_lost(&mut self, snapshot: &Snapshot, node: usize) {
        self.promises.disk_lost(snapshot, node);
    }

    /// A line of the story, as far as a passenger sees it.
    pub(super) fn seen(&mut self, now: Duration, at: &NodeId, note: &Note) {
        match note {
            Note::Lit(button) => self.reference.lit(at, *button, now),
            Note::Fault(Fault::FireRecall { start: true, .. }) => self.reference.recalled(),
            Note::Fault(Fault::ClearHang(cleared)) => self.latches.cleared(*cleared),
            Note::Started
            | Note::Ended
            | Note::Pressed(_)
            | Note::Requested(_)
            | Note::Dark(_)
            | Note::Fault(_)
            | Note::Reported(_) => {}
        }
    }

    /// The panel of a machine tells its controller something. What was pressed before a controller
    /// that has ended is known to nobody.
    pub(super) fn told(&mut self, machine: &Machine, event: &PanelEvent) {
        match event {
            PanelEvent::Pressed(button) if !machine.lets_in_at(button.floor()) => {
                self.reference.pressed(&machine.name, *button);
            }
            PanelEvent::Requested(trip) => self.reference.requested(*trip),
            PanelEvent::Pressed(_)
            | PanelEvent::Connected
            | PanelEvent::Disconnected(_)
            | PanelEvent::Refused(_)
            | PanelEvent::Inputs(_) => {}
        }
    }

    /// The suspended process of this node goes on.
    pub(super) fn resumed(&mut self, at: &NodeId, now: Duration) {
        self.reference.resumed(at, now);
    }

    /// A kiosk names the car of a trip that it did not show before.
    pub(super) fn trip_is_shown(&mut self, now: Duration, at: &NodeId, trip: Trip) {
        self.reference.shown(at, trip, now);
    }

    /// A button of a panel was pressed.
    pub(super) fn pressed(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        self.taken.pressed(snapshot, node, button);
        self.locks.pressed(snapshot, node, button);
    }

    /// A lamp is lit, or lit still.
    pub(super) fn lamp_is_lit(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let findings = self.promises.lamp_is_lit(snapshot, node, button);
        self.verdicts.record(snapshot, findings);
    }

    /// A lamp went out while its process runs.
    pub(super) fn lamp_went_dark(&mut self, snapshot: &Snapshot, node: usize, button: Button) {
        let findings = self.promises.lamp_went_dark(snapshot, node, button);
        self.verdicts.record(snapshot, findings);
    }

    /// Something about a car, its faults or its commands has changed.
    pub(super) fn car_changed(&mut self, snapshot: &Snapshot, node: usize) {
        self.cars[node].look(&snapshot.machines[node], snapshot.now);
        self.reference.look(&snapshot.machines[node]);
    }

    /// A node is about to command these outputs.
    pub(super) fn commanded(&mut self, snapshot: &Snapshot, node: usize, outputs: &PanelOutputs) {
        let findings = self.cars[node].look_at_riders(snapshot, node, outputs);
        self.verdicts.record(snapshot, findings);
    }

    /// Nobody knows what the car does meanwhile (H1).
    pub(super) fn car_interrupted(&mut self, node: usize) {
        self.cars[node].interrupt();
    }

    /// The key switch of a car was turned: its riders are asked to leave.
    pub(super) fn key_turned(&mut self, node: usize) {
        self.cars[node].riders = None;
    }

    /// F5: a message was read as something else than was written.
    pub(super) fn misread(&mut self, snapshot: &Snapshot, node: usize, what: String) {
        let finding = Finding::new("F5", node, what);
        self.verdicts.record(snapshot, vec![finding]);
    }

    /// Looks at what a report shows.
    pub(super) fn reported(&mut self, snapshot: &Snapshot, node: usize, report: &Report) {
        self.plan_rate.reported(report);
        if let Report::Served { call, .. } = report
            && call.button().is_none()
        {
            self.promises.trip_is_over(node, call);
        }
        let findings = match report {
            Report::Served { call, here: true, .. } => {
                self.promises.served(snapshot, node, call);
                self.car_changed(snapshot, node);
                let opened = self.cars[node].opened();
                let boarded = self.boardings.served(snapshot, node, call, opened);
                let served = service::served_here(snapshot, node, call);
                boarded.into_iter().chain(served).collect()
            }
            Report::Dropped { call } => self.dropped(snapshot, node, call),
            Report::Promised { call } => match call.button() {
                Some(button) => self.promises.lamp_is_lit(snapshot, node, button),
                None => self.promises.trip_is_promised(snapshot, node, call),
            },
            Report::NodeState { to, term, .. } => {
                let quiet = election::no_change_of_master_in_quiet(snapshot, node, report);
                self.verdicts.record(snapshot, quiet);
                self.changed_state(snapshot, node, to, *term)
            }
            // A mastership that rotates is no change of master.
            Report::Rotated { to, term, .. } => self.changed_state(snapshot, node, to, *term),
            Report::PeerLost { node: lost } => {
                self.promises.peer_lost(snapshot, node, lost);
                Vec::new()
            }
            Report::Hung(_) => {
                self.latches.hung(node);
                self.car_changed(snapshot, node);
                let stops = cars::the_motor_is_stopped_first(&snapshot.machines[node], node);
                let hangs = cars::only_a_broken_car_hangs(&self.cars[node], node);
                stops.into_iter().chain(hangs).collect()
            }
            Report::Conflict(what) => {
                let (disturbances, now) = (snapshot.disturbances, snapshot.now);
                let excused = disturbances.are_nodes_deceived(now)
                    || disturbances.are_there_twins(now)
                    || disturbances.took_for_two(what, now)
                    || disturbances.other_versions.is_noticed(now)
                        && what.contains("of the wire protocol")
                    || disturbances.damaged_frames.is_noticed(now)
                        && what.contains("what is not a frame");
                let finding = || Finding::new("C7", node, what.clone());
                (!excused).then(finding).into_iter().collect()
            }
            Report::Placed { call, press, .. } => {
                self.boardings.placed(snapshot, call, *press);
                Vec::new()
            }
            Report::Assigned { call, car, .. } => {
                self.plans.assigned(snapshot, node, (call, car)).into_iter().collect()
            }
            Report::Directive { key, value, .. } => {
                self.taken.commanded(snapshot, node);
                // The car goes where the robot is: its riders get off on the way.
                let own = Some(&snapshot.machines[node].name);
                if Session::at(key, value).is_some_and(|session| session.car() == own) {
                    self.key_turned(node);
                }
                Vec::new()
            }
            Report::Served { here: false, .. }
            | Report::TakenOver { .. }
            | Report::PeerDiscovered { .. }
            | Report::Synced { .. }
            | Report::Repair { .. }
            | Report::Door { .. }
            | Report::Floor { .. }
            | Report::Availability(_)
            | Report::Panel(_)
            | Report::PressRefused { .. }
            | Report::FloorUnreachable { .. }
            | Report::DriveRefused
            | Report::OffTarget { .. }
            | Report::DiskFailed => Vec::new(),
        };
        self.verdicts.record(snapshot, findings);
    }

    /// Looks at what a node has dropped in a fire recall.
    fn dropped(&mut self, snapshot: &Snapshot, node: usize, call: &Call) -> Vec<Finding> {
        // Who comes to know of a recall that is over drops what others have dropped.
        let recalled = snapshot.node(node).is_some_and(|it| it.directives().is_fire_recalled());
        let may_be = recalled || self.promises.are_closed(snapshot, node, call);
        if recalled {
            self.promises.dropped(snapshot, node, call);
        } else {
            self.promises.served(snapshot, node, call);
        }
        if call.button().is_none() {
            self.promises.trip_is_over(node, call);
        }
        let finding = || Finding::new("O1", node, format!("{call} was dropped"));
        (!may_be).then(finding).into_iter().collect()
    }

    fn changed_state(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        to: &NodeState,
        term: Term,
    ) -> Vec<Finding> {
        match to {
            NodeState::Slave { master } => self.handovers.yielded(snapshot, node, master),
            NodeState::Master => {
                self.plans.became_master(node, term);
                self.terms.became_master(node, term)
            }
            NodeState::Seeking => Vec::new(),
        }
    }

    /// Looks at what no single event shows.
    pub(super) fn inspect(&mut self, snapshot: &Snapshot) {
        for (node, machine) in snapshot.machines.iter().enumerate() {
            for button in &machine.lit {
                self.lamp_is_lit(snapshot, node, *button);
            }
        }
        let changed = self.changes.look(snapshot);
        self.handovers.inspect(snapshot.now, &changed);
        let findings = [
            self.promises.are_on_a_disk(snapshot),
            self.reference.inspect(snapshot),
            self.presses.inspect(&changed),
            self.taken.inspect(snapshot),
            self.locks.inspect(snapshot),
            self.plan_rate.inspect(snapshot),
            self.stores.inspect(snapshot),
            directives::directives_are_equal(snapshot),
            self.terms.inspect(snapshot),
            election::one_master_in_each_group(snapshot),
            election::one_master_is_found_again(snapshot),
            election::calls_are_assigned_to_the_living(snapshot),
            election::slaves_have_the_plan_of_their_master(snapshot),
            cars::stop_switches_stop_the_motor(snapshot),
            cars::one_car_moves_on_emergency_power(snapshot),
            cars::motors_stop_without_a_controller(snapshot),
            cars::cars_without_progress_hang(snapshot, &mut self.cars),
            self.waits.inspect(snapshot, &self.cars),
            lamps::orders_are_promised(snapshot),
            lamps::hall_lamps_are_equal(snapshot),
            lamps::served_lamps_are_dark(snapshot),
            climate::displays_show_the_climate_of_their_group(snapshot),
        ];
        for findings in findings {
            self.verdicts.record(snapshot, findings);
        }
        for (node, robots) in self.robots.iter_mut().enumerate() {
            let findings = robots.inspect(snapshot, node);
            self.verdicts.record(snapshot, findings);
        }
        self.verdicts.end_inspection();
    }

    /// Looks at who is master, after each event.
    pub(super) fn watch_mastership(&mut self, snapshot: &Snapshot) {
        self.mastership.look(snapshot);
    }
}

#[cfg(test)]
mod tests;
