//! Sessions of robots, at any node, through failovers, restarts and recalls.

use elevator_driver::DoorState;
use elevator_fleet::directives::{RequestId, SessionEnd, SessionState};
use elevator_fleet::model::{Mode, Timestamp};
use liftmesh_lab::{Fault, World};

use crate::building::{Building, down, floor, mins, secs, up, without_parking};

fn ask(building: &mut Building, at: usize, session: u64, car: Option<usize>, to: u8) {
    building.inflict(Fault::Session { at, session, car, floor: Some(floor(to)) });
}

fn state(world: &World, at: usize, session: u64) -> Option<SessionState> {
    let id = RequestId { owner: 1, request: session };
    Some(world.node(at)?.directives().session(id)?.state.clone())
}

fn is_open(world: &World, session: u64, car: usize, at: u8) -> bool {
    let inputs = world.car(car).inputs();
    let is_said = state(world, car, session) == Some(SessionState::Open(world.name(car).clone()));
    is_said && inputs.floor == Some(floor(at)) && inputs.door == DoorState::Open
}

fn are_back(world: &World) -> bool {
    let mode = |car| world.node(car)?.status(Timestamp::START).car.map(|car| car.view.mode);
    world.running().all(|car| mode(car) == Some(Mode::InService))
}

/// O1, P1: the car hands its hall calls on, and no order is dropped.
#[test]
fn a_robot_rides_while_others_serve_the_passengers() {
    let mut building = Building::merged_of(without_parking(3));
    for button in [up(1), up(2), down(3), down(2), down(1), up(0)] {
        building.press(0, button);
    }
    ask(&mut building, 2, 1, Some(1), 3);
    building.until(mins(1), "the door is open", |world| is_open(world, 1, 1, 3));
    building.run_for(secs(15));
    assert!(is_open(&building, 1, 1, 3), "it is held");
    ask(&mut building, 0, 1, None, 0);
    building.until(mins(1), "the robot is there", |world| is_open(world, 1, 1, 0));
    building.inflict(Fault::Session { at: 2, session: 1, car: None, floor: None });
    building.inflict(Fault::Session { at: 0, session: 1, car: None, floor: None });
    building.until(secs(2), "it is back", are_back);
    building.until_at_rest();
    let broken = building.broken_promises();
    assert!(broken.is_empty(), "{broken:?}");
}

/// The master dies before the car has come, and again while the door is open; then the node of the car
/// is restarted.
#[test]
fn a_session_survives_the_master_and_a_restart_of_its_car() {
    let mut building = Building::merged_of(without_parking(4));
    ask(&mut building, 3, 1, Some(2), 3);
    building.run_for(secs(1));
    building.inflict(Fault::Kill(0));
    building.until(mins(1), "the door is open", |world| is_open(world, 1, 2, 3));
    building.inflict(Fault::Kill(1));
    building.run_for(secs(5));
    assert!(is_open(&building, 1, 2, 3), "it is held");
    building.inflict(Fault::Kill(2));
    building.run_for(secs(3));
    building.start(2);
    building.until(mins(1), "the door is open again", |world| is_open(world, 1, 2, 3));
    ask(&mut building, 3, 1, None, 1);
    building.until(mins(1), "the robot is there", |world| is_open(world, 1, 2, 1));
    building.until(secs(25), "its time is over", |world| {
        state(world, 3, 1) == Some(SessionState::Ended(SessionEnd::Time))
    });
    building.start_all();
    building.recovers();
}

/// Whoever comes later waits, and another car goes where any will do and the first one is lost.
#[test]
fn sessions_wait_for_their_car_and_leave_a_dead_one() {
    let mut building = Building::merged_of(without_parking(3));
    ask(&mut building, 0, 1, Some(1), 3);
    building.run_for(secs(1));
    ask(&mut building, 2, 2, Some(1), 0);
    building.run_for(secs(1));
    assert_eq!(state(&building, 0, 2), Some(SessionState::Queued));
    building.until(mins(1), "the first has the car", |world| is_open(world, 1, 1, 3));
    building.until(mins(1), "then the second", |world| is_open(world, 2, 1, 0));
    building.until(mins(1), "the car is back", are_back);

    ask(&mut building, 0, 3, None, 3);
    let coming = |world: &World| {
        (0..3)
            .find(|car| state(world, 0, 3) == Some(SessionState::Coming(world.name(*car).clone())))
    };
    building.until(secs(1), "one comes", |world| coming(world).is_some());
    let first = coming(&building).expect("a car");
    building.inflict(Fault::Kill(first));
    let others: Vec<usize> = (0..3).filter(|car| *car != first).collect();
    building.until(mins(2), "another one comes", |world| {
        others.iter().any(|car| is_open(world, 3, *car, 3))
    });
    building.start(first);
    building.recovers();
}

/// A17.1, phase I, whoever has the car.
#[test]
fn a_fire_recall_takes_the_car_from_a_robot() {
    let mut building = Building::merged_of(without_parking(2));
    ask(&mut building, 0, 1, Some(1), 3);
    building.until(mins(1), "the door is open", |world| is_open(world, 1, 1, 3));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.until(mins(1), "it is recalled", |world| {
        let inputs = world.car(1).inputs();
        inputs.floor == Some(floor(0)) && inputs.door == DoorState::Open
    });
    let recalled = Some(SessionState::Ended(SessionEnd::Recalled));
    assert_eq!((state(&building, 0, 1), state(&building, 1, 1)), (recalled.clone(), recalled));
    building.inflict(Fault::FireRecall { at: 1, start: false });
    building.until(secs(2), "all are back", are_back);
    building.recovers();
}
