//! `liftmesh doctor`, for a node that runs and for one that does not.

use std::fs;
use std::process::Output;

use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};
use serde_json::Value;
use tempfile::TempDir;

use super::command_line::liftmesh;

/// Of an indicator on loopback, with ports of its own.
fn doctor(data_dir: &str, port: u16, words: &[&str]) -> Output {
    let (broadcast, port) = (format!("127.255.255.255:{port}"), port.to_string());
    let mut command = liftmesh(&["doctor", "--unit", "A", "--role", "indicator", "--floors", "4"]);
    command.args(["--address", "127.0.0.1", "--broadcast", &broadcast, "--link-port", &port]);
    command.args(["--data-dir", data_dir]).args(words).output().expect("it runs")
}

fn findings(output: &Output) -> Vec<Value> {
    let report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings").clone();
    for (count, result) in [("errors", "error"), ("warnings", "warning")] {
        let counted = findings.iter().filter(|one| one["result"] == result).count();
        assert_eq!(report[count], counted, "{report}");
    }
    findings
}

#[track_caller]
fn has(findings: &[Value], check: &str, result: &str, what: &str) {
    let found = findings.iter().any(|one| {
        let said = one["what"].as_str().expect("text");
        // Whatever is not in order says what to do.
        let needs_remedy = ["error", "warning"].contains(&result);
        one["check"] == check
            && one["result"] == result
            && said.contains(what)
            && one["remedy"].is_string() == needs_remedy
    });
    assert!(found, "{check} {result} {what}: {findings:#?}");
}

/// A port that was free a moment ago.
fn free_port() -> u16 {
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

#[test]
fn a_node_that_does_not_run_is_examined_without_a_change() {
    let directory = TempDir::new().expect("a directory");
    let data_dir = directory.path().join("data");
    let path = data_dir.to_str().expect("text").to_owned();
    let output = doctor(&path, free_port(), &["--json"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = findings(&output);
    has(&found, "config", "ok", "");
    has(&found, "address", "ok", "127.0.0.1");
    has(&found, "journal", "ok", "none yet");
    has(&found, "node", "warning", "does not run");
    assert!(!data_dir.exists());

    fs::create_dir(&data_dir).expect("a directory");
    let journal = data_dir.join("journal.redb");
    fs::write(&journal, "this is no journal").expect("a file");
    let output = doctor(&path, free_port(), &["--json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    has(&findings(&output), "journal", "error", "journal.redb is");
    assert_eq!(fs::read(&journal).expect("the file"), b"this is no journal");
    assert_eq!(fs::read_dir(&data_dir).expect("a directory").count(), 1);
}

#[test]
fn a_wrong_configuration_is_a_list_of_errors() {
    let output = doctor("/nowhere", 46100, &["--flight-limit", "1", "--dwell", "never", "--json"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let found = findings(&output);
    has(&found, "config", "error", "motion.flight_limit = ");
    has(&found, "config", "error", "never");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn a_running_node_says_how_it_is() {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let data_dir = building.data_dir("A").to_str().expect("text").to_owned();
    let (_, beacons) = building.endpoint(1);
    let output = doctor(&data_dir, beacons.port(), &["--json"]);
    let found = findings(&output);
    has(&found, "node", "ok", "A runs, master, and hears 0 peers");
    has(&found, "journal", "ok", "in use by this node");
    let text = doctor(&data_dir, beacons.port(), &[]);
    let text = String::from_utf8(text.stdout).expect("text");
    assert!(text.lines().any(|line| line.starts_with("ok       node: A runs")), "{text}");

    building.kill("A");
    let output = doctor(&data_dir, beacons.port(), &["--json"]);
    let found = findings(&output);
    has(&found, "journal", "ok", "opens; ");
    has(&found, "node", "warning", "does not run");
}
