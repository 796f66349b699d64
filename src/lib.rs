//! The Liftmesh process.

#[cfg(feature = "simulator")]
pub mod lab;
