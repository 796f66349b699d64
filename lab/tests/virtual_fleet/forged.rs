//! What a single node says that no node can mean.

use elevator_fleet::model::{Call, Dot, HallCall, JournalId, NodeId, Term, Timestamp};
use elevator_fleet::orders::{Record, RecordState, Service};
use elevator_fleet::wire::{Delta, Frame, StateTransfer};
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{
    Building, car_call, down, floor, millis, mins, secs, seed, up, without_parking,
};

use elevator_driver::{Direction, Floor, FloorCount};

/// Every hall call of the building, served in every journal that a node knows of under a sequence
/// that no press can have.
fn impossible(world: &World, node: usize, sequence: u64) -> Vec<Record> {
    let store = world.node(node).expect("it runs").orders();
    let known: Vec<Record> = store.records(Timestamp::START).collect();
    let calls = |dot: Dot, record: &Record| {
        let origin = record.origin.clone();
        let hall = [(0, Direction::Up), (1, Direction::Up), (2, Direction::Up)];
        let hall = hall.into_iter().chain([(1, Direction::Down), (2, Direction::Down)]);
        hall.map(move |(index, direction)| Record {
            dot,
            origin: origin.clone(),
            call: Call::Hall(HallCall::new(floor(index), direction)),
            state: RecordState::Served(None),
        })
    };
    let mut sequence = sequence;
    let mut records = Vec::new();
    for record in &known {
        let journal = record.dot.journal;
        for call in calls(Dot { journal, sequence }, record) {
            // One dot names one call.
            sequence -= 1;
            let dot = Dot { journal, sequence };
            records.push(Record { dot, ..call });
        }
    }
    records
}

/// A fleet in which each node knows an order of every journal.
fn experienced() -> Building {
    let mut building = Building::merged(3);
    for (node, button) in [(0, up(1)), (1, down(2)), (2, up(0)), (1, car_call(3))] {
        building.press(node, button);
    }
    building.until_at_rest();
    building
}

fn orders_are_taken_everywhere(building: &mut Building) {
    for (node, button) in [(0, up(2)), (1, up(1)), (2, down(1)), (0, down(2)), (2, up(0))] {
        // A press where a door still stands open is served without a lamp.
        building.run_for(secs(6));
        let call = building.call(button, node);
        let before = building.served(&call);
        building.press(node, button);
        building.until_all_show(button, true, secs(2));
        building.until_at_rest();
        assert!(building.served(&call) > before, "{call} of node {node}");
    }
}

/// O4, O7: one frame with impossible sequences costs the fleet no order, neither now nor after all
/// nodes have been restarted.
#[test]
fn a_frame_of_impossible_sequences_stops_no_order() {
    for sequence in [u64::MAX, 1 << 60, (1 << 56) - 1, (1 << 40)] {
        let mut building = experienced();
        let records = impossible(&building, 0, sequence);
        for (from, to) in [(1, 0), (0, 2)] {
            let records = records.clone();
            let delta = Delta { records, ..Delta::default() };
            building.forge(from, to, &Frame::Delta(delta));
            assert!(building.conflicts(to) > 0, "{to} says nothing of it");
        }
        building.run_for(secs(1));
        orders_are_taken_everywhere(&mut building);
        for node in 0..3 {
            building.inflict(Fault::PowerCut(node));
        }
        building.run_for(secs(3));
        building.recovers();
        orders_are_taken_everywhere(&mut building);
        building.recovers();
    }
}

/// E3: a term that nobody can have reached leaves terms for the masters to come.
#[test]
fn a_forged_term_is_not_the_last() {
    let mut building = experienced();
    let state =
        StateTransfer { term: Term(u64::MAX), records: Vec::new(), durable: true, more: false };
    building.forge(1, 0, &Frame::State(state));
    building.run_for(secs(2));
    for _ in 0..2 {
        let before = building.node(1).expect("it runs").term();
        building.inflict(Fault::PowerCut(0));
        building.run_for(secs(2));
        assert!(building.node(1).expect("it runs").term() > before);
        building.inflict(Fault::Restart(0));
        building.run_for(secs(2));
    }
    building.recovers();
}

/// Presses of journals that nobody has, most of them served.
fn invented(number: u64) -> Vec<Record> {
    let record = |at: u64| {
        let journal = JournalId((1 << 40) + number * 1_000 + at);
        let sequence = 1 + (at * 37 + number) % 5_000;
        let direction = [Direction::Up, Direction::Down][usize::from(at.is_multiple_of(2))];
        let floor = floor(u8::try_from(1 + at % 2).expect("few"));
        let state = if at.is_multiple_of(10) {
            let waited = secs(1);
            RecordState::Open { waited }
        } else {
            RecordState::Served(None)
        };
        Record {
            dot: Dot { journal, sequence },
            origin: NodeId::new("GHOST").expect("a name"),
            call: Call::Hall(HallCall::new(floor, direction)),
            state,
        }
    };
    (0..500).map(record).collect()
}

