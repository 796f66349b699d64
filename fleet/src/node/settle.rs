//! What follows from what happened: plan, car, lamps, disk, peers.

use std::collections::BTreeSet;

use elevator_driver::{Floor, LampSet, Lamps, PanelOutputs};

use super::records::chunk;
use super::{Action, Change, LinkId, Node, Report};
use crate::car::{Car, CarEvent, ServedCall, Stops};
use crate::model::{Call, CarView, HallCall, JournalId, NodeId, Timestamp};
use crate::wire::codec::CHUNK;
use crate::wire::{Frame, News, Standing};

/// How many records go over a link in one turn of the loop; the rest follows in the next.
const MOST_OVER_A_LINK: usize = 2048;

/// What has to be brought in line.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each says of one thing whether it is stale"
)]
pub(super) struct Stale {
    /// The master's plan.
    pub(super) plan: bool,
    /// Where the car is to stop.
    pub(super) stops: bool,
    /// Which orders are promised.
    pub(super) promise: bool,
    /// What panel and peers know of the car.
    pub(super) car: bool,
    /// The car as the linked peers were last told.
    pub(super) told_car: Option<CarView>,
}

impl Stale {
    /// The set of open orders has changed.
    pub(super) fn orders(&mut self) {
        (self.plan, self.stops, self.promise, self.car) = (true, true, true, true);
    }

    pub(super) fn all(&mut self) {
        self.orders();
    }
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
            self.weigh(now);
            if std::mem::take(&mut self.stale.stops) {
                self.tell_stops(now);
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
        self.mind_climate(now);
        let car = std::mem::take(&mut self.stale.car);
        if car {
            self.tell_panel(now);
        }
        self.tell_disk(now);
        if self.replication.take_news() || car {
            self.tell_links(now);
        }
        self.broadcast_if_due(now);
        self.ask_for_plan(now);
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
    fn tell_stops(&mut self, now: Timestamp) {
        let hall = self.hall_calls();
        let assigned = match self.standing {
            Standing::Seeking => hall.clone(),
            Standing::Master | Standing::Slave { .. } => self
                .plan
                .assigned_to(&self.hello.node)
                .union(self.oversight.taken())
                .filter(|call| hall.contains(call))
                .copied()
                .collect(),
        };
        let cab = self.cab_calls(&self.hello.node);
        if let Some(car) = self.car.as_mut() {
            car.set_stops(
                Stops {
                    cab: &cab,
                    assigned: &assigned,
                    hall: &hall,
                },
                now,
            );
            self.stale.car = true;
        }
    }

    /// Takes the car's events in; `true` if there were any, or if the stops have changed.
    fn take_car_events(&mut self, now: Timestamp) -> bool {
        let mut any = false;
        while let Some(event) = self.car.as_mut().and_then(Car::poll_event) {
            match event {
                CarEvent::Served(calls) => {
                    for call in calls {
                        self.serve(call, now);
                    }
                }
                CarEvent::Hung(evidence) => self.report(Report::Hung(evidence)),
                CarEvent::DoorChanged { to, .. } => self.report(Report::Door(to)),
                CarEvent::AvailabilityChanged(availability) => {
                    self.report(Report::Availability(availability));
                    self.clock.hurry();
                }
                CarEvent::FloorUnreachable(floor) => self.report(Report::FloorUnreachable(floor)),
                CarEvent::DriveRefused => self.report(Report::DriveRefused),
                CarEvent::OffTarget { stop_at, at } => {
                    self.report(Report::OffTarget { stop_at, at });
                }
                CarEvent::FlightLearned(record) => self.ledger.note_flight_times(record),
                CarEvent::Departed { .. } | CarEvent::Arrived(_) => {}
            }
            self.stale.plan = true;
            any = true;
        }
        any || self.stale.stops
    }

    /// The car has served a call: every press of it seen so far is done (F18, O3).
    fn serve(&mut self, call: ServedCall, now: Timestamp) {
        let call = match call {
            ServedCall::Hall(hall) => {
                if self.plan.car(hall) == Some(&self.hello.node) {
                    self.oversight.kept(now);
                }
                self.plan.forget(hall);
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
        self.clock.hurry();
        self.stale.orders();
    }

    /// Makes the promises that can be made (P1).
    fn promise(&mut self, _now: Timestamp) {
        for dot in self.promise.review(&self.membership.names()) {
            if let Some(call) = self.orders.get(dot).map(|order| order.call.clone()) {
                self.report(Report::Promised { call });
            }
            self.stale.car = true;
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

    fn tell_panel(&mut self, now: Timestamp) {
        let (orders, display) = (self.lamps(), self.display(now));
        let outputs = match &self.car {
            Some(car) => PanelOutputs {
                motor: car.motor(),
                door: car.door(),
                lamps: Lamps {
                    orders,
                    stop: car.stop_lamp(),
                },
                indicator: car.indicator(),
                lantern: car.lantern(),
                display,
            },
            // Nobody may be behind a node without a car.
            None if self.panel.is_none() => return,
            None => PanelOutputs {
                lamps: Lamps {
                    orders,
                    stop: false,
                },
                display,
                ..PanelOutputs::default()
            },
        };
        if self.outputs.as_ref() != Some(&outputs) {
            self.outputs = Some(outputs.clone());
            self.panel_update = Some(outputs);
        }
    }

    fn tell_disk(&mut self, now: Timestamp) {
        self.ledger.note_term(self.term);
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
            .links
            .joined()
            .map(|(link, peer)| (link, peer.clone()))
            .collect();
        if joined.is_empty() {
            return;
        }
        let car = self.car_view(now).filter(|view| !self.stale.has_told(view));
        self.stale.told_car = car.or(self.stale.told_car);
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

impl Stale {
    /// Whether the linked peers know the car as it is, but for the time that passes.
    fn has_told(&self, view: &CarView) -> bool {
        self.told_car.is_some_and(|told| {
            CarView {
                elapsed: view.elapsed,
                ..told
            } == *view
        })
    }
}
