//! What lit lamps have promised, and whether it is kept.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot, JournalId, NodeId};

use super::{Finding, Violation};
use crate::disk::Disk;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// What a process had sent before it ended may still be under way for so long, to nodes that did not
/// hear it.
const UNDER_WAY: Duration = Duration::from_secs(12);

/// By then a process has shown on its panel what its disk promises (P3), whomever it hears meanwhile.
const LIT_WITHIN: Duration = Duration::from_millis(50);

/// The memory of every promise.
#[derive(Debug)]
pub(crate) struct Promises {
    /// The presses that some lamp has promised.
    promised: BTreeMap<Dot, Promised>,
    /// Those of them that may be open: what is over stays over until a lamp promises it again.
    candidates: BTreeSet<Dot>,
    /// The latest press of each register that a car has served.
    closed: BTreeMap<JournalId, BTreeMap<Call, u64>>,
    /// When each call was last dropped in a fire recall.
    dropped: BTreeMap<Call, Duration>,
    /// By node: the presses that its lamps and its kiosk show as promised.
    pub(crate) shown: Vec<BTreeMap<Call, Vec<Dot>>>,
    /// By node whose disk was lost: the nodes that heard it at that moment, and have not yet
    /// noticed that they don't any more.
    unaware: Vec<BTreeSet<usize>>,
    /// Processes that have ended and that some node may still count on.
    former: Vec<Former>,
}

/// A process that has ended.
#[derive(Debug)]
struct Former {
    /// Whose.
    name: NodeId,
    /// When.
    ended: Duration,
    /// The latest press of each register that it held.
    held: BTreeMap<(JournalId, Call), u64>,
    /// The nodes that heard it at that moment, and have not noticed yet that they don't any more.
    unaware: BTreeSet<usize>,
}

impl Former {
    /// Whether a node may still count on it.
    fn may_count_with(&self, node: usize, now: Duration) -> bool {
        self.unaware.contains(&node) || now.saturating_sub(self.ended) < UNDER_WAY
    }

    fn holds(&self, dot: Dot, call: &Call) -> bool {
        let held = self.held.get(&(dot.journal, call.clone()));
        held.is_some_and(|latest| *latest >= dot.sequence)
    }
}

/// A press that some lamp has promised.
#[derive(Debug)]
struct Promised {
    call: Call,
    /// When a lamp promised it first.
    first: Duration,
    /// When a lamp promised it last that had not promised it before.
    last: Duration,
}

