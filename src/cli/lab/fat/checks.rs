//! The checks, in the order in which they run.

use std::time::Duration;

use elevator_driver::{Button, Direction, Floor};

use super::CARS;
use super::bench::{Bench, Course};

/// What is tried again counts as failed after this many presses, 2 s apart.
const PRESSES: u32 = 5;

/// How long it takes until a lamp shows what has happened.
const LAMP: Duration = Duration::from_secs(2);

/// For how long a door stays open, and for how long it may.
const OPEN: Duration = Duration::from_secs(3);
const OPEN_RANGE: [Duration; 2] = [Duration::from_millis(2_500), Duration::from_secs(4)];

pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) needs_network: bool,
    pub(super) run: fn(&mut Bench<'_>) -> Course,
}

const fn check(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Bench<'_>) -> Course,
) -> Check {
    Check { name, about, needs_network: false, run }
}

pub(super) static CHECKS: [Check; 9] = [
    check("calls", "hall calls are served by some car, cab calls by their own", calls),
    check("lamps", "a hall lamp lights and darkens on all panels, a cab lamp on its own", lamps),
    check("crash", "a cab call survives kill -9 of its controller, and the others go on", crash),
    check("door", "the door is open for 3 s, only at a floor, and opens again there", door),
    check(
        "obstruction",
        "an obstructed door stays open, and other cars serve hall calls",
        obstruction,
    ),
    check("stop", "the stop button loses no call", stop),
    check("motor", "another car serves the hall call of one whose motor fails", motor),
    Check {
        needs_network: true,
        ..check("disconnect", "a car without network serves its calls, and comes back", disconnect)
    },
    Check {
        needs_network: true,
        ..check("packet-loss", "calls are lit and served while packets are lost", packet_loss)
    },
];

/// The floor that is farthest from any car.
fn free_floor(bench: &Bench<'_>) -> Floor {
    let distance = |floor: &Floor| {
        let places = bench.cars.iter().map(|car| car.place());
        let nearest = places.map(|place| (place - f64::from(floor.index())).abs());
        nearest.fold(f64::INFINITY, f64::min)
    };
    let floors = bench.args.floors.floors();
    let farthest = floors.max_by(|a, b| distance(a).total_cmp(&distance(b)));
    farthest.unwrap_or(Floor::BOTTOM)
}

fn hall(bench: &Bench<'_>, floor: Floor) -> Button {
    let is_top = floor == bench.args.floors.top();
    Button::Hall(floor, if is_top { Direction::Down } else { Direction::Up })
}

/// A ride from where this car is to the farther end.
fn ride(bench: &Bench<'_>, car: usize) -> Button {
    let top = bench.args.floors.top();
    let is_high = bench.cars[car].place() * 2.0 > f64::from(top.index());
    Button::Car(if is_high { Floor::BOTTOM } else { top })
}

fn calls(bench: &mut Bench<'_>) -> Course {
    let floors: Vec<Floor> = bench.args.floors.floors().collect();
    let top = bench.args.floors.top();
    let presses = [
        (0, Button::Hall(floors[1], Direction::Up)),
        (1, Button::Hall(floors[2], Direction::Down)),
        (2, Button::Hall(top, Direction::Down)),
        (0, Button::Car(top)),
        (1, Button::Car(Floor::BOTTOM)),
        (2, Button::Car(floors[1])),
    ];
    let calls: Result<Vec<_>, _> =
        presses.into_iter().map(|(panel, button)| bench.press(panel, button)).collect();
    bench.wait_served(&calls?)
}

fn lamps(bench: &mut Bench<'_>) -> Course {
    for panel in [0, 1] {
        let button = hall(bench, free_floor(bench));
        let call = bench.light(panel, button, 1, false)?;
        bench.wait(bench.args.service_limit, &format!("the lamp {button} darkens"), |bench| {
            bench.cars.iter().any(|car| !car.lamps.contains(&button))
        })?;
        let expected = format!("once {button} is dark on one panel, it darkens on all");
        bench.wait(LAMP, &expected, |bench| {
            bench.cars.iter().all(|car| !car.lamps.contains(&button))
        })?;
        bench.wait_served(&[call])?;
    }
    let button = ride(bench, 1);
    let call = bench.light(1, button, 1, false)?;
    bench.hold(
        LAMP / 2,
        &format!("{button}, pressed in car 1, lights in no other car"),
        |bench| [0, 2].iter().all(|car| !bench.cars[*car].lamps.contains(&button)),
    )?;
    bench.wait_served(&[call])
}

fn crash(bench: &mut Bench<'_>) -> Course {
    let hall = hall(bench, free_floor(bench));
    let cab = ride(bench, 0);
    let hall = bench.light(0, hall, 1, false)?;
    bench.light(0, cab, 1, false)?;
    bench.kill(0);
    bench.wait_served(&[hall])?;
    bench.start(0)?;
    let since = bench.now();
    let expected = format!("car 0 opens its door at floor {}, which was lit", cab.floor());
    let limit = bench.args.service_limit;
    bench.wait(limit, &expected, |bench| bench.cars[0].visited(cab.floor(), since))?;
    bench.wait(LAMP, "the lamp darkens", |bench| !bench.cars[0].lamps.contains(&cab))
}

