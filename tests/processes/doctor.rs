//! `liftmesh doctor`, for a node that runs and for one that does not.

use std::fs::{self, Permissions, set_permissions};
use std::net::{TcpListener, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Output;

use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line, skip};
use serde_json::Value;
use tempfile::TempDir;

use super::command_line::{done, liftmesh, run};

fn path(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().expect("text").to_owned()
}

/// Of an indicator on loopback, with ports that nobody else uses, unless the words say otherwise.
fn doctor(data_dir: &str, words: &[&str]) -> Output {
    let flags = [
        ("--address", "127.0.0.1".to_owned()),
        ("--broadcast", format!("127.255.255.255:{}", free_port())),
        ("--link-port", free_port().to_string()),
        ("--http-address", format!("127.0.0.1:{}", free_port())),
        ("--data-dir", data_dir.to_owned()),
    ];
    let mut command = liftmesh(&["doctor", "--unit", "A", "--role", "indicator", "--floors", "4"]);
    for (flag, value) in flags.iter().filter(|(flag, _)| !words.contains(flag)) {
        command.args([flag, value.as_str()]);
    }
    command.args(words).arg("--json").output().expect("it runs")
}

#[track_caller]
fn findings(output: &Output, exit: i32) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(exit), "{output:?}");
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
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    socket.local_addr().expect("an address").port()
}

/// Everything that is wrong is told at once, with what to do, and nothing is changed.
#[test]
fn the_doctor_tells_what_would_keep_a_node_from_running() {
    let place = TempDir::new().expect("a directory");
    fs::write(path(&place, "file"), "").expect("written");
    let udp = UdpSocket::bind("127.0.0.1:0").expect("a socket");
    let tcp = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let [beacons, links] =
        [udp.local_addr(), tcp.local_addr()].map(|address| address.expect("bound").port());
    let (broadcast, link_port) = (format!("127.255.255.255:{beacons}"), links.to_string());
    let ports = ["--broadcast", &broadcast, "--link-port", &link_port];
    let probe = |panel: &str, data_dir: &str, exit: i32, more: &[&str]| {
        let words = ["doctor", "--json", "--car", "A", "--floors", "4", "--address", "127.0.0.1"];
        let rest = ["--http-enabled", "false", "--panel", panel, "--data-dir", data_dir];
        findings(&run(&[&words[..], &ports, &rest, more].concat()), exit)
    };
    let (device, file) = (format!("serial://{}", path(&place, "ttyNONE")), path(&place, "file"));
    let socket = ["--read-only-socket", &file, "--read-only-group", "no-such-group"];
    let found = probe(&device, &file, 1, &socket);
    has(&found, "data_dir", "error", "");
    has(&found, "address", "ok", "127.0.0.1 is on lo");
    has(&found, "panel", "error", "there is no device");
    has(&found, "broadcast", "error", &format!("UDP port {beacons}"));
    has(&found, "link_port", "error", &format!("TCP port {links} at 127.0.0.1 is in use"));
    has(&found, "operator.read_only_socket", "error", "no-such-group");
    let found = probe("serial:///dev/null", &path(&place, "new/data"), 1, &[]);
    has(&found, "panel", "error", "/dev/null is not a serial device");
    has(&found, "data_dir", "ok", "will be created when the node starts");
    assert!(!Path::new(&path(&place, "new")).exists());

    // With everything in order it ends with 0.
    drop((udp, tcp));
    let server = TcpListener::bind("127.0.0.1:0").expect("a socket");
    let panel = format!("tcp://{}", server.local_addr().expect("bound"));
    probe(&panel, &path(&place, "new"), 0, &[]);

    let found = findings(&doctor("/nowhere", &["--flight-limit", "1", "--dwell", "never"]), 1);
    has(&found, "config", "error", "motion.flight_limit = ");
    has(&found, "config", "error", "never");
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn a_node_that_does_not_run_is_examined_without_a_change() {
    let place = TempDir::new().expect("a directory");
    let (data_dir, journal) = (path(&place, "data"), path(&place, "data/journal.redb"));
    let found = findings(&doctor(&data_dir, &[]), 0);
    has(&found, "config", "ok", "");
    has(&found, "journal", "ok", "none yet");
    has(&found, "node", "warning", "is not running");
    assert!(!Path::new(&data_dir).exists());

    fs::create_dir(&data_dir).expect("a directory");
    fs::write(&journal, "this is no journal").expect("a file");
    has(&findings(&doctor(&data_dir, &[]), 1), "journal", "error", "journal.redb is");
    assert_eq!(fs::read(&journal).expect("the file"), b"this is no journal");
    assert_eq!(fs::read_dir(&data_dir).expect("a directory").count(), 1);
}

/// A node that runs, and its network: each of several configurations does not go with it.
#[test]
fn the_nodes_on_the_network_are_listened_to() {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    building.install_unit("A", 1, Role::Indicator);
    building.start("A");
    building.wait("A runs", |building| building.status("A").is_some());
    let of_a = building.data_dir("A").to_str().expect("text").to_owned();
    let (address, broadcast) = building.endpoint(2);
    let (address, broadcast) = (address.to_string(), broadcast.to_string());
    let of_beacons = ["--broadcast", &broadcast];
    let found = findings(&doctor(&of_a, &of_beacons), 0);
    has(&found, "node", "ok", "A runs, master, and hears 0 peers");
    has(&found, "journal", "ok", "in use by this node");

    let place = TempDir::new().expect("a directory");
    let (data_dir, key) = (path(&place, "data"), path(&place, "key"));
    done(&["keygen", "--out", &key]);
    let check = |data_dir: &str, exit: i32, words: &[&str]| {
        let network = ["doctor", "--json", "--role", "indicator", "--address", &address];
        let rest = ["--http-enabled", "false", "--data-dir", data_dir];
        findings(&run(&[&network[..], &of_beacons, &rest, words].concat()), exit)
    };
    let plain = ["--unit", "B", "--floors", "4", "--election", "lowest-ip", "--fleet", "liftmesh"];
    has(&check(&data_dir, 0, &plain), "fleet", "ok", "are heard: A");
    for (at, value, finding, exit, what) in [
        (1, "A", "car", 1, "is also named A"),
        (3, "9", "building", 0, "node A has 4 floors, but this one has 9"),
        (5, "ballot", "election", 0, "this one uses ballot"),
        (7, "other", "fleet", 0, "this one is in fleet other"),
    ] {
        let mut words = plain;
        words[at] = value;
        let result = if exit == 0 { "warning" } else { "error" };
        has(&check(&data_dir, exit, &words), finding, result, what);
    }
    let found = check(&data_dir, 0, &[&plain[..], &["--fleet-keys", &key]].concat());
    has(&found, "fleet_keys", "warning", "has no fleet key, but this one does");
    has(&check(&of_a, 1, &plain), "data_dir", "error", "in use by node A");

    building.kill("A");
    let found = findings(&doctor(&of_a, &of_beacons), 0);
    has(&found, "journal", "ok", "can be opened; ");
    has(&found, "node", "warning", "is not running");
}

/// P5: every command says that the journal is lost, and how to go on.
#[test]
fn a_lost_journal_is_lost_to_every_command() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    fs::remove_file(building.data_dir("A").join("journal.redb")).expect("removed");
    let examined = doctor(building.data_dir("A").to_str().expect("text"), &[]);
    has(&findings(&examined, 1), "journal", "error", "is gone, and this node has run before");
    let (audit, run) = (building.refusal("A", &["audit"]), building.refused_start("A"));
    assert_eq!((audit.0, run.0), (Some(4), Some(4)));
    for said in [String::from_utf8_lossy(&examined.stdout).into_owned(), audit.1, run.1] {
        assert!(said.contains("liftmesh clear-hang"), "{said}");
        assert!(!said.contains("nothing was cleared"), "{said}");
    }
}

