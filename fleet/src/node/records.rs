//! What the nodes tell each other of orders, and what it changes here.

use std::iter::Peekable;

use serde::Serialize;

use super::peers::Handshake;
use super::transfers::Purpose;
use super::{Action, LinkId, Node, Report, Taken};
use crate::model::{Call, Dot, NodeId, Timestamp};
use crate::orders::{Holding, Merged, Record, State};
use crate::wire::codec::{CHUNK, size};
use crate::wire::{Ack, Beacon, Frame, News, StateTransfer, StoreDigest};

impl Node {
    pub(super) fn place(&mut self, call: Call, now: Timestamp) -> Taken {
        let Some(dot) = self.ledger.dot() else {
            self.unplaced.insert(call);
            return Taken::Waiting;
        };
        let own = self.hello.node.clone();
        let since = self.placed_before(&call).unwrap_or(now);
        let merged = self.orders.place(dot, &own, call.clone(), since, now);
        debug_assert_ne!(merged, Merged::Nothing, "{dot} is not fresh");
        self.take_merged(dot, &call, &own, merged, None, now);
        Taken::Placed
    }

    /// Since when an order of this call waits in a journal that this node has given up, or of which
    /// a service was refused: what is placed is the same press again.
    fn placed_before(&self, call: &Call) -> Option<Timestamp> {
        let (own, journal) = (&self.hello.node, self.ledger.journal());
        let orders = self.orders.of_call(call);
        let earlier = orders.filter(|order| {
            let is_given_up = order.origin == *own && order.dot.journal != journal;
            is_given_up || self.contested.contains(order.dot)
        });
        earlier.map(|order| order.placed).min()
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
            Merged::Nothing | Merged::Refused => return,
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
        self.peers.hurry();
        self.invalidate_orders();
    }

    fn served_elsewhere(&mut self, call: &Call, dot: Dot, placed: Timestamp, now: Timestamp) {
        if self.orders.of_call(call).next().is_some() {
            return;
        }
        let service = self.orders.service(dot);
        if let Call::Hall(hall) = call {
            let by = service.map(|service| &service.car);
            if self.dispatching.on_served(*hall, by) {
                self.leadership.note_kept_assignment(now);
            }
        }
        let waited = service.map_or_else(|| now.since(placed), |service| service.waited);
        let car = service.map(|service| service.car.clone());
        self.report(Report::Served {
            call: call.clone(),
            waited,
            here: false,
            car,
        });
    }

    /// Merges a record and follows up on what it changes; hands back what that was.
    pub(super) fn merge_record(
        &mut self,
        record: &Record,
        from: Option<&NodeId>,
        now: Timestamp,
    ) -> Merged {
        let merged = self.orders.merge(record.clone(), now);
        let (call, origin) = (&record.call, &record.origin);
        self.take_merged(record.dot, call, origin, merged.clone(), from, now);
        merged
    }

    /// Takes a record in; `false` if it is refused.
    fn take_record(&mut self, peer: &NodeId, record: &Record, now: Timestamp) -> bool {
        let (dot, call) = (record.dot, &record.call);
        match (self.merge_record(record, Some(peer), now), &record.state) {
            (Merged::Refused, _) => {
                self.refused(peer, dot, now);
                return false;
            }
            (
                Merged::Served {
                    closed: Some(closed),
                },
                State::Served(Some(service)),
            ) => self.close_contested(peer, &closed, service, now),
            (Merged::Nothing | Merged::Placed { .. } | Merged::Served { .. }, _) => {}
        }
        self.ledger.know(dot);
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
        true
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
        // A peer that has it as served tells how, and one that does not keep it has no use for it.
        if open || ack.served {
            self.replication.settled(peer, ack.dot);
        }
    }

    pub(super) fn take_news(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        self.take_car(peer, news, now);
        self.take_orders(peer, news, now);
        if self.leadership.follows(peer) {
            for entry in &news.plan {
                self.take_assignment(entry.clone());
            }
        }
    }

    fn take_car(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        let car = news.car.filter(|car| car.is_within(self.settings.floors));
        if let Some(view) = car
            && self.peers.note_car(peer, view, now)
        {
            self.dispatching.invalidate();
        }
    }

    /// Takes in what stays true whatever overtakes it: records and acknowledgements.
    pub(super) fn take_orders(&mut self, peer: &NodeId, news: &News, now: Timestamp) {
        for record in self.admit(peer, &news.records, now) {
            if self.has_room(peer, record, now) && self.take_record(peer, record, now) {
                self.replication.acknowledge(record.dot);
                self.peers.hurry();
            }
        }
        if !news.records.is_empty() {
            self.collect(now);
        }
        for ack in &news.acks {
            self.take_ack(peer, *ack);
        }
    }

