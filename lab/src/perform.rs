//! What a node wants done, and what comes of it.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{Action, Change, LinkId, LinkSide, Lsn, Node, Report};
use elevator_fleet::wire::{Beacon, Frame, NodeState, codec};

use super::World;
use super::agenda::{Event, TimedFault};
use super::connection::{ConnectionId, EndState, Packet, Side};
use super::fault::{Boundary, Fault, damage};
use super::history::{Assignment, Note, Service};
use super::trace::{Kind, MarkKind, SentId, Signal};
use super::wire::{Flow, Size};

/// How long a dial may take.
const DIAL_LIMIT: Duration = Duration::from_millis(200);

impl World {
    pub(super) fn perform(&mut self, node: usize, action: Action) {
        if let Some(boundary) = boundary_before(&action)
            && self.crashes(node, boundary)
        {
            return;
        }
        match action {
            Action::Broadcast(beacon) => self.broadcast(node, beacon),
            Action::Unicast { to, beacon } => {
                self.mesh_traffic.unicasts += 1;
                if let Some(to) = self.at_address(to) {
                    let beacon = self.datagram(node, beacon);
                    let size = Size::of_beacon(&beacon);
                    self.flow(&beacon).send(size);
                    let sent = self.trace_beacon(node, &beacon);
                    self.post((node, to), &beacon, size, sent);
                }
            }
            Action::Packet { to, bytes } => self.send_packet(node, to, bytes),
            Action::Dial { peer, address } => {
                self.mesh_traffic.dials += 1;
                self.dial(node, peer, address);
            }
            Action::Send { link, mut frame } => {
                if let Frame::Delta(delta) = &mut frame {
                    self.distort(node, &mut delta.plan);
                }
                if let Frame::State(state) = &frame {
                    self.mesh_traffic.states += 1;
                    self.mesh_traffic.records += state.records.len() as u64;
                }
                let frame = self.frame(node, frame);
                self.send(node, link, Packet::Frame(frame));
                self.crashes(node, Boundary::Frame);
            }
            Action::Close(link) => self.send(node, link, Packet::Close),
            Action::Panel(outputs) => self.panel(node, &outputs),
            Action::Persist { lsn, changes } => {
                self.write(node, lsn, changes);
            }
            Action::Plan(request) => self.plan(node, &request),
            Action::Report(report) => self.reported(node, report),
        }
    }

    fn write(&mut self, node: usize, lsn: Lsn, changes: Vec<Change>) {
        let clock = self.disk_clock_of(node);
        let disk = &mut self.machines[node].disk;
        disk.set_clock(clock);
        if disk.is_full() && !disk.failed() {
            disk.runs_full();
            self.disturbed();
            self.agenda.enter(self.now, Event::FaultEnds(TimedFault::FullDiskIsNoticed { node }));
        } else if disk.write(lsn, changes) {
            self.commit_later(node);
        }
    }

    /// Whether a process crashes at this boundary; if so, it has ended.
    pub(super) fn crashes(&mut self, node: usize, boundary: Boundary) -> bool {
        let crash = &mut self.machines[node].crash;
        match crash {
            Some((at, 0)) if *at == boundary => {
                *crash = None;
                self.count_fault(&Fault::Crash { node, at: boundary, after: 0 });
                self.end_process(node);
                true
            }
            Some((at, passes)) if *at == boundary => {
                *passes -= 1;
                false
            }
            Some(_) | None => false,
        }
    }

    pub(super) fn commit_later(&mut self, node: usize) {
        let takes = self.machines[node].commit.as_ref().unwrap_or(&self.settings.commit);
        let wait = Duration::from_micros(self.random.u64(takes.clone()));
        let incarnation = self.machines[node].incarnation;
        self.agenda.enter(self.now + wait, Event::Committed { node, incarnation });
    }

    fn reported(&mut self, node: usize, report: Report) {
        self.count(node, &report);
        self.judge(|oracles, snapshot| oracles.reported(snapshot, node, &report));
        let hung = matches!(report, Report::Hung(_));
        self.note(node, Note::Reported(report));
        if hung {
            self.machines[node].latched = true;
            self.end_process(node);
        }
    }

