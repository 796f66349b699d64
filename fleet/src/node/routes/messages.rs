//! Messages of the election and the climate, carried by beacons or packets.

use core::net::Ipv4Addr;

use crate::climate::Source;
use crate::election::ballot::packet;
use crate::election::{Carrier, Input, Message};
use crate::leadership::Enclosed;
use crate::model::{NodeId, Timestamp};
use crate::node::{Action, Node};
use crate::peers::Addressee;
use crate::wire::Piggybacked;

impl Node {
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
            self.gather_readings(now);
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

    /// A packet arrived from this address on the protocol's own port. This node's own packets,
    /// which the network returns, are ignored, and so are all packets under a protocol without such
    /// a port.
    pub fn handle_packet(&mut self, from: Ipv4Addr, bytes: &[u8], now: Timestamp) {
        if self.leadership.profile().carrier == Carrier::Packet && from != self.hello.address {
            match packet::decode(bytes) {
                Ok(message) => self.on_packet(from, &message, now),
                Err(_) => self.peers.packets.malformed += 1,
            }
        }
        self.settle(now);
    }

    /// Packets carry no proof of their sender: a packet counts as sent by the node with its source
    /// address.
    fn on_packet(&mut self, from: Ipv4Addr, message: &Message, now: Timestamp) {
        let sender = self.peers.members().at(from).cloned();
        if let Message::SensorData(reading) = message {
            let counts = &mut self.peers.packets;
            let (count, source) = match sender {
                None => (&mut counts.device_answers, Source::Device(from)),
                Some(sender) => (&mut counts.node_answers, Source::Node(sender)),
            };
            *count += 1;
            return self.cabin.climate.handle_reading(source, *reading, now);
        }
        match sender.filter(|sender| self.may_follow(sender)) {
            Some(sender) => self.on_message(&sender, message, now),
            None => self.peers.packets.strange += 1,
        }
    }

    /// Handles the message piggybacked on a beacon of an accepted peer.
    pub(in crate::node) fn on_piggybacked(
        &mut self,
        from: &NodeId,
        piggybacked: &Piggybacked,
        now: Timestamp,
    ) {
        let meant = piggybacked.to.as_ref().is_none_or(|to| *to == self.hello.node);
        if meant {
            self.on_message(from, &piggybacked.message, now);
        }
    }

    /// Handles a message of an accepted peer, whatever carried it. The election gets only messages
    /// of nodes that could follow each other.
    pub(in crate::node) fn on_message(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        if self.may_follow(from) {
            self.step_election(Input::Message { from, message }, now);
        }
        self.on_climate_message(from, message, now);
    }

    /// This node has requested sensor data from all nodes, or has only its own.
    pub(in crate::node) fn gather_readings(&mut self, now: Timestamp) {
        let synced = self.peers.links().synced().map(|(_, peer)| peer.clone());
        self.cabin.climate.start_gathering(synced.collect(), now);
    }

    /// Handles a message about the climate, from any accepted peer, whether or not the election
    /// takes it into account.
    pub(in crate::node) fn on_climate_message(
        &mut self,
        from: &NodeId,
        message: &Message,
        now: Timestamp,
    ) {
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
