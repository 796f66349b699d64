//! The other nodes: who is heard, the links to them, and the beacons to everybody.
//!
//! ```text
//!   beacon, handshake, frame ──▶ Membership ──▶ Heard, lost peers, probes, echoes
//!                                    │
//!   link up, link down ──▶ Links ◀───┴──▶ Pairing ──▶ whom to dial
//!
//!   Facts of this node ──▶ BeaconClock ──▶ Beacon
//! ```
//!
//! It knows no order and no election: what a beacon tells of them comes in as [`Facts`], and what a
//! lost peer or a broken link means is for others to say.

mod beacon;
mod comparison;
mod distrusted;
mod links;
mod membership;
mod packets;
mod pairing;
mod sightings;

use core::net::{Ipv4Addr, SocketAddrV4};
use std::time::Duration;

use self::beacon::BeaconClock;
use self::pairing::Pairing;
use super::{LinkId, LinkSide, MeshTimes};
use crate::election::LinkRule;
use crate::model::{CarView, JournalId, NodeId, Term, Timestamp};
use crate::wire::{Beacon, Hello, NodeState};

#[cfg(test)]
pub(super) use beacon::{MOST_ECHOES, STRANGERS_ECHOED};

pub(super) use beacon::Room;
pub(super) use comparison::Difference;
pub(super) use distrusted::Offence;
pub(super) use links::{Handshake, Links, accepts};
pub use membership::{ConflictKind, LossCause};
pub(super) use membership::{Heard, Membership};
pub use packets::PacketCounts;
pub(super) use packets::PacketKind;
pub(super) use pairing::Due;

/// How long a master tolerates a peer that claims to be its slave without a link.
const CLAIM_LIMIT: Duration = Duration::from_secs(1);

/// How long a master keeps a link that does not fit the state that its peer announces: longer
/// than the peer waits for such a link to carry.
const MISFIT_LIMIT: Duration = Duration::from_secs(2);

/// The other nodes, as this one hears them.
#[derive(Debug)]
pub(super) struct Peers {
    own: Hello,
    link_port: u16,
    times: MeshTimes,
    membership: Membership,
    links: Links,
    /// Who is dialled, where links don't follow the election.
    pairing: Option<Pairing>,
    clock: BeaconClock,
    packets: PacketCounts,
}

/// What a beacon tells beside who sends it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Facts {
    pub(super) node_state: NodeState,
    pub(super) term: Term,
    pub(super) estimate: u32,
    /// Of the order store.
    pub(super) digest: u64,
    /// All of the store is on disk.
    pub(super) durable: bool,
    /// Under which orders are placed.
    pub(super) journal: JournalId,
    pub(super) car: Option<CarView>,
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Addressee {
    Everybody,
    One(Ipv4Addr),
    /// It is meant for a node that is not heard.
    Nobody,
}

impl Peers {
    pub(super) fn new(own: Hello, link_port: u16, times: MeshTimes, rule: LinkRule) -> Self {
        let pairing = match rule {
            LinkRule::FollowState => None,
            LinkRule::EveryPair => {
                Some(Pairing::new(own.address, own.node.clone(), times.redial_after))
            }
        };
        Self {
            membership: Membership::new(own.clone(), times),
            own,
            link_port,
            times,
            links: Links::default(),
            pairing,
            clock: BeaconClock::default(),
            packets: PacketCounts::default(),
        }
    }

    /// Who is heard.
    pub(super) fn members(&self) -> &Membership {
        &self.membership
    }

    /// The links that stand.
    pub(super) fn links(&self) -> &Links {
        &self.links
    }

    /// Whether each pair of nodes keeps a link, so that this node dials some by itself.
    pub(super) fn keeps_every_link(&self) -> bool {
        self.pairing.is_some()
    }

    /// Where a peer takes links.
    pub(super) fn link_address(&self, peer: &NodeId) -> Option<SocketAddrV4> {
        let known = self.membership.get(peer)?;
        Some(SocketAddrV4::new(known.hello.address, known.link_port))
    }

    /// Where a message to this node, or to all, goes.
    pub(super) fn addressee(&self, to: Option<&NodeId>) -> Addressee {
        match to {
            None => Addressee::Everybody,
            Some(to) => {
                let known = self.membership.get(to);
                known.map_or(Addressee::Nobody, |peer| Addressee::One(peer.hello.address))
            }
        }
    }

    /// A beacon has arrived.
    pub(super) fn hear(&mut self, beacon: &Beacon, now: Timestamp) -> Heard {
        self.membership.hear(beacon, now)
    }

    /// A datagram of another version of the wire protocol has arrived; hands back what is to be
    /// reported.
    pub(super) fn hear_version(
        &mut self,
        from: Ipv4Addr,
        version: u8,
        now: Timestamp,
    ) -> Option<String> {
        match self.membership.hear_version(from, version, now)? {
            Heard::Conflict(what) => Some(what),
            Heard::Ignored | Heard::Unproven | Heard::Reordered { .. } | Heard::Current { .. } => {
                None
            }
        }
    }

