//! Texts that people and programs write: configuration, keys, requests, inputs of commands.

use std::collections::BTreeSet;
use std::path::Path;

use elevator_simulator::building::{Building, ListError, read_passengers, write_passengers};
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

pub(crate) fn key_seeds() -> Vec<Vec<u8>> {
    let digits = "0123456789abcdef".repeat(4);
    vec![
        format!("liftmesh-key-1-{digits}\n").into(),
        format!(" liftmesh-key-1-{}", digits.to_uppercase()).into(),
        b"/etc/liftmesh/key, none".to_vec(),
    ]
}

/// The latch of a car that hung: what is understood of it is what is written.
pub(crate) fn latch(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if let Some(written) = fuzzing::latch(&text) {
        assert_eq!(fuzzing::latch(&written).as_ref(), Some(&written), "{text:?}");
    }
}

pub(crate) fn latch_seeds() -> Vec<Vec<u8>> {
    let hang = "format = 1\ncause = \"hang\"\nat = \"2026-01-02T03:04:05.678Z\"\nnode = \"A\"\n\
                program = \"0.1.0\"\n[evidence]\nfloor = 2\ndirection = \"up\"\nexpected_s = 4.5\n\
                actual_s = 10.0\nflights_off_target = 0\nnot_stopped = false\nlast_sensor = 2\n";
    let lost = "format = 1\ncause = \"journal-lost\"\n";
    let removed = "format = 1\ncause = \"removed\"\nrecorded = \"a hang\"\n";
    [hang, lost, removed].map(|text| text.as_bytes().to_vec()).into()
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

pub(crate) fn mqtt_call_seeds() -> Vec<Vec<u8>> {
    let calls = [
        r#"{"call":{"kind":"hall","floor":3,"direction":"up"},"request_id":"1"}"#,
        r#"{"call":{"kind":"car","car":"A","floor":0}}"#,
        r#"{"call":{"kind":"hall","floor":3,"direction":"up"},"request_id":""}"#,
        r#"{"call":{"kind":"robot","from":0,"to":3,"seconds":9},"request_id":"1"}"#,
        r#"{"open":{"floor":3,"car":"B","seconds":30,"request_id":"1"}}"#,
        r#"{"go":{"id":"5bd1e99500c0ffee00c0ffee","floor":5,"seconds":30}}"#,
        r#"{"end":{"id":"5bd1e99500c0ffee00c0ffee"}}"#,
    ];
    calls.map(|call| call.as_bytes().to_vec()).into()
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

pub(crate) fn assign_seeds() -> Vec<Vec<u8>> {
    let state = r#"{"behaviour":"moving","floor":2,"direction":"up","cabRequests":[false,false,true,true]}"#;
    let idle = r#"{"behaviour":"idle","floor":0,"direction":"stop","cabRequests":[false,false,false,false]}"#;
    let open = r#"{"behaviour":"doorOpen","floor":3,"direction":"down","cabRequests":[true,false,false,false]}"#;
    let hall = "[[false,false],[true,false],[false,false],[false,true]]";
    vec![
        format!(r#"{{"hallRequests":{hall},"states":{{"one":{state},"two":{idle}}}}}"#).into(),
        format!(r#"{{"hallRequests":{hall},"states":{{"one":{open}}}}}"#).into(),
    ]
}

/// A list of passengers, or the building that they live in.
pub(crate) fn passengers(bytes: &[u8]) {
    if let Ok(building) = Building::parse(&String::from_utf8_lossy(bytes)) {
        assert!(building.rated_load > 0.0, "{building:?}");
    }
    for building in Building::NAMES.into_iter().filter_map(Building::named) {
        match read_passengers(&building, bytes) {
            Ok(passengers) => {
                let mut text = Vec::new();
                write_passengers(&passengers, &mut text).expect("written to memory");
                let again = read_passengers(&building, text.as_slice()).expect("it was valid");
                assert_eq!(again, passengers);
            }
            Err(ListError::Line { line, reason }) => assert!(line > 0 && !reason.is_empty()),
            Err(ListError::Csv(_)) => {}
            Err(ListError::Write(error)) => panic!("{error}"),
        }
    }
}

pub(crate) fn passengers_seeds() -> Vec<Vec<u8>> {
    let passengers = b"id,t_s,from,to,kg\n0,1.5,0,3,70\n1, 2,3,0,80.25\n".to_vec();
    vec![passengers, file("simulator/buildings/A12.toml")]
}

/// A file below the root of the repository.
pub(crate) fn file(path: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read(&path).expect("a file of the repository")
}
