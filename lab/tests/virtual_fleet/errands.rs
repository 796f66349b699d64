//! Priority calls and emergency power, at any node, through failovers and partitions. An oracle sees
//! that one car moves at a time on emergency power (S1).

use elevator_driver::{DoorState, DriveFeedback, KeySwitch};
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;
use elevator_fleet::settings::Turn;
use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Fault, World};

use crate::building::{
    Building, are_back, are_down, car_call, floor, is_open_at, millis, mins, secs, seen, up,
    without_parking,
};

fn has_priority(world: &World, car: usize) -> bool {
    seen(world, car, car) == Some(Mode::Priority)
}

/// The car that goes to a priority call.
fn goes(world: &World) -> Option<usize> {
    (0..world.size()).find(|car| has_priority(world, *car))
}

fn send(building: &mut Building, at: usize, car: Option<usize>, to: u8) {
    building.inflict(Fault::Priority { at, car, floor: Some(floor(to)) });
}

/// Riders who are on their way are taken along, and a button in the car ends the stay.
#[test]
fn a_priority_call_passes_no_rider_by() {
    let mut building = Building::merged_of(without_parking(2));
    building.press(1, car_call(2));
    building.press(1, car_call(3));
    building.run_for(secs(2));
    send(&mut building, 0, Some(1), 3);
    building.until(mins(1), "it is there", |world| is_open_at(world, 1, 3));
    building.run_for(secs(1));
    let floors: Vec<_> = building.services().iter().map(|it| it.call.floor()).collect();
    assert_eq!(floors, [floor(2), floor(3)]);
    building.run_for(secs(5));
    building.press(1, car_call(0));
    building.until(secs(1), "it is dismissed", are_back);
    building.until_at_rest();
    assert_eq!(building.car(1).shaft().floor(), Some(floor(0)));
}

/// Where no car is named, the one that gets there first goes. The others are at the bottom.
#[test]
fn a_priority_call_for_any_car_takes_the_nearest() {
    let mut building = Building::merged_of(without_parking(3));
    building.serve(&[(0, car_call(0)), (1, car_call(0)), (2, car_call(3))]);
    // An open door would cost the nearest car more time than the others need for their way.
    building.until(secs(30), "all doors are closed", |world| {
        (0..3).all(|car| world.car(car).inputs().door == DoorState::Closed)
    });
    building.run_for(secs(1));
    send(&mut building, 0, None, 2);
    building.until(secs(1), "it is on its way", |w| has_priority(w, 2));
    building.until(mins(2), "all are back", are_back);
}

/// It survives restarts, ends by command, and goes to another car if it was for any and its node is
/// lost.
#[test]
fn a_priority_call_survives_restarts_and_failovers() {
    let mut building = Building::merged_of(without_parking(3));
    send(&mut building, 0, Some(1), 0);
    building.until(secs(1), "it goes", |w| has_priority(w, 1));
    // Who calls it off has to know of it.
    building.run_for(secs(1));
    building.inflict(Fault::Priority { at: 2, car: Some(1), floor: None });
    building.until(secs(1), "it is called off", are_back);

    // A lost car, and one that does not come back with the others, after a power cut.
    for mains in [false, true] {
        send(&mut building, 0, None, 3);
        building.until(secs(1), "one goes", |world| goes(world).is_some());
        let first = goes(&building).expect("a car");
        // Then every disk knows.
        building.run_for(secs(1));
        if mains {
            building.inflict(Fault::MainsCut);
            building.run_for(secs(2));
            for car in (0..3).filter(|car| *car != first) {
                building.start(car);
            }
            building.run_for(mins(4));
            assert_eq!(goes(&building), None, "it may still come");
        } else {
            building.inflict(Fault::Kill(first));
        }
        building.until(mins(2), "another one goes", |world| {
            goes(world).is_some_and(|car| car != first && is_open_at(world, car, 3))
        });
        building.start(first);
        building.recovers();
        building.until(mins(2), "all are back", are_back);
    }
}

