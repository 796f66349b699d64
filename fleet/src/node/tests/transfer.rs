//! What goes over a fresh link, and what a difference between two stores costs.

use super::*;
use crate::model::{Dot, Mode};
use crate::settings::tests::register;
use crate::settings::{Why, Words};
use crate::store::{Holding, Record, RecordState};
use crate::wire::codec::{self, MAX_FRAME};
use crate::wire::{Delta, StateTransfer};

const FLOORS: u8 = 40;

/// Served presses of every hall button, of this many incarnations of nodes.
pub(super) fn tombstones(nodes: u64) -> Vec<Record> {
    let floors = FloorCount::new(FLOORS).expect("floors");
    let both = |at| Direction::BOTH.map(|direction| Call::Hall(HallCall::new(at, direction)));
    let of_incarnation = |incarnation: u64| {
        let calls = floors.floors().flat_map(both).filter(move |call| call.is_within(floors));
        (1..).zip(calls).map(move |(sequence, call)| Record {
            dot: Dot { incarnation: Nonce((1 << 60) + incarnation), sequence },
            origin: NodeId::new(&format!("z{incarnation}")).expect("a name"),
            call,
            state: RecordState::served(),
            absorbed: Vec::new(),
        })
    };
    (0..nodes).flat_map(of_incarnation).collect()
}

fn waits() -> Record {
    Record { state: RecordState::open(Duration::from_secs(3)), ..tombstones(1).remove(0) }
}

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
    let building = Arc::new(floors.into());
    started(NodeSettings { building, restored, ..settings(index, 1) })
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

/// F12, F14: equal stores are not sent, and an open order on both disks is promised at once.
#[test]
fn equal_digests_tell_who_holds_an_order() {
    let waits = waits();
    let [mut one, mut two] = [1, 2].map(|index| with(index, vec![waits.clone()]));
    let now = Timestamp::START + PERIOD;
    shake_hands(&mut one, &mut two, now);
    assert_eq!(carry(&mut one, &mut two, now), (0, 0));
    for (node, other) in [(&one, 2), (&two, 1)] {
        let holding = node.store.holding(waits.dot, &name(other));
        assert_eq!(holding, Some(Holding::Durable));
    }
}

/// P1, P4: a state says only whether all of it is on its sender's disk. What is there makes lamps
/// go on at a node that was away, though that disk is still busy with another press.
#[test]
fn a_press_on_its_way_to_the_disk_hides_no_order_that_is_there() {
    let waits = waits();
    let (mut one, mut two) = (with(1, vec![waits.clone()]), with(2, Vec::new()));
    let now = Timestamp::START + PERIOD;
    let call = forged::call(3);
    assert_eq!(one.order(&call, now), Ok(Taken::Placed));
    shake_hands(&mut one, &mut two, now);
    carry(&mut one, &mut two, now);
    assert!(are_synced(&one, &two));
    let pressed = two.orders().of_call(&call).next().expect("it is known").dot;
    for (dot, how) in [(waits.dot, Holding::Durable), (pressed, Holding::Held)] {
        assert_eq!(two.store.holding(dot, &name(1)), Some(how), "{dot}");
    }
}

/// O7: a difference that no repair removes is repaired ever more rarely, until it is gone.
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
