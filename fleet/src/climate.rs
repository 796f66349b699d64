//! Sensor readings, and what the indicators show (C4).
//!
//! ```text
//!   sensors of every unit ─▶ Readings ─▶ averages ─▶ DisplayData ─▶ text and backlight
//!                            fresh ones   (V11)                     of every indicator
//!                            alone (K2)
//! ```
//!
//! Nothing here knows who is master. Wall-clock time is only shown (E5).

mod readings;
mod text;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use readings::{Readings, Source};
pub(crate) use text::{display_text, temperature_text, whole_degrees};

/// The readings of one unit's sensors; `None` if a sensor is missing or its value unknown (K1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Reading {
    /// Temperature in whole °C, −127 to 127.
    pub temperature: Option<i8>,
    /// Illuminance, 0 (dark) to 255.
    pub illuminance: Option<u8>,
}

/// What every indicator shows, as sent by the master (V11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DisplayData {
    /// The average temperature in tenths of a degree Celsius; `None` without a fresh reading (K2).
    pub temperature: Option<i16>,
    /// Seconds since 1970-01-01; 0 if the master does not know the time.
    pub time: u32,
    /// The backlight, 0 (off) to 255 (full).
    pub brightness: u8,
}

/// How the climate is measured and shown. The same on every node, except for `utc_offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClimateSettings {
    /// The period of a master's sensor requests, if the protocol has none of its own.
    pub poll_period: Duration,
    /// How long the master waits for answers until it sends display data; below `poll_period`.
    pub gather_time: Duration,
    /// A reading of this age is unknown (K1); at least twice `poll_period`.
    pub reading_limit: Duration,
    /// Display data of this age is unknown (K1); at least twice `poll_period`.
    pub display_limit: Duration,
    /// The backlight in the dark; at most `brightness_most`.
    pub brightness_least: u8,
    /// The backlight in full light, and while no illuminance is known.
    pub brightness_most: u8,
    /// What local time is ahead of UTC, in minutes.
    pub utc_offset: i16,
}

/// How many periods of a protocol's own sensor requests readings and display data are known for at
/// least. Two requests in a row may be lost, and the third be late.
const PERIODS_KNOWN: u32 = 4;

impl ClimateSettings {
    /// These settings under a protocol that sends sensor requests by itself, with this period, or
    /// does not. No period makes displays go blank between two requests (C4, K1).
    #[must_use]
    pub fn requested_every(self, period: Option<Duration>) -> Self {
        let Some(poll_period) = period else {
            return self;
        };
        let least = poll_period.saturating_mul(PERIODS_KNOWN);
        Self {
            poll_period,
            reading_limit: self.reading_limit.max(least),
            display_limit: self.display_limit.max(least),
            ..self
        }
    }

    /// The backlight for this illuminance: `brightness_least` in the dark, more with the square
    /// root of the light, as the eye sees it, up to `brightness_most`. An unknown illuminance has
    /// `brightness_most`: what dazzles can still be read.
    pub(crate) fn brightness(&self, illuminance: Option<u8>) -> u8 {
        let (least, most) = (self.brightness_least, self.brightness_most);
        let Some(illuminance) = illuminance else {
            return most;
        };
        let root = (u32::from(illuminance) * 255).isqrt();
        let above = u32::from(most.saturating_sub(least)) * root / 255;
        least.saturating_add(u8::try_from(above).unwrap_or(u8::MAX))
    }
}

impl Default for ClimateSettings {
    fn default() -> Self {
        Self {
            poll_period: Duration::from_secs(1),
            gather_time: Duration::from_millis(20),
            reading_limit: Duration::from_secs(5),
            display_limit: Duration::from_secs(5),
            brightness_least: 30,
            brightness_most: 255,
            utc_offset: 0,
        }
    }
}

#[cfg(test)]
mod tests;
