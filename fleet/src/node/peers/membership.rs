//! Who is heard, and hears this node.
//!
//! A peer counts while its packets arrive *and* it keeps echoing a recent beacon of this node's
//! present life. So a one-way link finds nobody, and a replayed beacon proves nothing (E1).

mod conflict;
mod lost;
pub(super) mod pace;
mod peer;

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::beacon::{MOST_ECHOES, STRANGERS_ECHOED};
use super::distrusted::{Distrusted, Offence};
use crate::model::{NodeId, Timestamp};
use crate::node::{DistrustedStatus, LinkSide, MeshTimes};
use crate::wire::codec::VERSION;
use crate::wire::{Beacon, Echo, Hello, Nonce};

pub use conflict::ConflictKind;
pub use lost::LossCause;

use conflict::{Conflicts, Sighting};
use lost::LostPeers;
use pace::{Delay, Limits};
use peer::Order;
pub(in crate::node) use peer::Peer;

/// The most lives of nodes that are kept track of; beyond it the ones that don't hear this node
/// are not taken in, so that a flood of strangers costs little.
const MOST_LIVES: usize = 512;

/// The lives of nodes that have been heard lately.
#[derive(Debug, Clone)]
pub(in crate::node) struct Membership {
    own: Hello,
    times: MeshTimes,
    lives: BTreeMap<Nonce, Peer>,
    /// The life that counts under each name.
    found: BTreeMap<NodeId, Nonce>,
    /// This node's latest beacons, as far as an echo of them still counts.
    sent: VecDeque<Sent>,
    /// The longest period of those.
    slowest: Duration,
    /// How late this node's own loop has been.
    delay: Delay,
    /// By how much longer than usual any peer may be silent at present.
    granted: Duration,
    lost: LostPeers,
    distrusted: Distrusted,
    conflicts: Conflicts,
    /// Where the echoes of the next beacon begin: those of the peers that count, and of the others.
    rotation: (usize, usize),
    /// No peer is to be probed or lost before this, and which life it is that may have to be. What is
    /// heard of others only defers it.
    check_at: Option<(Timestamp, Option<Nonce>)>,
}

/// A beacon of this node's.
#[derive(Debug, Clone, Copy)]
struct Sent {
    sequence: u64,
    at: Timestamp,
    /// How soon the next one was to follow.
    period: Duration,
}

/// What a beacon is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) enum Heard {
    /// Nothing: this node's own, or a stranger's.
    Ignored,
    /// It comes from a life that does not count (yet).
    Unproven,
    /// It was overtaken by a later one: its orders may be taken in, where it stands is history.
    Overtaken {
        /// It has not been heard before, as far back as is remembered.
        first: bool,
    },
    /// The sender counts.
    Current {
        /// It has not counted before.
        found: bool,
        /// The earlier life of the same node that ends with this.
        replaced: bool,
    },
    /// Something is wrong with the installation; told once.
    Conflict(String),
}

impl Heard {
    /// Whether the beacon counts and has not been heard before.
    pub(in crate::node) fn is_first(&self) -> bool {
        match self {
            Self::Current { .. } => true,
            Self::Overtaken { first } => *first,
            Self::Ignored | Self::Unproven | Self::Conflict(_) => false,
        }
    }
}

/// An address briefly has two lives when a node restarts, and two nodes when it is misconfigured.
const MOST_AT_ONE_ADDRESS: usize = 4;

fn echo((nonce, peer): (&Nonce, &Peer)) -> Option<Echo> {
    (!peer.unechoed).then_some(Echo {
        nonce: *nonce,
        sequence: peer.sequence,
    })
}

impl Membership {
    pub(super) fn new(own: Hello, times: MeshTimes) -> Self {
        Self {
            own,
            times,
            lives: BTreeMap::new(),
            found: BTreeMap::new(),
            sent: VecDeque::new(),
            slowest: times.beacon_period,
            delay: Delay::default(),
            granted: Duration::ZERO,
            lost: LostPeers::default(),
            distrusted: Distrusted::default(),
            conflicts: Conflicts::default(),
            rotation: (0, 0),
            check_at: None,
        }
    }

    /// The peers that count, by name.
    pub(in crate::node) fn peers(&self) -> impl Iterator<Item = (&NodeId, &Peer)> {
        self.found
            .iter()
            .filter_map(|(name, nonce)| Some((name, self.lives.get(nonce)?)))
    }

    pub(in crate::node) fn names(&self) -> BTreeSet<NodeId> {
        self.found.keys().cloned().collect()
    }

