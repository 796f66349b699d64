//! What one message of a faulty node says that no node can mean.

use super::*;
use crate::model::MOST_SEQUENCE;
use crate::model::bounds::JUMP;
use crate::settings::{Recall, Words};
use crate::store::RecordState;
use crate::wire::Ack;

pub(super) fn call(index: u8) -> Call {
    let floor = FloorCount::new(4).and_then(|floors| floors.floor(index));
    Call::Hall(HallCall::new(floor.expect("a floor"), Direction::Up))
}

pub(super) fn dot(incarnation: u64, sequence: u64) -> Dot {
    Dot { incarnation: Nonce(incarnation), sequence }
}

/// A press at the node with this index, in its first incarnation.
pub(super) fn press(index: u8, sequence: u64, call: Call, state: RecordState) -> Record {
    let dot = dot(u64::from(index) * 100 + 1, sequence);
    Record { dot, origin: name(index), call, state, absorbed: Vec::new() }
}

/// The first two nodes, synced; each has placed an order that both know. And that moment.
pub(super) fn pair() -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = linked();
    for (node, index) in [(&mut one, 1), (&mut two, 2)] {
        assert_eq!(node.order(&call(index), now), Ok(Taken::Placed));
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

pub(super) fn conflicts(actions: &[Action]) -> Vec<&str> {
    let mut conflicts = Vec::new();
    for action in actions {
        if let Action::Report(Report::Conflict { text: what }) = action {
            conflicts.push(what.as_str());
        }
    }
    conflicts
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
        wanted.extend(say_all(one, two, now));
        wanted.extend(say_all(two, one, now));
        now = now + Duration::from_millis(1);
    }
    wanted
}

/// The other hears all of it, and the disk writes at once.
fn say_all(speaker: &mut Node, listener: &mut Node, now: Timestamp) -> Vec<Action> {
    let actions = say(speaker, listener, now);
    for frame in sent(actions.clone()) {
        listener.handle_frame(LINK, frame, now);
    }
    for (lsn, _) in persists(&actions) {
        speaker.handle_durable(lsn, now);
    }
    actions
}

/// N1: in whatever it comes, also from the disk.
#[test]
fn a_record_that_cannot_be_is_as_if_it_had_never_come() {
    let roof = HallCall::new(floor(3), Direction::Up);
    for (sequence, call) in [(MOST_SEQUENCE + 1, call(2)), (9, Call::Hall(roof))] {
        let record = press(2, sequence, call, RecordState::open(PERIOD));
        for frame in [delta, state] {
            let (mut one, _, now) = pair();
            let before = one.orders().digest();
            one.handle_frame(LINK, frame(vec![record.clone()]), now);
            let actions = drain(&mut one);
            assert_eq!(one.orders().digest(), before, "{sequence}");
            assert_eq!((conflicts(&actions).len(), persists(&actions)), (1, Vec::new()));
            assert_eq!(one.status(now).refused.impossible, 1);
        }
        let mut one = restarted(1, 2, Restored { records: vec![record], ..Restored::default() });
        assert_eq!(one.orders().registers(), 0);
        assert_eq!(conflicts(&drain(&mut one)).len(), 1, "what is left out");
    }
}

/// O1, O4: a press of this process that it has not made yet, or that something has absorbed.
#[test]
fn a_press_that_this_node_will_make_is_not_taken_from_it() {
    let (mut one, _, now) = pair();
    let (before, incarnation) = (one.orders().digest(), one.hello().nonce);
    let next = Dot { incarnation, sequence: 2 };
    let served = press(1, 0, call(2), RecordState::served());
    for record in [
        Record { dot: next, ..served.clone() },
        Record { dot: dot(7, 1), absorbed: vec![next], ..served },
    ] {
        one.handle_frame(LINK, delta(vec![record]), now);
        assert_eq!(one.orders().digest(), before);
    }
    assert_eq!(conflicts(&drain(&mut one)).len(), 1);
    assert_eq!(one.order(&call(2), now), Ok(Taken::Placed));
    assert!(one.orders().is_open(&call(2)));
}

/// E3: a term that nobody can have reached leaves a next one, wherever it comes from.
#[test]
fn there_is_a_term_after_the_greatest_that_is_told() {
    let (mut master, mut slave, now) = pair();
    let known = slave.term();
    let Frame::State(told) = state(Vec::new()) else { unreachable!("a state") };
    let told = StateTransfer { term: Term(u64::MAX), ..told };
    slave.handle_frame(LINK, Frame::State(told), now);
    assert_eq!(slave.term(), Term(known.0 + JUMP));
    let known = slave.term();
    let mut beacon = master.plain_beacon(now);
    beacon.term = Term(u64::MAX);
    slave.handle_beacon(master.hello().address, &beacon, now);
    assert_eq!(slave.term(), Term(known.0 + JUMP));
    let on_disk = restarted(3, 2, Restored { term: Term(u64::MAX), ..Restored::default() }).term();
    assert!(Term(7) < on_disk && on_disk < on_disk.next());
}

