//! The JSON form of the brain's types in [`Status`](crate::node::Status) and
//! [`Report`](crate::node::Report). What `serde` derives for a type that nodes exchange is the
//! wire's form, without names; a field takes its form in JSON by `#[serde(with = …)]`. Times are
//! seconds, floors have labels.

pub(crate) mod building;
mod car;
mod number;
mod report;

use elevator_driver::{Direction, Entrance, Floor, Side};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use self::building::{BuildingForm, LandingForm, ServedForm, front};
pub use self::car::PhaseForm;
pub(crate) use self::car::{CarForm, optional_car};
pub use self::number::Seconds;
pub(crate) use self::number::{
    hexadecimal, is_zero, optional_fine_seconds, optional_seconds, seconds, text,
};
pub(crate) use self::report::{HangForm, availability, connection, panel, works};
use crate::model::{Call, HallCall, NameError, NodeId, NodeState};

/// Any JSON.
#[cfg(feature = "schema")]
pub(crate) fn any() -> utoipa::openapi::Object {
    use utoipa::openapi::schema::{ObjectBuilder, SchemaType};
    ObjectBuilder::new().schema_type(SchemaType::AnyValue).build()
}

/// `{"kind":"slave","master":"A"}`.
#[derive(Serialize, Deserialize)]
#[serde(remote = "NodeState", tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = NodeState))]
pub enum NodeStateForm {
    Seeking,
    Slave {
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        master: NodeId,
    },
    Master,
}

/// A [`Call`] as written by programs, which may be invalid:
/// `{"kind":"hall","floor":"3","direction":"up"}`, `{"kind":"destination","from":"0","to":"5"}` or
/// `{"kind":"car","car":"A","floor":"5"}`. At the rear entrance of a floor that has two, a hall or car
/// call has `"side":"rear"`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Call))]
pub enum CallForm {
    /// From a landing.
    Hall {
        /// The landing.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        floor: Floor,
        /// Where the passenger wants to go.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        direction: Direction,
        /// The entrance of a floor that has two: `front`, the default, or `rear`.
        #[serde(default, skip_serializing_if = "Side::is_front")]
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        side: Side,
    },
    /// From a landing, with the destination.
    Destination {
        /// The landing.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        from: Floor,
        /// Where the passenger wants to go.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        to: Floor,
    },
    /// From inside a car.
    Car {
        car: String,
        /// Where the passenger wants to get off.
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        floor: Floor,
        /// The entrance of a floor that has two: `front`, the default, or `rear`.
        #[serde(default, skip_serializing_if = "Side::is_front")]
        #[cfg_attr(feature = "schema", schema(value_type = String))]
        side: Side,
    },
}

/// A call with an impossible floor or car.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("a trip can't go from floor {0} to floor {0}")]
    NoTrip(Floor),
}

impl From<&Call> for CallForm {
    fn from(call: &Call) -> Self {
        match call {
            Call::Hall(HallCall { floor, to: Some(to), .. }) => {
                Self::Destination { from: *floor, to: *to }
            }
            Call::Hall(HallCall { floor, direction, to: None, side }) => {
                Self::Hall { floor: *floor, direction: *direction, side: *side }
            }
            Call::Car { car, floor, side } => {
                Self::Car { car: car.to_string(), floor: *floor, side: *side }
            }
        }
    }
}

impl TryFrom<&CallForm> for Call {
    type Error = CallError;

    fn try_from(form: &CallForm) -> Result<Self, CallError> {
        Ok(match form {
            CallForm::Hall { floor, direction, side } => {
                let (floor, side) = (*floor, *side);
                Self::Hall(HallCall::at(Entrance { floor, side }, *direction))
            }
            CallForm::Destination { from, to } => {
                Self::Hall(HallCall::to(*from, *to).ok_or(CallError::NoTrip(*from))?)
            }
            CallForm::Car { car, floor, side } => {
                Self::Car { car: NodeId::new(car)?, floor: *floor, side: *side }
            }
        })
    }
}

/// A call in the form of [`CallForm`].
pub(crate) mod call {
    use super::{Call, CallForm, Deserialize, Deserializer, Error, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(call: &Call, to: S) -> Result<S::Ok, S::Error> {
        CallForm::from(call).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Call, D::Error> {
        Call::try_from(&CallForm::deserialize(from)?).map_err(D::Error::custom)
    }
}
