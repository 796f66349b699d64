//! E1 to E4, E6, E8, H4: one master, its terms, what it assigns, and what is handed over to it.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::model::{Call, HallCall, NodeId, Term};
use elevator_fleet::node::{Node, Report};
use elevator_fleet::wire::NodeState;

use super::Finding;
use crate::machine::Machine;
use crate::network::Weather;
use crate::snapshot::Snapshot;

/// A master has told its slaves of an assignment by then.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// E8: a hall call has a car by then.
const ASSIGNED_WITHIN: Duration = Duration::from_secs(5);

/// An order that came in so shortly before may still be under way in a usual network.
const HANDED_OVER_WITHIN: Duration = Duration::from_millis(50);

/// By how much a packet takes longer than in a usual network.
fn slower_by(snapshot: &Snapshot) -> Duration {
    let slowest = |weather: &Weather| Duration::from_micros(*weather.delay.end());
    slowest(&snapshot.network.weather).saturating_sub(slowest(&Weather::default()))
}

/// E6: where no node comes or goes, no node becomes master or ceases to be.
pub(super) fn no_change_of_master(
    snapshot: &Snapshot,
    node: usize,
    report: &Report,
) -> Option<Finding> {
    snapshot.settled_group().map(|_| Finding::new("E6", node, format!("{report:?}")))
}

/// E1, E2, E7: all have one master, known to all. Where the mastership rotates, all know within a
/// bounded time where it has gone (C3): the token has to cross the network, and its answer.
pub(super) fn there_is_one_master(snapshot: &Snapshot) -> Option<Finding> {
    let election = &snapshot.settings.election;
    let crossings =
        if election.profile().rotates { slower_by(snapshot) * 2 } else { Duration::ZERO };
    let group = snapshot.settled_group()?;
    let master = snapshot.master_of(&group);
    let what = || format!("{group:?} have the master {master:?}");
    let finding = || Finding::new("E1", group[0], what());
    let is_right = snapshot.is_right(&group, master);
    (!is_right).then(|| finding().lasting(election.settles_within() + crossings))
}

/// E3: terms never decrease, each mastership has a greater one, and the master of a fleet a greater
/// one than all whose mastership has ended in it. Assignments are those of the present mastership.
#[derive(Debug)]
pub(crate) struct Masterships {
    /// By node: the term that it was last seen to know.
    pub(crate) latest: Vec<Term>,
    /// By node: the term under which its process was last seen to lead.
    pub(crate) led: Vec<Option<Term>>,
    /// By node: what it has assigned as master, and under which term it did last.
    made: Vec<BTreeMap<(Call, NodeId), Term>>,
    /// By node: the term of its latest mastership.
    terms: Vec<Term>,
}

impl Masterships {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            latest: vec![Term::default(); nodes],
            led: vec![None; nodes],
            made: vec![BTreeMap::new(); nodes],
            terms: vec![Term::default(); nodes],
        }
    }

    /// A node that starts knows the term on its disk.
    pub(crate) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        self.latest[node] = snapshot.machines[node].disk.term();
        self.led[node] = None;
    }

    /// A node has become master under this term: greater than the one that it was seen to know.
    pub(crate) fn became_master(&mut self, node: usize, term: Term) -> Option<Finding> {
        self.terms[node] = term;
        let known = self.latest[node];
        let finding = || Finding::new("E3", node, format!("leads under {term}, knew {known}"));
        (term <= known).then(finding)
    }

    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (node, latest) in self.latest.iter_mut().enumerate() {
            let Some(term) = snapshot.node(node).map(Node::term) else { continue };
            if snapshot.node_state(node) == Some(&NodeState::Master) {
                self.led[node] = Some(term);
            }
            let before = std::mem::replace(latest, term);
            if term < before {
                findings.push(Finding::new("E3", node, format!("term {before} became {term}")));
            }
        }
        let group = snapshot.settled_group().unwrap_or_default();
        if let Some(master) = snapshot.master_of(&group) {
            let is_late = |node: &&usize| **node != master && self.led[**node] >= self.led[master];
            findings.extend(group.iter().filter(is_late).map(|node| {
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
                self.made[node].insert(entry, self.terms[node]);
                return None;
            }
            NodeState::Slave { master } => master,
            NodeState::Seeking => return None,
        };
        let (index, _) = snapshot.named(master)?;
        let goes_along = call.is_trip() || snapshot.settings.election.profile().rotates;
        let is_under_way =
            |term: &Term| *term == self.terms[index] || snapshot.settled_group().is_none();
        let was_said = self.made[index].get(&entry).is_some_and(is_under_way)
            || goes_along && self.made.iter().any(|made| made.contains_key(&entry));
        let what = || format!("takes {call} for assigned to {car}, which {master} has not said");
        (!was_said).then(|| Finding::new("E3", node, what()))
    }
}

/// E4: of two that hear each other, the one that yields has handed over the orders that were placed at
/// it; what came in while it did goes over the link afterwards.
pub(super) fn orders_are_handed_over(
    snapshot: &Snapshot,
    node: usize,
    master: &NodeId,
) -> Option<Finding> {
    let loser = &snapshot.machines[node];
    // Until a cut is noticed, a node may yield to one that nothing reaches any more, or that has ended.
    let (index, winner) = snapshot.named(master).filter(|(index, winner)| {
        snapshot.network.passes(node, *index) && winner.hears(&loser.name)
    })?;
    let (process, winner) = (loser.process.as_ref()?, winner.process.as_ref()?);
    let hello = winner.node.hello();
    if !process.node.proven().any(|proven| proven == (hello.address, hello.nonce)) {
        return None;
    }
    let within = HANDED_OVER_WITHIN + slower_by(snapshot);
    let now = process.clock(snapshot.now);
    if now.since_start() < within {
        return None;
    }
    let orders = process
        .node
        .orders()
        .orders()
        .filter(|order| order.origin == loser.name && now.since(order.placed) >= within);
    let mut orders = orders.filter(|order| {
        let mut records = winner.node.orders().records(winner.clock(snapshot.now));
        // A press that repeats another is known under that one's name meanwhile.
        !winner.node.orders().is_open(&order.call)
            && !records.any(|record| record.covers(order.dot, &order.call))
            && !snapshot.connections.bring((node, index), order)
    });
    orders.next().map(|order| {
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
    for call in process.node.orders().calls() {
        let Call::Hall(hall) = call else { continue };
        match process.node.car_of(*hall, now) {
            Some(car) if !is_there(car) => {
                let what = format!("{call} is left with {car}");
                findings.push(Finding::new("H4", master, what));
            }
            None if snapshot.cars_of(&group).all(Machine::is_in_service) => {
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
