//! Prediction of when a car opens its door for each of its calls.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Building, Button, Direction, Floor};

use super::CarSituation;
use super::kinematics::{Kinematics, TravelTimes};
use super::stops::StopSet;
use crate::model::{Availability, CarPhase, CarView, HallCall};

/// Simulates a car's way through its calls under collective control.
///
/// The rules are those of the car itself:
///
/// - It continues in its direction while there is any call ahead, and stops for car calls and for
///   hall calls in that direction; it serves those in the other direction on the way back.
/// - It turns at the farthest call. A call there for the other direction is served on arrival,
///   unless one for the car's own direction is there too: then it is served when the door has
///   been open for the first.
/// - A car without a direction goes towards its nearest car call. Without car calls it serves a
///   call where it stands, or else goes to the nearest.
/// - A moving car stops at none nearer than its `next_stop`, and at that one even if its reason
///   has gone away, if it has begun to stop there.
/// - The door stands open for the dwell and a transfer per call served. A call at an open door is
///   served at once; a closing door opens again for it (F18).
///
/// The load is not considered. All calls from a landing in a direction are one passenger.
#[derive(Debug, Clone)]
pub struct Predictor {
    travel: TravelTimes,
    opening: Micros,
    closing: Micros,
    dwell: Micros,
    transfer: Micros,
}

/// Microseconds: whole numbers, which add up without rounding.
pub(super) type Micros = u64;

impl Predictor {
    #[must_use]
    pub fn new(kinematics: Kinematics, building: &Building) -> Self {
        Self {
            travel: TravelTimes::new(&kinematics, building),
            opening: micros(kinematics.door_opening),
            closing: micros(kinematics.door_closing),
            dwell: micros(kinematics.dwell),
            transfer: micros(kinematics.transfer),
        }
    }

    /// Whether hall calls can be assigned to a car: it is in service, and its position is known.
    #[must_use]
    pub fn can_serve(view: &CarView) -> bool {
        place(view).is_some()
    }

    /// How long until the door is open for each car call and each of these hall calls, if the car
    /// is to serve them; `None` if it [can't serve](Self::can_serve) any.
    pub(crate) fn times(
        &self,
        car: &CarSituation,
        hall: &BTreeSet<HallCall>,
    ) -> Option<BTreeMap<Button, Duration>> {
        let stops = hall.iter().fold(StopSet::of(car), |stops, &call| stops.with(call));
        let mut times = BTreeMap::new();
        self.visit(&car.view, stops, |button, after| {
            times.insert(button, Duration::from_micros(after));
        })?;
        Some(times)
    }

    /// Reports each call of `stops` once, in the order of service, with the time until the door is
    /// open for it. Returns the time until the car is idle; `None` if it can't serve any.
    pub(super) fn visit(
        &self,
        view: &CarView,
        stops: StopSet,
        served: impl FnMut(Button, Micros),
    ) -> Option<Micros> {
        let mut sweep = Sweep {
            predictor: self,
            stops,
            at: place(view)?,
            direction: view.direction,
            clock: 0,
            served,
        };
        sweep.leave_present_phase(view);
        sweep.finish();
        Some(sweep.clock)
    }

    /// Whether nothing can keep the car from serving this call at the stop it is making: it has
    /// begun to brake for the floor, or its door is open there or on its way open.
    pub(super) fn is_committed(&self, view: &CarView, car_calls: StopSet, call: HallCall) -> bool {
        let elapsed = micros(view.elapsed);
        let deadline = match (view.phase, view.floor) {
            (CarPhase::Moving { stop_at, next_stop, .. }, Some(floor))
                if stop_at == next_stop && stop_at == call.floor =>
            {
                self.travel.remaining(floor, stop_at, elapsed).saturating_add(self.opening)
            }
            (CarPhase::Opening, Some(floor)) if floor == call.floor => {
                self.opening.saturating_sub(elapsed)
            }
            (CarPhase::Open, Some(floor)) if floor == call.floor => 0,
            _ => return false,
        };
        let mut in_time = false;
        let button = Button::Hall(call.floor, call.direction);
        self.visit(view, car_calls.with(call), |served, after| {
            in_time |= served == button && after <= deadline;
        });
        in_time
    }

