//! What goes over a fresh link, and what a difference between two stores costs.

use std::collections::BTreeMap;

use super::*;
use crate::model::{Dot, Mode};
use crate::settings::tests::{register, session};
use crate::settings::{SessionState, Why, Words};
use crate::store::{Holding, Purpose, Record, RecordState};
use crate::wire::codec::{self, MAX_FRAME};
use crate::wire::{Delta, StateTransfer, StoreDigest};

const FLOORS: u8 = 40;

/// Served presses of every hall button, of so many incarnations of nodes.
pub(super) fn tombstones(nodes: u64) -> Vec<Record> {
    let floors = FloorCount::new(FLOORS).expect("floors");
    let calls: Vec<HallCall> = (0..FLOORS)
        .filter_map(|index| floors.floor(index))
        .flat_map(|floor| {
            [Direction::Up, Direction::Down].map(|direction| HallCall::new(floor, direction))
        })
        .filter(|call| Call::Hall(*call).is_within(floors))
        .collect();
    let of_incarnation = |incarnation: u64| {
        let calls = calls.clone().into_iter();
        (1..).zip(calls).map(move |(sequence, call)| Record {
            dot: Dot { incarnation: Nonce((1 << 60) + incarnation), sequence },
            origin: NodeId::new(&format!("z{incarnation}")).expect("a name"),
            call: Call::Hall(call),
            state: RecordState::served(),
            absorbed: Vec::new(),
        })
    };
    (0..nodes).flat_map(of_incarnation).collect()
}

/// An open order.
fn waits() -> Record {
    Record { state: RecordState::open(Duration::from_secs(3)), ..tombstones(1).remove(0) }
}

/// Modes of so many cars.
fn modes(cars: u64) -> Vec<Register> {
    let mode = |counter| {
        let car = NodeId::new(&format!("C{counter}")).expect("a name");
        Register {
            operator: Words::new("somebody at a node with a long name").expect("words"),
            reason: Why::of(&"why ".repeat(30)),
            ..register(Setting::Mode(car, Mode::OutOfService), counter, 1)
        }
    };
    (1..=cars).map(mode).collect()
}

fn with(index: u8, records: Vec<Record>) -> Node {
    with_all(index, Restored { records, ..Restored::default() })
}

fn with_all(index: u8, restored: Restored) -> Node {
    let floors = FloorCount::new(FLOORS).expect("floors");
    started(NodeSettings { floors, restored, ..settings(index, 1) })
}

/// A frame as it comes out at the other end of a link.
fn carried(frame: &Frame) -> Frame {
    let bytes = codec::encode_frame(frame).expect("it fits");
    assert!(bytes.len() + 12 <= MAX_FRAME, "room for an authenticator");
    codec::decode_frame(&bytes).expect("it is whole")
}

/// Carries frames both ways until there are none; hands back how many carried how many records.
fn carry(one: &mut Node, two: &mut Node, now: Timestamp) -> (usize, usize) {
    let (mut states, mut records) = (0, 0);
    loop {
        let sent = [frames(one), frames(two)];
        if sent.iter().all(Vec::is_empty) {
            return (states, records);
        }
        for (listener, frames) in [&mut *two, &mut *one].into_iter().zip(sent) {
            for frame in frames {
                if let Frame::State(StateTransfer { records: part, .. }) = &frame {
                    (states, records) = (states + 1, records + part.len());
                }
                listener.handle_frame(LINK, carried(&frame), now);
            }
        }
    }
}

/// The two, each of which hears the other.
fn acquainted(mut one: Node, mut two: Node) -> (Node, Node, Timestamp) {
    let now = Timestamp::START + PERIOD * 8;
    talk(&mut one, &mut two, Timestamp::START, now);
    (one, two, now)
}

fn shake_hands(one: &mut Node, two: &mut Node, now: Timestamp) {
    one.handle_link_up(LINK, &two.hello().clone(), LinkSide::Accepted, now);
    two.handle_link_up(LINK, &one.hello().clone(), LinkSide::Dialled, now);
}

