//! Packets of a protocol that has a port of its own (V8, V12).
//!
//! Nobody vouches for their sender but the network: a packet counts as from the node whose address
//! it comes from.

use core::net::Ipv4Addr;

use super::{Action, Node};
use crate::climate::Source;
use crate::election::ballot::packet;
use crate::election::{Carrier, Detail, Message};
use crate::model::{NodeId, Timestamp};

/// What has come by packet since the start, other than the leader's and the election's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Answers of nodes.
    pub node_answers: u64,
    /// Answers of devices that are no nodes.
    pub device_answers: u64,
    /// Other packets from senders of which none may send them; dropped (V12).
    pub strange: u64,
    /// Bytes that are no packets; dropped.
    pub malformed: u64,
}

impl Node {
    /// A packet arrived from this address, at the protocol's own port. This node's own, which the
    /// network hands back, are ignored, as are all under a protocol that has no such port.
    pub fn handle_packet(&mut self, from: Ipv4Addr, bytes: &[u8], now: Timestamp) {
        let is_heard = from != self.hello.address && !self.membership.distrusts(from, now);
        if self.leadership.carrier() == Carrier::Packet && is_heard {
            match packet::decode(bytes) {
                Ok(message) => self.take_packet(from, &message, now),
                Err(_) => self.packets.malformed += 1,
            }
        }
        self.settle(now);
    }

    /// What has come by packet since the start, other than the leader's and the election's.
    #[must_use]
    pub fn packet_counts(&self) -> PacketCounts {
        self.packets
    }

    fn take_packet(&mut self, from: Ipv4Addr, message: &Message, now: Timestamp) {
        let sender = self.membership.at(from).cloned();
        if let Message::SensorData(reading) = message {
            let (count, source) = match sender {
                None => (&mut self.packets.device_answers, Source::Device(from)),
                Some(sender) => (&mut self.packets.node_answers, Source::Node(sender)),
            };
            *count += 1;
            return self.cabin.handle_reading(source, *reading, now);
        }
        match sender.filter(|sender| self.may_follow(sender)) {
            Some(sender) => self.take_message(&sender, message, now),
            None => self.packets.strange += 1,
        }
    }

    /// Sends a message to one node or to all. A node that is not heard is not told.
    pub(super) fn tell_by_packet(&mut self, to: Option<&NodeId>, message: &Message) {
        let Some(bytes) = packet::encode(message) else {
            return;
        };
        let address = to.map(|to| self.membership.get(to).map(|peer| peer.hello.address));
        match address {
            None => self.actions.push_back(Action::Packet { to: None, bytes }),
            Some(Some(to)) => {
                let to = Some(to);
                self.actions.push_back(Action::Packet { to, bytes });
            }
            Some(None) => {}
        }
    }

    /// The election's own state, and what has come by packet.
    pub(super) fn election_details(&self) -> Vec<Detail> {
        let mut details = self.leadership.details();
        match self.leadership.carrier() {
            Carrier::Beacon => {}
            Carrier::Packet => {
                let PacketCounts {
                    node_answers: _,
                    device_answers,
                    strange,
                    malformed,
                } = self.packets;
                details.extend([
                    Detail::new("answers of devices", device_answers),
                    Detail::new("packets of strangers", strange),
                    Detail::new("malformed packets", malformed),
                ]);
            }
        }
        details
    }
}
