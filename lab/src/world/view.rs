//! What can be seen of a world.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Button, FloorCount, LampSet};
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{Node, Report, Status};
use elevator_fleet::store::Record;
use elevator_fleet::wire::NodeState;
use elevator_simulator::SimulatedCar;

use super::{MeshTraffic, Traffic, World};
use crate::machine::Line;
use crate::{Assignment, Mastership, Service, Violation, Weather, Wire};

impl World {
    /// What has gone wrong so far, and what can be seen to be wrong at this moment.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        self.oracles.violations(&self.snapshot())
    }

    /// At the end every promise has been kept (P1, O1, F12, F13): those that were not.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<Violation> {
        self.oracles.promises.broken(&self.snapshot())
    }

    /// For how long there were several masters, or none.
    #[must_use]
    pub fn mastership(&self) -> Mastership {
        self.mastership.mastership
    }

    /// The latest things that happened, one a line.
    #[must_use]
    pub fn story(&self, lines: usize) -> String {
        self.history.story(lines, &self.machines)
    }

    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// How often each kind of fault was inflicted so far, by [`Fault::kind`](crate::Fault::kind).
    #[must_use]
    pub fn inflicted(&self) -> &BTreeMap<&'static str, u64> {
        &self.inflicted
    }

    /// The hash of everything that has happened: each event with its time, its nodes and what had
    /// been sent, each fault, press and lamp. Two worlds with the same hash have been the same.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        self.fingerprint.value(&self.wire)
    }

    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    #[must_use]
    pub fn floors(&self) -> FloorCount {
        self.settings.floors
    }

    /// Some running node knows of an open hall call.
    #[must_use]
    pub fn has_hall_calls(&self) -> bool {
        self.running()
            .filter_map(|node| self.node(node))
            .flat_map(|node| node.orders().calls())
            .any(|call| matches!(call, Call::Hall(_)))
    }

    #[must_use]
    pub fn size(&self) -> usize {
        self.machines.len()
    }

    #[must_use]
    pub fn name(&self, node: usize) -> &NodeId {
        &self.machines[node].name
    }

    #[must_use]
    pub fn node(&self, node: usize) -> Option<&Node> {
        self.machines[node].node()
    }

    /// What is on the disk of a node, open and served, whether or not its process runs.
    pub fn on_disk(&self, node: usize) -> impl Iterator<Item = &Record> {
        self.machines[node].disk.records()
    }

    /// The status of a node as its operator would see it, while its process runs and is not
    /// suspended.
    #[must_use]
    pub fn status(&self, node: usize) -> Option<Status> {
        let machine = &self.machines[node];
        machine.awake()?;
        let process = machine.process.as_ref()?;
        Some(process.node.status(process.clock(self.now)))
    }

    /// What nodes have reported since this many reports, the oldest first: when, which node, and
    /// what. Of what is older than some thousand notes nothing is known any more.
    pub fn reports_since(&self, count: u64) -> impl Iterator<Item = (Duration, usize, &Report)> {
        self.history.reports_since(count)
    }

    #[must_use]
    pub fn report_count(&self) -> u64 {
        self.history.report_count()
    }

    #[must_use]
    pub fn car(&self, node: usize) -> &SimulatedCar {
        &self.machines[node].car
    }

    /// The order lamps that a node with a running process has lit.
    #[must_use]
    pub fn lamps(&self, node: usize) -> LampSet {
        self.machines[node].lit.iter().copied().collect()
    }

    #[must_use]
    pub fn is_lit(&self, node: usize, button: Button) -> bool {
        self.machines[node].lit.contains(&button)
    }

    /// Whether every running process has this lamp lit, or dark.
    #[must_use]
    pub fn all_show(&self, button: Button, lit: bool) -> bool {
        self.running().all(|node| self.is_lit(node, button) == lit)
    }

    /// What the election protocol has sent so far, without what carries it.
    #[must_use]
    pub fn election_traffic(&self) -> Traffic {
        self.election_traffic
    }

    /// What has been put on the wire so far, and what got through.
    #[must_use]
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// How many changes of nodes' states have been reported so far, rotations included.
    #[must_use]
    pub fn state_changes(&self) -> u64 {
        self.state_changes
    }

    /// Whether the network lets two machines reach each other, both ways.
    #[must_use]
    pub fn connects(&self, one: usize, other: usize) -> bool {
        self.network.connects(one, other)
    }

    /// Nothing is cut or clogged, and no two machines share an address.
    pub(crate) fn is_connected(&self) -> bool {
        self.network.is_whole() && self.twins.is_none()
    }

    /// The directed pairs between which nothing passes, the cuts of whole networks left out.
    pub fn cuts(&self) -> impl Iterator<Item = (usize, usize)> {
        self.network.cuts()
    }

    /// How the network treats packets at the moment.
    #[must_use]
    pub fn weather(&self) -> &Weather {
        &self.network.weather
    }

    /// Whether the network of a machine is cut as a whole, whatever else is cut.
    #[must_use]
    pub fn is_isolated(&self, node: usize) -> bool {
        self.network.is_isolated(node)
    }

    /// Whether a machine's process runs and is not suspended.
    #[must_use]
    pub fn is_awake(&self, node: usize) -> bool {
        self.machines[node].awake().is_some()
    }

    /// Whether a machine's car hung, and nobody has cleared that.
    #[must_use]
    pub fn is_latched(&self, node: usize) -> bool {
        self.machines[node].latched
    }

    /// Whether the line between a node and its panel is whole.
    #[must_use]
    pub fn is_plugged(&self, node: usize) -> bool {
        self.machines[node].line == Line::Plugged
    }

    /// What the nodes have done so far to stay together.
    #[must_use]
    pub fn mesh_traffic(&self) -> MeshTraffic {
        self.mesh_traffic
    }

    pub fn running(&self) -> impl Iterator<Item = usize> {
        (0..self.machines.len()).filter(|node| self.machines[*node].process.is_some())
    }

    /// The node that these nodes agree on as their one master, if they do.
    #[must_use]
    pub fn master_of(&self, group: &[usize]) -> Option<usize> {
        self.snapshot().master_of(group)
    }

    /// The master of all that run.
    #[must_use]
    pub fn master(&self) -> Option<usize> {
        self.master_of(&self.running().collect::<Vec<_>>())
    }

    /// All that run have one master, and it is one that the protocol would have (E7).
    #[must_use]
    pub fn has_the_right_master(&self) -> bool {
        let running: Vec<usize> = self.running().collect();
        self.snapshot().is_right(&running, self.master_of(&running))
    }

    /// The state of a node, while its process runs.
    #[must_use]
    pub fn node_state(&self, node: usize) -> Option<&NodeState> {
        self.snapshot().node_state(node)
    }

    /// Every running node holds the same orders.
    #[must_use]
    pub fn in_step(&self) -> bool {
        let mut digests = self.running().filter_map(|node| Some(self.node(node)?.digest()));
        let first = digests.next();
        digests.all(|digest| Some(digest) == first)
    }

    /// No running node knows of an open order.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let mut running = self.running().filter_map(|node| self.node(node));
        running.all(|node| node.orders().orders().next().is_none())
    }

    /// How often a call has been served by a car at its floor.
    #[must_use]
    pub fn served(&self, call: &Call) -> usize {
        self.history.served(call)
    }

    /// How often a node has complained of another one.
    #[must_use]
    pub fn conflicts(&self, node: usize) -> usize {
        self.machines[node].conflicts
    }

    /// How often a slave's car went for a call that its master had left without a car.
    #[must_use]
    pub fn taken_over(&self) -> u64 {
        self.taken_over
    }

    /// What masters have assigned, in order.
    #[must_use]
    pub fn assignments(&self) -> &[Assignment] {
        self.history.assignments()
    }

    #[must_use]
    pub fn services(&self) -> &[Service] {
        self.history.services()
    }
}
