//! The open links: how many there may be, and what ends one.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use bytes::Bytes;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::{LinkId, LinkSide};
use elevator_fleet::wire::{Frame, Hello, codec};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tracing::{info, warn};

use super::cipher::CodecError;
use super::gate::Gate;
use super::greeting::Connection;
use super::link::{self, LINK_QUEUE, LinkEnd};
use super::{Common, Count, Loss, MeshEvent};

/// The most links in total, several times as many as the largest fleet needs. More are refused.
const MOST: usize = 512;

/// The most links per address. A further one replaces the oldest.
pub(super) const MOST_PER_ADDRESS: usize = 4;

#[derive(Debug)]
struct Link {
    peer: NodeId,
    /// The peer's address, verified against the connection's source.
    address: Ipv4Addr,
    queue: mpsc::Sender<Bytes>,
    task: AbortHandle,
}

#[derive(Debug)]
pub(super) struct Links {
    open: BTreeMap<LinkId, Link>,
    next: u64,
    pub(super) tasks: JoinSet<Loss>,
    common: Common,
    /// Links that this side gave up, which were not reported to the node yet.
    pub(super) given_up: VecDeque<LinkId>,
    log: Gate<(NodeId, &'static str)>,
}

impl Links {
    pub(super) fn new(common: Common) -> Self {
        Self {
            open: BTreeMap::new(),
            next: 1,
            tasks: JoinSet::new(),
            common,
            given_up: VecDeque::new(),
            log: Gate::some(),
        }
    }

    pub(super) fn has(&self, link: LinkId) -> bool {
        self.open.contains_key(&link)
    }

    pub(super) fn queued(&self) -> usize {
        let lengths = self.open.values().map(|link| super::length(&link.queue));
        lengths.max().unwrap_or(0)
    }

    /// Opens a link, unless there are too many. The oldest link of an address is replaced rather
    /// than the newest refused: a machine that lost power leaves dead links behind.
    pub(super) fn open(
        &mut self,
        connection: Connection,
        peer: Hello,
        side: LinkSide,
    ) -> Option<MeshEvent> {
        let of_address = |(_, known): &(&LinkId, &Link)| known.address == peer.address;
        let mut siblings = self.open.iter().filter(of_address);
        let oldest = siblings.next().map(|(link, _)| *link);
        if siblings.count() + 1 >= MOST_PER_ADDRESS
            && let Some(oldest) = oldest
        {
            self.give_up(oldest, &LinkEnd::Sound("there are newer links from the same address"));
        }
        if side == LinkSide::Accepted && self.open.len() >= MOST {
            self.common.counters.add(Count::Refused);
            if self.log.opens(&(peer.node.clone(), "too many")) {
                warn!(peer = %peer.node, "too many links: the newest are refused");
            }
            return None;
        }
        let link = LinkId(self.next);
        self.next += 1;
        let (queue, outgoing) = mpsc::channel(LINK_QUEUE);
        let run = link::run(link, connection, outgoing, self.common.notes.clone());
        let task = self.tasks.spawn(async move {
            run.await;
            None
        });
        let Hello { node, address, .. } = &peer;
        if self.log.opens(&(node.clone(), "up")) {
            info!(link = link.0, peer = %node, %address, ?side, "link up");
        }
        let known = Link { peer: node.clone(), address: *address, queue, task };
        self.open.insert(link, known);
        Some(MeshEvent::LinkUp { link, peer, side })
    }

    /// Sends a frame; nothing happens if the link is gone. A link with a full queue is given up.
    pub(super) fn send(&mut self, link: LinkId, frame: &Frame) {
        let Some(known) = self.open.get(&link) else {
            return;
        };
        let sent = match codec::encode_frame(frame) {
            Ok(bytes) => known.queue.try_send(bytes.into()).map_err(|refused| match refused {
                mpsc::error::TrySendError::Full(_) => {
                    LinkEnd::Sound("too many frames wait to leave")
                }
                mpsc::error::TrySendError::Closed(_) => LinkEnd::THERE,
            }),
            Err(error) => Err(LinkEnd::Wire(error)),
        };
        if let Err(end) = sent {
            self.give_up(link, &end);
        }
    }

    pub(super) fn close(&mut self, link: LinkId) {
        // Its task sends the rest of the queue when it sees that there are no senders left.
        self.forget(link, &LinkEnd::HERE);
    }

    pub(super) fn give_all_up(&mut self, end: &LinkEnd) {
        let links: Vec<LinkId> = self.open.keys().copied().collect();
        for link in links {
            self.give_up(link, end);
        }
    }

    fn give_up(&mut self, link: LinkId, end: &LinkEnd) {
        if let Some(known) = self.open.get(&link) {
            known.task.abort();
            self.given_up.push_back(link);
            self.forget(link, end);
        }
    }

    /// No more is sent. Returns the tasks, which end once they have sent what is queued.
    pub(super) fn end(self) -> JoinSet<Loss> {
        self.tasks
    }

    /// A link has ended; an event, unless this side has ended it.
    pub(super) fn on_ended(&mut self, link: LinkId, end: &LinkEnd) -> Option<MeshEvent> {
        if !self.forget(link, end) {
            return None;
        }
        if matches!(end, LinkEnd::Codec(CodecError::Forged)) {
            self.common.counters.add(Count::Forged);
        }
        if end.is_malformed() {
            self.common.counters.add(Count::Malformed);
            Some(MeshEvent::Malformed { link })
        } else {
            Some(MeshEvent::LinkDown { link })
        }
    }

    fn forget(&mut self, link: LinkId, end: &LinkEnd) -> bool {
        let Some(Link { peer, .. }) = self.open.remove(&link) else {
            return false;
        };
        if self.log.opens(&(peer.clone(), "down")) {
            info!(link = link.0, %peer, reason = %end, "link down");
        }
        true
    }
}
