//! The merge under the model checker: calls that one node accepts, replicated on three.
//!
//! Node A takes presses, is killed and started again, loses its disk, gets a backup of it, or runs a
//! second time from a copy of it on another machine. Nodes B and C go on. Any two exchange their
//! stores at any time, so every partition is among the histories; a message may be lost, come late,
//! and come again. Any node serves what it holds as open.
//!
//! - No promised press is lost while one of its holders lives (P1, O1). A press is promised once a
//!   second node holds it; alone, once it is on A's disk.
//! - A press that was served comes back at most once per store that missed the service (O2).
//! - Once all have exchanged everything, all stores are equal (O7).

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

use super::tests::{at, call, node};
use super::*;

/// The stores that take part: node A, its copy on another machine, and the two others.
const NODES: usize = 4;
const A: usize = 0;
const COPY: usize = 1;

/// How often each thing may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// Nothing happens.
const NEVER: Budget = Budget {
    calls: 1,
    presses: 0,
    services: 0,
    crashes: 0,
    faults: 0,
    messages: 0,
    copies: 0,
    recalls: 0,
    alone: false,
};

/// A store, in a form that can be compared.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Contents {
    recalls: u64,
    entries: Vec<(Dot, u8, Option<u64>, Vec<Dot>)>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Process {
    /// 0 while it does not run.
    incarnation: u64,
    sequence: u64,
    contents: Contents,
    /// Whether it knows of a recall that is in force.
    is_recalled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct World {
    left: Budget,
    incarnations: u64,
    nodes: [Process; NODES],
    disk: Contents,
    backup: Contents,
    /// A message that may still arrive, any number of times.
    message: Contents,
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
    Send(usize, usize),
    Deliver(usize),
    Serve(usize, u8),
    Recall(usize),
    EndRecall,
}

impl Contents {
    fn store(&self) -> OrderStore {
        let mut store = OrderStore::default();
        store.set_recalls(self.recalls);
        for record in self.records() {
            store.merge(record, at(0));
        }
        store
    }

    fn records(&self) -> impl Iterator<Item = Record> {
        self.entries.iter().map(|(dot, of, recall, absorbed)| Record {
            dot: *dot,
            origin: node(0),
            call: call(*of),
            state: recall.map_or_else(RecordState::served, |recall| RecordState::Open {
                waited: Duration::ZERO,
                recall,
            }),
            absorbed: absorbed.clone(),
        })
    }

    fn of(store: &OrderStore) -> Self {
        let entries = store.records(at(0)).map(|record| {
            let recall = match record.state {
                RecordState::Open { recall, .. } => Some(recall),
                RecordState::Served(_) => None,
            };
            (record.dot, u8::from(record.call != call(0)), recall, record.absorbed)
        });
        Self { recalls: store.recalls(), entries: entries.collect() }
    }

    fn change(&mut self, change: impl FnOnce(&mut OrderStore)) {
        let mut store = self.store();
        change(&mut store);
        *self = Self::of(&store);
    }

    fn open(&self, of: u8) -> BTreeSet<Dot> {
        let open = self.entries.iter().filter(|entry| entry.1 == of && entry.2.is_some());
        open.map(|entry| entry.0).collect()
    }

    /// What it holds once it has been told of another one's contents.
    fn told(&self, other: &Self, is_recalled: bool) -> Self {
        let mut store = self.store();
        learn(&mut store, other.recalls, is_recalled);
        for record in other.records() {
            store.merge(record, at(0));
        }
        Self::of(&store)
    }
}

/// As [`crate::node::Node`] does with the recalls of a peer.
fn learn(store: &mut OrderStore, recalls: u64, is_recalled: bool) {
    store.set_recalls(recalls);
    for dot in store.older_than(store.recalls()) {
        if is_recalled {
            store.cancel(dot);
        } else {
            store.raise(dot, store.recalls());
        }
    }
}

impl World {
    fn new(budget: Budget) -> Self {
        let mut world = Self {
            left: budget,
            incarnations: 0,
            nodes: Default::default(),
            disk: Contents::default(),
            backup: Contents::default(),
            message: Contents::default(),
            unserved: Default::default(),
            owed: Default::default(),
            missed: [0; 2],
            has_come_back: false,
        };
        for node in [A, 2, 3] {
            world.start(node);
        }
        world
    }

    fn start(&mut self, node: usize) {
        self.incarnations += 1;
        let contents = if node <= COPY { self.disk.clone() } else { Contents::default() };
        self.nodes[node] =
            Process { incarnation: self.incarnations, contents, ..Process::default() };
    }

    fn runs(&self, node: usize) -> bool {
        self.nodes[node].incarnation > 0
    }

    /// One node is told what another one holds: both hold what is open at both.
    fn tell(&mut self, from: &Contents, is_recalled: bool, to: usize) {
        let told = self.nodes[to].contents.told(from, is_recalled);
        let is_over = told.recalls > self.nodes[to].contents.recalls && is_recalled;
        if is_over {
            self.forgive(to);
            self.nodes[to].is_recalled = true;
        }
        self.nodes[to].contents = told;
    }

    fn promise(&mut self, from: usize, to: usize) {
        for of in 0..2 {
            let both = &self.nodes[from].contents.open(of) & &self.nodes[to].contents.open(of);
            let promised = &both & &self.unserved[usize::from(of)];
            self.owed[usize::from(of)].extend(promised);
        }
    }

    /// A recall ends what this node holds. Stores that don't hear of it in time may bring it back.
    fn forgive(&mut self, node: usize) {
        for of in 0..2_u8 {
            for dot in self.nodes[node].contents.open(of) {
                self.owed[usize::from(of)].remove(&dot);
                self.unserved[usize::from(of)].remove(&dot);
                self.missed[usize::from(of)] += self.holding(of);
            }
        }
    }

    /// How many stores hold this call as open.
    fn holding(&self, of: u8) -> u8 {
        let nodes = self.nodes.iter().map(|node| &node.contents);
        let stores = nodes.chain([&self.disk, &self.backup, &self.message]);
        let holding = stores.filter(|contents| !contents.open(of).is_empty()).count();
        u8::try_from(holding).expect("few")
    }

    fn serve(&mut self, node: usize, of: u8) {
        let at_call = usize::from(of);
        self.nodes[node]
            .contents
            .change(|store| drop(store.serve(&call(of), &super::tests::node(1), at(0))));
        if self.unserved[at_call].is_empty() {
            self.has_come_back |= self.missed[at_call] == 0;
            self.missed[at_call] = self.missed[at_call].saturating_sub(1);
        } else {
            self.missed[at_call] += self.holding(of);
            self.unserved[at_call].clear();
            self.owed[at_call].clear();
        }
    }

    /// What all hold once they have exchanged everything, if A comes back or not.
    fn united(&self, with_a: bool) -> Contents {
        let others = self.nodes[COPY..].iter().filter(|node| node.incarnation > 0);
        let a = if self.runs(A) { &self.nodes[A].contents } else { &self.disk };
        let held: Vec<_> = others.map(|node| &node.contents).chain(with_a.then_some(a)).collect();
        // They learn of recalls first.
        let recalls = held.iter().map(|contents| contents.recalls).max().unwrap_or_default();
        let recalled = Contents { recalls, ..Contents::default() };
        held.into_iter().fold(recalled.clone(), |all, contents| {
            all.told(&contents.told(&recalled, false), false)
        })
    }

    fn keeps_promises(&self) -> bool {
        let variants: &[bool] =
            if self.runs(A) || self.left.alone { &[true] } else { &[true, false] };
        variants.iter().all(|with_a| {
            let united = self.united(*with_a);
            (0..2_u8).all(|of| self.owed[usize::from(of)].is_empty() || !united.open(of).is_empty())
        })
    }

    /// Once the nodes have told each other, all end up with the same.
    fn converges(&self) -> bool {
        let running: Vec<usize> = (0..NODES).filter(|node| self.runs(*node)).collect();
        let mut stores: Vec<Contents> =
            running.iter().map(|node| self.nodes[*node].contents.clone()).collect();
        for _ in 0..3 {
            for from in 0..stores.len() {
                for to in 0..stores.len() {
                    stores[to] = stores[to].told(&stores[from].clone(), false);
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
            let contents = &world.nodes[node].contents;
            for of in 0..left.calls {
                let is_open = !contents.open(of).is_empty();
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
                steps.extend((0..contents.entries.len()).map(|entry| Step::Send(node, entry)));
            }
            if world.message != Contents::default() {
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
                let process = &mut world.nodes[at_node];
                process.sequence += 1;
                let (incarnation, sequence) = (Nonce(process.incarnation), process.sequence);
                let dot = Dot { incarnation, sequence };
                process.contents.change(|store| drop(store.place(dot, &node(0), call(of), at(0))));
                world.unserved[usize::from(of)].insert(dot);
            }
            Step::Commit => {
                world.disk = world.nodes[A].contents.clone();
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
                world.missed = world.missed.map(|missed| missed + 1);
            }
            Step::Start => world.start(A),
            Step::LoseDisk | Step::RestoreBackup => {
                world.left.faults -= 1;
                let is_lost = step == Step::LoseDisk;
                world.disk = if is_lost { Contents::default() } else { world.backup.clone() };
                world.missed = world.missed.map(|missed| missed + 1);
            }
            Step::StartCopy => {
                world.left.copies -= 1;
                world.start(COPY);
                world.missed = world.missed.map(|missed| missed + 1);
            }
            Step::Tell(from, to) => {
                let Process { contents, is_recalled, .. } = world.nodes[from].clone();
                world.tell(&contents, is_recalled, to);
                world.promise(from, to);
            }
            Step::Send(from, entry) => {
                world.left.messages -= 1;
                world.message = world.nodes[from].contents.clone();
                world.message.entries = vec![world.message.entries.swap_remove(entry)];
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
                let recalls = world.nodes[at_node].contents.recalls + 1;
                world.nodes[at_node].contents.change(|store| learn(store, recalls, true));
            }
            Step::EndRecall => world.nodes.iter_mut().for_each(|node| node.is_recalled = false),
        }
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
    let one = Budget { presses: 2, services: 2, crashes: 1, ..NEVER };
    for budget in [
        Budget { crashes: 2, ..one },
        Budget { crashes: 2, alone: true, ..one },
        Budget { faults: 1, ..one },
        Budget { calls: 2, services: 1, ..one },
        Budget { messages: 1, services: 1, ..one },
        Budget { copies: 1, crashes: 0, services: 1, ..one },
        Budget { recalls: 1, services: 1, ..one },
    ] {
        let checked = budget.checker().threads(2).spawn_bfs().join();
        assert!(checked.unique_state_count() > 5_000, "{budget:?}");
        checked.assert_properties();
    }
}