/// O1, E1: a recorded beacon that is sent again creates no peer, causes no conflict, draws no
/// answer, and plants neither an order nor a fire recall, whether its sender is a peer, has
/// restarted since, or was this node before it restarted.
#[test]
fn a_beacon_that_is_sent_again_draws_no_answer() {
    let (mut one, mut two, start) = pair();
    let now = start + Duration::from_secs(15);
    exchange(&mut one, &mut two, start, now);
    let probe = |beacon: Beacon| Beacon { probe: true, ..beacon };
    let recorded = probe(two.plain_beacon(now));
    let answers = |one: &mut Node, beacon: &Beacon| {
        one.handle_beacon(beacon.hello.address, beacon, now);
        let actions = drain(one);
        let unicasts = actions.iter().filter(|action| matches!(action, Action::Unicast { .. }));
        assert!(!actions.iter().any(|action| matches!(action, Action::Report(_))), "{actions:?}");
        unicasts.count()
    };
    assert_eq!(answers(&mut one, &recorded), 1);
    assert_eq!(answers(&mut one, &recorded), 0, "sent again");

    let mut gone = node(9, 1);
    gone.command(Command::FireRecall { on: true }, now);
    let open = press(2, 7, call(0), RecordState::open(PERIOD));
    let peers = one.peers.membership.names();
    let known = (one.orders().digest(), one.settings().clone());
    for index in [1, 2, 3] {
        // The same names and addresses yesterday: other incarnations, which know this one not.
        let mut yesterday = probe(node(index, 1).plain_beacon(now));
        yesterday.hello.nonce = Nonce(77);
        yesterday.echoes = vec![Echo { nonce: Nonce(78), sequence: 5 }];
        yesterday.delta.settings = gone.settings().iter().cloned().collect();
        yesterday.delta.records = vec![open.clone()];
        assert_eq!(answers(&mut one, &yesterday), 0, "{index}");
    }
    assert_eq!(one.peers.membership.names(), peers);
    assert_eq!((one.orders().digest(), one.settings().clone()), known);
    assert!(one.status(now).conflicts.is_empty());
}

/// N1: one message can't make an order outlive every recall, nor use up the numbers of recalls.
#[test]
fn a_recall_number_out_of_reach_is_refused() {
    let mut one = node(1, 1);
    let mut two = node(2, 1);
    for (recall, is_taken) in [(JUMP, true), (JUMP + 1, false)] {
        let dot = dot(9, recall);
        let state = RecordState::Open { waited: Duration::ZERO, recall };
        let record = Record { dot, ..press(9, 1, call(1), state) };
        send_beacon(&mut two, &mut one, vec![record], Timestamp::START);
        assert_eq!(one.orders().get(dot).is_some(), is_taken, "{recall}");
        let mut settings = two.settings().clone();
        let on = Recall { number: recall, is_over: false };
        let on = Setting::FireRecall(two.hello().nonce, on);
        let register = settings.set(on, Words::unnamed(), Nonce(2)).expect("room");
        assert_eq!(one.settings().is_in_reach(&register), is_taken, "{recall}");
    }
}

/// O1, F14: a peer that ignores a press under its old number acknowledges it as over.
#[test]
fn an_acknowledgement_under_an_earlier_recall_number_counts_for_nothing() {
    let (mut one, two, now) = pair();
    let placed: Vec<Dot> = one.orders().orders().map(|order| order.dot).collect();
    let mut settings = two.settings().clone();
    let over = Setting::FireRecall(two.hello().nonce, Recall { number: 1, is_over: true });
    let over = settings.set(over, Words::unnamed(), Nonce(2)).expect("room");
    one.hear_settings(&name(2), vec![over], now);
    for (recall, holding) in [(0, true), (1, false)] {
        let acks =
            placed.iter().map(|dot| Ack::Press { dot: *dot, served: true, durable: false, recall });
        let delta = Delta { acks: acks.collect(), ..Delta::default() };
        one.store.handle_delta(&name(2), &delta, now);
        assert_eq!(placed.iter().any(|dot| one.store.owes(*dot)), holding, "{recall}");
    }
}
