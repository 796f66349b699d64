//! The states of a node of a ring; each owns its data.

use std::collections::BTreeSet;

use super::message::{Exchange, Generation, Token};
use crate::model::{Mac, NodeId};

/// A node and its place in the ring: by address, then by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Member {
    pub(super) mac: Mac,
    pub(super) node: NodeId,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// Another holds the token, if any node does.
    Waiting {
        holder: Option<Member>,
    },
    /// Another has claimed to make a token: it waits for what comes of that.
    Deferring {
        claimant: Member,
    },
    /// No holder was heard for too long: a claim is due after a while.
    Missing {
        holder: Option<Member>,
    },
    /// It has claimed to make a token, and listens for objections.
    Claiming {
        generation: Generation,
    },
    Holding {
        token: Token,
        phase: Phase,
    },
    /// It has sent the token off and awaits the acknowledgement. It does not act.
    Passing {
        token: Token,
        to: Member,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Phase {
    Resting,
    Searching {
        attempt: u8,
        answers: BTreeSet<Member>,
    },
    Alone,
    /// It has an exchange with another holder and does not pass the token on.
    Frozen {
        with: Member,
        asked: Option<Exchange>,
        /// The exchange of the other that this node agreed to.
        agreed: Option<Exchange>,
        /// A holder whose pair is the greater: while that one acts this one does not.
        behind: Option<Member>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// T: a holder's next sign of life is due.
    Life,
    /// The holder has kept the token for its time, or computed once more alone.
    Hold,
    /// No more answers are waited for, or it is time to search again.
    Search,
    Acknowledgement,
    Exchange,
    /// T: no holder was heard; or nothing came of a claim.
    Watch,
    /// It is this node's turn to claim.
    Claim,
    Listen,
}

impl State {
    pub(super) fn timers(&self) -> &'static [Timer] {
        match self {
            Self::Waiting { .. } | Self::Deferring { .. } => &[Timer::Watch],
            Self::Missing { .. } => &[Timer::Claim],
            Self::Claiming { .. } => &[Timer::Listen],
            Self::Holding { phase, .. } => match phase {
                Phase::Resting => &[Timer::Life, Timer::Hold],
                Phase::Searching { .. } => &[Timer::Life, Timer::Search],
                Phase::Alone => &[Timer::Life, Timer::Hold, Timer::Search],
                Phase::Frozen { .. } => &[Timer::Life, Timer::Exchange],
            },
            Self::Passing { .. } => &[Timer::Acknowledgement],
        }
    }
}
