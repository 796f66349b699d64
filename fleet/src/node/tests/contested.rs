//! Orders of which a service is refused here, and believed elsewhere.

use std::collections::BTreeMap;

use super::forged::{
    LINK, call, conflicts, delta, dot, exchange, pair, send_beacon, sound, with_journal,
};
use super::*;
use crate::model::{JournalId, NodeId};
use crate::orders::{Record, RecordState, Service};
use crate::wire::PlanEntry;

pub(super) fn served(journal: u64, sequence: u64, by: Option<NodeId>, waited: Duration) -> Record {
    Record {
        dot: dot(journal, sequence),
        origin: name(u8::try_from(journal).expect("small")),
        call: call(2),
        state: RecordState::Served(by.map(|car| Service { waited, car })),
    }
}

/// The dots under which the call waits.
pub(super) fn open(node: &Node) -> Vec<Dot> {
    let call = call(2);
    let orders = node.orders().of_call(&call);
    orders.map(|order| order.dot).collect()
}

/// O1: an order that only one node holds open is open everywhere again, as old as it was; once,
/// until it is served. Then nothing of it is left.
#[test]
fn a_call_whose_service_is_refused_is_placed_again() {
    for faulty in [1, 2] {
        let (mut one, mut two, now) = pair();
        let placed = dot(2, 1);
        assert_eq!((open(&one), open(&two)), (vec![placed], vec![placed]));
        let forged = served(2, 1, None, PERIOD);
        let deceived = if faulty == 1 { &mut one } else { &mut two };
        deceived.merge_record(&forged, None, now);
        let soon = now + Duration::from_secs(1);
        exchange(&mut one, &mut two, now, soon);
        let (deceived, other) = if faulty == 1 { (&one, &two) } else { (&two, &one) };
        assert_eq!((open(deceived), open(other)), (vec![], vec![placed]));
        let later = now + Duration::from_secs(30);
        exchange(&mut one, &mut two, soon, later);
        let everywhere = if faulty == 1 { &one } else { &two };
        let [again] = open(everywhere)[..] else { panic!("{:?}", open(everywhere)) };
        assert!(open(&one).contains(&again) && open(&two).contains(&again));
        for node in [&one, &two] {
            let waited = node.orders().waited(&call(2), later).expect("it waits");
            assert!(waited >= Duration::from_secs(30), "{waited:?}");
            let journal = |journal| node.orders().highest(JournalId(journal));
            let highest = if faulty == 1 { [1, 2] } else { [2, 1] };
            assert_eq!([journal(1), journal(2)], highest.map(Some), "placed once");
        }
        // The second node's car serves it, without a word of the order that it holds as served.
        let number = again.journal.0;
        let waited = Duration::from_secs(29);
        let real = served(number, again.sequence, Some(name(2)), waited);
        two.merge_record(&real, None, later);
        if faulty == 1 {
            two.merge_record(&served(2, 1, Some(name(2)), waited), None, later);
        }
        let end = later + Duration::from_secs(20);
        exchange(&mut one, &mut two, later, end);
        assert_eq!((open(&one), open(&two)), (vec![], vec![]));
        assert_eq!(one.orders().digest(), two.orders().digest());
    }
}

/// O1: an open press that the peer which reported a service has no room for, or refuses, does not
/// keep the call open there.
#[test]
fn a_call_is_placed_again_of_which_the_reporter_takes_no_other_press() {
    for is_taken in [false, true] {
        let (mut one, mut two, now) = pair();
        let sequence = if is_taken { 7 } else { u64::MAX };
        let state = RecordState::Open { waited: PERIOD };
        let other = Record { dot: dot(9, sequence), state, ..served(9, 1, None, PERIOD) };
        one.merge_record(&other, None, now);
        two.merge_record(&served(2, 1, None, PERIOD), None, now);
        exchange(&mut one, &mut two, now, now + Duration::from_secs(10));
        let journals: Vec<_> = open(&two).iter().map(|dot| dot.journal).collect();
        assert_eq!(journals, [JournalId(if is_taken { 9 } else { 1 })]);
        assert_eq!(open(&one).len(), if is_taken { 2 } else { 3 }, "{:?}", open(&one));
    }
}

