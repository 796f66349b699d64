//! The plan, which assigns hall calls to cars, and the requests for it.
//!
//! ```text
//!   dirty, replan period ──▶ Planning ──▶ PlanRequest ─▶ (a dispatcher, elsewhere)
//!                                                              │
//!   master's lines ──▶ Plan ◀── what is not gone ◀── Assignments, car plans
//!                        │                                     └──▶ Guidance ──▶ the cars
//!                        └──▶ new lines, for the peers and the car
//! ```
//!
//! It knows no order, link or car: the open calls and the cars of the group come in as arguments.

mod assigned;
mod guidance;
mod outside;
mod planning;
mod timetable;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Direction, FloorCount};

use self::assigned::Plan;
use self::guidance::Guidance;
use self::outside::Outside;
use self::planning::Planning;
use self::timetable::Timetable;
use crate::dispatch::{
    Assignments, CarPlan, CarSituation, Destinations, HallDemand, Predictor, Schedule, WeekTime,
};
use crate::model::{CarView, FloorSet, HallCall, NodeId, NodeState, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::PlanEntry;

pub use planning::{PlanRequest, PlanVersion};

#[derive(Debug, Clone, Default)]
pub(crate) struct Dispatching {
    pub(crate) plan: Plan,
    pub(crate) planning: Planning,
    guidance: Guidance,
    destinations: Destinations,
    outside: Outside,
    pub(crate) timetable: Timetable,
    is_dirty: bool,
}

impl Dispatching {
    pub(crate) fn set_schedule(&mut self, schedule: Schedule) {
        self.timetable = Timetable::new(schedule);
    }

    pub(crate) fn set_local_time(&mut self, time: WeekTime) {
        if self.timetable.set_time(time) {
            self.guidance.forget_rest();
            self.is_dirty = true;
        }
    }

    pub(crate) fn invalidate(&mut self) {
        self.is_dirty = true;
    }

    /// A call is open that was not open before. Nobody was told a car of a trip that has not been
    /// asked for: what the plan says of it was said of an earlier press, or comes again.
    pub(crate) fn on_opened(&mut self, call: HallCall) {
        if call.to.is_some() {
            self.plan.forget(call);
        }
    }

    /// The node's state changed, and these are the open calls. If the mastership `rotates`, the
    /// next master continues with the plan; otherwise with the cars of destination calls only,
    /// which the passengers know.
    pub(crate) fn on_change(
        &mut self,
        node_state: &NodeState,
        rotates: bool,
        open: &BTreeSet<HallCall>,
    ) {
        self.plan.forget_trips_but(open);
        if !is_seeded(SeededBug::OldPlanKept) {
            if !rotates {
                self.plan.end();
            }
            self.plan.inherit(node_state);
        }
        self.outside.clear();
        self.guidance.on_change(node_state, rotates);
        self.planning.abandon();
        self.is_dirty = true;
    }

    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        if self.planning.is_lost(now) {
            self.guidance.forget_rest();
            self.is_dirty = true;
        }
        self.is_dirty |= self.planning.is_due(now);
    }

    pub(crate) fn note_view(&mut self, car: &NodeId, view: &CarView) {
        self.is_dirty |= self.guidance.note_view(car, view);
    }

    /// The link to a car's node is gone, and with it what the car was told besides its calls.
    pub(crate) fn forget_car(&mut self, car: &NodeId) {
        self.guidance.forget_car(car);
        self.is_dirty = true;
    }

    /// The node of this car has changed its state: what the car was told may be lost.
    pub(crate) fn on_peer_changed(&mut self, car: &NodeId) {
        self.guidance.forget_told(car);
        self.is_dirty = true;
    }

    /// As slave: no plan is needed.
    pub(crate) fn leave_to_master(&mut self) {
        self.is_dirty = false;
    }

    pub(crate) fn wants_plan(&self) -> bool {
        self.is_dirty && !self.planning.is_under_way()
    }

    /// As master: requests a plan for the open calls, with their waiting times, and the cars of the
    /// group. Without open calls idle cars are parked: once, until something happens.
    pub(crate) fn request(
        &mut self,
        calls: &BTreeMap<HallCall, Duration>,
        cars: Vec<CarSituation>,
        floors: FloorCount,
        now: Timestamp,
    ) -> Option<PlanRequest> {
        self.is_dirty = false;
        self.planning.reconsider(!calls.is_empty(), now);
        if calls.is_empty() {
            self.plan.clear();
        }
        if self.guidance.is_at_rest(calls.is_empty(), &cars) {
            return None;
        }
        let demand = calls.iter().map(|(call, waited)| HallDemand {
            call: *call,
            waited: *waited,
            assigned: self.plan.car(*call).cloned(),
            wanted: FloorSet::default(),
        });
        let mut demand: Vec<HallDemand> = demand.collect();
        self.destinations.note(&mut demand, &cars, floors);
        let (parked, parking) = (self.guidance.parked(), self.timetable.planned());
        let version = self.planning.ask(now);
        Some(PlanRequest { version, now, cars, demand, parked, parking })
    }

    /// Adopts a plan, without calls that are no longer open. A call whose planned car can't serve
    /// it stays with its present car, as a destination call does in any case, also with a car
    /// `outside` the group for a while. Returns the changed entries.
    pub(crate) fn adopt(
        &mut self,
        mut plan: Assignments,
        calls: BTreeSet<HallCall>,
        cars: Vec<(NodeId, CarView)>,
        outside: Vec<(NodeId, CarView)>,
        now: Timestamp,
    ) -> Vec<PlanEntry> {
        let outside = self.outside.recent(outside, now);
        let keeps = |car: &NodeId, call: HallCall| {
            let view = outside.get(car).filter(|view| Predictor::can_serve(view));
            call.to.is_some() && view.is_some_and(|view| view.reaches(call))
        };
        let able = cars.into_iter().filter(|(_, view)| Predictor::can_serve(view));
        let able: BTreeMap<NodeId, CarView> = able.collect();
        let serves =
            |car: &NodeId, call: HallCall| able.get(car).is_some_and(|view| view.reaches(call));
        let assign = |call: HallCall| {
            let (planned, present) = (plan.remove(&call), self.plan.car(call));
            let planned = planned.as_ref();
            let (first, second) = match call.to {
                Some(_) => (present, planned),
                None => (planned, planned.and(present)),
            };
            let kept =
                present.filter(|car| keeps(car, call) || is_seeded(SeededBug::LostCarKeepsCalls));
            let mut choices = first.into_iter().chain(second).filter(|car| serves(car, call));
            let car = kept.or_else(|| choices.next())?;
            Some((call, car.clone()))
        };
        let is_assigned = |call: &HallCall| {
            call.direction == Direction::Up || !is_seeded(SeededBug::DownCallsUnassigned)
        };
        let plan = calls.into_iter().filter(is_assigned).filter_map(assign).collect();
        self.plan.adopt(plan)
    }

    /// Adopts what cars are to do besides their calls. Returns what each of them has to be told.
    pub(crate) fn guide(
        &mut self,
        plans: &BTreeMap<NodeId, CarPlan>,
        cars: &[(NodeId, CarView)],
        floors: FloorCount,
    ) -> Vec<(NodeId, CarPlan)> {
        self.guidance.adopt(plans, cars, floors)
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::Floor;

    use super::*;
    use crate::election::testing::{floor, name};

    const CALL: HallCall = HallCall::new(Floor::BOTTOM, Direction::Up);

    fn view() -> CarView {
        CarView::idle_at(Floor::BOTTOM)
    }

    fn trip() -> HallCall {
        HallCall::to(Floor::BOTTOM, floor(3)).expect("a trip")
    }

    fn adopt(
        dispatching: &mut Dispatching,
        plan: Assignments,
        calls: BTreeSet<HallCall>,
        cars: Vec<(NodeId, CarView)>,
    ) -> Vec<PlanEntry> {
        dispatching.adopt(plan, calls, cars, Vec::new(), Timestamp::START)
    }

    /// The passenger has been told the car, and waits for that one.
    #[test]
    fn a_destination_call_stays_with_its_car_while_that_one_can_serve() {
        let call = trip();
        let mut dispatching = Dispatching::default();
        let calls = || BTreeSet::from([call, CALL]);
        let cars = |first: CarView| vec![(name(1), first), (name(2), view())];
        let plan = |car| Assignments::from([(call, name(car)), (CALL, name(car))]);
        assert_eq!(adopt(&mut dispatching, plan(1), calls(), cars(view())).len(), 2);
        let changed = adopt(&mut dispatching, plan(2), calls(), cars(view()));
        assert_eq!(changed.iter().map(|entry| entry.call).collect::<Vec<_>>(), [CALL]);
        assert_eq!(dispatching.plan.car(call), Some(&name(1)));
        assert!(adopt(&mut dispatching, Assignments::new(), calls(), cars(view())).is_empty());
        assert_eq!(dispatching.plan.car(call), Some(&name(1)), "a plan that leaves it out");

        let locked_out = CarView { locked_out: [floor(3)].into_iter().collect(), ..view() };
        assert_eq!(adopt(&mut dispatching, plan(2), calls(), cars(locked_out)).len(), 2);
        assert_eq!(dispatching.plan.car(call), Some(&name(2)), "the first can't take it there");
        let changed = adopt(&mut dispatching, plan(1), calls(), vec![(name(1), view())]);
        assert_eq!(changed.len(), 2, "the second is lost");
        assert_eq!(dispatching.plan.car(call), Some(&name(1)));
    }

    /// F8: the next master has no links yet.
    #[test]
    fn a_destination_call_stays_with_a_car_that_follows_soon() {
        let call = trip();
        let mut dispatching = Dispatching::default();
        for call in [call, CALL] {
            assert!(dispatching.plan.learn(PlanEntry { version: 7, call, car: name(2) }));
        }
        dispatching.on_change(&NodeState::Master, false, &BTreeSet::from([call, CALL]));
        let kept: Vec<PlanEntry> = dispatching.plan.entries().collect();
        assert_eq!(kept, [PlanEntry { version: 1, call, car: name(2) }], "not the other call's");
        let mut adopt = |seconds| {
            let (plan, calls) = (Assignments::from([(call, name(1))]), BTreeSet::from([call]));
            let (cars, outside) = (vec![(name(1), view())], vec![(name(2), view())]);
            let now = Timestamp::START + Duration::from_secs(seconds);
            dispatching.adopt(plan, calls, cars, outside, now).len()
        };
        assert_eq!((adopt(0), adopt(2)), (0, 0));
        assert_eq!(adopt(3), 1, "it may not know that it has the call");
    }
}
