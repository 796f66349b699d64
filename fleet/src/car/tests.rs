//! A car against a small simulated shaft, in virtual time.

mod buttons;
mod counters;
mod door;
mod service;
mod shaft;
mod sides;
mod storm;
mod supervision;
mod sweep;