    fn count(&mut self, node: usize, report: &Report) {
        match report {
            Report::Served { call, waited, here: true, .. } => self.history.serve(Service {
                at: self.now,
                node,
                call: call.clone(),
                waited: *waited,
            }),
            Report::Assigned { call, car } => {
                let leads = |node: &Node| *node.node_state() == NodeState::Master;
                if self.machines[node].node().is_some_and(leads) {
                    let (call, car) = (call.clone(), car.clone());
                    self.history.assign(Assignment { at: self.now, call, car });
                }
            }
            Report::PeerLost { .. } => self.mesh_traffic.losses += 1,
            Report::NodeState { to, .. } => {
                self.mesh_traffic.changes += 1;
                self.state_changes += 1;
                self.masters += u64::from(*to == NodeState::Master);
                self.note_estimates();
            }
            Report::Conflict(_) => self.machines[node].conflicts += 1,
            Report::Distrusted { wait, .. } => {
                self.machines[node].conflicts += 1;
                // Until then the peer is as good as cut off.
                self.disturbed_until(self.now + *wait);
            }
            Report::TakenOver { .. } => self.taken_over += 1,
            Report::Placed { origin, .. } => {
                self.placed += u64::from(*origin == self.machines[node].name);
            }
            Report::Rotated { .. } => self.state_changes += 1,
            Report::Served { here: false, .. }
            | Report::Promised { .. }
            | Report::Hung(_)
            | Report::PeerDiscovered { .. }
            | Report::Synced { .. }
            | Report::Repair { .. }
            | Report::Door { .. }
            | Report::Floor { .. }
            | Report::Availability(_)
            | Report::Panel(_)
            | Report::PressRefused { .. }
            | Report::FloorUnreachable { .. }
            | Report::DriveRefused
            | Report::OffTarget { .. }
            | Report::DiskFailed => {}
        }
    }

    fn broadcast(&mut self, from: usize, beacon: Beacon) {
        self.mesh_traffic.broadcasts += 1;
        let beacon = self.datagram(from, beacon);
        let size = Size::of_beacon(&beacon);
        self.flow(&beacon).send(size);
        let sent = self.trace_beacon(from, &beacon);
        for to in 0..self.machines.len() {
            if to != from && self.machines[to].process.is_some() {
                self.post((from, to), &beacon, size, sent);
            }
        }
    }

    fn trace_beacon(&mut self, from: usize, beacon: &Beacon) -> Option<SentId> {
        let recorder = self.recorder.as_mut()?;
        recorder.sent(self.now, from, |trace| Kind::of_beacon(beacon, trace.protocol))
    }

    fn post(
        &mut self,
        (from, to): (usize, usize),
        beacon: &Arc<Beacon>,
        size: Size,
        sent: Option<SentId>,
    ) {
        let mut arrivals = self.arrivals(from, to);
        for arrival in arrivals.iter_mut().filter(|arrival| arrival.is_some()) {
            if self.network.corrupts(&mut self.random) {
                *arrival = None;
                self.damage_beacon(from, to, beacon);
            }
        }
        let arrows = self.trace_arrows(sent, (from, to), arrivals);
        for (at, arrow) in arrivals.into_iter().zip(arrows) {
            let Some(at) = at else {
                continue;
            };
            if self.machines[to].process.is_some() {
                self.flow(beacon).receive(size);
            }
            let beacon = Arc::clone(beacon);
            self.agenda.enter(at, Event::Datagram { from, to, beacon, arrow });
        }
    }

    /// Where a beacon counts.
    fn flow(&mut self, beacon: &Beacon) -> &mut Flow {
        match beacon.piggybacked {
            Some(_) => &mut self.wire.election,
            None => &mut self.wire.beacons,
        }
    }

