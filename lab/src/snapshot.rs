//! The world at one moment, read only: all that an oracle may see.

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_driver::Floor;
use elevator_fleet::election::Preferred;
use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::Node;
use elevator_fleet::wire::NodeState;

use super::WorldSettings;
use super::connection::Connections;
use super::history::History;
use super::machine::Machine;
use super::network::Network;

/// Up to this much loss the network counts as quiet, in per cent, if the election bears loss.
pub(super) const QUIET_LOSS: u8 = 5;

/// How long a process that runs may count a peer that has ended: `dead_after` again after each of
/// its own interruptions, and the longest time that membership adds for late peers, 1 s; by a clock
/// that is a fifth too slow, and with a network that is as slow as it gets.
const FORMER_HELD_FOR: Duration = Duration::from_millis(2_500);

/// What an oracle may see. Nodes are numbered from 0, as everywhere in a world.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot<'a> {
    pub(super) now: Duration,
    pub(super) settings: &'a WorldSettings,
    pub(super) machines: &'a [Machine],
    pub(super) network: &'a Network,
    pub(super) connections: &'a Connections,
    pub(super) history: &'a History,
    pub(super) disturbances: &'a Disturbances,
}

/// When something last happened after which nodes may take their time.
#[derive(Debug, Default)]
pub(super) struct Disturbances {
    /// A fault of a node, a disk or the network.
    pub(super) fleet_at: Duration,
    /// A burst of losses had cut off these two, the lower first, for so long that one may count as
    /// lost.
    pub(super) outages: BTreeMap<(usize, usize), Duration>,
    /// A node's estimate changed.
    pub(super) ranks_at: Duration,
    /// A climate sensor was set, cut off or connected.
    pub(super) climate_at: Duration,
    /// A node has sent what no sound node sends: until then others may complain of it.
    pub(super) deceived: Lingering,
    /// A datagram of another version of the wire protocol was heard, or taken for one.
    pub(super) other_versions: Lingering,
    /// A frame was damaged on its way, for which its sender may be blamed.
    pub(super) damaged_frames: Lingering,
    /// The nodes that have had another address before.
    pub(super) readdressed: BTreeMap<NodeId, Readdressed>,
    /// Until then nodes may complain of a name or an address that two machines have in common.
    pub(super) twins_until: Duration,
    /// An operator has recalled all cars.
    pub(super) fire_recalled: bool,
    /// The floors that an operator has locked.
    pub(super) locked: BTreeSet<Floor>,
    /// An operator has said that the building runs on emergency power.
    pub(super) emergency_power: bool,
}

/// A node that has had another address before: a peer that still counts its former incarnation
/// takes it for two nodes.
#[derive(Debug)]
pub(super) struct Readdressed {
    address: Ipv4Addr,
    /// Its former addresses, and until when a peer may still count the node at each.
    former: BTreeMap<Ipv4Addr, Duration>,
}

/// How long what was damaged or foreign may be noticed.
const LINGERS: Duration = Duration::from_secs(15);

/// Something of which there may be complaints for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Lingering {
    /// It has not happened.
    #[default]
    Never,
    /// It goes on.
    Present,
    /// It was over by this time.
    Since(Duration),
}

impl Lingering {
    /// Something has happened at this moment.
    pub(super) fn happens(&mut self, now: Duration) {
        *self = match self {
            Self::Present => Self::Present,
            Self::Never | Self::Since(_) => Self::Since(now),
        };
    }

    /// Whether there may still be complaints.
    pub(super) fn is_noticed(self, now: Duration) -> bool {
        match self {
            Self::Never => false,
            Self::Present => true,
            Self::Since(at) => now.saturating_sub(at) < LINGERS,
        }
    }

    /// A process goes on that was suspended at this time: it first handles what was sent to it since.
    fn is_handled(&mut self, suspended_at: Duration, now: Duration) {
        if self.is_noticed(suspended_at) || matches!(*self, Self::Since(at) if at >= suspended_at) {
            self.happens(now);
        }
    }
}

impl Disturbances {
    /// A node deceives others from now on, or does so no longer.
    pub(super) fn deceive(&mut self, goes_on: bool, now: Duration) {
        self.deceived = match self.deceived {
            _ if goes_on => Lingering::Present,
            Lingering::Present => Lingering::Since(now),
            before @ (Lingering::Never | Lingering::Since(_)) => before,
        };
    }

    /// Whether nodes may complain of what no sound node sends.
    pub(super) fn are_nodes_deceived(&self, now: Duration) -> bool {
        self.deceived.is_noticed(now)
    }

    /// A node has this address from now on.
    pub(super) fn readdress(
        &mut self,
        name: &NodeId,
        (before, address): (Ipv4Addr, Ipv4Addr),
        now: Duration,
    ) {
        if before == address {
            return;
        }
        let new = || Readdressed { address, former: BTreeMap::new() };
        let node = self.readdressed.entry(name.clone()).or_insert_with(new);
        node.address = address;
        node.former.insert(before, now + FORMER_HELD_FOR);
    }

