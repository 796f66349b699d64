//! When a group has settled.

use std::time::Duration;

/// Follows whether a group agrees on its master.
#[derive(Debug)]
pub(super) struct Agreement {
    /// How long it must last.
    window: Duration,
    /// How long all interruptions together may last.
    allowance: Duration,
    /// The first moment of the present agreement, interruptions aside.
    since: Option<Duration>,
    interrupted_at: Option<Duration>,
    interrupted: Duration,
}

impl Agreement {
    pub(super) fn new(window: Duration, allowance: Duration) -> Self {
        let interrupted = Duration::ZERO;
        Self { window, allowance, since: None, interrupted_at: None, interrupted }
    }

    /// From this moment on the group agrees, or does not.
    pub(super) fn look(&mut self, now: Duration, agrees: bool) {
        let Some(since) = self.since else {
            if agrees {
                self.begin(now);
            }
            return;
        };
        if self.interrupted_until(now.min(since + self.window)) > self.allowance {
            self.since = None;
            if agrees {
                self.begin(now);
            }
        } else if agrees {
            self.interrupted = self.interrupted_until(now);
            self.interrupted_at = None;
        } else {
            self.interrupted_at.get_or_insert(now);
        }
    }

    /// The first moment of an agreement that has lasted for the window.
    pub(super) fn settled(&self, now: Duration) -> Option<Duration> {
        self.since.filter(|since| now >= *since + self.window)
    }

    /// The first moment of an agreement that may last.
    pub(super) fn since(&self) -> Option<Duration> {
        self.since
    }

    /// When to look again, if nothing changes before.
    pub(super) fn next(&self) -> Option<Duration> {
        self.since.map(|since| since + self.window)
    }

    fn begin(&mut self, now: Duration) {
        self.since = Some(now);
        self.interrupted_at = None;
        self.interrupted = Duration::ZERO;
    }

    fn interrupted_until(&self, now: Duration) -> Duration {
        let latest = self.interrupted_at.map_or(Duration::ZERO, |at| now.saturating_sub(at));
        self.interrupted + latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    /// The moment at which a group settles that agrees from and disagrees from these moments, in
    /// turn.
    fn settles(allowance: u64, changes: &[u64]) -> Option<u64> {
        let mut agreement = Agreement::new(ms(1_000), ms(allowance));
        let mut changes = changes.iter().copied().peekable();
        let mut agrees = false;
        for now in 0..10_000 {
            while changes.next_if_eq(&now).is_some() {
                agrees = !agrees;
            }
            agreement.look(ms(now), agrees);
            if let Some(at) = agreement.settled(ms(now)) {
                return u64::try_from(at.as_millis()).ok();
            }
        }
        None
    }

    #[test]
    fn an_agreement_counts_from_its_first_moment_once_it_has_lasted() {
        assert_eq!(settles(0, &[70]), Some(70));
        assert_eq!(settles(200, &[70]), Some(70));
        assert_eq!(settles(0, &[]), None);
    }

    #[test]
    fn an_interruption_begins_it_anew() {
        assert_eq!(settles(0, &[70, 900, 901]), Some(901));
        assert_eq!(settles(0, &[70, 1_070]), Some(70));
        assert_eq!(settles(0, &[70, 1_069, 1_071]), Some(1_071));
    }

    #[test]
    fn a_rotation_may_interrupt_it_for_as_long_as_allowed_in_all() {
        assert_eq!(settles(200, &[70, 300, 500]), Some(70));
        assert_eq!(settles(200, &[70, 300, 501]), Some(501));
        assert_eq!(settles(200, &[70, 300, 400, 600, 700]), Some(70));
        assert_eq!(settles(200, &[70, 300, 400, 600, 701]), Some(701));
        assert_eq!(settles(200, &[70, 1_000, 1_500]), Some(70));
    }

    #[test]
    fn an_interruption_of_no_length_is_none() {
        let mut agreement = Agreement::new(ms(1_000), Duration::ZERO);
        for agrees in [true, false, true] {
            agreement.look(ms(5), agrees);
        }
        agreement.look(ms(1_005), true);
        assert_eq!(agreement.settled(ms(1_005)), Some(ms(5)));
    }
}
