//! Passengers. When they come and where they want to go depends on the seed only; what they do then
//! depends on the cars.

use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_simulator::car::PERSONS;
use liftmesh_harness::account::Sight;

/// After this time a passenger whose button stays dark presses again.
const PRESS_AGAIN: Duration = Duration::from_secs(3);

/// The first passenger comes this long after the start of the traffic.
const FIRST: Duration = Duration::from_millis(400);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(super) at: Duration,
    pub(super) from: Floor,
    /// Where to; another floor.
    pub(super) to: Floor,
    /// The car whose landing panel is nearest, counted from 0.
    pub(super) panel: usize,
}

/// An endless sequence of arrivals; the same for the same seed, height and number of cars.
#[derive(Debug)]
pub(super) struct Arrivals {
    random: fastrand::Rng,
    floors: FloorCount,
    cars: usize,
    gap: Duration,
    next_at: Duration,
}

impl Arrivals {
    /// `gap` is the mean time between two passengers.
    pub(super) fn new(seed: u64, floors: FloorCount, cars: usize, gap: Duration) -> Self {
        Self { random: fastrand::Rng::with_seed(seed), floors, cars, gap, next_at: FIRST }
    }

    fn floor(&mut self) -> Floor {
        self.floors.floor(self.random.u8(..self.floors.get())).unwrap_or(Floor::BOTTOM)
    }
}

impl Iterator for Arrivals {
    type Item = Arrival;

    fn next(&mut self) -> Option<Arrival> {
        let at = self.next_at;
        // Between a quarter and seven quarters of the mean.
        self.next_at += self.gap.mul_f64(0.25 + 1.5 * self.random.f64());
        // Every other journey begins or ends at the entrance.
        let (one, mut other) = match self.random.u8(..4) {
            0 => (Floor::BOTTOM, self.floor()),
            1 => (self.floor(), Floor::BOTTOM),
            _ => (self.floor(), self.floor()),
        };
        while other == one {
            other = self.floor();
        }
        Some(Arrival { at, from: one, to: other, panel: self.random.usize(..self.cars) })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deed {
    /// Presses a button on the panel of this car.
    Press(usize, Button),
    Arrived,
}

#[derive(Debug, Default)]
pub(super) struct Crowd {
    waiting: Vec<Waiting>,
    riding: Vec<Riding>,
}

#[derive(Debug)]
struct Waiting {
    from: Floor,
    to: Floor,
    direction: Direction,
    panel: usize,
    pressed_at: Option<Duration>,
}

#[derive(Debug)]
struct Riding {
    car: usize,
    to: Floor,
    pressed_at: Option<Duration>,
}

impl Crowd {
    pub(super) fn join(&mut self, arrival: &Arrival) {
        let Some(direction) = arrival.from.direction_to(arrival.to) else {
            return;
        };
        self.waiting.push(Waiting {
            from: arrival.from,
            to: arrival.to,
            direction,
            panel: arrival.panel,
            pressed_at: None,
        });
    }

    pub(super) fn waiting_at(&self, floor: Floor) -> usize {
        self.waiting.iter().filter(|one| one.from == floor).count()
    }

    pub(super) fn riding_in(&self, car: usize) -> usize {
        self.riding.iter().filter(|one| one.car == car).count()
    }

    pub(super) fn step(&mut self, now: Duration, cars: &[Sight]) -> Vec<Deed> {
        let mut deeds = Vec::new();
        self.get_off(cars, &mut deeds);
        self.board(cars);
        for one in &mut self.riding {
            let Some(car) = cars.get(one.car) else {
                continue;
            };
            if wants_to_press(car, Button::Car(one.to), one.pressed_at, now) {
                one.pressed_at = Some(now);
                deeds.push(Deed::Press(one.car, Button::Car(one.to)));
            }
        }
        for one in &mut self.waiting {
            one.choose_panel(cars);
            let button = Button::Hall(one.from, one.direction);
            let Some(car) = cars.get(one.panel) else {
                continue;
            };
            if wants_to_press(car, button, one.pressed_at, now) {
                one.pressed_at = Some(now);
                deeds.push(Deed::Press(one.panel, button));
            }
        }
        deeds
    }

    fn get_off(&mut self, cars: &[Sight], deeds: &mut Vec<Deed>) {
        self.riding.retain(|one| {
            let rides_on = cars.get(one.car).is_none_or(|car| car.walkable != Some(one.to));
            if !rides_on {
                deeds.push(Deed::Arrived);
            }
            rides_on
        });
    }

    fn board(&mut self, cars: &[Sight]) {
        let riding = &mut self.riding;
        self.waiting.retain(|one| {
            let riders = |car| riding.iter().filter(|one: &&Riding| one.car == car).count();
            let open = cars.iter().enumerate().position(|(number, car)| {
                car.walkable == Some(one.from)
                    && car.leads(one.direction)
                    && riders(number) < PERSONS
            });
            if let Some(car) = open {
                riding.push(Riding { car, to: one.to, pressed_at: None });
            }
            open.is_none()
        });
    }
}

impl Waiting {
    /// A panel that is out of order does not respond: the next working one is pressed at once.
    fn choose_panel(&mut self, cars: &[Sight]) {
        if cars.get(self.panel).is_some_and(|car| car.living) {
            return;
        }
        if let Some(works) = cars.iter().position(|car| car.living) {
            self.panel = works;
            self.pressed_at = None;
        }
    }
}

/// A working panel whose lamp is dark is pressed, and pressed again after a while.
fn wants_to_press(
    car: &Sight,
    button: Button,
    pressed_at: Option<Duration>,
    now: Duration,
) -> bool {
    car.living
        && !car.lamps.contains(&button)
        && pressed_at.is_none_or(|at| now.saturating_sub(at) >= PRESS_AGAIN)
}

#[cfg(test)]
mod tests;
