//! How often all nodes together place a call again of which services are invented.

use std::collections::{BTreeSet, VecDeque};

use super::contested::{open, served};
use super::forged::{LINK, call, delta, dot, sound, with_journal};
use super::*;
use crate::election::LinkSide;
use crate::model::JournalId;
use crate::orders::{Record, RecordState};
use crate::wire::Delta;

/// How long a beacon takes.
const DELAY: Duration = Duration::from_millis(20);

/// Sound nodes hear each other, and a liar, until the end of this time. The liar takes in nothing,
/// and so acknowledges nothing. It tells this with each of its beacons.
fn go_on(
    nodes: &mut [Node],
    liar: &mut Node,
    (from, until): (Timestamp, Timestamp),
    mut tells: impl FnMut(&[Node], Timestamp) -> Vec<Record>,
) {
    let (mut now, mut sent) = (from, VecDeque::new());
    while now < until {
        for (speaker, node) in nodes.iter_mut().enumerate() {
            node.handle_timeout(now);
            for _ in 0..2 {
                let actions = drain(node);
                for beacon in broadcasts(&actions) {
                    sent.push_back((now + DELAY, speaker, node.hello().address, beacon.clone()));
                }
                for (lsn, _) in persists(&actions) {
                    node.handle_durable(lsn, now);
                }
            }
        }
        while let Some((_, speaker, address, beacon)) = sent.pop_front_if(|(at, ..)| *at <= now) {
            let listeners = nodes.iter_mut().enumerate().filter(|(at, _)| *at != speaker);
            for (_, listener) in listeners {
                listener.handle_beacon(address, &beacon, now);
            }
        }
        if now.since(from).as_millis().is_multiple_of(25) {
            let records = tells(nodes, now);
            let mut beacon = liar.plain_beacon(now);
            beacon.echoes = nodes.iter_mut().map(|node| node.echo(now)).collect();
            beacon.delta = Delta { records, ..Delta::default() };
            for node in &mut *nodes {
                node.handle_beacon(liar.hello().address, &beacon, now);
            }
        }
        now = now + Duration::from_millis(1);
    }
}

/// How many presses `count` sound nodes have made of a call by each moment of `after`, in ms. A
/// liar says at the moments `lies_at` that each press was served that is open at `spread` nodes or
/// more.
fn placed_again(
    count: u8,
    lies_at: impl Fn(u64) -> bool,
    spread: usize,
    after: &[u64],
) -> Vec<u64> {
    let mut nodes: Vec<Node> = (1..=count).map(|index| with_journal(index, sound(index))).collect();
    let mut liar = with_journal(99, sound(99));
    let met = Timestamp::START + Duration::from_secs(15);
    go_on(&mut nodes, &mut liar, (Timestamp::START, met), |_, _| Vec::new());
    assert_eq!(nodes[4].handle_order(call(2), met), Ok(Taken::Placed));
    let begun = met + Duration::from_secs(1);
    go_on(&mut nodes, &mut liar, (met, begun), |_, _| Vec::new());
    assert!(nodes.iter().all(|node| open(node) == [dot(5, 1)]));
    let mut from = begun;
    let look = |passed: &u64| {
        let until = begun + Duration::from_millis(*passed);
        go_on(&mut nodes, &mut liar, (from, until), |nodes, now| {
            let passed = u64::try_from(now.since(begun).as_millis()).expect("small");
            if !lies_at(passed) {
                return Vec::new();
            }
            let all: BTreeSet<Dot> = nodes.iter().flat_map(open).collect();
            let holders = |dot: &Dot| nodes.iter().filter(|node| open(node).contains(dot)).count();
            let spread = all.into_iter().filter(|dot| holders(dot) >= spread);
            spread.map(|at| served(at.journal.0, at.sequence, None, PERIOD)).collect()
        });
        from = until;
        let highest = |journal| nodes[0].orders().highest(JournalId(journal)).unwrap_or(0);
        (1..=count.into()).map(highest).sum::<u64>() - 1
    };
    after.iter().map(look).collect()
}

