//! The JSON of statuses, events and lists, field by field: what reads an example writes it again.
//!
//! Between them, the files of `src/operator/testdata/` have every field with a value, and every kind of
//! everything. `LIFTMESH_GOLDEN=write cargo test --lib golden` writes them as the types of today do. A
//! difference is a change for programs that read them: it belongs into `docs/API.md`.

use std::path::Path;

use elevator_fleet::model::{Mode, Role};
use elevator_fleet::node::{Report, Status};
use elevator_fleet::wire::Protocol;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::journal::AuditRecord;
use crate::operator::{Event, LatchedNode};
use liftmesh_api::Presses;

fn testdata(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operator/testdata").join(file);
    std::fs::read_to_string(path).unwrap()
}

/// The statuses of many nodes: the first has a car, peers in every state, and a value in every field.
pub(super) fn statuses() -> Vec<Status> {
    serde_json::from_str(&testdata("status.json")).unwrap()
}

fn compare(file: &str, text: &str) {
    if std::env::var_os("LIFTMESH_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/operator/testdata").join(file);
        std::fs::write(path, text).unwrap();
    }
    assert_eq!(text, testdata(file), "{file}");
}

/// Reads each line as a `T`, and compares what is written of it; returns the text.
fn check_lines<T: Serialize + DeserializeOwned>(file: &str) -> String {
    let read = testdata(file);
    let examples = read.lines().map(|line| serde_json::from_str::<T>(line).unwrap());
    let text: String =
        examples.map(|example| serde_json::to_string(&example).unwrap() + "\n").collect();
    compare(file, &text);
    text
}

#[test]
fn statuses_are_as_in_the_golden_file() {
    let text = serde_json::to_string_pretty(&statuses()).unwrap() + "\n";
    compare("status.json", &text);
    let names = Mode::ALL.map(|mode| mode.to_string()).into_iter();
    let names = names.chain(Role::ALL.map(|role| role.to_string()));
    for name in names.chain(Protocol::ALL.map(|protocol| protocol.to_string())) {
        assert!(text.contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn lists_are_as_in_the_golden_files() {
    check_lines::<AuditRecord>("audit.jsonl");
    check_lines::<LatchedNode>("latched.jsonl");
    check_lines::<Presses>("presses.jsonl");
}

#[test]
fn events_are_as_in_the_golden_file_and_in_the_document() {
    let text = check_lines::<Event>("events.jsonl");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/API.md");
    let document = std::fs::read_to_string(document).unwrap();
    for name in Report::NAMES {
        assert!(text.contains(&format!("\"event\":\"{name}\"")), "{name}");
        assert!(document.contains(&format!("`{name}`")), "{name}");
    }
    for line in text.lines() {
        let event: Event = serde_json::from_str(line).unwrap();
        assert!(line.contains(&format!("\"event\":\"{}\"", event.report.name())), "{line}");
    }
}