fn are_synced(one: &Node, two: &Node) -> bool {
    one.has_synced(&name(2)) && two.has_synced(&name(1))
}

/// F14
#[test]
fn a_large_store_goes_over_a_link_in_parts_that_fit() {
    let records = tombstones(100);
    let count = records.len();
    let all = Restored { records, settings: modes(500), ..Restored::default() };
    let (mut one, mut two, now) = acquainted(with_all(1, all), with(2, tombstones(3)));
    shake_hands(&mut one, &mut two, now);
    let (states, carried) = carry(&mut one, &mut two, now);
    assert!(are_synced(&one, &two));
    assert_eq!(one.digest(), two.digest());
    assert_eq!(two.settings().iter().count(), 500);
    assert!(count <= carried && carried <= count + 3 * 78, "{carried}");
    assert!(states > 8, "{states}");
}

/// O7: without a link, too, and however many beacons get lost.
#[test]
fn beacons_carry_a_setting_until_it_is_acknowledged() {
    let (mut one, mut two, mut now) = acquainted(node(1, 1), node(2, 1));
    one.command(Command::Mode { car: name(2), mode: Mode::OutOfService }, now);
    let told = |node: &mut Node, now: Timestamp| -> Vec<Beacon> {
        node.handle_timeout(now);
        broadcasts(&drain(node)).cloned().collect()
    };
    for lost in [true, true, true, false] {
        now = now + PERIOD;
        let beacons = told(&mut one, now);
        assert!(beacons.iter().all(|beacon| beacon.delta.settings.len() == 1), "{beacons:?}");
        for beacon in beacons.iter().filter(|_| !lost) {
            two.handle_beacon(address(1), beacon, now);
        }
    }
    assert_eq!(two.settings().mode(&name(2)), Mode::OutOfService);
    for beacon in told(&mut two, now + PERIOD) {
        let plain = Beacon { digest: 0, ..beacon };
        one.handle_beacon(address(2), &plain, now + PERIOD);
    }
    let beacons = told(&mut one, now + PERIOD * 2);
    assert!(beacons.iter().all(|beacon| beacon.delta.settings.is_empty()), "{beacons:?}");
}

/// O7: more sessions are open than there is room for. All keep the same ones, and tell no more of them.
#[test]
fn too_many_open_sessions_are_the_same_everywhere() {
    let session = |it| register(session(it, 0, SessionState::Queued), it + 1, it / 100);
    let (mut one, mut two, now) = acquainted(node(1, 1), node(2, 1));
    one.hear_settings(&name(9), (0..40).map(session).collect(), now);
    two.hear_settings(&name(9), (100..140).map(session).collect(), now);
    let later = now + Duration::from_secs(5);
    talk(&mut one, &mut two, now, later);
    assert_eq!(one.digest(), two.digest());
    assert_eq!(one.settings().open_sessions().len(), 64);
    let wanted = talk(&mut one, &mut two, later, later + PERIOD * 20);
    assert!(broadcasts(&wanted).all(|beacon| beacon.delta.settings.is_empty()));
    assert_eq!(persists(&wanted), []);
}

/// A peer holds what it has acknowledged, or what an equal digest proves.
#[test]
fn a_request_is_not_held_by_a_peer_that_lacks_it() {
    let (mut one, mut two) = (node(1, 1), node(2, 1));
    let now = Timestamp::START + PERIOD;
    one.handle_request(&receipts::request(1, forged::call(2)), now).expect("placed");
    let found = now + Duration::from_millis(1);
    two.handle_timeout(found);
    for beacon in broadcasts(&drain(&mut two)) {
        let echoes = vec![one.echo(found)];
        one.handle_beacon(address(2), &Beacon { echoes, ..beacon.clone() }, found);
    }
    assert!(one.hears(&name(2)));
    assert!(!one.status(found).settings_held, "neither on disk nor at the peer");
    talk(&mut one, &mut two, found, found + PERIOD * 16);
    assert!(one.status(found + PERIOD * 16).settings_held);
}

