//! Lies about cars.

use std::collections::BTreeMap;

use elevator_driver::DriveFeedback;

use super::*;
use crate::LevellingFault;
use crate::oracles::car_watch::Riders;
use crate::oracles::cars::{
    no_rider_is_carried_away, only_a_broken_car_hangs, the_motor_is_stopped_first,
};

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

/// A calm world whose first car is on its way between two floors.
fn under_way() -> World {
    let mut world = calm();
    for index in 0..4 {
        world.press(0, Button::Car(floor(index)));
    }
    let runs = |world: &World| {
        world.machines[0].motor_command() != MotorCommand::Stop
            && world.car(0).shaft().floor().is_none()
    };
    assert!(world.run_until(Duration::from_secs(30), runs).is_some());
    world
}

/// The first node reports that its car hangs.
fn hangs(world: &mut World) {
    world.judge(|oracles, snapshot| {
        oracles.car_changed(snapshot, 0);
        let findings = only_a_broken_car_hangs(&oracles.cars[0], 0);
        oracles.verdicts.record(snapshot, findings);
    });
}

/// The first car announces this direction.
fn turns(world: &mut World, heading: Direction) {
    world.judge(|oracles, snapshot| {
        let riders = oracles.cars[0].riders.as_ref().expect("riders");
        let findings = no_rider_is_carried_away(snapshot, 0, riders, heading);
        oracles.verdicts.record(snapshot, findings);
    });
}

#[test]
fn a_sound_car_that_hangs_is_noticed() {
    let mut world = calm();
    hangs(&mut world);
    complains(&world, "H1");
}

#[test]
fn a_hang_that_is_reported_before_the_stop_is_noticed() {
    let mut world = under_way();
    let is_first = |world: &World| the_motor_is_stopped_first(&world.machines[0], 0).is_none();
    assert!(!is_first(&world));
    world.inflict(Fault::LineCut(0, true));
    assert!(is_first(&world), "nothing reaches the panel");
}

#[test]
fn what_a_sound_car_must_bear_is_no_excuse_for_a_hang() {
    let bearable = [
        Fault::DeadSensor(0, Some(floor(1))),
        Fault::Levelling(0, Some(LevellingFault::Off)),
        Fault::Speed(0, 80),
        Fault::DoorJammed(0, true),
        Fault::StopSwitch(0, true),
        Fault::LineCut(0, true),
    ];
    for fault in bearable {
        let mut world = calm();
        world.inflict(fault);
        hangs(&mut world);
        complains(&world, "H1");
    }
}

#[test]
fn a_repaired_car_may_hang_until_it_has_arrived() {
    let mut world = calm();
    world.inflict(Fault::Motor(0, Some(MotorFault::Dead)));
    world.inflict(Fault::Motor(0, None));
    hangs(&mut world);
    assert_eq!(world.violations(), []);
    let at = world.machines[0].reported.floor.expect("at a floor").index();
    world.press(0, Button::Car(floor((at + 2) % 4)));
    world.run_for(Duration::from_secs(30));
    hangs(&mut world);
    complains(&world, "H1");
}

/// H5: what the motor was driven before counts on, but as before an interruption.
#[test]
fn the_end_of_a_turn_on_emergency_power_interrupts_a_flight() {
    let mut world = under_way();
    let nine = Duration::from_secs(9);
    (world.oracles.cars[0].driven, world.oracles.cars[0].driven_in_all) = (nine, nine);
    world.inflict(Fault::EmergencyPower { at: 0, on: true, serving: None });
    world.run_for(Duration::from_millis(500));
    let watch = &world.oracles.cars[0];
    assert!(watch.driven < Duration::from_secs(1), "{watch:?}");
    assert!(watch.driven_in_all >= nine, "{watch:?}");
}

