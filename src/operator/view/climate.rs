//! The climate, as people and programs outside the node see it.

use elevator_fleet::node::{ClimateStatus, UnitStatus};
use serde::{Deserialize, Serialize};

use super::seconds;

/// What is known of the climate, and what the indicator shows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClimateView {
    /// What the node's own sensor reads, °C; null for one that is missing or unknown.
    pub temperature: Option<i8>,
    /// What the node's own sensor reads, 0 (dark) to 255; null likewise.
    pub illuminance: Option<u8>,
    /// The fleet's average, °C, as the coordinator told it; null while it is unknown.
    pub average: Option<f64>,
    /// The backlight that the coordinator told, 0 to 255; null while it is unknown.
    pub brightness: Option<u8>,
    /// How long ago the coordinator told it; null while that is too long.
    pub age: Option<f64>,
    /// The indicator's text.
    pub display: String,
    /// What this node has gathered as coordinator.
    pub units: Vec<UnitView>,
}

/// What a unit's sensors have read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitView {
    /// The node's name, or the address of a device that is no node.
    pub unit: String,
    /// °C; null for a sensor that is missing or unknown.
    pub temperature: Option<i8>,
    /// 0 (dark) to 255; null likewise.
    pub illuminance: Option<u8>,
    /// How long ago.
    pub age: f64,
}

impl From<&ClimateStatus> for ClimateView {
    fn from(climate: &ClimateStatus) -> Self {
        Self {
            temperature: climate.own.temperature,
            illuminance: climate.own.illuminance,
            average: climate.temperature.map(|tenths| f64::from(tenths) / 10.0),
            brightness: climate.brightness,
            age: climate.age.map(seconds),
            display: climate.text.clone(),
            units: climate.units.iter().map(UnitView::from).collect(),
        }
    }
}

impl From<&UnitStatus> for UnitView {
    fn from(unit: &UnitStatus) -> Self {
        Self {
            unit: unit.source.to_string(),
            temperature: unit.reading.temperature,
            illuminance: unit.reading.illuminance,
            age: seconds(unit.age),
        }
    }
}