    pub(in crate::node) fn get(&self, name: &NodeId) -> Option<&Peer> {
        self.lives.get(self.found.get(name)?)
    }

    /// Whether a node of this name is heard, even if it does not hear this one.
    pub(in crate::node) fn hears_of(&self, name: &NodeId) -> bool {
        self.lives.values().any(|peer| peer.hello.node == *name)
    }

    /// The peer at this address; of two the first by name.
    pub(in crate::node) fn at(&self, address: Ipv4Addr) -> Option<&NodeId> {
        let mut peers = self.peers();
        let (name, _) = peers.find(|(_, peer)| peer.hello.address == address)?;
        Some(name)
    }

    pub(super) fn get_mut(&mut self, name: &NodeId) -> Option<&mut Peer> {
        self.lives.get_mut(self.found.get(name)?)
    }

    /// How many peers count.
    pub(in crate::node) fn count(&self) -> usize {
        self.found.len()
    }

    /// Records a beacon of this node's that tells this period.
    pub(super) fn sent(&mut self, sequence: u64, period: Duration, now: Timestamp) {
        self.sent.push_back(Sent {
            sequence,
            at: now,
            period,
        });
        let limit = pace::stretched(self.times.dead_after, self.slowest, &self.times) * 2;
        while self
            .sent
            .front()
            .is_some_and(|sent| now.since(sent.at) > limit)
        {
            self.sent.pop_front();
        }
        let periods = self.sent.iter().map(|sent| sent.period);
        self.slowest = periods.max().unwrap_or(period);
    }

    /// The echoes for the next beacon to everybody: at most `most`, each peer in turn.
    ///
    /// The peers that count go first, so that no number of strangers has them lost. Strangers, of
    /// which some may become peers, have [`STRANGERS_ECHOED`] places in each beacon, and share the
    /// room that is left after the last of the peers.
    pub(super) fn echoes(&mut self, most: usize) -> Vec<Echo> {
        let counts = |(_, peer): &(&Nonce, &Peer)| self.counts(&peer.hello);
        let (peers, strangers): (Vec<_>, Vec<_>) = self.lives.iter().partition(counts);
        let (start, stranger) = self.rotation;
        let start = start.min(peers.len());
        let for_peers = most - STRANGERS_ECHOED.min(strangers.len()).min(most);
        let in_turn = peers.iter().skip(start).take(for_peers);
        let mut chosen: Vec<(&Nonce, &Peer)> = in_turn.copied().collect();
        let mut next = start + chosen.len();
        let is_last = next == peers.len();
        let reserved = if is_last {
            most - chosen.len()
        } else {
            most - for_peers
        };
        let left = reserved.min(strangers.len());
        let others = strangers.iter().cycle().skip(stranger);
        chosen.extend(others.take(left));
        if is_last {
            next = (most - chosen.len()).min(start);
            chosen.extend(peers.iter().take(next));
        }
        let stranger = (stranger + left).checked_rem(strangers.len()).unwrap_or(0);
        let echoes = chosen.into_iter().filter_map(echo).collect();
        self.rotation = (next, stranger);
        echoes
    }

    /// The echoes for a beacon to one address: only the addressee's, and the rotation stays where it
    /// is.
    pub(super) fn echoes_for(&self, address: Ipv4Addr) -> Vec<Echo> {
        let there = |(_, peer): &(&Nonce, &Peer)| peer.hello.address == address;
        let there = self.lives.iter().filter(there);
        there.filter_map(echo).take(MOST_AT_ONE_ADDRESS).collect()
    }

    /// How many of its beacons a peer needs to echo everybody once, and a stranger.
    fn turns(&self) -> u32 {
        let turns = (self.found.len() + 1).div_ceil(MOST_ECHOES - STRANGERS_ECHOED);
        u32::try_from(turns).unwrap_or(u32::MAX).max(1)
    }

