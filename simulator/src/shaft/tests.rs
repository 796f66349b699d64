use proptest::prelude::*;

use elevator_driver::{Building, Landing};

use super::*;
use crate::config::place;

mod fault;

const STEP: f64 = 0.01;
const TOLERANCE: f64 = 1e-6;

fn floors() -> FloorCount {
    FloorCount::new(6).unwrap()
}

fn floor(index: u8) -> Floor {
    floors().floor(index).unwrap()
}

fn shaft_at(position: f64) -> Shaft {
    Shaft::new(&CarConfig::new(floors()), position)
}

fn run(direction: Direction, stop_at: u8) -> DriveCommand {
    DriveCommand::Run { direction, stop_at: floor(stop_at) }
}

/// A car that was told to run up to the top floor at `from`, and has come to `at`.
fn under_way(from: f64, at: f64) -> Shaft {
    let mut shaft = shaft_at(from);
    shaft.command(run(Direction::Up, 5));
    while shaft.position() < at {
        shaft.advance(STEP, true);
    }
    shaft
}

/// Runs until the car rests; the seconds that took.
fn until_rest(shaft: &mut Shaft) -> f64 {
    let mut seconds = 0.0;
    while !shaft.is_at_rest(true) {
        shaft.advance(STEP, true);
        seconds += STEP;
        assert!(seconds < 200.0, "the car never came to rest: {shaft:?}");
    }
    seconds
}

fn assert_level(shaft: &Shaft, index: u8) {
    assert_eq!(shaft.sensed_floor(), Some(floor(index)));
    assert!((shaft.position() - 3.0 * f64::from(index)).abs() < f64::EPSILON);
    assert!(shaft.speed().abs() < f64::EPSILON && shaft.driven().is_none());
}

// F16
#[test]
fn a_run_takes_the_time_that_the_limits_dictate() {
    let mut shaft = shaft_at(0.0);
    shaft.command(run(Direction::Up, 5));
    let mut coarse = shaft.clone();
    coarse.advance(20.0, true);
    assert_level(&coarse, 5);
    let seconds = until_rest(&mut shaft);
    // 15 m: cruise at 1.6 m/s, and twice the speed change of 1.6/1.0 + 1.0/1.6 s at half speed.
    let expected = 15.0 / 1.6 + 1.6 / 1.0 + 1.0 / 1.6;
    assert!((seconds - expected).abs() < 0.03, "{seconds} s");
    assert_level(&shaft, 5);
}

/// S1: a controller opens the door of a car that it sees at rest at a floor, wherever in its zone. A car
/// that has braked there and is still to move does not stand.
#[test]
fn a_car_that_sets_off_again_as_soon_as_it_has_braked_does_not_stand_before() {
    let mut in_zone = 0;
    for steps in 100..800 {
        let mut shaft = shaft_at(0.0);
        shaft.command(run(Direction::Up, 5));
        for _ in 0..steps {
            shaft.advance(STEP, true);
        }
        shaft.command(DriveCommand::Stop);
        shaft.advance(STEP, true);
        shaft.command(DriveCommand::Home { direction: Direction::Up });
        while shaft.driven().is_some() {
            in_zone += usize::from(
                matches!(shaft.drive, Drive::Braking { speed, .. } if speed < 0.05)
                    && shaft.floor().is_some(),
            );
            shaft.advance(STEP, true);
        }
        assert!(shaft.is_at_rest(true), "{steps} steps: it stands at {} m", shaft.position());
    }
    assert!(in_zone > 10, "{in_zone}");
}

#[test]
fn a_stop_in_flight_brakes_hard_and_short_of_any_floor() {
    let mut shaft = under_way(0.0, 4.0);
    shaft.command(DriveCommand::Stop);
    shaft.advance(STEP, true);
    assert_eq!(shaft.driven(), Some(Direction::Up), "driven until at rest");
    let seconds = until_rest(&mut shaft);
    assert!(seconds < 0.6, "1.6 m/s at 3 m/s² are 0.53 s, not {seconds}");
    assert!(shaft.position() < 4.5 && shaft.sensed_floor().is_none());
}