/// Ten seconds, and so on, in ms.
const TENS: [u64; 4] = [10_000, 20_000, 30_000, 40_000];

/// One fresh press is enough if many nodes refuse, though the reporter of the service never says
/// that it holds it. If it tells of a service of each fresh press as well, there is one at most
/// every two seconds, and some more if it does so at once, when some have not got the press.
#[test]
fn a_reporter_that_holds_nothing_has_a_call_placed_again_no_more_often() {
    assert_eq!(placed_again(5, |at| at == 0, 1, &TENS), [1; 4]);
    for (count, every, most) in [(5, 25, 8), (5, 100, 5), (5, 600, 5), (5, 1_500, 5), (12, 100, 5)]
    {
        let placed = placed_again(count, |at| at.is_multiple_of(every), 2, &TENS);
        let mut tens = placed.iter().zip(1..);
        let is_seldom = tens.all(|(placed, tens)| (1..=most * tens).contains(placed));
        assert!(is_seldom, "{placed:?} by {count} nodes, told every {every} ms");
    }
}

/// A service that is reported before the others have the press keeps it from them. So others place
/// the call again too, each of them every two seconds at most.
#[test]
fn a_service_that_is_reported_before_the_press_has_others_place_the_call_again() {
    let placed = placed_again(5, |at| at.is_multiple_of(25), 1, &TENS);
    let mut tens = placed.iter().zip(1..);
    let is_seldom = tens.all(|(placed, tens)| (5 * tens + 1..=25 * tens).contains(placed));
    assert!(is_seldom, "{placed:?}");
}

/// If the liar tells of the fresh press after a long time, that has its own two seconds.
#[test]
fn a_fresh_press_that_is_contested_late_is_placed_again_once() {
    for (count, late) in [(5, 8_000), (5, 60_000), (12, 15_000)] {
        let after = [3_500, late + 1_900, late + 3_500, late + 10_000];
        let placed = placed_again(count, |at| at == 0 || at == late, 1, &after);
        assert_eq!(placed, [1, 1, 2, 2], "{late} ms");
    }
}

