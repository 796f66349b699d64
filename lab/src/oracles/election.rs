//! One master, known to all, and no call left with a car that is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_fleet::model::{Call, Dot, HallCall, NodeId, Order, Term};
use elevator_fleet::node::{Node, Report};
use elevator_fleet::wire::NodeState;

use super::Finding;
use crate::network::Weather;
use crate::snapshot::Snapshot;

/// A master has told its slaves of an assignment by then.
const TOLD_WITHIN: Duration = Duration::from_secs(2);

/// An order that came in so shortly before may still be under way in a usual network.
const HANDED_OVER_WITHIN: Duration = Duration::from_millis(50);

/// The same in the network as it is: until the order has crossed it, no protocol can have handed it
/// over.
fn handed_over_within(snapshot: &Snapshot) -> Duration {
    HANDED_OVER_WITHIN + slower_by(snapshot)
}

/// By how much a packet takes longer than in a usual network.
fn slower_by(snapshot: &Snapshot) -> Duration {
    let slowest = |weather: &Weather| Duration::from_micros(*weather.delay.end());
    slowest(&snapshot.network.weather).saturating_sub(slowest(&Weather::default()))
}

/// E6: where no node comes or goes, no node becomes master or ceases to be.
pub(super) fn no_change_of_master_in_quiet(
    snapshot: &Snapshot,
    node: usize,
    report: &Report,
) -> Vec<Finding> {
    let groups = snapshot.settled_groups();
    let is_quiet = groups.iter().any(|group| group.contains(&node));
    let finding = || Finding::new("E6", node, format!("{report:?}"));
    is_quiet.then(finding).into_iter().collect()
}

/// E3: terms never decrease, over restarts either, each mastership has a greater one, and the master
/// of a group a greater one than all whose mastership has ended in it.
#[derive(Debug)]
pub(crate) struct Terms {
    /// By node.
    pub(crate) latest: Vec<Term>,
    /// By node: the term under which its process was last seen to lead.
    pub(crate) led: Vec<Option<Term>>,
}

impl Terms {
    pub(crate) fn new(nodes: usize) -> Self {
        let latest = vec![Term::default(); nodes];
        Self { latest, led: vec![None; nodes] }
    }

    /// A node that starts knows the term on its disk.
    pub(crate) fn started(&mut self, snapshot: &Snapshot, node: usize) {
        self.latest[node] = snapshot.machines[node].disk.term();
        self.led[node] = None;
    }

    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (node, latest) in self.latest.iter_mut().enumerate() {
            let Some(term) = snapshot.node(node).map(Node::term) else {
                continue;
            };
            if snapshot.node_state(node) == Some(&NodeState::Master) {
                self.led[node] = Some(term);
            }
            let before = std::mem::replace(latest, term);
            if term < before {
                let what = format!("term {before} became {term}");
                findings.push(Finding::new("E3", node, what));
            }
        }
        findings.extend(self.outlived(snapshot));
        findings
    }

    /// The masters whose term is no greater than one of a mastership that has ended in their group.
    fn outlived(&self, snapshot: &Snapshot) -> Vec<Finding> {
        let leads = |node: &usize| snapshot.node_state(*node) == Some(&NodeState::Master);
        let has_led_as_late = |node: usize, master: usize| {
            node != master && self.led[node] >= self.led[master] && !leads(&node)
        };
        let nodes = || 0..self.led.len();
        let is_suspect = |master| nodes().any(|node| has_led_as_late(node, master));
        if !nodes().filter(leads).any(is_suspect) {
            return Vec::new();
        }
        let mut findings = Vec::new();
        for group in snapshot.settled_groups() {
            let Some(master) = snapshot.master_of(&group) else { continue };
            for node in group {
                if has_led_as_late(node, master) {
                    let what = format!("leads under the term of {node} or an earlier one");
                    let key = format!("{master} {what}");
                    findings.push(Finding::new("E3", master, what).lasting(key, TOLD_WITHIN));
                }
            }
        }
        findings
    }

    /// A node has become master under this term: greater than the one that it was seen to know.
    pub(crate) fn became_master(&self, node: usize, term: Term) -> Vec<Finding> {
        let known = self.latest[node];
        let finding = || Finding::new("E3", node, format!("leads under {term}, knew {known}"));
        (term <= known).then(finding).into_iter().collect()
    }
}