/// O6, O7: ten seconds of invented journals from one member, on one link, cost no order, a new
/// master takes over meanwhile, and soon after them all stores are equal and small.
#[test]
fn a_flood_of_invented_journals_stops_no_order() {
    let mut building = experienced();
    building.run_for(secs(10));
    for round in 0..100 {
        let records = invented(round);
        let delta = Delta { records, ..Delta::default() };
        let master = building.master().unwrap_or(0);
        building.forge(2, master, &Frame::Delta(delta));
        match round {
            20 => building.press(1, up(2)),
            40 => building.inflict(Fault::Kill(0)),
            60 => building.inflict(Fault::Restart(0)),
            70 => building.press(0, car_call(2)),
            _ => {}
        }
        building.run_for(millis(100));
    }
    building.run_for(secs(10));
    let stores: Vec<(u64, usize)> = (0..3)
        .map(|node| building.node(node).expect("it runs").orders())
        .map(|store| (store.digest(), store.journals()))
        .collect();
    println!("{stores:?}");
    assert!(stores.iter().all(|store| *store == stores[0]), "{stores:?}");
    assert!(stores[0].1 <= 192 + 3, "{stores:?}");
    building.recovers();
    for (button, node) in [(up(2), 1), (car_call(2), 0)] {
        assert!(building.served(&building.call(button, node)) > 0);
    }
    orders_are_taken_everywhere(&mut building);
}

/// What no sound node says, over and over from one member to all others, costs that member its
/// links and nobody an order; the fleet is whole again within ten seconds of the end.
#[test]
fn a_member_that_sends_rubbish_stops_no_service() {
    for faulty in [0, 1] {
        let mut building = experienced();
        let far = Call::Hall(HallCall::new(
            Floor::try_from(200).expect("a floor of some building"),
            Direction::Up,
        ));
        let dot = Dot { journal: JournalId(77), sequence: 1 };
        let origin = building.node(faulty).expect("it runs").hello().node.clone();
        let records = vec![Record { dot, origin, call: far, state: RecordState::Served(None) }];
        let delta = Delta { records, ..Delta::default() };
        for (round, button) in (0..20).zip([up(0), down(2), up(1), down(1)].into_iter().cycle()) {
            for other in (0..3).filter(|other| *other != faulty) {
                building.forge(faulty, other, &Frame::Delta(delta.clone()));
            }
            // It stays up.
            let node = if round % 2 == 0 { 2 } else { faulty };
            let call = building.call(button, node);
            let before = building.served(&call);
            building.press(node, button);
            // The lowest of the others fails in the midst of it.
            match round {
                8 => building.inflict(Fault::PowerCut(1 - faulty)),
                14 => building.inflict(Fault::Restart(1 - faulty)),
                _ => {}
            }
            building.run_for(secs(1) + secs(1) / 2);
            let what = format!("{call} is served in round {round}");
            building.until(mins(1), &what, |world| world.served(&call) > before);
        }
        building.run_for(secs(10));
        building.recovers();
        orders_are_taken_everywhere(&mut building);
    }
}

/// Tells every node but one that each open order was served, as `how` says.
fn all_served(building: &mut Building, from: usize, how: impl Fn(&Call) -> Option<Service>) {
    let store = building.node(from).expect("it runs").orders();
    let mut records: Vec<Record> = store.records(Timestamp::START).collect();
    records.retain(|record| !record.state.is_served());
    for record in &mut records {
        record.state = RecordState::Served(how(&record.call));
    }
    assert!(!records.is_empty());
    let told = Frame::Delta(Delta { records, ..Delta::default() });
    let size = building.size();
    for (from, to) in (0..size).flat_map(|one| (0..size).map(move |other| (one, other))) {
        building.forge(from, to, &told);
    }
}

