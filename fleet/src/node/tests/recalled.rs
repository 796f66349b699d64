//! Orders that a fire recall has dropped at some nodes, and that others still hold.

use super::forged::{LINK, call, conflicts, delta, dot, exchange, pair, sound, with_journal};
use super::*;
use crate::model::Dot;
use crate::orders::{Record, RecordState};
use crate::wire::Delta;

/// A pair that has begun a fire recall and ended it again.
fn pair_after_a_recall() -> (Node, Node, Timestamp) {
    let (mut one, mut two, met) = pair();
    one.handle_fire_recall(FireRecall::Start, "fire panel", met).expect("room");
    let recalled = met + PERIOD * 8;
    exchange(&mut one, &mut two, met, recalled);
    one.handle_fire_recall(FireRecall::End, "kovac", recalled).expect("room");
    let now = recalled + PERIOD * 8;
    exchange(&mut one, &mut two, recalled, now);
    assert!(!two.directives().is_fire_recalled());
    drain(&mut one);
    drain(&mut two);
    (one, two, now)
}

/// O1, O7: an order comes from the disk of a node that was down during a recall, and another has
/// dropped it then. Nobody lies: the call stays open by a press of the present, and the stores become
/// equal.
#[test]
fn an_old_order_that_a_recall_has_dropped_elsewhere_is_placed_again() {
    let (mut one, mut two, now) = pair_after_a_recall();
    let old = Record {
        dot: dot(7, 1),
        origin: name(7),
        call: call(0),
        state: RecordState::Open { waited: PERIOD * 7 },
    };
    let dropped = Record { state: RecordState::Served(None), ..old.clone() };
    two.merge_record(&dropped, None, now);
    drain(&mut two);
    one.handle_frame(LINK, delta(vec![old.clone()]), now);
    one.handle_frame(LINK, delta(vec![dropped]), now);
    let is_lit = |node: &Node| node.orders().of_call(&call(0)).next().is_some();
    assert!(is_lit(&one));
    let later = now + Duration::from_secs(20);
    let actions = exchange(&mut one, &mut two, now, later);
    assert!(conflicts(&actions).is_empty(), "{:?}", conflicts(&actions));
    for node in [&one, &two] {
        assert!(node.orders().get(old.dot).is_none());
        assert!(is_lit(node));
        let waited = node.orders().waited(&call(0), later).expect("it waits");
        assert!(waited >= Duration::from_secs(20) + PERIOD * 7, "{waited:?}");
    }
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// O1, O7: the same where the order is of a node with which this one was equal before: both were cut
/// off from the recall, and the order is older than its end.
#[test]
fn an_old_order_of_a_known_node_that_a_recall_has_dropped_is_placed_again() {
    let (mut one, mut two, now) = pair_after_a_recall();
    let journal = two.journal();
    let next = two.orders().highest(journal).unwrap_or(0) + 1;
    let old = Record {
        dot: dot(journal.0, next),
        origin: name(2),
        call: call(0),
        state: RecordState::Open { waited: PERIOD * 40 },
    };
    let dropped = Record { state: RecordState::Served(None), ..old.clone() };
    one.handle_frame(LINK, delta(vec![old.clone()]), now);
    assert!(one.orders().get(old.dot).is_some());
    two.merge_record(&dropped, None, now);
    drain(&mut two);
    one.handle_frame(LINK, delta(vec![dropped]), now);
    let later = now + Duration::from_secs(20);
    let actions = exchange(&mut one, &mut two, now, later);
    assert!(conflicts(&actions).is_empty(), "{:?}", conflicts(&actions));
    for node in [&one, &two] {
        assert!(node.orders().get(old.dot).is_none());
        assert!(node.orders().of_call(&call(0)).next().is_some(), "it stays open by another press");
    }
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// O1: a press that was made after the recall was dropped by nobody who knows of its end.
#[test]
fn a_press_of_after_a_recall_was_not_dropped_in_it() {
    let (mut one, mut two, now) = pair_after_a_recall();
    for node in [&mut one, &mut two] {
        assert_eq!(node.handle_order(call(0), now), Ok(Taken::Placed));
    }
    let later = now + PERIOD * 8;
    exchange(&mut one, &mut two, now, later);
    let before: Vec<Dot> = one.orders().of_call(&call(0)).map(|order| order.dot).collect();
    assert_eq!(before.len(), 2);
    for at in &before {
        let origin = name(u8::try_from(at.journal.0).expect("small"));
        let state = RecordState::Served(None);
        let lie = Record { dot: *at, origin, call: call(0), state };
        one.handle_frame(LINK, delta(vec![lie]), later);
    }
    let open: Vec<Dot> = one.orders().of_call(&call(0)).map(|order| order.dot).collect();
    assert_eq!(open, before);
    assert_eq!(conflicts(&drain(&mut one)).len(), 1, "reported once a minute");
}

/// O1: who is in a car, its own node knows: it is asked, and believed.
#[test]
fn a_node_is_believed_that_its_own_riders_call_was_dropped() {
    let (mut one, mut two, now) = pair_after_a_recall();
    let call = Call::Car { car: name(2), floor: Floor::BOTTOM };
    let old = Record {
        dot: dot(7, 1),
        origin: name(7),
        call: call.clone(),
        state: RecordState::Open { waited: PERIOD * 7 },
    };
    let dropped = Record { state: RecordState::Served(None), ..old.clone() };
    one.handle_frame(LINK, delta(vec![old.clone()]), now);
    // Another peer says so first.
    let mut three = with_journal(3, sound(3));
    let met = now + PERIOD * 4;
    talk(&mut one, &mut three, now, met);
    let mut beacon = three.plain_beacon(met);
    beacon.delta = Delta { records: vec![dropped.clone()], ..Delta::default() };
    one.handle_beacon(three.hello().address, &beacon, met);
    assert!(one.orders().get(old.dot).is_some(), "not on another's word");
    two.merge_record(&dropped, None, met);
    let later = met + PERIOD * 8;
    let actions = exchange(&mut one, &mut two, met, later);
    assert!(conflicts(&actions).is_empty(), "{:?}", conflicts(&actions));
    assert!(one.orders().get(old.dot).is_none());
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// A pair after a recall, which has met the car of a third and lost it again.
fn pair_that_has_lost_a_car() -> (Node, Node, Timestamp) {
    let (mut one, mut two, mut now) = pair_after_a_recall();
    let mut three = with_journal(3, sound(3));
    let step = Duration::from_millis(1);
    let met = now + Duration::from_secs(3);
    while now < met || one.peers.members().get(&name(3)).is_some() {
        if now < met {
            talk(&mut one, &mut three, now, now + step);
        }
        exchange(&mut one, &mut two, now, now + step);
        now = now + step;
    }
    drain(&mut one);
    drain(&mut two);
    (one, two, now)
}

/// One hears this record from two, in a beacon.
fn hears(one: &mut Node, two: &mut Node, record: &Record, now: Timestamp) {
    let mut beacon = two.plain_beacon(now);
    beacon.delta = Delta { records: vec![record.clone()], ..Delta::default() };
    one.handle_beacon(two.hello().address, &beacon, now);
}

/// O1, O7: the order of a rider comes back to a node that has forgotten it or never knew of it, and the
/// car's own node is not heard. Nobody lies who says that it was dropped in the recall.
#[test]
fn an_old_order_of_a_car_that_is_not_heard_is_placed_again() {
    let (mut one, mut two, now) = pair_that_has_lost_a_car();
    let call = Call::Car { car: name(3), floor: Floor::BOTTOM };
    let old = Record {
        dot: dot(7, 1),
        origin: name(3),
        call: call.clone(),
        state: RecordState::Open { waited: now.since(Timestamp::START) },
    };
    let dropped = Record { state: RecordState::Served(None), ..old.clone() };
    hears(&mut one, &mut two, &old, now);
    assert!(one.orders().get(old.dot).is_some());
    two.merge_record(&dropped, None, now);
    hears(&mut one, &mut two, &dropped, now);
    let mut actions = drain(&mut one);
    let later = now + Duration::from_secs(20);
    actions.extend(exchange(&mut one, &mut two, now, later));
    assert!(conflicts(&actions).is_empty(), "{:?}", conflicts(&actions));
    for node in [&one, &two] {
        assert!(node.orders().get(old.dot).is_none());
        assert!(node.orders().of_call(&call).next().is_some(), "it stays open by another press");
    }
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// O1: one that was made after the recall was not dropped in it, also if the car's node is not heard.
#[test]
fn an_order_of_a_car_that_is_not_heard_was_not_dropped_before_it_was_made() {
    let (mut one, mut two, now) = pair_that_has_lost_a_car();
    let call = Call::Car { car: name(3), floor: Floor::BOTTOM };
    assert_eq!(two.handle_order(call.clone(), now), Ok(Taken::Placed));
    let later = now + PERIOD * 8;
    exchange(&mut one, &mut two, now, later);
    let order = one.orders().of_call(&call).next().expect("an order");
    let (dot, origin, state) = (order.dot, name(2), RecordState::Served(None));
    hears(&mut one, &mut two, &Record { dot, origin, call, state }, later);
    assert!(one.orders().get(dot).is_some());
    assert_eq!(conflicts(&drain(&mut one)).len(), 1);
}
