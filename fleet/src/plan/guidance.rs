//! What the cars of the group do besides serving their calls: where they wait and begin.

use std::collections::BTreeMap;

use elevator_driver::{Floor, FloorCount};

use crate::dispatch::{CarPlan, CarSituation, Predictor};
use crate::model::{CarPhase, CarView, FloorSet, NodeId, NodeState};

/// What a master tells the cars, and what it knows of them for that. It is told over links only,
/// whenever it changes, and again when the state of that car's node has changed. A car obeys until
/// its link to the master ends.
#[derive(Debug, Clone, Default)]
pub(super) struct Guidance {
    told: BTreeMap<NodeId, CarPlan>,
    /// The other cars may have been told something by the last master.
    inherits: bool,
    rest: Rest,
    seen: BTreeMap<NodeId, CarView>,
}

/// Whether a plan for a bank without calls was made. An idle bank is planned once: otherwise cars
/// would go on moving for smaller and smaller gains, though nothing happens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Rest {
    /// There are calls, or cars that have riders.
    #[default]
    Disturbed,
    /// The bank was left idle by the last master, which has parked the cars.
    Inherited,
    /// A plan was requested for these idle cars, with the floors that they leave out.
    Planned(BTreeMap<NodeId, FloorSet>),
}

impl Guidance {
    /// The node's state changed. If the mastership `rotates`, cars keep what they were told.
    pub(super) fn on_change(&mut self, node_state: &NodeState, rotates: bool) {
        self.told.clear();
        self.inherits = rotates;
        self.rest = match node_state {
            NodeState::Master if rotates => Rest::Inherited,
            NodeState::Master | NodeState::Slave { .. } | NodeState::Seeking => Rest::Disturbed,
        };
    }

    pub(super) fn forget_rest(&mut self) {
        self.rest = Rest::Disturbed;
    }

    /// The link to this car's node is gone.
    pub(super) fn forget_car(&mut self, car: &NodeId) {
        self.seen.remove(car);
        self.forget_told(car);
    }

    /// The node of this car has changed its state, and may have forgotten what it was told.
    pub(super) fn forget_told(&mut self, car: &NodeId) {
        if self.told.remove(car).is_some_and(|plan| plan != CarPlan::default()) {
            self.rest = Rest::Disturbed;
        }
    }

    /// A car shows this view; `true` if something has happened to it since the last one.
    pub(super) fn note_view(&mut self, car: &NodeId, view: &CarView) -> bool {
        let before = self.seen.insert(car.clone(), *view);
        before.is_none_or(|before| has_news(&before, view))
    }

    pub(super) fn parked(&self) -> BTreeMap<NodeId, Floor> {
        self.told.iter().filter_map(|(car, plan)| Some((car.clone(), plan.park?))).collect()
    }

    /// Whether nothing has happened since the last request, or none is needed: no car can serve.
    pub(super) fn is_at_rest(&mut self, without_calls: bool, cars: &[CarSituation]) -> bool {
        let able = || cars.iter().filter(|car| Predictor::can_serve(&car.view));
        if !without_calls || !able().all(is_free) {
            self.rest = Rest::Disturbed;
            return false;
        }
        let idle =
            Rest::Planned(able().map(|car| (car.car.clone(), car.view.locked_out)).collect());
        let is_known = self.rest == Rest::Inherited || self.rest == idle;
        self.rest = idle;
        is_known || able().next().is_none()
    }

    /// Adopts a plan, without what cars can't do. Returns what is new to its car.
    pub(super) fn adopt(
        &mut self,
        plans: &BTreeMap<NodeId, CarPlan>,
        cars: &[(NodeId, CarView)],
        floors: FloorCount,
    ) -> Vec<(NodeId, CarPlan)> {
        let mut news = Vec::new();
        for (car, view) in cars {
            // A strategy that plans calls only ends nothing that the last master began.
            let ends = self.inherits && plans.contains_key(car);
            let unless_told = (!ends).then(CarPlan::default);
            let plan = plans.get(car).filter(|_| Predictor::can_serve(view));
            let plan = plan.copied().unwrap_or_default();
            let is_open =
                |floor: &Floor| floors.contains(*floor) && !view.locked_out.contains(*floor);
            let plan = CarPlan { park: plan.park.filter(is_open), ..plan };
            let before = self.told.insert(car.clone(), plan);
            if before.or(unless_told) != Some(plan) {
                news.push((car.clone(), plan));
            }
        }
        news
    }
}

