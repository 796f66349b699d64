//! The links between nodes: dials, packets in their order, and how links end.

use std::net::SocketAddrV4;
use std::time::Duration;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{LinkId, LinkSide};
use elevator_fleet::wire::{Frame, codec};

use super::World;
use super::intruder::damage;
use crate::agenda::Event;
use crate::connection::{ConnectionId, EndState, Packet, Side, UnderWay};
use crate::fault::Fault;
use crate::trace::{Fate, Kind};
use crate::wire::Size;

/// How long a dial may take.
const DIAL_LIMIT: Duration = Duration::from_millis(200);

impl World {
    pub(super) fn dial(&mut self, node: usize, peer: NodeId, address: SocketAddrV4) {
        let machine = &self.machines[node];
        let Some(process) = machine.node() else { return };
        let hello = process.hello().clone();
        let target = self.at_address(*address.ip());
        let ends = (node, machine.incarnation);
        let id = self.connections.dial(ends, hello, target.unwrap_or(node), peer);
        let limit = self.now + DIAL_LIMIT;
        self.agenda.enter(limit, Event::DialTimeout(id));
        self.wire.links.send(Size::SEGMENT);
        // Nothing answers at an address that nobody has any more.
        let Some(target) = target else { return };
        let is_lost = self.network.loses(&mut self.random, self.now, (node, target));
        let at = (!is_lost).then(|| self.now + self.network.delay(&mut self.random));
        self.trace_dial(id, (node, target), Kind::DIAL, at);
        if let Some(at) = at {
            self.agenda.enter(at, Event::Dialled(id));
        }
    }

    pub(super) fn dialled(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        let (dialler, target) = (connection.end(Side::Dialler), connection.end(Side::Target));
        let (from, to) = (dialler.node, target.node);
        let Some(hello) = dialler.hello.clone() else { return };
        let arrow = connection.arrow;
        let is_reached = self.network.links(from, to) && self.machines[to].powered;
        self.trace_taken(arrow, is_reached);
        if !is_reached {
            return;
        }
        self.wire.links.receive(Size::SEGMENT);
        self.wire.links.send(Size::SEGMENT);
        let back = self.now + self.network.delay(&mut self.random);
        let machine = &self.machines[to];
        let incarnation = machine.incarnation;
        let Some(own) = machine.node().map(|node| node.hello().clone()) else {
            self.trace_sent((to, from), Fate::Arrives(back), Kind::reset);
            self.agenda.enter(back, Event::Reset(id, Side::Dialler));
            return;
        };
        if let Some(connection) = self.connections.get_mut(id) {
            let target = connection.end_mut(Side::Target);
            target.incarnation = incarnation;
            target.hello = Some(own);
            target.state = EndState::Open;
            target.in_order = back;
        }
        let is_lost = self.network.loses(&mut self.random, self.now, (to, from));
        self.trace_dial(id, (to, from), Kind::ACCEPT, (!is_lost).then_some(back));
        if !is_lost {
            self.agenda.enter(back, Event::Answered(id));
        }
        self.with(to, |node, now| {
            node.handle_link_up(id.link(), &hello, LinkSide::Accepted, now);
        });
    }

    pub(super) fn answered(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else { return };
        let (target, dialler) = (connection.end(Side::Target), connection.end(Side::Dialler));
        let passes = self.network.passes(target.node, dialler.node);
        let arrow = connection.arrow;
        self.trace_taken(arrow, passes);
        let Some(connection) = self.connections.get_mut(id).filter(|_| passes) else { return };
        let hello = connection.end(Side::Target).hello.clone();
        let dialler = connection.end_mut(Side::Dialler);
        let (from, incarnation) = (dialler.node, dialler.incarnation);
        if dialler.state != EndState::Waiting {
            return self.agenda.enter(self.now, Event::Reset(id, Side::Target));
        }
        dialler.state = EndState::Open;
        self.wire.links.receive(Size::SEGMENT);
        match hello {
            Some(hello) if self.machines[from].incarnation == incarnation => {
                self.with(from, |node, now| {
                    node.handle_link_up(id.link(), &hello, LinkSide::Dialled, now);
                });
            }
            Some(_) | None => self.agenda.enter(self.now, Event::Reset(id, Side::Target)),
        }
    }