/// F12, F14: equal stores are not sent. An open order that both have on disk is promised as soon as
/// their digests have been told.
#[test]
fn equal_digests_tell_who_holds_an_order() {
    let waits = waits();
    let both = [1, 2].map(|index| with(index, vec![waits.clone()]));
    let [mut one, mut two] = both;
    let now = Timestamp::START + PERIOD;
    shake_hands(&mut one, &mut two, now);
    assert_eq!(carry(&mut one, &mut two, now), (0, 0));
    for (node, other) in [(&one, 2), (&two, 1)] {
        let holding = node.store.holding(waits.dot, &name(other));
        assert_eq!(holding, Some(Holding::Durable));
    }
}

/// P1, P4: a state says only whether all of it is on its sender's disk. What is there makes lamps go on
/// at a node that was away, though that disk is still busy with another press.
#[test]
fn a_press_on_its_way_to_the_disk_hides_no_order_that_is_there() {
    let waits = waits();
    let (mut one, mut two) = (with(1, vec![waits.clone()]), with(2, Vec::new()));
    let now = Timestamp::START + PERIOD;
    let call = forged::call(3);
    assert_eq!(one.handle_order(&call, now), Ok(Taken::Placed));
    shake_hands(&mut one, &mut two, now);
    carry(&mut one, &mut two, now);
    assert!(are_synced(&one, &two));
    let pressed = two.orders().of_call(&call).next().expect("it is known").dot;
    for (dot, how) in [(waits.dot, Holding::Durable), (pressed, Holding::Held)] {
        assert_eq!(two.store.holding(dot, &name(1)), Some(how), "{dot}");
    }
}

/// P4: the same where a repair sends the state: a peer that had no room for an order before.
#[test]
fn a_repair_tells_which_orders_are_on_a_busy_disk() {
    let (mut one, mut two, now) = acquainted(with(1, Vec::new()), with(2, Vec::new()));
    shake_hands(&mut one, &mut two, now);
    carry(&mut one, &mut two, now);
    let waits = waits();
    // On its disk for long, and owed to nobody.
    one.store.orders_mut().merge(waits.clone(), now);
    let call = forged::call(3);
    assert_eq!(one.handle_order(&call, now), Ok(Taken::Placed));
    carry(&mut one, &mut two, now);
    assert_eq!(two.store.holding(waits.dot, &name(1)), None);
    one.store.begin_transfer(LINK, Purpose::Repair, now);
    one.handle_frame(LINK, Frame::Next, now);
    carry(&mut one, &mut two, now);
    assert_eq!(two.store.holding(waits.dot, &name(1)), Some(Holding::Durable));
}

/// A press between the two digests: both ends still agree on whether states are sent.
#[test]
fn a_store_that_changes_while_digests_are_sent_syncs() {
    for equal in [true, false] {
        let others = if equal { Vec::new() } else { tombstones(2) };
        let (mut one, mut two, now) = acquainted(with(1, Vec::new()), with(2, others));
        shake_hands(&mut one, &mut two, now);
        let call = forged::call(3);
        assert_eq!(one.handle_order(&call, now), Ok(Taken::Placed));
        let (_, records) = carry(&mut one, &mut two, now);
        assert!(are_synced(&one, &two), "{equal}");
        assert_eq!(records == 0, equal);
        let later = now + PERIOD * 4;
        talk(&mut one, &mut two, now, later);
        assert_eq!(one.orders().digest(), two.orders().digest());
    }
}

