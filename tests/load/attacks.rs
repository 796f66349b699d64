//! One stranger or one faulty member against a bank of three cars: service goes on, a failover in
//! the midst of it works, and afterwards everything is as before, without an operator.
//!
//! All attacks but two are made at once, those alone. `LIFTMESH_ATTACKS=all` makes each alone, and
//! `LIFTMESH_ATTACKS=Links,Disk` these.

mod attacker;
use std::time::{Duration, Instant};

use attacker::{Attack, Attacker};
use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line, Machine};

pub(crate) const THREE: [&str; 3] = ["A", "B", "C"];

/// How soon after the end of an attack everything has to be as before.
const WHOLE_AGAIN: Duration = Duration::from_secs(10);

/// The attacker has an address above all nodes' or below.
const ABOVE: u8 = 9;
const BELOW: u8 = 1;

/// A bank whose cars have the addresses 2 to 4, and which keeps books.
fn bank() -> Building {
    let mut building = Building::new(8, Line::Serial);
    for (name, number) in THREE.iter().zip(2..) {
        building.install(name, number);
        building.start(name);
    }
    building.wait_for_master("A");
    building.wait_in_service(&THREE);
    building.open_books();
    building
}

/// The floors at which buttons are pressed, in turn: where a car still stands with its door open, a
/// press makes no order.
pub(crate) const FLOORS: [[u8; 3]; 2] = [[5, 3, 6], [7, 1, 4]];

/// Presses hall and car buttons at these panels and waits until all are served.
pub(crate) fn serves(building: &Building, panels: &[&str], round: usize) {
    let floors = FLOORS[round % FLOORS.len()];
    let halls = floors.map(|floor| building.hall(floor, Direction::Down));
    for (panel, (floor, hall)) in panels.iter().zip(floors.iter().zip(halls)) {
        building.press(panel, hall);
        building.press(panel, building.car_call(*floor));
    }
    let pressed = || panels.iter().zip(floors.iter().zip(halls));
    for (_, (_, hall)) in pressed() {
        building.wait_lit(panels, hall);
    }
    for (panel, (floor, hall)) in pressed() {
        building.wait_dark(panels, hall);
        building.wait_dark(&[panel], building.car_call(*floor));
    }
}

fn service_goes_on(attacks: &[Attack], number: u8) {
    let mut building = bank();
    serves(&building, &THREE, 0);
    let attacker = Attacker::start(&building, number, attacks);
    let started = Instant::now();
    serves(&building, &THREE, 1);
    building.kill("A");
    serves(&building, &["B", "C"], 2);
    building.start("A");
    building.wait_in_service(&THREE);
    serves(&building, &THREE, 3);
    let lasted = started.elapsed();
    let done = attacker.stop();
    let whole = building.wait_within(WHOLE_AGAIN, "the fleet is whole again", |building| {
        building.follow(&THREE, "A")
    });
    serves(&building, &THREE, 4);
    building.close_books();
    building.assert_safe();
    println!("{attacks:?} for {lasted:.1?} ({done:?}): whole again after {whole:.1?}");
}

/// O2, O4, E1: whatever a member or a stranger with its own address sends.
#[test]
fn service_goes_on_under_all_attacks_at_once() {
    let _machine = Machine::shared();
    let all = Attack::ALL.into_iter();
    let attacks: Vec<Attack> = all.filter(|attack| *attack != Attack::Service).collect();
    service_goes_on(&attacks, ABOVE);
}

/// O1, P1: it is known of each car whether it can have served. (Of one that has just been lost a
/// peer that goes on echoing strangers might know more: together with the other attacks, which make
/// such strangers up, a lie can succeed.)
#[test]
fn service_goes_on_under_services_that_did_not_happen() {
    let _machine = Machine::shared();
    service_goes_on(&[Attack::Service], ABOVE);
}

/// F1, F4: a master that takes every link and assigns nothing.
#[test]
fn service_goes_on_under_a_master_that_assigns_nothing() {
    let _machine = Machine::shared();
    service_goes_on(&[Attack::Idle], BELOW);
}

#[test]
fn service_goes_on_under_each_attack() {
    let _machine = Machine::shared();
    let chosen = std::env::var("LIFTMESH_ATTACKS").unwrap_or_default();
    for attack in Attack::ALL {
        if chosen == "all" || chosen.contains(&format!("{attack:?}")) {
            service_goes_on(&[attack], ABOVE);
        }
    }
}