    pub(super) fn dial_timeout(&mut self, id: ConnectionId) {
        let dialler = self.connections.get(id).map(|connection| connection.end(Side::Dialler));
        if dialler.is_some_and(|dialler| dialler.state == EndState::Waiting) {
            self.give_up_dial(id);
        }
    }

    /// The dialler's process gives up, and the target learns of it if it is there.
    fn give_up_dial(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let open = connection.end(Side::Target).state == EndState::Open;
        let peer = connection.peer.clone();
        let dialler = connection.end_mut(Side::Dialler);
        dialler.state = EndState::Closed;
        let (node, incarnation) = (dialler.node, dialler.incarnation);
        if open {
            self.enqueue(id, Side::Dialler, Packet::Close);
        } else {
            self.connections.forget(id);
        }
        if self.machines[node].incarnation == incarnation {
            self.with(node, |node, now| node.handle_dial_failed(&peer, now));
        }
    }

    pub(super) fn send(&mut self, node: usize, link: LinkId, packet: Packet) {
        let id = ConnectionId(link.0);
        let incarnation = self.machines[node].incarnation;
        let Some(connection) = self.connections.get_mut(id) else { return };
        let Some(side) = connection.side_of(node, incarnation) else { return };
        let end = connection.end_mut(side);
        if end.state != EndState::Open {
            return;
        }
        if matches!(packet, Packet::Close) {
            end.state = EndState::Closed;
        }
        self.enqueue(id, side, packet);
    }

