//! Services of which a node hears from another than the car's.

use super::contested::{open, served};
use super::forged::{
    LINK, conflicts, delta, dot, exchange, pair, send_beacon, sound, with_journal,
};
use super::*;
use crate::model::JournalId;
use crate::wire::{Ack, Delta};

/// O1: of a car that is heard its own node is asked, and believed. What it acknowledges to another
/// meanwhile, as each beacon goes to all, is no answer.
#[test]
fn hearsay_of_a_service_is_asked_of_the_car_that_is_named() {
    for acks_to_another in [false, true] {
        let (mut one, mut two, now) = pair();
        let mut three = with_journal(3, sound(3));
        let met = now + PERIOD * 4;
        talk(&mut one, &mut three, now, met);
        // The third knows the order.
        let later = met + PERIOD * 2;
        exchange(&mut one, &mut two, met, later);
        let settled = later + PERIOD * 2;
        talk(&mut one, &mut three, later, settled);
        assert!(one.has_synced(&name(2)));
        assert_eq!(open(&three), [dot(2, 1)]);
        let told = served(2, 1, Some(name(3)), PERIOD);
        let asked = |one: &mut Node| {
            let actions = drain(one);
            assert!(conflicts(&actions).is_empty(), "{actions:?}");
            let mut records = broadcasts(&actions).flat_map(|beacon| &beacon.delta.records);
            records.any(|record| record.dot == told.dot && !record.state.is_served())
        };
        assert!(!asked(&mut one));
        one.handle_frame(LINK, delta(vec![told.clone()]), settled);
        assert_eq!(open(&one), [dot(2, 1)], "not on another's word");
        three.merge_record(&told, None, settled);
        let mut says = |one: &mut Node, delta: Delta, at| {
            let mut beacon = three.plain_beacon(at);
            beacon.delta = delta;
            one.handle_beacon(three.hello().address, &beacon, at);
        };
        if acks_to_another {
            let acks = vec![Ack { dot: told.dot, served: true, durable: true }];
            says(&mut one, Delta { acks, ..Delta::default() }, settled);
        }
        one.handle_timeout(settled + PERIOD);
        assert!(asked(&mut one), "the order is the question");
        let records = vec![told.clone()];
        says(&mut one, Delta { records, ..Delta::default() }, settled + PERIOD);
        assert_eq!(open(&one), []);
    }
}

/// O1: the node of the car that is said to have served shows that it lives and does not answer. The
/// order, which the master alone holds open, is open everywhere again.
#[test]
fn hearsay_that_nobody_answers_counts_as_refused() {
    let (mut one, mut two, mut now) = pair();
    let mute = with_journal(3, sound(3));
    let mut voice = with_journal(3, sound(3));
    let placed = dot(2, 1);
    for turn in 0..(40 * 20) {
        if turn == 40 {
            assert!(one.peers.members().get(&name(3)).is_some());
            two.merge_record(&served(2, 1, Some(name(3)), PERIOD), None, now);
            assert_eq!((open(&one), open(&two)), (vec![placed], vec![]));
        }
        let later = now + PERIOD;
        exchange(&mut one, &mut two, now, later);
        for node in [&mut one, &mut two] {
            let mut beacon = voice.plain_beacon(later);
            beacon.echoes = vec![node.echo(later)];
            node.handle_beacon(mute.hello().address, &beacon, later);
        }
        now = later;
    }
    assert!(one.peers.members().get(&name(3)).is_some());
    let again = open(&two);
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(open(&one).contains(&again[0]));
}

/// A pair that has heard the car of a third for `heard_for` since the press, and is told that it has
/// served it. Now the third is silent; goes on until it is lost, and then for a while.
fn told_of_a_lost_car(heard_for: Duration, goes_on: Duration) -> (Node, Node) {
    let (mut one, mut two, placed) = pair();
    let mut three = with_journal(3, sound(3));
    let step = Duration::from_millis(1);
    let mut now = placed;
    while now < placed + heard_for {
        talk(&mut one, &mut three, now, now + step);
        exchange(&mut one, &mut two, now, now + step);
        now = now + step;
    }
    let told = served(2, 1, Some(name(3)), PERIOD);
    two.merge_record(&told, None, now);
    let told_at = now;
    let mut lost_at = None;
    while lost_at.is_none_or(|lost| now < lost + goes_on) {
        exchange(&mut one, &mut two, now, now + step);
        now = now + step;
        if one.peers.members().get(&name(3)).is_some() {
            assert_eq!(open(&one), [dot(2, 1)], "not on another's word");
        } else {
            let lost_at = lost_at.get_or_insert(now);
            assert!(lost_at.since(told_at) < MeshTimes::default().repair_after, "{lost_at}");
        }
    }
    (one, two)
}

/// P2: the node of the car is lost before it answers. The order is closed soon after that, without
/// a repair.
#[test]
fn hearsay_about_a_lost_car_is_settled_without_a_repair() {
    let (one, _) = told_of_a_lost_car(Duration::from_secs(1), Duration::from_millis(3));
    assert_eq!(open(&one), []);
}

/// O1: its last beacon came just after the press, but no car is there so soon.
#[test]
fn a_car_that_is_lost_just_after_the_press_has_not_served_it() {
    let (one, two) = told_of_a_lost_car(PERIOD * 4, Duration::from_secs(15));
    let again = open(&two);
    assert_eq!(again.len(), 1, "{again:?}");
    assert!(open(&one).contains(&again[0]));
}

/// O1: a car that is heard has its time to answer, unless another service of the order is refused
/// before that is over.
#[test]
fn a_refused_service_counts_though_the_car_of_another_is_asked() {
    for (refused_after, expected) in [(None, 80), (Some(1_000), 30), (Some(7_000), 80)] {
        let (mut one, mut two, met) = pair();
        let mut mute = with_journal(3, sound(3));
        talk(&mut one, &mut mute, met, met + PERIOD * 4);
        let start = met + PERIOD * 4;
        let mut placed_after = None;
        for passed in (0..10_000).step_by(25) {
            let now = start + Duration::from_millis(passed);
            if passed == 0 {
                let told = served(2, 1, Some(name(3)), PERIOD);
                one.handle_frame(LINK, delta(vec![told]), now);
            }
            if refused_after == Some(passed) {
                one.handle_frame(LINK, delta(vec![served(2, 1, None, PERIOD)]), now);
            }
            exchange(&mut one, &mut two, now, now + PERIOD);
            send_beacon(&mut mute, &mut one, Vec::new(), now);
            if placed_after.is_none() && one.orders().highest(JournalId(1)) > Some(1) {
                placed_after = Some(passed / 100);
            }
        }
        assert_eq!(placed_after, Some(expected), "{refused_after:?}, in 100 ms");
    }
}