/// O1, P1: lamps stay lit, and the orders are served, whatever service a member invents.
#[test]
fn a_service_that_did_not_happen_darkens_no_lamp() {
    let presses = [(0, up(7)), (1, down(8)), (2, up(6)), (0, down(7)), (1, up(8)), (2, down(6))];
    for liar in ["nobody", "A", "B", "C", "Z"] {
        let mut building = at_the_bottom();
        for (node, button) in presses {
            building.press(node, button);
        }
        building.run_for(millis(300));
        for (_, button) in presses {
            assert!(building.all_show(button, true), "{button}");
        }
        all_served(&mut building, 0, |_| {
            let car = NodeId::new(liar).expect("a name");
            let waited = millis(200);
            (liar != "nobody").then_some(Service { waited, car })
        });
        for (node, button) in presses {
            assert!(building.all_show(button, true), "{button}, by {liar}");
            assert_eq!(building.served(&building.call(button, node)), 0);
        }
        // Each has a link to each, and the node of the liar's car says so itself.
        for node in 0..3 {
            assert!(building.conflicts(node) > 0, "{node}, by {liar}");
        }
        building.until_at_rest();
        for (node, button) in presses {
            let call = building.call(button, node);
            assert!(building.served(&call) > 0, "{call}, by {liar}");
        }
    }
}

/// Bottom cars, a long acquaintance, and so many floors that a service takes its time.
fn at_the_bottom() -> Building {
    at_the_bottom_of(3)
}

fn at_the_bottom_of(size: usize) -> Building {
    at_the_bottom_by(size, seed())
}

fn at_the_bottom_by(size: usize, seed: u64) -> Building {
    let mut settings = WorldSettings { seed, ..without_parking(size) };
    settings.floors = FloorCount::new(10).expect("floors");
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(15));
    for node in 0..size {
        building.press(node, car_call(0));
    }
    building.run_for(secs(1));
    building.until_at_rest();
    building.run_for(secs(15));
    building
}

/// O1: nodes that have just been held up believe what others tell of a service that they may not
/// have seen. What the master alone still holds open, and gives to one of their cars, is served all the same.
#[test]
fn an_order_that_only_the_master_holds_is_served() {
    let mut building = at_the_bottom();
    // Its own car can't serve.
    building.inflict(Fault::StopSwitch(0, true));
    for node in 1..3 {
        building.inflict(Fault::Suspend(node));
        building.run_for(millis(170));
        building.inflict(Fault::Resume(node));
    }
    building.run_for(secs(1));
    building.press(0, up(7));
    building.run_for(millis(200));
    let call = building.call(up(7), 0);
    let open = |world: &World, node: usize| {
        let store = world.node(node).expect("it runs").orders();
        store.of_call(&call).count()
    };
    assert_eq!([0, 1, 2].map(|node| open(&building, node)), [1, 1, 1]);
    let store = building.node(0).expect("it runs").orders();
    let mut records: Vec<Record> = store.records(Timestamp::START).collect();
    records.retain(|record| !record.state.is_served());
    for record in &mut records {
        let car = NodeId::new("Z").expect("a name");
        let waited = millis(100);
        record.state = RecordState::Served(Some(Service { waited, car }));
    }
    let told = Frame::Delta(Delta { records, ..Delta::default() });
    building.forge(0, 1, &told);
    building.forge(0, 2, &told);
    assert_eq!([0, 1, 2].map(|node| open(&building, node)), [1, 0, 0]);
    let what = "the call is served";
    let took = building.until(mins(1), what, |world| world.served(&call) > 0);
    println!("served after {took:?}");
    building.inflict(Fault::StopSwitch(0, false));
    building.recovers();
    // The lie darkened the lamps of those that believed it; nothing else went wrong.
    let violations = building.violations();
    let is_of_the_lie = |what: &String| what.contains("the lamp of hall 7 up went out");
    let told: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(told.iter().all(is_of_the_lie), "{told:?}");
    assert_eq!(told.len(), 2);
    std::mem::forget(building);
}

/// O1: where all refuse the same services, over and over, the calls are placed again seldom, and
/// they are served.
#[test]
fn services_that_all_refuse_make_no_storm() {
    let mut building = at_the_bottom();
    let presses = [(0, up(7)), (1, down(8)), (2, up(6))];
    for (node, button) in presses {
        building.press(node, button);
    }
    building.run_for(millis(300));
    let reached = |world: &World| -> u64 {
        let store = world.node(0).expect("it runs").orders();
        let mut highest = std::collections::BTreeMap::new();
        for record in store.records(Timestamp::START) {
            let journal = highest.entry(record.dot.journal).or_insert(0);
            *journal = record.dot.sequence.max(*journal);
        }
        highest.values().sum()
    };
    let is_open = |world: &World| world.node(0).expect("it runs").orders().orders().count() > 0;
    let before = reached(&building);
    let mut rounds = 0;
    while is_open(&building) && rounds < 600 {
        if rounds < 100 {
            all_served(&mut building, 0, |_| None);
        }
        building.run_for(millis(100));
        rounds += 1;
    }
    let placed = reached(&building) - before;
    println!("placed {placed} times in {rounds} rounds");
    // Three calls, each once in two seconds.
    assert!(placed <= 3 * (rounds / 20 + 1), "{placed} in {rounds}");
    building.until_at_rest();
    for (node, button) in presses {
        let call = building.call(button, node);
        assert!(building.served(&call) > 0, "{call}");
    }
    building.recovers();
}

