//! Real processes: nodes and simulated elevators on loopback addresses, or in network namespaces.
//!
//! Each test has a [`Building`](building::Building) with addresses and ports of its own, and mostly
//! waits, so that many run at a time. What loads the machine is in `tests/load`.
//!
//! `LIFTMESH_ELECTION=bully cargo test --test processes faults::` runs a part under another election
//! protocol; `-- --nocapture` shows what is measured.
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code, which ends where what it needs is missing"
)]

mod alerts;
mod assign;
mod ballot;
mod buildings;
mod command_line;
mod console;
mod demo;
mod disk;
mod dispatcher;
mod doctor;
mod documents;
mod elections;
mod faults;
mod firmware;
mod fleet;
mod hang;
mod hardware;
mod http;
mod journal;
mod keys;
mod kit;
mod layers;
mod modbus;
mod modes;
mod mqtt;
mod network;
mod order;
mod pages;
mod record;
mod schedule;
mod stalls;
mod status;
mod supervisor;
mod top;
