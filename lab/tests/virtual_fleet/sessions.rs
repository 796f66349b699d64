//! Sessions of robots, at any node, through failovers and restarts.

use elevator_fleet::settings::{RequestId, SessionEnd, SessionState};
use liftmesh_lab::{Fault, World};

use crate::building::{Building, floor, is_open_at, mins, secs, without_parking};

fn ask(building: &mut Building, at: usize, session: u64, car: Option<usize>, to: u8) {
    building.inflict(Fault::Session { at, session, car, floor: Some(floor(to)) });
}

fn state(world: &World, at: usize, session: u64) -> Option<SessionState> {
    let id = RequestId { owner: 1, request: session };
    Some(world.node(at)?.settings().session(id)?.state.clone())
}

fn is_open(world: &World, session: u64, car: usize, at: u8) -> bool {
    let is_said = state(world, car, session) == Some(SessionState::Open(world.name(car).clone()));
    is_said && is_open_at(world, car, at)
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

/// Another car goes where any will do and the first one is lost.
#[test]
fn a_session_leaves_a_dead_car() {
    let mut building = Building::merged_of(without_parking(3));
    ask(&mut building, 0, 3, None, 3);
    let coming = |world: &World| {
        (0..3)
            .find(|car| state(world, 0, 3) == Some(SessionState::Coming(world.name(*car).clone())))
    };
    building.until(secs(1), "one comes", |world| coming(world).is_some());
    let first = coming(&building).expect("a car");
    building.inflict(Fault::Kill(first));
    building.until(mins(2), "another one comes", |world| {
        (0..3).any(|car| car != first && is_open(world, 3, car, 3))
    });
    building.start(first);
    building.recovers();
}
