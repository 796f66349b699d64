//! The pure brain of an elevator fleet: no socket, no file, no clock, no random source.
//!
//! Time and seeds come in as arguments, actions go out as values; the driver of the brain performs
//! them.
#![forbid(unsafe_code)]

pub mod car;
pub mod climate;
pub mod dispatch;
pub mod election;
pub mod json;
pub mod model;
pub mod node;
pub mod orders;
pub mod wire;