/// HTTP's certificate and the broker are looked at, and what is wrong with them is said.
#[test]
fn a_certificate_and_a_broker_are_examined() {
    let place = TempDir::new().expect("a directory");
    let (data_dir, certificate, key) =
        (path(&place, "data"), path(&place, "crt"), path(&place, "key"));
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
    let made = made.expect("a certificate");
    fs::write(&certificate, made.cert.pem()).expect("written");
    fs::write(&key, made.signing_key.serialize_pem()).expect("written");
    set_permissions(&key, Permissions::from_mode(0o600)).expect("rights");
    let words = ["--http-certificate", &certificate, "--http-key", &key];
    let found = findings(&doctor(&data_dir, &words), 0);
    has(&found, "http.certificate", "ok", "matches its key and is valid until ");

    let other = rcgen::KeyPair::generate().expect("a key");
    fs::write(&key, other.serialize_pem()).expect("written");
    // A port that nobody listens on.
    let broker = format!("mqtt://127.0.0.1:{}", free_port());
    let found =
        findings(&doctor(&data_dir, &[&words[..], &["--mqtt-broker", &broker]].concat()), 1);
    has(&found, "http.certificate", "error", "can't be used together");
    has(&found, "mqtt.broker", "warning", "refused");
}

/// As SECURITY.md and the README have it: the key is given to the node's user, and root looks.
#[test]
fn the_doctor_tells_whether_the_fleet_key_can_be_used() {
    const NODE: u32 = 54_321;
    let place = TempDir::new().expect("a directory");
    let (data_dir, path) = (path(&place, "data"), path(&place, "fleet.key"));
    done(&["keygen", "--out", &path]);
    let chmod = |mode| set_permissions(&path, Permissions::from_mode(mode)).expect("rights");
    let is = |keys: &str, result: &str, what: &str| {
        let output = doctor(&data_dir, &["--fleet-keys", keys]);
        let exit = output.status.code().expect("a code");
        let found = findings(&output, exit);
        let of_keys = found.iter().find(|one| one["check"] == "fleet_keys").expect("a finding");
        let said = of_keys.to_string();
        assert!(of_keys["result"] == result && said.contains(what), "{result} {what}: {said}");
    };
    is("none", "ok", "messages are sent without a key");
    is(&path, "ok", "messages are sent with key ");
    chmod(0o644);
    is(&path, "error", "");
    chmod(0o600);
    is(&format!("{path}.gone"), "error", "fleet.key.gone: No such file");
    let only_accepted = format!("{path},{path}.gone");
    is(&only_accepted, "error", "until then nodes that send it are not heard");

    if let Err(error) = chown(&path, Some(NODE), Some(NODE)) {
        return skip(&format!("only root can give files to others: {error}"));
    }
    is(&path, "unchecked", "run this as that user");
    fs::create_dir(&data_dir).expect("made");
    is(&path, "error", "user 54321");
    chown(&data_dir, Some(NODE), Some(NODE)).expect("given");
    is(&path, "ok", "messages are sent with key ");
}
