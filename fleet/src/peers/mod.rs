//! The other nodes: membership, links and beacons.
//!
//! ```text
//!   beacon, handshake, answer ─▶ Membership ──▶ Heard, lost peers, probes, echoes
//!                                    │
//!   link up, link down ──▶ Links ◀───┴──▶ Pairing ──▶ whom to dial
//!
//!   Facts of this node ──▶ BeaconClock ──▶ Beacon
//! ```
//!
//! It knows no order and no election.

mod beacon;
mod links;
mod membership;
mod pairing;

use core::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::Building;

use self::beacon::BeaconClock;
use self::membership::pace;
use self::pairing::{Known, Pairing};
use crate::election::{LinkRule, LinkSide, redial};
use crate::model::{CarView, Hello, MeshTimes, NodeId, NodeState, Term, Timestamp};
use crate::wire::LinkId;

pub(crate) use links::Links;
pub use membership::{BeaconFate, ConflictKind, LossCause, misfit, unreadable};
pub(crate) use membership::{Heard, Membership};
pub(crate) use pairing::Due;

/// How long a master tolerates a peer that claims to be its slave without a link.
const CLAIM_LIMIT: Duration = Duration::from_secs(1);

/// With standby links a slave may follow before it has a link, and gives up after
/// [`redial::limit`]. A master tolerates that for a quarter more: beacons that say that it has
/// given up may be lost.
const CLAIM_MARGIN: u32 = 4;

/// How long a master keeps a link that does not fit the announced state of its peer.
const MISFIT_LIMIT: Duration = Duration::from_secs(2);

/// The longest time that a difference of stores lasts before it is repaired again.
const MOST_REPAIR_WAIT: Duration = Duration::from_mins(1);

/// How often the wait for a repair is doubled at most while the peer's store keeps changing.
const REPAIRS_OF_A_CHANGE: u32 = 4;

/// How many packets arrived on a protocol's own port since the start (V8, V12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PacketCounts {
    /// Answers from devices that are not nodes.
    pub(crate) device_answers: u64,
    /// Other packets from senders that may not send them; dropped (V12).
    pub(crate) strange: u64,
    /// Bytes that are not a packet; dropped.
    pub(crate) malformed: u64,
}

