//! A wide bank with every hall call lit, whose nodes share one processor: a button is pressed, and
//! its lamp is lit.

use std::time::{Duration, Instant};

use liftmesh_harness::building::{Building, Line};
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::samples::Figure;
use crate::site::{BANK, Panels, Which, halls, while_repeating};

const FLOORS: u8 = 40;

/// A press is quick to provoke, so each round presses this many buttons.
const PRESSES: usize = 24;

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let building = Building::with_cars(FLOORS, Line::Serial, &BANK);
    for name in BANK {
        confine(&building, name);
    }
    let buttons = halls(&building, FLOORS);
    let used = || BANK.iter().map(|name| building.processor_time(name)).sum::<f64>();
    let (began, before) = (Instant::now(), used());
    let mut panels = BANK.map(|name| building.panel(name));
    let press_what_is_dark = || {
        for panel in &mut panels {
            let lamps = panel.state().expect("a state").lamps;
            for button in buttons.iter().filter(|button| !lamps.contains(button)) {
                panel.press(*button).expect("a press");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let times = while_repeating(press_what_is_dark, || {
        building.wait("every hall call is lit", |building| {
            let lamps = building.car("A").lamps;
            buttons.iter().filter(|button| lamps.contains(button)).count() * 10 >= buttons.len() * 9
        });
        presses(&building, rounds * PRESSES)
    });
    let share = (used() - before) / began.elapsed().as_secs_f64() * 100.0;
    vec![
        Figure::of_times("press -> own lamp, 8 cars x 40 floors, all lit, one core", &times)
            .median_at_most(15.0),
        Figure::new("the eight nodes, share of one core", "%", vec![share]),
    ]
}

/// Lets a node run on the first processor alone.
fn confine(building: &Building, name: &str) {
    let mut first = CpuSet::new();
    first.set(0);
    let tasks = format!("/proc/{}/task", building.process_id(name));
    for task in std::fs::read_dir(tasks).expect("a running process") {
        let task = task.expect("a thread").file_name();
        let task = task.to_str().and_then(|task| task.parse().ok());
        let task = rustix::process::Pid::from_raw(task.expect("a number"));
        sched_setaffinity(task, &first).expect("a processor");
    }
}

/// Presses car buttons, at one car after the other; hands back how long the lamps took.
fn presses(building: &Building, count: usize) -> Vec<Duration> {
    let mut times = Vec::new();
    let floors = (0..FLOORS).cycle();
    for (name, floor) in BANK.iter().cycle().zip(floors.step_by(7)) {
        if times.len() == count {
            break;
        }
        let button = building.car_call(floor);
        let car = building.car(name);
        // At an open door a press makes no order.
        if car.lamps.contains(&button) || car.floor == Some(building.floor(floor)) {
            continue;
        }
        let mut panels = Panels::of(building, &[name]);
        let mut panel = building.panel(name);
        std::thread::sleep(Duration::from_micros(40_300 + 1_700 * (times.len() as u64 % 11)));
        let began = Instant::now();
        panel.press(button).expect("a press");
        let lit = panels.until(Which::All, |car| car.lamps.contains(&button));
        times.push(lit - began);
    }
    times
}