impl Promises {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            promised: BTreeMap::new(),
            candidates: BTreeSet::new(),
            dropped: BTreeMap::new(),
            closed: BTreeMap::new(),
            shown: vec![BTreeMap::new(); nodes],
            unaware: vec![BTreeSet::new(); nodes],
            former: Vec::new(),
        }
    }

    /// P1, P5: a lit lamp promises every press of its call that its node has promised.
    pub(crate) fn lamp_is_lit(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        button: Button,
    ) -> Vec<Finding> {
        let machine = &snapshot.machines[node];
        if !machine.lit.contains(&button) {
            return Vec::new();
        }
        self.is_shown(snapshot, node, Call::of_button(button, &machine.name))
    }

    /// P1, P5: a destination call lights no lamp; its kiosk shows that it is promised.
    pub(crate) fn trip_is_promised(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        call: &Call,
    ) -> Vec<Finding> {
        self.is_shown(snapshot, node, call.clone())
    }

    /// A destination call has been served, as this node reports: what is promised next is promised
    /// anew.
    pub(crate) fn trip_is_over(&mut self, node: usize, call: &Call) {
        self.shown[node].remove(call);
    }

    /// P1, P5: this node shows that a call is promised: every press of it that the node has
    /// promised. Some working disk knows of each.
    ///
    /// A press that is repeated inherits the promise of the earlier one: of one that this node has
    /// shown, or, where its panel has not answered since the start, of one that its disk promises.
    fn is_shown(&mut self, snapshot: &Snapshot, node: usize, call: Call) -> Vec<Finding> {
        let machine = &snapshot.machines[node];
        let Some(process) = &machine.process else {
            return Vec::new();
        };
        let is_new =
            |dots: &[Dot], dot: Dot| !dots.contains(&dot) && process.node.has_promised(dot);
        let orders = process.node.orders();
        // At almost every look there is nothing new.
        let shown = self.shown[node].get(&call);
        if shown.is_some_and(|dots| !orders.presses_of(&call).any(|dot| is_new(dots, dot))) {
            return Vec::new();
        }
        let mut dots = self.shown[node].remove(&call).unwrap_or_default();
        let mut fresh = Vec::new();
        for dot in orders.presses_of(&call) {
            if is_new(&dots, dot) {
                let repeats = |earlier: &&Dot| earlier.journal == dot.journal;
                let shown = dots.iter().rev().find(repeats).copied();
                let repeated = shown.or_else(|| machine.disk.earlier_press(dot, &call));
                self.promise(dot, &call, repeated, snapshot.now);
                dots.push(dot);
                if repeated.is_none() {
                    fresh.push(dot);
                }
            }
        }
        let findings = self.lack_a_promise(snapshot, node, fresh, &call);
        self.shown[node].insert(call, dots);
        findings
    }

    /// P1, P5: what these presses, which a node has just promised, lack of a promise.
    fn lack_a_promise(
        &self,
        snapshot: &Snapshot,
        node: usize,
        dots: Vec<Dot>,
        call: &Call,
    ) -> Vec<Finding> {
        let lacks = |dot: Dot| {
            let on_disk = self.some_disk_knows(snapshot, node, dot, call);
            on_disk.into_iter().chain(self.another_node_holds(snapshot, node, dot, call))
        };
        dots.into_iter().flat_map(lacks).collect()
    }

    /// P1, F12: a lamp goes on when two nodes hold the press, or the node hears nobody.
    ///
    /// A node may count on what a process held that has ended, until it notices.
    fn another_node_holds(
        &self,
        snapshot: &Snapshot,
        node: usize,
        dot: Dot,
        call: &Call,
    ) -> Option<Finding> {
        let (now, own) = (snapshot.now, &snapshot.machines[node]);
        let others = || snapshot.machines.iter().filter(|other| other.name != own.name);
        if !others().any(|other| own.hears(&other.name)) {
            return None;
        }
        let holds = |other: &Machine| {
            let present = other.node().and_then(|node| node.orders().present(dot, call));
            present.is_some_and(|present| present >= dot) || other.disk.knows(dot, call)
        };
        let held = |former: &Former| {
            former.name != own.name && former.may_count_with(node, now) && former.holds(dot, call)
        };
        let process = own.process.as_ref();
        let has_started =
            process.is_some_and(|process| now.saturating_sub(process.born) < LIT_WITHIN);
        let is_excused = has_started && own.disk.knows(dot, call);
        let is_held = || others().any(holds) || self.former.iter().any(held);
        let what = || format!("{call}, {dot}, is lit, and no other node holds it");
        (!is_excused && !is_held()).then(|| Finding::new("P1", node, what()))
    }

    /// A lamp promises this press. Where it `repeats` one of the same register that the lamp
    /// promised already, the promise dates from then.
    pub(crate) fn promise(&mut self, dot: Dot, call: &Call, repeats: Option<Dot>, at: Duration) {
        let earlier = repeats.and_then(|earlier| self.promised.get(&earlier));
        let since = earlier.map_or(at, |earlier| earlier.first);
        let promised = self.promised.entry(dot).or_insert_with(|| Promised {
            call: call.clone(),
            first: since,
            last: since,
        });
        promised.last = promised.last.max(since);
        self.candidates.insert(dot);
    }

    /// P1, P5: a lamp goes on when some disk that works knows of the press. That it has been served
    /// since, the node may be the last to hear.
    ///
    /// The same holds for the loss of a disk: no node can distinguish a message of a running machine
    /// from what was under way when the machine was lost, disk and all. The lamp still promises no
    /// less: the node holds the press, so the press survives this one loss. What a lost disk knew
    /// counts with those that heard its machine, until they notice; a press that it did not know
    /// never counts.
    pub(crate) fn some_disk_knows(
        &self,
        snapshot: &Snapshot,
        node: usize,
        dot: Dot,
        call: &Call,
    ) -> Option<Finding> {
        let works = |disk: &Disk| !disk.failed() && disk.knows(dot, call);
        let mut machines = snapshot.machines.iter().zip(&self.unaware);
        let is_known = machines.any(|(machine, unaware)| {
            let lost = machine.lost.as_ref().filter(|_| unaware.contains(&node));
            works(&machine.disk) || lost.is_some_and(works)
        });
        (!is_known).then(|| {
            let own_failed = snapshot.machines[node].disk.failed();
            let id = if own_failed { "P5" } else { "P1" };
            let what = format!("{call} is lit, and no disk that works knows of it");
            Finding::new(id, node, what)
        })
    }

    /// P1, O1, F12, F14: a lamp goes out when what it promised has been served.
    pub(crate) fn lamp_went_dark(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        button: Button,
    ) -> Vec<Finding> {
        let call = Call::of_button(button, &snapshot.machines[node].name);
        let dots = self.shown[node].remove(&call).unwrap_or_default();
        dots.into_iter()
            .filter(|dot| !self.is_closed(*dot, &call))
            .map(|dot| {
                let what = format!("the lamp of {button} went out, {dot} was not served");
                Finding::new("P1", node, what)
            })
            .collect()
    }

    /// The process of a machine is about to end: its lamps are dark because nobody lights them, and
    /// its kiosk shows nothing. Nodes that hear it count on it until they notice.
    pub(crate) fn process_ends(&mut self, snapshot: &Snapshot, node: usize) {
        self.shown[node].clear();
        let (now, machine) = (snapshot.now, &snapshot.machines[node]);
        let others = || (0..snapshot.machines.len()).filter(|other| *other != node);
        for former in &mut self.former {
            former.unaware.remove(&node);
        }
        self.former.retain(|former| others().any(|other| former.may_count_with(other, now)));
        let Some(process) = &machine.process else {
            return;
        };
        let records = process.node.orders().records(process.clock(now));
        let hears = |other: &usize| snapshot.machines[*other].hears(&machine.name);
        self.former.push(Former {
            name: machine.name.clone(),
            ended: now,
            held: records.map(|it| ((it.dot.journal, it.call), it.dot.sequence)).collect(),
            unaware: others().filter(hears).collect(),
        });
    }

    /// This machine's disk is lost. Nodes that hear it count on the disk until they notice.
    pub(crate) fn disk_lost(&mut self, snapshot: &Snapshot, node: usize) {
        let name = &snapshot.machines[node].name;
        let nodes = 0..snapshot.machines.len();
        self.unaware[node] = nodes.filter(|other| snapshot.machines[*other].hears(name)).collect();
    }

    /// From here on this node does not count on what machines of this name held.
    pub(crate) fn peer_lost(&mut self, snapshot: &Snapshot, node: usize, name: &NodeId) {
        for (machine, unaware) in snapshot.machines.iter().zip(&mut self.unaware) {
            if machine.name == *name {
                unaware.remove(&node);
            }
        }
        for former in self.former.iter_mut().filter(|former| former.name == *name) {
            former.unaware.remove(&node);
        }
    }

    /// Whether every press of this call that a node holds as served has been served, or dropped,
    /// before.
    pub(crate) fn are_closed(&self, snapshot: &Snapshot, node: usize, call: &Call) -> bool {
        let process = snapshot.machines[node].process.as_ref();
        process.is_none_or(|process| {
            let records = process.node.orders().records(process.clock(snapshot.now));
            let mut served = records
                .filter(|record| record.call == *call && record.state.is_served())
                .peekable();
            served.peek().is_some() && served.all(|record| self.is_closed(record.dot, call))
        })
    }

    /// A car has served this call, as its node reports: every press of it that the node knows.
    pub(crate) fn served(&mut self, snapshot: &Snapshot, node: usize, call: &Call) {
        let Some(process) = &snapshot.machines[node].process else {
            return;
        };
        let records = process.node.orders().records(process.clock(snapshot.now));
        for record in records.filter(|record| record.call == *call && record.state.is_served()) {
            let of_journal = self.closed.entry(record.dot.journal).or_default();
            let latest = of_journal.entry(record.call).or_default();
            *latest = record.dot.sequence.max(*latest);
        }
    }

    /// A node drops this call in a fire recall: every press of it.
    pub(crate) fn dropped(&mut self, snapshot: &Snapshot, node: usize, call: &Call) {
        self.served(snapshot, node, call);
        self.dropped.insert(call.clone(), snapshot.now);
    }

    /// Whether a car has served this press, or a later one of its register.
    fn is_closed(&self, dot: Dot, call: &Call) -> bool {
        let latest = self.closed.get(&dot.journal).and_then(|closed| closed.get(call));
        latest.is_some_and(|latest| *latest >= dot.sequence)
    }

    /// The presses that some lamp has promised and no car has served. A repeated press may be lost
    /// with its node: the passenger is served with the earlier one, whose lamp it found lit, or is
    /// dropped with it.
    fn open(&self, snapshot: &Snapshot) -> impl Iterator<Item = (Dot, &Call)> {
        self.may_be_open()
            .filter(|(dot, promised)| self.is_open(snapshot, *dot, promised))
            .map(|(dot, promised)| (dot, &promised.call))
    }

    fn may_be_open(&self) -> impl Iterator<Item = (Dot, &Promised)> {
        self.candidates.iter().filter_map(|dot| Some((*dot, self.promised.get(dot)?)))
    }

    fn is_open(&self, snapshot: &Snapshot, dot: Dot, promised: &Promised) -> bool {
        let served_at = snapshot.history.served_at(&promised.call);
        let dropped_at = self.dropped.get(&promised.call).copied();
        !self.is_closed(dot, &promised.call)
            && served_at.max(dropped_at).is_none_or(|over| over < promised.last)
    }

    fn forget_what_is_over(&mut self, snapshot: &Snapshot) {
        let mut candidates = std::mem::take(&mut self.candidates);
        let is_open = |dot: &Dot| {
            self.promised.get(dot).is_some_and(|promised| self.is_open(snapshot, *dot, promised))
        };
        candidates.retain(is_open);
        self.candidates = candidates;
    }

    /// O1: what a lamp has promised is on some disk, at every moment, until it is served.
    /// A disk that has failed does not count.
    ///
    /// A disk that fails or is taken away may have been the only one so far: then another is being
    /// written, for every holder writes what it holds. Only a press that this disk knew has this time.
    pub(crate) fn are_on_a_disk(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        self.forget_what_is_over(snapshot);
        let disks = snapshot.machines.iter().map(|machine| &machine.disk);
        let sound: Vec<&Disk> = disks.filter(|disk| !disk.failed()).collect();
        self.may_be_open()
            .map(|(dot, promised)| (dot, &promised.call))
            .filter(|(_, call)| !sound.iter().any(|disk| disk.holds(call)))
            .filter(|(dot, call)| !another_disk_is_being_written(snapshot, *dot, call))
            .map(|(dot, call)| {
                let what = format!("{call}, {dot}, is lit and on no disk");
                Finding::new("O1", 0, what).once()
            })
            .collect()
    }

    /// P1, O1, F12, F13: at the end every promise has been kept.
    pub(crate) fn broken(&self, snapshot: &Snapshot) -> Vec<Violation> {
        self.open(snapshot)
            .map(|(dot, call)| Violation {
                at: snapshot.now,
                id: "O1",
                what: format!("{call}, {dot}, was lit and never served"),
            })
            .collect()
    }
}

fn another_disk_is_being_written(snapshot: &Snapshot, dot: Dot, call: &Call) -> bool {
    let machines = || snapshot.machines.iter();
    let lost = machines().filter_map(|m| m.lost.as_ref()).filter(|disk| !disk.failed());
    let failed = machines().map(|m| &m.disk).filter(|disk| disk.failed());
    let mut sound = machines().map(|m| &m.disk).filter(|disk| !disk.failed());
    lost.chain(failed).any(|disk| disk.knows(dot, call))
        && sound.any(|disk| disk.is_writing(dot, call))
}