    /// Takes note of a beacon.
    pub(super) fn hear(&mut self, beacon: &Beacon, now: Timestamp) -> Heard {
        if let Some(verdict) = self.stranger(&beacon.hello, now) {
            return verdict;
        }
        let echoed = self.echo_sent_at(&beacon.echoes);
        let own = self.own.nonce;
        let is_strange = |echo: &Echo| {
            let known = self.lives.get(&echo.nonce);
            let counts = known.is_some_and(|peer| self.counts(&peer.hello));
            echo.nonce != own && !counts && !self.lost.covers(echo)
        };
        let strange = beacon.echoes.iter().any(is_strange);
        let told = Duration::from_millis(beacon.period.into());
        let period = pace::believed(told, self.lives.len(), &self.times);
        let Some(peer) = self.life(&beacon.hello, now) else {
            return Heard::Ignored;
        };
        peer.note_delay(beacon.sequence, now);
        if strange {
            peer.stranger_echoed_at = Some(now);
        }
        match peer.mark(beacon.sequence, now) {
            Order::Latest => peer.echoed_at = peer.echoed_at.max(echoed),
            Order::Overtaken { first } => {
                peer.echoed_at = peer.echoed_at.max(echoed);
                return if self.counts(&beacon.hello) {
                    Heard::Overtaken { first }
                } else {
                    Heard::Unproven
                };
            }
            Order::Impossible => return Heard::Ignored,
        }
        peer.term = beacon.term;
        peer.estimate = beacon.estimate;
        peer.heard_at = now;
        peer.link_port = beacon.link_port;
        peer.standing = beacon.standing.clone();
        peer.digest = beacon.digest;
        peer.journal = Some(beacon.journal);
        let before = std::mem::replace(&mut peer.period, period);
        if period < before {
            self.check_by(now + self.times.probe_after);
        }
        let heard = self.prove(&beacon.hello, now);
        self.defer_check(beacon.hello.nonce, now);
        heard
    }

    /// Takes note of a node at the other end of a link: a handshake proves that it hears and is
    /// heard. One that came in does not end the life of an earlier process that still shows: that
    /// takes an echo.
    pub(super) fn meet(&mut self, hello: &Hello, side: LinkSide, now: Timestamp) -> Heard {
        if let Some(verdict) = self.stranger(hello, now) {
            return verdict;
        }
        let is_rivalled = side == LinkSide::Accepted
            && self.get(&hello.node).is_some_and(|known| {
                known.hello.nonce != hello.nonce
                    && known.hello.address == hello.address
                    && self.shows(known, now)
            });
        let is_proven = |peer| self.shows(peer, now);
        if is_rivalled && !self.lives.get(&hello.nonce).is_some_and(is_proven) {
            return Heard::Unproven;
        }
        let Some(peer) = self.life(hello, now) else {
            return Heard::Ignored;
        };
        peer.heard_at = now;
        peer.echoed_at = Some(now);
        peer.recount();
        self.prove(hello, now)
    }

    /// Takes note of a frame over a link: the peer lives.
    pub(super) fn alive(&mut self, name: &NodeId, now: Timestamp) {
        if let Some(peer) = self.get_mut(name) {
            peer.heard_at = now;
            peer.echoed_at = Some(now);
            let life = peer.hello.nonce;
            self.defer_check(life, now);
        }
    }

    /// Looks for peers that have been silent: hands back those that are lost from here on, and
    /// those to be probed.
    pub(super) fn check(&mut self, now: Timestamp) -> (Vec<NodeId>, Vec<(NodeId, Ipv4Addr)>) {
        if self.next_check().is_some_and(|at| now < at) {
            return (Vec::new(), Vec::new());
        }
        self.granted = self.granted_to_all(now);
        // Mostly what was heard meanwhile has put it off.
        self.check_at = self.next_deadline(now);
        if self.next_check().is_some_and(|at| now < at) {
            return (Vec::new(), Vec::new());
        }
        let found = (self.expire(now), self.probe(now));
        self.check_at = self.next_deadline(now);
        found
    }

    /// By how much longer than usual any peer may be silent: as this node's loop was late, or as the
    /// peers at two addresses were. One that is always late, or says so, does not count, under
    /// however many names.
    fn granted_to_all(&self, now: Timestamp) -> Duration {
        let mut worst = (Duration::ZERO, self.own.address);
        let mut second = Duration::ZERO;
        for (_, peer) in self.peers() {
            let (granted, address) = (peer.delay.granted(now), peer.hello.address);
            if address == worst.1 {
                worst.0 = worst.0.max(granted);
            } else if granted > worst.0 {
                second = worst.0;
                worst = (granted, address);
            } else {
                second = second.max(granted);
            }
        }
        second.max(self.delay.granted(now))
    }

    /// Whether a life hears and is heard.
    fn shows(&self, peer: &Peer, now: Timestamp) -> bool {
        peer.lives(&self.limits(peer, now), now)
    }

    /// What the silence of this peer means.
    fn limits(&self, peer: &Peer, now: Timestamp) -> Limits {
        let granted = self.granted.max(peer.delay.granted(now));
        Limits::new(
            peer.period,
            self.slowest,
            self.turns(),
            granted,
            &self.times,
        )
    }

