//! The dispatchers side by side, on the same passengers.
//!
//! ```text
//!   Cell: Building, Traffic or list ── seed ──▶ passengers ──▶ Crowd
//!                                                               │ presses, load, doorway
//!   Strategy ──▶ Dispatcher ◀── Bank, Plan ──▶ Car ── panel ── SimulatedCar   (× n)
//!                                                               │
//!            Trial: cell, strategy, seed ── run ──▶ Run ──▶ Summary, Difference, plots
//! ```
//!
//! A run has the cars of a bank and no network: each car is driven by the control of a real node
//! ([`elevator_fleet::car::Car`]) behind the panel of a [`SimulatedCar`], and one dispatcher plans
//! for all of them. A dispatcher sees what a real bank sees: which buttons are lit and since when,
//! and of each car its position, door, load and car calls. It sees no destination before a
//! passenger has pressed it in a car, and not how many wait behind a button.
//!
//! With [`Strategy::Destination`] passengers give the destination at the landing: then a dispatcher
//! sees which trips are wanted and since when, but not by how many. The car that opens for a trip
//! has the car call at once; its passengers press nothing.
//!
//! In a [`Gym`] another program assigns the calls instead of a strategy, one by one.
//!
//! Time passes in steps of 50 ms. A plan is made at each change of what it depends on, once a step
//! at most, and at least once a second.
//!
//! `docs/DISPATCH.md` defines what is measured and how it is averaged.
//!
//! [`SimulatedCar`]: elevator_simulator::SimulatedCar

mod bank;
mod cell;
mod comparison;
mod gym;
mod plot;
mod run;
mod strategy;
mod summary;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::cell::{Cell, Source, UnknownCell};
pub use self::comparison::{Comparison, Trial};
pub use self::gym::{Costs, Gym, GymError, Moment, Shape};
pub use self::plot::plot_waits;
pub use self::run::{Figures, Run, Saturation};
pub use self::strategy::{BankOf, Own, STRATEGIES, Strategy, UnknownName};
pub use self::summary::{Difference, Means, Summary, differences, summaries, write_json};
pub use crate::output::write_csv;

/// Reads a clock, for the time of decisions: how long since some moment. The figures of a run do
/// not depend on it otherwise.
pub type Stopwatch = fn() -> Duration;
