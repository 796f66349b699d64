//! A car's node is gone while the car is on its way to a call: another car starts.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};
use rustix::process::Signal;

use crate::samples::Figure;
use crate::site::{CARS, Panels, Which, rest};

const FLOORS: u8 = 12;

/// Where the victim waits, nearer to the call than everybody else.
const NEAR: u8 = 4;

/// How the node goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Kill,
    Suspend,
}

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let mut building = Building::without_parking(FLOORS, Line::Serial, &CARS);
    let mut series = |end| -> Vec<Duration> {
        let victims = CARS.iter().cycle().take(rounds.max(CARS.len()));
        victims.map(|victim| round(&mut building, victim, end)).collect()
    };
    let killed = series(End::Kill);
    let suspended = series(End::Suspend);
    vec![
        Figure::of_times("kill -9 of the car on its way -> another starts", &killed)
            .median_at_most(50.0),
        Figure::of_times("SIGSTOP of the car on its way -> another starts", &suspended)
            .worst_at_most(300.0),
    ]
}

fn round(building: &mut Building, victim: &str, end: End) -> Duration {
    let places = CARS.map(|name| (name, if name == victim { NEAR } else { 0 }));
    rest(building, &places);
    let others: Vec<&str> = CARS.into_iter().filter(|name| *name != victim).collect();
    let call = building.hall(FLOORS - 1, Direction::Down);
    building.press(others[0], call);
    building.wait("the nearest car is on its way", |building| building.car(victim).speed > 1.0);
    let mut panels = Panels::of(building, &others);
    for name in &others {
        assert!(building.car(name).driven.is_none(), "{name} moves already");
    }
    let began = Instant::now();
    match end {
        End::Kill => building.kill(victim),
        End::Suspend => building.signal(victim, Signal::STOP),
    }
    let took = panels.until(Which::Any, |car| car.driven.is_some()) - began;
    building.wait_dark(&others, call);
    match end {
        End::Kill => building.start(victim),
        End::Suspend => building.signal(victim, Signal::CONT),
    }
    took
}