/// E1, E2, E7, F3: each group has one master, known to all; under `lowest-ip` the lowest
/// address. Where the mastership rotates, all know within a bounded time where it has gone (C3): the
/// token has to cross the network, and its answer.
pub(super) fn one_master_in_each_group(snapshot: &Snapshot) -> Vec<Finding> {
    let election = &snapshot.settings.election;
    let crossings =
        if election.profile().rotates { slower_by(snapshot) * 2 } else { Duration::ZERO };
    let limit = election.settles_within() + crossings;
    let mut findings = Vec::new();
    for group in snapshot.settled_groups() {
        let master = snapshot.master_of(&group);
        if let Some(first) = group.first()
            && !snapshot.is_right(&group, master)
        {
            let what = format!("the group {group:?} has the master {master:?}");
            findings.push(Finding::new("E1", *first, what.clone()).lasting(what, limit));
        }
    }
    findings
}

/// E1, where an election takes its network for reliable and packets get lost: it may begin anew at
/// any time, but no group is without one master, known to all, for longer than the bound.
pub(super) fn one_master_is_found_again(snapshot: &Snapshot) -> Vec<Finding> {
    let limit = snapshot.bound();
    let mut findings = Vec::new();
    for group in snapshot.unsteady_groups() {
        if let Some(first) = group.first()
            && !snapshot.is_right(&group, snapshot.master_of(&group))
        {
            let what = format!("the group {group:?} has had no master that all know for {limit:?}");
            findings.push(Finding::new("E1", *first, what.clone()).lasting(what, limit));
        }
    }
    findings
}

/// E4: of two that reach each other, the one that yields has handed over the orders that it had;
/// what came in while it did goes over the link afterwards.
#[derive(Debug)]
pub(crate) struct Handovers {
    /// By node: since when its process has known the orders that it was seen to know.
    pub(crate) known: Vec<BTreeMap<Dot, Duration>>,
}

impl Handovers {
    pub(crate) fn new(nodes: usize) -> Self {
        let known = vec![BTreeMap::new(); nodes];
        Self { known }
    }

    /// A new process has known nothing yet.
    pub(crate) fn started(&mut self, node: usize) {
        self.known[node].clear();
    }

    /// Looks at the stores that have changed.
    pub(crate) fn inspect(&mut self, now: Duration, changed: &[(usize, &Node)]) {
        for (node, process) in changed {
            for order in process.orders().orders() {
                self.known[*node].entry(order.dot).or_insert(now);
            }
        }
    }

    /// A node has yielded to this master.
    pub(crate) fn yielded(
        &self,
        snapshot: &Snapshot,
        node: usize,
        master: &NodeId,
    ) -> Vec<Finding> {
        let now = snapshot.now;
        let loser = &snapshot.machines[node];
        let mut machines = snapshot.machines.iter().enumerate();
        let winner = machines.find(|(_, machine)| machine.name == *master);
        // Until a cut is noticed, a node may yield to one that nothing reaches any more. A process
        // that was held up may yield to one that has ended meanwhile: it sees its error with the
        // next packet.
        let reached = winner.filter(|(index, winner)| {
            snapshot.network.passes(node, *index) && winner.hears(&loser.name)
        });
        let Some((index, winner)) = reached else {
            return Vec::new();
        };
        let (Some(loser), Some(winner)) = (loser.node(), winner.process.as_ref()) else {
            return Vec::new();
        };
        // It may yield to a process that has ended, whose successor it has not heard yet.
        let hello = winner.node.hello();
        let counts_on_the_ended =
            |(address, nonce)| address == hello.address && nonce != hello.nonce;
        if loser.proven().any(counts_on_the_ended) {
            return Vec::new();
        }
        let within = handed_over_within(snapshot);
        let had = |order: &Order| {
            let since = self.known[node].get(&order.dot);
            since.is_some_and(|at| now.saturating_sub(*at) >= within)
        };
        let handed_over = |order: &Order| {
            let mut records = winner.node.orders().records(winner.clock(now));
            records.any(|record| record.covers(order.dot, &order.call))
        };
        let orders = loser.orders().orders();
        orders
            .filter(|order| had(order) && !handed_over(order))
            .filter(|order| !snapshot.connections.bring((node, index), order))
            .map(|order| {
                format!("yields to {master}, which does not know {} as {}", order.call, order.dot)
            })
            .map(|what| Finding::new("E4", node, what))
            .collect()
    }
}

