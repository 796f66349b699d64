use std::collections::{BTreeMap, VecDeque};

use crate::election::LinkSide;
use crate::model::{NodeId, Timestamp};
use crate::wire::LinkId;

/// The most probes under way over a link. More would only wait behind these.
const MOST_PROBES: usize = 128;

/// The open links; at most one to each peer.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    links: BTreeMap<LinkId, Link>,
    by_peer: BTreeMap<NodeId, LinkId>,
}

#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) peer: NodeId,
    pub(crate) side: LinkSide,
    /// The digest of this node's store as sent to the peer, until the peer's has arrived. Both ends
    /// compare these two, so that they agree on the result even though stores change.
    sent: Option<u64>,
    state_received: bool,
    /// The peer has received this node's state.
    state_delivered: bool,
    /// When the probes were sent that the peer has not answered, the oldest first.
    probes: VecDeque<Timestamp>,
}

impl Link {
    /// Full states have been exchanged (F14).
    pub(super) fn is_synced(&self) -> bool {
        self.state_received && self.state_delivered
    }
}

impl Links {
    /// Opens a link; returns the link to the same peer that it replaces, if any.
    pub(super) fn open(
        &mut self,
        id: LinkId,
        peer: NodeId,
        side: LinkSide,
        sent: u64,
    ) -> Option<LinkId> {
        let before = self.by_peer.insert(peer.clone(), id);
        if let Some(before) = before {
            self.links.remove(&before);
        }
        let link = Link {
            peer,
            side,
            sent: Some(sent),
            state_received: false,
            state_delivered: false,
            probes: VecDeque::new(),
        };
        self.links.insert(id, link);
        before
    }

    pub(super) fn close(&mut self, id: LinkId) -> Option<Link> {
        let link = self.links.remove(&id)?;
        self.by_peer.remove(&link.peer);
        Some(link)
    }

    pub(crate) fn get(&self, id: LinkId) -> Option<&Link> {
        self.links.get(&id)
    }

    /// Compares the peer's digest with the one sent to it; `None` if that was done before.
    pub(crate) fn equals(&mut self, id: LinkId, digest: u64) -> Option<bool> {
        let sent = self.links.get_mut(&id)?.sent.take()?;
        Some(sent == digest)
    }

    pub(crate) fn to(&self, peer: &NodeId) -> Option<LinkId> {
        self.by_peer.get(peer).copied()
    }

    pub(crate) fn all_but(&self, peer: &NodeId) -> Vec<LinkId> {
        self.links.iter().filter(|(_, link)| link.peer != *peer).map(|(id, _)| *id).collect()
    }

    /// The links over which full states have been exchanged.
    pub(crate) fn synced(&self) -> impl Iterator<Item = (LinkId, &NodeId)> {
        self.links.iter().filter(|(_, link)| link.is_synced()).map(|(id, link)| (*id, &link.peer))
    }

    pub(crate) fn is_synced(&self, peer: &NodeId) -> bool {
        let link = self.to(peer).and_then(|id| self.get(id));
        link.is_some_and(Link::is_synced)
    }

    /// A probe is sent to a peer; returns the link to it, unless too many are under way there.
    pub(crate) fn probe(&mut self, peer: &NodeId, now: Timestamp) -> Option<LinkId> {
        let id = self.to(peer)?;
        let probes = &mut self.links.get_mut(&id)?.probes;
        if probes.len() >= MOST_PROBES {
            return None;
        }
        probes.push_back(now);
        Some(id)
    }

    /// The peer has answered the oldest probe, as frames keep their order; when that was sent.
    pub(super) fn answered(&mut self, id: LinkId) -> Option<Timestamp> {
        self.links.get_mut(&id)?.probes.pop_front()
    }

    /// The peer's state has arrived; whether with this frame full states have been exchanged.
    pub(crate) fn state_received(&mut self, id: LinkId) -> bool {
        self.advance(id, |link| link.state_received = true)
    }

    /// The peer has received this node's state; whether with this frame full states have been
    /// exchanged.
    pub(crate) fn state_delivered(&mut self, id: LinkId) -> bool {
        self.advance(id, |link| link.state_delivered = true)
    }

    fn advance(&mut self, id: LinkId, step: impl FnOnce(&mut Link)) -> bool {
        let Some(link) = self.links.get_mut(&id).filter(|link| !link.is_synced()) else {
            return false;
        };
        step(link);
        link.is_synced()
    }
}