    pub(super) fn travel(&self) -> &TravelTimes {
        &self.travel
    }

    /// The time for this many passengers, each of whom restarts the dwell.
    fn open_time(&self, passengers: u64) -> Micros {
        self.dwell.saturating_add(self.transfer.saturating_mul(passengers))
    }
}

/// Saturates after half a million years.
pub(super) fn micros(time: Duration) -> Micros {
    Micros::try_from(time.as_micros()).unwrap_or(Micros::MAX)
}

pub(super) fn seconds(time: Micros) -> f64 {
    Duration::from_micros(time).as_secs_f64()
}

/// Where the car is, if hall calls can be assigned to it.
fn place(view: &CarView) -> Option<Floor> {
    let is_placed = view.availability == Availability::InService && view.phase != CarPhase::Homing;
    view.floor.filter(|_| is_placed)
}

/// A simulated car: between two calls of its methods it is at rest at a floor.
struct Sweep<'a, S> {
    predictor: &'a Predictor,
    stops: StopSet,
    at: Floor,
    direction: Option<Direction>,
    clock: Micros,
    served: S,
}

impl<S: FnMut(Button, Micros)> Sweep<'_, S> {
    fn leave_present_phase(&mut self, view: &CarView) {
        let Predictor { opening, closing, dwell, .. } = *self.predictor;
        let elapsed = micros(view.elapsed);
        match view.phase {
            CarPhase::Idle | CarPhase::Homing => {}
            CarPhase::Moving { direction, stop_at, next_stop } => {
                let stop = if stop_at == next_stop {
                    next_stop
                } else {
                    self.stops.first_from(next_stop, direction).unwrap_or(next_stop)
                };
                self.pass(self.predictor.travel.remaining(self.at, stop, elapsed));
                self.at = stop;
                self.direction = Some(direction);
            }
            CarPhase::Opening => {
                self.pass(opening.saturating_sub(elapsed));
                self.stand_open(self.lantern(), dwell);
            }
            CarPhase::Open => self.stand_open(self.lantern(), dwell.saturating_sub(elapsed)),
            CarPhase::Closing if self.stops.any_at(self.at, self.lantern()) => {
                self.pass(elapsed.min(opening));
                self.stand_open(self.lantern(), dwell);
            }
            CarPhase::Closing => self.pass(closing.saturating_sub(elapsed)),
        }
    }

    fn finish(&mut self) {
        while let Some((stop, heading)) = self.stops.next(self.at, self.direction) {
            self.pass(self.predictor.travel.between(self.at, stop));
            self.at = stop;
            self.pass(self.predictor.opening);
            self.stand_open(heading, self.predictor.dwell);
        }
    }

    /// From fully open to closed. Without passengers, the door stays open for `rest`.
    fn stand_open(&mut self, heading: Direction, rest: Micros) {
        let car_calls = self.serve(Button::Car(self.at));
        let hall = self.serve(Button::Hall(self.at, heading));
        self.pass(match car_calls + hall {
            0 => rest,
            passengers => self.predictor.open_time(passengers),
        });
        self.direction = Some(heading);

        let back = heading.opposite();
        if !self.stops.any_beyond(self.at, heading) && self.serve(Button::Hall(self.at, back)) > 0 {
            self.pass(self.predictor.open_time(1));
            self.direction = Some(back);
        }
        self.pass(self.predictor.closing);
    }

    /// The direction in which passengers at the open door are taken.
    fn lantern(&self) -> Direction {
        self.direction.unwrap_or_else(|| self.stops.direction_of_choice(self.at))
    }

    /// Serves a call; returns the number of passengers: one or none.
    fn serve(&mut self, button: Button) -> u64 {
        let present = self.stops.serve(button);
        if present {
            (self.served)(button, self.clock);
        }
        u64::from(present)
    }

    fn pass(&mut self, time: Micros) {
        self.clock = self.clock.saturating_add(time);
    }
}

#[cfg(test)]
mod tests;
