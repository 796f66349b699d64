//! Lies about cars.

use std::collections::BTreeMap;

use super::*;
use crate::LevellingFault;
use crate::oracles::car_watch::Riders;

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// A calm world whose first car is on its way between two floors.
fn under_way() -> World {
    let mut world = calm();
    for index in 0..4 {
        world.press(0, Button::Cab(floor(index)));
    }
    let runs = |world: &World| {
        world.machines[0].motor_command() != MotorCommand::Stop
            && world.car(0).shaft().floor().is_none()
    };
    assert!(world.run_until(Duration::from_secs(30), runs).is_some());
    world
}

#[test]
fn a_sound_car_that_hangs_is_noticed() {
    let mut world = calm();
    world.only_a_broken_car_hangs(0);
    complains(&world, "H1");
}

#[test]
fn what_a_sound_car_must_bear_is_no_excuse_for_a_hang() {
    let bearable = [
        Fault::DeadSensor(0, Some(floor(1))),
        Fault::Levelling(0, Some(LevellingFault::Off)),
        Fault::Speed(0, 80),
        Fault::DoorJammed(0, true),
        Fault::StopSwitch(0, true),
        Fault::PanelCut(0, true),
    ];
    for fault in bearable {
        let mut world = calm();
        world.inflict(fault);
        world.only_a_broken_car_hangs(0);
        complains(&world, "H1");
    }
}

#[test]
fn a_repaired_car_may_hang_until_it_has_arrived() {
    let mut world = calm();
    world.inflict(Fault::Motor(0, Some(MotorFault::Dead)));
    world.inflict(Fault::Motor(0, None));
    world.only_a_broken_car_hangs(0);
    assert_eq!(world.violations(), []);
    let at = world.machines[0].told.floor.expect("at a floor").index();
    world.press(0, Button::Cab(floor((at + 2) % 4)));
    world.run_for(Duration::from_secs(30));
    world.only_a_broken_car_hangs(0);
    complains(&world, "H1");
}

#[test]
fn a_stuck_car_that_does_not_hang_is_noticed() {
    let mut world = under_way();
    world.inspect();
    assert_eq!(world.violations(), []);
    let mut interrupted = under_way();
    world.machines[0].watch.driven = Duration::from_secs(12);
    world.inspect();
    complains(&world, "H5");
    interrupted.machines[0].watch.driven_in_all = Duration::from_secs(52);
    interrupted.inspect();
    complains(&interrupted, "H5");
}

#[test]
fn time_that_a_stuck_motor_is_driven_adds_up_over_retries_and_interruptions() {
    let mut world = under_way();
    world.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    let second = Duration::from_secs(1);
    world.run_for(second * 3);
    let driven = world.machines[0].watch.driven;
    assert!((second * 2..second * 6).contains(&driven), "{driven:?}");
    world.inflict(Fault::StopSwitch(0, true));
    world.run_for(second * 3);
    let watch = &world.machines[0].watch;
    assert!(watch.driven < second && watch.driven_in_all >= driven);
}

#[test]
fn a_rider_who_is_carried_away_is_noticed() {
    let mut world = calm();
    let at = world.machines[0].told.floor.expect("at a floor").index();
    let (to, direction) = if at < 2 {
        (3, Direction::Up)
    } else {
        (0, Direction::Down)
    };
    world.press(0, Button::Cab(floor(to)));
    world.run_for(Duration::from_secs(1));
    let riders = world.machines[0].watch.riders.clone();
    let expected = riders.as_ref().map(|riders| riders.direction);
    assert_eq!(expected, Some(direction));
    world.no_rider_is_carried_away(0, direction);
    assert_eq!(world.violations(), []);
    world.no_rider_is_carried_away(0, direction.opposite());
    complains(&world, "S3");
}

#[test]
fn riders_who_are_served_or_behind_the_car_bind_nobody() {
    let mut world = calm();
    let at = world.machines[0].told.floor.expect("at a floor");
    let riders = |direction| {
        Some(Riders {
            direction,
            calls: BTreeMap::from([(DOT, at)]),
        })
    };
    for direction in Direction::BOTH {
        world.machines[0].watch.riders = riders(direction);
        world.no_rider_is_carried_away(0, direction.opposite());
    }
    assert_eq!(world.violations(), []);
}
