//! How well the fleet has served its passengers in the last week: pure arithmetic over what a node has
//! seen, without a clock or a file.
//!
//! ```text
//!   a served call ─▶ Tally ─▶ Week ─▶ one Quarter for each 15 minutes ─▶ the journal
//!   states of cars ────┘       └───▶ Statistics of a window ─▶ the API
//! ```
//!
//! A quarter is chosen by the wall clock, and every duration in it comes from a monotonic one. So a
//! wall clock that is set puts what follows into another quarter, and changes no time.
//!
//! A call counts when it is served: one that several passengers have pressed counts once, with the wait
//! of the first. Calls that a fire recall drops don't count.

mod histogram;
mod quarter;
mod report;
mod tally;
mod week;

use std::time::Duration;

#[cfg(test)]
pub(crate) use self::histogram::BINS;
#[cfg(test)]
pub(crate) use self::quarter::Kind;
pub(crate) use self::quarter::{CarState, Quarter};
pub(crate) use self::report::Asked;
pub(crate) use self::tally::Tally;
pub(crate) use self::week::{Changes, Slot, Window};

/// Whole milliseconds, at most those of 49 days.
fn millis(time: Duration) -> u32 {
    u32::try_from(time.as_millis()).unwrap_or(u32::MAX)
}
