//! A car against a small simulated shaft, in virtual time.

mod buttons;
mod door;
mod service;
mod shaft;
mod storm;
mod supervision;
mod sweep;
