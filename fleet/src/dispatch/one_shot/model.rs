//! How a car of the course drives through its calls.

use elevator_driver::Direction;

use super::{Behaviour, Car, Clearing, Floors, Rules};
use crate::model::HallCall;

/// Simulates a car alone with the hall calls that it was given.
///
/// The rules are those of a car in `hall_request_assigner`:
///
/// - A moving car arrives at the next floor in half the travel time. A car with an open door can
///   act in half the door time, an idle one at once.
/// - A moving car stops for car calls and for hall calls in its direction, and where nothing is left
///   ahead. A stop takes the door time.
/// - A car that stands and was going up continues up while there is any call above. Otherwise it
///   takes all that is left at its floor, which takes the door time once more, or else goes down. A
///   car that was going down does the same upside down, and one without a direction looks below
///   first.
///
/// The wait of a call ends when the car stops for it, so its own door time does not count. A car
/// that stands and gets a call at its floor stops for it as soon as it stays there.
///
/// The course's program lets a car that stands take both calls of its floor first, whatever lies
/// ahead. That is how it assigns them: its cars have no such rule, and neither has this model.
#[derive(Debug, Clone, Copy)]
pub(super) struct CarModel {
    travel: Micros,
    door_open: Micros,
    clearing: Clearing,
}

/// Microseconds: whole numbers, which add up without rounding.
pub(super) type Micros = u64;

/// Hall calls of one car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HallSet<const WORDS: usize> {
    up: Floors<WORDS>,
    down: Floors<WORDS>,
}

/// A car as the snapshot has it.
#[derive(Debug, Clone)]
pub(super) struct Start<const WORDS: usize> {
    behaviour: Behaviour,
    floor: u8,
    direction: Option<Direction>,
    car_calls: Floors<WORDS>,
}

struct Run<const WORDS: usize> {
    rules: CarModel,
    hall: HallSet<WORDS>,
    car_calls: Floors<WORDS>,
    at: u8,
    clock: Micros,
    /// The sum of the waits of the calls that were cleared.
    waited: Micros,
    /// How many hall calls are left.
    left: u32,
}

impl CarModel {
    pub(super) fn new(rules: &Rules) -> Self {
        let micros = |time: std::time::Duration| {
            Micros::try_from(time.min(super::LONGEST).as_micros()).unwrap_or(Micros::MAX)
        };
        let (travel, door_open) = (micros(rules.travel), micros(rules.door_open));
        Self { travel, door_open, clearing: rules.clearing }
    }

    /// The sum of the waits of these calls if this car has them all.
    pub(super) fn wait<const WORDS: usize>(
        &self,
        start: &Start<WORDS>,
        hall: HallSet<WORDS>,
    ) -> Micros {
        let mut run = Run {
            rules: *self,
            hall,
            car_calls: start.car_calls,
            at: start.floor,
            clock: 0,
            waited: 0,
            left: hall.up.count() + hall.down.count(),
        };
        if run.left == 0 {
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
        while run.left > 0 {
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

impl<const WORDS: usize> HallSet<WORDS> {
    pub(super) fn with(mut self, call: HallCall) -> Self {
        let floors = self.floors_mut(call.direction);
        *floors = floors.with(call.floor.index());
        self
    }

    pub(super) fn without(mut self, call: HallCall) -> Self {
        let floors = self.floors_mut(call.direction);
        *floors = floors.without(call.floor.index());
        self
    }

    fn floors_mut(&mut self, direction: Direction) -> &mut Floors<WORDS> {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
}

impl<const WORDS: usize> Start<WORDS> {
    /// A car that was checked.
    pub(super) fn of(car: &Car) -> Self {
        let calls = (0..=u8::MAX).zip(&car.car_calls).filter(|(_, lit)| **lit);
        Self {
            behaviour: car.behaviour,
            floor: u8::try_from(car.floor).unwrap_or_default(),
            direction: car.direction,
            car_calls: calls.fold(Floors::default(), |calls, (floor, _)| calls.with(floor)),
        }
    }
}

impl<const WORDS: usize> Run<WORDS> {
    /// Goes to the next floor; the caller counts the time.
    fn advance(&mut self, direction: Option<Direction>) {
        self.at = match direction {
            Some(Direction::Up) => self.at + 1,
            Some(Direction::Down) => self.at - 1,
            None => self.at,
        };
    }

    /// Goes from the floor where the car arrives to the first one where it stops, and stops.
    fn arrive(&mut self, direction: Option<Direction>) {
        if let Some(direction) = direction {
            let stop = self.first_stop(direction);
            self.clock += self.rules.travel * u64::from(self.at.abs_diff(stop));
            self.at = stop;
        }
        self.stop(direction);
    }

    /// Where the car stops: for the nearest call that it serves on its way, or else at the
    /// farthest call, or else where it is.
    fn first_stop(&self, direction: Direction) -> u8 {
        let at = self.at;
        let stop = match direction {
            Direction::Up => {
                let along = self.hall.up.union(&self.car_calls);
                if along.contains(at) {
                    return at;
                }
                along.above(at).lowest().or_else(|| self.hall.down.above(at).highest())
            }
            Direction::Down => {
                let along = self.hall.down.union(&self.car_calls);
                if along.contains(at) {
                    return at;
                }
                along.below(at).highest().or_else(|| self.hall.up.below(at).lowest())
            }
        };
        stop.unwrap_or(at)
    }

    /// Opens the door, clears what a stop in this direction clears, and closes the door.
    fn stop(&mut self, direction: Option<Direction>) {
        self.car_calls.take(self.at);
        match (self.rules.clearing, direction) {
            (Clearing::All, _) | (Clearing::InDirection, None) => {
                self.take(Direction::Up);
                self.take(Direction::Down);
            }
            (Clearing::InDirection, Some(direction)) => {
                if !self.take(direction) && !self.any_beyond(direction) {
                    self.take(direction.opposite());
                }
            }
        }
        self.clock += self.rules.door_open;
    }

    /// Clears a hall call at this floor; whether there was one.
    fn take(&mut self, direction: Direction) -> bool {
        let at = self.at;
        let found = self.hall.floors_mut(direction).take(at);
        if found {
            self.waited += self.clock;
            self.left -= 1;
        }
        found
    }

    /// Where a car goes that stands; `None` if it stays.
    fn next_direction(&self, direction: Option<Direction>) -> Option<Direction> {
        let ahead = direction.unwrap_or(Direction::Down);
        let back = ahead.opposite();
        if self.any_beyond(ahead) {
            Some(ahead)
        } else if self.any_here() {
            None
        } else {
            self.any_beyond(back).then_some(back)
        }
    }

    fn any_beyond(&self, direction: Direction) -> bool {
        let all = self.hall.up.union(&self.hall.down).union(&self.car_calls);
        let beyond = match direction {
            Direction::Up => all.above(self.at),
            Direction::Down => all.below(self.at),
        };
        !beyond.is_empty()
    }

    fn any_here(&self) -> bool {
        let at = self.at;
        self.hall.up.contains(at) || self.hall.down.contains(at) || self.car_calls.contains(at)
    }
}
