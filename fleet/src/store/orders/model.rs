//! The merge under the model checker: calls that one node accepts, replicated on three.
//!
//! Node A takes presses, is killed and started again, loses its disk, gets a backup of it, or runs
//! a second time from a copy of it on another machine. Nodes B and C go on. Any two exchange their
//! stores at any time, so every partition is among the histories; a message may be lost, come late,
//! and come again. Any node serves what it holds as open.
//!
//! - No promised press is lost while one of its holders lives (P1, O1). A press is promised once a
//!   second node holds it; alone, once it is on A's disk.
//! - A press that was served comes back at most once per store that missed the service (O2).
//! - Once all have exchanged everything, all stores are equal (O7).

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use stateright::{Checker, Model, Property};

use super::tests::{at, call, node};
use super::*;

/// The stores that take part: node A, its copy on another machine, and the two others.
const NODES: usize = 4;
const A: usize = 0;
const COPY: usize = 1;

/// How often each thing may happen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Budget {
    calls: u8,
    presses: u8,
    services: u8,
    crashes: u8,
    /// Disks that are lost or replaced by their backup.
    faults: u8,
    messages: u8,
    copies: u8,
    recalls: u8,
    /// Whether a press is promised once it is on A's disk, as where A hears nobody.
    alone: bool,
}

/// A store as a part of the world. The digest stands for it, as it does between nodes.
#[derive(Debug, Clone, Default)]
struct Held(Arc<OrderStore>);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest() == other.0.digest()
    }
}

impl Eq for Held {}

impl Hash for Held {
    fn hash<H: Hasher>(&self, to: &mut H) {
        self.0.digest().hash(to);
    }
}

impl Held {
    fn store(&mut self) -> &mut OrderStore {
        Arc::make_mut(&mut self.0)
    }

    fn open(&self, of: u8) -> BTreeSet<Dot> {
        self.0.presses_of(&call(of)).collect()
    }

    /// There have been this many recalls, as [`Store`](crate::store::Store) learns it.
    fn learn(&mut self, recalls: u64, is_recalled: bool) {
        let store = self.store();
        store.set_recalls(recalls);
        for dot in store.older_than(store.recalls()) {
            if is_recalled {
                store.cancel(dot);
            } else {
                store.raise(dot, store.recalls());
            }
        }
    }

