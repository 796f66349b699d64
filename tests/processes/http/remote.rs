//! Commands that go to a node at another computer: `--url`, with a token.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use elevator_fleet::model::Mode;
use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use super::caretaker::hang;
use super::client::{address, request, serving};
use super::tls::certificate;
use super::token;
use crate::command_line::liftmesh;

const WHO: [&str; 4] = ["--operator", "J. Kovac", "--reason", "new carpet"];

/// Somebody at another computer: where the node is, and the file of a token.
pub(crate) struct Desk {
    url: String,
    token: PathBuf,
    _directory: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new(url: String, token: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("token");
        fs::write(&file, format!("{token}\n")).expect("written");
        fs::set_permissions(&file, Permissions::from_mode(0o600)).expect("rights");
        Self { url, token: file, _directory: directory }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = liftmesh(words);
        command.args(["--url", &self.url]).arg("--token-file").arg(&self.token);
        command
    }

    #[track_caller]
    fn done(&self, words: &[&str]) -> String {
        said(&self.command(words).output().expect("it runs"))
    }

    /// The exit code, and what it says on standard error: never the token.
    fn fails(&self, words: &[&str]) -> (Option<i32>, String) {
        let refused = refusal(&self.command(words).output().expect("it runs"));
        let token = fs::read_to_string(&self.token).expect("a token");
        assert!(!refused.1.contains(token.trim()), "{refused:?}");
        refused
    }
}

#[track_caller]
fn said(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

fn refusal(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8(output.stderr.clone()).expect("text"))
}

#[test]
fn a_fleet_is_operated_from_another_computer() {
    let building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let a = serving(&building, 1);
    let desk = Desk::new(format!("http://{a}"), &token(&building, "A", "desk", "operate"));

    let page = desk.done(&["status", "--fleet"]);
    assert!(page.starts_with("Fleet liftmesh: 2 nodes, master A"), "{page}");
    assert!(page.contains("as node A sees it"), "{page}");
    let fleet: Value =
        serde_json::from_str(&desk.done(&["status", "--fleet", "--json"])).expect("JSON");
    let here = building.operator("A", &["status", "--fleet", "--json"]).output().expect("it runs");
    let here: Value = serde_json::from_str(&said(&here)).expect("JSON");
    for field in ["seen_by", "fleet", "election", "floors", "master", "term", "orders"] {
        assert_eq!(fleet[field], here[field], "{field}");
    }
    let cars = |fleet: &Value| -> Vec<Value> {
        let nodes = fleet["nodes"].as_array().expect("nodes");
        nodes.iter().map(|node| json!([node["node"], node["car"]["floor"]])).collect()
    };
    assert_eq!(cars(&fleet), cars(&here));

    let mut events = desk.command(&["events", "--json", "--kind", "served", "--limit", "1"]);
    let mut events = events.stdout(Stdio::piped()).spawn().expect("it runs");
    let served = desk.done(&["order", "hall", "2", "up", "--wait", "served"]);
    assert!(served.starts_with("hall 2 up served by "), "{served}");
    // Its stream may have begun after that.
    desk.done(&["order", "car", "B", "1", "--wait", "served"]);
    let mut line = String::new();
    BufReader::new(events.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    assert_eq!(serde_json::from_str::<Value>(&line).expect("JSON")["event"], "served", "{line}");
    assert!(events.wait().expect("it ends").success());
    let assigned = desk.done(&["order", "hall", "3", "down", "--wait", "assigned"]);
    assert!(assigned.starts_with("hall 3 down given to "), "{assigned}");

    let set = desk.done(&[&["mode", "B", "out-of-service"], &WHO[..]].concat());
    assert_eq!(set, "mode of B set to out-of-service\n");
    let mode = |building: &Building, name: &str| {
        building.status(name).and_then(|status| status.car).map(|car| car.view.mode)
    };
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::OutOfService));
    assert_eq!(
        desk.done(&[&["fire-recall", "start"], &WHO[..]].concat()),
        "fire recall of all cars started\n"
    );
    building.wait("A is recalled", |building| mode(building, "A") == Some(Mode::FireRecall));
    let (code, why) = desk.fails(&["order", "hall", "1", "up"]);
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains(&desk.url), "{why}");
    desk.done(&["fire-recall", "end", "--operator", "kovac"]);
    building.wait("A is back", |building| mode(building, "A") == Some(Mode::InService));
    command_all_cars(&building, &desk);
    assert_eq!(
        desk.done(&[&["clear-hang"], &WHO[..]].concat()),
        "nothing to clear: the node is running\n"
    );
    building.assert_safe();
}