/// The drive homes to it, and does not set out for the floor that it reports.
#[test]
fn a_wrong_sensor_reports_another_floor_where_its_own_is() {
    let mut shaft = shaft_at(5.0);
    shaft.set_sensor_wrong(floor(2), Some(floor(0)));
    shaft.command(DriveCommand::Home { direction: Direction::Up });
    until_rest(&mut shaft);
    assert_eq!(shaft.wanted_motion(), None);
    assert_eq!((shaft.floor(), shaft.sensed_floor()), (Some(floor(2)), Some(floor(0))));
    shaft.set_sensor_dead(floor(2), true);
    assert_eq!(shaft.sensed_floor(), None, "a dead sensor reports nothing");
    shaft.set_sensor_dead(floor(2), false);
    shaft.set_sensor_wrong(floor(2), None);
    assert_level(&shaft, 2);
}

#[test]
fn homing_creeps_to_the_first_live_sensor() {
    let mut shaft = shaft_at(7.4);
    shaft.set_sensor_dead(floor(2), true);
    shaft.command(DriveCommand::Home { direction: Direction::Down });
    let mut fastest: f64 = 0.0;
    while !shaft.is_at_rest(true) {
        shaft.advance(STEP, true);
        fastest = fastest.max(shaft.speed().abs());
        assert_eq!(shaft.next_stop(), None);
    }
    assert!(fastest <= 0.4 + TOLERANCE);
    assert_level(&shaft, 1);
}

// F9
#[test]
fn a_stuck_motor_is_driven_and_nothing_moves() {
    let mut shaft = shaft_at(0.0);
    shaft.command(run(Direction::Up, 3));
    shaft.advance(1.0, true);
    shaft.set_motor_fault(Some(MotorFault::Stuck));
    shaft.advance(STEP, true);
    let stuck_at = shaft.position();
    shaft.advance(60.0, true);
    assert_eq!(shaft.driven(), Some(Direction::Up));
    assert!((shaft.position() - stuck_at).abs() < f64::EPSILON);
    shaft.command(DriveCommand::Stop);
    shaft.advance(STEP, true);
    assert_eq!(shaft.driven(), None);
    shaft.command(run(Direction::Up, 3));
    shaft.advance(STEP, true);
    assert_eq!(shaft.driven(), Some(Direction::Up));
    shaft.set_motor_fault(None);
    until_rest(&mut shaft);
    assert_level(&shaft, 3);
}

#[test]
fn the_constant_drive_takes_two_seconds_between_floors_and_half_a_second_past_one() {
    let mut shaft = shaft_at(0.0);
    shaft.command(DriveCommand::Constant(Direction::Up));
    let mut passed = 0.0;
    for (seconds, at) in
        [(0.24, Some(0)), (0.26, None), (2.24, None), (2.26, Some(1)), (2.76, None)]
    {
        shaft.advance(seconds - passed, true);
        passed = seconds;
        assert_eq!(shaft.sensed_floor().map(Floor::index), at, "{seconds} s");
    }
    shaft.command(DriveCommand::Constant(Direction::Down));
    shaft.advance(300.0, true);
    assert_level(&shaft, 0);
}

