//! One car is broken, and the others serve.

use std::time::Duration;

use elevator_driver::KeySwitch;
use elevator_fleet::model::Availability;
use liftmesh_lab::{Fault, LevellingFault, MotorFault, World, WorldSettings};

use crate::building::{Building, car_call, down, floor, mins, secs, seed, up};

/// So many machines with this many floors that have found each other.
fn building(nodes: usize, floors: u8) -> Building {
    let mut settings = WorldSettings::new(nodes, seed());
    settings.floors = elevator_driver::FloorCount::new(floors).expect("a shaft");
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(3));
    building
}

fn availability(world: &World, node: usize) -> Option<Availability> {
    let now = elevator_fleet::model::Timestamp::after_start(world.now());
    let car = world.node(node)?.status(now).car?;
    Some(car.view.availability)
}

/// When something begins to be so.
fn beginnings(
    building: &mut Building,
    time: Duration,
    mut press: impl FnMut(&mut Building),
    mut is_so: impl FnMut(&World) -> bool,
) -> Vec<Duration> {
    let (mut times, mut was) = (Vec::new(), false);
    let until = building.now() + time;
    while building.now() < until {
        press(building);
        building.run_until(secs(20), |world| {
            let now = is_so(world);
            if now && !was {
                times.push(world.now());
            }
            was = now;
            false
        });
    }
    times
}

fn is_driven(world: &World) -> bool {
    world.car(0).shaft().driven().is_some()
}

/// O7, H5: the car leaves the group and tries ever more rarely, and its calls go to the other one.
#[test]
fn a_drive_that_trips_is_no_black_hole_for_calls() {
    let mut building = building(2, 8);
    building.press(0, car_call(4));
    building.press(1, car_call(7));
    building.run_for(secs(1));
    building.until_at_rest();
    building.inflict(Fault::Motor(0, Some(MotorFault::Trips)));
    let press = |building: &mut Building| building.press(1, up(5));
    let departures = beginnings(&mut building, mins(10), press, is_driven);
    assert!(departures.len() <= 30, "departs at {departures:?}");
    let served = building.served(&building.call(up(5), 0));
    assert!(served >= 10, "{served} times in ten minutes");
}

/// The floor is left out, and tried again once a minute.
#[test]
fn without_levelling_a_floor_with_a_dead_sensor_is_locked_out() {
    let mut building = building(1, 6);
    building.inflict(Fault::Levelling(0, Some(LevellingFault::Off)));
    building.inflict(Fault::DeadSensor(0, Some(floor(3))));
    building.press(0, car_call(3));
    let departures = beginnings(&mut building, mins(10), |_| {}, is_driven);
    assert!(departures.len() <= 60, "departs at {departures:?}");
    assert!(building.node(0).is_some(), "one dead sensor is no hang");
}

/// H5: the search for a floor does not renew the limit.
#[test]
fn a_car_without_a_working_sensor_hangs() {
    let mut building = building(2, 4);
    building.inflict(Fault::AllSensorsDead(0, true));
    building.press(0, car_call(0));
    building.press(0, car_call(3));
    building.until(mins(5), "the car hangs", |world| world.node(0).is_none());
}

/// The car takes no call while it waits, and waits longer each time.
#[test]
fn a_drive_that_does_not_start_backs_off() {
    let mut building = building(2, 8);
    building.press(0, car_call(2));
    building.press(1, car_call(7));
    building.run_for(secs(1));
    building.until_at_rest();
    building.inflict(Fault::Motor(0, Some(MotorFault::Dead)));
    let press = |building: &mut Building| building.press(1, up(1));
    let is_in_service = |world: &World| availability(world, 0) == Some(Availability::InService);
    let times = beginnings(&mut building, mins(10), press, is_in_service);
    assert!(times.len() <= 3, "in service at {times:?}");
    assert!(building.node(0).is_some(), "nothing was driven");
    let served = building.served(&building.call(up(1), 0));
    assert!(served >= 10, "{served} times in ten minutes");
}

/// H5: a car that goes down when it is to go up does not pass for one that gets on.
#[test]
fn a_drive_that_runs_the_wrong_way_leaves_the_group() {
    let mut building = building(2, 12);
    building.press(0, car_call(6));
    building.press(1, car_call(11));
    building.run_for(secs(1));
    building.until_at_rest();
    building.inflict(Fault::Motor(0, Some(MotorFault::Reversed)));
    for index in 4..9 {
        building.press(0, up(index));
        building.press(0, down(index));
    }
    building.run_for(secs(1));
    building.until(mins(5), "every call is served", |world| !world.has_hall_calls());
    let gone =
        |world: &World| availability(world, 0).is_none_or(|car| car != Availability::InService);
    building.until(mins(1), "the car is out of the group", gone);
}

