//! What the environment says of the buildings of a test.

use std::env;

use elevator_fleet::wire::Protocol;

/// The program under test. Cargo gives its path to tests and benchmarks.
pub(super) fn program() -> String {
    let program = env::var("CARGO_BIN_EXE_liftmesh");
    program
        .expect("CARGO_BIN_EXE_liftmesh: cargo test and cargo bench set it to the program's path")
}

/// What `LIFTMESH_ELECTION` says, so that every test can be run under every protocol.
pub(super) fn chosen_election() -> Protocol {
    let Ok(name) = env::var("LIFTMESH_ELECTION") else {
        return Protocol::LowestIp;
    };
    name.parse().expect("LIFTMESH_ELECTION: a protocol")
}
