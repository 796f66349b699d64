//! The world at one moment, read only: all that an oracle may see.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_fleet::election::Preferred;
use elevator_fleet::model::{CarView, NodeId, Role};
use elevator_fleet::node::Node;
use elevator_fleet::store::Record;
use elevator_fleet::wire::NodeState;

use super::connection::Connections;
use super::history::History;
use super::machine::Machine;
use super::network::Network;
use super::settings::WorldSettings;

/// Up to this much loss the network counts as quiet, in per cent, if the election bears loss.
pub(super) const QUIET_LOSS: u8 = 5;

/// How long after the last fault has healed nodes may still complain about it.
pub(super) const LINGERS: Duration = Duration::from_secs(15);

/// What an oracle may see. Nodes are numbered from 0, as everywhere in a world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot<'a> {
    pub(super) now: Duration,
    pub(super) settings: &'a WorldSettings,
    pub(super) machines: &'a [Machine],
    pub(super) network: &'a Network,
    pub(super) connections: &'a Connections,
    pub(super) history: &'a History,
    pub(super) storm: &'a Storm,
}

/// What faults have left behind.
#[derive(Debug, Default)]
pub(super) struct Storm {
    /// When the last fault healed, or a process last started or ended.
    pub(super) over: Duration,
    /// When a node's estimate last changed.
    pub(super) ranks_at: Duration,
    /// The invariants that the faults since the last calm invalidate.
    pub(super) invalid: BTreeSet<&'static str>,
}

