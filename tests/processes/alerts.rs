//! Alerts for real receivers: a command, and a web server that never answers beside it.

use std::fs::read_to_string;
use std::io::Read;
use std::net::TcpListener;

use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

/// The alerts that a command has appended to a file.
fn alerts(building: &Building) -> Vec<Value> {
    let text = read_to_string(building.path("alerts.jsonl")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Whether these are all alerts, by what they are about and how far they are.
fn are(building: &Building, expected: &[[&str; 3]]) -> bool {
    let alerts = alerts(building);
    let shown = |alert: &Value| ["alert", "subject", "state"].map(|name| alert[name].clone());
    alerts.iter().map(shown).eq(expected.iter().map(|it| it.map(Value::from)))
}

fn start(building: &mut Building, name: &str, webhook: &TcpListener) {
    let command = format!("tee -a {}", building.path("alerts.jsonl").display());
    let url = format!("http://{}/lifts", webhook.local_addr().expect("bound"));
    building.start_with(name, |node| {
        node.args(["--alerts-command", &command, "--alerts-webhook", &url]);
    });
}

/// A car hangs, its node is cleared and starts again; somebody calls for help from it. Each node has
/// the same receivers, and one of the nodes sends. F9.
#[test]
fn a_hang_is_sent_once_and_cleared_whatever_another_receiver_does() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut building = Building::new(12, Line::Serial);
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        start(&mut building, name, &silent);
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    building.fly("B", 11);
    building.tell("B", "fault motor stuck");
    assert_eq!(building.exit("B").code(), Some(3));
    let raised = ["hang", "B", "raised"];
    building.wait("the hang arrives", |building| are(building, &[raised]));
    let alert = alerts(&building).remove(0);
    assert_eq!(
        (&alert["severity"], &alert["node"], &alert["fleet"]),
        (&json!("critical"), &json!("A"), &json!("liftmesh"))
    );
    assert!(alert["text"].as_str().expect("text").starts_with("car B hung"), "{alert}");
    // The other one was asked, too.
    let (mut request, _) = silent.accept().expect("a connection");
    let mut head = [0; 64];
    request.read_exact(&mut head).expect("a request");
    assert!(head.starts_with(b"POST /lifts HTTP/1.1\r\n"), "{head:?}");

    building.clear_hang("B");
    building.tell("B", "fault motor ok");
    start(&mut building, "B", &silent);
    let cleared = ["hang", "B", "cleared"];
    building.wait("the end of the hang arrives", |building| are(building, &[raised, cleared]));
    building.wait_in_service(&["A", "B"]);
    building.tell("B", "alarm");
    let alarm = ["alarm", "B", "raised"];
    building.wait("the alarm arrives", |building| are(building, &[raised, cleared, alarm]));
    building.done("A", &["acknowledge-alarm", "B", "--operator", "kovac"]);
    let answered = ["alarm", "B", "cleared"];
    building.wait("so does its end", |building| are(building, &[raised, cleared, alarm, answered]));
    building.assert_safe();
}

/// Nobody else could say it.
#[test]
fn a_node_that_is_alone_says_that_its_car_hung() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut building = Building::new(12, Line::Serial);
    building.install("A", 1);
    start(&mut building, "A", &silent);
    building.wait_in_service(&["A"]);
    building.fly("A", 11);
    building.tell("A", "fault motor stuck");
    assert_eq!(building.exit("A").code(), Some(3));
    building.wait("the hang arrives", |building| are(building, &[["hang", "A", "raised"]]));
}