/// E3: assignments are accepted only from one's present master, and only those of its present
/// mastership.
#[derive(Debug)]
pub(crate) struct Plans {
    /// By node: what it has assigned as master, and under which term it did last.
    made: Vec<BTreeMap<(Call, NodeId), Term>>,
    /// By node: the term of its latest mastership.
    terms: Vec<Term>,
    /// What a master that leads badly may have said. Where the plan goes along with the mastership, it
    /// outlives that master's turn.
    said_badly: BTreeSet<(Call, NodeId)>,
}

impl Plans {
    pub(crate) fn new(nodes: usize) -> Self {
        let (made, terms) = (vec![BTreeMap::new(); nodes], vec![Term::default(); nodes]);
        Self { made, terms, said_badly: BTreeSet::new() }
    }

    /// A node has become master under this term.
    pub(crate) fn became_master(&mut self, node: usize, term: Term) {
        self.terms[node] = term;
    }

    /// A node reports that a call is assigned to a car. A bad master sends what it has not planned. A
    /// trip keeps its car from one master to the next: the passenger was told which. Where the
    /// mastership rotates, the plan goes along: a node may not have heard of each holder.
    ///
    /// Until a group has settled, what a node assigned in an earlier mastership may be under way.
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
        let index = snapshot.machines.iter().position(|machine| machine.name == *master)?;
        let is_trip = matches!(call, Call::Hall(HallCall { to: Some(_), .. }));
        let goes_along = is_trip || snapshot.settings.election.profile().rotates;
        let mut machines = snapshot.machines.iter();
        let is_bad = snapshot.machines[index].leads_badly.is_some()
            || goes_along && machines.any(|machine| machine.leads_badly.is_some());
        if is_bad {
            self.said_badly.insert(entry);
            return None;
        }
        if snapshot.settings.twins.is_some() {
            return None;
        }
        let was_said = |made: &BTreeMap<_, _>| made.contains_key(&entry);
        if goes_along && (self.made.iter().any(was_said) || self.said_badly.contains(&entry)) {
            return None;
        }
        let has_settled = || snapshot.settled_groups().iter().any(|group| group.contains(&node));
        let is_under_way = |term: &Term| *term == self.terms[index] || !has_settled();
        let is_his = self.made[index].get(&entry).is_some_and(is_under_way);
        let what = || format!("takes {call} for assigned to {car}, which {master} has not said");
        (!is_his).then(|| Finding::new("E3", node, what()))
    }
}

/// E3, F4: where the master has had its time, its slaves take no hall call for assigned to another car
/// than it does.
pub(super) fn slaves_have_the_plan_of_their_master(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.planned_groups() {
        let leads = |node: &&usize| snapshot.node_state(**node) == Some(&NodeState::Master);
        let Some(master) = group.iter().find(leads).and_then(|node| snapshot.node(*node)) else {
            continue;
        };
        let planned: BTreeMap<HallCall, &NodeId> = master.assignments().collect();
        for node in group.iter().copied() {
            let assignments = snapshot.node(node).into_iter().flat_map(Node::assignments);
            // A trip stays with the car that its passenger was told.
            let others = assignments.filter(|(call, car)| {
                call.to.is_none() && planned.get(call).is_some_and(|planned| planned != car)
            });
            findings.extend(others.map(|(call, car)| {
                let what = format!("{call:?} is with {car}, and not as its master says");
                Finding::new("E3", node, what.clone())
                    .lasting(format!("{node} {what}"), TOLD_WITHIN)
            }));
        }
    }
    findings
}

/// H4, F6: a call is not left with a lost car.
pub(super) fn calls_are_assigned_to_the_living(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    for group in snapshot.planned_groups() {
        let leads = |node: &&usize| snapshot.node_state(**node) == Some(&NodeState::Master);
        let Some(master) = group.iter().copied().find(|node| leads(&node)) else {
            continue;
        };
        let is_there = |car: &NodeId| {
            let mut names = group.iter().map(|node| &snapshot.machines[*node].name);
            names.any(|name| name == car)
        };
        let Some(process) = &snapshot.machines[master].process else { continue };
        let now = process.clock(snapshot.now);
        for call in process.node.orders().calls() {
            if let Call::Hall(hall) = call
                && let Some(car) = process.node.car_of(*hall, now)
                && !is_there(car)
            {
                let what = format!("{call} is left with {car}");
                findings.push(Finding::new("H4", master, what).once());
            }
        }
    }
    findings
}
