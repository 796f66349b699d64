//! What nodes say to each other, and its bytes.
//!
//! A [`Beacon`] is a datagram: complete in itself, harmless when lost, repeated or overtaken. A
//! [`Frame`] travels over a link between two nodes, in order. Both carry the same [`Delta`], and
//! both feed the same merge, so it does not matter which arrives first.
//!
//! The bytes are described in `docs/PROTOCOL.md`; [`codec`] makes and reads them. It stands here
//! and not beside the sockets because it is pure, and so that a fleet in virtual time talks in the
//! very bytes that a real one does.

pub mod codec;
#[cfg(test)]
pub(crate) mod listing;
mod message;

pub use message::{
    Ack, Beacon, Delta, Echo, Frame, Hello, NodeState, Nonce, Piggybacked, PlanEntry, Protocol,
    StateTransfer, StoreDigest, UnknownProtocol,
};
