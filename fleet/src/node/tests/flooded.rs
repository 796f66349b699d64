//! More journals and calls than any fleet has, as a buggy member or a failing disk makes them.

use super::forged::{
    LINK, call, conflicts, delta, dot, exchange, pair, send_beacon, sound, with_journal,
};
use super::*;
use crate::model::{JournalId, NodeId};
use crate::orders::{OrderStore, Record, RecordState, Service};
use crate::wire::{Ack, Delta};

/// As many as are kept that nobody announces.
const MOST: usize = 192;

/// The invented journals start here.
const INVENTED: u64 = 1 << 32;

fn record(journal: u64, sequence: u64, call: Call, state: RecordState) -> Record {
    Record { dot: dot(journal, sequence), origin: name(99), call, state }
}

/// One served hall call of each of these journals.
fn tombstones(journals: core::ops::Range<u64>) -> Vec<Record> {
    let tombstone =
        |journal| record(INVENTED + journal, 7 + journal % 90, call(1), RecordState::served());
    journals.map(tombstone).collect()
}

/// One car call of each of these journals, for a car that is not there.
fn ghosts(journals: core::ops::Range<u64>) -> Vec<Record> {
    let ghost = |journal| {
        let floor = call(2).floor();
        let car = name(99);
        let waited = Duration::from_secs(1);
        let call = Call::Car { car, floor };
        record(INVENTED + journal, 7, call, RecordState::open(waited))
    };
    journals.map(ghost).collect()
}

/// One hall call of each of these journals, which any car can serve.
fn hall_calls(journals: core::ops::Range<u64>) -> Vec<Record> {
    let waited = Duration::from_secs(1);
    let open = |journal| record(INVENTED + journal, 7, call(1), RecordState::open(waited));
    journals.map(open).collect()
}

/// Car calls of one journal for each floor of 64 cars, the first of which has this number.
fn car_calls(journal: u64, first: u8, floors: FloorCount) -> Vec<Record> {
    let calls = (0..64_u8).flat_map(|car| {
        let floors = (0..floors.get()).filter_map(|index| floors.floor(index));
        floors.map(move |floor| (name(first + car), floor))
    });
    let ghost = |(sequence, (car, floor)): (u64, (NodeId, Floor))| {
        let waited = Duration::from_secs(1);
        let call = Call::Car { car, floor };
        record(INVENTED + journal, sequence, call, RecordState::open(waited))
    };
    (1..).zip(calls).map(ghost).collect()
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

/// After the time in which a node gets to know who announces what.
fn settled() -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = pair();
    let later = now + Duration::from_secs(11);
    exchange(&mut one, &mut two, now, later);
    (one, two, later)
}

/// A third node joins the first, and its order is known there and promised.
fn a_newcomer_is_served(one: &mut Node, now: Timestamp) {
    let mut three = with_journal(3, sound(3));
    let later = now + PERIOD * 8;
    talk(one, &mut three, now, later);
    let link = LinkId(3);
    one.handle_link_up(link, &three.hello().clone(), LinkSide::Accepted, later);
    three.handle_link_up(link, &one.hello().clone(), LinkSide::Dialled, later);
    for _ in 0..40 {
        for frame in frames(one) {
            three.handle_frame(link, frame, later);
        }
        for frame in frames(&mut three) {
            one.handle_frame(link, frame, later);
        }
    }
    assert!(one.has_synced(&name(3)) && three.has_synced(&name(1)));
    assert_eq!(three.handle_order(call(0), later), Ok(Taken::Placed));
    for frame in frames(&mut three) {
        one.handle_frame(link, frame, later);
    }
    let origins = |node: &Node| -> Vec<NodeId> {
        let orders = node.orders();
        let call = call(0);
        orders.of_call(&call).map(|order| order.origin.clone()).collect()
    };
    assert!(origins(one).contains(&name(3)), "{:?}", origins(one));
}

/// O6
#[test]
fn invented_journals_stay_within_bounds() {
    for records in [tombstones, ghosts, hall_calls].map(|records| records(0..20_000)) {
        let (mut one, mut two, now) = settled();
        let wanted = flood(&mut one, &records, now);
        let announced = 2;
        let store = one.orders();
        assert!(store.journals() <= MOST + announced, "{}", store.journals());
        assert!(persists(&wanted).len() <= 16, "{}", persists(&wanted).len());
        assert!(conflicts(&wanted).len() <= 1, "{:?}", conflicts(&wanted));
        // The member that floods has a genuine order, too.
        assert_eq!(two.handle_order(call(2), now), Ok(Taken::Placed));
        exchange(&mut one, &mut two, now, now + PERIOD * 8);
        let origins: Vec<_> = one.orders().of_call(&call(2)).map(|o| &o.origin).collect();
        assert_eq!(origins, [&name(2)]);
        a_newcomer_is_served(&mut one, now + PERIOD * 8);
    }
}

