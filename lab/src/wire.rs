//! What a fleet puts on the wire, and what gets through.

use std::ops::Sub;

use elevator_fleet::wire::{Beacon, codec};
use serde::Serialize;

use super::connection::Packet;

/// What the codec puts around the body of a beacon or a frame, in bytes.
const ENVELOPE: usize = 8;

/// The IPv4 and UDP headers of a datagram, in bytes.
const DATAGRAM_HEADERS: u64 = 20 + 8;

/// The IPv4 and TCP headers of a segment and the length in front of a frame, in bytes.
const FRAME_HEADERS: u64 = 20 + 20 + 4;

/// The IPv4 and TCP headers of a segment without data, in bytes.
const SEGMENT_HEADERS: u64 = 20 + 20;

/// Packets that have been sent and received so far, by purpose; each counts for one purpose.
///
/// Bytes are those of IP packets, without what the LAN adds. A broadcast is sent once and received
/// by every process that runs and that it gets to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Wire {
    /// Beacons without a piggybacked message.
    pub beacons: Flow,
    /// Messages of the election protocol, sensor and display data included: beacons that carry one,
    /// and packets of the protocol's own port.
    pub election: Flow,
    /// Dials and frames of links. TCP's acknowledgements and repetitions do not count.
    pub links: Flow,
}

/// Packets for one purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Flow {
    pub sent: u64,
    pub sent_bytes: u64,
    /// How many were received. One that arrives twice counts twice.
    pub received: u64,
    pub received_bytes: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(u64);

impl Size {
    pub(super) fn datagram(bytes: usize) -> Self {
        Self(bytes as u64 + DATAGRAM_HEADERS)
    }

    pub(super) fn of_beacon(beacon: &Beacon) -> Self {
        Self::datagram(codec::size(beacon) + ENVELOPE)
    }

    /// With a frame of a link, or its end.
    pub(super) fn of_packet(packet: &Packet) -> Self {
        match packet {
            Packet::Frame(frame) => Self((codec::size(frame) + ENVELOPE) as u64 + FRAME_HEADERS),
            Packet::Close => Self::SEGMENT,
        }
    }

    /// A dial, its answer, or the end of a link; none of them carries data.
    pub(super) const SEGMENT: Self = Self(SEGMENT_HEADERS);
}

impl Flow {
    pub(super) fn send(&mut self, size: Size) {
        self.sent += 1;
        self.sent_bytes += size.0;
    }

    pub(super) fn receive(&mut self, size: Size) {
        self.received += 1;
        self.received_bytes += size.0;
    }
}

impl Sub for Flow {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            sent: self.sent - before.sent,
            sent_bytes: self.sent_bytes - before.sent_bytes,
            received: self.received - before.received,
            received_bytes: self.received_bytes - before.received_bytes,
        }
    }
}

/// What was sent and received in between.
impl Sub for Wire {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            beacons: self.beacons - before.beacons,
            election: self.election - before.election,
            links: self.links - before.links,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{World, WorldSettings};

    #[test]
    fn every_other_node_receives_a_broadcast_that_was_sent_once() {
        let mut world = World::new(WorldSettings::new(4, 1)).expect("a small fleet");
        world.start_all();
        world.run_for(Duration::from_secs(3));
        let before = world.wire();
        world.run_for(Duration::from_secs(1));
        let wire = world.wire() - before;
        let beacons = wire.beacons;
        assert!(beacons.sent >= 4 * 40, "{beacons:?}");
        assert!(beacons.received.abs_diff(beacons.sent * 3) <= 3 * 4, "{beacons:?}");
        assert!(wire.election.sent > 0, "{wire:?}");
    }

    #[test]
    fn bytes_are_those_of_the_codec() {
        let mut world = World::new(WorldSettings::new(2, 1)).expect("a small fleet");
        world.start_all();
        world.run_for(Duration::from_secs(1));
        let hello = world.node(0).expect("it runs").hello().clone();
        let frame = elevator_fleet::wire::Frame::Hello(hello);
        let encoded = codec::encode_frame(&frame).expect("a frame").len() as u64;
        let size = Size::of_packet(&Packet::Frame(frame));
        assert_eq!(size, Size(encoded + 44));
    }
}
