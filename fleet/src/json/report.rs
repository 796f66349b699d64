//! The fields of a report besides its kind.
#![expect(
    clippy::ref_option,
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands in references"
)]

use std::time::Duration;

use elevator_driver::{Direction, Floor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::seconds;
use crate::model::{HangCause, HangEvidence, Reason};

/// Whether a car is in service: `in_service`, and `unavailable` with the reason.
pub(crate) mod availability {
    use super::{Deserialize, Deserializer, Reason, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Availability))]
    pub(crate) struct Form {
        in_service: bool,
        #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
        unavailable: Option<Reason>,
    }

    pub(crate) fn serialize<S: Serializer>(
        unavailable: &Option<Reason>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let form = Form { in_service: unavailable.is_none(), unavailable: *unavailable };
        form.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Reason>, D::Error> {
        Form::deserialize(from).map(|form| form.unavailable)
    }
}

macro_rules! line {
    ($(#[$doc:meta])* $name:ident, $up:ident, $reason:ident) => {
        $(#[$doc])*
        pub(crate) mod $name {
            use super::{Deserialize, Deserializer, Serialize, Serializer};

            #[derive(Serialize, Deserialize)]
            #[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = Connection))]
            pub(crate) struct Form {
                $up: bool,
                $reason: Option<String>,
            }

            pub(crate) fn serialize<S: Serializer>(
                line: &Result<(), String>,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                Form { $up: line.is_ok(), $reason: line.clone().err() }.serialize(to)
            }

            pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<Result<(), String>, D::Error> {
                Ok(Form::deserialize(from)?.$reason.map_or(Ok(()), Err))
            }
        }
    };
}

line! {
    /// Whether the panel's line is up: `connected`, and the `reason` if it is down.
    panel, connected, reason
}

line! {
    /// The same in the status: `connected`, and `disconnected` with the reason.
    connection, connected, disconnected
}

line! {
    /// Whether the program that dispatches `works`, and the `reason` if it fails.
    works, works, reason
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "HangEvidence")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = HangEvidence))]
pub(crate) struct HangForm {
    /// How many flights in a row did not end at their stop, if that is why.
    #[serde(getter = "flights_off_target")]
    flights_off_target: Option<u8>,
    /// The motor did not stop when it was told to.
    #[serde(default, getter = "not_stopped")]
    not_stopped: bool,
    /// The floor of its stop; null while it looked for a floor, or if it was told to stop.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    floor: Option<Floor>,
    /// Where it was going, or last went.
    #[cfg_attr(feature = "schema", schema(value_type = String, example = "up"))]
    direction: Direction,
    /// How long it may be driven so, in seconds.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    expected: Duration,
    /// How long the motor had been driven without a new floor, or since it was told to stop.
    #[serde(with = "seconds")]
    #[cfg_attr(feature = "schema", schema(value_type = f64))]
    actual: Duration,
    /// The last floor sensor that was seen.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    last_sensor: Option<Floor>,
}

fn flights_off_target(hang: &HangEvidence) -> Option<u8> {
    hang.cause.flights()
}

fn not_stopped(hang: &HangEvidence) -> bool {
    hang.cause == HangCause::NotStopped
}

impl From<HangForm> for HangEvidence {
    fn from(form: HangForm) -> Self {
        let HangForm { floor, direction, expected, actual, last_sensor, .. } = form;
        let cause = match form.flights_off_target {
            Some(flights) => HangCause::OffTarget(flights),
            None if form.not_stopped => HangCause::NotStopped,
            None => HangCause::NoProgress,
        };
        Self { cause, floor, direction, expected, actual, last_sensor }
    }
}
