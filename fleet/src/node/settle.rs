//! What follows from what happened: plan, car, lamps, disk, peers.

use std::collections::BTreeSet;

use elevator_driver::{Floor, LampSet};

use super::records::chunk;
use super::{Action, Change, LinkId, Node, Report};
use crate::car::{CarEvent, ServedCall, Stops};
use crate::model::{Call, CarView, HallCall, JournalId, NodeId, Timestamp};
use crate::wire::codec::CHUNK;
use crate::wire::{Frame, News, Standing};

/// How many records go over a link in one turn of the loop; the rest follows in the next.
const MOST_OVER_A_LINK: usize = 2048;

/// What has to be brought in line.
#[derive(Debug, Clone, Default)]
pub(super) struct Stale {
    /// Which orders are promised.
    pub(super) promise: bool,
}

impl Node {
    pub(super) fn settle(&mut self, now: Timestamp) {
        if !self.started {
            return;
        }
        self.oversee(now);
        self.place_contested(now);
        // Serving changes the orders, which changes the stops; each round serves at least one order,
        // so the rounds end.
        loop {
            self.refresh_estimate(now);
            if self.cabin.has_stale_stops() {
                self.update_stops(now);
            }
            if !self.take_car_events(now) {
                break;
            }
        }
        self.collect_in_time(now);
        self.send_states(now);
        if std::mem::take(&mut self.stale.promise) {
            self.promise(now);
        }
        self.refresh_climate(now);
        let is_stale = self.cabin.take_stale();
        if is_stale {
            let lamps = self.lamps();
            self.cabin.update_panel(lamps, now);
        }
        self.tell_disk(now);
        if self.replication.take_news() || is_stale {
            self.tell_links(now);
        }
        self.broadcast_if_due(now);
        self.ask_for_plan(now);
    }

    /// The set of open orders has changed.
    pub(super) fn invalidate_orders(&mut self) {
        self.stale.promise = true;
        self.dispatching.invalidate();
        self.cabin.invalidate_stops();
        self.cabin.invalidate();
    }

    pub(super) fn hall_calls(&self) -> BTreeSet<HallCall> {
        self.orders
            .calls()
            .filter_map(|call| match call {
                Call::Hall(hall) => Some(*hall),
                Call::Cab { .. } => None,
            })
            .collect()
    }

    fn cab_calls(&self, of: &NodeId) -> BTreeSet<Floor> {
        self.orders
            .calls()
            .filter_map(|call| match call {
                Call::Cab { car, floor } if car == of => Some(*floor),
                Call::Cab { .. } | Call::Hall(_) => None,
            })
            .collect()
    }

    /// Tells the car where to stop: the orders assigned to it, or all of them while there is no
    /// master (F1, F7).
    fn update_stops(&mut self, now: Timestamp) {
        let hall = self.hall_calls();
        let assigned = match self.leadership.standing() {
            Standing::Seeking => hall.clone(),
            Standing::Master | Standing::Slave { .. } => self
                .dispatching
                .assigned_to(&self.hello.node)
                .union(self.leadership.taken_over())
                .filter(|call| hall.contains(call))
                .copied()
                .collect(),
        };
        let cab = self.cab_calls(&self.hello.node);
        let stops = Stops {
            cab: &cab,
            assigned: &assigned,
            hall: &hall,
        };
        self.cabin.set_stops(stops, now);
    }

