//! Errands: a priority call, and the session of a robot.

use std::time::Duration;

use elevator_driver::{DoorState, KeySwitch};

use super::shaft::{Event, World, floor};
use crate::car::{CarEvent, Errand, SessionLeg};
use crate::model::Mode;
use crate::settings::{RequestId, SessionEnd};

const ID: RequestId = RequestId { owner: 1, request: 7 };
const LEG: SessionLeg = SessionLeg { id: ID, leg: 0 };
const STAY: Duration = Duration::from_secs(20);

fn session(index: u8) -> Errand {
    Errand::Session { leg: LEG, floor: floor(index), time: STAY }
}

/// A car that holds its door open at floor 3 for a session, since just now.
fn held() -> World {
    let mut world = World::at(0).settled();
    world.send(Some(session(3)));
    let is_open = |world: &World| world.events.contains(&CarEvent::SessionOpen(LEG));
    world.run_until("its door is open for the session", is_open);
    assert_eq!((world.floor(), world.door()), (Some(floor(3)), DoorState::Open));
    world
}

fn is_over(world: &World) -> bool {
    world.events.contains(&CarEvent::SessionOver(LEG, SessionEnd::Time))
}

// F19
#[test]
fn session_ends_in_time_whatever_becomes_of_its_panel() {
    let nothing: Event = |_| {};
    let key: Event = |world| {
        world.key = KeySwitch::Independent;
        world.run_until("the key is read", |world| world.car.mode() == Mode::Independent);
    };
    let restart: Event = |world| {
        world.disconnect();
        world.run(30);
        world.reconnect();
        world.run_until("its door is open again", |world| world.door() == DoorState::Open);
        assert!(!is_over(world));
    };
    for happens in [nothing, World::disconnect, key, restart] {
        let mut world = held();
        let began = world.now;
        happens(&mut world);
        world.run_until("the session is over", is_over);
        assert_eq!(world.now, began + STAY);
        assert_eq!(world.count(|event| *event == CarEvent::SessionOpen(LEG)), 1);
    }
}
