//! The Liftmesh process.
//!
//! Read [`runtime`] first: it holds the one loop that feeds the brain,
//! `elevator_fleet::node::Node`.
//!
//! What is public serves the binary, the tests of processes and the benchmarks.
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "the documentation is for those who work on this crate"
)]

mod alerts;
mod bucket;
pub mod caretaker;
mod clearance;
pub mod cli;
pub mod client;
mod command_line;
pub mod config;
mod credentials;
mod data_dir;
#[cfg(feature = "simulator")]
mod demo;
mod dispatcher;
pub mod exit;
pub mod fleet_key;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod http;
pub mod journal;
pub mod latch;
pub mod log;
pub mod mesh;
mod mqtt;
mod mqtt_metrics;
mod offline;
pub mod operator;
mod panel;
mod presses;
mod probe;
mod programs;
mod retry;
pub mod runtime;
mod screen;
mod side;
mod statistics;
pub mod tokens;
