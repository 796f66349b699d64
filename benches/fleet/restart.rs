//! A process starts: the car lamp that it had promised is lit again.

use std::time::{Duration, Instant};

use liftmesh_harness::building::{Building, Line};

use crate::samples::Figure;
use crate::site::{CARS, Panels, Which, stop};

const FLOORS: u8 = 12;

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let mut building = Building::with_cars(FLOORS, Line::Serial, &CARS);
    stop(&building, &CARS, "on");
    let victims = CARS.iter().cycle().take(rounds.max(CARS.len()));
    let times: Vec<Duration> = victims.map(|name| round(&mut building, name)).collect();
    let what = "start of a process -> its car lamp restored (serial)";
    vec![Figure::of_times(what, &times).median_at_most(50.0)]
}

fn round(building: &mut Building, name: &str) -> Duration {
    let button = building.car_call(FLOORS - 1);
    building.press(name, button);
    building.wait_lit(&[name], button);
    building.kill(name);
    // A panel keeps its lamps; one that has restarted shows none.
    building.panel(name).send("fault panel restart").expect("a fault");
    building.wait_dark(&[name], button);
    let mut panels = Panels::of(building, &[name]);
    let began = Instant::now();
    building.start(name);
    panels.until(Which::All, |car| car.lamps.contains(&button)) - began
}