    /// When the first peer is to be probed or is lost, or the first life is to be dropped, and which
    /// one that is.
    fn next_deadline(&self, now: Timestamp) -> Option<(Timestamp, Option<Nonce>)> {
        let lives = self.lives.iter().map(|(nonce, peer)| {
            let limits = self.limits(peer, now);
            let silent = peer.heard_at + limits.heard;
            let at = if self.counts(&peer.hello) {
                let probe = peer.next_probe(&limits);
                probe.min(peer.lost_at(&limits)).min(silent)
            } else {
                silent
            };
            (at, Some(*nonce))
        });
        lives.min_by_key(|(at, _)| *at)
    }

    /// This life has given a sign of life: where it was the next to be looked after, another one is.
    /// Otherwise the process would wake once a period for nothing.
    fn defer_check(&mut self, life: Nonce, now: Timestamp) {
        if self.check_at.is_some_and(|(_, next)| next == Some(life)) {
            self.check_at = self.next_deadline(now);
        }
    }

    /// Looks for silent peers at this moment at the latest.
    fn check_by(&mut self, at: Timestamp) {
        if self.next_check().is_none_or(|next| at < next) {
            self.check_at = Some((at, None));
        }
    }

    /// Drops whoever has been silent for too long; hands back the names that counted.
    fn expire(&mut self, now: Timestamp) -> Vec<NodeId> {
        let silent: BTreeSet<Nonce> = self
            .lives
            .iter()
            .filter(|(_, peer)| peer.heard_at + self.limits(peer, now).heard <= now)
            .map(|(nonce, _)| *nonce)
            .collect();
        let gone: Vec<NodeId> = self
            .found
            .iter()
            .filter(|(_, nonce)| {
                self.lives
                    .get(nonce)
                    .is_none_or(|peer| !self.shows(peer, now))
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            let nonce = self.found.remove(name);
            if let Some(peer) = nonce.and_then(|nonce| self.lives.get(&nonce)) {
                self.lost.add(name.clone(), peer, LossCause::Silent);
            }
        }
        self.lives.retain(|nonce, _| !silent.contains(nonce));
        gone
    }

    /// Takes a peer, and all that is heard from its address, for gone. Hands back for how long.
    pub(super) fn distrust(
        &mut self,
        name: &NodeId,
        offence: Offence,
        now: Timestamp,
    ) -> Option<Duration> {
        let peer = self.get(name)?;
        let peer = peer.clone();
        self.lost.add(name.clone(), &peer, LossCause::Distrusted);
        self.found.remove(name);
        self.lives
            .retain(|_, other| other.hello.address != peer.hello.address);
        Some(self.distrusted.add(&peer.hello, offence, now))
    }

    pub(in crate::node) fn distrusts(&self, address: Ipv4Addr, now: Timestamp) -> bool {
        self.distrusted.holds(address, None, now)
    }

    /// How often peers were distrusted since the start.
    pub(in crate::node) fn distrusted(&self) -> DistrustedStatus {
        self.distrusted.counts()
    }

    /// The peers to be probed at this moment.
    fn probe(&mut self, now: Timestamp) -> Vec<(NodeId, Ipv4Addr)> {
        let due: Vec<(NodeId, Ipv4Addr)> = self
            .peers()
            .filter(|(_, peer)| peer.next_probe(&self.limits(peer, now)) <= now)
            .map(|(name, peer)| (name.clone(), peer.hello.address))
            .collect();
        for (name, _) in &due {
            if let Some(peer) = self.get_mut(name) {
                peer.probed_at = now;
            }
        }
        due
    }

    /// When [`check`](Self::check) may have work.
    pub(super) fn next_check(&self) -> Option<Timestamp> {
        self.check_at.map(|(at, _)| at)
    }

    /// This node's loop woke so much later than it meant to.
    pub(super) fn note_delay(&mut self, late: Duration, now: Timestamp) {
        self.delay.note(late, now);
    }

    /// This node did not run for `late`, and nobody's silence counts for that time: see
    /// [`Peer::excuse_silence`].
    pub(super) fn excuse_silence(&mut self, late: Duration, now: Timestamp) {
        let times = self.times;
        for peer in self.lives.values_mut() {
            peer.excuse_silence(late, &times, now);
        }
    }

    /// Takes note of a node at this address whose datagrams can't be read, for they are of another
    /// version of the wire protocol.
    pub(super) fn hear_version(
        &mut self,
        from: Ipv4Addr,
        version: u8,
        now: Timestamp,
    ) -> Option<Heard> {
        let what = format!(
            "a node at {from} speaks version {version} of the wire protocol, this one {VERSION}"
        );
        self.conflict(ConflictKind::Version, what, now)
    }

    /// The peers that were lost and have not come back.
    pub(in crate::node) fn lost(&self) -> &LostPeers {
        &self.lost
    }

    /// The nodes that do not go together with this one.
    pub(in crate::node) fn conflicts(&self) -> &Conflicts {
        &self.conflicts
    }

    fn stranger(&mut self, hello: &Hello, now: Timestamp) -> Option<Heard> {
        if hello.nonce == self.own.nonce
            || self.distrusted.holds(hello.address, Some(hello.nonce), now)
        {
            return Some(Heard::Ignored);
        }
        if hello.fleet != self.own.fleet {
            let what = format!(
                "nodes of fleet {} are heard, this one is of fleet {}",
                hello.fleet, self.own.fleet
            );
            // Several fleets may share a network: nothing to report.
            self.conflict(ConflictKind::Fleet, what, now);
            return Some(Heard::Ignored);
        }
        let (kind, what) = if hello.node == self.own.node {
            let what = format!(
                "another node, at {}, is named {} like this one",
                hello.address, hello.node
            );
            (ConflictKind::Name, what)
        } else if hello.floors != self.own.floors {
            let (node, floors) = (&hello.node, hello.floors.get());
            let own = self.own.floors.get();
            let what = format!("node {node} has {floors} floors, this one {own}");
            (ConflictKind::Floors, what)
        } else if hello.protocol != self.own.protocol {
            let (node, protocol) = (&hello.node, hello.protocol);
            let own = self.own.protocol;
            let what = format!("node {node} elects by {protocol}, this one by {own}");
            (ConflictKind::Election, what)
        } else {
            if hello.address == self.own.address {
                let (node, address) = (&hello.node, hello.address);
                let what = format!("node {node} has the address {address} like this one");
                return self.conflict(ConflictKind::Address, what, now);
            }
            return None;
        };
        Some(self.conflict(kind, what, now).unwrap_or(Heard::Ignored))
    }

    /// Notes a conflict; hands it back when it is new, to be reported.
    fn conflict(&mut self, kind: ConflictKind, what: String, now: Timestamp) -> Option<Heard> {
        match self.conflicts.note(kind, &what, now) {
            Sighting::New => Some(Heard::Conflict(what)),
            Sighting::Known => None,
        }
    }

    fn life(&mut self, hello: &Hello, now: Timestamp) -> Option<&mut Peer> {
        if self.lives.len() >= MOST_LIVES && !self.lives.contains_key(&hello.nonce) {
            return None;
        }
        let met = || Peer::new(hello.clone(), self.times.beacon_period, now);
        Some(self.lives.entry(hello.nonce).or_insert_with(met))
    }

    fn counts(&self, hello: &Hello) -> bool {
        self.found.get(&hello.node) == Some(&hello.nonce)
    }

    /// When the latest beacon that is echoed here was sent, if that is recent.
    fn echo_sent_at(&self, echoes: &[Echo]) -> Option<Timestamp> {
        let echo = echoes.iter().find(|echo| echo.nonce == self.own.nonce)?;
        let at = self
            .sent
            .binary_search_by_key(&echo.sequence, |sent| sent.sequence)
            .ok()?;
        self.sent.get(at).map(|sent| sent.at)
    }

    fn prove(&mut self, hello: &Hello, now: Timestamp) -> Heard {
        let peer = self.lives.get(&hello.nonce);
        if peer.is_none_or(|peer| !self.shows(peer, now)) {
            return Heard::Unproven;
        }
        let before = self.found.get(&hello.node).copied();
        if before == Some(hello.nonce) {
            return Heard::Current {
                found: false,
                replaced: false,
            };
        }
        let rival = before.and_then(|nonce| self.lives.get(&nonce));
        if let Some(rival) = rival.filter(|rival| rival.hello.address != hello.address) {
            // Both live: the one that came first stays, so that neither takes over from the other.
            let (name, first, second) = (&hello.node, rival.hello.address, hello.address);
            let what = format!("two nodes are named {name}: one at {first}, one at {second}");
            let shown = self.conflict(ConflictKind::Name, what, now);
            return shown.unwrap_or(Heard::Unproven);
        }
        // One address has one process: the earlier life is over.
        if let Some(nonce) = before {
            self.lives.remove(&nonce);
        }
        self.found.insert(hello.node.clone(), hello.nonce);
        self.lost.remove(&hello.node);
        self.check_by(now);
        Heard::Current {
            found: true,
            replaced: before.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::FloorCount;

    use std::time::Duration;

    use super::*;
    use crate::model::{
        Availability, CarPhase, CarView, FleetName, FloorSet, JournalId, Mac, Role, Term,
        Unavailable,
    };
    use crate::wire::{News, Protocol, Standing};

    fn hello(node: &str, address: u8, nonce: u64) -> Hello {
        Hello {
            fleet: FleetName::new("test").expect("a name"),
            node: NodeId::new(node).expect("a name"),
            address: Ipv4Addr::new(127, 0, 0, address),
            nonce: Nonce(nonce),
            floors: FloorCount::new(4).expect("floors"),
            protocol: Protocol::LowestIp,
            mac: Mac::of(Ipv4Addr::new(127, 0, 0, address)),
            role: Role::Cabin,
        }
    }

    fn membership() -> Membership {
        Membership::new(hello("A", 1, 1), MeshTimes::default())
    }

    /// A connection in a node's name and address does not end the node's life; its next process,
    /// which hears this node, does, and so does one that comes after a silence.
    #[test]
    fn a_connection_alone_does_not_end_a_life() {
        let mut membership = membership();
        let mut now = Timestamp::START + Duration::from_secs(1);
        assert_eq!(
            membership.meet(&hello("B", 2, 7), LinkSide::Accepted, now),
            FOUND
        );
        membership.sent(1, MeshTimes::default().beacon_period, now);
        for life in 8..20 {
            assert_eq!(
                membership.meet(&hello("B", 2, life), LinkSide::Accepted, now),
                Heard::Unproven
            );
            let peer = membership.get(&hello("B", 2, 7).node).expect("it lives");
            assert_eq!(peer.hello.nonce, Nonce(7));
        }
        let next = Heard::Current {
            found: true,
            replaced: true,
        };
        let echoes = vec![Echo {
            nonce: Nonce(1),
            sequence: 1,
        }];
        let beacon = Beacon {
            hello: hello("B", 2, 20),
            link_port: 46_000,
            sequence: 1,
            standing: Standing::Seeking,
            term: Term(1),
            estimate: 0,
            digest: 0,
            durable: true,
            journal: JournalId(2),
            period: 25,
            probe: false,
            echoes,
            news: News::default(),
            letter: None,
        };
        assert_eq!(membership.hear(&beacon, now), next);
        now = now + MeshTimes::default().dead_after;
        assert_eq!(
            membership.meet(&hello("B", 2, 21), LinkSide::Accepted, now),
            next
        );
    }

    const FOUND: Heard = Heard::Current {
        found: true,
        replaced: false,
    };

    /// Two nodes with one name: told once, and the one that came first stays.
    #[test]
    fn a_second_node_of_one_name_does_not_take_the_place_of_the_first() {
        let mut members = membership();
        let now = Timestamp::START;
        assert_eq!(
            members.meet(&hello("B", 2, 2), LinkSide::Accepted, now),
            FOUND
        );
        let second = hello("B", 3, 3);
        assert!(matches!(
            members.meet(&second, LinkSide::Accepted, now),
            Heard::Conflict(_)
        ));
        assert_eq!(
            members.meet(&second, LinkSide::Accepted, now),
            Heard::Unproven,
            "told once"
        );
        let name = NodeId::new("B").expect("a name");
        let kept = members.get(&name).map(|peer| peer.hello.nonce);
        assert_eq!(kept, Some(Nonce(2)));
    }

    #[test]
    fn a_node_named_like_this_one_is_told_of_and_not_heard() {
        let mut members = membership();
        let twin = hello("A", 2, 2);
        assert!(matches!(
            members.meet(&twin, LinkSide::Accepted, Timestamp::START),
            Heard::Conflict(_)
        ));
        assert_eq!(
            members.meet(&twin, LinkSide::Accepted, Timestamp::START),
            Heard::Ignored
        );
        assert!(members.names().is_empty());
    }

    /// Two nodes with one address: told, and both are heard.
    #[test]
    fn a_node_at_this_ones_address_is_told_of_and_heard() {
        let mut members = membership();
        let neighbour = hello("B", 1, 2);
        assert!(matches!(
            members.meet(&neighbour, LinkSide::Accepted, Timestamp::START),
            Heard::Conflict(_)
        ));
        assert_eq!(
            members.meet(&neighbour, LinkSide::Accepted, Timestamp::START),
            FOUND
        );
    }

    fn peer_lost_at(members: &mut Membership, hello: &Hello, at: Timestamp) {
        members.meet(hello, LinkSide::Accepted, at);
        let after = at + MeshTimes::default().dead_after;
        let (gone, _) = members.check(after);
        assert_eq!(gone.as_slice(), std::slice::from_ref(&hello.node));
    }

    #[test]
    fn a_lost_peer_is_listed_until_it_comes_back_or_a_day_has_passed() {
        let mut members = membership();
        let names = |members: &Membership, now| -> Vec<String> {
            let recent = members.lost().recent(now);
            recent.map(|(name, _)| name.to_string()).collect()
        };
        let start = Timestamp::START;
        peer_lost_at(&mut members, &hello("B", 2, 2), start);
        let day = Duration::from_hours(24);
        assert_eq!(names(&members, start + day / 2), ["B"]);
        assert!(names(&members, start + day).is_empty());
        let now = start + day / 2;
        members.meet(&hello("B", 2, 3), LinkSide::Accepted, now);
        assert!(names(&members, now).is_empty(), "it is back");
    }

    #[test]
    fn a_lost_peer_whose_car_hung_is_told_from_a_silent_one() {
        let mut members = membership();
        let start = Timestamp::START;
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, start);
        members.meet(&hello("C", 3, 3), LinkSide::Accepted, start);
        let name = NodeId::new("B").expect("a name");
        let hung = CarView {
            availability: Availability::Unavailable(Unavailable::Hung),
            floor: None,
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            left_out: FloorSet::default(),
        };
        members.get_mut(&name).expect("met").car = Some((hung, start));
        let now = start + Duration::from_secs(1);
        members.check(now);
        let causes: Vec<_> = members
            .lost()
            .recent(now)
            .map(|(name, lost)| (name.as_str(), lost.cause))
            .collect();
        let expected = [("B", LossCause::Hung), ("C", LossCause::Silent)];
        assert_eq!(causes, expected);
    }

    #[test]
    fn the_first_of_too_many_lost_peers_makes_room() {
        let mut members = membership();
        let mut now = Timestamp::START;
        for number in 0..70_u8 {
            let name = format!("N{number}");
            peer_lost_at(
                &mut members,
                &hello(&name, 10 + number, 10 + u64::from(number)),
                now,
            );
            now = now + Duration::from_secs(1);
        }
        assert_eq!(members.lost().recent(now).count(), 64);
        let first = NodeId::new("N0").expect("a name");
        assert!(members.lost().recent(now).all(|(name, _)| *name != first));
    }

    /// Every way in which a node may not fit is listed while it shows, and reported once.
    #[test]
    fn conflicts_are_listed_while_they_show() {
        let mut members = membership();
        let own = hello("A", 1, 1);
        let now = Timestamp::START;
        let of_fleet = Hello {
            fleet: FleetName::new("other").expect("a name"),
            ..hello("B", 2, 2)
        };
        let of_floors = Hello {
            floors: FloorCount::new(9).expect("floors"),
            ..hello("C", 3, 3)
        };
        let of_election = Hello {
            protocol: Protocol::Bully,
            ..hello("D", 4, 4)
        };
        assert_eq!(
            members.meet(&of_fleet, LinkSide::Accepted, now),
            Heard::Ignored
        );
        for stranger in [
            of_floors,
            of_election,
            hello("A", 5, 5),
            Hello {
                address: own.address,
                ..hello("E", 1, 6)
            },
        ] {
            assert!(matches!(
                members.meet(&stranger, LinkSide::Accepted, now),
                Heard::Conflict(_)
            ));
        }
        let version =
            |members: &mut Membership| members.hear_version(Ipv4Addr::new(127, 0, 0, 7), 9, now);
        assert!(matches!(version(&mut members), Some(Heard::Conflict(_))));
        assert_eq!(version(&mut members), None, "reported once");
        let listed: Vec<_> = members
            .conflicts()
            .recent(now)
            .map(|(_, c)| c.kind)
            .collect();
        for kind in [
            ConflictKind::Name,
            ConflictKind::Address,
            ConflictKind::Floors,
            ConflictKind::Election,
            ConflictKind::Version,
            ConflictKind::Fleet,
        ] {
            assert!(listed.contains(&kind), "{kind:?}");
        }
        let later = now + Duration::from_mins(1);
        assert_eq!(members.conflicts().recent(later).count(), 0);
    }

    #[test]
    fn a_flood_of_strangers_is_not_listed_in_full() {
        let mut members = membership();
        for number in 0..200_u8 {
            members.hear_version(Ipv4Addr::new(10, 0, 0, number), 2, Timestamp::START);
        }
        assert_eq!(members.conflicts().recent(Timestamp::START).count(), 16);
    }

    /// A letter is taken in once, in whatever order the beacons arrive.
    #[test]
    fn of_each_beacon_it_is_known_whether_it_was_heard_before() {
        let mut members = membership();
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, Timestamp::START);
        let name = NodeId::new("B").expect("a name");
        let peer = members.get_mut(&name).expect("met");
        let sequences = [1, 3, 2, 2, 3, 1, 70, 6, 7, 7, 69, 200, 135, 137];
        let firsts = sequences.map(|at| match peer.mark(at, Timestamp::START) {
            Order::Latest => true,
            Order::Overtaken { first } => first,
            Order::Impossible => panic!("{at}"),
        });
        let expected = [
            true, true, true, false, false, false, true, false, true, false, true, true, false,
            true,
        ];
        assert_eq!(firsts, expected, "6 and 135 are too old to tell");
    }

    /// One forged datagram must not make all of the peer's own beacons stale.
    #[test]
    fn a_beacon_that_no_node_can_have_reached_is_not_taken_in() {
        let mut members = membership();
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, Timestamp::START);
        let name = NodeId::new("B").expect("a name");
        let peer = members.get_mut(&name).expect("met");
        let mut now = Timestamp::START;
        let mut sequence = 40_000_000;
        // However long it has run: the first one that is heard counts.
        assert_eq!(peer.mark(sequence, now), Order::Latest);
        for forged in [u64::MAX, sequence + 100_000, u64::MAX - 1] {
            now = now + Duration::from_millis(25);
            assert_eq!(peer.mark(forged, now), Order::Impossible);
            sequence += 1;
            assert_eq!(peer.mark(sequence, now), Order::Latest);
        }
        // This node was suspended for an hour, and its clock with it, or not.
        for ahead in 1..4 {
            now = now + Duration::from_millis(25);
            let order = peer.mark(sequence + 3_600 * 40 + ahead, now);
            assert_eq!(order, Order::Impossible);
        }
        now = now + Duration::from_millis(25);
        sequence += 3_600 * 40 + 4;
        assert_eq!(peer.mark(sequence, now), Order::Latest);
        now = now + Duration::from_hours(1);
        assert_eq!(peer.mark(sequence + 3_600 * 40, now), Order::Latest);
    }