/// Storeys of 2.8, 3.2 and 4.8 m.
#[test]
fn a_car_levels_at_floors_that_are_not_equally_far_apart() {
    let landing = |height: u32| Landing::new(&height.to_string(), height);
    let floors = [0, 2_800, 6_000, 10_800].map(landing).into();
    let building = Building::new(floors, Vec::new()).unwrap();
    let config = CarConfig { building, ..CarConfig::new(FloorCount::new(4).unwrap()) };
    let mut shaft = Shaft::new(&config, 0.0);
    for (direction, stop_at, height) in
        [(Direction::Up, 1, 2.8), (Direction::Up, 3, 10.8), (Direction::Down, 2, 6.0)]
    {
        shaft.command(run(direction, stop_at));
        until_rest(&mut shaft);
        assert_eq!(shaft.sensed_floor(), Some(floor(stop_at)));
        assert!((shaft.position() - height).abs() < f64::EPSILON, "{}", shaft.position());
    }
    // From one sensor to the next in 2 s, however far that is.
    shaft.command(DriveCommand::Constant(Direction::Up));
    shaft.advance(2.24, true);
    assert_eq!(shaft.sensed_floor(), None);
    shaft.advance(0.02, true);
    assert_eq!(shaft.sensed_floor(), Some(floor(3)));
    assert!((place(&config.heights(), 8.4) - 2.5).abs() < TOLERANCE);
}

#[derive(Debug, Clone)]
enum Happening {
    Command(DriveCommand),
    Steps(u16),
}

fn happening() -> impl Strategy<Value = Happening> {
    let direction = prop_oneof![Just(Direction::Up), Just(Direction::Down)];
    prop_oneof![
        3 => (direction.clone(), 0_u8..6).prop_map(|(d, f)| Happening::Command(run(d, f))),
        1 => direction.prop_map(|direction| Happening::Command(DriveCommand::Home { direction })),
        4 => (1_u16..400).prop_map(Happening::Steps),
    ]
}

proptest! {
    // Whatever it is told, and whenever: the limits hold and the car ends level at a floor.
    #[test]
    fn a_levelling_drive_keeps_its_limits_and_ends_at_a_floor(
        start in 0.0..15.0_f64,
        happenings in prop::collection::vec(happening(), 1..24),
    ) {
        let limits = Kinematics::default();
        let mut shaft = shaft_at(start);
        let mut last_gain = 0.0;
        for happening in happenings {
            let steps = match happening {
                Happening::Command(command) => {
                    shaft.command(command);
                    continue;
                }
                Happening::Steps(steps) => steps,
            };
            for _ in 0..steps {
                let (speed, position) = (shaft.speed(), shaft.position());
                shaft.advance(STEP, true);
                let moved = shaft.position() - position;
                let due = f64::midpoint(speed, shaft.speed()) * STEP;
                prop_assert!((moved - due).abs() <= 1e-4, "jumped {moved} m, not {due} m");
                prop_assert!(shaft.speed().abs() <= limits.rated_speed + TOLERANCE);
                let gain = shaft.speed() - speed;
                prop_assert!(gain.abs() <= limits.acceleration * STEP + TOLERANCE);
                let pulled = (gain - last_gain).abs();
                last_gain = gain;
                prop_assert!(pulled <= limits.jerk * STEP * STEP + TOLERANCE, "{pulled} in {shaft:?}");
                prop_assert!((0.0..=15.0).contains(&shaft.position()));
            }
        }
        // Every command ends at a floor, unless the car already stood in a terminal zone.
        until_rest(&mut shaft);
        if shaft.command != DriveCommand::Stop {
            let level = shaft.position() / 3.0;
            prop_assert!((level - level.round()).abs() < TOLERANCE, "rests at {}", shaft.position());
        }
    }

    #[test]
    fn a_new_target_at_or_beyond_the_next_stop_is_reached_exactly(
        first in 1_u8..6,
        steps in 0_u16..1200,
        wanted in 0_u8..6,
    ) {
        let mut shaft = shaft_at(0.0);
        shaft.command(run(Direction::Up, first));
        (0..=steps).for_each(|_| shaft.advance(STEP, true));
        let next_stop = shaft.next_stop();
        shaft.command(run(Direction::Up, wanted));
        shaft.advance(STEP, true);
        if let Some(next_stop) = next_stop {
            prop_assert!(next_stop <= floor(first));
            until_rest(&mut shaft);
            assert_level(&shaft, wanted.max(next_stop.index()));
        }
    }
}
