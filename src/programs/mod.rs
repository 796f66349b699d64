//! What programs may ask for, whether over HTTP or MQTT: calls, sessions of robots, and why these are
//! refused.

mod placed;
mod problem;
mod session;

use serde_json::Value;

pub(crate) use placed::{PlacedCall, PlacedState, Way, check_id, chosen_or_random, id_reused};
pub(crate) use problem::Problem;
pub(crate) use session::{OpenSession, named, no_car, not_open, other_owner};

/// Removes the fields with these names, so that two states can be compared but for them.
pub(crate) fn remove_fields(value: &mut Value, names: &str) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !names.split(' ').any(|removed| removed == name));
            fields.values_mut().for_each(|field| remove_fields(field, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| remove_fields(item, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
