//! Where an idle car waits: a flight without a call.
//!
//! The master names a floor, see [`CarPlan`](crate::dispatch::CarPlan). The car drives there only
//! while it has no call and nobody to carry, and does not open its door.

use elevator_driver::{Direction, Floor};

use super::{Car, CarTimer};
use crate::model::{Availability, CarPhase, Mode, Timestamp};

impl Car {
    /// The direction in which a car without passengers begins, if it may turn either way.
    pub(super) fn first_direction(&self) -> Option<Direction> {
        let wanted = self.plan.direction.filter(|_| self.own_calls.is_empty());
        self.direction.or(wanted)
    }

    /// Where the car may go to wait. Not while it has calls, even ones that it can't reach; while
    /// it is out of the group, without power or its drive is faulty; or to a floor that is locked
    /// out.
    fn parking_floor(&self) -> Option<Floor> {
        let is_free = self.own_calls.is_empty()
            && self.assigned.is_empty()
            && self.mode() == Mode::InService
            && self.availability() == Availability::InService
            && self.has_power()
            && self.supervision.strikes.until().is_none();
        let reachable =
            |floor: &Floor| self.settings.floors.contains(*floor) && !self.leaves_out(*floor);
        self.plan.park.filter(|_| is_free).filter(reachable)
    }

    /// When a car at rest sets out for where it is to wait; `None` if it stays, or anybody is in
    /// it. In flight nobody boards, and what the scale shows is the acceleration.
    pub(super) fn parking_deadline(&self) -> Option<(Timestamp, CarTimer)> {
        let place = self.parking_floor()?;
        let is_elsewhere = self.inputs.floor.is_some_and(|floor| floor != place);
        let is_empty = self.inputs.load.is_none_or(|load| load == 0);
        let is_idle = self.phase == CarPhase::Idle && is_elsewhere && is_empty;
        is_idle.then(|| (self.phase_since + self.settings.park_after, CarTimer::Park))
    }

    /// The departure of a car at `floor` to where it is to wait, if it is due.
    pub(super) fn parking_departure(
        &self,
        floor: Floor,
        now: Timestamp,
    ) -> Option<(Direction, Floor)> {
        let (due, _) = self.parking_deadline()?;
        let place = self.parking_floor().filter(|_| due <= now)?;
        Some((floor.direction_to(place)?, place))
    }

    /// The stop of a car in flight without a call: where it is to wait, if it can still stop there.
    pub(super) fn parking_stop(&self, from: Floor, direction: Direction) -> Option<Floor> {
        let is_ahead = |place: &Floor| *place == from || place.is_beyond(from, direction);
        self.parking_floor().filter(is_ahead)
    }
}