/// O1, P1: a member invents services without end, by each car in turn, while the master fails and
/// returns: no lamp goes dark before the call is served, at whatever moment it was pressed.
#[test]
fn services_that_are_invented_around_a_failover_darken_no_lamp() {
    let (victim, liar) = (0, 3);
    for pressed_from in [0, 50, 100] {
        for offset in 0..10 {
            let mut building = at_the_bottom_of(4);
            let presses = [up(7), down(8), up(6), down(7), up(8), down(6)];
            let mut buttons = presses.into_iter().cycle();
            for turn in 0..160 {
                match turn {
                    40 => building.inflict(Fault::PowerCut(victim)),
                    100 => building.inflict(Fault::Restart(victim)),
                    _ => {}
                }
                if turn >= pressed_from && turn % 7 == offset % 7 {
                    let panel = 1 + (turn / 7) % 2;
                    building.press(panel, buttons.next().expect("it is a cycle"));
                }
                building.run_for(millis(60) + millis(7) * u32::try_from(offset).expect("small"));
                invent_services(&mut building, liar, turn);
            }
            building.until_at_rest();
            building.recovers();
        }
    }
}

/// O1, P1: a member that was found again just after a car was lost may have met that car meanwhile.
/// A service that it invents darkens no lamp all the same.
#[test]
fn services_that_a_returning_member_invents_darken_no_lamp() {
    let (victim, liar) = (0, 3);
    for absence in [millis(300), secs(1), secs(4)] {
        for lost_first in [false, true] {
            let mut building = at_the_bottom_of(4);
            let away = Fault::Suspend(liar);
            let faults = [Fault::PowerCut(victim), away];
            let (first, second) = if lost_first { (0, 1) } else { (1, 0) };
            building.inflict(faults[first].clone());
            building.run_for(absence);
            building.inflict(faults[second].clone());
            building.run_for(millis(300));
            building.press(1, up(7));
            building.press(2, down(8));
            building.run_for(millis(300));
            building.inflict(Fault::Resume(liar));
            for turn in 0..100 {
                building.run_for(millis(60));
                invent_services(&mut building, liar, turn);
            }
            building.inflict(Fault::Restart(victim));
            building.until_at_rest();
            building.recovers();
        }
    }
}

/// O1, P1: a member invents services by a car whose node has just returned, so that its earlier
/// process may have made them: no lamp goes dark before the call is served.
#[test]
fn services_that_are_invented_of_an_earlier_process_darken_no_lamp() {
    let (victim, liar) = (0, 3);
    for offset in 0..40 {
        let mut building = at_the_bottom_by(4, seed() + u64::from(offset));
        building.inflict(Fault::PowerCut(victim));
        building.run_for(secs(1) + millis(3) * (offset % 20));
        building.press(1, up(7));
        building.press(2, down(8));
        building.run_for(millis(200));
        building.inflict(Fault::Restart(victim));
        for turn in 0..400 {
            building.run_for(millis(5));
            invent_services_by(&mut building, liar, |_| victim);
            if turn == 100 {
                building.press(1, up(6));
            }
        }
        building.until_at_rest();
        building.recovers();
    }
}

/// Tells every other node that each order that is open was served, by their cars in turn.
fn invent_services(building: &mut Building, liar: usize, turn: usize) {
    invent_services_by(building, liar, |at| (at + turn) % 3);
}

/// Tells every other node that each order that is open was served, each by such a car.
fn invent_services_by(building: &mut Building, liar: usize, by: impl Fn(usize) -> usize) {
    let node = building.node(liar).expect("it runs");
    let cars = ["A", "B", "C"].map(|car| NodeId::new(car).expect("a name"));
    let mut records: Vec<Record> = node.orders().records(Timestamp::START).collect();
    records.retain(|record| !record.state.is_served());
    for (at, record) in records.iter_mut().enumerate() {
        let car = cars[by(at)].clone();
        record.state = RecordState::Served(Some(Service { waited: millis(300), car }));
    }
    if records.is_empty() {
        return;
    }
    let told = Frame::Delta(Delta { records, ..Delta::default() });
    for other in (0..building.size()).filter(|other| *other != liar) {
        building.forge(liar, other, &told);
    }
}
