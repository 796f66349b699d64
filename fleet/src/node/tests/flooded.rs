//! More calls and nodes than any fleet has, as a buggy member makes them.

use super::forged::{call, conflicts, delta, dot, exchange, pair, press, send_beacon};
use super::*;
use crate::store::RecordState;

/// As many nodes have registers.
const MOST: usize = 128;

/// One hall call of each of these invented nodes.
fn hall_calls(origins: core::ops::Range<u64>, state: &RecordState) -> Vec<Record> {
    let record = |index: u64| Record {
        dot: dot((1 << 32) + index, 7),
        origin: NodeId::new(&format!("z{index:05}")).expect("a name"),
        call: call(1),
        state: state.clone(),
        absorbed: Vec::new(),
    };
    origins.map(record).collect()
}

/// All of them over a link, in frames as large as they may be.
fn flood(node: &mut Node, records: &[Record], now: Timestamp) -> Vec<Action> {
    let mut wanted = Vec::new();
    for part in records.chunks(500) {
        node.handle_frame(LINK, delta(part.to_vec()), now);
        wanted.extend(drain(node));
    }
    wanted
}

/// O6, N1: whether their calls are open or served. The members' calls find room.
#[test]
fn invented_nodes_stay_within_bounds() {
    for state in [RecordState::served(), RecordState::open(PERIOD)] {
        let (mut one, mut two, now) = pair();
        let wanted = flood(&mut one, &hall_calls(0..20_000, &state), now);
        assert_eq!(one.orders().origins(), MOST);
        assert!(persists(&wanted).len() <= 16, "{}", persists(&wanted).len());
        assert!(conflicts(&wanted).len() <= 1, "{:?}", conflicts(&wanted));
        assert_eq!(one.status(now).refused.no_room > 0, !state.is_served());
        assert_eq!(two.order(&call(2), now), Ok(Taken::Placed));
        exchange(&mut one, &mut two, now, now + PERIOD * 8);
        let origins: Vec<_> = one.orders().of_call(&call(2)).map(|o| &o.origin).collect();
        assert_eq!(origins, [&name(2)]);
    }
}

/// O7: whatever each was told, the stores come to be equal, and repairs end.
#[test]
fn stores_that_were_flooded_differently_come_to_be_equal() {
    let (mut one, mut two, now) = pair();
    flood(&mut one, &hall_calls(0..700, &RecordState::served()), now);
    flood(&mut two, &hall_calls(300..1_500, &RecordState::served()), now);
    assert_ne!(one.orders().digest(), two.orders().digest());
    let later = now + Duration::from_secs(3);
    exchange(&mut one, &mut two, now, later);
    assert_eq!(one.orders().digest(), two.orders().digest());
    let wanted = exchange(&mut one, &mut two, later, later + Duration::from_secs(1));
    let repair = |action: &&Action| matches!(action, Action::Report(Report::Repair { .. }));
    assert_eq!(wanted.iter().filter(repair).count(), 0);
}

/// N2: of a record that a node holds already it sends the acknowledgement with its next beacon: a peer
/// that has to repeat it for another node does not make all nodes send beacon after beacon.
#[test]
fn a_record_that_is_repeated_hurries_no_beacon() {
    let (mut one, mut two, now) = pair();
    let served = hall_calls(0..1, &RecordState::served());
    let mut beacons = Vec::new();
    // The first beacon tells the node something.
    for turn in 0..20_u32 {
        let moment = now + PERIOD / 10 * turn;
        send_beacon(&mut two, &mut one, served.clone(), moment);
        one.handle_timeout(moment);
        beacons.push(broadcasts(&drain(&mut one)).count());
    }
    let all: usize = beacons.iter().sum();
    assert!(all <= 4, "in two periods: {beacons:?}");
}

/// N1: operators can place car calls for 64 other cars at one node.
#[test]
fn car_calls_for_other_cars_stay_within_bounds() {
    let (mut one, _, now) = pair();
    let floors = one.hello().floors;
    let calls = (50..250_u8).flat_map(|car| floors.floors().map(move |floor| (name(car), floor)));
    let records = (10..).zip(calls).map(|(sequence, (car, floor))| {
        press(2, sequence, Call::ride(&car, floor), RecordState::open(PERIOD))
    });
    flood(&mut one, &records.collect::<Vec<_>>(), now);
    let of_cars = one.orders().calls().filter(|call| matches!(call, Call::Car { .. }));
    assert_eq!(of_cars.count(), 64 * usize::from(floors.get()));
}