/// Priority calls, locks and emergency power, and how the fleet is shown meanwhile.
fn command_all_cars(building: &Building, desk: &Desk) {
    let done = |words: &[&str]| desk.done(&[words, &WHO[..]].concat());
    let mode = |name: &str| building.status(name).and_then(|it| it.car).map(|car| car.view.mode);
    assert_eq!(done(&["priority", "2", "--car", "A"]), "car A goes to floor 2 with priority\n");
    building.wait("A obeys", |_| mode("A") == Some(Mode::Priority));
    let page = desk.done(&["status", "--fleet"]);
    assert!(page.contains("  priority  ") && page.contains("  out-of-service  "), "{page}");
    done(&["priority", "end", "--car", "A"]);
    building.wait("it is called off", |_| mode("A") == Some(Mode::InService));

    assert_eq!(done(&["floors", "lock", "3"]), "floor 3 locked\n");
    done(&["emergency-power", "start", "--car", "A"]);
    building.wait("both obey", |_| mode("B") == Some(Mode::EmergencyPower));
    let (code, why) = desk.fails(&[&["priority", "2"], &WHO[..]].concat());
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("emergency power"), "{why}");
    let page = desk.done(&["status", "--fleet"]);
    assert!(page.contains("\n  emergency power, ") && page.contains("\n  floor 3 is locked\n"));
    let fleet: Value =
        serde_json::from_str(&desk.done(&["status", "--fleet", "--json"])).expect("JSON");
    let said = [&fleet["emergency_power"], &fleet["fire_recall"], &fleet["locked_floors"]];
    assert_eq!(said, [&json!(true), &json!(false), &json!([3])]);
    done(&["emergency-power", "end"]);
    assert_eq!(done(&["floors", "unlock", "3"]), "floor 3 unlocked\n");
    let page = desk.done(&["status", "--fleet"]);
    assert!(!page.contains("emergency power") && !page.contains("locked\n"), "{page}");
}

/// Who took car B out, and why? B has heard of it from A, and does not know whose account it was.
#[test]
fn the_audit_log_of_the_fleet_says_who_and_why() {
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    let (a, b) = (serving(&building, 1), serving(&building, 2));
    let secret = token(&building, "A", "desk", "operate");
    let desk = Desk::new(format!("http://{b}"), &secret);
    let here = |words: &[&str]| said(&building.operator("A", words).output().expect("it runs"));
    here(&[&["mode", "B", "out-of-service"], &WHO[..]].concat());
    building.wait("B records it", |_| {
        let shown = desk.command(&["audit"]).output().expect("it runs").stdout;
        String::from_utf8_lossy(&shown).contains("  mode/B is out-of-service\n")
    });
    let of_b = desk.done(&["audit"]);
    let heard = of_b.lines().find(|line| line.contains("mode/B is")).expect("a record");
    assert!(heard.contains("new carpet") && !heard.contains("uid"), "{of_b}");
    let file = desk.token.to_str().expect("text");
    for page in
        [desk.done(&["audit", "--fleet"]), here(&["audit", "--fleet", "--token-file", file])]
    {
        let found: Vec<_> = page.lines().filter(|line| line.contains("mode/B is")).collect();
        let is_whole = |line: &str| line.contains("  A     setting  J. Kovac  uid ");
        assert!(found.len() == 1 && is_whole(found[0]), "{page}");
        assert!(found[0].contains("  new carpet  ") && !page.contains("not asked"), "{page}");
    }
    let last = desk.done(&["audit", "--fleet", "--json", "--limit", "1"]);
    let bearer = [("Authorization", &*format!("Bearer {secret}"))];
    let log = request(a, "GET", "/api/v1/audit", &bearer, "").json();
    assert_eq!(
        log.as_array().and_then(|log| log.last()),
        serde_json::from_str(&last).ok().as_ref()
    );
    assert!(last.contains(r#""reason":"new carpet""#), "{last}");
    assert!(here(&["audit", "--fleet"]).contains(&format!("\nnot asked: B: http://{b}: ")));
    building.kill("B");
    let page = Desk::new(format!("http://{a}"), &secret).done(&["audit", "--fleet"]);
    assert!(page.contains(&format!("\nnot asked: B: no node answers at http://{b};")), "{page}");
    building.assert_safe();
}

#[test]
fn what_a_command_to_another_computer_lacks_is_said() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let url = format!("http://{a}");
    let mode = [&["mode", "A", "independent"], &WHO[..]].concat();
    let kiosk = Desk::new(url.clone(), &token(&building, "A", "kiosk", "call"));
    let (code, why) = kiosk.fails(&mode);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("token kiosk has scope call, but this needs operate"), "{why}");
    let stranger = Desk::new(url.clone(), "liftmesh-token-00112233445566778899aabbccddeeff");
    let (code, why) = stranger.fails(&mode);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("give one with --token-file FILE or LIFTMESH_TOKEN"), "{why}");
    let none = refusal(&liftmesh(&mode).args(["--url", &url]).output().expect("it runs"));
    assert_eq!(none.0, Some(2), "{none:?}");
    assert!(none.1.contains("--token-file FILE"), "{none:?}");

    let (code, why) = kiosk.fails(&["order", "hall", "9", "up"]);
    assert_eq!(code, Some(2), "{why}");
    let (code, why) = kiosk.fails(&["status", "--data-dir", "/tmp"]);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("use only one of them"), "{why}");
    fs::set_permissions(&kiosk.token, Permissions::from_mode(0o644)).expect("rights");
    let (code, why) = kiosk.fails(&["order", "hall", "1", "up"]);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("fix it with: chmod o= "), "{why}");

    let secret = token(&building, "A", "shell", "call");
    let placed = liftmesh(&["order", "hall", "1", "up"])
        .env("LIFTMESH_URL", &url)
        .env("LIFTMESH_TOKEN", &secret)
        .output()
        .expect("it runs");
    assert_eq!(said(&placed), "hall 1 up placed\n");
    let log = building.logged("A");
    assert!(!log.contains(&secret), "a token is in the log");

    let lan = refusal(
        &liftmesh(&["status", "--url", "http://192.0.2.1:7080"]).output().expect("it runs"),
    );
    assert_eq!(lan.0, Some(2), "{lan:?}");
    assert!(lan.1.contains("not encrypted"), "{lan:?}");
    let nobody = format!("http://{}:1", a.ip());
    let nobody = refusal(&liftmesh(&["status", "--url", &nobody]).output().expect("it runs"));
    assert_eq!(nobody.0, Some(5), "{nobody:?}");
    assert!(nobody.1.contains("no node answers at"), "{nobody:?}");
    building.assert_safe();
}

