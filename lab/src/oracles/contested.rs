//! Services that one node knows and another one does not believe.
//!
//! Such a press stays open where the service is not believed. The car's own node confirms or denies
//! the service. If it does not remember it, it places the press again, and believes the service once
//! that press is on every disk; a peer without a disk never says that it is. If the car is away, it
//! answers when it comes back, and a hall call is placed again meanwhile.
//!
//! A press that was dropped in a fire recall, of which others may not have heard, is settled likewise:
//! who is not sure that nobody waits any more places it again first.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_fleet::model::{Call, Dot, JournalId, NodeId};
use elevator_fleet::orders::{Record, RecordState, Service};

use super::TOO_LONG;
use super::mastership::are_linked;
use crate::machine::Machine;
use crate::snapshot::Snapshot;

/// How long a node waits for a peer to say that a press is on its disk, and for the node of a car to
/// say whether it has served an order.
const LONGEST_ANSWER: Duration = Duration::from_secs(6);

/// A hall call of which a service is not believed is placed again by then: after the answer that does
/// not come, 2 s for late news, and the turns of the nodes.
pub(super) const LONGEST_CONTEST: Duration = Duration::from_secs(9);

/// From so many journals on that nobody announces a node may refuse another one: if it has all of them
/// from one peer.
const MANY_JOURNALS: usize = 64;

/// How long a node may have no room for what another one still has: a journal keeps its place for 10 s
/// after its orders were served, a node keeps more journals for 10 s after its start, and a repair
/// follows.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the nodes of a group hold of one register.
type Copies = BTreeMap<usize, (Dot, RecordState)>;

/// How much longer an order may be not promised of which this service is not believed, or that it was
/// dropped. A car that is away does not answer.
pub(super) fn longest_contest(
    snapshot: &Snapshot,
    group: &[usize],
    service: Option<&Service>,
) -> Duration {
    match service {
        Some(service) if !is_in(snapshot, group, &service.car) => LONGEST_CONTEST,
        Some(_) | None => longest_answer(snapshot, group),
    }
}

/// How much longer a service may be not believed that the node of the car confirms or denies.
fn longest_answer(snapshot: &Snapshot, group: &[usize]) -> Duration {
    let has_failed = |node: &usize| snapshot.machines[*node].disk.failed();
    if group.iter().any(has_failed) { LONGEST_ANSWER } else { Duration::ZERO }
}

/// For how long the stores of a group may differ as they do now; `None` if there is no limit.
pub(super) fn longest_difference(snapshot: &Snapshot, group: &[usize]) -> Option<Duration> {
    let registers = registers(snapshot, group, |_| true);
    let different = registers.iter().filter(|(_, copies)| differ(copies, group));
    let limits = different.filter_map(|((journal, call), copies)| {
        let limit = TOO_LONG + patience(snapshot, *journal, group, lacking(copies, group));
        let with_answer = || limit + longest_answer(snapshot, group);
        match disbelieved(copies, group) {
            Some(End::Served(car)) => is_in(snapshot, group, car).then(with_answer),
            Some(End::Dropped) if can_be_settled(snapshot, group, call) => Some(with_answer()),
            Some(End::Dropped) | None => Some(limit),
        }
    });
    limits.min()
}

/// For how long the lamp of a call may be lit on some panels of a group only, or after others know
/// that the call was served.
pub(super) fn longest_disagreement(snapshot: &Snapshot, group: &[usize], call: &Call) -> Duration {
    let registers = registers(snapshot, group, |record| record.call == *call);
    let is_contested = registers.values().any(|copies| match disbelieved(copies, group) {
        Some(End::Served(car)) => {
            !is_in(snapshot, group, car) || !longest_answer(snapshot, group).is_zero()
        }
        Some(End::Dropped) | None => false,
    });
    let contest = if is_contested { LONGEST_CONTEST } else { Duration::ZERO };
    let different = registers.iter().filter(|(_, copies)| differ(copies, group));
    let patience = different
        .map(|((journal, _), copies)| patience(snapshot, *journal, group, lacking(copies, group)));
    let patience = patience.max();
    TOO_LONG + contest.max(patience.unwrap_or_default())
}

/// How much longer than usual anything may last that stores excuse.
pub(super) fn longest_excuse(snapshot: &Snapshot) -> Duration {
    snapshot.longest_wait() + PATIENCE + LONGEST_CONTEST
}

/// How much longer the stores of a group may differ in this journal: those that lack its latest order
/// hear nobody who announces it, and have no room, or links to none but those. What is invented has
/// none before others have been served.
pub(super) fn patience(
    snapshot: &Snapshot,
    journal: JournalId,
    group: &[usize],
    lacking: impl IntoIterator<Item = usize>,
) -> Duration {
    let lacking: BTreeSet<usize> = lacking.into_iter().collect();
    let can_have_it = |node: &usize| {
        let mut others = group.iter().filter(|other| !lacking.contains(other));
        is_announced_to(snapshot, *node, journal)
            || !has_no_room(snapshot, *node)
                && others.any(|other| are_linked(snapshot, *node, *other))
    };
    let has_no_room = |node: &usize| has_no_room(snapshot, *node);
    if !lacking.iter().any(has_no_room) || lacking.iter().any(can_have_it) {
        Duration::ZERO
    } else if snapshot.is_invented(journal) {
        snapshot.longest_wait() + PATIENCE
    } else {
        PATIENCE
    }
}

