//! The input of `liftmesh assign`.

pub use super::assign::fuzzing::assign;