    /// A node has shaken hands over a link, which need not be kept.
    pub(super) fn meet(&mut self, hello: &Hello, side: LinkSide, now: Timestamp) -> Heard {
        self.membership.meet(hello, side, now)
    }

    /// A frame of a peer has arrived over its link.
    pub(super) fn note_alive(&mut self, peer: &NodeId, now: Timestamp) {
        self.membership.alive(peer, now);
    }

    /// What a peer tells of its car; `true` if that is more than the time that has passed.
    pub(super) fn note_car(&mut self, peer: &NodeId, view: CarView, now: Timestamp) -> bool {
        let Some(known) = self.membership.get_mut(peer) else {
            return false;
        };
        known.sightings.note(&view, now);
        let before = known.car.replace((view, now)).map(|(before, _)| before);
        before.is_none_or(|before| {
            let seen = |view: CarView| {
                (view.phase, view.floor, view.availability, view.direction, view.locked_out)
            };
            seen(before) != seen(view)
        })
    }

    /// This node did not run for `late`, until this moment.
    pub(super) fn excuse_silence(&mut self, late: Duration, now: Timestamp) {
        self.membership.excuse_silence(late, now);
    }

    /// This node's loop woke so much later than it meant to.
    pub(super) fn note_delay(&mut self, late: Duration, now: Timestamp) {
        self.membership.note_delay(late, now);
    }

    /// When [`check`](Self::check) may have work.
    pub(super) fn next_check(&self) -> Option<Timestamp> {
        self.membership.next_check()
    }

    /// The peers that are lost from here on, of each of which [`lose`](Self::lose) is to be told,
    /// and those to be probed.
    pub(super) fn check(&mut self, now: Timestamp) -> (Vec<NodeId>, Vec<(NodeId, Ipv4Addr)>) {
        self.membership.check(now)
    }

