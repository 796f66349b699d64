//! The cabin's part of the status.

use elevator_driver::{LampSet, LineCounters};

use super::Cabin;
use crate::model::Timestamp;
use crate::node::{CarStatus, ClimateStatus, UnitStatus};

impl Cabin {
    pub(in crate::node) fn climate_status(&self, now: Timestamp) -> ClimateStatus {
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
    pub(in crate::node) fn car_status(&self, lamps: LampSet, now: Timestamp) -> Option<CarStatus> {
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
        })
    }
}
