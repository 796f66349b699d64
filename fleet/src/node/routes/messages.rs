//! The contents of this node's beacons, and messages of the election and the climate.

use core::net::Ipv4Addr;

use crate::climate::Source;
use crate::election::ballot::packet;
use crate::election::{Carrier, Input, Message};
use crate::leadership::Enclosed;
use crate::model::{NodeId, Timestamp};
use crate::node::{Action, Node};
use crate::peers::{Addressee, Facts};
use crate::wire::{Beacon, Piggybacked, Room};

impl Node {
    pub(in crate::node) fn facts(&self, now: Timestamp) -> Facts {
        Facts {
            node_state: self.leadership.node_state().clone(),
            term: self.leadership.term(),
            led: self.leadership.terms.led(),
            estimate: self.leadership.election().estimate(),
            digest: self.store.digest(),
            power: self.settings().power_digest(),
            durable: self.store.ledger.all_durable(),
            car: self.cabin.view(now),
        }
    }

    pub(in crate::node) fn broadcast_if_due(&mut self, now: Timestamp) {
        let leads = self.leadership.leads();
        if self.leadership.has_started() && self.peers.beacon_due(leads) <= now {
            let facts = self.facts(now);
            let mut beacon = self.peers.broadcast(facts, leads, now);
            self.add_delta(&mut beacon, now);
            self.actions.push_back(Action::Broadcast(beacon));
        }
    }

    pub(in crate::node) fn unicast(&mut self, to: Ipv4Addr, probe: bool, now: Timestamp) {
        let facts = self.facts(now);
        let beacon = self.peers.unicast(facts, to, probe, now);
        self.actions.push_back(Action::Unicast { to, beacon });
    }

    /// Adds the open orders, oldest first, and then the plan, as far as they fit.
    pub(in crate::node) fn enclose_orders(&self, beacon: &mut Beacon, now: Timestamp) {
        let mut room = Room::left_by(beacon);
        self.store.enclose(&mut beacon.delta, &mut room, now);
        for entry in self.dispatching.plan.bequeath() {
            if !room.add(&mut beacon.delta.plan, entry) {
                break;
            }
        }
    }

    /// Adds what fits into a datagram of what is owed, and then of the plan.
    fn add_delta(&mut self, beacon: &mut Beacon, now: Timestamp) {
        let plans = self.leadership.leads() && !self.dispatching.plan.is_empty();
        if !self.store.replication.is_waiting() && !plans {
            return;
        }
        let mut room = Room::left_by(beacon);
        let delta = &mut beacon.delta;
        self.store.fill_delta(delta, &mut room, now);
        if plans {
            self.dispatching.plan.offer_entries(|entry| room.add(&mut delta.plan, entry.clone()));
        }
    }

    /// Sends a message to one node or to all. Does nothing if the addressee is not heard.
    pub(in crate::node) fn send_message(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let gathers = to.is_none() && message.begins_gathering();
        match self.leadership.profile().carrier {
            Carrier::Beacon => self.send_by_beacon(to, message, enclosed, now),
            Carrier::Packet => self.send_by_packet(to.as_ref(), &message),
        }
        if gathers {
            let synced = self.peers.links.synced().map(|(_, peer)| peer.clone());
            self.cabin.climate.start_gathering(synced.collect(), now);
        }
    }

    fn send_by_beacon(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let (facts, piggybacked) = (self.facts(now), Piggybacked { to, message });
        let (to, mut beacon) = self.peers.carry(facts, piggybacked, now);
        match enclosed {
            Enclosed::Nothing => {}
            Enclosed::Orders => self.enclose_orders(&mut beacon, now),
        }
        match to {
            Addressee::Everybody => self.actions.push_back(Action::Broadcast(beacon)),
            Addressee::One(to) => self.actions.push_back(Action::Unicast { to, beacon }),
            Addressee::Nobody => {}
        }
    }

    fn send_by_packet(&mut self, to: Option<&NodeId>, message: &Message) {
        let Some(bytes) = packet::encode(message) else {
            return;
        };
        let to = match self.peers.addressee(to) {
            Addressee::Everybody => None,
            Addressee::One(to) => Some(to),
            Addressee::Nobody => return,
        };
        self.actions.push_back(Action::Packet { to, bytes });
    }

    /// A packet arrived on the protocol's own port. This node's own packets are ignored.
    pub fn handle_packet(&mut self, from: Ipv4Addr, bytes: &[u8], now: Timestamp) {
        if self.leadership.profile().carrier == Carrier::Packet && from != self.hello.address {
            match packet::decode(bytes) {
                Ok(message) => self.on_packet(from, &message, now),
                Err(_) => self.peers.packets.malformed += 1,
            }
        }
        self.settle(now);
    }

    /// Packets carry no proof of their sender: it is the node with the source address.
    fn on_packet(&mut self, from: Ipv4Addr, message: &Message, now: Timestamp) {
        let sender = self.peers.membership.at(from).cloned();
        if let Message::SensorData(reading) = message {
            let source = sender.map_or(Source::Device(from), Source::Node);
            self.peers.packets.device_answers += u64::from(matches!(source, Source::Device(_)));
            return self.cabin.climate.handle_reading(source, *reading, now);
        }
        match sender.filter(|sender| self.may_follow(sender)) {
            Some(sender) => self.on_message(&sender, message, now),
            None => self.peers.packets.strange += 1,
        }
    }

    /// Handles a message of an accepted peer, whatever carried it. The election gets only messages
    /// of nodes that could follow each other; one about the climate counts from any accepted peer.
    pub(in crate::node) fn on_message(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        if self.may_follow(from) {
            self.step_election(Input::Message { from, message }, now);
        }
        let shows = self.leadership.shows_for(from);
        if let Some(answer) = self.cabin.handle_message(from, message, shows, now) {
            self.send_message(Some(from.clone()), answer, Enclosed::Nothing, now);
        }
    }

    /// Requests sensor data, and sends the resulting display data, when due.
    pub(in crate::node) fn refresh_climate(&mut self, now: Timestamp) {
        if self.cabin.climate.is_request_due(self.leadership.asks_for_readings(), now) {
            self.send_message(None, Message::SensorRequest, Enclosed::Nothing, now);
        }
        if let Some(data) = self.cabin.display_data_due(now) {
            self.send_message(None, Message::DisplayData(data), Enclosed::Nothing, now);
        }
        self.cabin.expire_display_data(now);
    }
}