/// O7: a difference that no repair removes is repaired ever more rarely, and once the stores have
/// been equal as soon as ever.
#[test]
fn a_repair_in_vain_is_tried_ever_more_rarely() {
    let (mut one, mut two, now) = acquainted(with(1, Vec::new()), with(2, Vec::new()));
    shake_hands(&mut one, &mut two, now);
    carry(&mut one, &mut two, now);
    let repairs_in = |one: &mut Node, two: &mut Node, from: Timestamp, until: Timestamp| {
        let wanted = talk(one, two, from, until);
        let repair = |action: &&Action| matches!(action, Action::Report(Report::Repair { .. }));
        wanted.iter().filter(repair).count()
    };
    // The frames of repairs go nowhere, and beacons carry what is owed only to whom it is owed.
    one.hear_delta(Delta { records: tombstones(1), ..Delta::default() }, now);
    let minute = Duration::from_mins(1);
    assert_eq!(repairs_in(&mut one, &mut two, now, now + minute), 7);
    let later = now + minute * 3;
    assert!(repairs_in(&mut one, &mut two, now + minute, later) <= 3);
    assert_ne!(one.orders().digest(), two.orders().digest());
    for record in tombstones(1) {
        two.store.orders_mut().merge(record, later);
    }
    let equal = later + Duration::from_secs(1);
    assert_eq!(repairs_in(&mut one, &mut two, later, equal), 0);
    one.hear_delta(Delta { records: tombstones(2), ..Delta::default() }, equal);
    let soon = equal + Duration::from_millis(300);
    assert_eq!(repairs_in(&mut one, &mut two, equal, soon), 1);
}

/// How many parts of its state a node sends over each link. Its peers answer probes at once.
fn parts(node: &mut Node, now: Timestamp) -> BTreeMap<LinkId, usize> {
    let mut parts = BTreeMap::new();
    for action in drain(node) {
        if let Action::Send { link, frame: Frame::State(_) } = action {
            *parts.entry(link).or_default() += 1;
        } else if let Action::Send { link, frame: Frame::Probe } = action {
            node.handle_frame(link, Frame::Alive, now);
        }
    }
    parts
}

/// Forty peers have linked to the first node, which has a large store; and that moment.
fn with_many_links() -> (Node, Vec<LinkId>, Timestamp) {
    let mut one = with(1, tombstones(150));
    let now = Timestamp::START + PERIOD;
    let links: Vec<LinkId> = (0..40).map(LinkId).collect();
    for (link, index) in links.iter().zip(2..) {
        link_up(&mut one, *link, index, now);
    }
    (one, links, now)
}

/// A peer with another store has linked to the node.
fn link_up(one: &mut Node, link: LinkId, index: u8, now: Timestamp) {
    let peer = with(index, Vec::new());
    one.handle_link_up(link, peer.hello(), LinkSide::Accepted, now);
    let digest = StoreDigest { term: Term(1), digest: 7, durable: true };
    one.handle_frame(link, Frame::Digest(digest), now);
}

/// However many peers link at once, few states are on their way, and all get there soon: those
/// whose peers ask for no more, or seldom, hold nobody up.
#[test]
fn few_states_are_on_their_way() {
    for (pace, limit) in [(10_000, 500), (200, 1_500)] {
        let (mut one, links, now) = with_many_links();
        let first = parts(&mut one, now);
        assert_eq!(first.len(), 8, "{first:?}");
        assert!(first.values().all(|count| *count == 4), "{first:?}");
        // Those that have the first turns.
        let slow: Vec<LinkId> = first.keys().copied().collect();
        let (mut taken, mut under_way) = (first.clone(), first);
        for millis in (0..limit).step_by(2) {
            let at = now + Duration::from_millis(millis);
            let mut next = BTreeMap::new();
            for (link, count) in under_way {
                let is_slow = slow.contains(&link);
                let asks = if is_slow { usize::from(millis % pace == pace - 2) } else { count };
                for _ in 0..asks {
                    one.handle_frame(link, Frame::Next, at);
                }
                if is_slow && asks == 0 {
                    next.insert(link, 0);
                }
            }
            one.handle_timeout(at);
            for (link, count) in parts(&mut one, at) {
                *next.entry(link).or_default() += count;
                *taken.entry(link).or_default() += count;
            }
            let busy = next.keys().filter(|link| !slow.contains(link)).count();
            // Some were sent their last part, and others the first.
            assert!(busy <= 16, "{millis}: {next:?}");
            under_way = next;
        }
        let whole = taken[&links[39]];
        assert!(whole > 8, "{whole}");
        for link in links.iter().filter(|link| !slow.contains(link)) {
            assert_eq!(taken[link], whole, "{link:?}");
        }
    }
}