/// The nodes that lack the latest press of a register.
fn lacking(copies: &Copies, group: &[usize]) -> impl Iterator<Item = usize> {
    let latest = copies.values().map(|(dot, _)| *dot).max();
    let has_it = move |node: &usize| copies.get(node).map(|(dot, _)| *dot) == latest;
    group.iter().copied().filter(move |node| !has_it(node))
}

/// Whether the node has refused, or collected, what there was no room for.
pub(super) fn has_no_room(snapshot: &Snapshot, node: usize) -> bool {
    let at = snapshot.machines[node].without_room_at;
    at.is_some_and(|at| snapshot.now < at + PATIENCE)
}

/// Whether the node complains rightly that a peer sends more journals than there can be: of an invented
/// one, or, where it has many of those, of one that nobody whom it hears announces.
pub(super) fn has_really_no_room(snapshot: &Snapshot, node: usize, complaint: &str) -> bool {
    let named = complaint.split_once("more journals or calls than there can be, ");
    let named = named.and_then(|(_, dot)| dot.split_once(':'));
    let named = named.and_then(|(journal, _)| u64::from_str_radix(journal, 16).ok());
    let Some(journal) = named.map(JournalId) else {
        return false;
    };
    let has_many_invented = || {
        let records = snapshot.node(node).into_iter().flat_map(|node| node.orders().orders());
        let invented = records.map(|it| it.dot.journal).filter(|it| snapshot.is_invented(*it));
        invented.collect::<BTreeSet<_>>().len() >= MANY_JOURNALS
    };
    snapshot.is_invented(journal)
        || !is_announced_to(snapshot, node, journal) && has_many_invented()
}

/// Whether so many journals of its store are invented that others may have no room.
pub(super) fn is_flooded(snapshot: &Snapshot, node: usize) -> bool {
    let records = snapshot.machines[node].process.as_ref().into_iter().flat_map(|process| {
        process.node.orders().records(process.clock(snapshot.now)).map(|it| it.dot.journal)
    });
    let invented: BTreeSet<JournalId> = records.filter(|it| snapshot.is_invented(*it)).collect();
    invented.len() >= MANY_JOURNALS
}

/// Whether this node, or one that it hears, places its orders under this journal.
pub(super) fn is_announced_to(snapshot: &Snapshot, node: usize, journal: JournalId) -> bool {
    let listener = &snapshot.machines[node];
    let heard = |machine: &&Machine| machine.name == listener.name || listener.hears(&machine.name);
    let mut heard = snapshot.machines.iter().filter(heard).filter_map(Machine::node);
    heard.any(|node| node.journal() == journal)
}

fn differ(copies: &Copies, group: &[usize]) -> bool {
    copies.len() < group.len() || !are_equal(copies.values())
}

fn is_in(snapshot: &Snapshot, group: &[usize], car: &NodeId) -> bool {
    group.iter().any(|node| snapshot.machines[*node].name == *car)
}

fn registers(
    snapshot: &Snapshot,
    group: &[usize],
    concerns: impl Fn(&Record) -> bool,
) -> BTreeMap<(JournalId, Call), Copies> {
    let mut registers: BTreeMap<(JournalId, Call), Copies> = BTreeMap::new();
    for node in group {
        let process = snapshot.machines[*node].process.as_ref();
        let records =
            process.map(|process| process.node.orders().records(process.clock(snapshot.now)));
        for record in records.into_iter().flatten().filter(&concerns) {
            let copies = registers.entry((record.dot.journal, record.call)).or_default();
            copies.insert(*node, (record.dot, record.state));
        }
    }
    registers
}

fn are_equal<'a>(mut copies: impl Iterator<Item = &'a (Dot, RecordState)>) -> bool {
    let what = |(dot, state): &(Dot, RecordState)| (*dot, state.is_served());
    let first = copies.next().map(what);
    copies.all(|copy| Some(what(copy)) == first)
}

/// How a press has ended as one node says, while it is open on another.
#[derive(Debug, Clone, Copy)]
enum End<'a> {
    /// This car has served it.
    Served(&'a NodeId),
    /// It was dropped in a fire recall.
    Dropped,
}

fn disbelieved<'a>(copies: &'a Copies, group: &[usize]) -> Option<End<'a>> {
    if copies.len() < group.len() {
        return None;
    }
    let open =
        copies.values().filter(|(_, state)| !state.is_served()).map(|(dot, _)| *dot).max()?;
    let ends = || copies.values().filter(|(dot, _)| *dot >= open).map(|(_, state)| state);
    let service = ends().find_map(|state| match state {
        RecordState::Served(Some(service)) => Some(End::Served(&service.car)),
        RecordState::Served(None) | RecordState::Open { .. } => None,
    });
    service.or_else(|| ends().any(RecordState::is_served).then_some(End::Dropped))
}

/// Whether somebody is there who places this call again of which a press was dropped: the car's own
/// node for its riders, and any node for those who wait at a landing.
fn can_be_settled(snapshot: &Snapshot, group: &[usize], call: &Call) -> bool {
    match call {
        Call::Hall(_) => true,
        Call::Car { car, .. } => is_in(snapshot, group, car),
    }
}
