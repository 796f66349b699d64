//! Passengers: the [`Crowd`] of the simulator, at the panels of real processes. When they come and
//! where they want to go depends on the seed only; what they do then depends on the cars.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::time::Duration;
use std::vec::IntoIter;

use elevator_driver::{self as driver, Button, Floor};
use elevator_simulator::CarState;
use elevator_simulator::building::{Action, Building, Crowd, Landed, Passenger, Pattern, Traffic};
use elevator_simulator::car::PERSONS;

use super::Args;

const DAY: Duration = Duration::from_hours(24);

/// After this time a rider whose button stays dark presses again.
const PRESS_AGAIN: Duration = Duration::from_secs(3);

/// How many come for each car in five minutes.
const FOR_EACH_CAR: u32 = 20;

/// The capacity of a car of [`PERSONS`], kg.
const RATED_LOAD: f64 = 630.0;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Deed {
    Come(Passenger),
    Press(usize, Button),
    Load(usize, u8),
}

/// The share of the passengers who come or go by car, where there is a car park.
const BY_CAR: f64 = 0.3;

#[derive(Debug)]
pub(super) struct Passengers {
    crowd: Crowd,
    expected: Peekable<IntoIter<Passenger>>,
    /// The lit hall buttons.
    lit: BTreeSet<Button>,
    /// When riders last pressed a button in a car.
    pressed: BTreeMap<(usize, Floor), Duration>,
}

impl Passengers {
    /// The same for the same seed, height and number of cars.
    pub(super) fn new(args: &Args, floors_of: Option<&driver::Building>) -> Self {
        let &Args { seed, floors, cars, duration, .. } = args;
        let lasts = duration.unwrap_or(DAY);
        let Some(template) = Building::named("A12") else {
            unreachable!("it comes with the simulator");
        };
        let persons = u16::try_from(PERSONS).unwrap_or(u16::MAX);
        let (cars, population) = (cars.into(), u32::from(cars) * FOR_EACH_CAR);
        let mut building =
            Building { floors, cars, population, persons, rated_load: RATED_LOAD, ..template };
        if let Some(named) = floors_of {
            let unserved = |served: &driver::Served| {
                named.unserved(&served.car).map(driver::Floor::index).collect()
            };
            building.heights =
                named.heights().iter().map(|height| f64::from(*height) / 1_000.0).collect();
            building.unserved = named.cars().iter().map(unserved).collect();
            // The lowest floor that every car serves.
            let lobby = floors.floors().find(|floor| !named.is_restricted(*floor));
            building.lobby = lobby.map_or(0, driver::Floor::index).min(floors.get() - 2);
            building.by_car = if building.lobby > 0 { BY_CAR } else { 0.0 };
        }
        let traffic = Traffic::Steady { pattern: Pattern::Lunch, rate: 100.0, lasts };
        let passengers = traffic.passengers(&building, seed);
        Self {
            crowd: Crowd::new(&building, &passengers, seed),
            expected: passengers.into_iter().peekable(),
            lit: BTreeSet::new(),
            pressed: BTreeMap::new(),
        }
    }

    pub(super) fn waiting_at(&self, floor: Floor) -> usize {
        self.crowd.waiting_at(floor)
    }

    pub(super) fn riding_in(&self, car: usize) -> usize {
        self.crowd.destinations(car).count()
    }

    pub(super) fn arrived(&self) -> usize {
        self.crowd.count().served
    }