#[derive(Debug)]
pub(crate) struct Peers {
    own: Hello,
    link_port: u16,
    times: MeshTimes,
    rule: LinkRule,
    pub(crate) membership: Membership,
    pub(crate) links: Links,
    /// Which peers to dial; nobody if links follow the election.
    pub(crate) pairing: Pairing,
    clock: BeaconClock,
    pub(crate) packets: PacketCounts,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Facts {
    pub(crate) node_state: NodeState,
    pub(crate) term: Term,
    /// The term of the node's latest mastership.
    pub(crate) led: Term,
    pub(crate) estimate: u32,
    pub(crate) digest: u64,
    pub(crate) power: u64,
    /// Whether the whole store is on disk.
    pub(crate) durable: bool,
    pub(crate) car: Option<CarView>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Leads,
    FollowsThisNode,
    FollowsAnother,
    /// It has not told its state yet.
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Addressee {
    Everybody,
    One(Ipv4Addr),
    /// The addressee is not heard.
    Nobody,
}

impl Peers {
    pub(crate) fn new(
        own: Hello,
        building: Arc<Building>,
        link_port: u16,
        times: MeshTimes,
        rule: LinkRule,
    ) -> Self {
        Self {
            pairing: Pairing::new(rule, own.address, own.node.clone(), times.redial_after),
            membership: Membership::new(own.clone(), building, times),
            own,
            link_port,
            times,
            rule,
            links: Links::default(),
            clock: BeaconClock::default(),
            packets: PacketCounts::default(),
        }
    }

    /// Whether the node dials peers by itself, and not because the election wants it.
    pub(crate) fn keeps_links(&self) -> bool {
        self.rule != LinkRule::FollowState
    }

    /// Whether orders are exchanged with a peer: over a synced link, or before the first one.
    pub(crate) fn exchanges_orders(&self, peer: &NodeId) -> bool {
        self.links.is_synced(peer) || self.pairing.believes(peer)
    }

    /// What the links and the plan depend on in the state of a peer, under [`LinkRule::Standby`].
    pub(crate) fn relation(&self, state: &NodeState) -> Option<Relation> {
        (self.rule == LinkRule::Standby).then(|| match state {
            NodeState::Master => Relation::Leads,
            NodeState::Slave { master } if *master == self.own.node => Relation::FollowsThisNode,
            NodeState::Slave { .. } => Relation::FollowsAnother,
            NodeState::Seeking => Relation::Unknown,
        })
    }

    /// Updates the choice of links, if necessary. `follows` is this node's master.
    pub(crate) fn choose_links(&mut self, follows: Option<&NodeId>) {
        if !self.pairing.is_stale() {
            return;
        }
        let peers = self.membership.peers().map(|(name, peer)| Known {
            rank: (peer.hello.address, name),
            leads: peer.node_state == NodeState::Master,
        });
        self.pairing.choose(peers, follows);
    }

    /// Whether a link that this node has opened is one that it keeps.
    pub(crate) fn wants_link(&self, peer: &NodeId) -> bool {
        !self.keeps_links() || self.pairing.dials(peer)
    }

    pub(crate) fn link_address(&self, peer: &NodeId) -> Option<SocketAddrV4> {
        let known = self.membership.get(peer)?;
        Some(SocketAddrV4::new(known.hello.address, known.link_port))
    }

    pub(crate) fn addressee(&self, to: Option<&NodeId>) -> Addressee {
        match to {
            None => Addressee::Everybody,
            Some(to) => {
                let known = self.membership.get(to);
                known.map_or(Addressee::Nobody, |peer| Addressee::One(peer.hello.address))
            }
        }
    }

    /// A peer has answered the oldest probe over this link: it was alive when that was sent.
    pub(crate) fn note_answer(&mut self, link: LinkId, now: Timestamp) {
        if let Some(at) = self.links.answered(link)
            && let Some(known) = self.links.get(link)
        {
            self.membership.alive(&known.peer, at, now);
        }
    }

    pub(crate) fn find(&mut self, hello: &Hello) {
        if let Some(peer) = self.membership.get_mut(&hello.node) {
            peer.vouched = None;
        }
        self.pairing.found(hello.address, &hello.node);
        self.hurry();
    }

    /// A peer is lost; returns its link, which is now closed.
    pub(crate) fn lose(&mut self, peer: &NodeId) -> Option<LinkId> {
        let link = self.links.to(peer);
        if let Some(link) = link {
            self.links.close(link);
        }
        self.pairing.lost(peer);
        link
    }

    /// Opens a link over which the peer gets this digest; returns the link that it replaces.
    pub(crate) fn open_link(
        &mut self,
        link: LinkId,
        peer: &NodeId,
        side: LinkSide,
        sent: u64,
        now: Timestamp,
    ) -> Option<LinkId> {
        let before = self.links.open(link, peer.clone(), side, sent);
        self.link_has_changed(peer);
        self.pairing.opened(peer, now);
        before
    }

    pub(crate) fn close_link(&mut self, link: LinkId) -> Option<NodeId> {
        let peer = self.links.close(link)?.peer;
        self.link_has_changed(&peer);
        Some(peer)
    }

    /// Restarts the time in which a peer's announced state has to fit the links.
    fn link_has_changed(&mut self, peer: &NodeId) {
        if let Some(known) = self.membership.get_mut(peer) {
            known.disputed_since = None;
        }
    }

    /// As master, if this node `leads`: compares a peer's announced state with the links, as the
    /// close of a link may have been lost (E1). Returns the link to close.
    ///
    /// A peer that keeps calling itself a slave without a link is not echoed until it notices: it
    /// loses its master and joins again. Without standby links, a link is closed whose peer follows
    /// another master, or follows this one and does not get synced.
    pub(crate) fn reconcile(
        &mut self,
        peer: &NodeId,
        says: &NodeState,
        leads: bool,
        now: Timestamp,
    ) -> Option<LinkId> {
        let follows = matches!(says, NodeState::Slave { master } if *master == self.own.node);
        let link = self.links.to(peer);
        let claims = leads && follows && link.is_none();
        let (is_misfit, limit) = match self.rule {
            LinkRule::FollowState => (self.links.is_synced(peer) != follows, CLAIM_LIMIT),
            LinkRule::Standby => {
                let given_up = redial::limit(self.times.redial_after);
                (false, given_up + given_up / CLAIM_MARGIN)
            }
            LinkRule::EveryPair => return None,
        };
        let misfit = leads && link.is_some() && is_misfit;
        let known = self.membership.get_mut(peer)?;
        if !claims && !misfit {
            known.disputed_since = None;
            known.unechoed = false;
            return None;
        }
        let stood = now.since(*known.disputed_since.get_or_insert(now));
        known.unechoed = claims && stood >= limit;
        link.filter(|_| misfit && stood >= MISFIT_LIMIT)
    }

    /// The stores of a peer and this node are equal, with this digest, and the peer's is on its
    /// disk or not; `true` if that is new.
    pub(crate) fn note_equal(&mut self, peer: &NodeId, digest: u64, durable: bool) -> bool {
        let Some(peer) = self.membership.get_mut(peer) else { return false };
        (peer.differs_since, peer.repairs) = (None, 0);
        let vouched = Some((digest, durable));
        std::mem::replace(&mut peer.vouched, vouched) != vouched
    }

    /// The stores of a peer and this node differ; whether that has lasted long enough for a repair
    /// (O7). Each repair doubles the wait, as stores stay different if one refuses what the other
    /// holds. The fewer beacons a peer sends, the older is their information.
    pub(crate) fn is_repair_due(&mut self, peer: &NodeId, now: Timestamp) -> bool {
        let Some(peer) = self.membership.get_mut(peer) else { return false };
        let since = *peer.differs_since.get_or_insert(now);
        let usual = pace::stretched(self.times.repair_after, peer.period, &self.times);
        let doubled = usual.saturating_mul(1 << peer.repairs.min(16));
        now.since(since) >= doubled.min(usual.max(MOST_REPAIR_WAIT))
    }

    pub(crate) fn note_repair(&mut self, peer: &NodeId, digest: u64, now: Timestamp) {
        if let Some(peer) = self.membership.get_mut(peer) {
            peer.differs_since = Some(now);
            let is_same = peer.repaired.replace(digest) == Some(digest);
            let most = if is_same { u32::MAX } else { REPAIRS_OF_A_CHANGE };
            peer.repairs = peer.repairs.saturating_add(1).min(most);
        }
    }
}