#[test]
fn a_node_is_believed_by_the_certificate_of_its_authority() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let (a, directory) = (address(&building, 1), tempfile::tempdir().expect("a directory"));
    let [own, key] = certificate(directory.path(), a.ip());
    building.start_with("A", |command| {
        command.arg("--http-certificate").arg(&own).arg("--http-key").arg(&key);
    });
    building.wait_in_service(&["A"]);
    serving(&building, 1);
    let desk = Desk::new(format!("https://{a}"), &token(&building, "A", "kiosk", "call"));
    let with = |words: &[&str], ca: &Path| {
        desk.command(words).arg("--ca").arg(ca).output().expect("it runs")
    };
    assert!(said(&with(&["status"], &own)).contains("Node A: master"));
    let served = said(&with(&["order", "hall", "2", "up", "--wait", "served"], &own));
    assert!(served.starts_with("hall 2 up served by A"), "{served}");
    let other = tempfile::tempdir().expect("a directory");
    let [stranger, _] = certificate(other.path(), a.ip());
    let (code, why) = refusal(&with(&["status"], &stranger));
    assert_eq!(code, Some(1), "{why}");
    assert!(why.contains("is not trusted") && why.contains("--ca FILE"), "{why}");
    building.assert_safe();
}

/// F9: at the address of a node that hung its caretaker answers.
#[test]
fn a_hang_is_cleared_from_another_computer() {
    let mut building = Building::with_cars(6, Line::Serial, &["B"]);
    let desk = token(&building, "B", "desk", "operate");
    let call = building.car_call(5);
    hang(&mut building, "B", call);
    let mut caretaker = building.start_caretaker("B");
    let b = serving(&building, 1);
    let desk = Desk::new(format!("http://{b}"), &desk);
    for words in [&["status"][..], &["top", "--once"]] {
        let (code, why) = desk.fails(words);
        assert_eq!(code, Some(4), "{why}");
        assert!(why.contains("`liftmesh clear-hang --url …`"), "{why}");
    }
    let cleared = desk.done(&[&["clear-hang"], &WHO[..]].concat());
    assert!(cleared.contains("\naudit log: record "), "{cleared}");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    building.start("B");
    building.wait_in_service(&["B"]);
    building.assert_safe();
}
