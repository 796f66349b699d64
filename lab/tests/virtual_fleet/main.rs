//! Fleets in virtual time: the real brain, simulated cars, a network that does its worst.
//!
//! A failing test prints its seed, and this runs it again exactly as it was:
//! `LIFTMESH_SEED=… cargo test -p liftmesh-lab --test virtual_fleet NAME`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "all of this is test code, which says what to replay"
)]

mod broken_cars;
mod building;
mod campaign;
mod climate;
mod destination;
mod disks;
mod election_bully;
mod election_lowest_ip;
mod election_token_ring;
mod elections;
mod errands;
mod faults;
mod machines;
mod masters;
mod modes;
mod network;
mod sessions;
mod size;
mod steady;
mod week;
mod zones;
