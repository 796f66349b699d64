//! Flights that end early. Faults of the drive and of the sensors: the car leaves the group, and
//! may latch.

use std::time::Duration;

use elevator_driver::{Direction, DoorState, KeySwitch, MotorCommand};

use super::shaft::{Drive, Event, World, floor};
use crate::car::{Car, CarEvent, CarSettings, CarTimer, HangCause, ServedCall};
use crate::model::{Reason, Unavailable};

const TEN_MINUTES: u32 = 6_000;

fn called_with(drive: Drive) -> World {
    let mut world = World::at(0).settled();
    world.faults.drive = drive;
    world.press_hall(3, Direction::Up);
    world
}

// H5, O7
#[test]
fn drive_that_trips_loses_its_call_at_once_then_the_group_then_latches() {
    let mut world = called_with(Drive::Trips(10));
    world.run_until("the first trip", |w| w.departures() == 1 && !w.is_moving());
    world.run(40);
    let view = world.car.view(world.now);
    assert!(view.locked_out.contains(floor(3)), "others get the call: {view:?}");
    // Another call, as a group gives it to a car that it counts on.
    world.press_hall(4, Direction::Down);
    world.run_until("out of the group", |w| w.is_out_for(Unavailable::DriveFault));
    assert!(world.departures() <= 2);
    let told = world.times_in_service();
    world.run_until("hung", World::is_hung);
    assert_eq!(world.times_in_service(), told, "it proves itself before it comes back");
    assert!(world.departures() <= 10, "{} departures", world.departures());
    assert!(world.now.since_start() < Duration::from_mins(10));
    assert!(matches!(world.hang().unwrap().cause, HangCause::OffTarget(_)));
}

// O7
#[test]
fn dead_sensor_at_a_stop_leaves_the_floor_out_though_the_drive_does_not_level() {
    for drive in [Drive::Sound, Drive::NoLevelling] {
        let mut world = World::at(0).settled();
        world.faults.drive = drive;
        world.faults.dead = [floor(2)].into();
        world.press_car(2);
        world.press_car(4);
        world.run_until("floor 4 is served", |w| {
            w.served_at(ServedCall::Car(floor(4).into())).is_some()
        });
        world.run(TEN_MINUTES);
        let tries = world.count(|event| *event == CarEvent::FloorUnreachable(floor(2)));
        assert!((5..=11).contains(&tries), "{tries} tries in ten minutes, one a minute");
        assert!(world.departures() <= 2 * tries, "{} departures", world.departures());
        assert!(world.is_in_service());
        assert!(!world.is_hung());
        world.faults.dead.clear();
        world.run_until("all served", World::is_quiet);
    }
}

// O7
#[test]
fn car_parked_at_the_end_of_the_shaft_gets_away_when_its_sensor_dies() {
    for end in [0, 5] {
        let mut world = World::at(end).settled();
        world.faults.dead = [floor(end)].into();
        world.press_car(3);
        world.run_until("all served", World::is_quiet);
        world.run_until("in service", World::is_in_service);
        assert!(!world.is_hung());
    }
}

// H1, O7, S1
#[test]
fn drive_that_does_not_start_backs_off_and_calls_nobody_off() {
    let mut world = called_with(Drive::Lazy);
    world.run_until("refused", |w| w.is_out_for(Unavailable::DriveFault));
    let told = world.times_in_service();
    world.run_until("its passengers can get out", |w| w.openings() > 0);
    world.run(TEN_MINUTES);
    assert_eq!(world.times_in_service(), told, "the call stays with the others");
    let refusals = world.count(|event| *event == CarEvent::DriveRefused);
    assert!((3..=7).contains(&refusals), "{refusals} tries in ten minutes");
    assert!(!world.is_hung());
    world.faults.drive = Drive::Sound;
    world.run_until("proven", World::is_in_service);
    world.run_until("all served", World::is_quiet);
}

// H5
#[test]
fn drive_that_runs_the_wrong_way_is_stopped_at_once_and_latches() {
    let mut world = World::at(2).settled();
    world.faults.drive = Drive::Reversed;
    world.press_car(4);
    world.run_until("out of the group", |w| w.is_out_for(Unavailable::DriveFault));
    assert!(world.floor() >= Some(floor(1)) || world.floor().is_none());
    assert_eq!(world.car.motor(), MotorCommand::Stop);
    world.run_until("hung", World::is_hung);
    assert!(world.departures() <= 4, "{} departures", world.departures());
}

