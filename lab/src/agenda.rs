//! What happens next.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::PanelEvent;
use elevator_fleet::dispatch::Plan;
use elevator_fleet::node::PlanVersion;
use elevator_fleet::wire::Beacon;

use super::connection::{ArrowId, ConnectionId, Side};

#[derive(Debug, Clone)]
pub(super) enum Event {
    /// The node asked to be woken.
    Wake { node: usize, incarnation: u64 },
    /// A datagram arrives.
    Datagram { from: usize, to: usize, beacon: Arc<Beacon>, arrow: Option<ArrowId> },
    /// A packet of the protocol's own port arrives.
    Told { from: usize, to: usize, bytes: Arc<[u8]>, arrow: Option<ArrowId> },
    /// A datagram arrives from this address that no node has sent now.
    Intruding { address: Ipv4Addr, to: usize, beacon: Arc<Beacon> },
    /// A datagram of this version of the wire protocol arrives from this address.
    OtherVersion { address: Ipv4Addr, to: usize, version: u8 },
    /// The time of a fault is over.
    FaultEnds(TimedFault),
    /// A dial reaches its target.
    Dialled(ConnectionId),
    /// The target's answer reaches the dialler.
    Answered(ConnectionId),
    /// A dial has taken too long.
    DialTimeout(ConnectionId),
    /// The oldest packet that this side has sent may arrive.
    Packet(ConnectionId, Side),
    /// This side learns that nobody is at the other end.
    Reset(ConnectionId, Side),
    /// The disk has finished a transaction.
    Committed { node: usize, incarnation: u64 },
    /// A plan is finished.
    Planned { node: usize, incarnation: u64, version: PlanVersion, plan: Plan },
    /// The panel speaks.
    Panel { node: usize, incarnation: u64, event: PanelEvent },
    /// The car has moved on a little.
    CarMoves { node: usize },
    /// The panel's watchdog runs out, unless the controller has spoken since.
    Watchdog { node: usize, silence: u64 },
}

/// A fault that ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimedFault {
    /// Clogs whose time is over by then.
    Clogs,
    /// A process has tried to write to a full disk, and learns of it.
    FullDiskIsNoticed { node: usize },
    /// A machine goes dark while its disk writes, unless its process has ended.
    Tear { node: usize, incarnation: u64 },
    /// The pause of a process that began at this moment.
    Pause { node: usize, began: Duration },
    /// The noise on the line of a node's panel that began at this moment.
    Noise { node: usize, began: Duration },
    /// The time without a network interface that began at this moment.
    NoInterface { node: usize, began: Duration },
}

impl Event {
    /// Whether a datagram arrives, which may get lost.
    pub(super) fn is_datagram(&self) -> bool {
        matches!(self, Self::Datagram { .. } | Self::Told { .. })
    }

    pub(super) fn arrow(&self) -> Option<ArrowId> {
        match self {
            Self::Datagram { arrow, .. } | Self::Told { arrow, .. } => *arrow,
            _ => None,
        }
    }
}

/// The events to come, by when they happen. Those of one moment happen in the order in which they
/// were entered.
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// The next one last: what is near is entered and taken there, and nothing else has to move.
    events: BTreeMap<Reverse<(Duration, u64)>, Event>,
    sequence: u64,
}

impl Agenda {
    pub(super) fn enter(&mut self, at: Duration, event: Event) {
        self.sequence += 1;
        self.events.insert(Reverse((at, self.sequence)), event);
    }

    /// Takes the next event, if it is due by `until`.
    pub(super) fn pop(&mut self, until: Duration) -> Option<(Duration, Event)> {
        let next = self.events.last_entry().filter(|next| next.key().0.0 <= until)?;
        let (Reverse((at, _)), event) = next.remove_entry();
        Some((at, event))
    }
}