/// Two masters that only one node hears both of: neither takes the call away from a car that it never
/// heard, for the other may have given it.
#[test]
fn a_priority_call_does_not_go_to_and_fro_between_two_masters() {
    let mut building = Building::merged_of(without_parking(5));
    building.inflict(Fault::Bridge { left: vec![0], right: vec![2, 3, 4], through: 1 });
    building.until(secs(5), "two lead", |world| {
        let leads = |at| world.node(at).is_some_and(|it| *it.node_state() == NodeState::Master);
        leads(0) && leads(2)
    });
    send(&mut building, 3, None, 3);
    building.run_for(secs(1));
    let mut turns = 0;
    let mut before = [false; 5];
    building.until(mins(2), "it is served", |world| {
        let now = [0, 1, 2, 3, 4].map(|car| has_priority(world, car));
        turns += now.iter().zip(&before).filter(|(now, before)| **now && !**before).count();
        before = now;
        now == [false; 5]
    });
    assert!((1..=2).contains(&turns), "{turns} cars were sent");
}

fn power(building: &mut Building, at: usize, serving: Option<usize>) {
    building.inflict(Fault::EmergencyPower { at, on: true, serving });
}

fn is_driven(world: &World, car: usize) -> bool {
    world.car(car).inputs().drive != DriveFeedback::Stopped
}

fn is_in_force(world: &World, car: usize) -> bool {
    world.node(car).is_none_or(|node| node.settings().emergency_power().is_some())
}

/// Cars all over the building, at rest at a floor or on their way.
fn scattered(cars: usize) -> Building {
    let mut building = Building::merged_of(without_parking(cars));
    let floor = |car| car_call(if car == 1 { 2 } else { 3 });
    building.serve(&(0..cars).map(|car| (car, floor(car))).collect::<Vec<_>>());
    building
}

/// The cars that move come to rest within a moment of the command.
fn stand(building: &mut Building) {
    let cars = building.size();
    building.until(secs(5), "all stand", |world| {
        (0..cars).all(|car| is_in_force(world, car) && !is_driven(world, car))
    });
}

fn serving(world: &World) -> Option<usize> {
    let turn = world.running().filter_map(|at| world.node(at)).map(Node::settings).next()?.turn();
    let Turn::Serves { car, .. } = turn else { return None };
    (0..world.size()).find(|at| *world.name(*at) == car)
}

/// A17.1, emergency power: one car after the other goes down, then one serves, and the end is by
/// command only.
#[test]
fn on_emergency_power_one_car_moves_at_a_time() {
    let mut building = scattered(4);
    // Two are under way, between floors.
    building.press(0, car_call(0));
    building.press(1, car_call(0));
    building.run_for(secs(3));
    power(&mut building, 2, Some(3));
    stand(&mut building);
    building.until(mins(4), "all are down", |world| are_down(world, 0..4));
    building.until(secs(5), "one serves", |world| serving(world) == Some(3));
    building.press(0, up(2));
    building.press(3, car_call(1));
    building.run_for(millis(200));
    building.until(mins(2), "it serves", World::is_idle);
    assert!(building.services().iter().rev().take(2).all(|service| service.node == 3));
    assert!(are_down(&building, 0..3), "the others stay open");
    building.inflict(Fault::EmergencyPower { at: 0, on: false, serving: None });
    building.until(secs(2), "all are back", are_back);
    building.until_at_rest();
}

/// Of a divided fleet only the larger part gets turns: a car without one stays. In the middle of a turn
/// as well, whichever side the master and the car are on.
#[test]
fn in_a_partition_a_car_without_a_turn_stays() {
    for small in [[0, 1], [3, 4], [0, 4]] {
        let mut building = scattered(5);
        power(&mut building, 2, None);
        stand(&mut building);
        building
            .until(secs(30), "one is on its way", |world| (0..5).any(|car| is_driven(world, car)));
        let large: Vec<usize> = (0..5).filter(|car| !small.contains(car)).collect();
        building.inflict(Fault::Partition(vec![small.to_vec(), large.clone()]));
        building.run_for(secs(2));
        let places = |world: &World| small.map(|car| world.car(car).shaft().floor());
        let held = places(&building);
        building.until(mins(4), "the larger part is down", |world| {
            are_down(world, large.iter().copied())
        });
        assert_eq!(held, places(&building), "the smaller part stays");
        building.inflict(Fault::Heal);
        building.until(mins(4), "all are down", |world| are_down(world, 0..5));
        building.recovers();
    }
}