// H5
#[test]
fn drive_that_passes_one_stop_after_the_other_is_stopped() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::Overshoots;
    world.press_car(1);
    world.run_until("stopped", |w| w.count(|e| matches!(e, CarEvent::OffTarget { .. })) > 0);
    let at = world.car.indicator();
    assert!(at <= Some(floor(3)), "stopped no earlier than at {at:?}");
    world.run_until("hung", World::is_hung);
}

// H1, H5: the time that the controller loses does not count.
#[test]
fn motor_without_progress_latches_whatever_happens_over_and_over() {
    let stalls: Event = |world| world.car.handle_interrupted(Duration::ZERO, world.now);
    let loses_time: Event =
        |world| world.car.handle_interrupted(Duration::from_millis(200), world.now);
    let line_is_cut: Event = |world| {
        world.disconnect();
        world.run(1);
        world.reconnect();
    };
    let sensors_die: Event = |world| world.faults.dead = world.floors.floors().collect();
    for (drive, stop, ticks, rounds, happens) in [
        (Drive::Sound, false, 1, 2_980, sensors_die),
        (Drive::Stuck, false, 40, 1_000, stalls),
        (Drive::Welded, true, 5, 60, loses_time),
        (Drive::Welded, false, 40, 30, line_is_cut),
    ] {
        let mut world = called_with(Drive::Sound);
        world.run_until("on its way", World::is_moving);
        world.faults.drive = drive;
        world.stop = stop;
        let mut round = 0;
        while !world.is_hung() {
            assert!(round < rounds, "{drive:?}: not hung: {:?}", world.car);
            round += 1;
            world.run(ticks);
            happens(&mut world);
        }
        let limit = world.car.settings().flight_limit;
        assert!(!stop || world.now.since_start() > limit * 5 / 3, "{}", world.now);
    }
}

// H5, O7
#[test]
fn car_that_misses_its_stops_leaves_the_group_and_latches() {
    for drive in [Drive::Slips, Drive::StopsLate] {
        let mut world = World::at(0).settled();
        world.faults.drive = drive;
        for stop in [3, 1, 4, 2, 3, 1, 4] {
            world.press_car(stop);
            world.run_until("served or hung", |w| w.is_quiet() || w.is_hung());
        }
        assert!(world.is_hung(), "{drive:?}");
        let out = CarEvent::AvailabilityChanged(Some(Reason::Other(Unavailable::DriveFault)));
        assert!(world.events.contains(&out), "{drive:?}");
        assert!(world.departures() <= 10, "{drive:?}: {} departures", world.departures());
        assert!(world.now.since_start() < Duration::from_mins(10), "{drive:?} {}", world.now);
        assert!(matches!(world.hang().unwrap().cause, HangCause::OffTarget(_)), "{drive:?}");
        // A sensor that was seen is not dead.
        let told = CarEvent::OffTarget { stop_at: floor(3), at: Some(floor(4)) };
        assert!(drive != Drive::StopsLate || world.events.contains(&told), "{:#?}", world.events);
    }
}

// H5
#[test]
fn motor_that_does_not_stop_when_it_is_told_to_latches() {
    for key in [KeySwitch::Normal, KeySwitch::Independent, KeySwitch::FireRecall] {
        let mut world = called_with(Drive::Sound);
        world.run_until("on its way", World::is_moving);
        world.faults.drive = Drive::Welded;
        world.stop = true;
        world.key = key;
        let told = world.now;
        world.run_until("hung", World::is_hung);
        let took = world.now.since(told);
        let limit = world.car.settings().flight_limit;
        assert!(took < limit + Duration::from_secs(1), "{took:?}");
        let evidence = world.hang().unwrap();
        assert_eq!(evidence.cause, HangCause::NotStopped);
        assert_eq!(evidence.expected, limit);
        assert!(evidence.actual >= limit && evidence.actual < took);
    }
}

// H1: a mechanic may run the car by means of the panel's own.
#[test]
fn motor_that_somebody_else_runs_in_a_car_that_is_out_of_service_does_not_latch() {
    let mut world = World::at(2).settled();
    world.key = KeySwitch::OutOfService;
    world.run(100);
    world.faults.drive = Drive::Welded;
    world.run(TEN_MINUTES);
    assert!(!world.is_hung());
    world.faults.drive = Drive::Sound;
    world.run(50);
    world.key = KeySwitch::Normal;
    world.press_car(4);
    world.run_until("served", World::is_quiet);
    assert!(!world.is_hung(), "what it ran meanwhile is no evidence");
}

