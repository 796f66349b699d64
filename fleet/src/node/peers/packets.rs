//! Counters of the packets of a protocol with its own port (V8, V12).

/// How many packets arrived since the start, without those of the master and the election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCounts {
    /// Answers from nodes.
    pub node_answers: u64,
    /// Answers from devices that are not nodes.
    pub device_answers: u64,
    /// Other packets from senders that may not send them; dropped (V12).
    pub strange: u64,
    /// Bytes that are not a packet; dropped.
    pub malformed: u64,
}

/// A packet that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) enum PacketKind {
    NodeAnswer,
    DeviceAnswer,
    Strange,
    Malformed,
}

impl PacketCounts {
    pub(super) fn count(&mut self, kind: PacketKind) {
        let count = match kind {
            PacketKind::NodeAnswer => &mut self.node_answers,
            PacketKind::DeviceAnswer => &mut self.device_answers,
            PacketKind::Strange => &mut self.strange,
            PacketKind::Malformed => &mut self.malformed,
        };
        *count += 1;
    }
}
