#![expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in references"
)]

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// [`Seconds`] of a plain duration.
pub(crate) mod seconds {
    use super::{Deserialize, Deserializer, Duration, Seconds, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        Seconds(*time).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Seconds::deserialize(from).map(|Seconds(time)| time)
    }
}

/// [`seconds`], or null.
pub(crate) mod optional_seconds {
    use super::{Deserialize, Deserializer, Duration, Seconds, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(Seconds).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        let time = Option::<Seconds>::deserialize(from)?;
        Ok(time.map(|Seconds(time)| time))
    }
}

/// Seconds to the microsecond: round trips are shorter than a millisecond.
pub(crate) mod optional_fine_seconds {
    pub(crate) use super::optional_seconds::deserialize;
    use super::{Duration, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let microseconds = time.map(|time| (time.as_secs_f64() * 1_000_000.0).round());
        microseconds.map(|microseconds| microseconds / 1_000_000.0).serialize(to)
    }
}

/// A duration whose JSON is in seconds, rounded to milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let milliseconds = (self.0.as_secs_f64() * 1_000.0).round();
        to.serialize_f64(milliseconds / 1_000.0)
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let seconds = f64::deserialize(from)?;
        // The longest duration is written as a number that is too great for one.
        if seconds >= Duration::MAX.as_secs_f64() {
            return Ok(Self(Duration::MAX));
        }
        Duration::try_from_secs_f64(seconds).map(Self).map_err(D::Error::custom)
    }
}

/// A number as 16 hexadecimal digits.
pub(crate) mod hexadecimal {
    use super::{Deserialize, Deserializer, Error, Serializer};

    pub(crate) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:016x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text = String::deserialize(from)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

/// A type with a text form that can be parsed.
pub(crate) mod text {
    use super::{Deserialize, Deserializer, Display, Error, FromStr, Serializer};

    pub(crate) fn serialize<T: Display, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.collect_str(value)
    }

    pub(crate) fn deserialize<'de, T, D>(from: D) -> Result<T, D::Error>
    where
        T: FromStr<Err: Display>,
        D: Deserializer<'de>,
    {
        let text = String::deserialize(from)?;
        text.parse().map_err(D::Error::custom)
    }
}

/// Whether a counter is zero and thus omitted.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, F64Deserializer};

    use super::*;

    fn read(seconds: f64) -> Result<Duration, Error> {
        seconds::deserialize(F64Deserializer::new(seconds))
    }

    /// A peer may claim any time, and what a node says of it has to be readable (N1).
    #[test]
    fn the_longest_duration_can_be_read_again() {
        assert_eq!(read(Duration::MAX.as_secs_f64()), Ok(Duration::MAX));
        assert_eq!(read(1.25), Ok(Duration::from_millis(1250)));
        assert!(read(-1.0).is_err());
        assert!(read(f64::NAN).is_err());
    }
}
