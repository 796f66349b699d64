//! What Prometheus makes of the metrics, by its own tool.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line, skip};

use super::client::{get, serving};

pub(super) fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(path).expect("a file")
}

/// Whether promtool is installed.
fn has_promtool() -> bool {
    let is_there = Command::new("promtool").arg("--version").output().is_ok();
    if !is_there {
        skip("promtool is not installed: apt install prometheus");
    }
    is_there
}

#[test]
fn the_metrics_pass_the_check_of_promtool() {
    // With a broker that is away: what MQTT counts is there all the same.
    let flags = ["--mqtt-broker", "mqtt://127.0.0.1:1"];
    let building = Building::with_flags(4, Line::Serial, &["A", "B"], &flags);
    let a = serving(&building, 1);
    building.press("A", building.hall(2, Direction::Up));
    for line in [
        "liftmesh_order_waiting_seconds_count 1",
        "liftmesh_node_state{state=\"master\"} 1",
        "liftmesh_peer_in_step{peer=\"B\"} 1",
        "liftmesh_hung_cars 0",
        "liftmesh_latched{node=\"A\"} 0",
        // From zero on, so that a first burst has a rate.
        "liftmesh_mesh_datagrams_total{kind=\"forged\"} 0",
        "liftmesh_queue_length{queue=\"disk\"} 0",
        "liftmesh_queue_length{queue=\"link_frames\"} 0",
        "liftmesh_mqtt_answers_dropped_total 0",
    ] {
        building.wait(line, |_| get(a, "/metrics").body.lines().any(|found| found == line));
    }
    // Its broker is away.
    let waits = "liftmesh_queue_length{queue=\"mqtt\"} ";
    building.wait("events wait for the broker", |_| {
        let page = get(a, "/metrics").body;
        page.lines().filter_map(|line| line.strip_prefix(waits)).any(|length| length != "0")
    });
    let page = get(a, "/metrics");
    assert!(page.head.contains("content-type: text/plain; version=0.0.4"), "{page:?}");
    let names: BTreeSet<_> = page
        .body
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split(['{', ' ']).next())
        .collect();
    // What the rules and the dashboard ask for is there.
    for text in [file("config/prometheus-alerts.yml"), file("config/grafana-dashboard.json")] {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: BTreeSet<_> = words.filter(|word| word.starts_with("liftmesh_")).collect();
        assert!(asked.len() > 8, "{asked:?}");
        assert!(asked.is_subset(&names), "{:?}", asked.difference(&names).collect::<Vec<_>>());
    }
    let described = file("docs/API.md");
    for name in page.body.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = name.split(' ').next().expect("a name");
        assert!(described.contains(&format!("`{name}`")), "docs/API.md lacks {name}");
    }
    building.wait_all_dark();
    if has_promtool() {
        check(&page.body);
    }
}

fn check(metrics: &str) {
    let mut check = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("promtool");
    let stdin = check.stdin.take();
    stdin.expect("a pipe").write_all(metrics.as_bytes()).expect("it reads");
    let output = check.wait_with_output().expect("it ends");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success() && said.trim().is_empty(), "{said}");
}

#[test]
fn the_rules_for_alerts_pass_the_check_of_promtool() {
    if !has_promtool() {
        return;
    }
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/config/prometheus-alerts.yml");
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/config/prometheus-alerts.test.yml");
    for words in [["check", "rules", rules], ["test", "rules", tests]] {
        let output = Command::new("promtool").args(words).output().expect("promtool");
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said));
    }
}