/// O1: an open press that the master holds, which has reported a service of another, is enough.
#[test]
fn a_call_that_the_master_has_open_is_not_placed_again() {
    let (mut master, mut slave, now) = pair();
    let state = RecordState::Open { waited: PERIOD };
    let other = Record { state, ..served(9, 1, None, PERIOD) };
    slave.merge_record(&other, None, now);
    master.merge_record(&served(2, 1, None, PERIOD), None, now);
    exchange(&mut slave, &mut master, now, now + Duration::from_mins(1));
    assert_eq!((open(&master), open(&slave)), (vec![dot(9, 1)], vec![dot(2, 1), dot(9, 1)]));
    assert_eq!(slave.orders().highest(JournalId(2)), Some(1));
}

/// The node of the second car believes that a call was served, which the master refuses. A member
/// invents a press of it in each `period`, at `phase` of it; that node holds the n-th for `held(n)`.
/// The call is to be served by the first car, and by `car` after a while. All in ms.
#[derive(Clone, Copy)]
struct Presses {
    car: u8,
    after: u64,
    period: u64,
    phase: u64,
    held: fn(u64) -> u64,
}

impl Presses {
    /// After how many tenths of a second the master places the call again, within 20 s.
    fn placed_after(self) -> Option<u64> {
        let (mut master, mut slave, start) = pair();
        let mut member = with_journal(3, sound(3));
        talk(&mut master, &mut member, start, start + PERIOD * 4);
        let start = start + PERIOD * 4;
        slave.merge_record(&served(2, 1, None, PERIOD), None, start);
        let Call::Hall(hall) = call(2) else { panic!("a hall call") };
        master.dispatching.learn(PlanEntry { version: 1, call: hall, car: name(1) });
        let (mut held, mut placed_after) = (BTreeMap::new(), None);
        for passed in (50..20_000).step_by(10) {
            let now = start + Duration::from_millis(passed);
            if passed == 50 + self.after {
                let car = name(self.car);
                master.dispatching.learn(PlanEntry { version: 2, call: hall, car });
            }
            let since_first = passed.checked_sub(50 + self.phase);
            if let Some(since) = since_first.filter(|since| since.is_multiple_of(self.period)) {
                let press = served(3, passed, None, PERIOD);
                let state = RecordState::Open { waited: Duration::ZERO };
                master.merge_record(&Record { state, ..press.clone() }, None, now);
                held.insert(passed + (self.held)(since / self.period), press);
            }
            if let Some(press) = held.remove(&passed) {
                slave.merge_record(&press, None, now);
            }
            exchange(&mut master, &mut slave, now, now + Duration::from_millis(10));
            if passed.is_multiple_of(100) {
                send_beacon(&mut member, &mut master, Vec::new(), now);
            }
            if placed_after.is_none() && master.orders().highest(JournalId(1)) > Some(1) {
                placed_after = Some(passed / 100);
            }
        }
        let is_open = open(&slave).iter().any(|dot| dot.journal == JournalId(1));
        assert_eq!(is_open, placed_after.is_some());
        placed_after
    }
}

/// O1: presses of a member keep no call from the car that is to serve it, and later if it was to be
/// served by another until then.
#[test]
fn a_member_that_presses_all_the_time_keeps_no_call_from_the_car_that_has_it() {
    type Row = (u8, u64, u64, fn(u64) -> u64, Option<u64>);
    let rows: [Row; 11] = [
        (1, 0, 500, |_| 0, None),
        (2, 0, 500, |_| 0, Some(80)),
        (2, 0, 500, |_| 100, Some(80)),
        (2, 0, 500, |_| 300, Some(80)),
        // Nearly always, by presses too short for the call to be in hand.
        (2, 0, 200, |_| 190, Some(80)),
        (2, 0, 1_000, |_| 990, Some(80)),
        (2, 0, 1_900, |_| 1_890, Some(95)),
        (2, 1_900, 200, |_| 190, Some(98)),
        (2, 5_000, 200, |_| 190, Some(130)),
        // Presses that last: nearly always, or now and then.
        (2, 0, 2_500, |_| 2_490, None),
        (2, 0, 2_500, |press| if press == 0 { 2_490 } else { 0 }, Some(45)),
    ];
    for (car, after, period, held, expected) in rows {
        let placed_after = Presses { car, after, period, phase: 0, held }.placed_after();
        let what = format!("car {car} after {after} ms, {} of {period} ms", held(0));
        assert_eq!(placed_after, expected, "{what}");
    }
}

