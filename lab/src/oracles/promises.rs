//! P1, P5, O1: what lit lamps and kiosks have promised, and whether it is kept.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::{Call, Dot, NodeId, Order};
use elevator_fleet::store::Record;
use elevator_fleet::wire::Nonce;

use super::lamps::has_lamp;
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

/// By incarnation of their origin.
type Shown = BTreeMap<Nonce, Dot>;

#[derive(Debug)]
pub(crate) struct Promises {
    /// The presses that some lamp has promised and no car has served, and when a lamp did last.
    pub(super) open: BTreeMap<Dot, (Call, Duration)>,
    /// The latest press of each incarnation that a car has served.
    closed: BTreeMap<(Nonce, Call), u64>,
    /// When each call was last dropped in a fire recall.
    dropped: BTreeMap<Call, Duration>,
    /// By node and origin: the latest presses that its lamps and its kiosk show as promised.
    shown: Vec<BTreeMap<Call, BTreeMap<NodeId, Shown>>>,
    /// What the process of a node held which has ended, and when that was. Others may count on it until
    /// they have noticed.
    former: Vec<(usize, Record, Duration)>,
}

impl Promises {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            closed: BTreeMap::new(),
            dropped: BTreeMap::new(),
            shown: vec![BTreeMap::new(); nodes],
            former: Vec::new(),
        }
    }

    /// P1, P5: a lit lamp promises every press of its call that its node has promised. Destination calls
    /// light no lamp; their kiosk shows them.
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
        let mut findings = Vec::new();
        let is_dark = |button| !(has_lamp(machine, call) && machine.lit.contains(&button));
        let Some(process) = machine.node().filter(|_| !call.button().is_some_and(is_dark)) else {
            return findings;
        };
        for Order { dot, origin, .. } in process.orders().of_call(call) {
            let (dot, shown) = (*dot, self.shown[node].entry(call.clone()).or_default());
            let known = shown.entry(origin.clone()).or_default();
            if known.get(&dot.incarnation) == Some(&dot) || !process.has_promised(dot) {
                continue;
            }
            let repeats = !known.is_empty() || machine.disk.repeats(dot, call, origin);
            known.insert(dot.incarnation, dot);
            if !repeats {
                self.open.insert(dot, (call.clone(), snapshot.now));
                findings.extend(some_disk_knows(snapshot, node, dot, call));
                findings.extend(self.another_node_holds(snapshot, node, dot, call));
            }
        }
        findings
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
            let present = other.node().map(|node| node.orders().present(dot, call));
            present.is_some_and(|it| !it.is_empty()) || other.disk.knows(dot, call)
        };
        let held = |(other, record, ended): &(usize, Record, Duration)| {
            let counts = snapshot.now.saturating_sub(*ended) < NOTICED_WITHIN;
            *other != node && counts && record.covers(dot, call)
        };
        let born = own.process.as_ref().map_or(Duration::MAX, |process| process.born);
        let has_started = snapshot.now.saturating_sub(born) < LIT_WITHIN;
        let is_restored = has_started && own.disk.knows(dot, call);
        let is_held = is_restored || others().any(holds) || self.former.iter().any(held);
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
        let dots = self.shown[node].remove(&call).unwrap_or_default().into_values();
        let dots = dots.flat_map(BTreeMap::into_values);
        let is_dropped = |dot: &Dot| {
            let promised = self.open.get(dot).map(|(_, at)| *at);
            self.dropped.get(&call).is_some_and(|at| promised.is_none_or(|last| last <= *at))
        };
        let kept = dots.filter(|dot| !self.is_closed(*dot, &call) && !is_dropped(dot));
        kept.map(|dot| {
            let what = format!("the lamp of {button} went out, {dot} was not served");
            Finding::new("P1", node, what)
        })
        .collect()
    }

    /// The process of a machine is about to end: its lamps are dark because nobody lights them, and
    /// its kiosk shows nothing.
    pub(crate) fn process_ends(&mut self, snapshot: &Snapshot, node: usize) {
        let now = snapshot.now;
        self.shown[node].clear();
        self.former.retain(|(.., ended)| now.saturating_sub(*ended) < NOTICED_WITHIN);
        self.former.extend(snapshot.records(node).map(|record| (node, record, now)));
    }

    /// A car has served this call, as its node reports: every press of it that the node knows.
    pub(crate) fn served(&mut self, snapshot: &Snapshot, node: usize, call: &Call) {
        for record in snapshot.records(node).filter(|it| it.call == *call && it.state.is_served()) {
            for press in record.presses() {
                let latest = self.closed.entry((press.incarnation, call.clone())).or_default();
                *latest = press.sequence.max(*latest);
            }
        }
    }

    /// O1: what a node drops has been recalled, every press of the call.
    pub(crate) fn dropped(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        call: &Call,
    ) -> Option<Finding> {
        self.dropped.insert(call.clone(), snapshot.now);
        let is_recalled = snapshot.node(node).is_some_and(|it| it.settings().is_fire_recalled());
        (!is_recalled).then(|| Finding::new("O1", node, format!("{call} was dropped")))
    }

    /// Whether a car has served this press, or one that took its place.
    fn is_closed(&self, dot: Dot, call: &Call) -> bool {
        let latest = self.closed.get(&(dot.incarnation, call.clone()));
        latest.is_some_and(|latest| *latest >= dot.sequence)
    }

    /// Whether no car has served this press, or its call since a lamp last promised it.
    fn is_open(&self, snapshot: &Snapshot, dot: Dot, (call, at): &(Call, Duration)) -> bool {
        let ended = snapshot.history.served_at(call).max(self.dropped.get(call).copied());
        !self.is_closed(dot, call) && ended.is_none_or(|ended| ended < *at)
    }

    /// O1: what a lamp has promised is on some disk that works, at every moment, until it is served.
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (node, machine) in snapshot.machines.iter().enumerate() {
            for button in &machine.lit {
                let call = Call::of_button(*button, &machine.name);
                findings.extend(self.is_shown(snapshot, node, &call));
            }
        }
        let mut open = std::mem::take(&mut self.open);
        open.retain(|dot, promise| self.is_open(snapshot, *dot, promise));
        self.open = open;
        let disks = snapshot.machines.iter().map(|machine| &machine.disk);
        let sound: Vec<&Disk> = disks.filter(|disk| !disk.failed()).collect();
        let lost = self.open.iter().filter(|(_, (call, _))| !sound.iter().any(|it| it.holds(call)));
        findings.extend(lost.map(|(dot, (call, _))| {
            let what = format!("{call}, {dot}, is lit and on no disk");
            Finding::new("O1", 0, what).lasting(WRITTEN_WITHIN)
        }));
        findings
    }

    /// P1, O1, F12, F13: at the end every promise has been kept.
    pub(crate) fn broken(&self, snapshot: &Snapshot) -> Vec<Violation> {
        let open = self.open.iter().filter(|(dot, it)| self.is_open(snapshot, **dot, it));
        open.map(|(dot, (call, _))| Violation {
            at: snapshot.now,
            id: "O1",
            what: format!("{call}, {dot}, was lit and never served"),
        })
        .collect()
    }
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