    fn enqueue(&mut self, id: ConnectionId, side: Side, packet: Packet) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(id) else { return };
        self.wire.links.send(Size::of_packet(&packet));
        let pair = (connection.end(side).node, connection.end(side.other()).node);
        let delay = self.network.link_delay(&mut self.random, now, pair);
        let end = connection.end_mut(side);
        let due = end.in_order.max(now + delay);
        end.in_order = due;
        if end.sent.is_empty() && !end.stalled {
            self.agenda.enter(due, Event::Packet(id, side));
        }
        let arrow = self.trace_sent(pair, Fate::Arrives(due), || Kind::of_link_packet(&packet));
        if let Some(connection) = self.connections.get_mut(id) {
            let sent = &mut connection.end_mut(side).sent;
            sent.push_back(UnderWay { due, packet, arrow });
        }
    }

    /// A dial or its answer sets out.
    fn trace_dial(
        &mut self,
        id: ConnectionId,
        ends: (usize, usize),
        kind: Kind,
        at: Option<Duration>,
    ) {
        let fate = at.map_or(Fate::Lost, Fate::Arrives);
        let arrow = self.trace_sent(ends, fate, || (kind, String::new()));
        if let Some(connection) = self.connections.get_mut(id) {
            connection.arrow = arrow;
        }
    }

    /// Whatever is under way from this side is lost.
    pub(super) fn drop_packets(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        for UnderWay { arrow, .. } in std::mem::take(&mut connection.end_mut(side).sent) {
            self.trace_fate(arrow, Fate::Lost);
        }
    }

    /// The oldest packet from `side` arrives, if it can.
    pub(super) fn packet(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(id) else { return };
        let receiver = connection.end(side.other());
        let (to, incarnation, state) = (receiver.node, receiver.incarnation, receiver.state);
        let from = connection.end(side).node;
        let sender = connection.end_mut(side);
        if !self.network.passes(from, to) || !self.machines[to].powered {
            sender.stalled = true;
            return;
        }
        let Some(UnderWay { packet, arrow, .. }) = sender.sent.pop_front() else { return };
        let alive =
            self.machines[to].process.is_some() && self.machines[to].incarnation == incarnation;
        if !alive {
            self.trace_taken(arrow, false);
            self.drop_packets(id, side);
            self.connections.close(id, side.other());
            self.send_reset(id, side);
            return;
        }
        self.wire.links.receive(Size::of_packet(&packet));
        if let Some(next) = sender.sent.front() {
            self.agenda.enter(next.due, Event::Packet(id, side));
        }
        self.trace_taken(arrow, true);
        match (packet, state) {
            (Packet::Frame(frame), EndState::Open) if self.is_damaged((from, to), &frame) => {
                self.end_link_for_rubbish(id, side, to);
            }
            (Packet::Frame(frame), EndState::Open) => {
                self.with(to, |node, now| node.handle_frame(id.link(), frame, now));
            }
            // As a kernel answers data for a socket that the process has closed.
            (Packet::Frame(_), EndState::Waiting | EndState::Closed) => self.send_reset(id, side),
            (Packet::Close, EndState::Open) => {
                self.connections.close(id, side.other());
                self.with(to, |node, now| node.handle_link_down(id.link(), now));
            }
            (Packet::Close, EndState::Waiting | EndState::Closed) => {}
        }
        self.connections.sweep(id);
    }

    /// Whether this frame is to be damaged, and what is left of it is no frame.
    fn is_damaged(&mut self, pair: (usize, usize), frame: &Frame) -> bool {
        if !self.damaged_frames.remove(&pair) {
            return false;
        }
        let Ok(mut bytes) = codec::encode_frame(frame) else { return false };
        damage(&mut self.random, &mut bytes, codec::MAX_FRAME);
        self.count_fault(&Fault::DamageFrame { from: pair.0, to: pair.1 });
        codec::decode_frame(&bytes).is_err()
    }

    /// A node can't read what came over a link from `side`. Without a key it blames its peer; with
    /// one it can't have been the peer.
    fn end_link_for_rubbish(&mut self, id: ConnectionId, side: Side, to: usize) {
        self.disturbed();
        self.storm.invalid.insert("C7");
        self.connections.close(id, side.other());
        self.drop_packets(id, side.other());
        self.send_reset(id, side);
        if self.settings.key {
            self.with(to, |node, now| node.handle_link_down(id.link(), now));
        } else {
            self.with(to, |node, now| node.handle_malformed(id.link(), now));
        }
    }

    /// The links of a machine end, as far as both of their ends can tell.
    pub(super) fn end_links(&mut self, node: usize) {
        let incarnation = self.machines[node].incarnation;
        for (id, _) in self.connections.of(node, incarnation) {
            for side in Side::BOTH {
                self.agenda.enter(self.now, Event::Reset(id, side));
            }
        }
    }

    /// Tells this side, if it can be reached, that the other is gone.
    pub(super) fn send_reset(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get(id) else { return };
        let (to, from) = (connection.end(side).node, connection.end(side.other()).node);
        if self.network.passes(from, to) {
            let at = self.now + self.network.delay(&mut self.random);
            self.trace_sent((from, to), Fate::Arrives(at), Kind::reset);
            self.agenda.enter(at, Event::Reset(id, side));
        }
    }

    pub(super) fn reset(&mut self, id: ConnectionId, side: Side) {
        self.drop_packets(id, side);
        let Some(connection) = self.connections.get_mut(id) else { return };
        let end = connection.end_mut(side);
        let (node, incarnation, state) = (end.node, end.incarnation, end.state);
        match (side, state) {
            (_, EndState::Closed) => {}
            (Side::Dialler, EndState::Waiting) => return self.give_up_dial(id),
            (Side::Target, EndState::Waiting) | (_, EndState::Open) => {
                end.state = EndState::Closed;
                if self.machines[node].incarnation == incarnation {
                    self.with(node, |node, now| node.handle_link_down(id.link(), now));
                }
            }
        }
        self.connections.sweep(id);
    }

    /// Packets that waited for a cut or a power cut to end set out again.
    pub(super) fn unstall(&mut self) {
        for (id, side) in self.connections.stalled() {
            let stall = crate::network::Network::stall(&mut self.random);
            let now = self.now;
            let Some(connection) = self.connections.get_mut(id) else { continue };
            let end = connection.end_mut(side);
            end.stalled = false;
            if end.sent.is_empty() {
                continue;
            }
            for under_way in &mut end.sent {
                under_way.due = under_way.due.max(now + stall);
            }
            end.in_order = end.in_order.max(now + stall);
            self.agenda.enter(now + stall, Event::Packet(id, side));
        }
    }
}
