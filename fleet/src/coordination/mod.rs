//! Who leads: one interface, one file a protocol (C1).
//!
//! ```text
//!   found, lost, announced, joined, timer ──▶ Election ──▶ dial, hang up, arm a timer
//!                                                │
//!                                                ▼
//!                                   Standing: seeking, slave of …, master
//! ```
//!
//! An election knows no time, no socket and no random source (C2): it arms named, relative timers,
//! and a random draw comes with every input. So its states are few, comparable and can be walked
//! by a model checker.

mod lowest_ip;

use core::net::Ipv4Addr;
use std::fmt;
use std::time::Duration;

use crate::model::NodeId;
use crate::wire::Standing;

pub use lowest_ip::LowestIp;

/// A protocol that chooses the coordinator.
pub trait Election: fmt::Debug + Send {
    /// Takes an input in; what is to be done is appended to `outputs`.
    ///
    /// `draw` is a random number; a protocol that needs none ignores it.
    fn handle(&mut self, input: Input<'_>, draw: u64, outputs: &mut Vec<Output>);

    /// Where the node stands.
    fn standing(&self) -> Standing;

    /// Whether a slave dials its master and there are no other links, so that links and standings
    /// can be held against each other.
    fn links_follow_standing(&self) -> bool;
}

/// Something that an election has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input<'a> {
    /// A peer that hears this node, and is heard, tells where it stands. Told at every beacon.
    Heard {
        /// Who.
        peer: &'a NodeId,
        /// Where.
        address: Ipv4Addr,
        /// What it says.
        standing: &'a Standing,
    },
    /// A peer is not heard any more.
    Lost {
        /// Who.
        peer: &'a NodeId,
    },
    /// A link stands and full states have been exchanged over it (F14).
    Joined {
        /// With whom.
        peer: &'a NodeId,
        /// Which of the two dialled.
        side: LinkSide,
    },
    /// A link is gone, or could not be made.
    Parted {
        /// From whom.
        peer: &'a NodeId,
    },
    /// A timer has run out.
    Fired(&'a ElectionTimer),
}

/// Which side of a link this node is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LinkSide {
    /// This node opened it.
    Dialled,
    /// The peer opened it.
    Accepted,
}

/// Something that an election wants done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Start a timer, or start it anew.
    Arm(ElectionTimer, Duration),
    /// Open a link to a peer. Answered by [`Input::Joined`] or [`Input::Parted`].
    Dial(NodeId),
    /// Close the link to this peer, if there is one.
    HangUp(NodeId),
    /// Close every link but the one to this peer.
    HangUpAllBut(NodeId),
}

/// The timers of elections.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ElectionTimer {
    /// This peer may be dialled again.
    Redial(NodeId),
    /// The link to this peer has had its time to carry.
    Join(NodeId),
}
