//! Sessions that hold a car for too long, or again.

use elevator_driver::DoorState;
use elevator_fleet::directives::{Session, SessionState, Topic, Value};

use super::*;

/// A session of the car at the bottom, where it stands.
fn ask(world: &mut World, floor: Option<Floor>) {
    world.inflict(Fault::Session { at: 0, session: 1, car: Some(0), floor });
}

fn session(world: &World) -> Session {
    let node = world.node(0).expect("it runs");
    node.directives().remembered_sessions().next().cloned().expect("a session")
}

fn is_open(world: &World) -> bool {
    matches!(session(world).state, SessionState::Open(_))
}

/// The session holds the door open.
fn with_open_door() -> World {
    let mut world = calm();
    ask(&mut world, Some(Floor::BOTTOM));
    assert!(world.run_until(Duration::from_secs(40), is_open).is_some());
    world
}

/// F19
#[test]
fn a_door_that_is_held_beyond_its_time_is_noticed() {
    let mut world = with_open_door();
    world.run_for(Duration::from_secs(5));
    assert_eq!(world.violations(), [], "it is in time");
    // The node does not get to look at its clock.
    world.now += Duration::from_secs(30);
    world.inspect();
    complains(&world, "F19");
}

/// F19: while a priority call has the car, that is what holds its door.
#[test]
fn a_priority_call_may_hold_the_door_of_a_session() {
    let mut world = with_open_door();
    world.inflict(Fault::Priority { at: 0, car: Some(0), floor: Some(Floor::BOTTOM) });
    world.run_for(Duration::from_secs(1));
    assert!(is_open(&world) && world.car(0).inputs().door == DoorState::Open);
    world.now += Duration::from_secs(30);
    world.inspect();
    excuses(&world, "F19");
}

/// F19
#[test]
fn a_session_that_is_open_again_is_noticed() {
    let mut world = calm();
    ask(&mut world, Some(Floor::BOTTOM));
    let open = session(&world);
    world.run_for(Duration::from_secs(5));
    ask(&mut world, None);
    world.run_for(Duration::from_secs(1));
    assert!(!session(&world).is_open());
    assert_eq!(world.violations(), []);
    world.with(0, |node, now| {
        let value = Value::new(&open.to_string()).expect("it is short");
        node.handle_directive(Topic::Session(0).key(), value, "lab", now).expect("room");
    });
    world.inspect();
    complains(&world, "F19");
}
