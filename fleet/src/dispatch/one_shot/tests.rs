//! Plans by hand, and against the best ones.

mod optimality;

use Behaviour::{DoorOpen, Idle, Moving};
use Direction::{Down, Up};

use super::*;
use crate::dispatch::search::Costs;

fn car(behaviour: Behaviour, floor: i64, direction: Option<Direction>, calls: &[usize]) -> Car {
    Car { behaviour, floor, direction, car_calls: (0..4).map(|at| calls.contains(&at)).collect() }
}

fn lit(up: &[usize], down: &[usize]) -> Vec<[bool; 2]> {
    (0..4).map(|at| [up.contains(&at), down.contains(&at)]).collect()
}

impl Snapshot<'_> {
    /// The sum of the waits of all calls if these cars have them, in microseconds.
    fn wait(&self, holders: &[usize]) -> u64 {
        let wait = |(car, start): (usize, &Start)| {
            let its = self.calls.iter().zip(holders).filter(|(_, holder)| **holder == car);
            self.model.wait(start, its.fold(self.none(car), |stops, (call, _)| stops.with(*call)))
        };
        self.starts.iter().enumerate().map(wait).sum()
    }
}

fn wait(bank: &Bank, rules: &Rules) -> u64 {
    let holders: Vec<_> = bank.assign(rules).into_iter().map(|(_, car)| car).collect();
    bank.snapshot(rules).wait(&holders)
}

/// The sum of the waits with one car, in milliseconds.
fn alone(clearing: Clearing, car: Car, up: &[usize], down: &[usize]) -> u64 {
    let bank = Bank::new(&lit(up, down), &[car]).unwrap();
    wait(&bank, &Rules { clearing, ..Rules::default() }) / 1_000
}

/// The floors that each car serves up and down.
fn served(bank: &Bank, rules: &Rules) -> Vec<(Vec<u8>, Vec<u8>)> {
    let plan = bank.assign(rules);
    let of = |car, direction| {
        let calls =
            plan.iter().filter(move |(call, holder)| *holder == car && call.direction == direction);
        calls.map(|(call, _)| call.floor.index()).collect()
    };
    (0..bank.cars.len()).map(|car| (of(car, Up), of(car, Down))).collect()
}

#[test]
fn a_stop_can_clear_all_calls() {
    let idle = || car(Idle, 0, None, &[]);
    assert_eq!(alone(Clearing::All, idle(), &[2], &[2]), 10_000);
    // It does not stop at 1 for the other way.
    assert_eq!(alone(Clearing::All, idle(), &[2], &[1]), 15_500);
    // A stop for a car call clears the call the other way: T; after D and T the one above.
    assert_eq!(alone(Clearing::All, car(Idle, 0, None, &[1]), &[], &[1, 2]), 2_500 + 8_000);
    assert_eq!(
        alone(Clearing::InDirection, car(Idle, 0, None, &[1]), &[], &[1, 2]),
        8_000 + 8_000 + 5_500
    );
}

#[test]
fn equal_cars_are_taken_in_their_order() {
    let cars = [car(Idle, 1, None, &[]), car(Idle, 1, None, &[]), car(Idle, 1, None, &[])];
    let bank = Bank::new(&lit(&[0], &[3]), &cars).unwrap();
    let expected = [(vec![0], vec![]), (vec![], vec![3]), (vec![], vec![])];
    assert_eq!(served(&bank, &Rules::default()), expected);
}

#[test]
fn times_change_the_plan() {
    // One car goes there, or each car to its own call.
    let cars = [car(Idle, 0, None, &[]), car(Idle, 3, None, &[3])];
    let bank = Bank::new(&lit(&[1, 2], &[]), &cars).unwrap();
    let slow_door = Rules { door_open: Duration::from_mins(1), ..Rules::default() };
    assert_eq!(served(&bank, &slow_door), [(vec![1], vec![]), (vec![2], vec![])]);
    let slow_travel = Rules { travel: LONGEST, door_open: Duration::ZERO, ..Rules::default() };
    assert_eq!(u128::from(wait(&bank, &slow_travel)), 2 * LONGEST.as_micros());
}

#[test]
fn a_snapshot_that_describes_no_bank_is_refused() {
    let fine = || car(Idle, 0, None, &[]);
    let problem = |car: Car| Bank::new(&lit(&[0], &[]), &[fine(), car]).unwrap_err().to_string();
    assert_eq!(Bank::new(&lit(&[], &[]), &[]), Err(BankError::NoCars));
    assert_eq!(Bank::new(&[], &[fine()]), Err(BankError::Floors(0)));
    assert_eq!(Bank::new(&[[false; 2]; 255], &[fine()]), Err(BankError::Floors(255)));
    for (wrong, told) in [
        (Car { floor: -1, ..fine() }, "car 1: floor is -1"),
        (Car { floor: 4, ..fine() }, "car 1: floor is 4"),
        (Car { car_calls: vec![false; 3], ..fine() }, "car 1: cabRequests has 3 floors"),
        (car(Moving, 3, Some(Up), &[]), "car 1: behaviour is moving and direction is up"),
        (car(Moving, 0, Some(Down), &[]), "car 1: behaviour is moving and direction is down"),
    ] {
        assert!(problem(wrong.clone()).starts_with(told), "{wrong:?}");
    }
    assert!(Bank::new(&[[true, true]], &[Car { car_calls: vec![true], ..fine() }]).is_ok());
}
