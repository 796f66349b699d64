//! How long `liftmesh assign` thinks: the assignment in process, without the JSON.

use std::hint::black_box;
use std::time::Instant;

use elevator_fleet::dispatch::one_shot::{Bank, Behaviour, Car, Rules};

use crate::samples::{Decisive, Figure, Target};

/// Cars, floors, and twice the time of the course's `hall_request_assigner`, in microseconds.
const BANKS: [(u16, u16, f64); 3] = [(3, 4, 36.0), (10, 10, 288.0), (20, 40, 5_800.0)];

/// The samples of a round; each takes the mean of some assignments.
const SAMPLES: usize = 20;

pub(crate) fn measure(rounds: usize) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (cars, floors, limit) in BANKS {
        for (where_to, bank) in [("spread", spread(cars, floors)), ("below", below(cars, floors))] {
            let samples = (0..rounds * SAMPLES).map(|_| sample(&bank)).collect();
            let what = format!("assign all calls, {cars} cars x {floors} floors, {where_to}");
            let target = Target::at_most(Decisive::Median, limit);
            figures.push(Figure::new(&what, "us", samples, Some(target)));
        }
    }
    figures
}

/// All cars idle, at even distances.
fn spread(cars: u16, floors: u16) -> Bank {
    bank(floors, (0..cars).map(|car| car * floors / cars))
}

/// All cars idle at the bottom.
fn below(cars: u16, floors: u16) -> Bank {
    bank(floors, (0..cars).map(|_| 0))
}

/// Every hall call that has a button is lit.
fn bank(floors: u16, cars: impl Iterator<Item = u16>) -> Bank {
    let calls: Vec<_> = (0..floors).map(|at| [at + 1 < floors, at > 0]).collect();
    let cars: Vec<_> = cars
        .map(|floor| Car {
            behaviour: Behaviour::Idle,
            floor: floor.into(),
            direction: None,
            car_calls: vec![false; floors.into()],
        })
        .collect();
    Bank::new(&calls, &cars).expect("a bank")
}

/// Microseconds of an assignment.
fn sample(bank: &Bank) -> f64 {
    const NUMBER: u32 = 10;
    let began = Instant::now();
    for _ in 0..NUMBER {
        black_box(black_box(bank).assign(&Rules::default()));
    }
    began.elapsed().as_secs_f64() * 1e6 / f64::from(NUMBER)
}
