//! Faults of the drive and of the sensors: the car leaves the group, and latches if its motor is
//! driven without progress, whatever else fails.

use std::time::Duration;

use elevator_driver::{
    Direction, DoorState, DriveFeedback, KeySwitch, MotorCommand, PanelEvent, PanelInputs,
};

use super::shaft::{Door, Drive, TICK, World, floor};
use crate::car::{Car, CarEvent, CarSettings, HangCause, ServedCall};
use crate::model::{Availability, Reason, Unavailable};

/// Ten minutes.
const TEN_MINUTES: u32 = 6_000;

fn availability(world: &World) -> Availability {
    world.car.view(world.now).availability
}

fn is_out_for(world: &World, reason: Unavailable) -> bool {
    availability(world) == Availability::Unavailable(reason)
}

/// A car at floor 0 with this drive, which is called to floor 3.
fn called_with(drive: Drive) -> World {
    let mut world = World::at(0).settled();
    world.faults.drive = drive;
    world.press_hall(3, Direction::Up);
    world
}

/// A car with these settings in place of the usual ones.
fn refit(world: &mut World, change: impl FnOnce(&mut CarSettings)) {
    let mut settings = world.car.settings().clone();
    change(&mut settings);
    world.car = Car::new(settings);
    world.reconnect();
    world.run(10);
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
    world.run_until("out of the group", |w| is_out_for(w, Unavailable::DriveFault));
    assert!(world.departures() <= 2);
    let told = world.times_in_service();
    world.run_until("hung", World::is_hung);
    assert_eq!(world.times_in_service(), told, "it proves itself before it comes back");
    assert!(world.departures() <= 10, "{} departures", world.departures());
    assert!(world.now.since_start() < Duration::from_mins(10));
    assert!(matches!(world.hang().unwrap().cause, HangCause::OffTarget(_)));
}

// H5
#[test]
fn driven_time_of_retries_adds_up_to_the_flight_limit() {
    let mut world = World::at(0).settled();
    refit(&mut world, |settings| {
        settings.flight_limit = Duration::from_millis(2_500);
    });
    world.faults.drive = Drive::Trips(10);
    world.press_car(3);
    world.run_until("hung", World::is_hung);
    let evidence = world.hang().unwrap();
    assert_eq!(evidence.cause, HangCause::NoProgress);
    assert!(evidence.actual >= evidence.expected);
    assert_eq!(world.departures(), 3);
}

// H5, S1
#[test]
fn passengers_can_get_out_of_a_car_whose_drive_fails() {
    let mut world = called_with(Drive::Lazy);
    let opened = |w: &World| {
        w.count(|event| matches!(event, CarEvent::DoorChanged { to, .. } if *to == DoorState::Open))
    };
    world.run_until("the door opens", |w| opened(w) == 1);
    assert!(is_out_for(&world, Unavailable::DriveFault));
    assert!(world.violations.is_empty(), "{:#?}", world.violations);
}

// O7
#[test]
fn dead_sensor_at_the_stop_of_a_drive_that_does_not_level_leaves_the_floor_out() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::NoLevelling;
    world.faults.dead = [floor(2)].into();
    world.press_car(2);
    world.press_car(4);
    world.run_until("floor 4 is served", |w| w.served_at(ServedCall::Car(floor(4))).is_some());
    world.run(TEN_MINUTES);
    let tries = world.count(|event| *event == CarEvent::FloorUnreachable(floor(2)));
    assert!((5..=11).contains(&tries), "{tries} tries in ten minutes, one a minute");
    assert!(world.departures() <= 2 * tries, "{} departures", world.departures());
    assert_eq!(availability(&world), Availability::InService);
    assert!(!world.is_hung());
    world.faults.dead.clear();
    world.run_until("all served", World::is_quiet);
}

// O7
#[test]
fn car_parked_at_the_end_of_the_shaft_gets_away_when_its_sensor_dies() {
    for end in [0, 5] {
        let mut world = World::at(end).settled();
        world.faults.dead = [floor(end)].into();
        world.press_car(3);
        world.run_until("all served", World::is_quiet);
        world.run_until("in service", |w| availability(w) == Availability::InService);
        assert!(!world.is_hung());
    }
}

// H5
#[test]
fn car_without_a_working_sensor_latches() {
    let mut world = World::at(0).settled();
    world.press_car(3);
    world.run_until("on its way", World::is_moving);
    world.faults.dead = world.floors.floors().collect();
    world.run_until("hung", World::is_hung);
    assert!(world.now.since_start() < Duration::from_mins(5), "{}", world.now);
}

