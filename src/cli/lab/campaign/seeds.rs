//! Seeds on the command line.

use std::num::ParseIntError;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// Seeds, one after the other; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeds(RangeInclusive<u64>);

/// Text that names no seeds.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SeedsError {
    /// A part of it is no number.
    #[error("seeds are numbers, such as 1..40")]
    Number(#[from] ParseIntError),
    /// The last comes before the first.
    #[error("the last seed comes before the first")]
    Empty,
}

impl FromStr for Seeds {
    type Err = SeedsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        let seeds = first.trim().parse()?..=last.trim_start_matches('=').trim().parse()?;
        if seeds.is_empty() { Err(SeedsError::Empty) } else { Ok(Self(seeds)) }
    }
}

impl Default for Seeds {
    fn default() -> Self {
        Self(1..=10)
    }
}

impl Seeds {
    /// The first and the last.
    pub(super) fn ends(&self) -> (u64, u64) {
        (*self.0.start(), *self.0.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_one_or_a_range() {
        let seeds = |text: &str| text.parse::<Seeds>().ok().map(|seeds| seeds.ends());
        assert_eq!(seeds("17"), Some((17, 17)));
        assert_eq!(seeds("1..40"), Some((1, 40)));
        assert_eq!(seeds("1..=40"), Some((1, 40)));
        assert_eq!(seeds("4..3"), None);
        assert_eq!(seeds("1-3"), None);
        assert_eq!(seeds(""), None);
    }
}
