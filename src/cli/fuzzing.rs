//! The input of `liftmesh assign`.

pub use super::assign::fuzzing::{Assigned, assign};
