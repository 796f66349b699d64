//! Whether the port itself is the fault: another program may have changed its settings.

use std::time::Duration;

use crate::counters::LineCounters;

/// The longest time between two attempts to set the port up again.
const LONGEST: Duration = Duration::from_secs(32);

/// Decides when to set the port up again: when no intact frame has come for four times the silence at
/// which a panel is disconnected. That time doubles with each attempt, up to 32 s, until a panel is
/// connected, because opening a port resets some panels.
#[derive(Debug)]
pub(super) struct PortCheck {
    shortest: Duration,
    patience: Duration,
    /// When the last intact frame came, or the port was opened.
    intact_at: Duration,
    /// How many intact frames had come at the last look.
    intact: u64,
}

impl PortCheck {
    pub(super) fn new(silence: Duration) -> Self {
        let shortest = silence * 4;
        Self { shortest, patience: shortest, intact_at: Duration::ZERO, intact: 0 }
    }

    pub(super) fn handle_opened(&mut self, now: Duration) {
        self.intact_at = now;
    }

    /// Takes what has arrived by now; `true` if the port is to be set up again.
    pub(super) fn handle_counters(
        &mut self,
        counters: LineCounters,
        is_connected: bool,
        now: Duration,
    ) -> bool {
        let intact = counters.frames.saturating_add(counters.unknown);
        if intact != self.intact {
            self.intact = intact;
            self.intact_at = now;
        }
        if is_connected {
            self.patience = self.shortest;
        }
        let is_due = now >= self.intact_at + self.patience;
        if is_due {
            self.patience = (self.patience * 2).min(LONGEST);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn frames(frames: u64) -> LineCounters {
        LineCounters { frames, ..LineCounters::default() }
    }

    #[test]
    fn a_port_that_delivers_nothing_intact_is_set_up_again_ever_more_rarely() {
        let mut check = PortCheck::new(SECOND / 4);
        let mut attempts = Vec::new();
        for second in 1..=100 {
            if check.handle_counters(frames(0), false, SECOND * second) {
                attempts.push(second);
                check.handle_opened(SECOND * second);
            }
        }
        assert_eq!(attempts, [1, 3, 7, 15, 31, 63, 95]);
        assert!(!check.handle_counters(frames(1), true, SECOND * 101));
        assert!(check.handle_counters(frames(1), false, SECOND * 102));
        for second in 103..=200 {
            assert!(!check.handle_counters(frames(u64::from(second)), false, SECOND * second));
        }
    }
}
