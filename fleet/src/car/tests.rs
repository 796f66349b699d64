//! A car against a small simulated shaft, in virtual time.

mod door;
mod errands;
mod flight;
mod parking;
mod service;
mod shaft;
mod storm;
mod supervision;
mod sweep;
