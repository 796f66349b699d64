//! How a car of the course drives through its calls.

use elevator_driver::{Button, Direction, Floor};

use super::{Behaviour, Car, Clearing, Rules};
use crate::dispatch::predict::{Micros, micros};
use crate::dispatch::search::Costs;
use crate::dispatch::stops::StopSet;
use crate::model::HallCall;

/// Simulates a car alone with the hall calls that it was given.
///
/// The rules are those of a car in `hall_request_assigner`:
///
/// - A moving car arrives at the next floor in half the travel time. A car with an open door can
///   act in half the door time, an idle one at once.
/// - A moving car stops for car calls and for hall calls in its direction, and where nothing is
///   left ahead. A stop takes the door time.
/// - A car that stands and was going up continues up while there is any call above. Otherwise it
///   takes all that is left at its floor, which takes the door time once more, or else goes down. A
///   car that was going down does the same upside down, and one without a direction looks below
///   first.
///
/// The wait of a call ends when the car stops for it, so its own door time does not count. The
/// course's program lets a car that stands take both calls of its floor first, whatever lies ahead;
/// its cars have no such rule, and neither has this model.
#[derive(Debug, Clone, Copy)]
pub(super) struct CarModel {
    travel: Micros,
    door_open: Micros,
    clearing: Clearing,
}

#[derive(Debug, Clone)]
pub(super) struct Start {
    behaviour: Behaviour,
    floor: Floor,
    direction: Option<Direction>,
    car_calls: StopSet,
}

pub(super) struct Snapshot<'a> {
    pub(super) model: CarModel,
    pub(super) starts: Vec<Start>,
    pub(super) calls: &'a [HallCall],
}

impl Costs for Snapshot<'_> {
    type Calls = StopSet;

    fn none(&self, car: usize) -> StopSet {
        self.starts[car].car_calls
    }

    fn add(&self, stops: &mut StopSet, call: usize) {
        *stops = stops.with(self.calls[call]);
    }

    fn remove(&self, stops: &mut StopSet, call: usize) {
        *stops = stops.without(self.calls[call]);
    }

    #[expect(clippy::cast_precision_loss, reason = "sums of waits are below 2^53")]
    fn cost(&mut self, car: usize, stops: &StopSet) -> f64 {
        self.model.wait(&self.starts[car], *stops) as f64
    }
}

struct Run {
    rules: CarModel,
    stops: StopSet,
    at: Floor,
    clock: Micros,
    /// The sum of the waits of the calls that were cleared.
    waited: Micros,
}

impl CarModel {
    pub(super) fn new(rules: &Rules) -> Self {
        let micros = |time: std::time::Duration| micros(time.min(super::LONGEST));
        let (travel, door_open) = (micros(rules.travel), micros(rules.door_open));
        Self { travel, door_open, clearing: rules.clearing }
    }

    /// The sum of the waits of the hall calls among these stops if this car has them all.
    pub(super) fn wait(&self, start: &Start, stops: StopSet) -> Micros {
        let mut run = Run { rules: *self, stops, at: start.floor, clock: 0, waited: 0 };
        if !stops.any_hall() {
            return 0;
        }
        let mut direction = start.direction;
        match start.behaviour {
            Behaviour::Moving => {
                run.clock = self.travel / 2;
                run.advance(direction);
                run.arrive(direction);
            }
            Behaviour::DoorOpen => run.clock = self.door_open / 2,
            Behaviour::Idle => {}
        }
        while run.stops.any_hall() {
            direction = run.next_direction(direction);
            if direction.is_some() {
                run.clock += self.travel;
                run.advance(direction);
                run.arrive(direction);
            } else {
                run.stop(None);
            }
        }
        run.waited
    }
}

impl Start {
    pub(super) fn of(car: &Car) -> Self {
        let calls = (0..=u8::MAX).zip(&car.car_calls).filter(|(_, lit)| **lit);
        Self {
            behaviour: car.behaviour,
            floor: u8::try_from(car.floor).map_or(Floor::BOTTOM, floor),
            direction: car.direction,
            car_calls: StopSet::of_car_calls(calls.map(|(index, _)| floor(index))),
        }
    }
}

/// A floor of a shaft that was checked.
fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap_or(Floor::BOTTOM)
}

impl Run {
    fn advance(&mut self, direction: Option<Direction>) {
        let index = self.at.index();
        self.at = match direction {
            Some(Direction::Up) => floor(index + 1),
            Some(Direction::Down) => floor(index - 1),
            None => self.at,
        };
    }

    /// Goes from the floor where the car arrives to the first one where it stops, and stops.
    fn arrive(&mut self, direction: Option<Direction>) {
        if let Some(direction) = direction {
            let stop = self.stops.first_from(self.at, direction).unwrap_or(self.at);
            self.clock += self.rules.travel * u64::from(self.at.distance(stop));
            self.at = stop;
        }
        self.stop(direction);
    }

    /// Opens the door, clears what a stop in this direction clears, and closes the door.
    fn stop(&mut self, direction: Option<Direction>) {
        self.stops.serve(Button::Car(self.at));
        match (self.rules.clearing, direction) {
            (Clearing::All, _) | (Clearing::InDirection, None) => {
                self.take(Direction::Up);
                self.take(Direction::Down);
            }
            (Clearing::InDirection, Some(direction)) => {
                if !self.take(direction) && !self.stops.any_beyond(self.at, direction) {
                    self.take(direction.opposite());
                }
            }
        }
        self.clock += self.rules.door_open;
    }

    fn take(&mut self, direction: Direction) -> bool {
        let found = self.stops.serve(Button::Hall(self.at, direction));
        if found {
            self.waited += self.clock;
        }
        found
    }

    fn next_direction(&self, direction: Option<Direction>) -> Option<Direction> {
        let ahead = direction.unwrap_or(Direction::Down);
        let back = ahead.opposite();
        let any_here = |way| self.stops.any_at(self.at, way);
        if self.stops.any_beyond(self.at, ahead) {
            Some(ahead)
        } else if any_here(ahead) || any_here(back) {
            None
        } else {
            self.stops.any_beyond(self.at, back).then_some(back)
        }
    }
}
