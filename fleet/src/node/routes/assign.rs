//! Requests for plans, and the assignments that come of them.

use std::collections::BTreeMap;

use elevator_driver::{Kiosks, MOST_TRIPS, Trip};

use crate::dispatch::{CarPlan, Plan, Predictor};
use crate::model::{Call, CarView, HallCall, NodeId, NodeState, Timestamp};
use crate::node::{Action, LinkId, Node, PlanVersion, Report};
use crate::peers::Relation;
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::{Delta, Frame, PlanEntry};

impl Node {
    /// Handles the plan requested by [`Action::Plan`]. Its entries for served calls, for cars that
    /// have left or can't serve, and for places that the building does not have or the car can't
    /// reach, are ignored. A request may remain unanswered: the node makes another one after a
    /// while.
    pub fn handle_plan(&mut self, version: PlanVersion, plan: Plan, now: Timestamp) {
        if self.dispatching.planning.accept_answer(version) && self.leadership.leads() {
            let (calls, cars) = (self.store.hall_calls(), self.cars(now));
            let guidance = self.dispatching.guide(&plan.cars, &cars, self.hello.floors);
            // First: a car that gets its first call then knows in which direction to begin. After
            // the calls, where a car waits: one that still has a call forgets it.
            let (after, before) = guidance.into_iter().partition(|(_, plan)| plan.park.is_some());
            self.send_guidance(before);
            let outside = self.cars_outside(now);
            let changed = self.dispatching.adopt(plan.assignments, calls, cars, outside, now);
            self.send_plan(changed);
            self.send_guidance(after);
        }
        self.settle(now);
    }

    /// As master: requests a plan for the open hall calls (F1, F6), unless a request is pending.
    pub(in crate::node) fn ask_for_plan(&mut self, now: Timestamp) {
        if !self.leadership.leads() {
            self.dispatching.leave_to_master();
            return;
        }
        if !self.dispatching.wants_plan() {
            return;
        }
        let waited = |call: HallCall| self.store.orders().waited(&Call::Hall(call), now);
        // Riders whose car call is not promised yet wait for no car.
        let calls = self.waiting_calls().into_iter();
        let calls: BTreeMap<HallCall, _> =
            calls.map(|call| (call, waited(call).unwrap_or_default())).collect();
        let cars = self.bank(now).situations(self.cars(now));
        if let Some(request) = self.dispatching.request(&calls, cars, self.hello.floors, now) {
            self.actions.push_back(Action::Plan(request));
        }
    }

    /// The car that is to serve an open hall call, as far as this node knows.
    #[must_use]
    pub fn car_of(&self, call: HallCall, now: Timestamp) -> Option<&NodeId> {
        let serves_alone = match self.leadership.node_state() {
            NodeState::Seeking => call.to.is_some() && self.can_serve(call, now),
            NodeState::Master | NodeState::Slave { .. } => false,
        };
        if serves_alone || self.leadership.overdue.taken().contains(&call) {
            return Some(&self.hello.node);
        }
        self.dispatching.plan.car(call)
    }

    /// Whether the car of this node can serve a hall call at present.
    #[must_use]
    pub fn can_serve(&self, call: HallCall, now: Timestamp) -> bool {
        let serves = |view: CarView| Predictor::can_serve(&view) && view.reaches(call);
        self.bank(now).own_car().is_some_and(|(_, view)| serves(view))
    }

    /// What the kiosks show: the cars of the destination calls that are promised (P1), the latest
    /// ones if there are too many. A car that can't come is not shown.
    pub(in crate::node) fn kiosks(&self, now: Timestamp) -> Kiosks {
        let mut trips: Vec<(Timestamp, HallCall)> = self.store.promised_trips().collect();
        trips.sort_unstable_by(|one, other| other.cmp(one));
        let shown = trips.into_iter().filter_map(|(_, call)| {
            let trip = call.to.and_then(|to| Trip::new(call.floor, to));
            let car = self.car_of(call, now).filter(|car| !self.is_withdrawn(car, call, now));
            trip.zip(car.map(ToString::to_string))
        });
        shown.take(MOST_TRIPS).collect()
    }

