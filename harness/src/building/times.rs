//! Times that a test measures, to be printed and held against a limit.

use std::fmt;
use std::time::Duration;
#[derive(Debug, Default)]
pub struct Times(Vec<Duration>);

impl Times {
    pub fn add(&mut self, time: Duration) {
        self.0.push(time);
        self.0.sort_unstable();
    }

    /// The one in the middle; zero where nothing was measured.
    pub fn median(&self) -> Duration {
        self.0.get(self.0.len() / 2).copied().unwrap_or_default()
    }

    /// The longest; zero where nothing was measured.
    pub fn worst(&self) -> Duration {
        self.0.last().copied().unwrap_or_default()
    }
}

impl fmt::Display for Times {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [median, worst] = [self.median(), self.worst()].map(|time| time.as_millis());
        write!(f, "median {median} ms, worst {worst} ms of {}", self.0.len())
    }
}