/// O7: whatever each was told, the stores come to be equal, and repairs end.
#[test]
fn stores_that_were_flooded_differently_come_to_be_equal() {
    let (mut one, mut two, now) = settled();
    flood(&mut one, &tombstones(0..700), now);
    flood(&mut two, &tombstones(300..1_500), now);
    assert_ne!(one.orders().digest(), two.orders().digest());
    let later = now + Duration::from_secs(3);
    exchange(&mut one, &mut two, now, later);
    assert_eq!(one.orders().digest(), two.orders().digest());
    let wanted = exchange(&mut one, &mut two, later, later + Duration::from_secs(1));
    let repair = |action: &&Action| matches!(action, Action::Report(Report::Repair { .. }));
    assert_eq!(wanted.iter().filter(repair).count(), 0);
}

/// What a disk holds that has been told these changes.
fn disk(actions: &[Action], disk: &mut OrderStore) {
    for (_, changes) in persists(actions) {
        for change in changes {
            match change {
                Change::Record(record) => drop(disk.merge(record, Timestamp::START)),
                Change::Collect(journal) => drop(disk.collect(journal)),
                Change::Reserve(_)
                | Change::Term(_)
                | Change::FlightTimes(_)
                | Change::Directives(_)
                | Change::Journal(_) => {}
            }
        }
    }
}

/// Of an order that a peer acknowledges and does not keep it is not told again and again.
#[test]
fn an_order_that_a_peer_does_not_keep_is_told_once() {
    let (mut one, _, now) = settled();
    let ghost = ghosts(900..901).remove(0);
    one.merge_record(&ghost, None, now);
    let tells = |actions: &[Action]| {
        let beacons = broadcasts(actions).map(|beacon| &beacon.delta);
        let frames = actions.iter().filter_map(|action| {
            let Action::Send { frame, .. } = action else {
                return None;
            };
            let Frame::Delta(delta) = frame else {
                return None;
            };
            Some(delta)
        });
        let records = beacons.chain(frames).flat_map(|delta| &delta.records);
        records.filter(|record| record.dot == ghost.dot).count()
    };
    let acked = Delta {
        acks: vec![Ack { dot: ghost.dot, served: true, durable: false }],
        ..Delta::default()
    };
    one.handle_timeout(now + PERIOD);
    assert!(tells(&drain(&mut one)) > 0);
    one.handle_frame(LINK, Frame::Delta(acked), now + PERIOD);
    let mut told = 0;
    for turn in 2..20 {
        one.handle_timeout(now + PERIOD * turn);
        told += tells(&drain(&mut one));
    }
    assert_eq!(told, 0);
}

/// O6: an order of a full store that was served is remembered for a while, so that an old copy of it
/// which is still under way is not taken for a new order, and passed on as such.
#[test]
fn a_served_order_of_a_full_store_is_not_placed_again_by_an_old_copy() {
    let (mut one, _, now) = settled();
    let least = u64::try_from(MOST).expect("few");
    // Each of them is worth more than a journal with a served order.
    let worthy = |journal| record(INVENTED + journal, 1_000, call(1), RecordState::served());
    flood(&mut one, &(1..=least).map(worthy).collect::<Vec<_>>(), now);
    let open = hall_calls(900..901).remove(0);
    flood(&mut one, std::slice::from_ref(&open), now);
    let is_open = |one: &Node| one.orders().get(open.dot).is_some();
    assert!(is_open(&one));
    one.handle_timeout(now + PERIOD);
    drain(&mut one);
    let service = Service { waited: Duration::from_secs(1), car: name(1) };
    let service = Record { state: RecordState::Served(service), ..open.clone() };
    // One journal more than there is room for, which comes while the peer is heard, and once it is not.
    let collect = |one: &mut Node, after: Duration, newcomer| {
        let later = now + after;
        one.merge_record(&worthy(newcomer), None, later);
        one.handle_timeout(later);
        drain(one);
        later
    };
    one.merge_record(&service, None, now + PERIOD);
    let later = collect(&mut one, PERIOD * 5, least + 1);
    flood(&mut one, std::slice::from_ref(&open), later);
    assert!(!is_open(&one), "an old copy has placed it again");
    collect(&mut one, Duration::from_secs(12), least + 2);
    assert!(one.orders().journal(open.dot.journal).is_none(), "it is kept for good");
}

