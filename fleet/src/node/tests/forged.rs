//! What one message of a faulty node says that no node can mean.

use super::*;
use crate::model::bounds::JUMP;
use crate::model::{Dot, JournalId, MOST_SEQUENCE, NodeId};
use crate::orders::{Record, RecordState};
use crate::wire::{Delta, StateTransfer};

pub(super) const LINK: LinkId = LinkId(1);

pub(super) fn call(index: u8) -> Call {
    let floor = FloorCount::new(4).and_then(|floors| floors.floor(index));
    Call::Hall(HallCall::new(floor.expect("a floor"), Direction::Up))
}

pub(super) fn dot(journal: u64, sequence: u64) -> Dot {
    let journal = JournalId(journal);
    Dot { journal, sequence }
}

/// Served, by the node that has the number of its journal.
fn served(journal: u8, sequence: u64, call: Call) -> Record {
    Record {
        dot: dot(u64::from(journal), sequence),
        origin: name(journal),
        call,
        state: RecordState::served(),
    }
}

/// A node with a journal of its number, which has reserved a thousand sequences.
pub(super) fn with_journal(index: u8, restored: Restored) -> Node {
    let settings = settings(index, 1, ElectionSettings::of(Protocol::LowestIp));
    let mut node = Node::new(NodeSettings { restored, ..settings });
    node.start(Timestamp::START);
    node
}

pub(super) fn sound(index: u8) -> Restored {
    Restored { journal: JournalId(u64::from(index)), reserved: 1_000, ..Restored::default() }
}

/// The first two nodes, synced; each has placed an order that both know. And that moment.
pub(super) fn pair() -> (Node, Node, Timestamp) {
    let (mut one, mut two) = (with_journal(1, sound(1)), with_journal(2, sound(2)));
    let now = Timestamp::START + PERIOD * 8;
    talk(&mut one, &mut two, Timestamp::START, now);
    join(&mut two, &mut one, LINK, now);
    for (node, index) in [(&mut one, 1), (&mut two, 2)] {
        assert_eq!(node.handle_order(call(index), now), Ok(Taken::Placed));
    }
    let later = now + PERIOD * 8;
    talk(&mut one, &mut two, now, later);
    assert_eq!(one.orders().digest(), two.orders().digest());
    drain(&mut one);
    drain(&mut two);
    (one, two, later)
}

/// A peer says so in a beacon, and shows that it hears the node.
pub(super) fn send_beacon(peer: &mut Node, one: &mut Node, records: Vec<Record>, now: Timestamp) {
    let mut beacon = peer.plain_beacon(now);
    beacon.echoes = vec![one.echo(now)];
    beacon.delta.records = records;
    one.handle_beacon(peer.hello().address, &beacon, now);
}

pub(super) fn delta(records: Vec<Record>) -> Frame {
    Frame::Delta(Delta { records, ..Delta::default() })
}

fn state(records: Vec<Record>) -> Frame {
    Frame::State(StateTransfer { term: Term(1), records, durable: true, more: false })
}

pub(super) fn conflicts(actions: &[Action]) -> Vec<&str> {
    let mut conflicts = Vec::new();
    for action in actions {
        if let Action::Report(Report::Conflict(what)) = action {
            conflicts.push(what.as_str());
        }
    }
    conflicts
}

/// How often a node says that this peer tells of what can't be.
fn complaints(actions: &[Action], peer: &NodeId) -> usize {
    let name = peer.to_string();
    let conflicts = conflicts(actions).into_iter();
    conflicts.filter(|what| what.contains(&name)).count()
}

/// The sequences that a node writes, acknowledges or passes on.
fn told_of(actions: &[Action]) -> Vec<u64> {
    let of_delta = |delta: &Delta| -> Vec<u64> {
        let records = delta.records.iter().map(|record| record.dot.sequence);
        let acks = delta.acks.iter().map(|ack| ack.dot.sequence);
        records.chain(acks).collect()
    };
    let mut told: Vec<u64> =
        broadcasts(actions).flat_map(|beacon| of_delta(&beacon.delta)).collect();
    for action in actions {
        if let Action::Send { frame, .. } = action {
            if let Frame::Delta(delta) = frame {
                told.extend(of_delta(delta));
            }
            if let Frame::State(state) = frame {
                told.extend(state.records.iter().map(|record| record.dot.sequence));
            }
        }
    }
    for (_, changes) in persists(actions) {
        for change in changes {
            if let Change::Record(record) = change {
                told.push(record.dot.sequence);
            }
        }
    }
    told
}

