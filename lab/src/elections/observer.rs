//! Who is master, from moment to moment.

use std::time::Duration;

use elevator_fleet::wire::NodeState;

use crate::World;

/// Adds up how long there was no master, or more than one, and counts changes.
///
/// It must be shown the world after each change of a node's state and after each fault.
#[derive(Debug)]
pub(super) struct Observer {
    rotates: bool,
    looked_at: Duration,
    /// By node: its state, while its process runs and is not suspended.
    states: Vec<Option<NodeState>>,
    pub(super) without_master: Tally,
    pub(super) two_masters: Tally,
    pub(super) changes: u64,
}

/// For how long something was so, and the longest time at a stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    since: Option<Duration>,
    pub(super) total: Duration,
    pub(super) longest: Duration,
}

impl Tally {
    /// From now on it is so, or not.
    fn look(&mut self, now: Duration, since_last: Duration, is_so: bool) {
        if let Some(since) = self.since {
            self.total += since_last;
            self.longest = self.longest.max(now.saturating_sub(since));
        }
        self.since = is_so.then(|| self.since.unwrap_or(now));
    }
}

impl Observer {
    pub(super) fn new(world: &World, rotates: bool) -> Self {
        let mut observer = Self {
            rotates,
            looked_at: world.now(),
            states: states(world),
            without_master: Tally::default(),
            two_masters: Tally::default(),
            changes: 0,
        };
        observer.look(world);
        observer
    }

    pub(super) fn look(&mut self, world: &World) {
        let states = states(world);
        let is_master = |node: &usize| states[*node] == Some(NodeState::Master);
        let masters: Vec<usize> = (0..states.len()).filter(is_master).collect();
        let has_other = |node: usize| {
            masters.iter().any(|other| *other != node && world.connects(node, *other))
        };
        for &master in &masters {
            let was = &self.states[master];
            let was_slave = matches!(was, Some(NodeState::Slave { .. }));
            let rotated = self.rotates && was_slave && !has_other(master);
            self.changes += u64::from(*was != Some(NodeState::Master) && !rotated);
        }
        let mut running = (0..states.len()).filter(|node| states[*node].is_some());
        let without = running.any(|node| !is_master(&node) && !has_other(node));
        let two = masters.iter().any(|master| has_other(*master));
        let now = world.now();
        let since_last = now.saturating_sub(self.looked_at);
        self.without_master.look(now, since_last, without);
        self.two_masters.look(now, since_last, two);
        self.looked_at = now;
        self.states = states;
    }
}

fn states(world: &World) -> Vec<Option<NodeState>> {
    let state = |node| world.node_state(node).filter(|_| world.is_awake(node)).cloned();
    (0..world.size()).map(state).collect()
}
