//! The process's clock, and whether the process ran all the time.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use elevator_fleet::model::Timestamp;

/// The longest that the loop sleeps, so that it notices a suspension even when it has nothing to
/// do.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);

/// A loop that wakes so much later than planned was suspended, or held up as badly: long before a
/// car could be taken for hung, well beyond the jitter of a busy machine.
pub(super) const SUSPENDED_AFTER: Duration = Duration::from_millis(150);

/// The monotonic clock since the start of the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self { origin: Instant::now() }
    }

    pub(super) fn now(&self) -> Timestamp {
        Timestamp::after_start(self.origin.elapsed())
    }

    pub(super) fn instant(&self, at: Timestamp) -> tokio::time::Instant {
        (self.origin + at.since_start()).into()
    }
}

/// How often the node is told what the wall clock shows, so that it follows when that is set.
pub(super) const WALL_CLOCK_PERIOD: Duration = Duration::from_secs(5);

/// What the wall clock shows, in seconds since 1970-01-01, for people to read; `None` outside the
/// years that the fleet can tell of.
pub(super) fn wall_clock() -> Option<u32> {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u32::try_from(passed.as_secs()).ok()
}

/// When the turn that has begun at `turned` is to end: at the node's deadline, but after [`HEARTBEAT`]
/// at the latest. At once where the deadline has passed, for the loop is late only from when it could
/// have known.
pub(super) fn wake(deadline: Option<Timestamp>, turned: Timestamp) -> Timestamp {
    let latest = turned + HEARTBEAT;
    deadline.map_or(latest, |deadline| deadline.clamp(turned, latest))
}

/// For how long the process did not run when it should have, if that is long enough to matter.
pub(super) fn suspended(planned: Timestamp, now: Timestamp) -> Option<Duration> {
    Some(now.since(planned)).filter(|late| *late > SUSPENDED_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::after_start(Duration::from_millis(millis))
    }

    #[test]
    fn the_loop_wakes_at_the_deadline_and_never_later_than_a_heartbeat() {
        assert_eq!(wake(Some(at(1025)), at(1000)), at(1025));
        assert_eq!(wake(Some(at(9000)), at(1000)), at(1100));
        assert_eq!(wake(None, at(1000)), at(1100));
    }

    /// H1: a timer that is set for a moment in the past, as that of a peer that was silent for long
    /// and has just been lost, is no sign that the process was away.
    #[test]
    fn a_deadline_in_the_past_is_no_suspension() {
        let planned = wake(Some(at(900)), at(30_000));
        assert_eq!(planned, at(30_000));
        assert_eq!(suspended(planned, at(30_001)), None);
    }

    /// H1
    #[test]
    fn a_late_wake_is_jitter_until_it_is_a_suspension() {
        assert_eq!(suspended(at(1000), at(990)), None);
        assert_eq!(suspended(at(1000), at(1150)), None);
        assert_eq!(suspended(at(1000), at(1151)), Some(Duration::from_millis(151)));
    }
}
