//! Drives that fail.

use super::*;

/// Runs for some seconds in small steps, and says for how many the motor was driven.
fn driven_for(shaft: &mut Shaft, seconds: f64) -> f64 {
    let mut driven = 0.0;
    let mut passed = 0.0;
    while passed < seconds {
        shaft.advance(STEP, true);
        passed += STEP;
        driven += if shaft.driven().is_some() { STEP } else { 0.0 };
    }
    driven
}

#[test]
fn a_drive_that_trips_runs_for_a_second_for_each_stop_command_and_a_dead_one_never() {
    let mut shaft = shaft_at(3.0);
    shaft.set_motor_fault(Some(MotorFault::Trips));
    for _ in 0..3 {
        shaft.command(run(Direction::Up, 4));
        let driven = driven_for(&mut shaft, 10.0);
        assert!((driven - 1.0).abs() < 0.05, "{driven} s");
        assert_level(&shaft, 1);
        assert!(shaft.is_at_rest(true));
        shaft.command(DriveCommand::Stop);
        shaft.advance(STEP, true);
    }
    shaft.set_motor_fault(Some(MotorFault::Dead));
    shaft.command(run(Direction::Up, 4));
    assert!(driven_for(&mut shaft, 10.0).abs() < f64::EPSILON);
    assert!(shaft.is_at_rest(true));
    shaft.set_motor_fault(None);
    until_rest(&mut shaft);
    assert_level(&shaft, 4);
}

#[test]
fn a_moving_car_whose_drive_trips_brakes_and_stays_where_it_is() {
    let mut shaft = shaft_at(0.0);
    shaft.command(run(Direction::Up, 5));
    driven_for(&mut shaft, 3.0);
    shaft.set_motor_fault(Some(MotorFault::Trips));
    driven_for(&mut shaft, 2.0);
    let position = shaft.position();
    assert!(driven_for(&mut shaft, 10.0).abs() < f64::EPSILON);
    assert!((shaft.position() - position).abs() < f64::EPSILON && shaft.sensed_floor().is_none());
}

#[test]
fn a_reversed_motor_runs_the_wrong_way_and_says_so() {
    let mut shaft = shaft_at(6.0);
    shaft.set_motor_fault(Some(MotorFault::Reversed));
    shaft.command(run(Direction::Up, 4));
    shaft.advance(1.0, true);
    assert_eq!(shaft.driven(), Some(Direction::Down));
    until_rest(&mut shaft);
    assert_level(&shaft, 0);
}

/// S1: its controller has seen it at rest, or is about to.
#[test]
fn a_drive_that_is_repaired_while_it_gives_up_stays_off_until_it_is_told_something_else() {
    let mut shaft = shaft_at(7.5);
    shaft.set_levelling_fault(Some(LevellingFault::Overshoots));
    let direction = Direction::Down;
    shaft.command(DriveCommand::Home { direction });
    let mut seen = false;
    while !seen || shaft.sensed_floor().is_some() {
        shaft.advance(STEP, true);
        seen |= shaft.sensed_floor().is_some();
    }
    shaft.set_levelling_fault(None);
    until_rest(&mut shaft);
    assert!(driven_for(&mut shaft, 5.0).abs() < f64::EPSILON);
    shaft.command(DriveCommand::Stop);
    shaft.advance(STEP, true);
    shaft.command(DriveCommand::Home { direction });
    until_rest(&mut shaft);
    assert_level(&shaft, 1);
}

/// S1
#[test]
fn a_drive_that_breaks_just_after_its_run_stays_off_until_it_is_told_something_else() {
    for fault in [MotorFault::Reversed, MotorFault::Stuck, MotorFault::Trips] {
        let mut shaft = shaft_at(0.0);
        shaft.command(run(Direction::Up, 2));
        until_rest(&mut shaft);
        shaft.set_motor_fault(Some(fault));
        assert!(driven_for(&mut shaft, 5.0).abs() < f64::EPSILON, "{fault:?}");
    }
}

#[test]
fn without_levelling_a_run_ends_at_the_edge_of_its_floor() {
    let mut shaft = shaft_at(0.0);
    shaft.set_levelling_fault(Some(LevellingFault::Off));
    shaft.command(run(Direction::Up, 2));
    shaft.advance(0.1, true);
    assert_eq!(shaft.next_stop(), Some(floor(1)));
    let seconds = until_rest(&mut shaft);
    // From the middle of a zone to the edge of the next but one, 2.5 s a floor.
    assert!((seconds - 4.65).abs() < 0.2, "{seconds} s");
    assert_eq!(shaft.sensed_floor(), Some(floor(2)));
    assert!(shaft.position() < 5.9, "{} m", shaft.position());
    assert!(shaft.is_at_rest(true), "it does not creep to the floor");
    shaft.command(run(Direction::Down, 0));
    until_rest(&mut shaft);
    assert_eq!(shaft.sensed_floor(), Some(floor(0)));
}

#[test]
fn without_levelling_a_run_passes_a_dead_sensor_and_ends_at_the_next_floor() {
    let mut shaft = shaft_at(0.0);
    shaft.set_levelling_fault(Some(LevellingFault::Off));
    shaft.set_sensor_dead(floor(2), true);
    shaft.command(run(Direction::Up, 2));
    until_rest(&mut shaft);
    assert_eq!(shaft.sensed_floor(), Some(floor(3)));
    shaft.set_sensor_dead(floor(5), true);
    shaft.command(run(Direction::Up, 5));
    until_rest(&mut shaft);
    assert_eq!(shaft.sensed_floor(), None, "at the end of the shaft");
    assert_eq!(shaft.floor(), Some(floor(5)));
}

#[test]
fn a_drive_that_overshoots_comes_to_rest_between_floors() {
    let mut shaft = shaft_at(0.0);
    shaft.set_levelling_fault(Some(LevellingFault::Overshoots));
    shaft.command(run(Direction::Up, 2));
    until_rest(&mut shaft);
    assert_eq!(shaft.floor(), None);
    assert!((6.15..7.0).contains(&shaft.position()), "{} m", shaft.position());
    shaft.command(DriveCommand::Home { direction: Direction::Down });
    until_rest(&mut shaft);
    assert!(shaft.position() < 5.85 && shaft.floor().is_none());
    shaft.set_levelling_fault(None);
    shaft.command(run(Direction::Down, 1));
    until_rest(&mut shaft);
    assert_level(&shaft, 1);
}

#[test]
fn a_slow_car_takes_longer_and_a_fast_one_less() {
    let times = [80, 100, 120].map(|percent| {
        let mut shaft = shaft_at(0.0);
        shaft.set_speed(percent);
        shaft.command(run(Direction::Up, 3));
        until_rest(&mut shaft)
    });
    assert!((times[0] * 0.8 - times[1]).abs() < 0.05, "{times:?}");
    assert!((times[2] * 1.2 - times[1]).abs() < 0.05, "{times:?}");
}