/// All that two nodes say to each other over beacons and links; hands back what both wanted.
pub(super) fn exchange(
    one: &mut Node,
    two: &mut Node,
    from: Timestamp,
    until: Timestamp,
) -> Vec<Action> {
    let (mut now, mut wanted) = (from, Vec::new());
    while now < until {
        for turn in 0..2 {
            let (speaker, listener) =
                if turn == 0 { (&mut *one, &mut *two) } else { (&mut *two, &mut *one) };
            speaker.handle_timeout(now);
            for _ in 0..2 {
                let actions = drain(speaker);
                let address = speaker.hello().address;
                for beacon in broadcasts(&actions) {
                    listener.handle_beacon(address, beacon, now);
                }
                for action in &actions {
                    if let Action::Send { link, frame } = action {
                        listener.handle_frame(*link, frame.clone(), now);
                    }
                }
                for (lsn, _) in persists(&actions) {
                    speaker.handle_durable(lsn, now);
                }
                wanted.extend(actions);
            }
        }
        now = now + Duration::from_millis(1);
    }
    wanted
}

/// Both place an order of every call, and both know all of them.
fn orders_are_taken(one: &mut Node, two: &mut Node, now: Timestamp) {
    for index in 0..3 {
        for node in [&mut *one, &mut *two] {
            assert_ne!(node.handle_order(call(index), now), Ok(Taken::Absorbed));
        }
    }
    exchange(one, two, now, now + PERIOD * 8);
    for node in [one, two] {
        for index in 0..3 {
            let orders: Vec<_> = node.orders().of_call(&call(index)).collect();
            let origins: Vec<&NodeId> = orders.iter().map(|order| &order.origin).collect();
            assert!(origins.contains(&&name(1)), "{index}: {orders:?}");
            assert!(origins.contains(&&name(2)), "{index}: {orders:?}");
        }
    }
}

/// O4: neither the own journal nor another's takes in what can't be, in whatever it comes.
#[test]
fn a_record_that_cannot_be_is_as_if_it_had_never_come() {
    for sequence in [u64::MAX, MOST_SEQUENCE + 1, 1_000 + JUMP * 2] {
        for frame in [delta, state] {
            let (mut one, mut two, now) = pair();
            let before = one.orders().digest();
            let forged = [1, 2].map(|journal| {
                (0..3).map(move |index| served(journal, sequence - u64::from(index), call(index)))
            });
            let forged: Vec<Record> = forged.into_iter().flatten().collect();
            one.handle_frame(LINK, frame(forged.clone()), now);
            let actions = drain(&mut one);
            assert_eq!(one.orders().digest(), before, "{sequence}");
            assert!(complaints(&actions, &name(2)) > 0);
            one.handle_frame(LINK, frame(forged), now);
            let again = drain(&mut one);
            assert_eq!(complaints(&again, &name(2)), 0, "reported once");
            let later = exchange(&mut one, &mut two, now, now + PERIOD * 60);
            for actions in [actions, again, later] {
                let told = told_of(&actions);
                assert!(told.iter().all(|told| *told < JUMP), "{told:?}");
            }
            orders_are_taken(&mut one, &mut two, now + PERIOD * 60);
        }
    }
}

/// One message moves the sequence of another's journal by a jump at most, whatever it carries.
#[test]
fn one_message_does_not_climb_in_steps() {
    let (mut one, _, now) = pair();
    let highest = |node: &Node| node.orders().highest(JournalId(2)).expect("it is known");
    let known = highest(&one);
    let steps = (1..4).map(|step| served(2, known + step * JUMP, call(0)));
    one.handle_frame(LINK, delta(steps.collect()), now);
    assert_eq!(highest(&one), known + JUMP);
}

/// O4: a press that others may know and this node can't have made ends its journal: whatever they
/// have taken in of it, the next presses are new to them.
#[test]
fn a_journal_of_which_others_know_too_much_is_given_up() {
    for ahead in [JUMP / 2 + 1, JUMP - 100, JUMP * 8, MOST_SEQUENCE / 2] {
        let (mut one, mut two, now) = pair();
        let forged = served(1, 1_000 + ahead, call(0));
        // The second takes it for one of the first's, as far as it can be.
        two.handle_frame(LINK, delta(vec![forged.clone()]), now);
        one.handle_frame(LINK, delta(vec![forged]), now);
        let given_up = |actions: &[Action]| {
            let mut changes = persists(actions).into_iter().flat_map(|(_, changes)| changes);
            changes.any(|change| matches!(change, Change::Journal(_)))
        };
        let actions = exchange(&mut one, &mut two, now, now + PERIOD * 8);
        assert!(given_up(&actions), "{ahead}");
        orders_are_taken(&mut one, &mut two, now + PERIOD * 8);
    }
}