/// O1: nor do those that are held whenever the master looks.
#[test]
fn a_member_that_presses_in_time_with_the_looks_keeps_no_call_from_its_car() {
    let late = (0..100)
        .step_by(10)
        .map(|phase| Presses { car: 2, after: 0, period: 100, phase, held: |_| 20 }.placed_after());
    let late: Vec<_> = late.collect();
    assert!(late.iter().all(|after| matches!(after, Some(80 | 101))), "{late:?}");
    assert!(late.contains(&Some(101)), "none in time: {late:?}");
}

/// O1: a call is in hand by a press of a member, of which nobody else has heard, and that member is
/// lost: so is its press, and the call waits for two seconds more.
#[test]
fn a_call_waits_anew_once_it_is_no_longer_in_hand() {
    let (mut one, mut two, met) = pair();
    let mut three = with_journal(3, sound(3));
    talk(&mut one, &mut three, met, met + PERIOD * 4);
    let start = met + PERIOD * 4;
    let state = RecordState::Open { waited: PERIOD };
    one.merge_record(&Record { state, ..served(3, 7, None, PERIOD) }, None, start);
    one.handle_frame(LINK, delta(vec![served(2, 1, None, PERIOD)]), start);
    let (mut lost_at, mut placed_at) = (None, None);
    for passed in (0..20_000).step_by(10) {
        let now = start + Duration::from_millis(passed);
        one.handle_timeout(now);
        drain(&mut one);
        for (node, until) in [(&mut two, 20_000), (&mut three, 5_000)] {
            if passed.is_multiple_of(20) && passed < until {
                send_beacon(node, &mut one, Vec::new(), now);
            }
        }
        if one.peers.members().get(&name(3)).is_none() {
            lost_at = lost_at.or(Some(passed));
        }
        if one.orders().highest(JournalId(1)) > Some(1) {
            placed_at = placed_at.or(Some(passed));
        }
    }
    assert_eq!((lost_at, placed_at), (Some(5_180), Some(7_100)));
}

/// O1: what a lost peer has reported does not matter until it is back: an open press that it does
/// not hold will do.
#[test]
fn a_reporter_that_is_lost_has_no_call_placed_again() {
    for is_lost in [false, true] {
        let (mut one, mut two, met) = pair();
        let mut three = with_journal(3, sound(3));
        talk(&mut one, &mut three, met, met + PERIOD * 4);
        let start = met + PERIOD * 4;
        let state = RecordState::Open { waited: PERIOD };
        let other = Record { state, ..served(9, 1, None, PERIOD) };
        one.merge_record(&other, None, start);
        send_beacon(&mut three, &mut one, vec![served(2, 1, None, PERIOD)], start);
        for passed in (0..20_000).step_by(25) {
            let now = start + Duration::from_millis(passed);
            exchange(&mut one, &mut two, now, now + PERIOD);
            if !is_lost {
                send_beacon(&mut three, &mut one, Vec::new(), now);
            }
        }
        assert_eq!(one.peers.members().get(&name(3)).is_none(), is_lost);
        let placed = one.orders().highest(JournalId(1)) > Some(1);
        assert_eq!(placed, !is_lost);
    }
}

/// O1: a car call is placed again by the node of its car alone: nobody else has its button.
#[test]
fn a_car_call_is_placed_again_by_the_node_of_its_car() {
    let (mut one, mut two, met) = pair();
    let mut three = with_journal(3, sound(3));
    talk(&mut one, &mut three, met, met + PERIOD * 4);
    let pressed = met + PERIOD * 4;
    let floor = call(2).floor();
    let of_car = |car| Call::Car { car: name(car), floor };
    assert_eq!(one.orders.place(of_car(1), pressed), Taken::Placed);
    assert_eq!(two.orders.place(of_car(2), pressed), Taken::Placed);
    let told = pressed + PERIOD * 4;
    exchange(&mut one, &mut two, pressed, told);
    send_beacon(
        &mut three,
        &mut one,
        [1, 2]
            .map(|car| Record { call: of_car(car), ..served(car.into(), 2, None, PERIOD) })
            .into(),
        told,
    );
    exchange(&mut one, &mut two, told, told + Duration::from_secs(20));
    let placed =
        |call: &Call| one.orders().of_call(call).filter(|order| order.origin == name(1)).count();
    assert_eq!([1, 2].map(|car| placed(&of_car(car))), [1, 0]);
    assert_eq!(one.orders().highest(JournalId(1)), Some(3), "once");
}

