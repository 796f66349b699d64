//! E1 to E4, E6, E8, H4: one master, its terms, what it assigns, and what is handed over to it.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::model::{Call, HallCall, NodeId, Term};
use elevator_fleet::node::Node;
use elevator_fleet::wire::NodeState;

use super::Finding;
use crate::machine::{Machine, Process};
use crate::network::Weather;
use crate::snapshot::Snapshot;

/// A master has told its slaves of an assignment by then.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// E8: a hall call has a car by then.
const ASSIGNED_WITHIN: Duration = Duration::from_secs(5);

/// E8: a car tries what has failed it again by then: `unreachable_retry`, which is longer than
/// `drive_retry`, and the time to get a car.
const TRIED_AGAIN_WITHIN: Duration = Duration::from_secs(65);

/// An order that came in so shortly before may still be under way in a usual network.
const HANDED_OVER_WITHIN: Duration = Duration::from_millis(50);

/// By how much a packet takes longer than in a usual network.
fn slower_by(snapshot: &Snapshot) -> Duration {
    let slowest = |weather: &Weather| Duration::from_micros(*weather.delay.end());
    slowest(&snapshot.network.weather).saturating_sub(slowest(&Weather::default()))
}

/// The terms of a node (E3).
#[derive(Debug, Default)]
struct Terms {
    /// The term that it was last seen to know.
    latest: Term,
    /// The term under which its process was last seen to lead.
    led: Option<Term>,
    /// The term of its latest mastership.
    term: Term,
    /// What it has assigned as master, and under which term it did last.
    made: BTreeMap<(Call, NodeId), Term>,
}

/// By node: its terms. A mastership has a greater one than all before, and assignments are those of
/// the present mastership (E3).
#[derive(Debug, Default)]
pub(super) struct Masterships(Vec<Terms>);

impl Masterships {
    /// A node that starts knows the term on its disk.
    pub(super) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        self.0.resize_with(snapshot.machines.len(), Terms::default);
        self.0[node].latest = snapshot.machines[node].disk.term();
        self.0[node].led = None;
    }

    /// E3: the term of a new master is greater than the one that it was seen to know.
    pub(super) fn changed_state(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        (to, term): (&NodeState, Term),
    ) -> Option<Finding> {
        match to {
            NodeState::Slave { master } => orders_are_handed_over(snapshot, node, master),
            NodeState::Master => {
                self.0[node].term = term;
                let known = self.0[node].latest;
                let what = || format!("leads under {term}, knew {known}");
                (term <= known).then(|| Finding::new("E3", node, what()))
            }
            NodeState::Seeking => None,
        }
    }

    /// E1, E2, E7: all have one master, known to all. Where the mastership rotates, all know within a
    /// bounded time where it has gone (C3): the token has to cross the network, and its answer.
    ///
    /// E3: terms never decrease, and the master of a fleet has a greater one than all whose mastership
    /// has ended in it.
    pub(super) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (node, known) in self.0.iter_mut().enumerate() {
            let Some(term) = snapshot.node(node).map(Node::term) else { continue };
            if snapshot.node_state(node) == Some(&NodeState::Master) {
                known.led = Some(term);
            }
            let before = std::mem::replace(&mut known.latest, term);
            if term < before {
                findings.push(Finding::new("E3", node, format!("term {before} became {term}")));
            }
        }
        let Some(group) = snapshot.settled_group() else { return findings };
        let master = snapshot.master_of(&group);
        if !snapshot.is_right(&group, master) {
            let election = &snapshot.settings.election;
            let rotates = election.profile().rotates;
            let crossings = if rotates { slower_by(snapshot) * 2 } else { Duration::ZERO };
            let what = format!("{group:?} have the master {master:?}");
            let limit = election.settles_within() + crossings;
            findings.push(Finding::new("E1", group[0], what).lasting(limit));
        }
        if let Some(master) = master {
            let led = |node: usize| self.0[node].led;
            let late = group.iter().filter(|node| **node != master && led(**node) >= led(master));
            findings.extend(late.map(|node| {
                let what = format!("leads under the term of {node} or an earlier one");
                Finding::new("E3", master, what).lasting(TOLD_WITHIN)
            }));
        }
        findings
    }

    /// A node reports that a call is assigned to a car: its master has said so in this mastership. A
    /// trip keeps its car from one master to the next, as the passenger was told which. Where the
    /// mastership rotates, the plan goes along: a node may not have heard of each holder. Until the
    /// group has settled, what a node assigned in an earlier mastership may be under way.
    pub(crate) fn assigned(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        (call, car): (&Call, &NodeId),
    ) -> Option<Finding> {
        let entry = (call.clone(), car.clone());
        let master = match snapshot.node_state(node)? {
            NodeState::Master => {
                let term = self.0[node].term;
                self.0[node].made.insert(entry, term);
                return None;
            }
            NodeState::Slave { master } => master,
            NodeState::Seeking => return None,
        };
        let (index, _) = snapshot.named(master)?;
        let goes_along = call.is_trip() || snapshot.settings.election.profile().rotates;
        let is_under_way =
            |term: &Term| *term == self.0[index].term || snapshot.settled_group().is_none();
        let was_said = self.0[index].made.get(&entry).is_some_and(is_under_way)
            || goes_along && self.0.iter().any(|it| it.made.contains_key(&entry));
        let what = || format!("takes {call} for assigned to {car}, which {master} has not said");
        (!was_said).then(|| Finding::new("E3", node, what()))
    }
}

