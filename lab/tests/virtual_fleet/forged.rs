//! What a single node says that no node can mean.

use elevator_fleet::model::{Call, Dot, HallCall, JournalId, Term, Timestamp};
use elevator_fleet::orders::{Record, RecordState};
use elevator_fleet::wire::{Delta, Frame, StateTransfer};
use liftmesh_lab::{Fault, World};

use crate::building::{Building, car_call, down, floor, mins, secs, up};

use elevator_driver::{Direction, Floor};

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

/// What no node may send, over and over from one member to all others, costs that member its links
/// and nobody an order; the fleet is whole again within ten seconds of the end.
#[test]
fn a_member_that_sends_garbage_stops_no_service() {
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