fn door(bench: &mut Bench<'_>) -> Course {
    let cab = ride(bench, 0);
    let first = bench.light(0, cab, 1, false)?;
    bench.wait_served(&[first])?;
    let shut = |bench: &Bench<'_>| !bench.cars[0].door_lamp;
    bench.wait(OPEN * 3, "the door closes", shut)?;
    let opened = bench.cars[0].opened_at().unwrap_or_default();
    let open = bench.cars[0].closed_at.unwrap_or_default().saturating_sub(opened);
    if !(OPEN_RANGE[0]..=OPEN_RANGE[1]).contains(&open) {
        let time = open.as_secs_f64();
        return Err(bench.failed(format!(
            "a door that is open for 3 s (2.5 s to 4 s); it was open for {time:.1} s"
        )));
    }
    bench.sees(Duration::from_secs(1), |_| false)?;
    let again = bench.press(0, cab)?;
    let expected = "a call for the floor where the car stands opens its door";
    let since = bench.now();
    bench.wait(LAMP, expected, |bench| bench.cars[0].visited(cab.floor(), since))?;
    bench.wait_served(&[again])
}

fn obstruction(bench: &mut Bench<'_>) -> Course {
    let cab = ride(bench, 0);
    bench.light(0, cab, 1, false)?;
    let limit = bench.args.service_limit;
    bench.wait(limit, "car 0 opens its door", |bench| bench.cars[0].door_lamp)?;
    bench.tell(0, "obstruct on")?;
    let since = bench.now();
    let button = hall(bench, free_floor(bench));
    let call = bench.press(1, button)?;
    let is_open = |bench: &Bench<'_>| bench.cars[0].door_lamp;
    bench.hold(OPEN * 2, "an obstructed door stays open", is_open)?;
    bench.wait_served(&[call])?;
    if bench.cars[0].closed_at > Some(since) {
        return Err(bench.failed("an obstructed door stays open until it is free"));
    }
    bench.tell(0, "obstruct off")?;
    bench.wait(OPEN + LAMP, "the door closes once it is free", |bench| !is_open(bench))?;
    let ride = ride(bench, 0);
    let call = bench.light(0, ride, PRESSES, false)?;
    bench.wait_served(&[call])
}

fn stop(bench: &mut Bench<'_>) -> Course {
    let cab = ride(bench, 0);
    let first = bench.light(0, cab, 1, false)?;
    let moves = |bench: &Bench<'_>| bench.cars[0].driven.is_some();
    bench.wait(bench.args.service_limit, "car 0 moves", moves)?;
    bench.tell(0, "stop on")?;
    bench.sees(OPEN, |_| false)?;
    let button = hall(bench, free_floor(bench));
    let other = bench.press(1, button)?;
    bench.tell(0, "stop off")?;
    bench.sees(Duration::from_secs(1), |_| false)?;
    // What the button does is up to the controller, but what is lit is a promise.
    if bench.cars[0].lamps.contains(&cab) {
        bench.wait_served(&[first])?;
    }
    bench.wait_served(&[other])?;
    let ride = ride(bench, 0);
    let call = bench.light(0, ride, PRESSES, false)?;
    bench.wait_served(&[call])
}

fn motor(bench: &mut Bench<'_>) -> Course {
    let floor = free_floor(bench);
    let button = hall(bench, floor);
    let call = bench.light(0, button, 1, false)?;
    let flying = |bench: &Bench<'_>| (0..CARS).find(|car| bench.cars[*car].flies_to(floor));
    let limit = bench.args.service_limit;
    bench.wait(limit, "a car goes to the call", |bench| flying(bench).is_some())?;
    let broken = flying(bench).unwrap_or_default();
    bench.tell(broken, "fault motor stuck")?;
    bench.wait_served(&[call])?;
    bench.tell(broken, "fault motor ok")?;
    let expected = "the car whose motor is repaired moves again";
    bench.wait(limit, expected, |bench| bench.cars[broken].stands())?;
    let ride = ride(bench, broken);
    let call = bench.light(broken, ride, PRESSES, false)?;
    bench.wait_served(&[call])
}

fn disconnect(bench: &mut Bench<'_>) -> Course {
    let button = hall(bench, free_floor(bench));
    let lit = bench.light(1, button, 1, false)?;
    bench.set_plugged(0, false)?;
    let cab = ride(bench, 0);
    let cab = bench.light(0, cab, PRESSES, false)?;
    bench.wait_served(&[lit, cab])?;
    let limit = bench.args.service_limit;
    let expected = "the car without network serves what is lit on its panel";
    bench.wait(limit, expected, |bench| !bench.cars[0].lamps.contains(&button))?;
    bench.set_plugged(0, true)?;
    let button = hall(bench, free_floor(bench));
    let call = bench.light(0, button, PRESSES, false)?;
    bench.wait_served(&[call])
}

fn packet_loss(bench: &mut Bench<'_>) -> Course {
    bench.lose()?;
    for panel in 0..CARS {
        let button = hall(bench, free_floor(bench));
        let call = bench.light(panel, button, PRESSES, true)?;
        let ride = ride(bench, panel);
        let cab = bench.light(panel, ride, PRESSES, false)?;
        bench.wait_served(&[call, cab])?;
    }
    Ok(())
}
