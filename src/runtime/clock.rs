//! The process's clock, and the detection of interruptions.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use elevator_fleet::dispatch::WeekTime;
use elevator_fleet::model::Timestamp;
use jiff::tz::TimeZone;

/// The longest sleep of the loop, so that it notices a suspension even when idle.
pub(super) const HEARTBEAT: Duration = Duration::from_millis(100);

/// A loop that wakes up this much after its deadline was suspended or held up: far less than the
/// limit of a flight, and far more than the jitter of a busy machine.
pub(super) const SUSPENDED_AFTER: Duration = Duration::from_millis(150);

#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub(super) origin: Instant,
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

/// The time zone of the system, which is read once: nothing in the loop waits for a file.
#[derive(Debug, Clone)]
pub(super) struct LocalTime(TimeZone);

impl LocalTime {
    /// The zone of the variable `TZ`, or that of `/etc/localtime`; UTC without either.
    pub(super) fn of_system() -> Self {
        Self(TimeZone::try_system().unwrap_or(TimeZone::UTC))
    }

    /// The local time of the week, this many seconds after 1970-01-01.
    pub(super) fn of(&self, seconds: u32) -> WeekTime {
        let at =
            jiff::Timestamp::from_second(seconds.into()).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        WeekTime::of_unix(seconds, self.0.to_offset(at).seconds())
    }
}

/// How often the node gets the time of the wall clock, so that it notices when the clock is set.
pub(super) const WALL_CLOCK_PERIOD: Duration = Duration::from_secs(5);

/// The wall clock, in seconds since 1970-01-01, if it is in range.
pub(super) fn wall_clock() -> Option<u32> {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u32::try_from(passed.as_secs()).ok()
}

/// The deadline of the turn that began at `turned`: the node's deadline, or [`HEARTBEAT`] if that
/// is earlier. Now if that has passed: the loop is late only from the moment it could have known.
pub(super) fn wake(deadline: Option<Timestamp>, turned: Timestamp) -> Timestamp {
    let latest = turned + HEARTBEAT;
    deadline.map_or(latest, |deadline| deadline.clamp(turned, latest))
}

/// How long the process did not run when it should have, if that is long enough to matter.
pub(super) fn suspended(planned: Timestamp, now: Timestamp) -> Option<Duration> {
    Some(now.since(planned)).filter(|late| *late > SUSPENDED_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::after_start(Duration::from_millis(millis))
    }

    /// H1: a timer set for a moment in the past is not a sign of an interruption; nor is jitter.
    #[test]
    fn the_loop_is_late_from_when_it_could_have_known() {
        assert_eq!(wake(Some(at(1025)), at(1000)), at(1025));
        assert_eq!(wake(Some(at(9000)), at(1000)), at(1100));
        assert_eq!(wake(None, at(1000)), at(1100));
        assert_eq!(wake(Some(at(900)), at(30_000)), at(30_000));
        for (now, late) in [(990, None), (1150, None), (1151, Some(Duration::from_millis(151)))] {
            assert_eq!(suspended(at(1000), at(now)), late, "{now}");
        }
    }

    /// Summer time begins in Berlin on 2026-03-29 at 01:00 UTC.
    #[test]
    fn local_time_knows_of_summer_time() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone");
        let begins = 1_774_746_000;
        let local = |seconds| LocalTime(berlin.clone()).of(seconds);
        assert_eq!(local(begins - 60), WeekTime::new(6, 1, 59));
        assert_eq!(local(begins), WeekTime::new(6, 3, 0));
        assert_eq!(LocalTime(TimeZone::UTC).of(begins), WeekTime::new(6, 1, 0));
    }
}
