use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, DoorState, Floor, KeySwitch, LampSet, LineCounters};
use serde::{Deserialize, Serialize};

use super::Cabin;
use crate::climate::Reading;
use crate::json::{CarForm, connection, optional_seconds, seconds};
use crate::model::{CarView, Counters, Timestamp, Wear};

/// The node's own car.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = OwnCar))]
pub struct CarStatus {
    /// As the group sees it.
    #[serde(flatten, with = "CarForm")]
    #[cfg_attr(feature = "schema", schema(value_type = crate::json::CarForm))]
    pub view: CarView,
    /// The panel's address, such as `serial:///dev/ttyUSB0`. Filled in by the process.
    #[serde(default)]
    pub panel: String,
    /// Whether the panel answers, or why not.
    #[serde(flatten, with = "connection")]
    #[cfg_attr(feature = "schema", schema(value_type = crate::json::connection::Form))]
    pub connection: Result<(), String>,
    /// The counters of the line to the panel. Filled in by the process.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = std::collections::BTreeMap<String, u64>))]
    pub line: LineCounters,
    /// The state of the door.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub door: DoorState,
    /// The floor whose sensor is active, or `None` between floors.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub at: Option<Floor>,
    /// Whether the stop switch is pulled.
    pub stopped: bool,
    /// Whether something stands in the door.
    pub obstructed: bool,
    /// The key switch.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub key: KeySwitch,
    /// The buttons that have been pressed for too long, as if stuck.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<ButtonForm>))]
    pub stuck: BTreeSet<Button>,
    /// The lamps that are lit on its panel.
    #[cfg_attr(feature = "schema", schema(value_type = Vec<ButtonForm>))]
    pub lamps: LampSet,
    /// What it has done since counting began, for its maintenance.
    #[serde(default)]
    pub counters: Counters,
    /// The counters that have reached their threshold for maintenance.
    #[serde(default)]
    pub maintenance_due: BTreeSet<Wear>,
}

/// A button or its lamp.
#[cfg(feature = "schema")]
#[derive(Serialize, utoipa::ToSchema)]
#[schema(as = Button)]
pub(crate) struct ButtonForm {
    /// `hall` or `car`.
    kind: String,
    floor: u8,
    /// Of a hall button.
    direction: Option<String>,
}

/// The climate, and what the indicator shows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Climate))]
pub struct ClimateStatus {
    /// What the node's own sensors read.
    #[serde(flatten)]
    pub own: Reading,
    /// The fleet's average temperature in °C, as sent by the master.
    pub average: Option<f64>,
    /// The backlight as sent by the master, 0 to 255.
    pub brightness: Option<u8>,
    /// The age of these values; `None` once they have expired (K1).
    #[serde(with = "optional_seconds", default)]
    #[cfg_attr(feature = "schema", schema(value_type = Option<f64>))]
    pub age: Option<Duration>,
    /// The indicator's text.
    pub display: String,
    /// The unexpired readings that this node has gathered as master.
    pub units: Vec<UnitStatus>,
}

/// The readings of one unit's sensors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ClimateUnit))]
pub struct UnitStatus {
    /// The node's name, or the address of a device that is not a node.
    pub unit: String,
    /// The values.
    #[serde(flatten)]
    pub reading: Reading,
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    pub age: Duration,
}

impl Cabin {
    pub(crate) fn climate_status(&self, now: Timestamp) -> ClimateStatus {
        let told = self.climate.display_data(now);
        let tenths = told.and_then(|(data, _)| data.temperature);
        let units = self.climate.fresh_readings(now);
        ClimateStatus {
            own: self.own_reading(),
            average: tenths.map(|tenths| f64::from(tenths) / 10.0),
            brightness: told.map(|(data, _)| data.brightness),
            display: self.climate.display(now).text,
            age: told.map(|(_, at)| now.since(at)),
            units: units
                .map(|(source, reading, age)| UnitStatus { unit: source.to_string(), reading, age })
                .collect(),
        }
    }

    /// The status of the car, if there is one, with these order lamps.
    pub(crate) fn car_status(&self, lamps: LampSet, now: Timestamp) -> Option<CarStatus> {
        let car = self.car.as_ref()?;
        let inputs = self.inputs.clone().unwrap_or_default();
        Some(CarStatus {
            view: car.view(now),
            panel: String::new(),
            connection: self.panel.clone().unwrap_or_else(|| Err("not heard yet".to_owned())),
            line: LineCounters::default(),
            door: inputs.door,
            at: inputs.floor,
            stopped: inputs.stop,
            obstructed: inputs.obstruction,
            key: inputs.key,
            stuck: inputs.stuck,
            lamps,
            counters: car.counters().clone(),
            maintenance_due: car.maintenance_due().clone(),
        })
    }
}