    /// What they do, seeing the cars, each with whether its panel works.
    pub(super) fn step(&mut self, now: Duration, cars: &[(&CarState, bool)]) -> Vec<Deed> {
        let mut deeds = Vec::new();
        while let Some(passenger) = self.expected.next_if(|one| one.arrival <= now) {
            deeds.push(Deed::Come(passenger));
        }
        self.crowd.handle_time(now);
        self.see_lamps(now, cars);
        for (car, (state, works)) in cars.iter().enumerate() {
            let floor = state.floor.filter(|floor| state.is_at_rest_at(*floor));
            let landed = Landed { floor, door: state.door, lantern: state.lantern };
            self.crowd.handle_car(car, landed, now);
            for to in self.crowd.destinations(car).collect::<BTreeSet<_>>() {
                let is_dark = !state.lamps.contains(&Button::Car(to)) && floor != Some(to);
                let pressed = self.pressed.get(&(car, to));
                if *works && is_dark && pressed.is_none_or(|at| now >= *at + PRESS_AGAIN) {
                    self.pressed.insert((car, to), now);
                    deeds.push(Deed::Press(car, Button::Car(to)));
                }
            }
        }
        while let Some(action) = self.crowd.poll_action() {
            match action {
                Action::PressHall(floor, direction) => {
                    let button = Button::Hall(floor, direction);
                    deeds.extend(panel(floor, cars).map(|car| Deed::Press(car, button)));
                }
                Action::Load(car, percent) => deeds.push(Deed::Load(car, percent)),
                // Riders press above, and again where that is lost.
                Action::PressCar(..) | Action::GiveDestination(..) | Action::Doorway(..) => {}
            }
        }
        deeds
    }

    fn see_lamps(&mut self, now: Duration, cars: &[(&CarState, bool)]) {
        let working = cars.iter().filter(|(_, works)| *works);
        let lit: BTreeSet<_> = working.flat_map(|(car, _)| car.lamps.iter().copied()).collect();
        for button in self.lit.union(&lit) {
            if let Button::Hall(floor, direction) = *button {
                self.crowd.handle_lamp(floor, direction, lit.contains(button), now);
            }
        }
        self.lit = lit;
    }
}

/// The car whose panel at a landing is pressed: the first working one from the floor's own on.
fn panel(floor: Floor, cars: &[(&CarState, bool)]) -> Option<usize> {
    let from = usize::from(floor.index());
    (from..from + cars.len()).map(|car| car % cars.len()).find(|car| cars[*car].1)
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, FromArgMatches};
    use elevator_driver::DoorState;
    use elevator_simulator::{CarConfig, SimulatedCar};

    use super::*;

    #[test]
    fn passengers_press_at_a_working_panel_board_and_press_again_in_the_car() {
        let line = "demo --cars 2 --seed 7 --duration 1h".split(' ');
        let args = Args::augment_args(clap::Command::new("demo")).get_matches_from(line);
        let args = Args::from_arg_matches(&args).unwrap();
        let passengers = || Passengers::new(&args, None);
        let all: Vec<_> = passengers().expected.collect();
        assert_eq!(all, passengers().expected.collect::<Vec<_>>());
        assert!((420..540).contains(&all.len()), "{}", all.len());

        let mut crowd = passengers();
        let Passenger { arrival: now, from, to, .. } = all[0];
        let up_or_down = from.direction_to(to).unwrap();
        let mut car = SimulatedCar::new(&CarConfig::new(args.floors), 0).unwrap().state();
        let elsewhere = car.clone();
        let deeds = crowd.step(now, &[(&car, false), (&elsewhere, true)]);
        let call = Button::Hall(from, up_or_down);
        assert_eq!(deeds, [Deed::Come(all[0]), Deed::Press(1, call)]);
        assert_eq!(crowd.waiting_at(from), 1);

        (car.floor, car.door, car.lantern) = (Some(from), DoorState::Open, Some(up_or_down));
        assert_eq!(crowd.step(now, &[(&car, true), (&elsewhere, true)]), [Deed::Load(0, 12)]);
        car.door = DoorState::Closed;
        for seconds in [1, 4] {
            let now = now + Duration::from_secs(seconds);
            let deeds = crowd.step(now, &[(&car, true), (&elsewhere, true)]);
            assert!(deeds.contains(&Deed::Press(0, Button::Car(to))), "{deeds:?}");
        }
        assert_eq!((crowd.riding_in(0), crowd.arrived()), (1, 0));
    }
}