// H1: floor 1 alone has a sensor that works.
#[test]
fn dead_sensors_at_both_ends_are_no_hang() {
    let mut world = World::at(1).settled();
    let others = world.floors.floors().filter(|at| *at != floor(1));
    world.faults.dead = others.collect();
    for _ in 0..60 {
        for stop in [0, 2] {
            world.press_car(stop);
            world.run(300);
            assert!(!world.is_hung(), "{:?}", world.hang());
        }
    }
}

// S3: in a fire nobody can wait for minutes.
#[test]
fn fire_recall_does_not_wait_out_a_back_off() {
    for above in [false, true] {
        let mut world = if above { World::above(3) } else { World::at(3).settled() };
        world.faults.drive = Drive::Lazy;
        if !above {
            world.press_car(5);
        }
        let refusals = |w: &World| w.count(|event| *event == CarEvent::DriveRefused);
        world.run_until("refused for the fifth time", |w| refusals(w) == 5);
        let before = world.openings();
        world.key = KeySwitch::FireRecall;
        world.run(600);
        // Those in a car at a floor can get out at each try.
        assert!(above || world.openings() >= before + 2, "{}", world.openings());
        world.key = KeySwitch::Normal;
        world.run(100);
        world.faults.drive = Drive::Sound;
        world.key = KeySwitch::FireRecall;
        let turned = world.now;
        world.run_until("at the recall floor", |w| {
            w.floor() == Some(floor(0)) && w.door == DoorState::Open
        });
        let took = world.now.since(turned);
        assert!(took < Duration::from_secs(20), "{took:?}");
    }
}

// H1, O7
#[test]
fn proving_run_does_not_go_to_and_fro_before_a_dead_sensor() {
    let mut world = called_with(Drive::Lazy);
    world.faults.dead = [floor(1)].into();
    world.run_until("refused", |w| w.is_out_for(Unavailable::DriveFault));
    world.faults.drive = Drive::Sound;
    world.run_until("proven", World::is_in_service);
    assert!(world.departures() <= 4, "{} departures", world.departures());
    assert!(!world.is_hung());
}

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
    world.car.handle_interrupted(Duration::ZERO, world.now);
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

/// So many hours are simulated unless `LIFTMESH_CAR_HOURS` says otherwise.
const HOURS: u64 = 48;

// H1
#[test]
fn speed_that_varies_by_a_fifth_raises_no_latch_and_hardly_a_suspicion() {
    let hours = std::env::var("LIFTMESH_CAR_HOURS").map_or(HOURS, |hours| hours.parse().unwrap());
    let mut world = World::at(0);
    let nominal_flight = Duration::from_millis(1_200);
    world.car = Car::new(CarSettings { nominal_flight, ..world.car.settings().clone() });
    world.reconnect();
    let mut random = fastrand::Rng::with_seed(hours);
    let (mut suspicions, mut next_fault) = (0, 0);
    while world.now.since_start() < Duration::from_hours(hours) {
        // 1 / 1.5 is to 1 as 0.8 to 1.2.
        world.pace = 1.0 / (1.0 + 0.5 * random.f64());
        world.press_car(random.u8(0..6));
        let pressed = world.now;
        while !world.is_quiet() && !world.is_hung() {
            world.tick();
            assert!(world.now.since(pressed) < Duration::from_hours(1), "{:?}", world.car);
            // A floor that is locked out keeps its call for a minute.
            if world.car.locked_out().next().is_some() {
                world.car_calls.clear();
                world.update_stops();
            }
        }
        let day = world.now.since_start().as_secs() / (24 * 3_600);
        if day >= next_fault {
            next_fault = day + 2;
            world.faults.dead = [floor(random.u8(0..6))].into();
        }
        suspicions += world.count(|event| {
            let overdue = Reason::Other(Unavailable::Overdue);
            *event == CarEvent::AvailabilityChanged(Some(overdue))
        });
        assert!(!world.is_hung(), "{:?}", world.hang());
        world.events.clear();
        world.served.clear();
    }
    let days = usize::try_from(hours.div_ceil(24)).unwrap();
    println!("{suspicions} false suspicions in {hours} hours of service");
    assert!(suspicions <= days, "{suspicions} false suspicions in {days} days");
}
