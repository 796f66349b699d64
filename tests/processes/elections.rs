//! The fleet under each election protocol: real processes that are killed, suspended, hung, cut off
//! and all restarted at once. Orders, lamps, dispatch and hangs are the same under each (C1).
//!
//! Every other suite of real processes runs under a protocol of choice as well:
//! `LIFTMESH_ELECTION=bully cargo test --test processes faults::`.

use std::time::Instant;

use elevator_driver::{Button, Direction};
use elevator_fleet::election::Preferred;
use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};

const THREE: [&str; 3] = ["A", "B", "C"];

fn three(protocol: Protocol, floors: u8) -> Building {
    let mut building = Building::new(floors, Line::Serial);
    building.elect_by(protocol);
    building.fill(&THREE);
    building.open_books();
    building
}

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
    let mut building = three(protocol, 8);
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

/// F9, H1, H3, H4, C1: a car that hangs stays out until an operator has cleared it; the others serve.
fn a_car_that_hangs_gets_no_calls_until_it_is_cleared(protocol: Protocol) {
    // So high that the car is still on its way when its motor sticks.
    let mut building = three(protocol, 20);
    let victim = building.wait_for_one_master();
    building.press(victim, building.car_call(19));
    building.wait("the car moves", |building| building.car(victim).speed.abs() > 1.0);
    building.panel(victim).send("fault motor stuck").expect("taken");
    assert_eq!(building.exit(victim).code(), Some(3));
    let living: Vec<&str> = building.running().collect();
    building.wait_for_one_master_of(&living);
    let button = building.hall(5, Direction::Up);
    building.press(living[0], button);
    building.wait_lit(&living, button);
    building.wait_dark(&living, button);
    building.clear_hang(victim);
    building.panel(victim).send("fault motor ok").expect("taken");
    building.start(victim);
    building.wait_for_one_master();
    building.wait_dark(&[victim], building.car_call(19));
    building.close_books();
    building.assert_safe();
}

/// F8, F14, E1, E2, C3: a cable is cut and mended; both sides serve meanwhile.
fn both_sides_of_a_cut_serve(protocol: Protocol) {
    let Some(mut building) = Building::with_lan(6) else {
        return;
    };
    building.elect_by(protocol);
    building.fill(&THREE);
    building.open_books();
    let common = building.hall(5, Direction::Down);
    building.press("B", common);
    building.wait_lit(&THREE, common);
    building.lan().unplug(1);
    let cut = building.wait_for_one_master_of(&["B", "C"]);
    building.wait_for_one_master_of(&["A"]);
    building.wait_dark(&["A"], common);
    building.wait_dark(&["B", "C"], common);
    for (at, group, button) in [
        ("A", &["A"][..], building.hall(4, Direction::Down)),
        ("C", &["B", "C"], building.hall(2, Direction::Up)),
    ] {
        building.press(at, button);
        building.wait_lit(group, button);
        building.wait_dark(group, button);
    }
    building.lan().plug(1);
    let mended = building.wait_for_one_master_of(&THREE);
    let button = building.hall(3, Direction::Up);
    building.press("A", button);
    building.wait_lit(&THREE, button);
    let report = building.close_books();
    building.assert_safe();
    println!(
        "{protocol}: a leader of each side {cut:?} after the cut, one of all {mended:?} after the mending; {report:?}"
    );
}

/// C7, F17: a unit without a car takes part, and leads where the protocol has it lead.
fn a_control_unit_takes_part(protocol: Protocol) {
    let mut building = Building::new(6, Line::Serial);
    building.elect_by(protocol);
    building.install_unit("attic", 9, Role::ControlUnit);
    building.install("A", 1);
    building.install("B", 2);
    for name in ["A", "B", "attic"] {
        building.start(name);
    }
    let leader = building.wait_for_one_master();
    match protocol.profile().preferred {
        Preferred::LowestAddress => assert_eq!(leader, "A"),
        Preferred::Designated => assert_eq!(leader, "attic"),
        Preferred::Fittest | Preferred::Anybody => {}
    }
    building.wait_in_service(&["A", "B"]);
    building.open_books();
    for (at, button) in [("A", building.hall(5, Direction::Down)), ("B", building.car_call(4))] {
        building.press(at, button);
        building.wait_lit(&[at], button);
        building.wait_dark(&[at], button);
    }
    let attic = building.status("attic").expect("it runs");
    assert_eq!((attic.role, attic.car), (Role::ControlUnit, None));
    building.close_books();
    building.kill("attic");
    building.wait_for_one_master();
}

macro_rules! under {
    ($($module:ident: $protocol:ident),* $(,)?) => {
        $(mod $module {
            use super::Protocol;

            #[test]
            fn nothing_is_lost_when_masters_fail() {
                super::nothing_is_lost_when_masters_fail(Protocol::$protocol);
            }

            #[test]
            fn a_car_that_hangs_gets_no_calls_until_it_is_cleared() {
                super::a_car_that_hangs_gets_no_calls_until_it_is_cleared(Protocol::$protocol);
            }

            #[test]
            fn both_sides_of_a_cut_serve() {
                super::both_sides_of_a_cut_serve(Protocol::$protocol);
            }

            #[test]
            fn a_control_unit_takes_part() {
                super::a_control_unit_takes_part(Protocol::$protocol);
            }
        })*
    };
}

elevator_fleet::for_every_protocol!(under);
