//! When a group has settled.

use std::time::Duration;

/// How long an agreement must last to count.
pub(super) const WINDOW: Duration = Duration::from_secs(1);

/// Follows whether a group agrees on its master.
#[derive(Debug)]
pub(super) struct Agreement {
    /// How long all interruptions together may last.
    allowance: Duration,
    /// The first moment of the present agreement, interruptions aside. The group has settled then if
    /// it lasts for the window.
    pub(super) since: Option<Duration>,
    interrupted_at: Option<Duration>,
    interrupted: Duration,
}

impl Agreement {
    pub(super) fn new(allowance: Duration) -> Self {
        Self { allowance, since: None, interrupted_at: None, interrupted: Duration::ZERO }
    }

    /// From this moment on the group agrees, or does not.
    pub(super) fn look(&mut self, now: Duration, agrees: bool) {
        let lasts = self
            .since
            .is_some_and(|since| self.interrupted_until(now.min(since + WINDOW)) <= self.allowance);
        if !lasts {
            self.since = agrees.then_some(now);
            (self.interrupted_at, self.interrupted) = (None, Duration::ZERO);
        } else if agrees {
            self.interrupted = self.interrupted_until(now);
            self.interrupted_at = None;
        } else {
            self.interrupted_at.get_or_insert(now);
        }
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
        let mut agreement = Agreement::new(ms(allowance));
        let mut changes = changes.iter().copied().peekable();
        let mut agrees = false;
        for now in 0..10_000 {
            while changes.next_if_eq(&now).is_some() {
                agrees = !agrees;
                agreement.look(ms(now), agrees);
            }
            agreement.look(ms(now), agrees);
            if let Some(at) = agreement.since.filter(|since| ms(now) >= *since + WINDOW) {
                return u64::try_from(at.as_millis()).ok();
            }
        }
        None
    }

    /// It counts from its first moment once it has lasted, and an interruption begins it anew; but
    /// a rotation may interrupt it for as long as allowed in all. One of no length is none.
    #[test]
    fn a_group_settles_at_the_first_moment_of_an_agreement_that_lasts() {
        for (allowance, changes, at) in [
            (0, &[70][..], Some(70)),
            (200, &[70], Some(70)),
            (0, &[], None),
            (0, &[70, 900, 901], Some(901)),
            (0, &[70, 900, 900], Some(70)),
            (0, &[70, 1_070], Some(70)),
            (0, &[70, 1_069, 1_071], Some(1_071)),
            (200, &[70, 300, 500], Some(70)),
            (200, &[70, 300, 501], Some(501)),
            (200, &[70, 300, 400, 600, 700], Some(70)),
            (200, &[70, 300, 400, 600, 701], Some(701)),
            (200, &[70, 1_000, 1_500], Some(70)),
        ] {
            assert_eq!(settles(allowance, changes), at, "{allowance} {changes:?}");
        }
    }
}