// H1, O7
#[test]
fn drive_that_does_not_start_backs_off_and_calls_nobody_off() {
    let mut world = called_with(Drive::Lazy);
    world.run_until("refused", |w| is_out_for(w, Unavailable::DriveFault));
    let told = world.times_in_service();
    world.run(TEN_MINUTES);
    assert_eq!(world.times_in_service(), told, "the call stays with the others");
    let refusals = world.count(|event| *event == CarEvent::DriveRefused);
    assert!((3..=7).contains(&refusals), "{refusals} tries in ten minutes");
    assert!(!world.is_hung());
    world.faults.drive = Drive::Sound;
    world.run_until("proven", |w| availability(w) == Availability::InService);
    world.run_until("all served", World::is_quiet);
}

// H5
#[test]
fn drive_that_runs_the_wrong_way_is_stopped_at_once_and_latches() {
    for drive in [Drive::Reversed, Drive::ReversedUnseen] {
        let mut world = World::at(2).settled();
        world.faults.drive = drive;
        world.press_car(4);
        world.run_until("out of the group", |w| is_out_for(w, Unavailable::DriveFault));
        assert!(world.floor() >= Some(floor(1)) || world.floor().is_none());
        assert_eq!(world.car.motor(), MotorCommand::Stop);
        world.run_until("hung", World::is_hung);
        assert!(world.departures() <= 4, "{drive:?}: {} departures", world.departures());
    }
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

// H1, H5
#[test]
fn stuck_motor_of_a_controller_that_stalls_over_and_over_still_latches() {
    let mut world = called_with(Drive::Sound);
    world.run_until("on its way", World::is_moving);
    world.faults.drive = Drive::Stuck;
    for _ in 0..1_000 {
        world.run(40);
        if world.is_hung() {
            return;
        }
        world.car.handle_interrupted(std::time::Duration::ZERO, world.now);
    }
    panic!("not hung in an hour: {:?}", world.car);
}

// H5
#[test]
fn car_that_sticks_just_as_it_reaches_its_stop_latches() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::Overshoots;
    world.press_car(1);
    world.run_until("at its stop", |w| w.floor() == Some(floor(1)));
    world.pace = 0.0;
    world.run_until("hung", World::is_hung);
    assert!(world.now.since_start() < Duration::from_mins(1), "{}", world.now);
}

// H5, O7
#[test]
fn car_that_slips_off_its_stops_leaves_the_group_and_latches() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::Slips;
    for stop in [3, 1, 4, 2, 3, 1] {
        world.press_car(stop);
        world.run_until("served or hung", |w| w.is_quiet() || w.is_hung());
    }
    assert!(world.is_hung());
    let out = CarEvent::AvailabilityChanged(Some(Reason::Other(Unavailable::DriveFault)));
    assert!(world.events.contains(&out));
    assert!(world.departures() <= 10, "{} departures", world.departures());
}

// H5, O7
#[test]
fn car_that_slips_off_its_stops_at_creeping_speed_too_latches() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::SlipsAlways;
    world.press_car(3);
    world.run_until("hung", World::is_hung);
    assert!(world.now.since_start() < Duration::from_mins(10), "{}", world.now);
    let cause = world.hang().unwrap().cause;
    assert!(matches!(cause, HangCause::OffTarget(_)), "{cause:?}");
}

// H5, O7
#[test]
fn car_that_stops_just_beyond_stops_whose_sensors_it_saw_has_no_dead_sensor() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::StopsLate;
    for stop in [3, 1, 4, 2, 3, 1, 4] {
        world.press_car(stop);
        world.run_until("served or hung", |w| w.is_quiet() || w.is_hung());
    }
    assert!(world.is_hung());
    let told = CarEvent::OffTarget { stop_at: floor(3), at: Some(floor(4)) };
    assert!(world.events.contains(&told), "{:#?}", world.events);
}

// H5
#[test]
fn missed_flight_is_judged_where_the_door_is_not_closed() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::Trips(5);
    world.press_car(3);
    world.run_until("on its way", World::is_moving);
    world.run_until("tripped", |w| !w.is_moving());
    world.faults.door = Door::Pried;
    world
        .run_until("judged", |w| w.count(|event| matches!(event, CarEvent::OffTarget { .. })) == 1);
    assert_ne!(world.door(), DoorState::Closed);
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
}

// H1, H5
#[test]
fn motor_that_does_not_stop_latches_whatever_time_the_controller_loses_meanwhile() {
    let mut world = called_with(Drive::Sound);
    world.run_until("on its way", World::is_moving);
    world.faults.drive = Drive::Welded;
    world.stop = true;
    let stall = Duration::from_millis(200);
    for _ in 0..60 {
        world.run(5);
        if world.is_hung() {
            break;
        }
        world.car.handle_interrupted(stall, world.now);
    }
    assert!(world.is_hung());
    let limit = world.car.settings().flight_limit;
    assert!(world.now.since_start() > limit * 5 / 3, "{}", world.now);
}

