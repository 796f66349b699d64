//! What follows from each input: updates of the plan, the car, the lamps, the disk and the peers.

use super::orders::Fleet;
use super::{Action, Node, Report};
use crate::car::{CarEvent, Stops};
use crate::model::Timestamp;
use crate::wire::NodeState;

impl Node {
    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.started {
            return;
        }
        self.oversee(now);
        let fleet = Fleet::new(&self.peers, &self.leadership, &self.cabin);
        self.orders.judge_early(fleet, &mut self.random, now);
        self.orders.place_contested(fleet, now);
        self.route_orders(now);
        // Serving a call changes the orders, which changes the stops. Each round serves at least
        // one order, so this ends.
        loop {
            self.refresh_estimate(now);
            if self.cabin.are_stops_dirty() {
                self.update_stops(now);
            }
            if !self.on_car_events(now) {
                break;
            }
        }
        let fleet = Fleet::new(&self.peers, &self.leadership, &self.cabin);
        self.orders.collect_in_time(fleet, now);
        self.send_states(now);
        self.orders.review_promises(|| self.peers.members().names());
        self.route_orders(now);
        self.refresh_climate(now);
        let is_dirty = self.cabin.take_dirty();
        if is_dirty {
            if let Some(view) = self.cabin.view(now) {
                self.dispatching.note_view(&self.hello.node, &view, now);
            }
            self.cabin.update_panel(self.orders.lamps(), now);
        }
        self.update_disk(now);
        if self.orders.take_dirty() || is_dirty {
            self.send_deltas(now);
        }
        self.broadcast_if_due(now);
        self.ask_for_plan(now);
    }

    /// Updates the car's stops: the orders assigned to it, or all of them while there is no master
    /// (F1, F7).
    fn update_stops(&mut self, now: Timestamp) {
        let hall = self.orders.hall_calls();
        let assigned = match self.leadership.node_state() {
            NodeState::Seeking => hall.clone(),
            NodeState::Master | NodeState::Slave { .. } => self
                .dispatching
                .assigned_to(&self.hello.node)
                .union(self.leadership.taken_over())
                .filter(|call| hall.contains(call))
                .copied()
                .collect(),
        };
        let car_calls = self.orders.own_car_calls();
        let stops = Stops { car_calls: &car_calls, assigned: &assigned, hall: &hall };
        self.cabin.set_stops(stops, now);
    }

    /// Handles the car's events; `true` if there were any, or if the stops have changed.
    fn on_car_events(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some(event) = self.cabin.poll_event() {
            match event {
                CarEvent::Served(calls) => {
                    for call in calls {
                        self.orders.serve(call, now);
                        self.route_orders(now);
                    }
                }
                CarEvent::Hung(evidence) => self.report(Report::Hung(evidence)),
                CarEvent::DoorChanged { to, .. } => self.report(Report::Door { door: to }),
                CarEvent::AvailabilityChanged(availability) => {
                    self.report(Report::Availability(availability));
                    self.peers.hurry();
                }
                CarEvent::FloorUnreachable(floor) => {
                    self.report(Report::FloorUnreachable { floor });
                }
                CarEvent::DriveRefused => self.report(Report::DriveRefused),
                CarEvent::OffTarget { stop_at, at } => {
                    self.report(Report::OffTarget { stop_at, at });
                }
                CarEvent::FlightLearned(record) => self.orders.note_flight_times(record),
                CarEvent::Departed { .. } | CarEvent::Arrived(_) => {}
            }
            self.dispatching.invalidate();
            any = true;
        }
        any || self.cabin.are_stops_dirty()
    }

    /// Passes the next batch to the disk.
    fn update_disk(&mut self, now: Timestamp) {
        let term = self.leadership.term();
        let batch = self.orders.batch(term, &mut self.random, now);
        self.route_orders(now);
        if let Some((lsn, changes)) = batch {
            self.actions.push_back(Action::Persist { lsn, changes });
        }
    }
}
