//! What a fuzzer reaches of MQTT.

/// Reads the payload of a call: the id of the request, and the call as JSON; or what is wrong with it.
///
/// # Errors
/// What the client is told.
pub fn mqtt_call(payload: &[u8]) -> Result<(Option<String>, String), String> {
    super::asked::read_call(payload)
}

/// Reads the payload of what a robot asks for of a session.
///
/// # Errors
/// What the client is told.
pub fn mqtt_session(payload: &[u8]) -> Result<(), String> {
    super::asked::read_session(payload)
}
