//! The messages of a ring, and the token that its nodes pass on.

use serde::{Deserialize, Serialize};

use crate::model::{Mac, NodeId, Nonce};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A holder looks for the next node (T3).
    Search,
    /// The answer: *here*, under this address (T3).
    Here(Mac),
    /// A holder lives (T6).
    Life(Life),
    /// The token, handed over (T5).
    Pass(Token),
    /// The token has arrived; its sender is released (T5).
    Accepted(Stamp),
    /// The hand-over with this stamp does not count: its receiver has `seen` a later token (T5).
    Refused { stamp: Stamp, seen: Stamp },
    /// *Wait*: a holder has heard another and begins an exchange with it (T8).
    Wait(Exchange),
    /// *Ok*: the other holder is frozen too (T8).
    Agreed { exchange: Exchange, mac: Mac, count: u64 },
    /// *No longer holder* (T8).
    NoLongerHolder(Exchange),
    /// In an exchange with another, or handing over (T8).
    Busy(Exchange),
    /// The asker has compared (T8).
    Result { exchange: Exchange, survivor: Survivor },
    /// A waiting node is about to make a token, there being none (T7); of two claims to one number
    /// that with the lower address counts.
    Claim { mac: Mac, generation: Generation },
    /// A holder was heard lately: the claim does not count (T7).
    Objection,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Life {
    pub stamp: Stamp,
    pub count: u64,
    /// Nobody answers its searches: it serves alone (T4).
    pub solo: bool,
}

/// The token: its holder is master.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Token {
    pub stamp: Stamp,
    /// How many computations it has seen (T8): one whenever a node becomes its holder, and one each
    /// [hold time](super::Settings::hold), at least each T, while its holder serves alone.
    pub count: u64,
}

/// A token's generation and hops. No two nodes ever hold a token under one stamp (E7).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// The generation; the later one counts.
    pub generation: Generation,
    /// Counts the hand-overs, and attempts at them, from 0.
    pub hop: u64,
}

/// Which of all tokens that ever were.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Generation {
    /// One more than the highest that its creator knew; tokens count from 1.
    pub number: u64,
    pub creator: NodeId,
    pub nonce: Nonce,
}

/// Counts the exchanges that a node has begun, so that a late answer is known for what it is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct Exchange(pub u64);

/// Which of two holders stays one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Survivor {
    Asker,
    Asked,
}
