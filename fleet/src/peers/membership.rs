//! The membership: which nodes are heard, and hear this one.
//!
//! A peer counts while its packets arrive *and* it keeps echoing recent beacons of this node's
//! current incarnation. So a one-way link or a replayed beacon discovers nobody (E1).

mod conflict;
mod echoes;
mod lost;
pub(super) mod pace;
mod peer;
mod reception;
mod silence;
mod window;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::Building;

use crate::election::LinkSide;
use crate::model::{Hello, MeshTimes, NodeId, Nonce, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::Beacon;
use crate::wire::codec::WireError;

pub use conflict::{ConflictKind, misfit, unreadable};
pub use lost::LossCause;

use conflict::Conflicts;
use echoes::Sent;
use lost::LostPeers;
use pace::Delay;
pub(crate) use peer::Peer;
use window::Order;

/// The most incarnations that are tracked. Of more, those that don't hear this one are ignored.
const MOST_INCARNATIONS: usize = 512;

/// How many ended incarnations are remembered. Only a process that its peers hear can
/// end an earlier one, so more would take as many restarts within about half a second.
const MOST_ENDED: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BeaconFate {
    /// It is of a peer, or of a node whose conflict with this one is reported.
    Used,
    /// This node has nothing to do with its sender for now.
    Ignored,
    Foreign,
    /// It is of a process that does not hear this node: one that has just started, one whose way
    /// here is open in one direction only, or one that has ended and was recorded.
    Unproven,
    /// It was heard before, or is so old that nobody can tell: nothing of it was used.
    Replayed,
}

#[derive(Debug, Clone)]
pub(crate) struct Membership {
    own: Hello,
    building: Arc<Building>,
    times: MeshTimes,
    incarnations: BTreeMap<Nonce, Peer>,
    /// The incarnation that counts, by name.
    found: BTreeMap<NodeId, Nonce>,
    /// Incarnations that have ended, and until when their packets could still prove something.
    ended: VecDeque<(Nonce, Timestamp)>,
    /// This node's latest beacons of which an echo still counts.
    sent: VecDeque<Sent>,
    /// The longest period of them.
    slowest: Duration,
    /// How late this node's own loop has been.
    delay: Delay,
    /// How much longer than usual any peer may currently be silent.
    granted: Duration,
    lost: LostPeers,
    conflicts: Conflicts,
    /// Where the echoes of the next beacon start, for peers and for others.
    rotation: (usize, usize),
    /// When an incarnation may have to be probed or dropped first, and which one.
    check_at: Option<(Timestamp, Option<Nonce>)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing of it is used. What its sender needs acknowledged, it says again later.
    Dropped(BeaconFate),
    /// Overtaken by a later beacon, and not heard before: only its orders are accepted.
    Reordered,
    /// From a peer that counts.
    Current {
        /// The peer did not count before.
        found: bool,
        /// This incarnation replaces an earlier one of the same node.
        replaced: bool,
    },
    /// The installation is wrong; reported once.
    Conflict(String),
}

impl Heard {
    /// Whether the beacon counts and was not heard before.
    pub(crate) fn is_first(&self) -> bool {
        matches!(self, Self::Current { .. } | Self::Reordered)
    }

    /// Whether the beacon is of a process of this fleet that may run now, proven or not.
    pub(crate) fn is_up_to_date(&self) -> bool {
        matches!(self, Self::Current { .. } | Self::Dropped(BeaconFate::Unproven))
    }

    /// What became of the beacon, for those outside the brain.
    pub(crate) fn fate(&self) -> BeaconFate {
        match self {
            Self::Current { .. } | Self::Reordered | Self::Conflict(_) => BeaconFate::Used,
            Self::Dropped(fate) => *fate,
        }
    }
}

impl Membership {
    pub(super) fn new(own: Hello, building: Arc<Building>, times: MeshTimes) -> Self {
        Self {
            own,
            building,
            times,
            incarnations: BTreeMap::new(),
            found: BTreeMap::new(),
            ended: VecDeque::new(),
            sent: VecDeque::new(),
            slowest: times.beacon_period,
            delay: Delay::default(),
            granted: Duration::ZERO,
            lost: LostPeers::default(),
            conflicts: Conflicts::default(),
            rotation: (0, 0),
            check_at: None,
        }
    }

    pub(crate) fn building(&self) -> &Building {
        &self.building
    }

    /// The peers that count, by name.
    pub(crate) fn peers(&self) -> impl Iterator<Item = (&NodeId, &Peer)> {
        self.found.iter().filter_map(|(name, nonce)| Some((name, self.incarnations.get(nonce)?)))
    }

    pub(crate) fn names(&self) -> BTreeSet<NodeId> {
        self.found.keys().cloned().collect()
    }

    pub(crate) fn get(&self, name: &NodeId) -> Option<&Peer> {
        self.incarnations.get(self.found.get(name)?)
    }

    /// The peer at this address; if there are two, the first by name.
    pub(crate) fn at(&self, address: Ipv4Addr) -> Option<&NodeId> {
        let mut peers = self.peers();
        let (name, _) = peers.find(|(_, peer)| peer.hello.address == address)?;
        Some(name)
    }

    pub(crate) fn get_mut(&mut self, name: &NodeId) -> Option<&mut Peer> {
        self.incarnations.get_mut(self.found.get(name)?)
    }

    pub(crate) fn count(&self) -> usize {
        self.found.len()
    }

    pub(crate) fn hear(&mut self, beacon: &Beacon, now: Timestamp) -> Heard {
        if let Some(ignored) = self.ignored(&beacon.hello, now) {
            return ignored;
        }
        let echoed_beacon = self.echoed(&beacon.echoes);
        let echoed = echoed_beacon.map(|sent| sent.at);
        let told = Duration::from_millis(beacon.period.into());
        let period = pace::bounded(told, self.incarnations.len(), &self.times);
        if echoed.is_some() {
            self.make_room(beacon.hello.nonce);
        }
        let addressee = beacon.piggybacked.as_ref().and_then(|it| it.to.as_ref());
        let is_addressed = beacon.probe || addressee == Some(&self.own.node);
        let Some(peer) = self.incarnation(&beacon.hello, now) else {
            return Heard::Dropped(BeaconFate::Ignored);
        };
        peer.note_delay(beacon.sequence, now);
        let is_answer = echoed_beacon.is_some_and(|sent| peer.note_echo(sent, now));
        // It came to this node alone.
        let is_single = is_answer || is_addressed;
        match peer.window.mark(beacon.sequence, now) {
            Order::Latest => {
                peer.echoed_at = peer.echoed_at.max(echoed);
                if is_single {
                    peer.reception.note_single();
                } else {
                    peer.reception.note_latest(beacon.sequence, peer.period, now);
                }
            }
            Order::Reordered { first } => {
                peer.echoed_at = peer.echoed_at.max(echoed);
                if first && !is_single {
                    peer.reception.note_late();
                }
                return match (first, self.counts(&beacon.hello)) {
                    (false, true | false) => Heard::Dropped(BeaconFate::Replayed),
                    (true, true) => Heard::Reordered,
                    (true, false) => Heard::Dropped(BeaconFate::Unproven),
                };
            }
            Order::Impossible => return Heard::Dropped(BeaconFate::Ignored),
        }
        peer.term = beacon.term;
        peer.estimate = beacon.estimate;
        peer.heard_at = now;
        peer.link_port = beacon.link_port;
        peer.node_state = beacon.node_state.clone();
        peer.digest = beacon.digest;
        peer.power = beacon.power;
        let before = std::mem::replace(&mut peer.period, period);
        if period < before {
            self.check_by(now + self.times.probe_after);
        }
        let heard = self.prove(&beacon.hello, now);
        self.defer_check(beacon.hello.nonce, now);
        heard
    }

    /// Assesses the node at the other end of a link: a handshake proves that it hears and is heard.
    /// An accepted link does not end an earlier incarnation that is still heard; that takes an
    /// echo.
    pub(crate) fn meet(&mut self, hello: &Hello, side: LinkSide, now: Timestamp) -> Heard {
        if let Some(ignored) = self.ignored(hello, now) {
            return ignored;
        }
        let is_rivalled = side == LinkSide::Accepted
            && self.get(&hello.node).is_some_and(|known| {
                known.hello.nonce != hello.nonce
                    && known.hello.address == hello.address
                    && self.shows(known, now)
            });
        let is_proven = |peer| self.shows(peer, now);
        if is_rivalled && !self.incarnations.get(&hello.nonce).is_some_and(is_proven) {
            return Heard::Dropped(BeaconFate::Unproven);
        }
        let Some(peer) = self.incarnation(hello, now) else {
            return Heard::Dropped(BeaconFate::Ignored);
        };
        peer.heard_at = now;
        peer.echoed_at = Some(now);
        self.prove(hello, now)
    }

    /// The peer has answered over a link what was sent to it at this time: it was alive then, and
    /// heard this node. When the answer arrives says nothing: the system of a suspended process
    /// sends again what got lost, 200 ms and more after the process wrote it. A beacon counts when
    /// it arrives, so the answer may have what the network takes at best.
    pub(super) fn alive(&mut self, name: &NodeId, at: Timestamp, now: Timestamp) {
        let travel = self.get(name).map(|peer| self.travel(peer)).unwrap_or_default();
        if let Some(peer) = self.get_mut(name) {
            peer.heard_at = peer.heard_at.max((at + travel).min(now));
            peer.echoed_at = peer.echoed_at.max(Some(at));
            let incarnation = peer.hello.nonce;
            self.defer_check(incarnation, now);
        }
    }

    /// A peer sent over its link what is not a frame.
    pub(crate) fn note_garbage(&mut self, peer: &NodeId, now: Timestamp) -> Option<String> {
        let what = format!("node {peer} sent what is not a frame: its link was closed");
        self.conflicts.note(ConflictKind::Garbage, what, now)
    }

    /// A datagram from this address can't be read as a beacon.
    pub(crate) fn hear_unreadable(
        &mut self,
        from: Ipv4Addr,
        error: &WireError,
        now: Timestamp,
    ) -> Option<String> {
        let (kind, what) = unreadable(from, error)?;
        // Several fleets may share a network: of their keys there is nothing to report.
        self.conflicts.note(kind, what, now).filter(|_| kind != ConflictKind::Key)
    }

    pub(crate) fn lost(&self) -> &LostPeers {
        &self.lost
    }

    pub(crate) fn conflicts(&self) -> &Conflicts {
        &self.conflicts
    }

    /// Why this node has nothing to do with the other one: itself, another fleet, or ended.
    fn ignored(&mut self, hello: &Hello, now: Timestamp) -> Option<Heard> {
        if hello.nonce == self.own.nonce {
            return Some(Heard::Dropped(BeaconFate::Ignored));
        }
        if self.ended.iter().any(|(nonce, until)| *nonce == hello.nonce && now < *until) {
            return Some(Heard::Dropped(BeaconFate::Unproven));
        }
        if hello.fleet == self.own.fleet {
            return None;
        }
        // Several fleets may share a network: nothing to report.
        if let Some((kind, what)) = misfit(&self.own, &self.building, hello) {
            self.conflicts.note(kind, what, now);
        }
        Some(Heard::Dropped(BeaconFate::Foreign))
    }

    /// Makes room for an incarnation that hears this node: an unproven one gives way.
    fn make_room(&mut self, nonce: Nonce) {
        if self.incarnations.len() < MOST_INCARNATIONS || self.incarnations.contains_key(&nonce) {
            return;
        }
        let unproven = self.incarnations.iter().filter(|(_, peer)| peer.echoed_at.is_none());
        let oldest = unproven.min_by_key(|(_, peer)| peer.heard_at).map(|(nonce, _)| *nonce);
        if let Some(oldest) = oldest {
            self.incarnations.remove(&oldest);
        }
    }

    fn incarnation(&mut self, hello: &Hello, now: Timestamp) -> Option<&mut Peer> {
        if self.incarnations.len() >= MOST_INCARNATIONS
            && !self.incarnations.contains_key(&hello.nonce)
        {
            return None;
        }
        let met = || Peer::new(hello.clone(), self.times.beacon_period, now);
        Some(self.incarnations.entry(hello.nonce).or_insert_with(met))
    }

    /// This incarnation has ended. What it sent may still be under way, and echo recent beacons of
    /// this node; it must not come back in the place of the next one.
    fn end(&mut self, nonce: Nonce, now: Timestamp) {
        self.incarnations.remove(&nonce);
        self.ended.retain(|(_, until)| now < *until);
        if self.ended.len() == MOST_ENDED {
            self.ended.pop_front();
        }
        self.ended.push_back((nonce, now + self.echoes_count_for()));
    }

    fn counts(&self, hello: &Hello) -> bool {
        self.found.get(&hello.node) == Some(&hello.nonce)
    }

    fn prove(&mut self, hello: &Hello, now: Timestamp) -> Heard {
        let peer = self.incarnations.get(&hello.nonce);
        if peer.is_none_or(|peer| !self.shows(peer, now)) {
            return Heard::Dropped(BeaconFate::Unproven);
        }
        // Not before it is proven: an old beacon, sent again, would be a conflict with its own
        // node.
        if let Some((kind, what)) = misfit(&self.own, &self.building, hello) {
            let told = self.conflicts.note(kind, what, now);
            return told.map_or(Heard::Dropped(BeaconFate::Ignored), Heard::Conflict);
        }
        if hello.address == self.own.address {
            let (name, address) = (&hello.node, hello.address);
            let what = format!("node {name} has the same address as this one, {address}");
            if let Some(told) = self.conflicts.note(ConflictKind::Address, what, now) {
                return Heard::Conflict(told);
            }
        }
        let before = self.found.get(&hello.node).copied();
        if before == Some(hello.nonce) {
            return Heard::Current { found: false, replaced: false };
        }
        let rival = before.and_then(|nonce| self.incarnations.get(&nonce));
        if let Some(rival) = rival.filter(|rival| {
            rival.hello.address != hello.address || is_seeded(SeededBug::RestartIsConflict)
        }) {
            // Both are alive: the first one stays, so that neither takes over from the other.
            let (name, first, second) = (&hello.node, rival.hello.address, hello.address);
            let what = format!("two nodes are named {name}: one at {first}, one at {second}");
            let told = self.conflicts.note(ConflictKind::Name, what, now);
            return told.map_or(Heard::Dropped(BeaconFate::Unproven), Heard::Conflict);
        }
        self.lost.remove(&hello.node);
        // One address has one process: the earlier incarnation has ended.
        if let Some(nonce) = before {
            self.end(nonce, now);
        }
        self.found.insert(hello.node.clone(), hello.nonce);
        self.check_by(now);
        Heard::Current { found: true, replaced: before.is_some() }
    }
}

#[cfg(test)]
mod tests;