// H1: homing that is broken off, and a car that glides to another floor.
#[test]
fn interrupted_car_that_comes_to_rest_at_another_floor_got_somewhere() {
    let mut world = World::above(2);
    world.run_until("homing", World::is_moving);
    world.faults.dead = [floor(2)].into();
    for _ in 0..4 {
        // All free interruptions are used up, and the evidence stays.
        world.car.handle_interrupted(Duration::ZERO, world.now);
        world.run_until("homing again", World::is_moving);
        world.run(1);
    }
    world.run_until("just above floor 1", |w| w.is_next_to(1));
    let driven = |w: &World| w.car.supervision.progress.driven.total(w.now);
    let before = driven(&world);
    assert!(before >= 3 * TICK, "{before:?}");
    // The command to stop comes a moment too late.
    world.car.handle_interrupted(Duration::ZERO, world.now);
    world.run(10);
    assert_eq!(world.floor(), Some(floor(1)));
    assert_eq!(availability(&world), Availability::InService);
    assert!(driven(&world) <= TICK, "{:?}", driven(&world));
}

// H5
#[test]
fn drive_that_trips_while_it_looks_for_a_floor_is_spared_and_latches() {
    let mut world = World::above(2);
    world.faults.drive = Drive::Trips(2);
    let mut starts = 0;
    while !world.is_hung() {
        let at_rest = !world.is_moving();
        world.tick();
        starts += u32::from(at_rest && world.is_moving());
        let now = world.now;
        assert!(now.since_start() < Duration::from_mins(10), "{starts}");
    }
    assert!(starts <= 10, "{starts} starts");
}

// H5: it passes one sensor over and over, which is no progress.
#[test]
fn drive_that_finds_no_floor_but_passes_some_latches() {
    let mut world = World::at(0).settled();
    world.faults.drive = Drive::NeverLevels;
    world.press_car(2);
    world.run_until("hung", World::is_hung);
    let took = world.now.since_start();
    assert!(took < Duration::from_mins(5), "{took:?}");
}

