//! What the nodes tell each other of orders, and what it changes here.

use super::{Action, LinkId, Node, Report, Taken};
use crate::model::{Call, CarView, Dot, NodeId, Timestamp};
use crate::orders::{Holding, Merged, Record};
use crate::wire::{Ack, Beacon, Frame, News, PlanEntry, Standing, StateTransfer};

impl Node {
    pub(super) fn place(&mut self, call: Call, now: Timestamp) -> Taken {
        let Some(dot) = self.ledger.dot() else {
            self.unplaced.insert(call);
            return Taken::Waiting;
        };
        let own = self.hello.node.clone();
        let merged = self.orders.place(dot, &own, call.clone(), now);
        debug_assert_ne!(merged, Merged::Nothing, "{dot} is not fresh");
        self.take_merged(dot, &call, &own, merged, None, now);
        Taken::Placed
    }

    /// Places the presses that waited for a sequence; those for which there is none go on waiting.
    pub(super) fn place_again(&mut self, now: Timestamp) {
        for call in std::mem::take(&mut self.unplaced) {
            match self.place(call, now) {
                Taken::Placed | Taken::Waiting | Taken::Absorbed => {}
            }
        }
    }

    /// Follows up on a change of the store; `from` is the peer that told of it.
    fn take_merged(
        &mut self,
        dot: Dot,
        call: &Call,
        origin: &NodeId,
        merged: Merged,
        from: Option<&NodeId>,
        now: Timestamp,
    ) {
        match merged {
            Merged::Nothing => return,
            Merged::Placed { replaced } => {
                let own = self.hello.node.clone();
                self.promise.record(dot, &own, Holding::Held);
                if let Some(replaced) = replaced {
                    self.promise.inherit(replaced.dot, dot);
                    self.replication.replaced(replaced.dot);
                }
                self.report(Report::Placed {
                    call: call.clone(),
                    origin: origin.clone(),
                });
            }
            Merged::Served { closed } => {
                self.promise.forget(dot);
                if let Some(closed) = closed {
                    self.promise.forget(closed.dot);
                    if closed.dot != dot {
                        self.replication.replaced(closed.dot);
                    }
                    self.served_elsewhere(call, dot, closed.placed, now);
                }
            }
        }
        self.ledger.note(dot);
        self.replication.changed(dot, from);
        self.clock.hurry();
        self.stale.orders();
    }

    fn served_elsewhere(&mut self, call: &Call, dot: Dot, placed: Timestamp, now: Timestamp) {
        if self.orders.of_call(call).next().is_some() {
            return;
        }
        if let Call::Hall(hall) = call {
            self.plan.forget(*hall);
        }
        let service = self.orders.service(dot);
        let waited = service.map_or_else(|| now.since(placed), |service| service.waited);
        let car = service.map(|service| service.car.clone());
        self.report(Report::Served {
            call: call.clone(),
            waited,
            here: false,
            car,
        });
    }

    fn take_record(&mut self, peer: &NodeId, record: &Record, now: Timestamp) {
        if !self.settings.floors.has_button(record.call.button()) {
            return;
        }
        let dot = record.dot;
        self.ledger.know(dot);
        let merged = self.orders.merge(record.clone(), now);
        let (call, origin) = (&record.call, &record.origin);
        self.take_merged(dot, call, origin, merged, Some(peer), now);
        match (record.state.is_served(), self.orders.get(dot).is_some()) {
            (false, true) => {
                self.promise.record(dot, peer, Holding::Held);
                self.replication.settled(peer, dot);
                self.stale.promise = true;
            }
            (true, false) => self.replication.settled(peer, dot),
            // The peer is behind: it lacks the service of this press, or a later one in its place.
            (false, false) | (true, true) => {
                if let Some(present) = self.orders.present(dot, call) {
                    self.replication.owe(peer, present);
                }
            }
        }
    }

