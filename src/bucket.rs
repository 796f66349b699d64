//! Rate limits.

use tokio::time::Instant;

#[derive(Debug)]
pub(crate) struct Bucket {
    rate: f64,
    burst: f64,
    level: f64,
    at: Instant,
}

impl Bucket {
    /// `rate` a second, and up to `burst` at once after a pause.
    pub(crate) fn new(rate: f64, burst: f64, now: Instant) -> Self {
        Self { rate, burst, level: burst, at: now }
    }

    pub(crate) fn take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let is_allowed = self.level >= 1.0;
        if is_allowed {
            self.level -= 1.0;
        }
        is_allowed
    }

    pub(crate) fn give_back(&mut self) {
        self.level = (self.level + 1.0).min(self.burst);
    }

    pub(crate) fn is_full(&mut self, now: Instant) -> bool {
        self.fill(now);
        self.level >= self.burst
    }

    fn fill(&mut self, now: Instant) {
        let gained = (now - self.at).as_secs_f64() * self.rate;
        self.level = (self.level + gained).min(self.burst);
        self.at = now;
    }
}