    /// Whether a car is known not to come for this call: it can't serve it, or its node is lost.
    fn is_withdrawn(&self, car: &NodeId, call: HallCall, now: Timestamp) -> bool {
        let view = if *car == self.hello.node {
            self.bank(now).own_car().map(|(_, view)| view)
        } else if let Some(peer) = self.peers.membership.get(car) {
            let Some((view, _)) = peer.car else {
                return false;
            };
            Some(view)
        } else {
            None
        };
        !view.is_some_and(|view| Predictor::can_serve(&view) && view.reaches(call))
    }

    /// The cars of the group: the own one, and those of synced peers (F14) that take assignments.
    fn cars(&self, now: Timestamp) -> Vec<(NodeId, CarView)> {
        let bank = self.bank(now);
        let synced = self.peers.links.synced().map(|(_, name)| name);
        let others = synced.filter(|name| self.may_assign(name));
        let others = others.filter_map(|name| bank.car_of_peer(name));
        bank.own_car().into_iter().chain(others).collect()
    }

    /// The cars of the peers that are not in the group.
    fn cars_outside(&self, now: Timestamp) -> Vec<(NodeId, CarView)> {
        let peers = self.peers.membership.peers().map(|(name, _)| name);
        let outside =
            peers.filter(|name| !self.peers.links.is_synced(name) || !self.may_assign(name));
        let bank = self.bank(now);
        outside.filter_map(|name| bank.car_of_peer(name)).collect()
    }

    /// Whether a synced peer takes assignments. A standby link does not say whom it follows.
    fn may_assign(&self, peer: &NodeId) -> bool {
        let known = self.peers.membership.get(peer);
        match known.and_then(|known| self.peers.relation(&known.node_state)) {
            None | Some(Relation::FollowsThisNode | Relation::Unknown) => true,
            Some(Relation::Leads | Relation::FollowsAnother) => false,
        }
    }

    /// Sends changed entries of the plan to the linked peers, and applies them to the own car.
    fn send_plan(&mut self, changed: Vec<PlanEntry>) {
        if changed.is_empty() {
            return;
        }
        let links: Vec<LinkId> = self.peers.links.synced().map(|(link, _)| link).collect();
        for link in links {
            for delta in Delta::of_plan(changed.clone()) {
                self.actions.push_back(Action::Send { link, frame: Frame::Delta(delta) });
            }
        }
        for entry in changed {
            let call = Call::Hall(entry.call);
            self.report(Report::Assigned { call, car: entry.car, here: true });
        }
        self.peers.hurry();
        self.cabin.invalidate_stops();
        self.cabin.invalidate();
    }

    /// Tells cars what to do besides their calls, and applies it to the own one.
    fn send_guidance(&mut self, guidance: Vec<(NodeId, CarPlan)>) {
        for (car, plan) in guidance {
            if car == self.hello.node {
                self.cabin.set_plan(plan);
            } else if let Some(link) = self.peers.links.to(&car) {
                self.actions.push_back(Action::Send { link, frame: Frame::CarPlan(plan) });
            }
        }
    }

    /// The master is gone, or out of reach: what it wanted of the car besides its calls is void.
    pub(in crate::node) fn forget_guidance(&mut self, peer: &NodeId) {
        self.dispatching.forget_car(peer);
        if self.leadership.follows(peer) {
            self.cabin.set_plan(CarPlan::default());
        }
    }

    pub(in crate::node) fn on_assignment(&mut self, mut entry: PlanEntry) {
        if is_seeded(SeededBug::AllAssignedHere) {
            entry.car = self.hello.node.clone();
        }
        let (call, car) = (Call::Hall(entry.call), entry.car.clone());
        if !call.is_within(self.hello.floors) {
            return;
        }
        if self.dispatching.plan.learn(entry) {
            // The service of a call may arrive before the plan that assigns it.
            if self.store.orders().of_call(&call).next().is_some() {
                self.report(Report::Assigned { call, car, here: false });
            }
            self.cabin.invalidate_stops();
            self.cabin.invalidate();
        }
    }
}
