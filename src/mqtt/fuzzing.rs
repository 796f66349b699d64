//! What a fuzzer reaches of MQTT.

use liftmesh_api::CallWish;

use super::asked::{Asked, Inbox};
use crate::programs::Problem;

/// Reads the payload of a call: the id of the request, and the call as JSON.
///
/// # Errors
/// What the client is told.
pub fn mqtt_call(payload: &[u8]) -> Result<(Option<String>, String), String> {
    let asked = Inbox::Calls.read(payload).map_err(told)?;
    let (id, _) = asked.names();
    let call = match asked {
        Asked::Call { form, .. } => CallWish::Order(form),
        Asked::Open { trip: Some(trip), .. } => CallWish::Robot(trip),
        Asked::Open { .. } | Asked::Change { .. } => return Err("null".to_owned()),
    };
    Ok((id, serde_json::to_string(&call).unwrap_or_default()))
}

/// Reads the payload of what a robot asks for of a session.
///
/// # Errors
/// What the client is told.
pub fn mqtt_session(payload: &[u8]) -> Result<(), String> {
    Inbox::Sessions.read(payload).map(drop).map_err(told)
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn told(problem: Problem) -> String {
    serde_json::to_string(&problem).unwrap_or_default()
}
