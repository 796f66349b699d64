//! Links: TCP as far as the brain can tell.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use elevator_fleet::model::{NodeId, Order};
use elevator_fleet::node::LinkId;
use elevator_fleet::store::Record;
use elevator_fleet::wire::{Frame, Hello};

/// A message: its place among all that were recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SentId(pub(super) usize);

/// An arrow: its message, and its place among the arrows of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ArrowId(pub(super) SentId, pub(super) usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConnectionId(pub(super) u64);

impl ConnectionId {
    /// Both ends give the link the connection's number.
    pub(super) fn link(self) -> LinkId {
        LinkId(self.0)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Dialler,
    Target,
}

impl Side {
    pub(super) const BOTH: [Self; 2] = [Self::Dialler, Self::Target];

    pub(super) fn other(self) -> Self {
        match self {
            Self::Dialler => Self::Target,
            Self::Target => Self::Dialler,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum EndState {
    /// Not yet known to this end's process.
    #[default]
    Waiting,
    Open,
    /// Gone, as far as this end's process is concerned.
    Closed,
}

#[derive(Debug)]
pub(super) enum Packet {
    Frame(Frame),
    Close,
}

#[derive(Debug)]
pub(super) struct UnderWay {
    pub(super) due: Duration,
    pub(super) packet: Packet,
    pub(super) arrow: Option<ArrowId>,
}

#[derive(Debug, Default)]
pub(super) struct End {
    pub(super) node: usize,
    /// The process that holds it.
    pub(super) incarnation: u64,
    pub(super) hello: Option<Hello>,
    pub(super) state: EndState,
    /// What this end has sent and the other has not received.
    pub(super) sent: VecDeque<UnderWay>,
    /// Nothing that is sent later arrives earlier.
    pub(super) in_order: Duration,
    /// The packets wait for a cut to be healed.
    pub(super) stalled: bool,
}

#[derive(Debug)]
pub(super) struct Connection {
    /// Whom the dialler expects.
    pub(super) peer: NodeId,
    /// The arrow of the dial or of its answer, if it is recorded.
    pub(super) arrow: Option<ArrowId>,
    dialler: End,
    target: End,
}

impl Connection {
    pub(super) fn end(&self, side: Side) -> &End {
        match side {
            Side::Dialler => &self.dialler,
            Side::Target => &self.target,
        }
    }

    pub(super) fn end_mut(&mut self, side: Side) -> &mut End {
        match side {
            Side::Dialler => &mut self.dialler,
            Side::Target => &mut self.target,
        }
    }

    pub(super) fn side_of(&self, node: usize, incarnation: u64) -> Option<Side> {
        Side::BOTH.into_iter().find(|side| {
            let end = self.end(*side);
            end.node == node && end.incarnation == incarnation
        })
    }

    fn is_over(&self) -> bool {
        let over = |end: &End| end.state == EndState::Closed && end.sent.is_empty();
        over(&self.dialler) && over(&self.target)
    }
}

/// Every connection that is not over.
#[derive(Debug, Default)]
pub(super) struct Connections {
    connections: BTreeMap<ConnectionId, Connection>,
    last: u64,
}

impl Connections {
    pub(super) fn dial(
        &mut self,
        from: (usize, u64),
        hello: Hello,
        to: usize,
        peer: NodeId,
    ) -> ConnectionId {
        self.last += 1;
        let id = ConnectionId(self.last);
        let connection = Connection {
            peer,
            arrow: None,
            dialler: End {
                node: from.0,
                incarnation: from.1,
                hello: Some(hello),
                ..End::default()
            },
            target: End { node: to, ..End::default() },
        };
        self.connections.insert(id, connection);
        id
    }

    pub(super) fn get(&self, id: ConnectionId) -> Option<&Connection> {
        self.connections.get(&id)
    }

    pub(super) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Connection> {
        self.connections.get_mut(&id)
    }

    pub(super) fn close(&mut self, id: ConnectionId, side: Side) {
        if let Some(connection) = self.get_mut(id) {
            connection.end_mut(side).state = EndState::Closed;
        }
    }

    pub(super) fn forget(&mut self, id: ConnectionId) {
        self.connections.remove(&id);
    }

    pub(super) fn sweep(&mut self, id: ConnectionId) {
        if self.get(id).is_some_and(Connection::is_over) {
            self.connections.remove(&id);
        }
    }

    pub(super) fn of(&self, node: usize, incarnation: u64) -> Vec<(ConnectionId, Side)> {
        self.connections
            .iter()
            .filter_map(|(id, connection)| Some((*id, connection.side_of(node, incarnation)?)))
            .collect()
    }

    /// When the last of all packets that are under way arrives.
    pub(super) fn last_arrival(&self) -> Duration {
        let ends = self.connections.values().flat_map(|connection| {
            let ends = [&connection.dialler, &connection.target];
            ends.into_iter().filter(|end| !end.sent.is_empty())
        });
        ends.map(|end| end.in_order).max().unwrap_or_default()
    }

    /// Whether this press, or one that took its place, is on its way between two nodes, told
    /// by itself: a whole state is transferred before a node yields.
    pub(super) fn bring(&self, (from, to): (usize, usize), order: &Order) -> bool {
        let is_it = |record: &Record| record.covers(order.dot, &order.call);
        let brings = |packet: &Packet| match packet {
            Packet::Frame(Frame::Delta(delta)) => delta.records.iter().any(is_it),
            Packet::Frame(_) | Packet::Close => false,
        };
        let ends = self.connections.values().flat_map(|connection| {
            let goes_there = |side: &Side| {
                let (sender, receiver) = (connection.end(*side), connection.end(side.other()));
                (sender.node, receiver.node) == (from, to) && receiver.state != EndState::Closed
            };
            Side::BOTH.into_iter().filter(goes_there).map(|side| connection.end(side))
        });
        ends.flat_map(|end| &end.sent).any(|under_way| brings(&under_way.packet))
    }

    /// The ends whose packets wait for a cut to be healed.
    pub(super) fn stalled(&self) -> Vec<(ConnectionId, Side)> {
        let ends = self.connections.keys().flat_map(|id| Side::BOTH.map(|side| (*id, side)));
        let is_stalled =
            |(id, side): &(ConnectionId, Side)| self.connections[id].end(*side).stalled;
        ends.filter(is_stalled).collect()
    }
}
