#![expect(clippy::ref_option, reason = "serde hands in references")]

use std::time::Duration;

use elevator_driver::{Direction, Floor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::report::availability;
use super::seconds;
use crate::model::{Availability, CarPhase, CarView, FloorSet, Mode, Reason, Shut};

#[derive(Serialize, Deserialize)]
#[serde(remote = "CarView")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = CarView))]
pub(crate) struct CarForm {
    #[serde(flatten, with = "availability", getter = "CarView::reason")]
    #[cfg_attr(feature = "schema", schema(value_type = availability::Form))]
    reason: Option<Reason>,
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    floor: Option<Floor>,
    #[serde(with = "PhaseForm")]
    #[cfg_attr(feature = "schema", schema(value_type = PhaseForm))]
    phase: CarPhase,
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    elapsed: Duration,
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    direction: Option<Direction>,
    load: Option<u8>,
    #[serde(with = "floors", default)]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    locked_out: FloorSet,
    #[serde(default)]
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    mode: Mode,
}

impl From<CarForm> for CarView {
    fn from(form: CarForm) -> Self {
        let CarForm { reason, floor, phase, elapsed, direction, load, locked_out, mode } = form;
        let availability = reason
            .and_then(Reason::unavailable)
            .map_or(Availability::InService, Availability::Unavailable);
        let shut = Shut::default();
        Self { availability, floor, phase, elapsed, direction, load, locked_out, mode, shut }
    }
}

/// `{"kind":"moving","direction":"up","stop_at":"3","next_stop":"2"}`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "CarPhase", tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Phase))]
pub enum PhaseForm {
    Idle,
    Moving {
        #[cfg_attr(feature = "schema", schema(value_type = String, example = "up"))]
        direction: Direction,
        /// The floor of its stop.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        stop_at: Floor,
        /// The nearest floor at which it can still stop.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        next_stop: Floor,
    },
    Homing,
    Opening,
    Open,
    Closing,
}

/// [`CarForm`], or null.
pub(crate) mod optional_car {
    use super::{CarForm, CarView, Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Car(#[serde(with = "CarForm")] CarView);

    pub(crate) fn serialize<S: Serializer>(
        car: &Option<CarView>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        car.map(Car).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<CarView>, D::Error> {
        let car = Option::<Car>::deserialize(from)?;
        Ok(car.map(|Car(view)| view))
    }
}

mod floors {
    use super::{Deserialize, Deserializer, Floor, FloorSet, Serializer};

    pub(super) fn serialize<S: Serializer>(floors: &FloorSet, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(floors.iter())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<FloorSet, D::Error> {
        Ok(Vec::<Floor>::deserialize(from)?.into_iter().collect())
    }
}
