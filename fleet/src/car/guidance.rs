//! What the plan of a dispatcher asks of a car without passengers: which way to turn, and where to
//! wait.

use elevator_driver::{Direction, Floor, KeySwitch};

use super::Car;
use crate::dispatch::CarPlan;
use crate::model::Availability;

impl Car {
    /// Sets what the dispatcher wants of the car besides its stops. Takes effect with
    /// [`set_stops`](Self::set_stops), which has to follow.
    ///
    /// The car turns only while nobody rides in it (S3), and goes to a parking floor only while it
    /// is in service and has no stop. There it waits with its door closed. A stop that comes up on
    /// the way is served first.
    pub fn set_plan(&mut self, plan: CarPlan) {
        self.plan = plan;
    }

    /// Takes the planned direction, at rest behind a closed door.
    pub(super) fn turn(&mut self) {
        if self.plan.direction.is_some() && self.own_calls.is_empty() {
            self.head(self.plan.direction);
        }
    }

    /// The way to the parking floor, for a car at rest at `floor` without a stop.
    pub(super) fn parking_run(&self, floor: Floor) -> Option<(Direction, Floor)> {
        let place = self.parking_floor()?;
        Some((floor.direction_to(place)?, place))
    }

    /// The parking floor if it is at `from` or beyond, for a moving car that has lost its stop.
    pub(super) fn parking_place(&self, from: Floor, direction: Direction) -> Option<Floor> {
        self.parking_floor().filter(|place| *place == from || place.is_beyond(from, direction))
    }

    fn parking_floor(&self) -> Option<Floor> {
        let parks = self.inputs.key == KeySwitch::Normal
            && self.availability() == Availability::InService
            && self.own_calls.is_empty();
        self.plan.park.filter(|place| {
            parks
                && self.settings.floors.contains(*place)
                && !self.supervision.is_locked_out(*place)
        })
    }
}
