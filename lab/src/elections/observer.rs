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
    /// By node.
    states: Vec<Option<State>>,
    pub(super) without_master: Tally,
    pub(super) two_masters: Tally,
    pub(super) changes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Seeking,
    Slave,
    Master,
}

/// For how long something was so.
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
    /// Begins with the world as it is.
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
        let is_master = |node: &usize| states[*node] == Some(State::Master);
        let masters: Vec<usize> = (0..states.len()).filter(is_master).collect();
        let others_of = |node: usize| {
            masters.iter().filter(move |other| **other != node && world.connects(node, **other))
        };
        for master in masters.iter().copied() {
            let was = self.states[master];
            let rotated =
                self.rotates && was == Some(State::Slave) && others_of(master).next().is_none();
            self.changes += u64::from(was != Some(State::Master) && !rotated);
        }
        let mut running = (0..states.len()).filter(|node| states[*node].is_some());
        let without = running.any(|node| !is_master(&node) && others_of(node).next().is_none());
        let two = masters.iter().any(|master| others_of(*master).next().is_some());
        let now = world.now();
        let since_last = now.saturating_sub(self.looked_at);
        self.without_master.look(now, since_last, without);
        self.two_masters.look(now, since_last, two);
        self.looked_at = now;
        self.states = states;
    }
}

/// By node: its state, while its process runs and is not suspended.
fn states(world: &World) -> Vec<Option<State>> {
    let state = |node: usize| {
        let state = world.node_state(node).filter(|_| world.is_awake(node))?;
        Some(match state {
            NodeState::Seeking => State::Seeking,
            NodeState::Slave { .. } => State::Slave,
            NodeState::Master => State::Master,
        })
    };
    (0..world.size()).map(state).collect()
}
