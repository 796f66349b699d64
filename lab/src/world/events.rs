//! What happens to a world, event by event.

use std::net::Ipv4Addr;

use elevator_driver::PanelEvent;
use elevator_fleet::model::Timestamp;
use elevator_fleet::node::Node;
use elevator_fleet::wire::codec::WireError;

use super::World;
use crate::agenda::Event;
use crate::connection::{ArrowId, Side};
use crate::fault::Boundary;
use crate::trace::Fate;

/// The most datagrams that wait for a suspended process; more are dropped, as by its kernel.
const MOST_BACKLOG: usize = 2_000;

/// A node that handles this many deadlines at one moment has one that it never gets past.
const SPIN: u32 = 1_000;

impl World {
    pub(crate) fn happen(&mut self, event: Event) {
        let Some(event) = self.hold_back(event).and_then(|event| self.defer(event)) else { return };
        match event {
            Event::Wake { node, incarnation } => self.wake(node, incarnation),
            Event::Datagram { from, to, beacon, arrow } => {
                self.hear((from, to), arrow, |node, address, now| {
                    node.handle_beacon(address, &beacon, now);
                });
            }
            Event::Told { from, to, bytes, arrow } => {
                self.hear((from, to), arrow, |node, address, now| {
                    node.handle_packet(address, &bytes, now);
                });
            }
            Event::Intruding { address, to, beacon } => {
                self.with(to, |node, now| {
                    node.handle_beacon(address, &beacon, now);
                });
            }
            Event::OtherVersion { address, to, version } => {
                let error = WireError::Version(version);
                self.with(to, |node, now| node.handle_unreadable(address, &error, now));
            }
            Event::FaultEnds(fault) => self.fault_ends(fault),
            Event::Dialled(id) => self.dialled(id),
            Event::Answered(id) => self.answered(id),
            Event::DialTimeout(id) => self.dial_timeout(id),
            Event::Packet(id, side) => self.packet(id, side),
            Event::Reset(id, side) => self.reset(id, side),
            Event::Committed { node, incarnation } => self.committed(node, incarnation),
            Event::Planned { node, incarnation, version, plan } => {
                if self.machines[node].incarnation == incarnation {
                    self.with(node, |node, now| node.handle_plan(version, plan, now));
                }
            }
            Event::Panel { node, incarnation, event } => {
                if self.machines[node].incarnation == incarnation {
                    let machine = &mut self.machines[node];
                    machine.on_panel_event(&event);
                    if let PanelEvent::Pressed(button) = &event {
                        self.oracles.orders.told(machine, *button);
                    }
                    self.with(node, |node, now| {
                        node.handle_panel(event, now);
                    });
                }
            }
            Event::CarMoves { node } => self.car_moves(node),
            Event::Watchdog { node, silence } => self.watchdog(node, silence),
        }
    }

    /// Which machine an event comes from, if it crosses the network, and for which process it is.
    fn ends(&self, event: &Event) -> (Option<usize>, Option<usize>) {
        let over = |id, sender: Side| {
            let connection = self.connections.get(id);
            let end = |side| connection.map(|connection| connection.end(side).node);
            (end(sender), end(sender.other()))
        };
        match event {
            Event::Datagram { from, to, .. } | Event::Told { from, to, .. } => {
                (Some(*from), Some(*to))
            }
            Event::Dialled(id) => over(*id, Side::Dialler),
            Event::Answered(id) => over(*id, Side::Target),
            Event::Packet(id, side) => over(*id, *side),
            Event::Reset(id, side) => over(*id, side.other()),
            Event::DialTimeout(id) => (None, over(*id, Side::Target).1),
            Event::Wake { node: to, .. }
            | Event::Committed { node: to, .. }
            | Event::Planned { node: to, .. }
            | Event::Panel { node: to, .. }
            | Event::Intruding { to, .. }
            | Event::OtherVersion { to, .. } => (None, Some(*to)),
            Event::FaultEnds(_) | Event::CarMoves { .. } | Event::Watchdog { .. } => (None, None),
        }
    }

    /// Keeps an event back if it has to cross a clogged network.
    fn hold_back(&mut self, event: Event) -> Option<Event> {
        if !self.network.is_clogged() {
            return Some(event);
        }
        match self.ends(&event) {
            (Some(from), Some(to)) => self.network.hold((from, to), event),
            _ => Some(event),
        }
    }

    /// Keeps an event back if it is for a suspended process.
    fn defer(&mut self, event: Event) -> Option<Event> {
        let (_, node) = self.ends(&event);
        let backlog = node
            .and_then(|node| self.machines[node].process.as_mut())
            .and_then(|process| process.backlog.as_mut());
        match (backlog, &event) {
            (None, _) => Some(event),
            (Some(backlog), Event::Datagram { arrow, .. } | Event::Told { arrow, .. })
                if backlog.len() >= MOST_BACKLOG =>
            {
                let arrow = *arrow;
                self.trace_fate(arrow, Fate::Unheard(self.now));
                None
            }
            (Some(backlog), _) => {
                let arrow = event.arrow();
                backlog.push_back(event);
                self.trace_fate(arrow, Fate::Waits(self.now));
                None
            }
        }
    }

    fn wake(&mut self, node: usize, incarnation: u64) {
        let now = self.now;
        let machine = &mut self.machines[node];
        if machine.incarnation != incarnation {
            return;
        }
        let Some(process) = machine.process.as_mut() else { return };
        if process.wake.is_none_or(|wake| wake <= now) {
            process.wake = None;
        }
        let due = process.node.poll_timeout().is_some_and(|(at, _)| process.world(at) <= now);
        if due {
            let (at, count) = process.deadlines;
            let count = if at == now { count + 1 } else { 1 };
            process.deadlines = (now, count);
            assert!(
                count < SPIN,
                "node {node} never gets past {now:?}: {:?} is due again and again",
                process.node.poll_timeout()
            );
            self.with(node, Node::handle_timeout);
        } else {
            self.arm(node);
        }
    }

    fn hear(
        &mut self,
        (from, to): (usize, usize),
        arrow: Option<ArrowId>,
        handle: impl FnOnce(&mut Node, Ipv4Addr, Timestamp),
    ) {
        self.trace_arrival(arrow, from, to);
        if self.network.passes(from, to) {
            let address = self.machines[from].address;
            self.with(to, |node, now| handle(node, address, now));
        }
    }

    fn committed(&mut self, node: usize, incarnation: u64) {
        if self.machines[node].incarnation != incarnation {
            return;
        }
        // What the disk has begun is durable, whether or not the process learns of it.
        if self.machines[node].crash == Some((Boundary::Durable, 0)) {
            self.machines[node].disk.apply();
        }
        if self.crashes(node, Boundary::Durable) {
            return;
        }
        if let Some((lsn, more)) = self.machines[node].disk.committed() {
            if more {
                self.commit_later(node);
            }
            self.with(node, |node, now| node.handle_durable(lsn, now));
        }
    }
}