    fn take_ack(&mut self, peer: &NodeId, ack: Ack) {
        let open = self.orders.get(ack.dot).is_some();
        if open && !ack.served {
            let holding = if ack.durable {
                Holding::Durable
            } else {
                Holding::Held
            };
            self.promise.record(ack.dot, peer, holding);
            self.stale.promise = true;
        }
        if open != ack.served {
            self.replication.settled(peer, ack.dot);
        }
    }

    pub(super) fn take_news(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        self.take_car(peer, news, now);
        self.take_orders(peer, news, now);
        let from_master = matches!(&self.standing, Standing::Slave { master } if master == peer);
        if from_master {
            for entry in &news.plan {
                self.take_assignment(entry.clone());
            }
        }
    }

    fn take_car(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        if let Some(view) = news.car
            && let Some(known) = self.membership.get_mut(peer)
        {
            known.sightings.note(&view, now);
            let before = known.car.replace((view, now)).map(|(before, _)| before);
            self.stale.plan |= before.is_none_or(|before| {
                let seen = |view: CarView| {
                    (
                        view.phase,
                        view.floor,
                        view.availability,
                        view.direction,
                        view.left_out,
                    )
                };
                seen(before) != seen(view)
            });
        }
    }

    /// Takes in what stays true whatever overtakes it: records and acknowledgements.
    pub(super) fn take_orders(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        for record in self.admit(peer, &news.records, now) {
            self.take_record(peer, record, now);
            self.replication.acknowledge(record.dot);
            self.clock.hurry();
        }
        for ack in &news.acks {
            self.take_ack(peer, *ack);
        }
    }

    fn take_assignment(&mut self, entry: PlanEntry) {
        let (call, car) = (Call::Hall(entry.call), entry.car.clone());
        if self.plan.learn(entry) {
            // A line of the plan may be overtaken by the service of its call.
            if self.orders.of_call(&call).next().is_some() {
                self.report(Report::Assigned { call, car });
            }
            self.stale.stops = true;
        }
    }

    pub(super) fn take_state(&mut self, peer: &NodeId, state: &StateTransfer, now: Timestamp) {
        self.term = self.term.hear(state.term);
        let holding = if state.durable {
            Holding::Durable
        } else {
            Holding::Held
        };
        for record in self.admit(peer, &state.records, now) {
            self.take_record(peer, record, now);
            if !record.state.is_served() && self.orders.get(record.dot).is_some() {
                self.promise.record(record.dot, peer, holding);
            }
        }
    }

    /// Holds the peer's store against this node's: equal digests acknowledge everything at once, a
    /// difference that stands is repaired (O7).
    pub(super) fn compare(&mut self, beacon: &Beacon, now: Timestamp) {
        let node = &beacon.hello.node;
        let equal = beacon.digest == self.orders.digest();
        let Some(peer) = self.membership.get_mut(node) else {
            return;
        };
        if equal {
            peer.differs_since = None;
            self.replication.settled_all(node);
            let vouched = Some((beacon.digest, beacon.durable));
            if std::mem::replace(&mut peer.vouched, vouched) == vouched {
                return;
            }
            let holding = if beacon.durable {
                Holding::Durable
            } else {
                Holding::Held
            };
            for order in self.orders.orders() {
                self.promise.record(order.dot, node, holding);
                self.stale.promise = true;
            }
            return;
        }
        let since = *peer.differs_since.get_or_insert(now);
        let usual = self.settings.mesh.repair_after;
        if now.since(since) >= self.refusals.repair_after(node, usual, now)
            && let Some(link) = self.links.to(node)
        {
            peer.differs_since = Some(now);
            self.report(Report::Repair { node: node.clone() });
            self.send_state(link, now);
        }
    }

    pub(super) fn send_state(&mut self, link: LinkId, now: Timestamp) {
        let records = self.orders.records(now).collect();
        let durable = self.ledger.all_durable();
        let state = StateTransfer {
            term: self.term,
            records,
            durable,
        };
        self.actions.push_back(Action::Send {
            link,
            frame: Frame::State(state),
        });
    }
}