/// Whether something has happened to a car that does not follow from its plan (N4).
fn has_news(before: &CarView, view: &CarView) -> bool {
    let known = |view: &CarView| (view.floor, view.availability, view.locked_out);
    let has_acted = match (before.phase, view.phase) {
        (CarPhase::Moving { next_stop: before, .. }, CarPhase::Moving { next_stop, .. }) => {
            before != next_stop
        }
        (_, CarPhase::Moving { .. }) | (CarPhase::Idle, CarPhase::Opening) => false,
        (before, phase) => before != phase,
    };
    has_acted || known(before) != known(view)
}

/// Whether a car has no riders and nothing under way but its flight to where it waits.
fn is_free(car: &CarSituation) -> bool {
    car.resting_place().is_some() && car.car_calls.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::{floor, name};

    fn view(at: u8) -> CarView {
        CarView::idle_at(floor(at))
    }

    fn idle(cars: &[u8]) -> Vec<CarSituation> {
        let situation =
            |car: &u8| CarSituation { car: name(*car), view: view(*car), car_calls: [].into() };
        cars.iter().map(situation).collect()
    }

    fn park(at: u8) -> CarPlan {
        CarPlan { direction: None, park: Some(floor(at)) }
    }

    /// What idle cars are told that a plan says something of.
    fn tells(
        guidance: &mut Guidance,
        cars: &[u8],
        plans: &[(u8, CarPlan)],
    ) -> Vec<(NodeId, CarPlan)> {
        let plans = plans.iter().map(|(car, plan)| (name(*car), *plan)).collect();
        let cars: Vec<_> = cars.iter().map(|car| (name(*car), view(0))).collect();
        guidance.adopt(&plans, &cars, FloorCount::new(4).expect("floors"))
    }

    #[test]
    fn a_car_is_told_once_and_when_it_is_no_longer_to_do_it() {
        let mut guidance = Guidance::default();
        let mut told = |cars: &[u8], plans: &[_]| tells(&mut guidance, cars, plans);
        assert_eq!(told(&[1, 2], &[(1, park(3))]), [(name(1), park(3))]);
        assert_eq!(told(&[1, 2], &[(1, park(3)), (2, park(2))]), [(name(2), park(2))]);
        assert_eq!(told(&[1, 2], &[(2, park(2))]), [(name(1), CarPlan::default())]);
        assert_eq!(told(&[1], &[]), [], "the other is away for a moment");
        assert_eq!(told(&[1, 2], &[]), [(name(2), CarPlan::default())]);
    }

    #[test]
    fn a_bank_is_at_rest_until_something_happens() {
        let mut guidance = Guidance::default();
        assert!(!guidance.is_at_rest(true, &idle(&[1, 2])), "its cars are parked");
        assert!(guidance.is_at_rest(true, &idle(&[1, 2])));
        assert!(!guidance.is_at_rest(true, &idle(&[1])), "a car has left");
        assert!(!guidance.is_at_rest(false, &idle(&[1])), "a call");
        assert!(!guidance.is_at_rest(true, &idle(&[1])));
        assert!(guidance.is_at_rest(true, &idle(&[1])));
        let mut busy = idle(&[1]);
        busy[0].car_calls.insert(floor(2));
        assert!(!guidance.is_at_rest(true, &busy), "a rider");
        assert!(guidance.is_at_rest(true, &[]), "nobody to park");
    }

    /// T5: otherwise each holder of the token would move the cars anew.
    #[test]
    fn a_rotating_master_leaves_an_idle_bank_as_it_is() {
        let mut guidance = Guidance::default();
        guidance.on_change(&NodeState::Master, true);
        assert!(guidance.is_at_rest(true, &idle(&[1, 2])));
        assert!(!guidance.is_at_rest(false, &idle(&[1, 2])));
        assert!(!guidance.is_at_rest(true, &idle(&[1, 2])));
        guidance.on_change(&NodeState::Master, false);
        assert!(!guidance.is_at_rest(true, &idle(&[1, 2])));
    }

    /// T5: the last holder of the token may have told it something else.
    #[test]
    fn a_rotating_master_tells_each_car_once_that_it_is_to_do_nothing() {
        let mut guidance = Guidance::default();
        let plans = [(1, CarPlan::default())];
        assert_eq!(tells(&mut guidance, &[1], &plans), []);
        guidance.on_change(&NodeState::Master, true);
        assert_eq!(tells(&mut guidance, &[1], &plans), [(name(1), CarPlan::default())]);
        assert_eq!(tells(&mut guidance, &[1], &plans), []);
    }
}
