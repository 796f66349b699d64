//! How long passengers take to board and to get off.

use std::time::Duration;

use serde::Deserialize;

use super::SplitMix64;

/// How long one passenger takes to board or to get off, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Transfer {
    Fixed(f64),
    /// Drawn from an Erlang distribution; what is too short or too long is drawn again.
    Erlang {
        /// How many exponential times it is the sum of, 1 to 100.
        order: u8,
        mean: f64,
        shortest: f64,
        longest: f64,
    },
}

/// Draws after which the mean is taken: far more than a valid distribution needs.
const DRAWS: usize = 1_000;

impl Transfer {
    pub(super) fn is_valid(&self) -> bool {
        let time = |seconds: f64| (0.1..=60.0).contains(&seconds);
        match *self {
            Self::Fixed(seconds) => time(seconds),
            Self::Erlang { order, mean, shortest, longest } => {
                (1..=100).contains(&order)
                    && [mean, shortest, longest].into_iter().all(time)
                    && shortest < mean
                    && mean < longest
            }
        }
    }

    /// The mean, without regard to what is left out.
    #[must_use]
    pub fn mean(&self) -> Duration {
        match *self {
            Self::Fixed(mean) | Self::Erlang { mean, .. } => Duration::from_secs_f64(mean),
        }
    }

    pub(super) fn draw(&self, random: &mut SplitMix64) -> Duration {
        match *self {
            Self::Fixed(seconds) => Duration::from_secs_f64(seconds),
            Self::Erlang { order, mean, shortest, longest } => {
                let rate = f64::from(order) / mean;
                let mut erlang = || (0..order).map(|_| random.exponential(rate)).sum::<f64>();
                let drawn = (0..DRAWS).map(|_| erlang());
                let fits = |seconds: &f64| (shortest..=longest).contains(seconds);
                let seconds = drawn.into_iter().find(fits).unwrap_or(mean);
                Duration::from_secs_f64(seconds)
            }
        }
    }
}
