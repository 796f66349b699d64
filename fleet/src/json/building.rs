//! The JSON form of a building. Its file has the same.

use elevator_driver::vocabulary::{BuildingError, Landing, Served};
use std::collections::BTreeSet;

use elevator_driver::{Building, Floor, Side};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What a building is in JSON.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Building))]
pub struct BuildingForm {
    /// The floors from the lowest up.
    pub floors: Vec<LandingForm>,
    /// The cars that do not serve every floor, or all of them; empty if every car does.
    pub cars: Vec<ServedForm>,
}

/// A floor as people know it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Landing))]
pub struct LandingForm {
    pub label: String,
    /// Its height above the lowest floor, in metres.
    pub height: f64,
    /// The sides of its entrances, `front` or `rear`; left out if there is only the front one.
    #[serde(default = "front", skip_serializing_if = "is_front")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub doors: BTreeSet<Side>,
}

/// A car and where it stops.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ServedFloors))]
pub struct ServedForm {
    pub name: String,
    /// The labels of the floors at which it stops.
    pub serves: Vec<String>,
    /// The sides of its doors; left out if there is only the front one.
    #[serde(default = "front", skip_serializing_if = "is_front")]
    #[cfg_attr(feature = "schema", schema(value_type = Vec<String>))]
    pub doors: BTreeSet<Side>,
}

/// What has no `doors` has one at the front.
#[must_use]
pub fn front() -> BTreeSet<Side> {
    [Side::Front].into()
}

fn is_front(doors: &BTreeSet<Side>) -> bool {
    *doors == front()
}

impl From<&Building> for BuildingForm {
    fn from(building: &Building) -> Self {
        let label = |floor: &Floor| building.label(*floor).map(str::to_owned);
        let cars = building.cars().iter().map(|Served { car, floors, doors }| ServedForm {
            name: car.clone(),
            doors: doors.clone(),
            serves: floors.iter().filter_map(label).collect(),
        });
        let floors = building.landings().iter().map(|it: &Landing| LandingForm {
            label: it.label.clone(),
            height: f64::from(it.height) / 1000.0,
            doors: it.doors.clone(),
        });
        Self { floors: floors.collect(), cars: cars.collect() }
    }
}

impl TryFrom<BuildingForm> for Building {
    type Error = BuildingError;

    fn try_from(form: BuildingForm) -> Result<Self, BuildingError> {
        let mut landings = Vec::new();
        for (floor, LandingForm { label, height, doors }) in form.floors.into_iter().enumerate() {
            if !(0.0..).contains(&height) {
                return Err(BuildingError::Height { floor, label });
            }
            landings.push(Landing { label, height: Self::millimetres(height), doors });
        }
        // A wrong label is named as such, rather than where a car serves it.
        Self::new(landings.clone(), Vec::new())?;
        let served = |(car, ServedForm { name, serves, doors }): (usize, ServedForm)| {
            let floor = |label: String| {
                let index = landings.iter().position(|landing: &Landing| landing.label == label);
                let floor = index.and_then(|index| u8::try_from(index).ok()?.try_into().ok());
                floor.ok_or(BuildingError::NoFloor { car, label })
            };
            let floors = serves.into_iter().map(floor).collect::<Result<_, _>>()?;
            Ok(Served { car: name, floors, doors })
        };
        let cars = form.cars.into_iter().enumerate().map(served).collect::<Result<_, _>>()?;
        Self::new(landings, cars)
    }
}

pub(crate) fn serialize<S: Serializer>(building: &Building, to: S) -> Result<S::Ok, S::Error> {
    BuildingForm::from(building).serialize(to)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Building, D::Error> {
    BuildingForm::deserialize(from)?.try_into().map_err(D::Error::custom)
}
