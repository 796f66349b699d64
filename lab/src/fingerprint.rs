//! One number for everything that happens in a world: two runs with the same number are the same.

use std::hash::Hasher;
use std::time::Duration;

use siphasher::sip::SipHasher13;

use super::agenda::{Event, TimedFault};
use super::connection::{ConnectionId, Side};
use super::history::Note;
use super::wire::Wire;

/// Takes in each event with its time, its nodes and what has been sent before it, and each line of
/// the story.
#[derive(Debug, Clone)]
pub(super) struct Fingerprint(SipHasher13);

/// What an event is: its kind, and whom it concerns.
type Parts = (u8, u64, u64);

impl Fingerprint {
    pub(super) fn new() -> Self {
        Self(SipHasher13::new())
    }

    pub(super) fn event(&mut self, now: Duration, event: &Event, wire: &Wire) {
        self.take(now, parts(event));
        self.0.write_u64(bytes_sent(wire));
    }

    /// A report is left out: it says what events have done.
    pub(super) fn note(&mut self, now: Duration, machine: usize, note: &Note) {
        if matches!(note, Note::Reported(_)) {
            return;
        }
        self.take(now, (0x80, machine as u64, 0));
        // What it is, and which button, lamp or fault.
        self.0.write(format!("{note:?}").as_bytes());
    }

    pub(super) fn value(&self, wire: &Wire) -> u64 {
        let mut hasher = self.0;
        hasher.write_u64(bytes_sent(wire));
        hasher.finish()
    }

    fn take(&mut self, now: Duration, (kind, one, other): Parts) {
        self.0.write_u8(kind);
        self.0.write_u64(one);
        self.0.write_u64(other);
        self.0.write_u64(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
    }
}

fn bytes_sent(wire: &Wire) -> u64 {
    wire.beacons.sent_bytes + wire.election.sent_bytes + wire.links.sent_bytes
}

fn parts(event: &Event) -> Parts {
    let at = |kind: u8, node: usize| (kind, node as u64, 0);
    let between = |kind: u8, from: usize, to: usize| (kind, from as u64, to as u64);
    let link = |kind: u8, ConnectionId(id): ConnectionId| (kind, id, 0);
    let end = |kind: u8, ConnectionId(id): ConnectionId, side: Side| (kind, id, side as u64);
    match event {
        Event::Wake { node, .. } => at(1, *node),
        Event::Datagram { from, to, .. } => between(2, *from, *to),
        Event::Told { from, to, .. } => between(3, *from, *to),
        Event::Dialled(id) => link(4, *id),
        Event::Answered(id) => link(5, *id),
        Event::DialTimeout(id) => link(6, *id),
        Event::Packet(id, side) => end(7, *id, *side),
        Event::Reset(id, side) => end(8, *id, *side),
        Event::Committed { node, .. } => at(9, *node),
        Event::Planned { node, .. } => at(10, *node),
        Event::Panel { node, .. } => at(11, *node),
        Event::CarMoves { node } => at(12, *node),
        Event::Watchdog { node, .. } => at(13, *node),
        Event::Intruding { address, to, .. } => (14, u64::from(address.to_bits()), *to as u64),
        Event::OtherVersion { address, to, .. } => (15, u64::from(address.to_bits()), *to as u64),
        Event::FaultEnds(TimedFault::Clogs) => (16, 0, 0),
        Event::FaultEnds(TimedFault::FullDiskIsNoticed { node }) => at(17, *node),
        Event::FaultEnds(TimedFault::Pause { node, .. }) => at(18, *node),
        Event::FaultEnds(TimedFault::Noise { node, .. }) => at(19, *node),
        Event::FaultEnds(TimedFault::NoInterface { node, .. }) => at(20, *node),
        Event::FaultEnds(TimedFault::Tear { node, .. }) => at(21, *node),
    }
}
