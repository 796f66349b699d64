//! Directives of operators: who is told what, and for how long.

use super::*;
use crate::directives::{Topic, Version};
use crate::model::{JournalId, Mode};

fn directives(actions: &[Action]) -> usize {
    broadcasts(actions).map(|beacon| beacon.directives.len()).sum()
}

/// Beacons carry directives until all peers have them, and none after that.
#[test]
fn directives_are_sent_until_every_peer_has_them() {
    let (mut one, mut two) = (node(1, 1), node(2, 2));
    let now = Timestamp::START + PERIOD * 8;
    talk(&mut one, &mut two, Timestamp::START, now);
    let car = two.hello().node.clone();
    one.handle_mode(&car, Mode::Independent, "kovac", now).expect("room");
    let mut at = now;
    let mut sent = 0;
    for _ in 0..4 {
        at = at + PERIOD;
        one.handle_timeout(at);
        sent += directives(&drain(&mut one));
    }
    assert!(sent >= 4, "a peer that has not got it gets it again");
    talk(&mut one, &mut two, at, at + PERIOD * 8);
    assert_eq!(one.directives(), two.directives());
    assert_eq!(two.directives().mode(&car), Mode::Independent);
    at = at + PERIOD * 9;
    one.handle_timeout(at);
    assert_eq!(directives(&drain(&mut one)), 0, "everybody has it");
}

/// A peer that has counted up the versions is faulty: what it says is not believed.
#[test]
fn directives_that_no_operator_gave_are_rubbish() {
    let (mut one, _, now) = forged::pair();
    let (mut other, car) = (node(9, 9), name(1));
    other.handle_mode(&car, Mode::OutOfService, "kovac", now).expect("room");
    let mut directive = other.directives().iter().next().expect("a directive").clone();
    directive.version = Version { counter: u64::MAX, journal: JournalId(3) };
    one.handle_frame(forged::LINK, Frame::Directives(vec![directive]), now);
    assert_eq!(one.directives().iter().count(), 0);
    assert_eq!(one.status(now).distrusted.rubbish, 1);
}

/// ASME A17.1, phase I: in a fire recall nothing is placed, and what was open is dropped.
#[test]
fn a_fire_recall_drops_every_order_and_takes_none() {
    let mut one = forged::with_journal(1, forged::sound(1));
    let now = Timestamp::START + PERIOD;
    let call = forged::call(2);
    one.handle_order(call.clone(), now).expect("placed");
    drain(&mut one);
    one.handle_fire_recall(FireRecall::Start, "fire panel", now).expect("room");
    let reports: Vec<Report> = reports(drain(&mut one)).collect();
    assert!(reports.contains(&Report::Dropped { call: call.clone() }), "{reports:?}");
    assert_eq!(one.orders().calls().count(), 0);
    let refused = one.handle_order(call.clone(), now);
    assert_eq!(refused, Err(OrderRefused::FireRecall { call: call.clone() }));
    assert!(one.directives().get(&Topic::FireRecall.key()).is_some());

    one.handle_fire_recall(FireRecall::End, "kovac", now).expect("room");
    assert!(one.handle_order(call, now).is_ok());
}