/// N1, O1: calls that are contested together are placed 128 at a time, the longest contested first.
/// Trips for which there is no room keep no others waiting, and get it once there is some; half of
/// it is left to passengers.
#[test]
fn many_contested_calls_are_placed_again_as_far_as_there_is_room() {
    let floors = FloorCount::new(100).expect("floors");
    let [mut one, two] = [1, 2].map(|index| {
        let settings = settings(index, 1, ElectionSettings::of(Protocol::LowestIp));
        Node::new(NodeSettings { floors, restored: sound(index), ..settings })
    });
    let start = Timestamp::START;
    one.start(start);
    one.handle_link_up(LINK, two.hello(), LinkSide::Accepted, start);
    let from = |from: Floor| floors.floors().filter_map(move |to| HallCall::to(from, to));
    let mut trips = floors.floors().flat_map(from).map(Call::Hall);
    let passenger = trips.nth(400).expect("a trip");
    let buttons = floors.floors().map(|floor| HallCall::new(floor, Direction::Up));
    let buttons = buttons.map(Call::Hall).filter(|call| call.is_within(floors));
    let calls: Vec<Call> = trips.take(400).chain(buttons).collect();
    assert_eq!(calls.len(), 499);
    let record = |(sequence, call): (u64, &Call), state| Record {
        dot: dot(9, sequence),
        origin: name(2),
        call: call.clone(),
        state,
    };
    let open = (1..).zip(&calls);
    let open = open.map(|it| record(it, RecordState::Open { waited: PERIOD }));
    one.handle_frame(LINK, delta(open.collect()), start);
    assert_eq!(one.orders().orders().count(), calls.len());
    // The later half of the trips is contested first, and the buttons are last of all.
    for (range, after) in [(200..400, 0), (0..200, 50), (400..499, 90)] {
        let served = (1..).zip(&calls).skip(range.start).take(range.len());
        let served = served.map(|it| record(it, RecordState::Served(None)));
        let now = start + Duration::from_millis(after);
        one.handle_frame(LINK, delta(served.collect()), now);
    }
    let (mut placed, most, all) = (Vec::new(), 128, 128 + 99);
    let own = |node: &Node| -> Vec<Call> {
        let own = node.orders().orders().filter(|order| order.dot.journal == JournalId(1));
        own.map(|order| order.call.clone()).collect()
    };
    for passed in (0..6_000).step_by(100) {
        one.handle_timeout(start + Duration::from_millis(passed));
        drain(&mut one);
        let count = own(&one).len();
        if placed.last().is_none_or(|(_, last)| *last < count) {
            placed.push((passed, count));
        }
        if count == most {
            assert!(own(&one).iter().all(|call| calls[200..400].contains(call)), "first come");
        }
        if passed == 5_000 {
            // A car has come for ten trips and left.
            let served = own(&one).into_iter().filter(Call::is_trip).take(10);
            for call in served.collect::<Vec<_>>() {
                one.orders.store_mut().serve(&call, &name(1), start + Duration::from_secs(5));
            }
            assert_eq!(own(&one).len(), all - 10);
        }
    }
    assert_eq!(own(&one).len(), all, "those for which there was no room");
    assert!(one.orders.may_place(&passenger));
    assert!(calls[400..].iter().all(|call| own(&one).contains(call)));
    assert_eq!(placed, [(0, 0), (2_000, most), (2_100, all)]);
}

/// N1: beacons can't tell of so many calls before the next node's turn, so others place some of them
/// too. Each node places each call once.
#[test]
fn each_node_places_many_contested_calls_once() {
    let floors = FloorCount::new(200).expect("floors");
    let tall = |index| {
        let settings = settings(index, 1, ElectionSettings::of(Protocol::LowestIp));
        let restored = Restored { reserved: 10_000, ..sound(index) };
        let mut node = Node::new(NodeSettings { floors, restored, ..settings });
        node.start(Timestamp::START);
        node
    };
    let (mut nodes, mut liar): (Vec<Node>, _) = ((1..=3).map(tall).collect(), tall(99));
    let met = Timestamp::START + Duration::from_secs(12);
    go_on(&mut nodes, &mut liar, (Timestamp::START, met), |_, _| Vec::new());
    let calls = [Direction::Up, Direction::Down].map(|direction| {
        floors.floors().map(move |floor| Call::Hall(HallCall::new(floor, direction)))
    });
    let calls = calls.into_iter().flatten().filter(|call| call.is_within(floors));
    let calls: Vec<Call> = calls.take(300).collect();
    for call in &calls {
        assert_eq!(nodes[2].handle_order(call.clone(), met), Ok(Taken::Placed));
    }
    let begun = met + Duration::from_secs(3);
    go_on(&mut nodes, &mut liar, (met, begun), |_, _| Vec::new());
    go_on(&mut nodes, &mut liar, (begun, begun + Duration::from_secs(6)), |_, now| {
        let told = (1..).zip(&calls).filter(|_| now == begun);
        let served = |(sequence, call): (u64, &Call)| Record {
            dot: dot(3, sequence),
            origin: name(3),
            call: call.clone(),
            state: RecordState::Served(None),
        };
        told.map(served).collect()
    });
    let placed = [1, 2, 3].map(|journal| nodes[0].orders().highest(JournalId(journal)));
    let [one, two, three] = placed.map(|highest| highest.unwrap_or(0));
    assert_eq!(one, 300, "the first places all");
    assert!(two > 0, "the second does not hear of all in time");
    assert!(two <= 300 && three - 300 <= 300, "{two}, {three}");
}