// H1: it looks for a floor downwards first each time, and turns round at the end of the shaft.
#[test]
fn search_that_is_interrupted_over_and_over_is_no_hang() {
    let mut world = World::above(0);
    world.faults.dead = [floor(0)].into();
    for _ in 0..40 {
        world.run_until("down", World::is_moving);
        world.run_until("at the end", |w| !w.is_moving());
        world.run_until("up", World::is_moving);
        world.run(2);
        world.stop = true;
        world.run(20);
        world.stop = false;
        world.run(2);
        assert!(!world.is_hung(), "{:?}", world.hang());
    }
    world.run_until("in service", |w| availability(w) == Availability::InService);
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

// H5
#[test]
fn motor_that_does_not_stop_latches_though_the_line_comes_and_goes() {
    let mut world = called_with(Drive::Sound);
    world.run_until("on its way", World::is_moving);
    world.faults.drive = Drive::Welded;
    for _ in 0..30 {
        world.disconnect();
        world.run(1);
        world.reconnect();
        world.run(40);
        if world.is_hung() {
            return;
        }
    }
    panic!("not hung: {:?}", world.car);
}

// H1
#[test]
fn time_for_which_a_mechanic_ran_the_motor_is_no_evidence() {
    let mut world = World::at(2).settled();
    world.key = KeySwitch::OutOfService;
    world.run(100);
    world.faults.drive = Drive::Welded;
    world.run(700);
    world.faults.drive = Drive::Sound;
    world.run(50);
    world.key = KeySwitch::Normal;
    world.press_car(4);
    world.run_until("served", World::is_quiet);
    assert!(!world.is_hung());
}

// H1: the floor and the end of the run are told in one message, as over an elevator server.
#[test]
fn floor_beyond_a_dead_sensor_counts_when_the_car_stops_there() {
    let mut world = World::at(1).settled();
    world.press_car(2);
    world.run_until("on its way", World::is_moving);
    let told = |at: Option<u8>, drive| {
        PanelEvent::Inputs(PanelInputs {
            floor: at.map(floor),
            drive,
            door: DoorState::Closed,
            ..PanelInputs::default()
        })
    };
    let driven = DriveFeedback::Driven(Direction::Up);
    world.car.handle_panel(&told(None, driven), world.now);
    let later = world.now + Duration::from_secs(6);
    let stopped = told(Some(3), DriveFeedback::Stopped);
    world.car.handle_panel(&stopped, later);
    world.car.handle_timeout(later + Duration::from_secs(1));
    assert!(world.car.locked_out().eq([floor(2)]));
    let counted = world.car.supervision.progress.driven.total(later);
    assert_eq!(counted, Duration::ZERO);
}

// S3: in a fire nobody can wait for minutes.
#[test]
fn fire_recall_does_not_wait_out_a_back_off() {
    for above in [false, true] {
        let mut world = World::at(3).settled();
        world.faults.drive = Drive::Lazy;
        if above {
            world = World::above(3);
            world.faults.drive = Drive::Lazy;
        } else {
            world.press_car(5);
        }
        let refusals = |w: &World| w.count(|event| *event == CarEvent::DriveRefused);
        let opened = |w: &World| {
            w.count(
                |event| matches!(event, CarEvent::DoorChanged { to, .. } if *to == DoorState::Open),
            )
        };
        world.run_until("refused for the fifth time", |w| refusals(w) == 5);
        let before = opened(&world);
        world.key = KeySwitch::FireRecall;
        world.run(600);
        // Those in a car at a floor can get out at each try.
        assert!(above || opened(&world) >= before + 2, "{}", opened(&world));
        world.key = KeySwitch::Normal;
        world.run(100);
        world.faults.drive = Drive::Sound;
        world.key = KeySwitch::FireRecall;
        let turned = world.now;
        world.run_until("at the recall floor", |w| {
            w.floor() == Some(floor(0)) && w.door() == DoorState::Open
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
    world.run_until("refused", |w| is_out_for(w, Unavailable::DriveFault));
    world.faults.drive = Drive::Sound;
    world.run_until("proven", |w| availability(w) == Availability::InService);
    assert!(world.departures() <= 4, "{} departures", world.departures());
    assert!(!world.is_hung());
}

// H1
#[test]
fn floor_that_homing_finds_counts_even_if_the_line_breaks_before_the_car_is_at_rest() {
    let mut world = World::above(2);
    world.run_until("homing", World::is_moving);
    for _ in 0..4 {
        // All free interruptions are used up, and the evidence stays.
        world.car.handle_interrupted(Duration::ZERO, world.now);
        world.run_until("homing again", World::is_moving);
    }
    world.run_until("sensor seen", |w| w.floor().is_some());
    world.disconnect();
    world.reconnect();
    assert_eq!(world.car.supervision.progress.driven.total(world.now), Duration::ZERO);
    world.run_until("in service", |w| availability(w) == Availability::InService);
}

// S3
#[test]
fn riders_keep_their_direction_through_a_back_off() {
    let mut world = World::at(3).settled();
    world.press_car(5);
    world.press_car(0);
    world.run_until("under way", World::is_moving);
    let up = world.car.view(world.now).direction;
    world.faults.drive = Drive::Lazy;
    world.trip_drive();
    world.run_until("out of the group", |w| is_out_for(w, Unavailable::DriveFault));
    world.faults.drive = Drive::Sound;
    world.run_until("under way again", |w| {
        w.car.motor() != MotorCommand::Stop && w.floor().is_some()
    });
    assert_eq!(world.car.view(world.now).direction, up);
}

/// A car of 1.2 s a storey that has learned the way between floors 0 and 1 and between 0 and 3.
fn experienced() -> World {
    let mut world = World::at(0).settled();
    refit(&mut world, |settings| {
        settings.nominal_flight = Duration::from_millis(1_300);
    });
    world.pace = 0.8;
    for _ in 0..6 {
        for stop in [1, 0, 3, 0] {
            world.press_car(stop);
            world.run_until("served", World::is_quiet);
        }
    }
    assert_eq!(availability(&world), Availability::InService);
    world
}

// O7
#[test]
fn stuck_car_is_overdue_long_before_it_hangs_and_comes_back_when_it_arrives() {
    let mut world = experienced();
    world.press_car(1);
    world.run_until("on its way", World::is_moving);
    let died = world.now;
    world.faults.drive = Drive::Stuck;
    world.run_until("overdue", |w| is_out_for(w, Unavailable::Overdue));
    let noticed = world.now.since(died);
    let flight = Duration::from_millis(1_300);
    assert!(noticed <= flight * 13 / 10, "after {noticed:?} of a flight of {flight:?}");
    world.faults.drive = Drive::Sound;
    world.run_until("served", World::is_quiet);
    assert_eq!(availability(&world), Availability::InService);
    world.faults.drive = Drive::Stuck;
    world.press_car(3);
    world.run_until("hung", World::is_hung);
    let evidence = world.hang().unwrap();
    assert_eq!(evidence.expected, world.car.settings().flight_limit);
    assert!(evidence.actual < evidence.expected + Duration::from_millis(200));
}

/// So many hours are simulated unless `LIFTMESH_CAR_HOURS` says otherwise.
const HOURS: u64 = 48;

// H1
#[test]
fn speed_that_varies_by_a_fifth_raises_no_latch_and_hardly_a_suspicion() {
    let hours = std::env::var("LIFTMESH_CAR_HOURS").map_or(HOURS, |hours| hours.parse().unwrap());
    let mut world = World::at(0).settled();
    refit(&mut world, |settings| {
        settings.nominal_flight = Duration::from_millis(1_200);
    });
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
