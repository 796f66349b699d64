//! Texts that people and programs write: configuration, keys, requests, inputs of commands.

use std::collections::BTreeSet;

use liftmesh::fuzzing::{self, Assigned};

/// The most floors of all cars of an input of `liftmesh assign` that is also solved.
const MOST_FLOORS: usize = 40;

/// The text of a configuration file: settings, or errors that say where they are or which key is
/// meant.
pub(crate) fn config(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match fuzzing::settings("node.toml", &text) {
        Ok(values) => {
            let again = fuzzing::settings("again.toml", &values);
            assert_eq!(again.as_ref(), Ok(&values), "what `check-config` shows is a configuration");
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            for error in errors {
                let is_placed = error.starts_with("node.toml:") || error.contains(" is not set; ");
                let says_key = error.starts_with("default: ") || error.starts_with("preset ");
                assert!(is_placed || says_key, "{error}");
            }
        }
    }
}

pub(crate) fn config_seeds() -> Vec<Vec<u8>> {
    let example = include_str!("../../config/node.toml");
    // Every key that is commented out, set.
    let set = example.lines().map(|line| line.strip_prefix('#').unwrap_or(line).trim_start());
    let is_key = |line: &&str| line.starts_with('[') || line.contains(" = ");
    let set: Vec<_> = set.filter(is_key).collect();
    vec![example.into(), set.join("\n").into()]
}

/// The content of a key file, and a list of key files.
pub(crate) fn key(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(line) = fuzzing::key(&text) {
        assert_eq!(line.len(), "liftmesh-key-1-".len() + 64);
        assert!(line.eq_ignore_ascii_case(text.trim()), "another key");
        assert_eq!(fuzzing::key(&line), Some(line));
    }
    if let Some(shown) = fuzzing::key_files(&text) {
        assert_eq!(fuzzing::key_files(&shown).as_ref(), Some(&shown), "{text:?}");
    }
}

/// The latch of a car that hung: what is understood of it is what is written.
pub(crate) fn latch(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(written) = fuzzing::latch(&text) {
        assert_eq!(fuzzing::latch(&written).as_ref(), Some(&written), "{text:?}");
    }
}

/// A call that a client publishes over MQTT. What is read is a call, and its id is a short line. The
/// same bytes as a request of a session are read, or refused in words.
pub(crate) fn mqtt_call(payload: &[u8]) {
    let is_json = |told: &str| serde_json::from_str::<serde_json::Value>(told).is_ok();
    assert!(fuzzing::mqtt_session(payload).err().is_none_or(|told| is_json(&told)));
    match fuzzing::mqtt_call(payload) {
        Ok((id, call)) => {
            let is_line = |id: &String| !id.is_empty() && !id.chars().any(char::is_control);
            assert!(id.as_ref().is_none_or(is_line), "{id:?}");
            let read: serde_json::Value = serde_json::from_str(&call).expect("a call");
            let again = serde_json::json!({"call": read, "request_id": id});
            assert_eq!(fuzzing::mqtt_call(again.to_string().as_bytes()), Ok((id, call)));
        }
        Err(told) => assert!(is_json(&told), "{told}"),
    }
}

/// The input of `liftmesh assign`: it is the same as an argument and from a pipe, and every call
/// gets one of the cars, once.
pub(crate) fn assign(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match fuzzing::assign(&text, MOST_FLOORS) {
        Ok(Some(Assigned { asked, cars, answered })) => {
            let served: BTreeSet<_> = answered.iter().map(|(call, _)| *call).collect();
            assert_eq!(served.len(), answered.len(), "a call with two cars: {answered:?}");
            assert_eq!(served, asked, "{answered:?}");
            assert!(answered.iter().all(|(_, car)| *car < cars), "{cars} cars: {answered:?}");
        }
        Ok(None) => {}
        Err(error) => assert!(!error.is_empty() && !error.starts_with("as an argument"), "{error}"),
    }
}
