//! The brain's time.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// How far back before its own start a node can date something: an order that it restores or
/// hears of may have waited for long (F18).
const PAST: Duration = Duration::from_hours(24 * 366);

/// A moment, told by the time since the node started. It is handed in; the brain reads no clock
/// (E5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(Duration);

impl Default for Timestamp {
    fn default() -> Self {
        Self::START
    }
}

impl Timestamp {
    /// The moment at which the node started.
    pub const START: Self = Self(PAST);

    /// The moment this long after the start.
    #[must_use]
    pub fn after_start(elapsed: Duration) -> Self {
        Self(PAST.saturating_add(elapsed))
    }

    /// How long after the start this moment is; zero if it was before.
    #[must_use]
    pub fn since_start(self) -> Duration {
        self.0.saturating_sub(PAST)
    }

    /// How long this moment is after `earlier`; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration))
    }
}

/// Saturates a year before the start.
impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} s", self.0.as_secs_f64() - PAST.as_secs_f64())
    }
}
