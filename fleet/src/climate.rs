//! What the sensors measure and what the indicators show (C4).

use serde::{Deserialize, Serialize};

/// What the sensors of one unit read; `None` for one that is missing or unknown (K1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Reading {
    /// Temperature in whole °C, −127 to 127.
    pub temperature: Option<i8>,
    /// Illuminance, 0 (dark) to 255.
    pub illuminance: Option<u8>,
}

/// What the coordinator tells every indicator to show (V11).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DisplayData {
    /// The average temperature in tenths of a degree Celsius; `None` while no reading is fresh
    /// (K2).
    pub temperature: Option<i16>,
    /// Seconds since 1970-01-01.
    pub time: u32,
    /// The backlight, 0 (off) to 255 (full).
    pub brightness: u8,
}