/// Presses a button in the car and waits until it stands at that floor.
fn drive(building: &mut Building, car: usize, to: u8) {
    building.press(car, car_call(to));
    building.until(secs(40), "the car is there", |world| {
        let inputs = world.car(car).inputs();
        inputs.floor == Some(floor(to)) && inputs.drive == DriveFeedback::Stopped
    });
}

/// ASME A17.1 Phase II on emergency power: once the others are down, the car that a firefighter has is
/// the one that serves. It stays that for as long as the firefighter is on a floor, through the loss of
/// the master as well, until the key is turned back.
#[test]
fn a_firefighter_drives_on_emergency_power() {
    for power_first in [false, true] {
        let mut building = scattered(4);
        if power_first {
            power(&mut building, 3, Some(2));
            stand(&mut building);
        }
        building.inflict(Fault::FireRecall { at: 0, start: true });
        building.until(mins(4), "all cars are down", |world| are_down(world, 0..4));
        building.inflict(Fault::Key(1, KeySwitch::FireRecall));
        building.run_for(secs(1));
        if !power_first {
            // The power fails while the firefighter is on a floor.
            drive(&mut building, 1, 3);
            power(&mut building, 3, Some(2));
            stand(&mut building);
        }
        building.until(mins(2), "it is the firefighter's turn", |w| serving(w) == Some(1));
        drive(&mut building, 1, 2);
        building.until(secs(1), "all see it", |world| {
            world.running().all(|at| seen(world, at, 1) == Some(Mode::FireService))
        });
        // On the floor, for longer than any other car may stay in its turn.
        building.press(1, car_call(2));
        building.until(secs(10), "it opens", |world| is_open_at(world, 1, 2));
        building.run_for(mins(3));
        assert_eq!(serving(&building), Some(1));
        drive(&mut building, 1, 3);
        building.inflict(Fault::Kill(0));
        building.until(secs(5), "another master leads", |w| w.master() == Some(1));
        drive(&mut building, 1, 1);
        assert!(are_down(&building, [2, 3]), "the others stay down");
        building.inflict(Fault::Key(1, KeySwitch::Normal));
        building.until(mins(1), "it is recalled again", |world| are_down(world, [1]));
        building.start(0);
        building.recovers();
    }
}

/// A car that does not move loses its turn. One that a mechanic has switched off gets none, even if it
/// was to serve, nor does it have to go down before others serve.
#[test]
fn a_car_that_cannot_move_gets_no_turn_to_serve() {
    let off = (Fault::Key(1, KeySwitch::OutOfService), Fault::Key(1, KeySwitch::Normal));
    let stopped = (Fault::StopSwitch(1, true), Fault::StopSwitch(1, false));
    for (begin, end) in [off, stopped] {
        let is_off = matches!(begin, Fault::Key(..));
        let mut building = scattered(3);
        building.inflict(begin);
        building.run_for(secs(1));
        power(&mut building, 0, Some(1));
        stand(&mut building);
        let has_turn = |world: &World| {
            let nodes = world.running().filter_map(|at| world.node(at));
            let mut turns = nodes.map(|it| it.settings().turn());
            turns.any(|turn| turn.holder().is_some_and(|(car, _)| car == world.name(1)))
        };
        let mut had = false;
        building.until(mins(4), "the others are down", |world| {
            had |= has_turn(world);
            are_down(world, [0, 2])
        });
        building.until(mins(4), "one of them serves", |world| {
            had |= has_turn(world);
            serving(world).is_some_and(|car| car != 1)
        });
        let first = serving(&building);
        let after = building.now() + mins(5);
        building.until(mins(6), "it goes on serving", |world| {
            had |= has_turn(world);
            assert!(!is_off || serving(world) == first);
            world.now() >= after
        });
        assert!(!is_off || !had, "it had a turn");
        // Once it can move it goes down, and then it serves.
        building.inflict(end);
        building.until(mins(3), "it serves", |world| !is_off || serving(world) == Some(1));
        building.recovers();
    }
}
