//! How many packets of a protocol that has a port of its own have come (V8, V12).

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