    /// One that is sent to everybody comes back to its sender.
    fn send_packet(&mut self, from: usize, to: Option<Ipv4Addr>, bytes: Vec<u8>) {
        self.election_traffic.count(bytes.len());
        let bytes: Arc<[u8]> = bytes.into();
        let size = Size::datagram(bytes.len());
        self.wire.election.send(size);
        let everybody = 0..self.machines.len();
        let receivers: Vec<usize> = match to {
            Some(to) => self.at_address(to).into_iter().collect(),
            None => everybody.filter(|to| self.machines[*to].process.is_some()).collect(),
        };
        let sent = self
            .recorder
            .as_mut()
            .and_then(|recorder| recorder.sent(self.now, from, |_| Kind::of_packet(&bytes)));
        for to in receivers {
            let mut arrivals = self.arrivals(from, to);
            // What is damaged is dropped: by UDP, or for its tag.
            for arrival in arrivals.iter_mut().filter(|arrival| arrival.is_some()) {
                if self.network.corrupts(&mut self.random) {
                    *arrival = None;
                    self.interference.damaged += 1;
                }
            }
            let arrows = self.trace_arrows(sent, (from, to), arrivals);
            for (at, arrow) in arrivals.into_iter().zip(arrows) {
                let Some(at) = at else {
                    continue;
                };
                let bytes = Arc::clone(&bytes);
                // What comes back to its sender does not cross the wire.
                if to != from && self.machines[to].process.is_some() {
                    self.wire.election.receive(size);
                }
                self.agenda.enter(at, Event::Told { from, to, bytes, arrow });
            }
        }
    }

    /// When a datagram arrives, if it does, and when its copy does, if there is one.
    fn arrivals(&mut self, from: usize, to: usize) -> [Option<Duration>; 2] {
        let twice = self.network.duplicates(&mut self.random);
        [true, twice].map(|sent| {
            let arrives = sent && self.network.passes(from, to) && !self.loses(from, to);
            arrives.then(|| self.now + self.network.datagram_delay(&mut self.random))
        })
    }

    /// Whether a packet gets lost that is sent now.
    fn loses(&mut self, from: usize, to: usize) -> bool {
        self.network.loses(&mut self.random, self.now, (from, to))
    }

    fn datagram(&mut self, node: usize, mut beacon: Beacon) -> Arc<Beacon> {
        self.distort(node, &mut beacon.delta.plan);
        if let Some(falsify) = self.machines[node].falsifies {
            falsify(&mut beacon);
        }
        if let Some(piggybacked) = &beacon.piggybacked {
            self.election_traffic.count(codec::size(piggybacked));
        }
        if self.settings.codec {
            let read = codec::encode_beacon(&beacon, &self.keys)
                .and_then(|bytes| codec::decode_beacon(&bytes, &self.keys));
            if read.as_ref() != Ok(&beacon) {
                let what = format!("{beacon:?} was read as {read:?}");
                self.judge(|oracles, snapshot| oracles.misread(snapshot, node, what));
            }
        }
        let beacon = Arc::new(beacon);
        self.recordings.listen(node, &beacon);
        beacon
    }

    fn frame(&mut self, node: usize, frame: Frame) -> Frame {
        if self.settings.codec {
            let read = codec::encode_frame(&frame).and_then(|bytes| codec::decode_frame(&bytes));
            if read.as_ref() != Ok(&frame) {
                let what = format!("{frame:?} was read as {read:?}");
                self.judge(|oracles, snapshot| oracles.misread(snapshot, node, what));
            }
        }
        frame
    }

    fn dial(&mut self, node: usize, peer: NodeId, address: SocketAddrV4) {
        let machine = &self.machines[node];
        let (Some(target), Some(process)) = (self.at_address(*address.ip()), machine.node()) else {
            return;
        };
        let hello = process.hello().clone();
        let id = self.connections.dial((node, machine.incarnation), hello, target, peer);
        let limit = self.now + DIAL_LIMIT;
        self.agenda.enter(limit, Event::DialTimeout(id));
        self.wire.links.send(Size::SEGMENT);
        let is_lost = self.loses(node, target);
        let at = (!is_lost).then(|| self.now + self.network.delay(&mut self.random));
        self.trace_signal(id, Signal::Dial, (node, target), at);
        if let Some(at) = at {
            self.agenda.enter(at, Event::Dialled(id));
        }
    }

