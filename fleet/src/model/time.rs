//! The brain's time.

use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// How far before its start a node can date something that has waited (F18). In nanoseconds.
const PAST: u64 = 366 * 24 * 3600 * 1_000_000_000;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment, as the time since the node started. It is an argument; the brain reads no clock (E5).
/// A single number of nanoseconds, because several are compared at every beacon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

impl Default for Timestamp {
    fn default() -> Self {
        Self::START
    }
}

impl Timestamp {
    /// The moment at which the node started.
    pub const START: Self = Self(PAST);

    #[must_use]
    pub fn after_start(elapsed: Duration) -> Self {
        Self(PAST.saturating_add(nanoseconds(elapsed)))
    }

    /// How long after the start this moment is; zero if it was before.
    #[must_use]
    pub fn since_start(self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(PAST))
    }

    /// How long this moment is after `earlier`; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The length in nanoseconds, or the greatest number of them, which is 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    // 128-bit numbers and checked products are slow in WebAssembly: nearly no time needs them.
    if duration.as_secs() < u64::MAX / NANOS_PER_SEC {
        return duration.as_secs() * NANOS_PER_SEC + u64::from(duration.subsec_nanos());
    }
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(nanoseconds(duration)))
    }
}

/// Saturates a year before the start.
impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(nanoseconds(duration)))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sign, length) = match self.0.checked_sub(PAST) {
            Some(length) => ("", length),
            None => ("-", PAST - self.0),
        };
        write!(f, "{sign}{:.3} s", Duration::from_nanos(length).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_exact_up_to_the_greatest_number_of_nanoseconds() {
        let most = u64::MAX;
        let whole = most - most % NANOS_PER_SEC;
        for length in [0, 1, whole - 1, whole, whole + 1, most - 1, most] {
            assert_eq!(nanoseconds(Duration::from_nanos(length)), length);
        }
        assert_eq!(nanoseconds(Duration::from_nanos(most) + Duration::from_nanos(1)), u64::MAX);
        let before = Timestamp::START - Duration::from_secs(2);
        assert_eq!(
            (before.to_string().as_str(), before.since_start()),
            ("-2.000 s", Duration::ZERO)
        );
    }
}
