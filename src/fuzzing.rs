//! The parsers that take in bytes from outside, for the package `liftmesh-fuzz`, and for nothing
//! else.
//!
//! They are private to this crate, and a fuzzer has to reach them without a socket, a file or a
//! process around them. The feature `fuzzing` is the price: without it nothing of this is there.

pub use crate::cli::fuzzing::{Assigned, assign};
pub use crate::config::fuzzing::settings;
pub use crate::fleet_key::fuzzing::{key, key_files};
pub use crate::latch::fuzzing::latch;
pub use crate::mqtt::fuzzing::{mqtt_call, mqtt_session};
