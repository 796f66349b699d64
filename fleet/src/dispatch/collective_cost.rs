//! The strategy: the least cost of waiting, predicted car by car.

use std::collections::BTreeMap;

use elevator_driver::FloorCount;

use super::plan::PlanBuilder;
use super::{Assignments, CarSituation, Dispatcher, HallDemand, Kinematics, Predictor};

/// Assigns each hall call where it costs the bank the least (F17).
///
/// The cost of a plan is the sum, over the hall calls, of the square of the whole waiting time
/// (so far, and as predicted until the door opens), and over the car calls of the square of the
/// time until the passenger gets off. So a long wait weighs more than two of half its length, and
/// whoever is delayed by a stop counts as much as whoever waits for it.
///
/// A plan keeps the present assignments that are still possible, places the other calls, the one
/// that would suffer most from its second-best car first, and then moves single calls to another
/// car as long as that lowers the cost. A call that a car has already stays there unless moving
/// it gains more than another second of waiting would cost it, so that cars don't dither; one
/// that its car is stopping for stays in any case.
#[derive(Debug, Clone)]
pub struct CollectiveCost {
    predictor: Predictor,
}

impl CollectiveCost {
    /// A dispatcher for one bank of like cars.
    #[must_use]
    pub fn new(kinematics: Kinematics, floors: FloorCount) -> Self {
        Self { predictor: Predictor::new(kinematics, floors) }
    }
}

impl Dispatcher for CollectiveCost {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let cars: BTreeMap<_, _> = cars
            .iter()
            .filter(|car| Predictor::can_serve(&car.view))
            .map(|car| (&car.car, car))
            .collect();
        // Of a call that is listed twice, the longest wait counts.
        let mut demand: Vec<_> = demand.iter().collect();
        demand.sort_unstable();
        demand.dedup_by(|later, earlier| {
            let same = later.call == earlier.call;
            if same {
                *earlier = *later;
            }
            same
        });
        let mut plan = PlanBuilder::new(&self.predictor, cars.into_values().collect(), &demand);
        plan.place();
        plan.improve();
        plan.into_assignments()
    }
}
