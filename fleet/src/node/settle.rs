//! What follows from each input: updates of the plan, the car, the lamps, the disk and the peers.

use std::collections::BTreeSet;

use elevator_driver::{Alarm, DoorState, Floor};

use super::{Action, Node, Report, Timer};
use crate::cabin::CabinTimer;
use crate::car::{CarEvent, ServedCall, Stops};
use crate::model::{Call, HallCall, NodeState, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::services::{end_of_hang, recall_by_key, sessions};
use crate::settings::{Request, Session, Setting, Words};
use crate::store::Ride;

impl Node {
    /// From the inside out: who leads and what is commanded decide where the car stops, which
    /// decides what is served; then others learn of it. The panel is first, as nothing may delay
    /// the stop of a motor; the disk comes before the peers, for a lamp waits for the slowest; the
    /// plan needs all of it.
    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.leadership.has_started() {
            return;
        }
        self.take_over(now);
        self.obey_commands(now);
        self.serve_calls(now);
        self.send_states(now);
        self.keep_promises(now);
        self.refresh_climate(now);
        let is_news = self.update_panel(now);
        self.update_disk(now);
        self.tell_peers(is_news, now);
        self.ask_for_plan(now);
    }

    /// What is commanded holds, and is passed on where it is for another car to do.
    fn obey_commands(&mut self, now: Timestamp) {
        for setting in self.consult(now, |services, bank| services.priorities.review(bank)) {
            self.direct(setting, now);
        }
        while let Some(session) = self.consult(now, |it, bank| it.sessions.review(bank))
            && self.direct(Setting::Request(Request::Session(session)), now)
        {}
        for setting in self.consult(now, |services, bank| services.turns.give(bank)) {
            self.direct(setting, now);
        }
        let (power, over) = self.consult(now, |services, bank| services.turns.power(bank));
        self.cabin.set_power(power, now);
        if let Some(over) = over {
            self.direct(over, now);
        }
        self.keep_key(now);
        if is_seeded(SeededBug::RecallNeverEnds) && self.store.orders().recalls() > 0 {
            self.store.cancel(u64::MAX);
        }
    }

    /// What this node says about its own car: its key, and that a hang is over.
    fn keep_key(&mut self, now: Timestamp) {
        let own = self.hello.node.clone();
        for setting in self.consult(now, |services, bank| services.key.review(bank)) {
            let is_key = matches!(setting, Setting::KeySwitch(..));
            let by = if is_key { Words::entered("key switch", &own) } else { (&own).into() };
            self.set_own(setting.clone(), by.clone(), now);
            if let Some(recall) = recall_by_key(&self.bank(now), &setting) {
                self.set_own(recall, by, now);
            }
        }
        if let Some(over) = end_of_hang(&self.bank(now)) {
            self.set_own(over, (&own).into(), now);
        }
    }

    /// The car goes where it has calls, and those are served at whose floor its door is open.
    /// Serving a call changes the orders, which changes the stops. In each round at least one order
    /// is served, or its passenger enters the car, so this ends.
    fn serve_calls(&mut self, now: Timestamp) {
        loop {
            self.refresh_estimate(now);
            if self.cabin.are_stops_dirty() {
                self.update_stops(now);
            }
            if !self.on_car_events(now) {
                break;
            }
        }
    }

    /// What two nodes hold, one of them on disk, is promised; and a passenger who has entered is
    /// served once their trip is (P1).
    fn keep_promises(&mut self, now: Timestamp) {
        self.store.review_promises(|| self.peers.membership.names());
        self.serve_boarded(now);
        self.route_store(now);
    }

    /// The panel shows what holds now; `true` if there was something new about the car.
    fn update_panel(&mut self, now: Timestamp) -> bool {
        let is_dirty = self.cabin.take_dirty();
        if is_dirty {
            if let Some(view) = self.cabin.view(now) {
                self.dispatching.note_view(&self.hello.node, &view);
            }
            let alarm = self.settings().alarm(&self.hello.node);
            self.cabin.update_panel(self.store.lamps(), self.kiosks(now), alarm, now);
        }
        is_dirty
    }

    /// Peers get what is new, over links and in a beacon.
    fn tell_peers(&mut self, is_news_of_car: bool, now: Timestamp) {
        if self.store.replication.take_dirty() || is_news_of_car {
            self.send_deltas(now);
        }
        self.broadcast_if_due(now);
    }

    /// The open hall calls whose passengers are not in the car yet.
    pub(super) fn waiting_calls(&self) -> BTreeSet<HallCall> {
        let mut calls = self.store.hall_calls();
        calls.retain(|call| {
            let presses = self.store.presses(*call);
            presses.iter().any(|press| !self.services.boarding.contains(*call, *press))
        });
        calls
    }

    /// The hall calls that the node's own car is to serve: those assigned to it, or all while there
    /// is no master (F1, F7). A passenger whose destination the car can't reach is left to others.
    fn calls_of_own_car(&self, open: &BTreeSet<HallCall>, now: Timestamp) -> BTreeSet<HallCall> {
        match self.leadership.node_state() {
            NodeState::Seeking => {
                let view = self.bank(now).own_car().map(|(_, view)| view);
                let reaches = |call: HallCall| view.is_some_and(|view| view.reaches(call));
                let takes = |call: &HallCall| call.to.is_none() || reaches(*call);
                open.iter().copied().filter(takes).collect()
            }
            NodeState::Master | NodeState::Slave { .. } => self
                .dispatching
                .plan
                .assigned_to(&self.hello.node)
                .union(self.leadership.overdue.taken())
                .filter(|call| open.contains(call))
                .copied()
                .collect(),
        }
    }

    /// Updates the car's stops. The destination calls of other cars are no business of this one.
    fn update_stops(&mut self, now: Timestamp) {
        let mut open = self.waiting_calls();
        // A car that goes no further that way is not what people there wait for.
        let (building, own) = (self.building(), self.hello.node.as_str());
        open.retain(|call| building.goes_on(own, call.entrance(), call.direction));
        let assigned = self.calls_of_own_car(&open, now);
        let others = open.into_iter().filter(|call| call.to.is_none());
        let hall: BTreeSet<HallCall> = others.chain(assigned.iter().copied()).collect();
        let [hall, assigned] = [hall, assigned]
            .map(|calls| calls.into_iter().map(HallCall::landing).collect::<BTreeSet<_>>());
        if is_seeded(SeededBug::TripBoardsUnseen) {
            for landing in &assigned {
                self.board(*landing, now);
            }
        }
        let car_calls = self.store.own_car_calls();
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
                        self.store.serve(call.at(&self.hello.node), now);
                        self.route_store(now);
                        match call {
                            ServedCall::Hall(landing) => self.board(landing, now),
                            ServedCall::Car(at) => self.services.boarding.arrive(at),
                        }
                    }
                }
                CarEvent::Hung(evidence) => {
                    self.report(Report::Hung(evidence));
                    let own = self.hello.node.clone();
                    self.set_own(Setting::Hang(own.clone(), Some(evidence)), (&own).into(), now);
                    self.peers.finish();
                }
                CarEvent::DoorChanged { to, .. } => {
                    self.report(Report::Door { door: to });
                    if to == DoorState::Closed {
                        self.end_alarm(now);
                    }
                }
                CarEvent::AvailabilityChanged(reason) => {
                    self.report(Report::Availability(reason));
                    self.peers.hurry();
                }
                CarEvent::FloorUnreachable(floor) => {
                    self.report(Report::FloorUnreachable { floor });
                }
                CarEvent::DriveRefused => self.report(Report::DriveRefused),
                CarEvent::OffTarget { stop_at, at } => {
                    self.report(Report::OffTarget { stop_at, at });
                }
                CarEvent::FlightLearned(record) => self.store.ledger.note_flight_times(record),
                CarEvent::MaintenanceDue { wear, count } => {
                    self.report(Report::MaintenanceDue { wear, count });
                }
                CarEvent::PriorityOver => {
                    let own = self.hello.node.clone();
                    self.direct(Setting::Priority(own, None), now);
                }
                CarEvent::SessionOpen(leg) => {
                    let session = sessions::on_open(&self.bank(now), leg);
                    self.change_own_session(session, now);
                }
                CarEvent::SessionOver(leg, end) => {
                    let session = sessions::on_over(&self.bank(now), leg, end);
                    self.change_own_session(session, now);
                }
                CarEvent::Departed => {}
            }
            any = true;
        }
        any || self.cabin.are_stops_dirty()
    }

    /// The door was open since, so whoever raised an alarm could leave.
    fn end_alarm(&mut self, now: Timestamp) {
        let own = self.hello.node.clone();
        if self.settings().alarm(&own) == Alarm::Acknowledged {
            self.set_own(Setting::Alarm(own.clone(), Alarm::Off), (&own).into(), now);
        }
    }

    fn change_own_session(&mut self, session: Option<Session>, now: Timestamp) {
        if let Some(session) = session {
            self.direct(Setting::Request(Request::Session(session)), now);
        }
    }

    /// The door is open for this landing: passengers with a destination enter, and need car calls.
    fn board(&mut self, landing: HallCall, now: Timestamp) {
        let open = self.waiting_calls();
        let own = self.calls_of_own_car(&open, now);
        for call in own.into_iter().filter(|call| call.landing() == landing) {
            let Some(to) = call.to else { continue };
            self.services.boarding.begin(call, self.store.presses(call), now);
            self.cabin.invalidate_stops();
            if self.store.ride_to(to.into()) == Ride::Absent {
                let ride = Call::ride(&self.hello.node, to);
                // The boarding looks for it in the store, and waits until it is promised.
                self.place(&ride, now);
            }
        }
    }

    /// Serves the destination calls whose trips are safe by now.
    fn serve_boarded(&mut self, now: Timestamp) {
        let ride_to = |to: Floor| self.store.ride_to(to.into());
        for (call, presses) in self.services.boarding.take_safe(ride_to, now) {
            self.store.serve_boarded(call, &presses, now);
        }
    }

    /// Passes the next batch to the disk.
    fn update_disk(&mut self, now: Timestamp) {
        if let Some(counters) = self.cabin.take_counted() {
            self.store.ledger.note_counters(counters, now);
        }
        let term = self.leadership.terms.known();
        let batch = self.store.batch(term, now);
        self.route_store(now);
        if let Some((lsn, changes)) = batch {
            self.actions.push_back(Action::Persist { lsn, changes });
        }
    }

    /// Returns the next action: panel outputs first, then the others, oldest first.
    pub fn poll_action(&mut self) -> Option<Action> {
        let hangs = |action: &Action| matches!(action, Action::Report(Report::Hung(_)));
        if is_seeded(SeededBug::HangReportedBeforeStop) && self.actions.iter().any(hangs) {
            return self.actions.pop_front();
        }
        let panel = self.cabin.poll_panel_update().map(Action::Panel);
        panel.or_else(|| self.actions.pop_front())
    }

    /// When, and why, to call [`handle_timeout`](Self::handle_timeout); `None` before the start.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<(Timestamp, Timer)> {
        if !self.leadership.has_started() {
            return None;
        }
        let election = self.leadership.poll_timeout();
        let cabin = self.cabin.poll_timeout(self.leadership.asks_for_readings());
        let timers = [
            Some((self.peers.beacon_due(self.leadership.leads()), Timer::Beacon)),
            self.peers.membership.next_check().map(|at| (at, Timer::Membership)),
            election.map(|(at, timer)| (at, Timer::Election(timer.clone()))),
            self.peers.pairing.next().map(|at| (at, Timer::Pairing)),
            self.dispatching.planning.next().map(|at| (at, Timer::Plan)),
            self.services.turns.poll_timeout().map(|at| (at, Timer::Turn)),
            self.services.sessions.poll_timeout().map(|at| (at, Timer::Session)),
            cabin.map(|(at, timer)| match timer {
                CabinTimer::Car(timer) => (at, Timer::Car(timer)),
                CabinTimer::Climate(timer) => (at, Timer::Climate(timer)),
            }),
        ];
        timers.into_iter().flatten().min_by_key(|(at, _)| *at)
    }
}