/// E4: of two that hear each other, the one that yields has handed over the orders that were placed at
/// it; what came in while it did goes over the link afterwards.
fn orders_are_handed_over(snapshot: &Snapshot, node: usize, master: &NodeId) -> Option<Finding> {
    let loser = &snapshot.machines[node];
    let (index, winner) = snapshot.named(master)?;
    let (process, heir) = (loser.process.as_ref()?, winner.node()?);
    let is_heir = |proven| proven == (heir.hello().address, heir.hello().nonce);
    let within = HANDED_OVER_WITHIN + slower_by(snapshot);
    let now = process.clock(snapshot.now);
    // Until a cut is noticed, a node may yield to one that nothing reaches any more, or that has ended.
    if !snapshot.network.passes(node, index)
        || !heir.hears(&loser.name)
        || !process.node.proven().any(is_heir)
        || now.since_start() < within
    {
        return None;
    }
    let mut missing = process.node.orders().orders().filter(|order| {
        order.origin == loser.name
            && now.since(order.placed) >= within
            // A press that repeats another is known under that one's name meanwhile.
            && !heir.orders().is_open(&order.call)
            && !snapshot.records(index).any(|record| record.covers(order.dot, &order.call))
            && !snapshot.connections.bring((node, index), order)
    });
    missing.next().map(|order| {
        let what =
            format!("yields to {master}, which does not know {} as {}", order.call, order.dot);
        Finding::new("E4", node, what)
    })
}

/// E3, E8, F4, H4, F6: each hall call has a car that is there, and a slave takes none for assigned to
/// another car than its master does.
pub(super) fn calls_are_assigned(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    let group = snapshot.planned_group().unwrap_or_default();
    let leads = |node: &&usize| snapshot.node_state(**node) == Some(&NodeState::Master);
    let Some(master) = group.iter().find(leads).copied() else { return findings };
    let Some(process) = &snapshot.machines[master].process else { return findings };
    let now = process.clock(snapshot.now);
    let is_there = |car: &NodeId| group.iter().any(|node| snapshot.machines[*node].name == *car);
    let cars: Vec<&Machine> = snapshot.cars_of(&group).collect();
    let are_sound = !cars.is_empty() && cars.iter().all(|car| car.is_in_service());
    let can_serve = |hall: HallCall| {
        let can = |of: &Process| of.node.can_serve(hall, of.clock(snapshot.now));
        cars.iter().all(|car| car.process.as_ref().is_some_and(can))
    };
    for call in process.node.orders().calls() {
        let Call::Hall(hall) = call else { continue };
        match process.node.car_of(*hall, now) {
            Some(car) if !is_there(car) => {
                let what = format!("{call} is left with {car}");
                findings.push(Finding::new("H4", master, what));
            }
            None if are_sound && !can_serve(*hall) => {
                let what = format!("{call} has no car that tries it again");
                findings.push(Finding::new("E8", master, what).lasting(TRIED_AGAIN_WITHIN));
            }
            None if are_sound => {
                let what = format!("{call} has no car");
                findings.push(Finding::new("E8", master, what).lasting(ASSIGNED_WITHIN));
            }
            Some(_) | None => {}
        }
    }
    let planned: BTreeMap<HallCall, &NodeId> = process.node.assignments().collect();
    for node in group.iter().copied() {
        let assignments = snapshot.node(node).into_iter().flat_map(Node::assignments);
        // A trip stays with the car that its passenger was told.
        let others = assignments.filter(|(call, car)| {
            call.to.is_none() && planned.get(call).is_some_and(|planned| planned != car)
        });
        findings.extend(others.map(|(call, car)| {
            let what = format!("{call:?} is with {car}, and not as its master says");
            Finding::new("E3", node, what).lasting(TOLD_WITHIN)
        }));
    }
    findings
}
