//! Peers that come and go, and the links to them.

use core::net::SocketAddrV4;
use std::time::Duration;

use super::membership::Heard;
use super::pairing::Due;
use super::{Action, LinkId, Node, Report};
use crate::election::{Input, LinkRule};
use crate::model::{Dot, NodeId, Timestamp};
use crate::wire::{Frame, Hello, News, PlanEntry, Standing};

/// For so long a master lets a peer call itself its slave over a link that it does not have.
const CLAIM_LIMIT: Duration = Duration::from_secs(1);

/// For so long a master keeps a link that does not fit what its peer says of its standing: longer
/// than the peer waits for such a link to carry.
const MISFIT_LIMIT: Duration = Duration::from_secs(2);

impl Node {
    pub(super) fn take_heard(&mut self, verdict: &Heard, hello: &Hello, now: Timestamp) -> Trust {
        match verdict {
            Heard::Ignored | Heard::Unproven => Trust::None,
            Heard::Overtaken { .. } => Trust::Orders,
            Heard::Conflict(what) => {
                self.report(Report::Conflict(what.clone()));
                Trust::None
            }
            Heard::Current { found, replaced } => {
                if *replaced {
                    self.lose(&hello.node, now);
                }
                if *found {
                    self.find(hello);
                }
                Trust::Full
            }
        }
    }

    pub(super) fn find(&mut self, hello: &Hello) {
        let node = hello.node.clone();
        let open: Vec<Dot> = self.orders.orders().map(|order| order.dot).collect();
        self.replication.found(&node, open.into_iter());
        if let Some(peer) = self.membership.get_mut(&node) {
            peer.vouched = None;
        }
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.found(hello.address, &node);
        }
        self.report(Report::PeerFound {
            node,
            address: hello.address,
        });
        self.clock.hurry();
        self.stale.promise = true;
    }

    pub(super) fn lose(&mut self, peer: &NodeId, now: Timestamp) {
        if let Some(link) = self.links.to(peer) {
            self.links.close(link);
            self.actions.push_back(Action::Close(link));
        }
        if let Some(pairing) = self.pairing.as_mut() {
            pairing.lost(peer);
        }
        self.replication.lost(peer);
        self.refusals.lost(peer);
        self.contested.lost(peer);
        self.promise.forget_node(peer);
        self.report(Report::PeerLost { node: peer.clone() });
        self.elect(Input::Lost { peer }, now);
        self.stale.promise = true;
        self.dispatching.invalidate();
    }

    /// As master: holds what a peer says of its standing against the links that there are. A link
    /// may have ended at one end only, its close being lost (E1).
    ///
    /// A peer that goes on calling itself a slave over a link that is not there is not echoed
    /// until it has noticed: it loses its master, and joins anew. A link to a peer that goes on
    /// following somebody else is closed, and so is one whose peer follows while the last frame of
    /// the exchange of states does not arrive.
    pub(super) fn reconcile(&mut self, peer: &NodeId, says: &Standing, now: Timestamp) {
        let follows = matches!(says, Standing::Slave { master } if *master == self.hello.node);
        let link = self.links.to(peer);
        let leads =
            self.leadership.leads() && self.leadership.link_rule() == LinkRule::FollowStanding;
        let claims = leads && follows && link.is_none();
        let misfit = leads && link.is_some() && self.links.is_joined(peer) != follows;
        let Some(known) = self.membership.get_mut(peer) else {
            return;
        };
        if !claims && !misfit {
            known.disputed_since = None;
            known.unechoed = false;
            return;
        }
        let stood = now.since(*known.disputed_since.get_or_insert(now));
        known.unechoed = claims && stood >= CLAIM_LIMIT;
        if misfit
            && stood >= MISFIT_LIMIT
            && let Some(link) = link
        {
            self.hang_up(link, now);
        }
    }

    /// What a peer says of its standing has its time anew to fit the links that there are.
    pub(super) fn link_has_changed(&mut self, peer: &NodeId) {
        if let Some(known) = self.membership.get_mut(peer) {
            known.disputed_since = None;
        }
    }

    pub(super) fn joined(&mut self, link: LinkId, now: Timestamp) {
        let Some((peer, side)) = self
            .links
            .get(link)
            .map(|link| (link.peer.clone(), link.side))
        else {
            return;
        };
        self.replication.linked(&peer);
        self.report(Report::Joined { node: peer.clone() });
        match self.pairing.as_mut() {
            None => self.elect(Input::Joined { peer: &peer, side }, now),
            Some(pairing) => {
                pairing.joined(&peer);
                self.tell_heard(&peer, now);
            }
        }
        if self.leadership.leads() {
            let plan: Vec<PlanEntry> = self.dispatching.entries().collect();
            let news = News {
                plan,
                car: self.cabin.view(now),
                ..News::default()
            };
            self.actions.push_back(Action::Send {
                link,
                frame: Frame::News(news),
            });
        }
        self.cabin.forget_told();
        self.dispatching.invalidate();
    }

    pub(super) fn part(&mut self, peer: &NodeId, now: Timestamp) {
        self.link_has_changed(peer);
        self.replication.parted(peer);
        match self.pairing.as_mut() {
            None => self.elect(Input::Parted { peer }, now),
            Some(pairing) => {
                pairing.parted(peer, self.random.u64(..), now);
                self.elect(Input::Lost { peer }, now);
            }
        }
        self.dispatching.invalidate();
    }

    pub(super) fn hang_up(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Close(link));
        if let Some(link) = self.links.close(link) {
            self.part(&link.peer, now);
        }
    }

    pub(super) fn dial(&mut self, peer: NodeId, now: Timestamp) {
        match self
            .membership
            .get(&peer)
            .map(|known| (known.hello.address, known.link_port))
        {
            Some((address, port)) => {
                let address = SocketAddrV4::new(address, port);
                self.actions.push_back(Action::Dial { peer, address });
            }
            None => self.dial_failed(&peer, now),
        }
    }

    /// A peer could not be dialled, or its link did not carry in time.
    pub(super) fn dial_failed(&mut self, peer: &NodeId, now: Timestamp) {
        match self.pairing.as_mut() {
            None => self.elect(Input::Parted { peer }, now),
            Some(pairing) => pairing.parted(peer, self.random.u64(..), now),
        }
    }

    /// Dials the peers that are to be dialled (C6).
    pub(super) fn pair(&mut self, now: Timestamp) {
        let due = self.pairing.as_mut().map(|pairing| pairing.due(now));
        for due in due.unwrap_or_default() {
            match due {
                Due::Dial(peer) => self.dial(peer, now),
                Due::GiveUp(peer) => match self.links.to(&peer) {
                    Some(link) => self.hang_up(link, now),
                    None => self.dial_failed(&peer, now),
                },
            }
        }
    }
}

/// How much of a beacon is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    None,
    Orders,
    Full,
}
