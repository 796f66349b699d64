//! The election protocols side by side: how soon one node is master, what that costs, and how often
//! there is none or more than one.
//!
//! A [`Trial`] is one fleet and one [`Situation`]: the fleet settles, is left alone for a while,
//! and then something happens to it. A [`Run`] is what was seen. A [`Comparison`] is many trials,
//! over contestants, sizes, losses, conditions, situations and seeds, on all cores. The same
//! comparison always gives the same figures.
//!
//! The section "Method" of `docs/ELECTIONS.md` defines what is measured, with its statistics.

mod agreement;
mod check;
mod comparison;
mod contestant;
mod course;
mod growth;
mod observer;
mod paper;
mod plot;
mod situation;
mod summary;

pub use self::check::{Broken, check};
pub use self::comparison::Comparison;
pub use self::contestant::{Contestant, UnknownContestant};
pub use self::course::{Run, Trial};
pub use self::growth::{Growth, Measure, growth};
pub use self::paper::{DataSet, PUBLISHED, Paper};
pub use self::plot::plot;
pub use self::situation::{Conditions, Situation};
pub use self::summary::{Cell, summary, write_json};
pub use crate::names::UnknownName;
pub use crate::output::{Row, WriteError, write_csv};
pub use crate::plot::PlotError;
pub use crate::statistics::{Interval, Level, Quantile};

#[cfg(test)]
mod tests;
