//! How the master gets its plans: it asks for one, and goes on until the answer arrives.
//!
//! A plan for a large bank takes longer than anything may delay the stop of a motor, so the node
//! never makes one itself. It hands out a [`PlanRequest`], and the driver answers it by
//! [`Node::handle_plan`]. One request is under way at a time. What changes meanwhile makes the plan
//! stale, and the next request leaves when the answer arrives.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::Floor;

use super::{Action, LinkId, Node, Report};
use crate::dispatch::{Assignments, CarSituation, Dispatcher, HallDemand, Predictor};
use crate::model::{Call, CarView, HallCall, NodeId, Timestamp};
use crate::wire::{Frame, News};

/// While calls wait, the plan is reconsidered this often: waiting makes them dearer.
const REPLAN_PERIOD: Duration = Duration::from_secs(1);

/// A request that is not answered for so long counts as lost, and another one leaves. Far longer
/// than the largest bank takes on a slow computer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The number of a request for a plan; later ones are higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PlanVersion(u64);

/// A request for a plan: everything that [`Dispatcher::assign`] needs, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRequest {
    /// What the answer refers to.
    pub version: PlanVersion,
    /// The cars of the group.
    pub cars: Vec<CarSituation>,
    /// The hall calls that wait.
    pub demand: Vec<HallDemand>,
}

impl PlanRequest {
    /// The plan that a dispatcher makes of it.
    pub fn plan(&self, dispatcher: &mut dyn Dispatcher) -> Assignments {
        dispatcher.assign(&self.cars, &self.demand)
    }
}

/// The requests for plans.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Planning {
    /// The latest request.
    asked: PlanVersion,
    /// Answers to requests up to this one are not taken in: a later one has been, or the request
    /// was made by an earlier mastership.
    outdated: PlanVersion,
    /// When the latest request counts as lost; `None` once it has been answered.
    lost_at: Option<Timestamp>,
    /// When the plan is to be reconsidered, while calls wait.
    due: Option<Timestamp>,
}

impl Planning {
    fn ask(&mut self, now: Timestamp) -> PlanVersion {
        self.asked = PlanVersion(self.asked.0.saturating_add(1));
        self.lost_at = Some(now + ANSWER_LIMIT);
        self.asked
    }

    /// Whether an answer is of use. That of a request that counts as lost still is.
    fn take_answer(&mut self, version: PlanVersion) -> bool {
        if version == self.asked {
            self.lost_at = None;
        }
        let useful = version > self.outdated && version <= self.asked;
        self.outdated = self.outdated.max(version.min(self.asked));
        useful
    }

    /// The node has another standing: nobody waits for an answer any more.
    pub(super) fn abandon(&mut self) {
        self.outdated = self.asked;
        self.lost_at = None;
        self.due = None;
    }

    /// When [`is_due`](Self::is_due) may hold.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.lost_at.or(self.due)
    }

    /// Whether it is time for another request; says so once.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let passed = |at: &mut Timestamp| *at <= now;
        let lost = self.lost_at.take_if(passed).is_some();
        let due = self.lost_at.is_none() && self.due.take_if(passed).is_some();
        lost || due
    }
}

impl Node {
    /// The plan that was asked for by [`Action::Plan`]. It may be out of date: what it says of calls
    /// that are served, or of cars that have left or can't serve, is left out.
    ///
    /// A request may stay unanswered: after a while the node makes another one.
    pub fn handle_plan(&mut self, version: PlanVersion, plan: Assignments, now: Timestamp) {
        if self.planning.take_answer(version) && self.leadership.leads() {
            let plan = self.without_what_is_gone(plan, now);
            self.adopt_plan(plan);
        }
        self.settle(now);
    }

    /// As master: asks who is to serve what (F1, F6), unless an answer is under way.
    pub(super) fn ask_for_plan(&mut self, now: Timestamp) {
        if !self.leadership.leads() {
            self.stale.plan = false;
            return;
        }
        if !self.stale.plan || self.planning.lost_at.is_some() {
            return;
        }
        self.stale.plan = false;
        let demand = self.demand(now);
        self.planning.due = (!demand.is_empty()).then(|| now + REPLAN_PERIOD);
        if demand.is_empty() {
            self.adopt_plan(Assignments::new());
            return;
        }
        let request = PlanRequest {
            version: self.planning.ask(now),
            cars: self.situations(now),
            demand,
        };
        self.actions.push_back(Action::Plan(request));
    }

    fn demand(&self, now: Timestamp) -> Vec<HallDemand> {
        let demand = |call| HallDemand {
            call,
            waited: self
                .orders
                .waited(&Call::Hall(call), now)
                .unwrap_or_default(),
            assigned: self.plan.car(call).cloned(),
        };
        self.hall_calls().into_iter().map(demand).collect()
    }

    /// The cars of the group with what they are doing: the node's own, and those of the peers with
    /// which full states have been exchanged (F14).
    fn cars(&self, now: Timestamp) -> impl Iterator<Item = (NodeId, CarView)> {
        let own = self
            .cabin
            .view(now)
            .map(|view| (self.hello.node.clone(), view));
        let others = self.links.joined().filter_map(move |(_, name)| {
            let (view, at) = self.membership.get(name)?.car?;
            let elapsed = view.elapsed.saturating_add(now.since(at));
            Some((name.clone(), CarView { elapsed, ..view }))
        });
        own.into_iter().chain(others)
    }

    fn situations(&self, now: Timestamp) -> Vec<CarSituation> {
        let mut car_calls: BTreeMap<&NodeId, BTreeSet<Floor>> = BTreeMap::new();
        for call in self.orders.calls() {
            match call {
                Call::Cab { car, floor } => {
                    car_calls.entry(car).or_default().insert(*floor);
                }
                Call::Hall(_) => {}
            }
        }
        self.cars(now)
            .map(|(car, view)| CarSituation {
                cab: car_calls.remove(&car).unwrap_or_default(),
                car,
                view,
            })
            .collect()
    }

    /// A plan without the calls that are served by now. A call whose car has left, or can't serve
    /// it, stays with the car that it has at present, if that one can.
    fn without_what_is_gone(&self, mut plan: Assignments, now: Timestamp) -> Assignments {
        let cars: BTreeMap<NodeId, CarView> = self
            .cars(now)
            .filter(|(_, view)| Predictor::can_serve(view))
            .collect();
        let serves = |car: &NodeId, call: HallCall| {
            cars.get(car)
                .is_some_and(|view| !view.left_out.contains(call.floor))
        };
        let assign = |call: HallCall| {
            let (planned, present) = (plan.remove(&call)?, self.plan.car(call));
            let car = [Some(&planned), present]
                .into_iter()
                .flatten()
                .find(|car| serves(car, call))?;
            Some((call, car.clone()))
        };
        self.hall_calls().into_iter().filter_map(assign).collect()
    }

    /// Makes a plan the present one, and tells the peers and the car what is new.
    fn adopt_plan(&mut self, plan: Assignments) {
        let changed = self.plan.adopt(plan);
        if changed.is_empty() {
            return;
        }
        let links: Vec<LinkId> = self.links.joined().map(|(link, _)| link).collect();
        for link in links {
            let news = News {
                plan: changed.clone(),
                ..News::default()
            };
            self.actions.push_back(Action::Send {
                link,
                frame: Frame::News(news),
            });
        }
        for entry in changed {
            self.report(Report::Assigned {
                call: Call::Hall(entry.call),
                car: entry.car,
            });
        }
        self.clock.hurry();
        self.cabin.invalidate_stops();
    }
}
