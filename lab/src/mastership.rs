//! For how long there were several masters, and for how long there was none.

use std::time::Duration;

use elevator_fleet::node::Node;
use elevator_fleet::wire::NodeState;

use crate::snapshot::{QUIET_LOSS, Snapshot};

/// For how long there were several masters, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mastership {
    /// How long the fleet was observed.
    pub observed: Duration,
    /// How much of it two masters had a link to each other and could use it.
    pub doubled: Duration,
    /// The longest time at a stretch for which that was so.
    pub longest_doubled: Duration,
    /// The same for two nodes that had the mastership, whether or not they acted: two tokens.
    pub held_twice: Duration,
    /// The longest time at a stretch for which that was so.
    pub longest_held_twice: Duration,
    /// The longest time for which a running node, and all that it was connected with, had no
    /// master. Only on networks that lose at most 5 % of the packets.
    pub longest_vacant: Duration,
    /// The same on networks that lose more.
    pub longest_vacant_in_loss: Duration,
}

impl Mastership {
    /// This and another: times add up, of the longest the longer counts.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            observed: self.observed + other.observed,
            doubled: self.doubled + other.doubled,
            longest_doubled: self.longest_doubled.max(other.longest_doubled),
            held_twice: self.held_twice + other.held_twice,
            longest_held_twice: self.longest_held_twice.max(other.longest_held_twice),
            longest_vacant: self.longest_vacant.max(other.longest_vacant),
            longest_vacant_in_loss: self.longest_vacant_in_loss.max(other.longest_vacant_in_loss),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct MastershipWatch {
    pub(crate) mastership: Mastership,
    looked_at: Duration,
    doubled_since: Option<Duration>,
    held_twice_since: Option<Duration>,
    vacant_since: Vec<Option<Duration>>,
    grounds: Grounds,
    /// The network has lost more than little since.
    lossy_until: Duration,
}

/// All that decides which machines are vacant, and how many nodes may be masters at once.
#[derive(Debug, Default)]
struct Grounds {
    /// See [`Network::revision`](crate::network::Network::revision).
    revision: u64,
    /// By machine: whether it leads, if it runs and is not suspended.
    leads: Vec<Option<bool>>,
    /// How many of these lead.
    masters: usize,
    /// How many of these have the mastership, whether or not they act.
    holders: usize,
}

impl Grounds {
    /// Looks again; `true` if anything changed that decides which machines are vacant. Hardly any event
    /// changes anything.
    fn change(&mut self, snapshot: &Snapshot) -> bool {
        let machines = snapshot.machines;
        let revision = snapshot.network.revision();
        let mut has_changed = revision != self.revision || self.leads.len() != machines.len();
        self.revision = revision;
        self.leads.resize(machines.len(), None);
        (self.masters, self.holders) = (0, 0);
        for (machine, known) in machines.iter().zip(&mut self.leads) {
            let node = machine.awake();
            let leads = node.map(is_master);
            self.masters += usize::from(leads == Some(true));
            self.holders += usize::from(node.is_some_and(Node::has_mastership));
            has_changed |= std::mem::replace(known, leads) != leads;
        }
        has_changed
    }
}

/// So long after a lossy time its vacancies may last.
const AFTERMATH: Duration = Duration::from_secs(4);

/// Adds up for how long something is so: what was so until this moment counts.
fn add_up(
    stands_since: &mut Option<Duration>,
    is_so: bool,
    (now, since_last): (Duration, Duration),
    total: &mut Duration,
    longest: &mut Duration,
) {
    if let Some(since) = *stands_since {
        *total += since_last;
        *longest = now.saturating_sub(since).max(*longest);
    }
    *stands_since = is_so.then(|| stands_since.unwrap_or(now));
}

impl MastershipWatch {
    /// Looks at who is master, after each event.
    pub(crate) fn look(&mut self, snapshot: &Snapshot) {
        let now = snapshot.now;
        // On the same grounds the same machines are vacant: the network only changes with its
        // revision.
        let vacant = self.grounds.change(snapshot).then(|| vacant(snapshot));
        let doubled = self.grounds.masters > 1 && any_are_linked(snapshot, is_master);
        let held_twice = self.grounds.holders > 1 && any_are_linked(snapshot, Node::has_mastership);
        let mastership = &mut self.mastership;
        let since_last = now.saturating_sub(self.looked_at);
        self.looked_at = now;
        mastership.observed += since_last;
        if snapshot.network.losses() > QUIET_LOSS {
            self.lossy_until = now + AFTERMATH;
        }
        let moment = (now, since_last);
        let (total, longest) = (&mut mastership.doubled, &mut mastership.longest_doubled);
        add_up(&mut self.doubled_since, doubled, moment, total, longest);
        let (total, longest) = (&mut mastership.held_twice, &mut mastership.longest_held_twice);
        add_up(&mut self.held_twice_since, held_twice, moment, total, longest);
        self.vacant_since.resize(snapshot.machines.len(), None);
        for since in self.vacant_since.iter().flatten() {
            let stood = now.saturating_sub(*since);
            let longest = if now < self.lossy_until {
                &mut mastership.longest_vacant_in_loss
            } else {
                &mut mastership.longest_vacant
            };
            *longest = stood.max(*longest);
        }
        for (since, vacant) in self.vacant_since.iter_mut().zip(vacant.unwrap_or_default()) {
            *since = vacant.then(|| since.unwrap_or(now));
        }
    }
}

fn is_master(node: &Node) -> bool {
    *node.node_state() == NodeState::Master
}

/// Whether two nodes that run, are not suspended, and for which this holds have a link to each
/// other.
fn any_are_linked(snapshot: &Snapshot, holds: fn(&Node) -> bool) -> bool {
    let is_one = |node: &usize| snapshot.machines[*node].awake().is_some_and(holds);
    let mut nodes = (0..snapshot.machines.len()).filter(is_one);
    while let Some(one) = nodes.next() {
        if nodes.clone().any(|other| are_linked(snapshot, one, other)) {
            return true;
        }
    }
    false
}

/// Whether two nodes have a link to each other, of which both know, and the network lets them
/// use it.
fn are_linked(snapshot: &Snapshot, one: usize, other: usize) -> bool {
    let knows = |from: usize, to: usize| {
        let name = &snapshot.machines[to].name;
        let node = snapshot.node(from);
        node.is_some_and(|node| node.has_synced(name))
    };
    snapshot.network.connects(one, other) && knows(one, other) && knows(other, one)
}

/// By node: whether it runs, and nobody that it is connected with is master.
fn vacant(snapshot: &Snapshot) -> Vec<bool> {
    let masters = snapshot.awake(is_master);
    let mut vacant = vec![false; snapshot.machines.len()];
    for group in snapshot.components() {
        if !group.iter().any(|node| masters.contains(node)) {
            for node in group {
                vacant[node] = true;
            }
        }
    }
    vacant
}