    /// A forged beacon within the window, or one that arrives first, delays the view briefly.
    #[test]
    fn a_peer_that_goes_on_below_its_latest_beacon_has_not_sent_that_one() {
        let mut members = membership();
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, Timestamp::START);
        let name = NodeId::new("B").expect("a name");
        let peer = members.get_mut(&name).expect("met");
        let mut now = Timestamp::START;
        assert_eq!(peer.mark(u64::MAX, now), Order::Latest);
        let mut marks = Vec::new();
        for sequence in 100..110 {
            now = now + Duration::from_millis(25);
            marks.push(peer.mark(sequence, now));
        }
        let held_up = marks.iter().take_while(|mark| **mark != Order::Latest);
        assert_eq!(held_up.count(), 3);
        assert!(marks[3..].iter().all(|mark| *mark == Order::Latest));
    }

    /// Reordering must not look like that.
    #[test]
    fn a_burst_of_late_beacons_is_overtaken() {
        let mut members = membership();
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, Timestamp::START);
        let name = NodeId::new("B").expect("a name");
        let peer = members.get_mut(&name).expect("met");
        let now = Timestamp::START;
        peer.mark(40, now);
        for sequence in 10..30 {
            let order = peer.mark(sequence, now + Duration::from_millis(sequence));
            assert!(matches!(order, Order::Overtaken { .. }), "{sequence}");
        }
        assert_eq!(
            peer.mark(41, now + Duration::from_millis(30)),
            Order::Latest
        );
    }

    /// One address has one process: the later life ends the earlier.
    #[test]
    fn a_restarted_node_takes_the_place_of_its_former_life() {
        let mut members = membership();
        let now = Timestamp::START;
        members.meet(&hello("B", 2, 2), LinkSide::Accepted, now);
        let again = Heard::Current {
            found: true,
            replaced: true,
        };
        let dialled = members.meet(&hello("B", 2, 3), LinkSide::Dialled, now);
        assert_eq!(dialled, again);
        assert_eq!(members.peers().count(), 1);
    }
}