    pub(super) fn take_state(&mut self, peer: &NodeId, state: &StateTransfer, now: Timestamp) {
        self.leadership.hear_term(state.term);
        let holding = if state.durable {
            Holding::Durable
        } else {
            Holding::Held
        };
        for record in self.admit(peer, &state.records, now) {
            if !self.has_room(peer, record, now) || !self.take_record(peer, record, now) {
                continue;
            }
            if !record.state.is_served() && self.orders.get(record.dot).is_some() {
                self.promise.record(record.dot, peer, holding);
            }
        }
        self.collect(now);
    }

    /// Holds the peer's store against this node's: equal digests acknowledge everything at once, a
    /// difference that stands is repaired (O7).
    pub(super) fn compare(&mut self, beacon: &Beacon, now: Timestamp) {
        let (node, digest) = (&beacon.hello.node, beacon.digest);
        if digest == self.orders.digest() {
            if let Some(is_news) = self.peers.note_equal(node, digest, beacon.durable) {
                self.replication.settled_all(node);
                if is_news {
                    self.vouch(node, beacon.durable);
                }
            }
        } else if let Some(difference) = self.peers.note_difference(node, now)
            && difference.stood
                >= self
                    .refusals
                    .repair_after(node, difference.repair_after, now)
            && let Some(link) = self.peers.links().to(node)
        {
            self.peers.note_repair(node, digest, now);
            self.report(Report::Repair { node: node.clone() });
            self.transfers.begin(link, Purpose::Repair, now);
        }
    }

    /// Tells the peer over a fresh link what this node's store is.
    pub(super) fn send_digest(&mut self, link: LinkId) {
        let digest = StoreDigest {
            term: self.leadership.term(),
            digest: self.orders.digest(),
            durable: self.ledger.all_durable(),
        };
        self.actions.push_back(Action::Send {
            link,
            frame: Frame::Digest(digest),
        });
    }

    /// The peer has said over a fresh link what its store is. Equal stores count as exchanged;
    /// otherwise each side sends its own.
    pub(super) fn take_digest(&mut self, link: LinkId, told: StoreDigest, now: Timestamp) {
        self.leadership.hear_term(told.term);
        let Some(peer) = self.peers.links().get(link).map(|link| link.peer.clone()) else {
            return;
        };
        match self.peers.compare_digests(link, told.digest) {
            None => {}
            Some(false) => self.transfers.begin(link, Purpose::Join, now),
            Some(true) => {
                if told.digest == self.orders.digest() {
                    self.vouch(&peer, told.durable);
                }
                self.state_is_taken(link, now);
            }
        }
    }

    /// The peer holds every open order that this node holds.
    fn vouch(&mut self, peer: &NodeId, durable: bool) {
        let holding = if durable {
            Holding::Durable
        } else {
            Holding::Held
        };
        for order in self.orders.orders() {
            self.promise.record(order.dot, peer, holding);
            self.stale.promise = true;
        }
    }

    /// All of the peer's state is known here.
    pub(super) fn state_is_taken(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Send {
            link,
            frame: Frame::Joined,
        });
        if self.peers.state_taken(link) == Handshake::Done {
            self.joined(link, now);
        }
    }

    /// Sends the parts of states that are due. What changes meanwhile is owed to the peers like every
    /// change.
    pub(super) fn send_states(&mut self, now: Timestamp) {
        self.transfers
            .retain(|link| self.peers.links().get(link).is_some());
        while let Some((link, below)) = self.transfers.next(now) {
            let mut left = self.orders.records_below(below, now).peekable();
            let mut room = CHUNK;
            let records = chunk(&mut left, &mut room);
            let more = left.peek().is_some();
            let last = records.last().filter(|_| more);
            self.transfers.sent(link, last.map(|record| record.dot));
            let state = StateTransfer {
                term: self.leadership.term(),
                records,
                durable: self.ledger.all_durable(),
                more,
            };
            self.actions.push_back(Action::Send {
                link,
                frame: Frame::State(state),
            });
        }
    }
}

/// Takes as much as there is room for in a frame.
pub(super) fn chunk<T: Serialize>(
    parts: &mut Peekable<impl Iterator<Item = T>>,
    room: &mut usize,
) -> Vec<T> {
    let mut taken = Vec::new();
    while let Some(part) = parts.next_if(|part| size(part) <= *room) {
        *room -= size(&part);
        taken.push(part);
    }
    taken
}