/// O4, P3: a fleet whose disks hold such records takes orders again after a restart, and keeps
/// those that wait.
#[test]
fn disks_that_hold_impossible_records_do_not_stop_orders() {
    let poisoned = |index: u8| {
        let waits = Record {
            state: RecordState::open(Duration::from_secs(3)),
            ..served(index, 17, call(2))
        };
        let mut records: Vec<Record> = [1, 2]
            .into_iter()
            .flat_map(|journal| (0..2).map(move |at| (journal, at)))
            .map(|(journal, at)| served(journal, u64::MAX - u64::from(at), call(at)))
            .collect();
        records.push(waits);
        Restored {
            journal: JournalId(u64::from(index)),
            used: u64::MAX,
            reserved: u64::MAX,
            term: Term(u64::MAX),
            records,
            ..Restored::default()
        }
    };
    let (mut one, mut two) = (with_journal(1, poisoned(1)), with_journal(2, poisoned(2)));
    for node in [&one, &two] {
        let open: Vec<Dot> = node.orders().orders().map(|order| order.dot).collect();
        assert_eq!(open.len(), 1, "{open:?}");
        assert!(node.orders().records(Timestamp::START).count() == 1);
    }
    let now = Timestamp::START + PERIOD * 8;
    let actions = exchange(&mut one, &mut two, Timestamp::START, now);
    let told = told_of(&actions);
    assert!(told.iter().all(|sequence| *sequence < JUMP), "{told:?}");
    let fresh: Vec<Change> = persists(&actions)
        .into_iter()
        .flat_map(|(_, changes)| changes)
        .filter(|change| matches!(change, Change::Journal(_)))
        .collect();
    assert_eq!(fresh.len(), 2, "one each: {fresh:?}");
    assert_eq!(conflicts(&actions).len(), 4, "what is left out, and why a journal ends");
    join(&mut two, &mut one, LINK, now);
    orders_are_taken(&mut one, &mut two, now);
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// E3: a term that nobody can have reached leaves a next one, in whatever it comes.
#[test]
fn there_is_a_term_after_the_greatest_that_is_told() {
    let (mut master, mut slave, now) = pair();
    let known = slave.term();
    let state =
        StateTransfer { term: Term(u64::MAX), records: Vec::new(), durable: true, more: false };
    slave.handle_frame(LINK, Frame::State(state), now);
    assert_eq!(slave.term(), Term(known.0 + JUMP));
    let known = slave.term();
    let mut beacon = master.plain_beacon(now);
    beacon.term = Term(u64::MAX);
    slave.handle_beacon(master.hello().address, &beacon, now);
    assert_eq!(slave.term(), Term(known.0 + JUMP));
}

/// A pair whose first node has promised a call that has waited for five seconds.
fn waiting_pair() -> (Node, Node, Timestamp) {
    let (mut one, mut two, start) = pair();
    for node in [&mut one, &mut two] {
        node.handle_durable(Lsn(100), start);
    }
    let later = start + Duration::from_secs(5);
    exchange(&mut one, &mut two, start, later);
    assert!(promised(&one));
    (one, two, later)
}

/// Whether a press of the call of [`waiting_pair`] is promised.
fn promised(node: &Node) -> bool {
    let call = call(1);
    let mut orders = node.orders().of_call(&call);
    orders.any(|order| node.has_promised(order.dot))
}

/// O1: an operator has the journal replaced, perhaps twice before an order could be placed again. Open
/// orders go on under the fresh one, as old as they were, and no lamp goes dark in between.
#[test]
fn a_repair_loses_no_order() {
    for repairs in [1, 2] {
        let (mut one, mut two, later) = waiting_pair();
        let waited = one.orders().waited(&call(1), later).expect("it is open");
        let mut present = JournalId(1);
        for _ in 0..repairs {
            let renewed = one.handle_repair(later);
            assert_eq!(renewed.old, present);
            assert_ne!(renewed.fresh, present);
            present = renewed.fresh;
        }
        assert!(promised(&one), "before the disk has heard of it");
        let end = later + PERIOD * 8;
        exchange(&mut one, &mut two, later, end);
        assert!(promised(&one));
        for node in [&one, &two] {
            let call = call(1);
            let orders = node.orders().of_call(&call);
            let fresh = orders.filter(|order| order.dot.journal == present);
            let ages: Vec<Duration> = fresh.map(|order| end.since(order.placed)).collect();
            assert!(matches!(ages[..], [age] if age >= waited), "{ages:?}");
        }
    }
}

/// O1: others know a press of this node as another call, as a faulty one has told them before. It
/// is placed again under a journal that they take, and both calls wait at both.
#[test]
fn a_press_that_others_know_as_another_call_is_placed_again() {
    let (mut one, mut two, now) = pair();
    let next = dot(1, one.orders().highest(JournalId(1)).expect("known") + 1);
    let forged = Record { state: RecordState::open(PERIOD), ..served(1, next.sequence, call(2)) };
    two.merge_record(&forged, None, now);
    assert_eq!(one.handle_order(call(0), now), Ok(Taken::Placed));
    assert!(one.orders().get(next).is_some(), "{next}");
    let end = now + PERIOD * 24;
    exchange(&mut one, &mut two, now, end);
    for node in [&one, &two] {
        let call = call(0);
        let mut orders = node.orders().of_call(&call);
        let again = orders.find(|order| order.dot.journal != JournalId(1));
        let again = again.expect("it is placed again").dot;
        assert!(node.has_promised(again));
    }
}
