//! P1, P5, O1: what lit lamps and kiosks have promised, and whether it is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot, JournalId};
use elevator_fleet::orders::Record;

use super::{Finding, Violation};
use crate::disk::Disk;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// By then a process has shown on its panel what its disk promises (P3), whomever it hears meanwhile.
const LIT_WITHIN: Duration = Duration::from_millis(50);

/// By then a node has noticed that a process has ended, however long it was suspended itself.
const NOTICED_WITHIN: Duration = Duration::from_mins(1);

/// By then a holder has written what only a disk that failed or was taken away had: two transactions
/// of the slowest disk.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Promises {
    /// The presses that some lamp has promised and no car has served, and when a lamp did last.
    open: BTreeMap<Dot, (Call, Duration)>,
    /// The latest press of each register that a car has served.
    closed: BTreeMap<(JournalId, Call), u64>,
    /// When each call was last dropped in a fire recall.
    dropped: BTreeMap<Call, Duration>,
    /// By node: the latest press of each register that its lamps and its kiosk show as promised.
    shown: Vec<BTreeMap<Call, BTreeMap<JournalId, u64>>>,
    /// By node: the latest press of each register that a process held which has ended, and when that
    /// was. Others may count on it until they have noticed.
    former: Vec<BTreeMap<(JournalId, Call), (u64, Duration)>>,
}