/// C7: a service of one order of the call closes the others of which one was refused, except those
/// that were made after it.
#[test]
fn a_service_closes_no_press_that_was_made_after_it() {
    for (waited, is_open) in [(PERIOD * 12, true), (PERIOD * 140, false)] {
        let (mut one, mut two, start) = pair();
        let pressed = start + PERIOD * 100;
        exchange(&mut one, &mut two, start, pressed);
        let state = RecordState::Open { waited: Duration::ZERO };
        let press = Record { state, ..served(9, 1, None, PERIOD) };
        one.merge_record(&press, None, pressed);
        one.handle_frame(LINK, delta(vec![served(9, 1, None, PERIOD)]), pressed);
        let now = pressed + PERIOD * 40;
        one.handle_frame(LINK, delta(vec![served(2, 1, Some(name(2)), waited)]), now);
        let expected = if is_open { vec![press.dot] } else { vec![] };
        assert_eq!(open(&one), expected, "{waited:?}");
    }
}

/// O1: an open press that nobody announces, and that the peer holds, keeps the call open there.
/// When a service of that is told too, its car is asked, and given the time to answer.
#[test]
fn a_press_that_kept_a_call_open_has_its_own_time() {
    let (mut one, mut two, met) = pair();
    let mut three = with_journal(3, sound(3));
    talk(&mut one, &mut three, met, met + PERIOD * 4);
    let start = met + PERIOD * 4;
    let state = RecordState::Open { waited: PERIOD };
    let other = Record { state, ..served(7, 1, None, PERIOD) };
    one.merge_record(&other, None, start);
    two.merge_record(&other, None, start);
    two.merge_record(&served(2, 1, None, PERIOD), None, start);
    let mut placed_after = None;
    for passed in (0..14_000).step_by(25) {
        let now = start + Duration::from_millis(passed);
        if passed == 5_000 {
            two.merge_record(&served(7, 1, Some(name(3)), PERIOD), None, now);
        }
        exchange(&mut one, &mut two, now, now + PERIOD);
        // The car's node is heard, and does not answer.
        send_beacon(&mut three, &mut one, Vec::new(), now);
        if placed_after.is_none() && one.orders().highest(JournalId(1)) > Some(1) {
            placed_after = Some(passed / 1_000);
        }
    }
    assert_eq!(placed_after, Some(13), "5 s, 6 s for an answer, 2 s");
}

/// Whatever is told of it, and however often, a call is placed again every two seconds at most.
#[test]
fn a_call_is_placed_again_seldom() {
    let (mut one, mut two, start) = pair();
    let mut now = start;
    for _ in 0..100 {
        let next = now + Duration::from_millis(100);
        exchange(&mut one, &mut two, now, next);
        let lies =
            open(&one).into_iter().map(|at| Record { dot: at, ..served(1, 1, None, PERIOD) });
        let lies: Vec<Record> = lies.collect();
        one.handle_frame(LINK, delta(lies.clone()), next);
        two.handle_frame(LINK, delta(lies), next);
        now = next;
    }
    let presses = |journal| one.orders().highest(JournalId(journal)).expect("known");
    let placed = presses(1) + presses(2) - 2;
    assert!((1..=5).contains(&placed), "{placed} in 10 s");
    assert_eq!(one.orders().digest(), two.orders().digest());
}

/// A record that gives a press another call is neither taken in nor acknowledged.
#[test]
fn a_press_of_two_calls_is_refused() {
    for together in [false, true] {
        let (mut one, _, now) = pair();
        let waits = |sequence, index| Record {
            dot: dot(2, sequence),
            origin: name(2),
            call: call(index),
            state: RecordState::Open { waited: PERIOD },
        };
        // The second's press of call 2 has number 1.
        let (records, number) =
            if together { (vec![waits(9, 0), waits(9, 1)], 9) } else { (vec![waits(1, 0)], 1) };
        let before = one.status(now).refused.impossible;
        one.handle_frame(LINK, delta(records), now);
        one.handle_timeout(now + PERIOD);
        let actions = drain(&mut one);
        let acks = broadcasts(&actions).flat_map(|beacon| &beacon.delta.acks);
        let acks = acks.filter(|ack| ack.dot == dot(2, number)).count();
        assert_eq!(acks, usize::from(together), "{actions:?}");
        assert_eq!(conflicts(&actions).len(), 1, "{actions:?}");
        assert_eq!(one.status(now).refused.impossible, before + 1);
        let unknown = one.orders().of_call(&call(0)).count();
        assert_eq!(unknown, usize::from(together));
    }
}