    /// A peer counts from here on.
    pub(super) fn find(&mut self, hello: &Hello) {
        if let Some(peer) = self.membership.get_mut(&hello.node) {
            peer.comparison.forget_equal();
        }
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.found(hello.address, &hello.node);
        }
        self.clock.hurry();
    }

    /// A peer is lost; hands back the link to it, which is gone.
    pub(super) fn lose(&mut self, peer: &NodeId) -> Option<LinkId> {
        let link = self.links.to(peer);
        if let Some(link) = link {
            self.links.close(link);
        }
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.lost(peer);
        }
        link
    }

    /// Takes a peer for gone; hands back for how long. It is lost.
    pub(super) fn distrust(
        &mut self,
        peer: &NodeId,
        offence: Offence,
        now: Timestamp,
    ) -> Option<Duration> {
        self.membership.distrust(peer, offence, now)
    }

    /// A link stands, over which the peer is told this digest; hands back the link that it replaces.
    pub(super) fn open_link(
        &mut self,
        link: LinkId,
        peer: &NodeId,
        side: LinkSide,
        told: u64,
        now: Timestamp,
    ) -> Option<LinkId> {
        let before = self.links.open(link, peer.clone(), side, told);
        self.link_has_changed(peer);
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.opened(peer, now);
        }
        before
    }

    /// A link is gone; hands back whose it was.
    pub(super) fn close_link(&mut self, link: LinkId) -> Option<NodeId> {
        let peer = self.links.close(link)?.peer;
        self.link_has_changed(&peer);
        Some(peer)
    }

    /// What a peer says of its state has its time anew to fit the links that there are.
    fn link_has_changed(&mut self, peer: &NodeId) {
        if let Some(known) = self.membership.get_mut(peer) {
            known.disputed_since = None;
        }
    }

    /// The peer's digest has come: whether it equals what the peer was told, or `None` if that has
    /// been settled before.
    pub(super) fn compare_digests(&mut self, link: LinkId, digest: u64) -> Option<bool> {
        self.links.equals(link, digest)
    }

    /// The peer's state has been taken in.
    pub(super) fn state_received(&mut self, link: LinkId) -> Handshake {
        self.links.state_received(link)
    }

    /// The peer has taken this node's state in.
    pub(super) fn state_delivered(&mut self, link: LinkId) -> Handshake {
        self.links.state_delivered(link)
    }

    /// Full states have been exchanged with a peer.
    pub(super) fn note_synced(&mut self, peer: &NodeId) {
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.synced(peer);
        }
    }

    /// Where each pair of nodes keeps a link: it is gone, or could not be made. `draw` is a random
    /// number.
    pub(super) fn redial_later(&mut self, peer: &NodeId, draw: u64, now: Timestamp) {
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.disconnected(peer, draw, now);
        }
    }

    /// When [`due_dials`](Self::due_dials) may have something.
    pub(super) fn next_dial(&self) -> Option<Timestamp> {
        self.pairing.as_ref().and_then(Pairing::next)
    }

    /// Who is to be dialled, and whose link is to be given up (C6).
    pub(super) fn due_dials(&mut self, now: Timestamp) -> Vec<Due> {
        let due = self.pairing.as_mut().map(|pairing| pairing.due(now));
        due.unwrap_or_default()
    }

    /// As master over links that follow the states, or not (`leads`): holds what a peer says of
    /// its state against the links that there are. A link may have ended at one end only, its
    /// close being lost (E1). Hands back the link that is to be closed.
    ///
    /// A peer that goes on calling itself a slave over a link that is not there is not echoed
    /// until it has noticed: it loses its master, and joins anew. A link to a peer that goes on
    /// following somebody else is closed, and so is one whose peer follows while the last frame of
    /// the exchange of states does not arrive.
    pub(super) fn reconcile(
        &mut self,
        peer: &NodeId,
        says: &NodeState,
        leads: bool,
        now: Timestamp,
    ) -> Option<LinkId> {
        let follows = matches!(says, NodeState::Slave { master } if *master == self.own.node);
        let link = self.links.to(peer);
        let claims = leads && follows && link.is_none();
        let misfit = leads && link.is_some() && self.links.is_synced(peer) != follows;
        let known = self.membership.get_mut(peer)?;
        if !claims && !misfit {
            known.disputed_since = None;
            known.unechoed = false;
            return None;
        }
        let stood = now.since(*known.disputed_since.get_or_insert(now));
        known.unechoed = claims && stood >= CLAIM_LIMIT;
        link.filter(|_| misfit && stood >= MISFIT_LIMIT)
    }

    /// The peer's store has this digest, like this node's, and may be on its disk. Hands back
    /// whether it shows that for the first time, or `None` if there is no such peer.
    pub(super) fn note_equal(&mut self, peer: &NodeId, digest: u64, durable: bool) -> Option<bool> {
        let peer = self.membership.get_mut(peer)?;
        Some(peer.comparison.note_equal(digest, durable))
    }

    /// The peer's store differs from this node's.
    pub(super) fn note_difference(&mut self, peer: &NodeId, now: Timestamp) -> Option<Difference> {
        let peer = self.membership.get_mut(peer)?;
        Some(peer.comparison.note_difference(peer.period, &self.times, now))
    }

    /// The difference to the peer's store, which has this digest, is repaired.
    pub(super) fn note_repair(&mut self, peer: &NodeId, digest: u64, now: Timestamp) {
        if let Some(peer) = self.membership.get_mut(peer) {
            peer.comparison.note_repair(digest, now);
        }
    }

    /// What has come by packet since the start.
    pub(super) fn packet_counts(&self) -> PacketCounts {
        self.packets
    }

    /// A packet has arrived.
    pub(super) fn count_packet(&mut self, kind: PacketKind) {
        self.packets.count(kind);
    }
}

#[cfg(test)]
impl Peers {
    pub(super) fn echoes(&mut self) -> Vec<crate::wire::Echo> {
        self.membership.echoes(MOST_ECHOES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::name;
    use crate::node::tests::node;

    fn peers(index: u8) -> Peers {
        let (hello, times) = (node(index, 1).hello().clone(), MeshTimes::default());
        Peers::new(hello, 46_000, times, LinkRule::FollowState)
    }

    fn facts(node_state: NodeState) -> Facts {
        Facts {
            node_state,
            term: Term(1),
            estimate: 0,
            digest: 0,
            durable: true,
            journal: JournalId(1),
            car: None,
        }
    }

    /// E1: a slave may call itself one over a link that its master does not have.
    #[test]
    fn a_peer_whose_claim_fits_no_link_is_not_echoed() {
        let (mut master, mut slave) = (peers(1), peers(2));
        let claim = NodeState::Slave { master: name(1) };
        let (mut now, mut echoed) = (Timestamp::START, Vec::new());
        for _ in 0..60 {
            let beacon = master.broadcast(facts(NodeState::Master), true, now);
            slave.hear(&beacon, now);
            echoed.push(!beacon.echoes.is_empty());
            let beacon = slave.broadcast(facts(claim.clone()), false, now);
            if master.hear(&beacon, now).is_first() {
                let link = master.reconcile(&name(2), &claim, true, now);
                assert_eq!(link, None, "there is none to close");
            }
            now = now + MeshTimes::default().beacon_period;
        }
        assert!(master.members().get(&name(2)).is_some());
        let until = echoed.iter().rposition(|echoed| *echoed).expect("echoed");
        assert!((40..50).contains(&until), "{until}");
    }
}