    pub(super) fn dialled(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let (dialler, target) = (connection.end(Side::Dialler), connection.end(Side::Target));
        let (from, to) = (dialler.node, target.node);
        let Some(hello) = dialler.hello.clone() else {
            return;
        };
        let is_reached = self.network.links(from, to) && self.machines[to].powered;
        self.trace_signalled(id, Signal::Dial, is_reached);
        if !is_reached {
            return;
        }
        self.wire.links.receive(Size::SEGMENT);
        self.wire.links.send(Size::SEGMENT);
        let back = self.now + self.network.delay(&mut self.random);
        let machine = &self.machines[to];
        let incarnation = machine.incarnation;
        let Some(own) = machine.node().map(|node| node.hello().clone()) else {
            self.trace_signal(id, Signal::Reset(Side::Dialler), (to, from), Some(back));
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
        let is_lost = self.loses(to, from);
        self.trace_signal(id, Signal::Accept, (to, from), (!is_lost).then_some(back));
        if !is_lost {
            self.agenda.enter(back, Event::Answered(id));
        }
        self.trace_link(to, id, MarkKind::LinkUp);
        self.with(to, |node, now| {
            node.handle_link_up(id.link(), &hello, LinkSide::Accepted, now);
        });
    }

    pub(super) fn answered(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let passes = {
            let (target, dialler) = (connection.end(Side::Target), connection.end(Side::Dialler));
            self.network.passes(target.node, dialler.node)
        };
        self.trace_signalled(id, Signal::Accept, passes);
        let Some(connection) = self.connections.get_mut(id).filter(|_| passes) else {
            return;
        };
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
                self.trace_link(from, id, MarkKind::LinkUp);
                self.with(from, |node, now| {
                    node.handle_link_up(id.link(), &hello, LinkSide::Dialled, now);
                });
            }
            Some(_) | None => self.agenda.enter(self.now, Event::Reset(id, Side::Target)),
        }
    }

    pub(super) fn dial_timeout(&mut self, id: ConnectionId) {
        let waiting = self
            .connections
            .get(id)
            .is_some_and(|connection| connection.end(Side::Dialler).state == EndState::Waiting);
        if waiting {
            self.give_up_dial(id);
        }
    }

    /// The dialler's process gives up, and the target learns of it if it is there.
    fn give_up_dial(&mut self, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
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

    fn send(&mut self, node: usize, link: LinkId, packet: Packet) {
        let id = ConnectionId(link.0);
        let incarnation = self.machines[node].incarnation;
        let Some(side) =
            self.connections.get(id).and_then(|connection| connection.side_of(node, incarnation))
        else {
            return;
        };
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
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
        let described = self.recorder.is_some().then(|| Kind::of_link_packet(&packet));
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        self.wire.links.send(Size::of_packet(&packet));
        let pair = (connection.end(side).node, connection.end(side.other()).node);
        let delay = self.network.link_delay(&mut self.random, now, pair);
        let end = connection.end_mut(side);
        let due = end.in_order.max(now + delay);
        end.in_order = due;
        end.sent.push_back((due, packet));
        if end.sent.len() == 1 && !end.stalled {
            self.agenda.enter(due, Event::Packet(id, side));
        }
        if let (Some(recorder), Some(described)) = (self.recorder.as_mut(), described) {
            recorder.enqueued(now, (id, side), pair, described, due);
        }
    }

    /// The oldest packet from `side` arrives, if it can.
    pub(super) fn packet(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let (from, to) = (connection.end(side).node, connection.end(side.other()).node);
        let (incarnation, state) = {
            let receiver = connection.end(side.other());
            (receiver.incarnation, receiver.state)
        };
        let sender = connection.end_mut(side);
        if !self.network.passes(from, to) || !self.machines[to].powered {
            sender.stalled = true;
            return;
        }
        let Some((_, packet)) = sender.sent.pop_front() else {
            return;
        };
        let alive =
            self.machines[to].process.is_some() && self.machines[to].incarnation == incarnation;
        if !alive {
            sender.sent.clear();
            self.trace_dequeued(id, side, false);
            self.trace_dropped(id, side);
            if let Some(connection) = self.connections.get_mut(id) {
                connection.end_mut(side.other()).state = EndState::Closed;
            }
            self.send_reset(id, side);
            return;
        }
        self.wire.links.receive(Size::of_packet(&packet));
        if let Some((at, _)) = sender.sent.front() {
            self.agenda.enter(*at, Event::Packet(id, side));
        }
        self.trace_dequeued(id, side, true);
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
                if let Some(connection) = self.connections.get_mut(id) {
                    connection.end_mut(side.other()).state = EndState::Closed;
                }
                self.trace_link(to, id, MarkKind::LinkDown);
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
        let Ok(mut bytes) = codec::encode_frame(frame) else {
            return false;
        };
        damage(&mut self.random, &mut bytes, codec::MAX_FRAME);
        self.count_fault(&Fault::DamageFrame { from: pair.0, to: pair.1 });
        codec::decode_frame(&bytes).is_err()
    }

    /// A node can't read what came over a link from `side`. Without a key it blames its peer; with
    /// one it can't have been the peer.
    fn end_link_for_rubbish(&mut self, id: ConnectionId, side: Side, to: usize) {
        self.interference.frames += 1;
        self.disturbances.damaged_frames = true;
        self.disturbed();
        if let Some(connection) = self.connections.get_mut(id) {
            connection.end_mut(side.other()).state = EndState::Closed;
            connection.end_mut(side.other()).sent.clear();
        }
        self.send_reset(id, side);
        self.trace_link(to, id, MarkKind::LinkDown);
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
        let Some(connection) = self.connections.get(id) else {
            return;
        };
        let (to, from) = (connection.end(side).node, connection.end(side.other()).node);
        if self.network.passes(from, to) {
            let at = self.now + self.network.delay(&mut self.random);
            self.trace_signal(id, Signal::Reset(side), (from, to), Some(at));
            self.agenda.enter(at, Event::Reset(id, side));
        }
    }

    pub(super) fn reset(&mut self, id: ConnectionId, side: Side) {
        self.trace_signalled(id, Signal::Reset(side), true);
        self.trace_dropped(id, side);
        let Some(connection) = self.connections.get_mut(id) else {
            return;
        };
        let end = connection.end_mut(side);
        let (node, incarnation, state) = (end.node, end.incarnation, end.state);
        end.sent.clear();
        match (side, state) {
            (_, EndState::Closed) => {}
            (Side::Dialler, EndState::Waiting) => return self.give_up_dial(id),
            (Side::Target, EndState::Waiting) | (_, EndState::Open) => {
                end.state = EndState::Closed;
                if self.machines[node].incarnation == incarnation {
                    self.trace_link(node, id, MarkKind::LinkDown);
                    self.with(node, |node, now| node.handle_link_down(id.link(), now));
                }
            }
        }
        self.connections.sweep(id);
    }

    /// Packets that waited for a cut or a power cut to end set out again.
    pub(super) fn unstall(&mut self) {
        for (id, side) in self.connections.stalled() {
            let stall = super::network::Network::stall(&mut self.random);
            let now = self.now;
            let Some(connection) = self.connections.get_mut(id) else {
                continue;
            };
            let end = connection.end_mut(side);
            end.stalled = false;
            if end.sent.is_empty() {
                continue;
            }
            for (at, _) in &mut end.sent {
                *at = (*at).max(now + stall);
            }
            end.in_order = end.in_order.max(now + stall);
            self.agenda.enter(now + stall, Event::Packet(id, side));
        }
    }

    /// The process of a machine ends, whatever it was doing. Its kernel closes its links.
    pub(super) fn end_process(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if machine.process.take().is_none() {
            return;
        }
        let incarnation = machine.incarnation;
        machine.lit.clear();
        self.oracles.ended(node);
        machine.disk.crash(&mut self.random);
        let powered = machine.powered;
        for (id, side) in self.connections.of(node, incarnation) {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.end_mut(side).state = EndState::Closed;
                connection.end_mut(side).sent.clear();
            }
            self.trace_dropped(id, side);
            if powered {
                self.send_reset(id, side.other());
            }
        }
        self.falls_silent(node);
        self.disturbed();
        self.note(node, Note::Ended);
    }
}

/// The boundary at which a process may crash before it does this.
fn boundary_before(action: &Action) -> Option<Boundary> {
    match action {
        Action::Persist { .. } => Some(Boundary::Write),
        Action::Broadcast(_) | Action::Unicast { .. } | Action::Packet { .. } => {
            Some(Boundary::Datagram)
        }
        Action::Dial { .. }
        | Action::Send { .. }
        | Action::Close(_)
        | Action::Panel(_)
        | Action::Plan(_)
        | Action::Report(_) => None,
    }
}