/// O1: a node can't know whether an earlier process of it served what a node that it never met
/// holds open. It believes those that say so, and has the call served again in case it did not: no
/// lamp goes dark meanwhile.
#[test]
fn a_service_by_an_earlier_process_is_believed_and_repeated() {
    let (mut one, mut two, now) = pair();
    let of_stranger = |sequence| Record {
        dot: dot(7, sequence),
        origin: name(7),
        call: call(0),
        state: RecordState::Open { waited: PERIOD * 7 },
    };
    let served_here = |record: Record| {
        let service = Service { waited: PERIOD, car: name(1) };
        Record { state: RecordState::Served(Some(service)), ..record }
    };
    let open = |node: &Node| -> Vec<Dot> {
        let (orders, call) = (node.orders(), call(0));
        orders.of_call(&call).map(|order| order.dot).collect()
    };
    let heard = of_stranger(1);
    one.handle_frame(LINK, delta(vec![heard.clone()]), now);
    assert_eq!(open(&one), [heard.dot]);
    let believed = served_here(heard.clone());
    one.handle_frame(LINK, delta(vec![believed.clone()]), now);
    assert!(conflicts(&drain(&mut one)).is_empty(), "its peer does not lie");
    let [again, still] = open(&one)[..] else { panic!("{:?}", open(&one)) };
    assert_eq!((again.journal, still), (JournalId(1), heard.dot), "the lamp is lit");
    let waited = one.orders().waited(&call(0), now).expect("it is open");
    assert!(waited >= PERIOD * 7, "as old as the first: {waited:?}");
    let later = now + PERIOD * 8;
    exchange(&mut one, &mut two, now, later);
    one.handle_frame(LINK, delta(vec![believed]), later);
    assert_eq!(open(&one), [again], "its own press is promised");

    // The same of a press that follows: one of its own is enough.
    let next = of_stranger(9);
    for record in [next.clone(), served_here(next)] {
        one.handle_frame(LINK, delta(vec![record]), later);
    }
    assert_eq!(open(&one), [again]);

    let end = later + PERIOD * 8;
    exchange(&mut one, &mut two, later, end);
    assert_eq!(open(&two), [again]);
    assert_eq!(one.orders().digest(), two.orders().digest());
    // No earlier process can have served what this one made.
    let lie = served_here(Record { dot: again, origin: name(1), ..of_stranger(1) });
    one.handle_frame(LINK, delta(vec![lie]), end);
    assert_eq!(open(&one), [again]);
    assert_eq!(conflicts(&drain(&mut one)).len(), 1);
}

/// O1: nor can it have served what a peer has placed since their stores were first equal, however
/// lately the peer was found.
#[test]
fn a_press_that_was_made_since_then_was_served_by_no_earlier_process() {
    let (mut one, _, now) = pair();
    assert_eq!(open(&one), [dot(2, 1)]);
    let lie = served(2, 1, Some(name(1)), PERIOD);
    one.handle_frame(LINK, delta(vec![lie]), now);
    assert_eq!(open(&one), [dot(2, 1)]);
    assert_eq!(conflicts(&drain(&mut one)).len(), 1);
}

/// C7: a car may have served passengers of whom its node heard only afterwards: those who tell that
/// are no liars. The call is served again in case it did not. A younger press it has not served.
#[test]
fn a_press_that_waited_elsewhere_during_a_service_may_have_been_served() {
    for (waited, may_be) in [(PERIOD * 12, true), (PERIOD * 3, false)] {
        let (mut one, mut two, now) = pair();
        let own = one.orders().of_call(&call(1)).next().expect("it is open").dot;
        one.orders.store_mut().serve(&call(1), &name(1), now);
        let met = now + PERIOD * 8;
        exchange(&mut one, &mut two, now, met);
        let record = |state| Record { dot: dot(2, 7), origin: name(2), call: call(1), state };
        one.handle_frame(LINK, delta(vec![record(RecordState::Open { waited })]), met);
        let service = Service { waited: PERIOD * 4, car: name(1) };
        one.handle_frame(LINK, delta(vec![record(RecordState::Served(Some(service)))]), met);
        assert_eq!(conflicts(&drain(&mut one)).is_empty(), may_be, "{waited:?}");
        let open: Vec<Dot> = one.orders().presses_of(&call(1)).collect();
        let again = open.iter().any(|dot| dot.journal == JournalId(1) && *dot > own);
        assert!(open.contains(&dot(2, 7)), "nobody knows");
        assert_eq!(again, may_be, "{waited:?}: {open:?}");
    }
}

