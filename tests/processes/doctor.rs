//! `liftmesh doctor`, for a node that runs and for one that does not.

use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};
use serde_json::Value;
use tempfile::TempDir;

use super::command_line::liftmesh;
use super::mqtt::broker::Broker;

/// Of an indicator on loopback, with ports that nobody else uses.
fn doctor(data_dir: &str, port: u16, words: &[&str]) -> Output {
    doctor_of(data_dir, "127.255.255.255", port, words)
}

fn doctor_of(data_dir: &str, broadcast: &str, port: u16, words: &[&str]) -> Output {
    doctor_at("127.0.0.1", data_dir, broadcast, port, words)
}

fn doctor_at(address: &str, data_dir: &str, broadcast: &str, port: u16, words: &[&str]) -> Output {
    let (broadcast, port) = (format!("{broadcast}:{port}"), port.to_string());
    let mut command = liftmesh(&["doctor", "--unit", "A", "--role", "indicator", "--floors", "4"]);
    command.args(["--address", address, "--broadcast", &broadcast, "--link-port", &port]);
    command.args(["--http-address", &format!("127.0.0.1:{}", free_port())]);
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

/// C7: which elections suit the address of an interface, which may change.
#[test]
fn an_address_that_may_change_suits_every_election_but_one() {
    let directory = TempDir::new().expect("a directory");
    let data_dir = directory.path().to_str().expect("text").to_owned();
    for (election, result, what) in [
        ("lowest-ip", "warning", "the master changes with addresses"),
        ("bully", "ok", "under bully no address decides who is master"),
    ] {
        let words = ["--json", "--election", election];
        let output = doctor_at("lo", &data_dir, "127.255.255.255", free_port(), &words);
        has(&findings(&output), "address", result, what);
    }
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
    has(&found, "node", "warning", "is not running");
    assert!(!data_dir.exists());

    fs::create_dir(&data_dir).expect("a directory");
    let journal = data_dir.join("journal.redb");
    fs::write(&journal, "this is no journal").expect("a file");
    let output = doctor(&path, free_port(), &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    has(&findings(&output), "journal", "error", "journal.redb is");
    assert_eq!(fs::read(&journal).expect("the file"), b"this is no journal");
    assert_eq!(fs::read_dir(&data_dir).expect("a directory").count(), 1);
}

#[test]
fn a_wrong_configuration_is_a_list_of_errors() {
    let output = doctor("/nowhere", 46100, &["--flight-limit", "1", "--dwell", "never", "--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = findings(&output);
    has(&found, "config", "error", "motion.flight_limit = ");
    has(&found, "config", "error", "never");
    assert_eq!(found.len(), 2, "{found:#?}");
}

/// Each address of 127.0.0.0/8 is one node there, but for the broadcast address.
#[test]
fn a_broadcast_that_reaches_no_other_node_is_an_error() {
    let directory = TempDir::new().expect("a directory");
    let data_dir = directory.path().to_str().expect("text").to_owned();
    let output = doctor_of(&data_dir, "127.0.0.255", free_port(), &["--json"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    has(&findings(&output), "broadcast", "error", "no other node hears this one");
    let output = doctor(&data_dir, free_port(), &["--json"]);
    has(&findings(&output), "broadcast", "ok", "127.255.255.255");
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
    has(&found, "journal", "ok", "can be opened; ");
    has(&found, "node", "warning", "is not running");
}

/// Each is given a configuration that does not go with the node that runs.
#[test]
fn the_nodes_on_the_network_are_listened_to() {
    let mut building = Building::new(4, Line::Serial);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let (data_dir, key) = (path("data"), path("key"));
    assert!(liftmesh(&["keygen", "--out", &key]).output().expect("it runs").status.success());
    let status = building.status("A").expect("A runs");
    let (election, fleet) = (status.election.to_string(), status.fleet.to_string());
    let (address, broadcast) = building.endpoint(2);
    let check = |data_dir: &str, words: &[&str]| {
        let mut command = liftmesh(&["doctor", "--json", "--role", "indicator"]);
        command.args(["--address", &address.to_string(), "--broadcast", &broadcast.to_string()]);
        command.args(["--http-enabled", "false", "--data-dir", data_dir]).args(words);
        command.output().expect("it runs")
    };
    let plain = ["--unit", "B", "--floors", "4", "--election", &election, "--fleet", &fleet];
    let output = check(&data_dir, &plain);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    has(&findings(&output), "fleet", "ok", "are heard: A");
    for (at, value, finding, result, what) in [
        (1, "A", "car", "error", "is also named A"),
        (3, "9", "floors", "warning", "node A has 4 floors, but this one has 9"),
        (5, "ballot", "election", "warning", "this one uses ballot"),
        (7, "other", "fleet", "warning", "this one is in fleet other"),
    ] {
        let mut words = plain;
        words[at] = value;
        let output = check(&data_dir, &words);
        assert_eq!(output.status.code(), Some(i32::from(result == "error")), "{output:?}");
        has(&findings(&output), finding, result, what);
    }
    let found = findings(&check(&data_dir, &[&plain[..], &["--fleet-keys", &key]].concat()));
    has(&found, "fleet_keys", "warning", "has no fleet key, but this one does");
    let taken = building.data_dir("A");
    let output = check(taken.to_str().expect("text"), &plain);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    has(&findings(&output), "data_dir", "error", "in use by node A");
}

/// P5: every command says that the journal is lost, and how to go on.
#[test]
fn a_lost_journal_is_lost_to_every_command() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    fs::remove_file(building.data_dir("A").join("journal.redb")).expect("removed");
    let data_dir = building.data_dir("A").to_str().expect("text").to_owned();
    let doctor = doctor(&data_dir, free_port(), &["--json"]);
    assert_eq!(doctor.status.code(), Some(1), "{doctor:?}");
    has(&findings(&doctor), "journal", "error", "is gone, and this node has run before");
    let audit = liftmesh(&["audit", "--data-dir", &data_dir]).output().expect("it runs");
    assert_eq!(audit.status.code(), Some(4), "{audit:?}");
    let run = building.command("A").output().expect("it runs");
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    for (output, said) in [(&doctor, &doctor.stdout), (&audit, &audit.stderr), (&run, &run.stderr)]
    {
        let said = String::from_utf8_lossy(said);
        assert!(said.contains("liftmesh clear-hang"), "{output:?}");
        assert!(!said.contains("nothing was cleared"), "{said}");
    }
}

/// HTTP's certificate and the broker are looked at, and what is wrong with them is said.
#[test]
fn a_certificate_and_a_broker_are_examined() {
    let directory = TempDir::new().expect("a directory");
    let path = |name: &str| directory.path().join(name).to_str().expect("text").to_owned();
    let data_dir = path("data");
    fs::create_dir(&data_dir).expect("a directory");
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let made = made.expect("a certificate");
    fs::write(path("crt"), made.cert.pem()).expect("written");
    fs::write(path("key"), made.signing_key.serialize_pem()).expect("written");
    fs::set_permissions(path("key"), Permissions::from_mode(0o600)).expect("rights");
    let (certificate, key) = (path("crt"), path("key"));
    let words = ["--json", "--http-certificate", &certificate, "--http-key", &key];
    let found = findings(&doctor(&data_dir, free_port(), &words));
    has(&found, "http.certificate", "ok", "matches its key and is valid until ");

    let other = rcgen::KeyPair::generate().expect("a key");
    fs::write(&key, other.serialize_pem()).expect("written");
    // A port that nobody listens on.
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|held| held.local_addr());
    let broker = format!("mqtt://{}", closed.expect("a port"));
    let words = [&words[..], &["--mqtt-broker", &broker]].concat();
    let output = doctor(&data_dir, free_port(), &words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = findings(&output);
    has(&found, "http.certificate", "error", "can't be used together");
    has(&found, "mqtt.broker", "warning", "refused");
}

/// The node's name and password are tried.
#[test]
fn a_broker_that_wants_a_password_is_given_it() {
    let broker = Broker::prepared(|place| {
        let passwords = place.join("passwords");
        let made = Command::new("mosquitto_passwd")
            .args(["-b", "-c"])
            .arg(&passwords)
            .args(["node", "sesame"])
            .status();
        assert!(made.expect("mosquitto_passwd").success());
        format!("allow_anonymous false\npassword_file {}\n", passwords.display())
    });
    let Some(broker) = broker else { return };
    let directory = TempDir::new().expect("a directory");
    let data_dir = directory.path().to_str().expect("text").to_owned();
    let url = broker.url();
    let words = ["--json", "--mqtt-broker", &url];
    let found = findings(&doctor(&data_dir, free_port(), &words));
    has(&found, "mqtt.broker", "warning", "no connection to ");
    let file = broker.path("word");
    fs::write(&file, "sesame\n").expect("written");
    fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("rights");
    let file = file.to_str().expect("text").to_owned();
    let more = ["--mqtt-username", "node", "--mqtt-password-file", &file];
    let found = findings(&doctor(&data_dir, free_port(), &[&words[..], &more].concat()));
    has(&found, "mqtt.broker", "ok", "accepts this node");
}
