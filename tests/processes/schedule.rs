//! Where idle cars wait by the time of the week, by the clock and the time zone of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

use elevator_driver::DoorState;
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

/// The same building in the morning and at night, by nothing but the local time.
#[test]
fn idle_cars_wait_where_the_hour_has_them_wait() {
    let mut building = Building::new(4, Line::Serial);
    for (name, number) in TWO.into_iter().zip(1..) {
        building.install(name, number);
    }
    for (hour, held, floor, cars) in [(23, NIGHT, 3, 1), (8, UP_PEAK, 0, 2)] {
        let schedule = format!("{UP_PEAK}; {NIGHT}");
        for name in TWO {
            building.start_with(name, |command| {
                command.env("TZ", zone(hour)).arg("--dispatch-schedule").arg(&schedule);
            });
        }
        building.wait(&format!("{cars} cars wait at {floor}"), |building| {
            let entry = building.status("A").and_then(|status| status.schedule?.entry);
            let waits = |name: &&&str| {
                let car = building.car(name);
                car.floor == Some(building.floor(floor)) && car.door == DoorState::Closed
            };
            entry.as_deref() == Some(held) && TWO.iter().filter(waits).count() == cars
        });
        building.kill_all(&TWO);
    }
    building.assert_safe();
}
