//! Messages between nodes, and their encoding.
//!
//! A [`Beacon`] is a datagram: self-contained, and harmless when lost, repeated or reordered. A
//! [`Frame`] travels over a link between two nodes, in order. Both carry the same [`Delta`], and
//! both feed the same merge, so it does not matter which arrives first.
//!
//! `docs/PROTOCOL.md` describes the bytes; [`codec`] encodes and decodes them, purely, so that a
//! fleet in virtual time exchanges exactly the bytes of a real one.

pub mod codec;
pub mod keyring;
mod message;

pub(crate) use message::Room;
pub use message::{
    Ack, Beacon, Delta, Echo, Frame, LinkId, Piggybacked, PlanEntry, StateTransfer, StoreDigest,
};

pub use crate::model::{Hello, NodeState, Nonce, Protocol, UnknownProtocol};
