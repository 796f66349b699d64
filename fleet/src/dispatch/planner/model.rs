//! What a plan knows about a car: its times, and where it starts.

use elevator_driver::{Building, Direction, Floor};

use super::count_as;
use crate::dispatch::predict::{Predictor, micros, seconds};
use crate::dispatch::{CarSituation, Kinematics};
use crate::model::CarPhase;

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) kinematics: Kinematics,
    predictor: Predictor,
    floors: usize,
    /// From rest to rest, by floor and floor.
    travel: Vec<f64>,
    /// Up to rated speed and down again, beyond the time at rated speed.
    pub(super) ramps: f64,
    pub(super) opening: f64,
    pub(super) closing: f64,
    pub(super) dwell: f64,
    pub(super) transfer: f64,
    pub(super) capacity: f64,
    /// From this many passengers on, a car passes calls by.
    pub(super) bypass: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Call {
    pub(super) floor: usize,
    pub(super) direction: Direction,
    pub(super) waited: f64,
    /// Where its passengers get off, if they gave a destination.
    pub(super) to: Option<Floor>,
    /// Its car before this plan.
    pub(super) present: Option<usize>,
    /// It has just moved to that car, or its passengers were told it, and stays.
    pub(super) is_held: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Door {
    Shut,
    /// Open in this many seconds.
    Open(f64),
    /// Open again in this many seconds, if it is to.
    Closing(f64),
}

#[derive(Debug, Clone)]
pub(super) struct Start {
    /// Where it is at rest, or can come to rest first.
    pub(super) floor: usize,
    pub(super) direction: Option<Direction>,
    /// Seconds until the door is shut, without further passengers.
    pub(super) shut: f64,
    pub(super) door: Door,
    /// For a moving car, the seconds to each floor.
    pub(super) reach: Option<Vec<f64>>,
    /// The floor where it stops whatever the plan says, and for which direction, if not both.
    stops: Option<(usize, Option<Direction>)>,
    pub(super) off: Vec<f64>,
    pub(super) wants: Vec<bool>,
    pub(super) wanted: usize,
    pub(super) riders: f64,
}

impl Start {
    pub(super) fn is_empty(&self) -> bool {
        self.wanted == 0
    }

    /// Whether riders get off through the door that is open, or opening, at the start.
    pub(super) fn lets_out(&self) -> bool {
        matches!(self.door, Door::Open(_)) && self.wants[self.floor]
    }

    pub(super) fn may_turn(&self) -> bool {
        self.direction.is_none() && self.is_empty()
    }

    pub(super) fn stops_for(&self, call: &Call) -> bool {
        self.stops.is_some_and(|(floor, direction)| {
            floor == call.floor && direction.is_none_or(|direction| direction == call.direction)
        })
    }
}

impl Model {
    pub(super) fn new(
        kinematics: Kinematics,
        building: &Building,
        capacity: f64,
        bypass_load: u8,
    ) -> Self {
        let predictor = Predictor::new(kinematics, building);
        Self {
            floors: building.landings().len(),
            travel: predictor.travel().table().iter().map(|&time| seconds(time)).collect(),
            predictor,
            ramps: kinematics.rated_speed / kinematics.acceleration
                + kinematics.acceleration / kinematics.jerk,
            opening: kinematics.door_opening.as_secs_f64(),
            closing: kinematics.door_closing.as_secs_f64(),
            dwell: kinematics.dwell.as_secs_f64(),
            transfer: kinematics.transfer.as_secs_f64(),
            bypass: share(bypass_load) * capacity,
            capacity,
            kinematics,
        }
    }

    pub(super) fn floors(&self) -> usize {
        self.floors
    }

    pub(super) fn travel(&self, from: usize, to: usize) -> f64 {
        self.travel[from * self.floors + to]
    }

    /// The mean height of the storeys between two floors, in metres.
    pub(super) fn storey(&self, from: usize, to: usize) -> f64 {
        let storeys = count_as(from.abs_diff(to).max(1));
        f64::from(self.predictor.travel().way(from, to)) / storeys / 1_000.0
    }

    /// Passengers in the car, by its load; by its car calls, if the load is unknown.
    pub(super) fn riders(&self, car: &CarSituation) -> f64 {
        match car.view.load {
            Some(load) => share(load) * self.capacity,
            None => car.car_calls.iter().map(|_| 1.0).sum(),
        }
    }

    pub(super) fn wants(&self, car: &CarSituation) -> Vec<bool> {
        let mut wants = vec![false; self.floors()];
        for floor in &car.car_calls {
            if let Some(wanted) = wants.get_mut(usize::from(floor.index())) {
                *wanted = true;
            }
        }
        wants
    }

    pub(super) fn start(&self, car: &CarSituation) -> Start {
        let view = &car.view;
        let wants = self.wants(car);
        let stops: f64 = wants.iter().map(|&wanted| if wanted { 1.0 } else { 0.0 }).sum();
        let each = if stops > 0.0 { (self.riders(car) / stops).max(1.0) } else { 0.0 };
        let floor = view.floor.map_or(0, |floor| usize::from(floor.index()));
        let mut start = Start {
            floor,
            direction: view.direction,
            shut: 0.0,
            door: Door::Shut,
            reach: None,
            stops: None,
            off: wants.iter().map(|&wanted| if wanted { each } else { 0.0 }).collect(),
            wanted: wants.iter().filter(|&&wanted| wanted).count(),
            wants,
            riders: each * stops,
        };
        let elapsed = view.elapsed.as_secs_f64();
        let left = |whole: f64| (whole - elapsed).max(0.0);
        match view.phase {
            CarPhase::Idle | CarPhase::Homing => start.turn_freely(),
            CarPhase::Moving { direction, stop_at, next_stop } => {
                let next = usize::from(next_stop.index());
                start.reach = Some(self.reach(car));
                start.floor = next;
                start.direction = Some(direction);
                start.stops = (stop_at == next_stop).then_some((next, None));
            }
            CarPhase::Opening => {
                let left = left(self.opening);
                start.turn_freely();
                start.door = Door::Open(left);
                start.shut = left + self.dwell + self.closing;
                start.stops = Some((floor, start.direction));
            }
            CarPhase::Open => {
                start.turn_freely();
                start.door = Door::Open(0.0);
                start.shut = left(self.dwell) + self.closing;
                start.stops = Some((floor, start.direction));
            }
            CarPhase::Closing => {
                start.shut = left(self.closing);
                start.door = Door::Closing(self.opening);
            }
        }
        start
    }

    /// By floor: seconds until the car can be at rest there.
    fn reach(&self, car: &CarSituation) -> Vec<f64> {
        let elapsed = micros(car.view.elapsed);
        let flight = |index| {
            let (stop, at) = super::floor(index).zip(car.view.floor)?;
            Some(seconds(self.predictor.travel().remaining(at, stop, elapsed)))
        };
        (0..self.floors()).map(|index| flight(index).unwrap_or_default()).collect()
    }
}

impl Start {
    fn turn_freely(&mut self) {
        if self.is_empty() {
            self.direction = None;
        }
    }
}

fn share(load: u8) -> f64 {
    f64::from(load) / 100.0
}
