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

#[path = "virtual_fleet/addresses.rs"]
mod addresses;
#[path = "virtual_fleet/bad_master.rs"]
mod bad_master;
#[path = "virtual_fleet/broken_cars.rs"]
mod broken_cars;
#[path = "virtual_fleet/building.rs"]
mod building;
#[path = "virtual_fleet/campaign.rs"]
mod campaign;
#[path = "virtual_fleet/climate.rs"]
mod climate;
#[path = "virtual_fleet/destination.rs"]
mod destination;
#[path = "virtual_fleet/disks.rs"]
mod disks;
#[path = "virtual_fleet/dispatch.rs"]
mod dispatch;
#[path = "virtual_fleet/doors.rs"]
mod doors;
#[path = "virtual_fleet/election_ballot.rs"]
mod election_ballot;
#[path = "virtual_fleet/election_bully.rs"]
mod election_bully;
#[path = "virtual_fleet/election_costs.rs"]
mod election_costs;
#[path = "virtual_fleet/election_lowest_ip.rs"]
mod election_lowest_ip;
#[path = "virtual_fleet/election_senior.rs"]
mod election_senior;
#[path = "virtual_fleet/election_token_ring.rs"]
mod election_token_ring;
#[path = "virtual_fleet/elections.rs"]
mod elections;
#[path = "virtual_fleet/errands.rs"]
mod errands;
#[path = "virtual_fleet/faults.rs"]
mod faults;
#[path = "virtual_fleet/forged.rs"]
mod forged;
#[path = "virtual_fleet/messages.rs"]
mod messages;
#[path = "virtual_fleet/modes.rs"]
mod modes;
#[path = "virtual_fleet/network.rs"]
mod network;
#[path = "virtual_fleet/planning.rs"]
mod planning;
#[path = "virtual_fleet/promise.rs"]
mod promise;
#[path = "virtual_fleet/reception.rs"]
mod reception;
#[path = "virtual_fleet/restarted.rs"]
mod restarted;
#[path = "virtual_fleet/resumed.rs"]
mod resumed;
#[path = "virtual_fleet/riders.rs"]
mod riders;
#[path = "virtual_fleet/roles.rs"]
mod roles;
#[path = "virtual_fleet/schedule.rs"]
mod schedule;
#[path = "virtual_fleet/service.rs"]
mod service;
#[path = "virtual_fleet/sessions.rs"]
mod sessions;
#[path = "virtual_fleet/size.rs"]
mod size;
#[path = "virtual_fleet/steady.rs"]
mod steady;
#[path = "virtual_fleet/stuck_motor.rs"]
mod stuck_motor;
#[path = "virtual_fleet/twins.rs"]
mod twins;
#[path = "virtual_fleet/week.rs"]
mod week;
