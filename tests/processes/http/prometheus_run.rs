//! A real Prometheus that reads real nodes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;

use elevator_driver::Direction;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Building, Line, skip};

use super::client::{get, serving};
use super::prometheus::file;

/// A running Prometheus.
struct Server {
    address: SocketAddr,
    process: Process,
}

impl Server {
    /// Starts one that reads the nodes of these numbers, and itself. It ends with this.
    fn start(building: &Building, nodes: &[u8]) -> Self {
        let directory = building.path("prometheus");
        std::fs::create_dir(&directory).expect("a directory");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        let rules = directory.join("liftmesh-alerts.yml");
        std::fs::write(&rules, file("config/prometheus-alerts.yml")).expect("the rules");
        let targets: Vec<_> =
            nodes.iter().map(|it| format!("{}:7080", building.endpoint(*it).0)).collect();
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\n\
             rule_files: [{}]\n\
             scrape_configs:\n\
             - {{job_name: liftmesh, static_configs: [{{targets: {targets:?}}}]}}\n\
             - {{job_name: prometheus, static_configs: [{{targets: [\"{address}\"]}}]}}\n",
            rules.display(),
        );
        let config_file = directory.join("prometheus.yml");
        std::fs::write(&config_file, config).expect("the configuration");
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", config_file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .current_dir(&directory);
        let log = directory.join("prometheus.log");
        let process = Process::start("prometheus", command, log).expect("prometheus");
        Self { address, process }
    }

    /// Waits until an expression has this value.
    fn wait(&mut self, building: &Building, expression: &str, expected: f64) {
        let what = format!("{expression} is {expected}");
        building.wait(&what, |_| {
            if self.process.ended().is_some() {
                let log = std::fs::read_to_string(self.process.log()).unwrap_or_default();
                panic!("prometheus has ended: {log}");
            }
            if TcpStream::connect(self.address).is_err() {
                return false;
            }
            // It answers 503 until it is ready.
            get(self.address, "/-/ready").status == 200
                && value(self, expression).is_some_and(|is| (is - expected).abs() < 1e-9)
        });
    }
}

/// The latest value of an expression, if it has exactly one.
fn value(server: &Server, expression: &str) -> Option<f64> {
    let escaped: Vec<_> = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer = get(server.address, &format!("/api/v1/query?query={}", escaped.concat()));
    assert_eq!(answer.status, 200, "{answer:?}");
    match answer.json()["data"]["result"].as_array().expect("a list").as_slice() {
        [only] => only["value"][1].as_str().expect("a number as text").parse().ok(),
        _ => None,
    }
}

/// It reads the metrics, evaluates every rule over them, and sees a node that was killed.
#[test]
fn prometheus_reads_the_nodes_and_evaluates_the_alerts() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        skip("prometheus is not installed: apt install prometheus");
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    for number in [1, 2] {
        serving(&building, number);
    }
    building.wait_for_master("A");
    building.press("A", building.hall(2, Direction::Up));
    let mut server = Server::start(&building, &[1, 2]);
    server.wait(&building, r#"sum(up{job="liftmesh"})"#, 2.0);
    server.wait(&building, r#"sum(liftmesh_node_state{state="master"})"#, 1.0);
    server.wait(&building, "min(liftmesh_panel_connected)", 1.0);
    // The node that served it counts it.
    server.wait(&building, "sum(liftmesh_order_waiting_seconds_count) > bool 0", 1.0);

    let alerts = file("config/prometheus-alerts.yml").matches("- alert: ").count();
    let alerts = f64::from(u32::try_from(alerts).expect("few"));
    server.wait(&building, "sum(prometheus_rule_group_rules)", alerts);
    server.wait(&building, "sum(prometheus_rule_evaluations_total) > bool 0", 1.0);
    assert_eq!(value(&server, "sum(prometheus_rule_evaluation_failures_total)"), Some(0.0));

    building.kill("B");
    server.wait(&building, r#"sum(up{job="liftmesh"})"#, 1.0);
    let pending = r#"count(ALERTS{alertname="LiftmeshNodeDown",alertstate="pending"})"#;
    server.wait(&building, pending, 1.0);
}
