//! What a node wants done, and what comes of it.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::node::{Action, Change, Lsn, Report};
use elevator_fleet::seeded::{SeededBug, is_seeded};
use elevator_fleet::wire::{Beacon, Frame, NodeState, codec};

use super::World;
use crate::agenda::{Event, TimedFault};
use crate::connection::{Packet, SentId};
use crate::fault::{Boundary, Fault};
use crate::history::{Assignment, Note, Service};
use crate::trace::Kind;
use crate::wire::{Flow, Size};

/// What a machine sends over UDP.
#[derive(Debug, Clone)]
enum Datagram {
    Beacon(Arc<Beacon>),
    /// On the protocol's own port.
    Packet(Arc<[u8]>),
}

impl Datagram {
    fn is_of_election(&self) -> bool {
        match self {
            Self::Beacon(beacon) => beacon.piggybacked.is_some(),
            Self::Packet(_) => true,
        }
    }
}

impl World {
    pub(super) fn perform(&mut self, node: usize, action: Action) {
        if let Some(boundary) = boundary_before(&action)
            && self.crashes(node, boundary)
        {
            return;
        }
        match action {
            Action::Broadcast(beacon) => {
                self.mesh_traffic.broadcasts += 1;
                let machines = self.machines.iter().enumerate();
                let others = machines.filter(|(to, it)| *to != node && it.process.is_some());
                let others: Vec<usize> = others.map(|(to, _)| to).collect();
                self.send_beacon(node, beacon, others);
            }
            Action::Unicast { to, beacon } => {
                self.mesh_traffic.unicasts += 1;
                if let Some(to) = self.at_address(to) {
                    self.send_beacon(node, beacon, [to]);
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
            self.count_fault(&Fault::DiskFull(node, true));
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
        if std::mem::take(&mut self.machines[node].next_transaction.is_slow) {
            let millis = self.machines[node].longest_commit(&self.settings) / 1_000;
            self.count_fault(&Fault::SlowDisk { node, millis });
        }
        if self.machines[node].next_transaction.is_torn {
            let torn = Event::FaultEnds(TimedFault::Tear { node, incarnation });
            self.agenda.enter(self.now + wait / 2, torn);
        }
    }

    fn reported(&mut self, node: usize, report: Report) {
        self.count(node, &report);
        self.judge(|oracles, snapshot| oracles.reported(snapshot, node, &report));
        let hung = matches!(report, Report::Hung(_));
        self.note(node, Note::Reported(report));
        if hung {
            self.machines[node].latched = !is_seeded(SeededBug::LatchNotPersisted);
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
            Report::Assigned { call, car, here: true } => {
                let (call, car) = (call.clone(), car.clone());
                self.history.assign(Assignment { at: self.now, call, car });
            }
            Report::PeerLost { .. } => self.mesh_traffic.losses += 1,
            Report::NodeState { to, .. } => {
                self.mesh_traffic.changes += 1;
                self.state_changes += 1;
                self.masters += u64::from(*to == NodeState::Master);
                self.note_estimates();
            }
            Report::Conflict { .. } => self.machines[node].conflicts += 1,
            Report::TakenOver { .. } => self.taken_over += 1,
            Report::Placed { origin, .. } => {
                self.placed += u64::from(*origin == self.machines[node].name);
            }
            Report::Rotated { .. } => self.state_changes += 1,
            _ => {}
        }
    }

    fn send_beacon(
        &mut self,
        from: usize,
        beacon: Beacon,
        receivers: impl IntoIterator<Item = usize>,
    ) {
        let beacon = self.datagram(from, beacon);
        let size = Size::of_beacon(&beacon);
        let recorder = self.recorder.as_mut();
        let sent = recorder.and_then(|recorder| {
            recorder.sent(self.now, from, |protocol| Kind::of_beacon(&beacon, protocol))
        });
        let beacon = Datagram::Beacon(beacon);
        self.flow(&beacon).send(size);
        for to in receivers {
            self.post((from, to), &beacon, size, sent);
        }
    }

    /// A datagram goes to a machine: it arrives once or twice, or not at all.
    fn post(
        &mut self,
        (from, to): (usize, usize),
        datagram: &Datagram,
        size: Size,
        sent: Option<SentId>,
    ) {
        let is_reliable = self.settings.reliable_elections && datagram.is_of_election();
        let mut arrivals = self.arrivals(from, to, is_reliable);
        for arrival in arrivals.iter_mut().filter(|arrival| arrival.is_some()) {
            if self.network.corrupts(&mut self.random) {
                *arrival = None;
                match datagram {
                    Datagram::Beacon(beacon) => self.damage_beacon(from, to, beacon),
                    // What is damaged is dropped: by UDP, or for its tag.
                    Datagram::Packet(_) => self.interference.damaged += 1,
                }
            }
        }
        let arrows = self.trace_arrows(sent, (from, to), arrivals);
        for (at, arrow) in arrivals.into_iter().zip(arrows) {
            let Some(at) = at else { continue };
            // What comes back to its sender does not cross the wire.
            if to != from && self.machines[to].process.is_some() {
                self.flow(datagram).receive(size);
            }
            let event = match datagram.clone() {
                Datagram::Beacon(beacon) => Event::Datagram { from, to, beacon, arrow },
                Datagram::Packet(bytes) => Event::Told { from, to, bytes, arrow },
            };
            self.agenda.enter(at, event);
        }
    }

    fn flow(&mut self, datagram: &Datagram) -> &mut Flow {
        if datagram.is_of_election() { &mut self.wire.election } else { &mut self.wire.beacons }
    }

    /// One that is sent to everybody comes back to its sender.
    fn send_packet(&mut self, from: usize, to: Option<Ipv4Addr>, bytes: Vec<u8>) {
        self.election_traffic.count(bytes.len());
        let size = Size::datagram(bytes.len());
        self.wire.election.send(size);
        let everybody = 0..self.machines.len();
        let receivers: Vec<usize> = match to {
            Some(to) => self.at_address(to).into_iter().collect(),
            None => everybody.filter(|to| self.machines[*to].process.is_some()).collect(),
        };
        let recorder = self.recorder.as_mut();
        let sent = recorder
            .and_then(|recorder| recorder.sent(self.now, from, |_| Kind::of_packet(&bytes)));
        let packet = Datagram::Packet(bytes.into());
        for to in receivers {
            self.post((from, to), &packet, size, sent);
        }
    }

    /// When a datagram arrives, if it does, and when its copy does, if there is one.
    fn arrivals(&mut self, from: usize, to: usize, is_reliable: bool) -> [Option<Duration>; 2] {
        let twice = self.network.duplicates(&mut self.random);
        let pair = (from, to);
        [true, twice].map(|sent| {
            let arrives = sent
                && self.network.passes(from, to)
                && (is_reliable || !self.network.loses(&mut self.random, self.now, pair));
            arrives.then(|| self.now + self.network.datagram_delay(&mut self.random))
        })
    }

    fn datagram(&mut self, node: usize, mut beacon: Beacon) -> Arc<Beacon> {
        self.distort(node, &mut beacon.delta.plan);
        if let Some(piggybacked) = &beacon.piggybacked {
            self.election_traffic.count(codec::size(piggybacked));
        }
        if self.settings.codec {
            let read = codec::encode_beacon(&beacon, &self.keys)
                .and_then(|bytes| codec::decode_beacon(&bytes, &self.keys));
            self.compare(node, &beacon, &read);
        }
        let beacon = Arc::new(beacon);
        self.recordings.listen(node, &beacon);
        beacon
    }

    fn frame(&mut self, node: usize, frame: Frame) -> Frame {
        if self.settings.codec {
            let read = codec::encode_frame(&frame).and_then(|bytes| codec::decode_frame(&bytes));
            self.compare(node, &frame, &read);
        }
        frame
    }

    /// What is read has to be what was sent.
    fn compare<T, E>(&mut self, node: usize, sent: &T, read: &Result<T, E>)
    where
        T: PartialEq + fmt::Debug,
        E: fmt::Debug,
    {
        if read.as_ref().ok() != Some(sent) {
            let what = format!("{sent:?} was read as {read:?}");
            self.judge(|oracles, snapshot| oracles.misread(snapshot, node, what));
        }
    }

    /// The process of a machine ends, whatever it was doing. Its kernel closes its links.
    pub(super) fn end_process(&mut self, node: usize) {
        if self.machines[node].process.is_none() {
            return;
        }
        self.judge(|oracles, snapshot| oracles.promises.process_ends(snapshot, node));
        let machine = &mut self.machines[node];
        machine.process = None;
        let incarnation = machine.incarnation;
        machine.lit.clear();
        machine.disk.crash(&mut self.random);
        let powered = machine.powered;
        for (id, side) in self.connections.of(node, incarnation) {
            self.connections.close(id, side);
            self.drop_packets(id, side);
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
        Action::Send { .. } => Some(Boundary::Unsent),
        Action::Dial { .. } => Some(Boundary::Dial),
        Action::Panel(_) => Some(Boundary::Panel),
        Action::Close(_) | Action::Plan(_) | Action::Report(_) => None,
    }
}
