//! Where idle cars wait by the time of the week, by the clock and the time zone of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

use elevator_driver::{Direction, DoorState};
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

/// In the morning everybody comes in at the bottom; at night one car waits at the top.
const UP_PEAK: &str = "daily 06:00-10:00 park 0";
const NIGHT: &str = "daily 21:00-01:00 park 3 cars 1";

/// A time zone in which this hour of the day is now.
fn zone(hour: u64) -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs();
    let utc = seconds / 3_600 % 24;
    // POSIX counts the hours west of Greenwich.
    format!("LOC{}", i64::try_from(utc).expect("an hour") - i64::try_from(hour).expect("an hour"))
}

fn start(building: &mut Building, hour: u64) {
    let schedule = format!("{UP_PEAK}; {NIGHT}");
    for name in TWO {
        building.start_with(name, |command| {
            command.env("TZ", zone(hour)).arg("--dispatch-schedule").arg(&schedule);
        });
    }
    building.wait_in_service(&TWO);
}

fn entry(building: &Building) -> Option<String> {
    building.status("A")?.schedule?.entry
}

/// Whether this many cars wait at a floor, with closed doors.
fn wait_at(building: &Building, floor: u8, cars: usize) -> bool {
    let there = building.floor(floor);
    let waits = |name: &&&str| {
        let car = building.car(name);
        car.floor == Some(there) && car.door == DoorState::Closed
    };
    TWO.iter().filter(waits).count() == cars
}

/// The same building in the morning and at night, by nothing but the local time.
#[test]
fn idle_cars_wait_where_the_hour_has_them_wait() {
    let mut building = Building::new(4, Line::Serial);
    for (name, number) in TWO.into_iter().zip(1..) {
        building.install(name, number);
    }
    start(&mut building, 8);
    building.wait("the up-peak holds", |building| entry(building).as_deref() == Some(UP_PEAK));
    // A car that has taken a passenger up comes back down without a call.
    building.press("A", building.hall(3, Direction::Down));
    building.wait_all_dark();
    building.wait("both cars wait in the lobby", |building| wait_at(building, 0, 2));

    building.kill_all(&TWO);
    start(&mut building, 23);
    building.wait("the night holds", |building| entry(building).as_deref() == Some(NIGHT));
    building.wait("one car waits at the top", |building| wait_at(building, 3, 1));
    // It goes where it is called, like any other.
    let lamp = building.hall(1, Direction::Up);
    building.serve("B", &TWO, lamp);
    building.wait("one car waits at the top again", |building| wait_at(building, 3, 1));
    building.assert_safe();
}
