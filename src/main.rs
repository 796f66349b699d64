//! The Liftmesh binary.
fn main() {}