    /// Takes the car's events in; `true` if there were any, or if the stops have changed.
    fn take_car_events(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some(event) = self.cabin.poll_event() {
            match event {
                CarEvent::Served(calls) => {
                    for call in calls {
                        self.serve(call, now);
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
                CarEvent::FlightLearned(record) => self.ledger.note_flight_times(record),
                CarEvent::Departed { .. } | CarEvent::Arrived(_) => {}
            }
            self.dispatching.invalidate();
            any = true;
        }
        any || self.cabin.has_stale_stops()
    }

    /// The car has served a call: every press of it seen so far is done (F18, O3).
    fn serve(&mut self, call: ServedCall, now: Timestamp) {
        let call = match call {
            ServedCall::Hall(hall) => {
                if self.dispatching.on_served(hall, Some(&self.hello.node)) {
                    self.leadership.note_kept_assignment(now);
                }
                Call::Hall(hall)
            }
            ServedCall::Cab(floor) => Call::Cab {
                car: self.hello.node.clone(),
                floor,
            },
        };
        let own = self.hello.node.clone();
        let served = self.orders.serve(&call, &own, now);
        let Some(placed) = served.iter().map(|order| order.placed).min() else {
            return;
        };
        for order in &served {
            self.promise.forget(order.dot);
            self.ledger.note(order.dot);
            self.replication.changed(order.dot, None);
        }
        self.report(Report::Served {
            call,
            waited: now.since(placed),
            here: true,
            car: Some(self.hello.node.clone()),
        });
        self.peers.hurry();
        self.invalidate_orders();
    }

    /// Makes the promises that can be made (P1).
    fn promise(&mut self, _now: Timestamp) {
        for dot in self.promise.review(&self.peers.members().names()) {
            if let Some(call) = self.orders.get(dot).map(|order| order.call.clone()) {
                self.report(Report::Promised { call });
            }
            self.cabin.invalidate();
        }
    }

    /// The order lamps that may be lit on this node's panel: every hall call of the fleet, and the
    /// cab calls of its own car (F12).
    pub(super) fn lamps(&self) -> LampSet {
        self.orders
            .orders()
            .filter(|order| self.promise.is_made(order.dot))
            .filter(|order| match &order.call {
                Call::Hall(_) => true,
                Call::Cab { car, .. } => *car == self.hello.node,
            })
            .map(|order| order.call.button())
            .collect()
    }

    fn tell_disk(&mut self, now: Timestamp) {
        self.ledger.note_term(self.leadership.term());
        if self.ledger.hangs(now) {
            let fresh = JournalId(self.random.u64(1..));
            self.lose_disk(fresh, now);
        }
        if let Some((lsn, dots, others)) = self.ledger.batch(now) {
            let records = dots
                .into_iter()
                .filter_map(|dot| self.orders.record(dot, now));
            let changes = others.into_iter().chain(records.map(Change::Record));
            let changes = changes.collect();
            self.actions.push_back(Action::Persist { lsn, changes });
        }
    }

    /// Sends over each link what its peer has not been told over it.
    fn tell_links(&mut self, now: Timestamp) {
        let joined: Vec<(LinkId, NodeId)> = self
            .peers
            .links()
            .joined()
            .map(|(link, peer)| (link, peer.clone()))
            .collect();
        if joined.is_empty() {
            return;
        }
        let car = self.cabin.news(now);
        for (link, peer) in joined {
            for news in self.news_for(&peer, car, now) {
                self.actions.push_back(Action::Send {
                    link,
                    frame: Frame::News(news),
                });
            }
        }
    }

    /// What a linked peer has not been told over its link, in parts that fit a frame.
    fn news_for(&mut self, peer: &NodeId, mut car: Option<CarView>, now: Timestamp) -> Vec<News> {
        let (records, acks) = self.replication.take_for_link(peer, MOST_OVER_A_LINK);
        let record = |dot| self.orders.record(dot, now);
        let mut records = records.into_iter().filter_map(record).peekable();
        let mut acks = acks.into_iter().map(|dot| self.ack(dot)).peekable();
        let parts = std::iter::from_fn(|| {
            let mut room = CHUNK;
            let news = News {
                car: car.take(),
                records: chunk(&mut records, &mut room),
                acks: chunk(&mut acks, &mut room),
                plan: Vec::new(),
            };
            (!news.is_empty()).then_some(news)
        });
        parts.collect()
    }
}