    /// It is told what another one holds, unless they are equal.
    fn merge(&mut self, other: &Self, is_recalled: bool) {
        if self == other {
            return;
        }
        self.learn(other.0.recalls, is_recalled);
        for record in other.0.records(at(0)) {
            self.store().merge(record, at(0));
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Process {
    /// 0 while it does not run.
    incarnation: u64,
    sequence: u64,
    held: Held,
    /// Whether it knows of a recall that is in force.
    is_recalled: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct World {
    left: Budget,
    incarnations: u64,
    nodes: [Process; NODES],
    disk: Held,
    backup: Held,
    /// A message that may still arrive, any number of times.
    message: Held,
    /// The presses of each call that no car has served since.
    unserved: [BTreeSet<Dot>; 2],
    /// Those of them that were promised.
    owed: [BTreeSet<Dot>; 2],
    /// How many needless services of each call may still happen.
    missed: [u8; 2],
    has_come_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Press(usize, u8),
    Commit,
    BackUp,
    Crash,
    Start,
    LoseDisk,
    RestoreBackup,
    StartCopy,
    Tell(usize, usize),
    /// One entry, as a beacon may carry it.
    Send(usize, Dot),
    Deliver(usize),
    Serve(usize, u8),
    Recall(usize),
    EndRecall,
}

impl World {
    fn new(budget: Budget) -> Self {
        let mut world = Self { left: budget, incarnations: 1, ..Self::default() };
        // They make no presses: it does not matter which of the two is which.
        for other in &mut world.nodes[2..] {
            other.incarnation = 1;
        }
        world.start(A);
        world
    }

    fn start(&mut self, node: usize) {
        self.incarnations += 1;
        let held = if node <= COPY { self.disk.clone() } else { Held::default() };
        self.nodes[node] = Process { incarnation: self.incarnations, held, ..Process::default() };
    }

    fn runs(&self, node: usize) -> bool {
        self.nodes[node].incarnation > 0
    }

    fn tell(&mut self, from: &Held, is_recalled: bool, to: usize) {
        if is_recalled && from.0.recalls > self.nodes[to].held.0.recalls {
            self.forgive(to);
            self.nodes[to].is_recalled = true;
        }
        self.nodes[to].held.merge(from, is_recalled);
    }

    /// What is open at both of these is promised.
    fn promise(&mut self, from: usize, to: usize) {
        for of in 0..2 {
            let both = &self.nodes[from].held.open(of) & &self.nodes[to].held.open(of);
            let promised = &both & &self.unserved[usize::from(of)];
            self.owed[usize::from(of)].extend(promised);
        }
    }

    /// A recall ends what this node holds. Stores that don't hear of it in time may bring it back.
    fn forgive(&mut self, node: usize) {
        for of in 0..2_u8 {
            for dot in self.nodes[node].held.open(of) {
                self.owed[usize::from(of)].remove(&dot);
                self.unserved[usize::from(of)].remove(&dot);
                self.missed[usize::from(of)] += self.holding(of);
            }
        }
    }

    /// How many stores hold this call as open.
    fn holding(&self, of: u8) -> u8 {
        let nodes = self.nodes.iter().map(|node| &node.held);
        let stores = nodes.chain([&self.disk, &self.backup, &self.message]);
        u8::try_from(stores.filter(|held| held.0.is_open(&call(of))).count()).expect("few")
    }

    fn serve(&mut self, at_node: usize, of: u8) {
        let at_call = usize::from(of);
        self.nodes[at_node].held.store().serve(&call(of), &node(1), at(0));
        if self.unserved[at_call].is_empty() {
            self.has_come_back |= self.missed[at_call] == 0;
            self.missed[at_call] = self.missed[at_call].saturating_sub(1);
        } else {
            self.missed[at_call] += self.holding(of);
            self.unserved[at_call].clear();
            self.owed[at_call].clear();
        }
    }

    /// The disk, a copy of it or node A is not what it was: a service may be unknown there.
    fn miss(&mut self) {
        self.missed = self.missed.map(|missed| missed + 1);
    }

    /// What all hold once they have exchanged everything, if A comes back or not.
    fn united(&self, with_a: bool) -> Held {
        let others = self.nodes[COPY..].iter().filter(|node| node.incarnation > 0);
        let a = if self.runs(A) { &self.nodes[A].held } else { &self.disk };
        let held = others.map(|node| &node.held).chain(with_a.then_some(a));
        // They learn of recalls first.
        let recalls = held.clone().map(|held| held.0.recalls).max().unwrap_or_default();
        let mut all = Held::default();
        for held in held {
            let mut held = held.clone();
            held.learn(recalls, false);
            all.merge(&held, false);
        }
        all
    }

    fn keeps_promises(&self) -> bool {
        let variants: &[bool] =
            if self.runs(A) || self.left.alone { &[true] } else { &[true, false] };
        let is_owed = || self.owed.iter().any(|owed| !owed.is_empty());
        variants.iter().filter(|_| is_owed()).all(|with_a| {
            let united = self.united(*with_a);
            (0..2_u8).all(|of| self.owed[usize::from(of)].is_empty() || !united.open(of).is_empty())
        })
    }

    /// Once the nodes have told each other, of recalls first, all end up with the same.
    fn converges(&self) -> bool {
        let running = self.nodes.iter().filter(|node| node.incarnation > 0);
        let mut stores: Vec<Held> = running.map(|node| node.held.clone()).collect();
        for _ in 0..2 {
            for from in 0..stores.len() {
                for to in (0..stores.len()).filter(|to| *to != from) {
                    let told = stores[from].clone();
                    stores[to].merge(&told, false);
                }
            }
        }
        stores.iter().all(|store| *store == stores[0])
    }
}

impl Model for Budget {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(*self)]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let (left, running) = (world.left, |node: &usize| world.runs(*node));
        for node in (0..NODES).filter(running) {
            let held = &world.nodes[node].held;
            for of in 0..left.calls {
                let is_open = held.0.is_open(&call(of));
                if node <= COPY && left.presses > 0 && !is_open && !world.nodes[node].is_recalled {
                    steps.push(Step::Press(node, of));
                }
                if left.services > 0 && is_open {
                    steps.push(Step::Serve(node, of));
                }
            }
            let others = (0..NODES).filter(running).filter(|to| *to != node);
            steps.extend(others.map(|to| Step::Tell(node, to)));
            if left.messages > 0 {
                steps.extend(held.0.entries.keys().map(|dot| Step::Send(node, *dot)));
            }
            if world.message != Held::default() {
                steps.push(Step::Deliver(node));
            }
            if left.recalls > 0 {
                steps.push(Step::Recall(node));
            }
        }
        if world.runs(A) {
            steps.push(Step::Commit);
            if left.crashes > 0 {
                steps.push(Step::Crash);
            }
        } else {
            steps.push(Step::Start);
            if left.faults > 0 {
                steps.extend([Step::LoseDisk, Step::RestoreBackup]);
            }
        }
        if left.faults > 0 {
            steps.push(Step::BackUp);
        }
        if left.copies > 0 {
            steps.push(Step::StartCopy);
        }
        if world.nodes.iter().any(|node| node.is_recalled) {
            steps.push(Step::EndRecall);
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        match step {
            Step::Press(at_node, of) => {
                world.left.presses -= 1;
                let Process { incarnation, sequence, held, .. } = &mut world.nodes[at_node];
                *sequence += 1;
                let dot = Dot { incarnation: Nonce(*incarnation), sequence: *sequence };
                held.store().place(dot, &node(0), call(of), at(0));
                world.unserved[usize::from(of)].insert(dot);
            }
            Step::Commit => {
                world.disk = world.nodes[A].held.clone();
                if world.left.alone {
                    for of in 0..2 {
                        let kept = &world.disk.open(of) & &world.unserved[usize::from(of)];
                        world.owed[usize::from(of)].extend(kept);
                    }
                }
            }
            Step::BackUp => world.backup = world.disk.clone(),
            Step::Crash => {
                world.left.crashes -= 1;
                world.nodes[A] = Process::default();
                world.miss();
            }
            Step::Start => world.start(A),
            Step::LoseDisk | Step::RestoreBackup => {
                world.left.faults -= 1;
                let is_lost = step == Step::LoseDisk;
                world.disk = if is_lost { Held::default() } else { world.backup.clone() };
                world.miss();
            }
            Step::StartCopy => {
                world.left.copies -= 1;
                world.start(COPY);
                world.miss();
            }
            Step::Tell(from, to) => {
                let Process { held, is_recalled, .. } = world.nodes[from].clone();
                world.tell(&held, is_recalled, to);
                world.promise(from, to);
            }
            Step::Send(from, dot) => {
                world.left.messages -= 1;
                let from = &world.nodes[from].held.0;
                let mut message = OrderStore::default();
                message.set_recalls(from.recalls);
                message.merge(from.record(dot, at(0))?, at(0));
                world.message = Held(Arc::new(message));
            }
            Step::Deliver(to) => world.tell(&world.message.clone(), false, to),
            Step::Serve(at_node, of) => {
                world.left.services -= 1;
                world.serve(at_node, of);
            }
            Step::Recall(at_node) => {
                world.left.recalls -= 1;
                world.forgive(at_node);
                world.nodes[at_node].is_recalled = true;
                let held = &mut world.nodes[at_node].held;
                held.learn(held.0.recalls + 1, true);
            }
            Step::EndRecall => world.nodes.iter_mut().for_each(|node| node.is_recalled = false),
        }
        world.nodes[2..].sort_by_key(|node| (node.held.0.digest(), node.is_recalled));
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a promise is kept", |_, world: &World| world.keeps_promises()),
            Property::always("a service ends a press", |_, world: &World| !world.has_come_back),
            Property::always("stores converge", |_, world: &World| world.converges()),
        ]
    }
}

/// P1, O1, O2, O7
#[test]
fn no_history_loses_a_promised_press() {
    let one = Budget { calls: 1, presses: 2, services: 2, crashes: 1, ..Budget::default() };
    for budget in [
        Budget { crashes: 2, ..one },
        Budget { crashes: 2, alone: true, ..one },
        Budget { faults: 1, ..one },
        Budget { calls: 2, services: 1, ..one },
        Budget { messages: 1, services: 1, ..one },
        Budget { copies: 1, crashes: 0, services: 1, ..one },
        Budget { recalls: 1, services: 1, crashes: 0, ..one },
        Budget { recalls: 1, services: 0, ..one },
    ] {
        let checked = budget.checker().threads(2).spawn_bfs().join();
        assert!(checked.unique_state_count() > 1_000, "{budget:?}");
        checked.assert_properties();
    }
}