impl<'a> Snapshot<'a> {
    /// A node, while its process runs.
    pub(super) fn node(&self, node: usize) -> Option<&'a Node> {
        self.machines[node].node()
    }

    /// The state of a node, while its process runs.
    pub(super) fn node_state(&self, node: usize) -> Option<&'a NodeState> {
        self.node(node).map(Node::node_state)
    }

    /// What the order store of a node holds, while its process runs.
    pub(super) fn records(&self, node: usize) -> impl Iterator<Item = Record> + use<'a> {
        let (process, now) = (self.machines[node].process.as_ref(), self.now);
        process.into_iter().flat_map(move |it| it.node.orders().records(it.clock(now)))
    }

    /// A node's car, as the node describes it to the others.
    pub(super) fn car_view(&self, node: usize) -> Option<CarView> {
        let process = self.machines[node].process.as_ref()?;
        Some(process.node.status(process.clock(self.now)).car?.view)
    }

    /// The nodes that run, are not suspended, and for which this holds.
    pub(super) fn awake(&self, holds: impl Fn(&Node) -> bool) -> Vec<usize> {
        let is_awake = |at: &usize| self.machines[*at].awake().is_some_and(&holds);
        (0..self.machines.len()).filter(is_awake).collect()
    }

    /// Whether network, clocks and disks are sound, and no process that runs is held up. Cars may be
    /// broken and machines off: the others are to go on without them.
    pub(super) fn is_healed(&self) -> bool {
        let loss = if self.settings.election.bears_loss() { QUIET_LOSS } else { 0 };
        let is_sound = |(node, machine): (usize, &Machine)| {
            let rate = self.settings.clock_rates.get(&node).copied().unwrap_or(1_000);
            machine.is_sound() && machine.clock_rate == rate
        };
        self.network.is_sound(&self.settings.weather, loss)
            && self.machines.iter().enumerate().all(is_sound)
            && self.machines.iter().all(|machine| machine.address == machine.own_address)
            && self.settings.twins.is_none()
    }

    /// The nodes that run, if nothing has been wrong for this time.
    pub(super) fn calm_group(&self, for_at_least: Duration) -> Option<Vec<usize>> {
        let is_calm = self.now.saturating_sub(self.storm.over) >= for_at_least && self.is_healed();
        is_calm.then(|| self.awake(|_| true)).filter(|group| !group.is_empty())
    }

    /// The nodes that run, if the election has had its time since nothing has been wrong. Under
    /// `bully` a node that has become fitter or less fit may change the master (E6).
    pub(super) fn settled_group(&self) -> Option<Vec<usize>> {
        self.settled_group_for(Duration::ZERO)
    }

    /// The settled group, if its master has also had the time to plan twice.
    pub(super) fn planned_group(&self) -> Option<Vec<usize>> {
        self.settled_group_for(Duration::from_micros(*self.settings.planning.end()) * 2)
    }

    fn settled_group_for(&self, more: Duration) -> Option<Vec<usize>> {
        let bound = self.bound() + more;
        let is_ranked = self.now.saturating_sub(self.storm.ranks_at) >= bound;
        self.calm_group(bound).filter(|_| is_ranked)
    }

    /// Whether a fault that invalidates this invariant may still show.
    pub(super) fn is_invalid(&self, id: &str) -> bool {
        self.storm.invalid.contains(id) && self.calm_group(LINGERS).is_none()
    }

    /// The node that these nodes agree on as their one master, if they do.
    pub(super) fn master_of(&self, group: &[usize]) -> Option<usize> {
        let mut masters =
            group.iter().filter(|node| self.node_state(**node) == Some(&NodeState::Master));
        let master = *masters.next()?;
        let name = &self.machines[master].name;
        let agreed = group.iter().all(|node| match self.node_state(*node) {
            Some(NodeState::Master) => *node == master,
            Some(NodeState::Slave { master }) => master == name,
            Some(NodeState::Seeking) | None => false,
        });
        agreed.then_some(master)
    }

    /// Whether this is the master that a group is to have.
    pub(super) fn is_right(&self, group: &[usize], master: Option<usize>) -> bool {
        match self.settings.election.profile().preferred {
            Preferred::LowestAddress => {
                master == group.iter().copied().min_by_key(|node| self.machines[*node].address)
            }
            Preferred::Fittest => master.is_some_and(|master| self.is_fit(group, master)),
            // Without a designated master the node that became master stays master (M5, M9, V12).
            Preferred::Designated => {
                self.control_unit_of(group).map_or(master.is_some(), |unit| master == Some(unit))
            }
            Preferred::Anybody => master.is_some(),
        }
    }

    /// B1, B10: nobody outranks the master.
    fn is_fit(&self, group: &[usize], master: usize) -> bool {
        let estimate = |node: usize| self.node(node).map_or(0, Node::estimate);
        let rank = |node: usize| (estimate(node), &self.machines[node].name);
        let mut others = group.iter();
        others.all(|node| !self.settings.election.outranks(rank(*node), rank(master)))
    }

    /// The control unit in a group, or the regular leader.
    fn control_unit_of(&self, group: &[usize]) -> Option<usize> {
        let is_control = |node: &usize| self.settings.roles.get(node) == Some(&Role::ControlUnit);
        group.iter().copied().find(is_control)
    }

    /// C3: how long the election may take once the network is whole and quiet. A node measures it by
    /// its own clock, so that it takes longer by the slowest.
    pub(super) fn bound(&self) -> Duration {
        let rates = self.machines.iter().map(|machine| machine.clock_rate);
        let slowest = rates.min().unwrap_or(1_000).clamp(1, 1_000);
        self.settings.bound() * 1_000 / slowest
    }

    /// The groups of nodes that run, and are connected with each other, if only through others.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = self.awake(|_| true);
        // Then all are connected.
        if self.network.is_whole() && !left.is_empty() {
            return vec![left];
        }
        let mut groups = Vec::new();
        while let Some(first) = left.pop() {
            let mut group = vec![first];
            let mut next = 0;
            while let Some(node) = group.get(next).copied() {
                let (near, far) =
                    left.iter().partition(|other| self.network.connects(node, **other));
                group.extend::<Vec<usize>>(near);
                left = far;
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }

    /// The machines among these that have a car.
    pub(super) fn cars_of(&self, group: &[usize]) -> impl Iterator<Item = &'a Machine> {
        let cars = group.iter().filter(|node| !self.settings.roles.contains_key(node));
        cars.map(|node| &self.machines[*node])
    }

    /// The machine of this name.
    pub(super) fn named(&self, name: &NodeId) -> Option<(usize, &'a Machine)> {
        self.machines.iter().enumerate().find(|(_, machine)| machine.name == *name)
    }

    /// E8, O7: long enough to find that another car is broken, and then for one car to serve every floor
    /// both ways while riders hold it up at each.
    pub(super) fn longest_wait(&self) -> Duration {
        Duration::from_secs(90) + Duration::from_secs(20) * u32::from(self.settings.floors.get())
    }
}