    /// A process goes on that was suspended at this time: it still counts whom it counted then, and
    /// first handles what was sent to it meanwhile.
    pub(super) fn resumed(&mut self, suspended_at: Duration, now: Duration) {
        for lingers in [&mut self.deceived, &mut self.other_versions, &mut self.damaged_frames] {
            lingers.is_handled(suspended_at, now);
        }
        for until in self.readdressed.values_mut().flat_map(|node| node.former.values_mut()) {
            if *until >= suspended_at {
                *until = (*until).max(now + FORMER_HELD_FOR);
            }
        }
    }

    /// Whether this conflict is between a node and its own former address.
    pub(super) fn took_for_two(&self, conflict: &str, now: Duration) -> bool {
        self.readdressed.iter().any(|(name, node)| {
            let former = node.former.iter().filter(|(_, until)| now < **until);
            let mut addresses: Vec<Ipv4Addr> = former.map(|(address, _)| *address).collect();
            addresses.push(node.address);
            let is_of = |first, second| {
                conflict == format!("two nodes are named {name}: one at {first}, one at {second}")
            };
            let mut pairs = addresses.iter().flat_map(|first| {
                let others = addresses.iter().filter(move |second| *second != first);
                others.map(move |second| (first, second))
            });
            pairs.any(|(first, second)| is_of(first, second))
        })
    }

    /// Two machines have a name or an address in common.
    pub(super) fn are_there_twins(&self, now: Duration) -> bool {
        now < self.twins_until
    }
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

    /// The nodes that run, are not suspended, and for which this holds.
    pub(super) fn awake(&self, holds: impl Fn(&Node) -> bool) -> Vec<usize> {
        let is_awake = |at: &usize| self.machines[*at].awake().is_some_and(&holds);
        (0..self.machines.len()).filter(is_awake).collect()
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

    /// The groups of nodes that run, all hear each other and can all have links, once nothing has
    /// disturbed them for this time.
    pub(super) fn calm_groups(&self, for_at_least: Duration) -> Vec<Vec<usize>> {
        let quiet_loss = if self.settings.election.bears_loss() { QUIET_LOSS } else { 0 };
        self.groups_undisturbed(for_at_least, quiet_loss)
    }

    /// The groups that would count as settled if their election bore the little that the network
    /// loses. It does not: whenever packets of the master get lost in a row it may begin anew, with
    /// another master in the end, so that no moment is one after which the master has to stay. But
    /// it has to end each time.
    pub(super) fn unsteady_groups(&self) -> Vec<Vec<usize>> {
        if self.settings.election.bears_loss() || self.network.losses() == 0 {
            return Vec::new();
        }
        self.groups_undisturbed(self.bound(), QUIET_LOSS)
    }

    fn groups_undisturbed(&self, for_at_least: Duration, quiet_loss: u8) -> Vec<Vec<usize>> {
        let calm = self.now.saturating_sub(self.disturbances.fleet_at) >= for_at_least;
        let twins = self.disturbances.are_there_twins(self.now);
        if !calm || self.network.losses() > quiet_loss || twins {
            return Vec::new();
        }
        let mut groups = self.components();
        groups.retain(|group| {
            group.iter().all(|one| group.iter().all(|other| self.network.links(*one, *other)))
        });
        groups
    }

    /// The calm groups in which the election has had its time. Under `bully` a node that has become
    /// fitter or less fit may change the master (E6), and so may, under any protocol, a burst of losses
    /// that outlasts the silence for which a peer counts as dead, or in which all requests of a master
    /// get lost.
    pub(super) fn settled_groups(&self) -> Vec<Vec<usize>> {
        self.groups_settled_for(Duration::ZERO)
    }

    /// The settled groups whose master has also had the time to plan: for what was under way when
    /// the group changed, and for what it is now.
    pub(super) fn planned_groups(&self) -> Vec<Vec<usize>> {
        self.groups_settled_for(Duration::from_micros(*self.settings.planning.end()) * 2)
    }

    /// The calm groups in which the election has had its time, and this much more.
    fn groups_settled_for(&self, more: Duration) -> Vec<Vec<usize>> {
        let bound = self.bound() + more;
        let is_recent = |at: Duration| self.now.saturating_sub(at) < bound;
        if is_recent(self.disturbances.ranks_at) {
            return Vec::new();
        }
        let outages = self.disturbances.outages.iter();
        let recent: Vec<_> =
            outages.filter(|(_, at)| is_recent(**at)).map(|(pair, _)| pair).collect();
        let mut groups = self.calm_groups(bound);
        groups.retain(|group| {
            let are_in =
                |(one, other): &(usize, usize)| group.contains(one) && group.contains(other);
            !recent.iter().any(|pair| are_in(pair))
        });
        groups
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

    /// One car alone serves every floor of its shaft in this time, in both directions, while riders
    /// hold it up at each; and before that another car has been found to be broken.
    pub(super) fn longest_wait(&self) -> Duration {
        Duration::from_secs(90) + Duration::from_secs(20) * u32::from(self.settings.floors.get())
    }
}
