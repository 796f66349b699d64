//! Datagrams that no node sent: damaged, repeated, forged and foreign ones.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;

use crc::{CRC_32_ISCSI, Crc};
use elevator_driver::protocol::{
    self, BootId, ButtonChunk, ControllerFrame, Decoder, FrameId, Header, MAX_WIRE_LENGTH,
    PanelFrame, Status, encode,
};
use elevator_fleet::model::{NodeId, Term};
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM, VERSION, WireError};
use elevator_fleet::wire::keyring::{Keyring, Purpose, TAG};
use elevator_fleet::wire::{Beacon, NodeState, Nonce};
use fastrand::Rng;

use super::World;
use crate::agenda::Event;
use crate::fault::{Fault, Forgery};

/// One datagram in this many is recorded.
const RECORDED_EACH: u64 = 16;

/// One recording in this many is kept for long.
const KEPT_EACH: u64 = 16;

/// How many recent recordings there are, and how many old ones; the oldest of each gives way. Of six
/// nodes the recent ones go back 9 s, and the old ones more than two minutes.
const MOST_RECORDINGS: usize = 128;

/// How many frames of each direction noise on a panel's line hits.
const GARBLED_FRAMES: u32 = 8;

/// A term that is close to the end of its range.
const LATE: u64 = u64::MAX - 1;

/// The check of a datagram without a tag.
const CHECK: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);

/// Where a datagram holds the version of the wire protocol.
const VERSION_AT: usize = 2;

/// What became of datagrams that no node had sent in this form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interference {
    /// Damaged on their way, which the codec has found out.
    pub damaged: u64,
    /// Damaged on their way, and taken for what they were not. A checksum of 32 bits misses one in
    /// four thousand million, a tag none.
    pub misread: u64,
    /// Reported to a node as those of another version.
    pub other_versions: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Recordings {
    sent: u64,
    recent: VecDeque<Recording>,
    old: VecDeque<Recording>,
}

/// Who sent a datagram, and what.
type Recording = (usize, Arc<Beacon>);

impl Recordings {
    /// Somebody listens, and records what a node sends.
    pub(crate) fn listen(&mut self, from: usize, beacon: &Arc<Beacon>) {
        self.sent += 1;
        let each = |kept: &mut VecDeque<Recording>, number| {
            if self.sent.is_multiple_of(number) {
                if kept.len() == MOST_RECORDINGS {
                    kept.pop_front();
                }
                kept.push_back((from, Arc::clone(beacon)));
            }
        };
        each(&mut self.recent, RECORDED_EACH);
        each(&mut self.old, RECORDED_EACH * KEPT_EACH);
    }

    fn get(&self, recording: usize) -> Option<&Recording> {
        let all = self.recent.len() + self.old.len();
        self.iter().nth(recording % all.max(1))
    }

    fn iter(&self) -> impl Iterator<Item = &Recording> {
        self.recent.iter().chain(&self.old)
    }

    fn latest_of(&self, node: usize) -> Option<&Arc<Beacon>> {
        self.recent.iter().rev().find(|(from, _)| *from == node).map(|(_, beacon)| beacon)
    }
}

impl World {
    /// What became of datagrams that no node had sent in this form.
    #[must_use]
    pub fn interference(&self) -> Interference {
        self.interference
    }

    /// A datagram is damaged on its way. What the codec says to it is what its receiver does.
    pub(crate) fn damage_beacon(&mut self, from: usize, to: usize, beacon: &Beacon) {
        let address = self.machines[from].address;
        let Ok(mut bytes) = codec::encode_beacon(beacon, &self.keys) else { return };
        damage(&mut self.random, &mut bytes, MAX_DATAGRAM);
        self.show_datagram(address, to, &bytes);
    }

    /// These bytes arrive at a node, after the time that a datagram takes.
    fn show_datagram(&mut self, address: Ipv4Addr, to: usize, bytes: &[u8]) {
        let at = self.now + self.network.datagram_delay(&mut self.random);
        match codec::decode_beacon(bytes, &self.keys) {
            Ok(beacon) => {
                self.interference.misread += 1;
                self.read_without_its_key(to, "damaged");
                let beacon = Arc::new(beacon);
                self.agenda.enter(at, Event::Intruding { address, to, beacon });
            }
            Err(WireError::Version(version)) => {
                self.interference.other_versions += 1;
                self.agenda.enter(at, Event::OtherVersion { address, to, version });
            }
            Err(
                WireError::Foreign
                | WireError::Key(_)
                | WireError::Unauthenticated
                | WireError::Forged
                | WireError::Damaged
                | WireError::Malformed(_)
                | WireError::TooLarge { .. },
            ) => self.interference.damaged += 1,
        }
    }

    /// The recordings of processes that have ended: what they say is true no more.
    pub(crate) fn outdated_recordings(&self) -> Vec<usize> {
        let is_outdated = |(from, beacon): &Recording| {
            let node = self.machines[*from].node();
            node.is_none_or(|node| node.hello().nonce != beacon.hello.nonce)
        };
        let all = self.recordings.iter().enumerate();
        all.filter(|(_, recording)| is_outdated(recording)).map(|(index, _)| index).collect()
    }

    pub(super) fn replay(&mut self, recording: usize, to: usize) {
        if let Some((_, beacon)) = self.recordings.get(recording) {
            let (address, beacon) = (beacon.hello.address, Arc::clone(beacon));
            self.count_fault(&Fault::Replay { recording, to });
            self.agenda.enter(self.now, Event::Intruding { address, to, beacon });
        }
    }