/// H5: the sensor of its stop, at which a car sticks, is no progress.
#[test]
fn a_car_that_sticks_at_its_stop_hangs() {
    let mut building = building(1, 4);
    building.press(0, car_call(0));
    building.press(0, car_call(3));
    let arrives = |world: &World| {
        let car = world.car(0);
        car.shaft().driven().is_some() && car.inputs().floor == Some(floor(3))
    };
    building.until(mins(2), "the car comes to its stop", arrives);
    building.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    building.until(secs(12), "the car hangs", |world| world.node(0).is_none());
}

/// H5: interruptions void the evidence a few times, not for ever.
#[test]
fn a_stuck_car_hangs_however_often_it_is_interrupted() {
    let interruptions = [
        (Fault::StopSwitch(0, true), Fault::StopSwitch(0, false)),
        (Fault::LineCut(0, true), Fault::LineCut(0, false)),
        (Fault::Suspend(0), Fault::Resume(0)),
    ];
    for (begin, end) in interruptions {
        let mut building = building(1, 4);
        building.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
        building.press(0, car_call(0));
        building.press(0, car_call(3));
        for _ in 0..60 {
            building.run_for(secs(5));
            building.inflict(begin.clone());
            building.run_for(secs(1));
            building.inflict(end.clone());
        }
        assert!(building.node(0).is_none(), "{begin:?} hides a stuck motor");
    }
}

/// H1: what a sound car has to bear never makes it hang.
#[test]
fn a_sound_car_never_hangs() {
    for (floors, faults) in [
        (2, vec![Fault::DeadSensor(0, Some(floor(1)))]),
        (2, vec![Fault::DeadSensor(0, Some(floor(0)))]),
        (4, vec![Fault::Speed(0, 80)]),
        (4, vec![Fault::Speed(0, 120)]),
        (6, vec![Fault::Speed(0, 80), Fault::DeadSensor(0, Some(floor(5)))]),
        (6, vec![Fault::Speed(0, 80), Fault::DeadSensor(0, Some(floor(0)))]),
        (
            6,
            vec![
                Fault::Levelling(0, Some(LevellingFault::Off)),
                Fault::DeadSensor(0, Some(floor(2))),
            ],
        ),
        (
            3,
            vec![
                Fault::Levelling(0, Some(LevellingFault::Off)),
                Fault::DeadSensor(0, Some(floor(2))),
            ],
        ),
    ] {
        let mut building = building(1, floors);
        for fault in &faults {
            building.inflict(fault.clone());
        }
        let mut random = fastrand::Rng::with_seed(seed());
        let until = building.now() + mins(60);
        while building.now() < until {
            building.press(0, car_call(random.u8(0..floors)));
            match random.u8(0..8) {
                0 => building.inflict(Fault::StopSwitch(0, true)),
                1 => building.inflict(Fault::LineCut(0, true)),
                2 => building.inflict(Fault::Obstruct(0, true)),
                3 => building.inflict(Fault::Suspend(0)),
                _ => {}
            }
            building.run_for(Duration::from_millis(random.u64(100..5_000)));
            building.inflict(Fault::StopSwitch(0, false));
            building.inflict(Fault::LineCut(0, false));
            building.inflict(Fault::Obstruct(0, false));
            building.inflict(Fault::Resume(0));
            building.run_for(Duration::from_millis(random.u64(100..20_000)));
            assert!(
                building.node(0).is_some(),
                "{faults:?} in {floors} floors\n{}",
                building.story(120)
            );
        }
    }
}

/// O7, H4: whatever is wrong with one car, the other serves every hall call in its time.
#[test]
fn whatever_is_wrong_with_one_car_the_other_serves() {
    let faults = [
        Fault::Motor(0, Some(MotorFault::Stuck)),
        Fault::Motor(0, Some(MotorFault::Trips)),
        Fault::Motor(0, Some(MotorFault::Dead)),
        Fault::Motor(0, Some(MotorFault::Reversed)),
        Fault::Levelling(0, Some(LevellingFault::Overshoots)),
        Fault::AllSensorsDead(0, true),
        Fault::DeadSensor(0, Some(floor(2))),
        Fault::DoorJammed(0, true),
        Fault::Obstruct(0, true),
        Fault::StopSwitch(0, true),
        Fault::Load(0, Some(110)),
        Fault::Key(0, KeySwitch::Independent),
        Fault::Key(0, KeySwitch::FireRecall),
        Fault::Key(0, KeySwitch::OutOfService),
        Fault::LineCut(0, true),
    ];
    for fault in faults {
        let mut building = building(2, 4);
        building.inflict(fault.clone());
        for _ in 0..3 {
            for button in [up(0), up(1), down(1), up(2), down(2), down(3)] {
                building.press(1, button);
            }
            building.run_for(secs(1));
            let what = format!("every call is served in spite of {fault:?}");
            building.until(mins(3), &what, |world| !world.has_hall_calls());
        }
        let others = building.services().iter().filter(|service| service.node == 1);
        assert!(others.count() >= 6, "{fault:?}");
    }
}
