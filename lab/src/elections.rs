//! The election protocols side by side: how soon one node is master, what that costs, and how often
//! there is none or more than one.
//!
//! A [`Trial`] is one fleet and one [`Situation`]: the fleet settles, is left alone for a while,
//! and then something happens to it. A [`Run`] is what was seen. A [`Comparison`] is many trials,
//! over contestants, sizes, losses, conditions, situations and seeds, on all cores. The same
//! comparison always gives the same figures.
//!
//! # Definitions
//!
//! - **Agreement.** One node of a group is master, and all others of it are its slaves.
//! - **Settled.** A group settles at the first moment from which it agrees for a second, the window. All
//!   interruptions within it together may last as long as the protocol states that a
//!   change of master takes to be known: T with `token-ring`, whose mastership rotates, and 0 with
//!   every other one. The time of a run is from the event to this moment, in virtual time, exact
//!   to the event of the simulation.
//! - **Unsettled.** A run that does not settle within [`Contestant::limit`] is censored there: its
//!   time is longer than the limit. It counts in every quantile. So does a run whose fleet did not
//!   settle before the event.
//! - **Messages.** Those of the protocol, sensor and display data included, from the event to the
//!   end of the window; a broadcast counts once. The *excess* is what exceeds the messages that the
//!   same nodes send while they are quiet, measured directly after the window, in as much time as
//!   none of them was without a master: sensor data flow to masters.
//! - **Packets.** [`Wire`](crate::Wire) says what counts as sent and received.
//! - **Without a master.** Some node that runs is not master and has no path to and from one.
//! - **Two masters.** Two nodes are master, and the network connects them both ways.
//! - **Change.** A node becomes master. A planned rotation is none: a slave becomes master while
//!   no node that it is connected with is.
//!
//! # Statistics
//!
//! - **Quantiles** are order statistics: the smallest time that at least this share of the runs did
//!   not exceed. Their 95 % confidence intervals are distribution-free, between two order
//!   statistics; where there are too few runs for a limit, it is missing. Medians need 6 runs, p95
//!   72, and p99 368.
//! - **Means** have 95 % confidence intervals by bootstrap over seeds, 1,000 resamples (percentiles).
//! - **Rates** of changes have exact 95 % confidence intervals for a Poisson process.
//! - **Growth** is the slope of a least-squares line through the logarithms of the numbers of nodes
//!   and of the medians (times) or means (messages); its interval is by bootstrap over seeds
//!   within each size.
//!
//! # Seeds
//!
//! A world's seed is a hash of the trial's seed, size, loss, conditions and situation: the runs of
//! different cells are independent, except that all contestants meet the same fleets.

mod agreement;
mod check;
mod comparison;
mod contestant;
mod course;
mod growth;
mod observer;
mod plot;
mod situation;
mod summary;

pub use self::check::{Broken, check};
pub use self::comparison::Comparison;
pub use self::contestant::{Contestant, UnknownContestant};
pub use self::course::{Run, Trial};
pub use self::growth::{Growth, Measure, growth};
pub use self::plot::plot;
pub use self::situation::{Conditions, Situation};
pub use self::summary::{Cell, summary, write_json};
pub use crate::names::UnknownName;
pub use crate::output::{WriteError, write_csv};
pub use crate::plot::PlotError;
pub use crate::statistics::{Interval, Level, Quantile};

#[cfg(test)]
mod tests;