    pub(super) fn forge_beacon(&mut self, forgery: Forgery, of: usize, to: usize) {
        let Some(genuine) = self.recordings.latest_of(of).filter(|_| self.settings.key) else {
            return;
        };
        let genuine = Arc::clone(genuine);
        let mut beacon = Beacon::clone(&genuine);
        self.count_fault(&Fault::Forge { forgery, of, to });
        let another = Nonce(self.random.u64(1..));
        match forgery {
            Forgery::LowestAddress => {
                if let Ok(nobody) = NodeId::new("GHOST") {
                    beacon.hello.node = nobody;
                }
                beacon.hello.address = Ipv4Addr::new(127, 0, 0, 0);
                beacon.hello.nonce = another;
                beacon.node_state = NodeState::Master;
            }
            Forgery::Name => beacon.hello.nonce = another,
            Forgery::Sequence => beacon.sequence = u64::MAX,
            Forgery::Term => {
                beacon.term = Term(LATE);
                beacon.sequence += 1;
            }
        }
        let Some(bytes) = self.forged_datagram(&genuine, &beacon) else { return };
        if codec::decode_beacon(&bytes, &self.keys).is_ok() {
            self.read_without_its_key(to, "forged");
        }
    }

    /// A beacon as somebody without the key of the fleet sends it: without any, with another one, or
    /// with the tag of a genuine beacon.
    fn forged_datagram(&mut self, genuine: &Beacon, beacon: &Beacon) -> Option<Vec<u8>> {
        match self.random.u8(0..3) {
            0 => codec::encode_beacon(beacon, &Keyring::default()).ok(),
            1 => codec::encode_beacon(beacon, &self.strange_keys).ok(),
            _ => {
                let mut bytes = codec::encode_beacon(beacon, &self.keys).ok()?;
                let genuine = codec::encode_beacon(genuine, &self.keys).ok()?;
                *bytes.last_chunk_mut::<TAG>()? = *genuine.last_chunk::<TAG>()?;
                Some(bytes)
            }
        }
    }

    /// F5: in a fleet with a key nobody reads a datagram that was not made with it.
    fn read_without_its_key(&mut self, node: usize, what: &str) {
        if self.settings.key {
            let what = format!("a {what} datagram was read, which no tag of the fleet covers");
            self.judge(|oracles, snapshot| oracles.misread(snapshot, node, what));
        }
    }

    /// A member sends a beacon in another version of the wire protocol: its header and its tag or check
    /// are all that can be read.
    pub(super) fn speak_another_version(&mut self, from: usize, to: usize) {
        let Some(beacon) = self.recordings.latest_of(from) else { return };
        let address = self.machines[from].address;
        let Ok(mut bytes) = codec::encode_beacon(beacon, &self.keys) else { return };
        bytes[VERSION_AT] = VERSION + 1;
        let covered = bytes.len() - self.keys.sent().map_or(size_of::<u32>(), |_| TAG);
        let (covered, check) = bytes.split_at_mut(covered);
        match self.keys.sent() {
            Some(key) => check.copy_from_slice(&key.tag(Purpose::Datagram, covered)),
            None => check.copy_from_slice(&CHECK.checksum(covered).to_le_bytes()),
        }
        self.count_fault(&Fault::OtherVersion { from, to });
        self.show_datagram(address, to, &bytes);
    }

    /// Noise on the line between a node and its panel: bytes of no frame, and frames with flipped bits.
    /// Neither end takes any of it for what was sent (F5); what they do then is to drop the line.
    pub(super) fn garble_line(&mut self, node: usize) {
        let status = Status::of(&self.machines[node].car.inputs());
        let lamps = ButtonChunk::of(&self.machines[node].lit, self.settings.floors, 0);
        let whole =
            self.garble(&PanelFrame::Status(status)) && self.garble(&ControllerFrame::Lamps(lamps));
        if !whole {
            let what = "noise on the panel's line was read as a frame".to_owned();
            self.judge(|oracles, snapshot| oracles.misread(snapshot, node, what));
        }
    }

    /// Whether nothing is read of damaged copies of a frame but, at most, the frame itself.
    fn garble<F: protocol::Frame + PartialEq>(&mut self, frame: &F) -> bool {
        let mut decoder = Decoder::<F>::new();
        for number in 0..GARBLED_FRAMES {
            let id = FrameId { boot: BootId::MIN, number };
            let mut bytes = encode(Header { id, answers: Some(id) }, frame);
            damage(&mut self.random, &mut bytes, MAX_WIRE_LENGTH);
            for byte in bytes {
                match decoder.push(byte) {
                    Some(Ok(read)) if read.frame != *frame => return false,
                    Some(Ok(_) | Err(_)) | None => {}
                }
            }
        }
        true
    }
}

/// Damages these bytes for certain, so that they are not what they were.
pub(crate) fn damage(random: &mut Rng, bytes: &mut Vec<u8>, limit: usize) {
    let size = bytes.len().max(1);
    match random.u8(0..8) {
        0 => bytes.truncate(random.usize(0..size)),
        1 => bytes.extend(std::iter::repeat_with(|| random.u8(..)).take(limit)),
        2 => {
            let other = std::iter::repeat_with(|| random.u8(..)).take(size).collect::<Vec<_>>();
            *bytes = other;
        }
        _ => {
            // Distinct bytes, so that no bit is flipped back.
            let first = random.usize(0..size);
            for at in (first..size).step_by(size / 4 + 1) {
                bytes[at] ^= 1 << random.u8(0..8);
            }
        }
    }
}
