//! The fleet under each election protocol, with a fleet key: real processes that are killed,
//! suspended, and all restarted at once. Orders, lamps and dispatch are the same under each (C1).
//!
//! Every other suite of real processes runs under a protocol of choice as well:
//! `LIFTMESH_ELECTION=bully cargo test --test processes faults::`.

use std::time::Instant;

use elevator_driver::{Button, Direction};
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};

const THREE: [&str; 3] = ["A", "B", "C"];

/// The orders of a busy moment: one from each landing panel, and one in each car. A car that stands
/// at a floor with its door open needs no lamp for it.
fn press_all_over(building: &Building) -> [Button; 3] {
    let halls = [
        ("A", building.hall(7, Direction::Down)),
        ("B", building.hall(4, Direction::Up)),
        ("C", building.hall(2, Direction::Down)),
    ];
    for (at, button) in halls {
        building.press(at, button);
    }
    for (at, floor) in [("A", 5), ("B", 6), ("C", 3)] {
        building.press(at, building.car_call(floor));
    }
    building.wait("each panel has lit something", |building| {
        let lit = |name: &&str| !building.car(name).lamps.is_empty();
        THREE.iter().all(lit)
    });
    halls.map(|(_, button)| button)
}

/// F6, F7, F8, F13, C1, C3, C5: the leader is killed and comes back, is suspended and comes back, and
/// at last everything is restarted; no order is lost.
fn nothing_is_lost_when_masters_fail(protocol: Protocol) {
    let mut building = Building::new(8, Line::Serial);
    building.elect_by(protocol);
    let key = building.make_key("fleet.key");
    building.use_keys(&key);
    building.fill(&THREE);
    building.open_books();
    let first = building.wait_for_one_master();
    press_all_over(&building);
    building.kill(first);
    let killed = building.wait_for_one_master_of(&building.running().collect::<Vec<_>>());
    building.start(first);
    building.wait_for_one_master();
    building.wait_in_service(&THREE);
    building.wait_all_dark();

    let second = building.wait_for_one_master();
    let halls = press_all_over(&building);
    building.suspend(second);
    let living: Vec<&str> = building.running().collect();
    let suspended = building.wait_for_one_master_of(&living);
    for button in halls {
        building.wait_dark(&living, button);
    }
    building.resume(second);
    building.wait_for_one_master();
    building.wait_in_service(&THREE);

    press_all_over(&building);
    building.kill_all(&THREE);
    let off = Instant::now();
    for name in THREE {
        building.start(name);
    }
    building.wait_for_one_master();
    let restarted = off.elapsed();
    let report = building.close_books();
    building.assert_safe();
    println!(
        "{protocol}: another leader {killed:?} after the first was killed, {suspended:?} after one was suspended, one {restarted:?} after a power cut; {report:?}"
    );
}

macro_rules! under {
    ($($module:ident: $protocol:ident),* $(,)?) => {
        $(mod $module {
            #[test]
            fn nothing_is_lost_when_masters_fail() {
                super::nothing_is_lost_when_masters_fail(super::Protocol::$protocol);
            }
        })*
    };
}

elevator_fleet::for_every_protocol!(under);
