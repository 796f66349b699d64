//! What plans are made of, and who hears of them.

use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::Floor;

use super::{Action, LinkId, Node, PlanVersion, Report};
use crate::dispatch::{Assignments, CarSituation};
use crate::model::{Call, CarView, HallCall, NodeId, Timestamp};
use crate::wire::{Delta, Frame, PlanEntry};

impl Node {
    /// The plan that was asked for by [`Action::Plan`]. It may be out of date: what it says of calls
    /// that are served, or of cars that have left or can't serve, is left out.
    ///
    /// A request may stay unanswered: after a while the node makes another one.
    pub fn handle_plan(&mut self, version: PlanVersion, plan: Assignments, now: Timestamp) {
        if self.dispatching.accept_answer(version) && self.leadership.leads() {
            let (calls, cars) = (self.orders.hall_calls(), self.cars(now));
            let changed = self.dispatching.adopt(plan, calls, cars);
            self.send_plan(changed);
        }
        self.settle(now);
    }

    /// As master: asks who is to serve what (F1, F6), unless an answer is under way.
    pub(super) fn ask_for_plan(&mut self, now: Timestamp) {
        if !self.leadership.leads() {
            self.dispatching.leave_to_master();
            return;
        }
        if !self.dispatching.wants_plan() {
            return;
        }
        let waited = |call: HallCall| self.orders.store().waited(&Call::Hall(call), now);
        let calls = self.orders.hall_calls().into_iter();
        let calls: BTreeMap<HallCall, _> =
            calls.map(|call| (call, waited(call).unwrap_or_default())).collect();
        let cars = if calls.is_empty() { Vec::new() } else { self.situations(now) };
        if let Some(request) = self.dispatching.request(&calls, cars, now) {
            self.actions.push_back(Action::Plan(request));
        }
    }

    /// The cars of the group with what they are doing: the node's own, and those of the peers with
    /// which full states have been exchanged (F14).
    fn cars(&self, now: Timestamp) -> Vec<(NodeId, CarView)> {
        let own = self.cabin.view(now);
        let own = own.map(|view| (self.hello.node.clone(), view));
        let others = self.peers.links().synced().filter_map(|(_, name)| {
            let (view, at) = self.peers.members().get(name)?.car?;
            let elapsed = view.elapsed.saturating_add(now.since(at));
            Some((name.clone(), CarView { elapsed, ..view }))
        });
        own.into_iter().chain(others).collect()
    }

    fn situations(&self, now: Timestamp) -> Vec<CarSituation> {
        let mut car_calls: BTreeMap<&NodeId, BTreeSet<Floor>> = BTreeMap::new();
        for call in self.orders.store().calls() {
            match call {
                Call::Car { car, floor } => {
                    car_calls.entry(car).or_default().insert(*floor);
                }
                Call::Hall(_) => {}
            }
        }
        self.cars(now)
            .into_iter()
            .map(|(car, view)| CarSituation {
                car_calls: car_calls.remove(&car).unwrap_or_default(),
                car,
                view,
            })
            .collect()
    }

    /// Tells the linked peers and the car what is new in the plan.
    fn send_plan(&mut self, changed: Vec<PlanEntry>) {
        if changed.is_empty() {
            return;
        }
        let links: Vec<LinkId> = self.peers.links().synced().map(|(link, _)| link).collect();
        for link in links {
            let delta = Delta { plan: changed.clone(), ..Delta::default() };
            self.actions.push_back(Action::Send { link, frame: Frame::Delta(delta) });
        }
        for entry in changed {
            self.report(Report::Assigned { call: Call::Hall(entry.call), car: entry.car });
        }
        self.peers.hurry();
        self.cabin.invalidate_stops();
    }

    /// Takes in a line of the master's plan.
    pub(super) fn on_assignment(&mut self, entry: PlanEntry) {
        let (call, car) = (Call::Hall(entry.call), entry.car.clone());
        if !self.hello.floors.has_button(call.button()) {
            return;
        }
        if self.dispatching.learn(entry) {
            // A line of the plan may be overtaken by the service of its call.
            if self.orders.store().of_call(&call).next().is_some() {
                self.report(Report::Assigned { call, car });
            }
            self.cabin.invalidate_stops();
        }
    }
}
