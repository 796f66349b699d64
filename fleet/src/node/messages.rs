//! What nodes say to each other of the election and the climate, by beacon or by packet.

use core::net::Ipv4Addr;

use super::leadership::Enclosed;
use super::peers::{Addressee, PacketKind};
use super::{Action, Node, PacketCounts};
use crate::climate::Source;
use crate::election::ballot::packet;
use crate::election::{Carrier, Input, Message};
use crate::model::{NodeId, Timestamp};
use crate::wire::Piggybacked;

impl Node {
    /// Sends a message to one node or to all. A node that is not heard is not told.
    pub(super) fn send_message(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let asks_all = to.is_none() && message == Message::SensorRequest;
        match self.leadership.carrier() {
            Carrier::Beacon => self.send_by_beacon(to, message, enclosed, now),
            Carrier::Packet => self.send_by_packet(to.as_ref(), &message),
        }
        if asks_all {
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

    /// A packet arrived from this address, at the protocol's own port. This node's own, which the
    /// network hands back, are ignored, as are all under a protocol that has no such port.
    pub fn handle_packet(&mut self, from: Ipv4Addr, bytes: &[u8], now: Timestamp) {
        let distrusts = || self.peers.members().distrusts(from, now);
        let is_heard = from != self.hello.address && !distrusts();
        if self.leadership.carrier() == Carrier::Packet && is_heard {
            match packet::decode(bytes) {
                Ok(message) => self.on_packet(from, &message, now),
                Err(_) => self.peers.count_packet(PacketKind::Malformed),
            }
        }
        self.settle(now);
    }

    /// What has come by packet since the start, other than the leader's and the election's.
    #[must_use]
    pub fn packet_counts(&self) -> PacketCounts {
        self.peers.packet_counts()
    }

    /// Nobody vouches for the sender of a packet but the network: it counts as from the node whose
    /// address it comes from.
    fn on_packet(&mut self, from: Ipv4Addr, message: &Message, now: Timestamp) {
        let sender = self.peers.members().at(from).cloned();
        if let Message::SensorData(reading) = message {
            let (kind, source) = match sender {
                None => (PacketKind::DeviceAnswer, Source::Device(from)),
                Some(sender) => (PacketKind::NodeAnswer, Source::Node(sender)),
            };
            self.peers.count_packet(kind);
            return self.cabin.handle_reading(source, *reading, now);
        }
        match sender.filter(|sender| self.may_follow(sender)) {
            Some(sender) => self.on_message(&sender, message, now),
            None => self.peers.count_packet(PacketKind::Strange),
        }
    }

    /// Takes in the message that a beacon of a peer that counts carries.
    pub(super) fn on_piggybacked(
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

    /// Takes in a message of a peer that counts, whatever carried it. The election's concern nodes
    /// that could follow each other only.
    pub(super) fn on_message(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        if self.may_follow(from) {
            self.step_election(Input::Message { from, message }, now);
        }
        self.on_climate_message(from, message, now);
    }

    /// This node has asked everybody for sensor data.
    pub(super) fn gather_readings(&mut self, now: Timestamp) {
        let synced = self.peers.links().synced().map(|(_, peer)| peer.clone());
        self.cabin.start_gathering(synced.collect(), now);
    }

    /// Takes in what concerns the climate. Any peer that counts will do, whether the election
    /// hears of it or not.
    pub(super) fn on_climate_message(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        let shows = self.leadership.shows_for(from);
        if let Some(answer) = self.cabin.handle_message(from, message, shows, now) {
            self.send_message(Some(from.clone()), answer, Enclosed::Nothing, now);
        }
    }

    /// Asks for sensor data, and tells what they come to, when it is time.
    pub(super) fn refresh_climate(&mut self, now: Timestamp) {
        if self.cabin.is_request_due(self.leadership.asks_for_readings(), now) {
            self.send_message(None, Message::SensorRequest, Enclosed::Nothing, now);
        }
        if let Some(data) = self.cabin.display_data_due(now) {
            self.send_message(None, Message::DisplayData(data), Enclosed::Nothing, now);
        }
        self.cabin.expire_display_data(now);
    }
}