/// H5: a car that comes to rest at a floor has got somewhere, if it has not been there all the time. Its
/// node may send it on in the same moment.
#[test]
fn a_car_that_is_sent_on_as_it_comes_to_rest_has_got_somewhere() {
    let mut world = under_way();
    world.inspect();
    let MotorCommand::Run { direction, .. } = world.machines[0].motor_command() else {
        panic!("it is on its way to a floor");
    };
    let behind = if direction == Direction::Up { floor(0) } else { floor(3) };
    world.machines[0].reported.floor = Some(behind);
    world.machines[0].reported.drive = DriveFeedback::Stopped;
    for expected in [Duration::ZERO, Duration::from_secs(40)] {
        let watch = &mut world.oracles.cars[0];
        watch.driven = Duration::from_secs(40);
        watch.look(&world.machines[0], world.now);
        assert_eq!(world.oracles.cars[0].driven, expected);
    }
}

/// H5: a floor is new once, however long the car sticks there. Where the sensor of the stop has lied, the
/// floors before it are new as well.
#[test]
fn floors_before_a_stop_that_a_sensor_has_claimed_are_new() {
    let mut world = calm();
    let at = world.machines[0].reported.floor.expect("at a floor").index();
    let (to, between) = if at < 2 { (3, 2) } else { (0, 1) };
    world.press(0, Button::Car(floor(to)));
    let runs = |world: &World| {
        matches!(world.machines[0].motor_command(), MotorCommand::Run { .. })
            && world.car(0).shaft().floor().is_none()
            && world.machines[0].reported.drive != DriveFeedback::Stopped
    };
    assert!(world.run_until(Duration::from_secs(30), runs).is_some());
    let stuck = Duration::from_secs(9);
    let mut see = |index: u8| {
        world.machines[0].reported.floor = Some(floor(index));
        let watch = &mut world.oracles.cars[0];
        watch.driven = stuck;
        watch.look(&world.machines[0], world.now);
        world.oracles.cars[0].driven < stuck
    };
    let seen = [to, to, between, between, to, between].map(&mut see);
    assert_eq!(seen, [true, false, true, false, true, false]);
}

#[test]
fn a_stuck_car_that_does_not_hang_is_noticed() {
    let mut world = under_way();
    world.inspect();
    assert_eq!(world.violations(), []);
    let mut interrupted = under_way();
    world.oracles.cars[0].driven = Duration::from_secs(12);
    world.inspect();
    complains(&world, "H5");
    interrupted.oracles.cars[0].driven_in_all = Duration::from_secs(52);
    interrupted.inspect();
    complains(&interrupted, "H5");
}

#[test]
fn time_that_a_stuck_motor_is_driven_adds_up_over_retries_and_interruptions() {
    let mut world = under_way();
    world.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    let second = Duration::from_secs(1);
    world.run_for(second * 3);
    let driven = world.oracles.cars[0].driven;
    assert!((second * 2..second * 6).contains(&driven), "{driven:?}");
    world.inflict(Fault::StopSwitch(0, true));
    world.run_for(second * 3);
    let watch = &world.oracles.cars[0];
    assert!(watch.driven < second && watch.driven_in_all >= driven);
}

#[test]
fn a_rider_who_is_carried_away_is_noticed() {
    let mut world = calm();
    let at = world.machines[0].reported.floor.expect("at a floor").index();
    let (to, direction) = if at < 2 { (3, Direction::Up) } else { (0, Direction::Down) };
    world.press(0, Button::Car(floor(to)));
    world.run_for(Duration::from_secs(1));
    let riders = world.oracles.cars[0].riders.clone();
    let expected = riders.as_ref().map(|riders| riders.direction);
    assert_eq!(expected, Some(direction));
    turns(&mut world, direction);
    assert_eq!(world.violations(), []);
    turns(&mut world, direction.opposite());
    complains(&world, "S3");
}

#[test]
fn riders_who_are_served_or_behind_the_car_bind_nobody() {
    let mut world = calm();
    let at = world.machines[0].reported.floor.expect("at a floor");
    let riders = |direction| Some(Riders { direction, calls: BTreeMap::from([(DOT, at)]) });
    for direction in Direction::BOTH {
        world.oracles.cars[0].riders = riders(direction);
        turns(&mut world, direction.opposite());
    }
    assert_eq!(world.violations(), []);
}
