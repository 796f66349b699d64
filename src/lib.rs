//! The Liftmesh process.
