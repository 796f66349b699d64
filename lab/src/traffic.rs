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
//! Time passes in steps of 50 ms. A plan is made at each change of what it depends on, once a step
//! at most, and at least once a second.
//!
//! [`SimulatedCar`]: elevator_simulator::SimulatedCar
//!
//! # Definitions
//!
//! Scored are passengers who arrive after [`Cell::warm_up`] and before the end of the arrivals.
//!
//! - **Waiting time**: from the arrival at the landing until the passenger steps into a car. AWT is
//!   the mean, P90 and P99 are order statistics: the shortest time that at least this share of the
//!   passengers did not exceed.
//! - **ATTD**: the mean time to destination, from the arrival at the landing until the passenger
//!   has left the car.
//! - **Wrong way**: once a second, each rider in a moving car is counted; the share of those whom
//!   their car carries away from their destination.
//! - **Starts, metres**: how often the cars of the bank set off and how far they went, empty or
//!   not, from the first arrival to the end of the run: what energy depends on.
//! - **Served**: the share of the scored passengers who have reached their destination.
//! - **Saturated**: the bank can't keep up, and averages would depend on how long one looks. A run
//!   is saturated ([`Saturation`]) if somebody is not at the destination an hour after the last
//!   arrival; if somebody still waits at a landing five minutes after it; or if steady traffic
//!   makes the queue grow: the mean number of waiting passengers in the last sixth of the arrivals
//!   exceeds twice that in the first sixth after the warm-up, and by more passengers than all cars
//!   together hold. Such a run has no average, and neither has a cell with such a run.
//!
//! # Statistics
//!
//! The figures of a cell are means over its seeds, of the longest wait the longest. Intervals are
//! 95 % confidence intervals by bootstrap over seeds. Differences are paired: strategies meet the
//! same passengers, who take the same time to pass a door, so that a difference is taken seed by
//! seed.

mod bank;
mod cell;
mod comparison;
mod plot;
mod published;
mod run;
mod strategy;
mod summary;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::bank::{CarFrame, Frame};
pub use self::cell::{Cell, Source, UnknownCell};
pub use self::comparison::{Comparison, Trial};
pub use self::plot::{plot_trace, plot_waits};
pub use self::published::PUBLISHED;
pub use self::run::{Figures, Run, Saturation};
pub use self::strategy::{STRATEGIES, Strategy, UnknownName};
pub use self::summary::{Difference, Means, Summary, differences, summaries, write_json};
pub use crate::output::write_csv;

/// Reads a clock, for the time of decisions: how long since some moment. The figures of a run do
/// not depend on it otherwise.
pub type Stopwatch = fn() -> Duration;

/// A clock that stands still, where decisions are not timed.
#[must_use]
pub fn untimed() -> Duration {
    Duration::ZERO
}