impl Promises {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            closed: BTreeMap::new(),
            dropped: BTreeMap::new(),
            shown: vec![BTreeMap::new(); nodes],
            former: vec![BTreeMap::new(); nodes],
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
        let is_lit = machine.lit.contains(&button);
        let call = is_lit.then(|| Call::of_button(button, &machine.name));
        call.map(|call| self.is_shown(snapshot, node, &call)).unwrap_or_default()
    }

    /// P1, P5: this node shows that a call is promised: every press of it that the node has promised.
    /// Destination calls light no lamp; their kiosk shows them.
    ///
    /// A press that repeats one that is shown inherits its promise, and may be lost with its node: the
    /// passenger is served with the earlier one, whose lamp was lit.
    pub(crate) fn is_shown(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        call: &Call,
    ) -> Vec<Finding> {
        let machine = &snapshot.machines[node];
        let Some(process) = &machine.process else {
            return Vec::new();
        };
        let mut findings = Vec::new();
        for dot in process.node.orders().presses_of(call) {
            let known = self.shown[node].get(call).and_then(|dots| dots.get(&dot.journal));
            if known == Some(&dot.sequence) || !process.node.has_promised(dot) {
                continue;
            }
            let repeats = known.is_some() || machine.disk.repeats(dot, call);
            let shown = self.shown[node].entry(call.clone()).or_default();
            shown.insert(dot.journal, dot.sequence);
            if !repeats {
                self.promise(dot, call, snapshot.now);
                findings.extend(some_disk_knows(snapshot, node, dot, call));
                findings.extend(self.another_node_holds(snapshot, node, dot, call));
            }
        }
        findings
    }

    pub(crate) fn promise(&mut self, dot: Dot, call: &Call, at: Duration) {
        self.open.insert(dot, (call.clone(), at));
    }

    /// A destination call is over, as this node reports: what is promised next is promised anew.
    pub(crate) fn trip_is_over(&mut self, node: usize, call: &Call) {
        self.shown[node].remove(call);
    }

    /// P1, F12: a lamp goes on when two nodes hold the press, or the node hears nobody.
    fn another_node_holds(
        &self,
        snapshot: &Snapshot,
        node: usize,
        dot: Dot,
        call: &Call,
    ) -> Option<Finding> {
        let own = &snapshot.machines[node];
        let others = || snapshot.machines.iter().filter(|other| other.name != own.name);
        if !others().any(|other| own.hears(&other.name)) {
            return None;
        }
        let holds = |other: &Machine| {
            let present = other.node().and_then(|node| node.orders().present(dot, call));
            present.is_some_and(|present| present >= dot) || other.disk.knows(dot, call)
        };
        let held = |(other, held): (usize, &BTreeMap<_, (u64, Duration)>)| {
            let latest = held.get(&(dot.journal, call.clone()));
            let counts = |(latest, ended): &(u64, Duration)| {
                *latest >= dot.sequence && snapshot.now.saturating_sub(*ended) < NOTICED_WITHIN
            };
            other != node && latest.is_some_and(counts)
        };
        let born = own.process.as_ref().map_or(Duration::MAX, |process| process.born);
        let has_started = snapshot.now.saturating_sub(born) < LIT_WITHIN;
        let is_restored = has_started && own.disk.knows(dot, call);
        let is_held =
            is_restored || others().any(holds) || self.former.iter().enumerate().any(held);
        let what = || format!("{call}, {dot}, is lit, and no other node holds it");
        (!is_held).then(|| Finding::new("P1", node, what()))
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
        let dots = dots.into_iter().map(|(journal, sequence)| Dot { journal, sequence });
        let is_dropped = |dot: &Dot| {
            let promised = self.open.get(dot).map(|(_, at)| *at);
            self.dropped.get(&call).is_some_and(|at| promised.is_none_or(|last| last <= *at))
        };
        dots.filter(|dot| !self.is_closed(*dot, &call) && !is_dropped(dot))
            .map(|dot| {
                let what = format!("the lamp of {button} went out, {dot} was not served");
                Finding::new("P1", node, what)
            })
            .collect()
    }

    /// The process of a machine is about to end: its lamps are dark because nobody lights them, and
    /// its kiosk shows nothing.
    pub(crate) fn process_ends(&mut self, snapshot: &Snapshot, node: usize) {
        self.shown[node].clear();
        if let Some(process) = &snapshot.machines[node].process {
            let records = process.node.orders().records(process.clock(snapshot.now));
            let held = |it: Record| ((it.dot.journal, it.call), (it.dot.sequence, snapshot.now));
            self.former[node].extend(records.map(held));
        }
    }

    /// A car has served this call, as its node reports: every press of it that the node knows.
    pub(crate) fn served(&mut self, snapshot: &Snapshot, node: usize, call: &Call) {
        for dot in served_presses(snapshot, node, call) {
            let latest = self.closed.entry((dot.journal, call.clone())).or_default();
            *latest = dot.sequence.max(*latest);
        }
    }

    /// A node drops this call in a fire recall: every press of it.
    pub(crate) fn dropped(&mut self, snapshot: &Snapshot, call: &Call) {
        self.dropped.insert(call.clone(), snapshot.now);
    }

    /// Whether a car has served this press, or a later one of its register.
    fn is_closed(&self, dot: Dot, call: &Call) -> bool {
        let latest = self.closed.get(&(dot.journal, call.clone()));
        latest.is_some_and(|latest| *latest >= dot.sequence)
    }

    /// Whether no car has served this press, or its call since a lamp last promised it.
    fn is_open(&self, snapshot: &Snapshot, (dot, (call, at)): &(Dot, (Call, Duration))) -> bool {
        let ended = snapshot.history.served_at(call).max(self.dropped.get(call).copied());
        !self.is_closed(*dot, call) && ended.is_none_or(|ended| ended < *at)
    }

    /// O1: what a lamp has promised is on some disk that works, at every moment, until it is served.
    pub(crate) fn are_on_a_disk(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let open = std::mem::take(&mut self.open);
        self.open = open.into_iter().filter(|it| self.is_open(snapshot, it)).collect();
        let disks = snapshot.machines.iter().map(|machine| &machine.disk);
        let sound: Vec<&Disk> = disks.filter(|disk| !disk.failed()).collect();
        let lost = self.open.iter().filter(|(_, (call, _))| !sound.iter().any(|it| it.holds(call)));
        lost.map(|(dot, (call, _))| {
            let what = format!("{call}, {dot}, is lit and on no disk");
            Finding::new("O1", 0, what).lasting(WRITTEN_WITHIN)
        })
        .collect()
    }

    /// P1, O1, F12, F13: at the end every promise has been kept.
    pub(crate) fn broken(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let open = self.open.clone().into_iter().filter(|it| self.is_open(snapshot, it));
        let open = open.map(|(dot, (call, _))| Violation {
            at: snapshot.now,
            id: "O1",
            what: format!("{call}, {dot}, was lit and never served"),
        });
        open.collect()
    }
}

/// The presses of this call that a node knows to be served.
fn served_presses(snapshot: &Snapshot, node: usize, call: &Call) -> impl Iterator<Item = Dot> {
    let process = snapshot.machines[node].process.as_ref();
    let records = process.into_iter().flat_map(|process| {
        let records = process.node.orders().records(process.clock(snapshot.now));
        records.filter(|record| record.call == *call && record.state.is_served())
    });
    records.map(|record| record.dot)
}

/// P1, P5: a lamp goes on when some disk that works knows of the press, or one did that was taken away.
/// That it has been served since, the node may be the last to hear.
fn some_disk_knows(snapshot: &Snapshot, node: usize, dot: Dot, call: &Call) -> Option<Finding> {
    let works = |disk: &Disk| !disk.failed() && disk.knows(dot, call);
    let is_known = snapshot
        .machines
        .iter()
        .any(|machine| works(&machine.disk) || machine.lost.as_ref().is_some_and(works));
    let id = if snapshot.machines[node].disk.failed() { "P5" } else { "P1" };
    let what = || format!("{call} is lit, and no disk that works knows of it");
    (!is_known).then(|| Finding::new(id, node, what()))
}
