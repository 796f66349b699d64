use std::time::Duration;

use elevator_driver::{Direction, MotorCommand};

use super::shaft::{Drive, World, floor};
use crate::car::CarTimer;
use crate::model::Unavailable;

/// A car on its way from floor 0 to floor 4, half a floor above floor 1.
fn under_way() -> World {
    let mut world = World::at(0).settled();
    world.press_car(4);
    world.run_until("past floor 1", |w| w.car.indicator() == Some(floor(1)));
    world.run(5);
    assert!(world.is_moving() && world.floor().is_none());
    world
}

// F9
#[test]
fn car_that_does_not_reach_the_next_floor_in_time_hangs_for_good() {
    let mut world = under_way();
    world.press_hall(2, Direction::Up);
    world.faults.drive = Drive::Stuck;
    let limit = world.car.settings().flight_limit;
    world.run_until("hung", World::is_hung);
    let evidence = world.hang().unwrap();
    assert_eq!(evidence.floor, Some(floor(2)));
    assert_eq!(evidence.direction, Direction::Up);
    assert_eq!(evidence.last_sensor, Some(floor(1)));
    assert_eq!(evidence.expected, limit);
    assert!(evidence.actual >= limit && evidence.actual < limit + Duration::from_millis(200));
    assert!(world.is_out_for(Unavailable::Hung));
    world.faults.drive = Drive::Sound;
    world.reconnect();
    world.run(600);
    assert_eq!(world.car.motor(), MotorCommand::Stop);
    assert!(!world.is_quiet());
}

// S1, H1
#[test]
fn stop_switch_stops_the_motor_at_once_and_the_car_homes_when_it_is_released() {
    let mut world = under_way();
    world.stop = true;
    world.tick();
    assert_eq!(world.car.motor(), MotorCommand::Stop);
    world.run(1200);
    assert!(world.car.stop_lamp() && !world.is_moving());
    world.stop = false;
    world.run_until("homing", World::is_moving);
    assert_eq!(world.car.motor(), MotorCommand::Home { direction: Direction::Down });
    world.run_until("all served", World::is_quiet);
    assert!(!world.is_hung());
}

// S1, H1
#[test]
fn controller_that_was_held_up_stops_the_car_and_waits_until_it_is_at_rest() {
    let mut world = under_way();
    world.now = world.now + Duration::from_mins(1);
    world.car.handle_interrupted(std::time::Duration::ZERO, world.now);
    assert_eq!(world.car.motor(), MotorCommand::Stop);
    let timer = world.car.poll_timeout().map(|(_, timer)| timer);
    assert_eq!(timer, Some(CarTimer::Flight), "it waits, but not for ever");
    world.run_until("all served", World::is_quiet);
    assert!(!world.is_hung());
}

#[test]
fn car_that_is_shut_down_stops_at_once_and_moves_no_more() {
    let mut world = under_way();
    world.car.shut_down(world.now);
    assert_eq!(world.car.motor(), MotorCommand::Stop);
    world.reconnect();
    world.press_car(0);
    world.run(600);
    assert!(!world.is_moving() && !world.is_quiet());
}

/// S1: at that moment the drive has the command to run, and nobody knows whether it has begun to.
#[test]
fn door_stays_closed_while_the_drive_starts_whatever_the_sensors_say() {
    for latency in 0..4 {
        for ticks in 1..5 {
            let mut world = World::at(1).settled();
            world.latency = latency;
            world.press_car(3);
            world.run_until("commanded to run", |w| w.car.motor() != MotorCommand::Stop);
            world.run(ticks);
            world.faults.lie = Some(floor(3));
            world.run(50);
        }
    }
}
