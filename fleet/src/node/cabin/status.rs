//! What an operator sees of the cabin.

use elevator_driver::{FloorCount, LampSet};

use super::Cabin;
use crate::model::Timestamp;
use crate::node::{CarStatus, ClimateStatus, UnitStatus};

impl Cabin {
    pub(in crate::node) fn climate_status(&self, now: Timestamp) -> ClimateStatus {
        let told = self.climate.display_data(now);
        let units = self.climate.fresh_readings(now);
        ClimateStatus {
            own: self.own_reading(),
            temperature: told.and_then(|(data, _)| data.temperature),
            brightness: told.map(|(data, _)| data.brightness),
            text: self.climate.display(now).text,
            age: told.map(|(_, at)| now.since(at)),
            units: units
                .map(|(source, reading, age)| UnitStatus {
                    source: source.clone(),
                    reading,
                    age,
                })
                .collect(),
        }
    }

    /// The car, where there is one, in a shaft with these floors, and these order lamps.
    pub(in crate::node) fn car_status(
        &self,
        lamps: LampSet,
        floors: FloorCount,
        now: Timestamp,
    ) -> Option<CarStatus> {
        let car = self.car.as_ref()?;
        Some(CarStatus {
            view: car.view(now),
            panel: self
                .panel
                .clone()
                .unwrap_or_else(|| Err("not heard yet".to_owned())),
            door: self.inputs.door,
            at: self.inputs.floor,
            stopped: self.inputs.stop,
            obstructed: self.inputs.obstruction,
            key: self.inputs.key,
            stuck: self.inputs.stuck.clone(),
            lamps,
            floors,
        })
    }
}
