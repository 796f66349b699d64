//! The strategy: the least cost of waiting, predicted car by car.

use elevator_driver::FloorCount;

use super::plan::PlanBuilder;
use super::{
    Assignments, CarSituation, Dispatcher, HallDemand, Kinematics, Predictor, able_cars,
    distinct_calls,
};

/// Assigns each hall call to the car that minimizes the cost for the bank (F17).
///
/// The cost of a plan is a sum of squares: over the hall calls, of the whole waiting time (so far,
/// plus the prediction until the door opens); over the car calls, of the time until the passenger
/// gets off. So one long wait weighs more than two of half its length, and a passenger who is
/// delayed by a stop counts as much as one who waits for it.
///
/// A plan keeps the present assignments that are still possible. Then it places the other calls,
/// beginning with the one that would lose most with its second-best car. Finally it moves single
/// calls to other cars as long as that lowers the cost. A call that already has a car moves only if
/// that gains more than another second of waiting would cost, so that cars don't dither; a call for
/// which its car is already stopping never moves, and neither does a destination call.
#[derive(Debug, Clone)]
pub struct CollectiveCost {
    predictor: Predictor,
}

impl CollectiveCost {
    /// Creates a dispatcher for a bank of equal cars.
    #[must_use]
    pub fn new(kinematics: Kinematics, floors: FloorCount) -> Self {
        Self { predictor: Predictor::new(kinematics, floors) }
    }
}

impl Dispatcher for CollectiveCost {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let demand = distinct_calls(demand);
        let mut plan = PlanBuilder::new(&self.predictor, able_cars(cars), &demand);
        plan.place();
        plan.improve();
        plan.into_assignments()
    }
}