/// Of its own fresh press, which is as old as the first, a node knows that it was not served.
#[test]
fn a_fresh_press_is_not_placed_again_and_again() {
    let (mut one, mut two, now) = pair();
    one.orders.store_mut().serve(&call(1), &name(1), now);
    let mut at = now + PERIOD * 8;
    exchange(&mut one, &mut two, now, at);
    let waits = RecordState::Open { waited: PERIOD * 12 };
    let first = Record { dot: dot(2, 7), origin: name(2), call: call(1), state: waits };
    one.handle_frame(LINK, delta(vec![first]), at);
    for _ in 0..40 {
        let open: Vec<Dot> = one.orders().presses_of(&call(1)).collect();
        let lies = open.into_iter().map(|dot| Record {
            dot,
            origin: name(u8::try_from(dot.journal.0).expect("small")),
            call: call(1),
            state: RecordState::Served(Some(Service { waited: PERIOD * 4, car: name(1) })),
        });
        one.handle_frame(LINK, delta(lies.collect()), at);
        exchange(&mut one, &mut two, at, at + PERIOD);
        at = at + PERIOD;
    }
    assert!(one.orders().is_open(&call(1)));
    assert_eq!(one.orders().get(dot(2, 7)), None, "it is believed, as a fresh press is promised");
    assert_eq!(one.orders().highest(JournalId(1)), Some(2), "placed once");
}

/// O1, O7: what a node believes of its own car, the others believe too. So it first listens whether
/// the press is still open anywhere; once it has listened, nobody has to say it again.
#[test]
fn a_node_that_has_just_started_believes_no_service_of_an_unknown_press() {
    let (mut one, mut two, now) = pair();
    let knows = |node: &Node, sequence| node.orders().present(dot(7, sequence), &call(0)).is_some();
    let told = |sequence| Record {
        dot: dot(7, sequence),
        origin: name(7),
        call: call(0),
        state: RecordState::Served(Some(Service { waited: PERIOD, car: name(1) })),
    };
    one.handle_frame(LINK, delta(vec![told(1)]), now);
    assert!(!knows(&one, 1));
    let later = now + Duration::from_millis(1_100);
    exchange(&mut one, &mut two, now, later);
    assert!(knows(&one, 1));
    one.handle_frame(LINK, delta(vec![told(2)]), later);
    assert!(knows(&one, 2));
    assert!(conflicts(&drain(&mut one)).is_empty());
    // It would know of a press that was made since the stores were equal: it places the call again.
    let lie = Record { dot: dot(2, 2), origin: name(2), ..told(1) };
    one.handle_frame(LINK, delta(vec![lie]), later);
    assert_eq!(one.orders().present(dot(2, 2), &call(0)), None);
    assert_eq!(one.orders().of_call(&call(0)).count(), 1);
}

/// O1: a service that came too early is judged by what was heard since: the press is open.
#[test]
fn a_press_that_is_heard_of_after_its_service_stays_open() {
    let (mut one, mut two, now) = pair();
    let open = Record {
        dot: dot(7, 1),
        origin: name(7),
        call: call(0),
        state: RecordState::Open { waited: PERIOD },
    };
    let state = RecordState::Served(Some(Service { waited: PERIOD, car: name(1) }));
    let lie = Record { state, ..open.clone() };
    one.handle_frame(LINK, delta(vec![lie]), now);
    one.handle_frame(LINK, delta(vec![open]), now + PERIOD);
    let is_open = |node: &Node| node.orders().get(dot(7, 1)).is_some();
    assert!(is_open(&one));
    exchange(&mut one, &mut two, now + PERIOD, now + Duration::from_millis(1_100));
    assert!(is_open(&one));
}
