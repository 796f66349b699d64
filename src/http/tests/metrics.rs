//! What Prometheus gets.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use super::bench::{LOOPBACK, Side, text};
use crate::operator::tests::full_status;

fn file(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// A real Prometheus reads them in the tests of processes.
#[tokio::test]
async fn the_metrics_are_those_that_rules_dashboard_and_document_name() {
    let side = Side::with(LOOPBACK, Some(full_status()), Vec::new());
    let page = side.ask("GET", "/metrics", None, &Value::Null).await;
    assert!(
        page.headers()["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4")
    );
    let page = text(page).await;
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let names: BTreeSet<_> = samples.filter_map(|line| line.split(['{', ' ']).next()).collect();
    for text in [file("config/prometheus-alerts.yml"), file("config/grafana-dashboard.json")] {
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let asked: BTreeSet<_> = words.filter(|word| word.starts_with("liftmesh_")).collect();
        assert!(asked.len() > 8 && asked.is_subset(&names), "{:?}", asked.difference(&names));
    }
    let described = file("docs/API.md");
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let name = line.split(' ').next().unwrap();
        assert!(described.contains(&format!("`{name}`")), "docs/API.md lacks {name}");
    }
    // From zero on, so that a first burst has a rate.
    for line in [
        "liftmesh_mesh_datagrams_total{kind=\"forged\"} 0",
        "liftmesh_node_state{state=\"master\"} 1",
        "liftmesh_peer_in_step{peer=\"peer-3\"} 1",
        "liftmesh_queue_length{queue=\"mqtt\"} 0",
        "liftmesh_mqtt_answers_dropped_total 0",
    ] {
        assert!(page.lines().any(|found| found == line), "no {line}: {page}");
    }
}