/// Of a record that a node holds already it sends the acknowledgement with its next beacon: a peer that
/// has to repeat it for another node does not make all nodes send beacon after beacon.
#[test]
fn a_record_that_is_repeated_hurries_no_beacon() {
    let (mut one, mut two, now) = settled();
    let served = tombstones(900..901);
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

/// What is collected goes from the disk as well.
#[test]
fn the_disk_holds_what_the_store_holds() {
    let (mut one, _, now) = settled();
    let mut disk_of_one = OrderStore::default();
    for record in one.orders().records(now) {
        disk_of_one.merge(record, now);
    }
    for part in 0..20 {
        let from = part * 150;
        let mut wanted = flood(&mut one, &tombstones(from..from + 300), now);
        for (lsn, _) in persists(&wanted.clone()) {
            one.handle_durable(lsn, now);
            wanted.extend(drain(&mut one));
        }
        disk(&wanted, &mut disk_of_one);
        for (lsn, _) in persists(&wanted) {
            one.handle_durable(lsn, now);
        }
        disk(&drain(&mut one), &mut disk_of_one);
    }
    assert_eq!(disk_of_one.digest(), one.orders().digest());
    assert!(one.status(now).collected > 0);
}

/// What a peer announces is kept only while it announces it.
#[test]
fn a_peer_that_announces_ever_new_journals_fills_no_store() {
    let (mut one, mut two, mut now) = settled();
    for number in 0..1_500_u64 {
        let mut next = two.plain_beacon(now);
        let journal = JournalId(INVENTED + number);
        next.journal = journal;
        next.echoes = vec![one.echo(now)];
        let mut ghost = ghosts(number..number + 1).remove(0);
        ghost.origin = name(2);
        next.delta.records = vec![ghost];
        one.handle_beacon(two.hello().address, &next, now);
        now = now + Duration::from_millis(10);
        drain(&mut one);
    }
    assert!(one.orders().journals() <= 2 * MOST + 10, "{}", one.orders().journals());
}

/// The journals of several peers together fill no store: beyond the limit, a call that is not
/// known is refused, of a journal that is known too. What is known can be served.
#[test]
fn open_calls_of_many_peers_stay_within_bounds() {
    let (mut one, _, now) = pair();
    let floors = FloorCount::new(4).expect("floors");
    let mut peers: Vec<Node> = (3..7).map(|index| with_journal(index, sound(index))).collect();
    let mut last = Vec::new();
    for journal in 0..MOST as u64 {
        // All of them, and both directions of the two floors between.
        let mut records = car_calls(journal, 100, floors);
        let halls = [Direction::Up, Direction::Down].into_iter().zip(1_000..);
        records.extend(halls.flat_map(|(direction, sequence)| {
            [1, 2].map(|index| {
                let floor = floors.floor(index).expect("a floor");
                let call = Call::Hall(HallCall::new(floor, direction));
                let sequence = sequence * 10 + u64::from(index);
                record(INVENTED + journal, sequence, call, RecordState::open(PERIOD))
            })
        }));
        let peer = &mut peers[usize::try_from(journal % 4).expect("small")];
        send_beacon(peer, &mut one, records.clone(), now);
        drain(&mut one);
        last = records;
    }
    let most = 2 * 24_576;
    let registers = one.orders().registers();
    assert!((most..=most + 10).contains(&registers), "{registers}");
    let known = one.orders().get(dot(INVENTED, 1)).cloned().expect("it is open");
    let of_last = last.iter().filter(|record| one.orders().get(record.dot).is_some());
    assert_eq!(of_last.count(), 0, "there is no room for another journal");
    let mut first = record(INVENTED, 1, known.call, RecordState::served());
    first.origin = name(99);
    let fresh = record(INVENTED, 50_000, call(0), RecordState::open(PERIOD));
    let same = Record { dot: dot(INVENTED, 50_001), state: RecordState::open(PERIOD), ..first };
    send_beacon(&mut peers[0], &mut one, vec![fresh.clone(), same.clone()], now);
    assert!(one.orders().get(fresh.dot).is_none(), "one register more");
    assert!(one.orders().get(same.dot).is_some(), "a press in another's place");
}
