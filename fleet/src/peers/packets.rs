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
