//! A real Prometheus that reads real nodes, and what its tool says of the rules.

use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;

use elevator_driver::Direction;
use elevator_fleet::settings::Setting;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Building, Line, skip};

use super::client::{address, get, serving};
use super::{tls, token};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).expect("a file")
}

/// A running Prometheus.
struct Server {
    address: SocketAddr,
    process: Process,
}

impl Server {
    /// Starts one that reads these nodes as `config/prometheus.yml` has it, and itself. It ends with
    /// this. The authority and the token are in its directory.
    fn start(directory: &Path, nodes: &[SocketAddr]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        drop(listener);
        fs::write(directory.join("prometheus-alerts.yml"), file("config/prometheus-alerts.yml"))
            .expect("the rules");
        let shipped = file("config/prometheus.yml");
        let (head, _examples) = shipped.split_once("      - targets:\n").expect("targets");
        let nodes: Vec<_> = nodes.iter().map(SocketAddr::to_string).collect();
        let config = format!(
            "{}      - targets: {nodes:?}\n  - job_name: prometheus\n    static_configs:\n      - targets: \
             [\"{address}\"]\n",
            head.replace("interval: 15s", "interval: 1s")
        );
        let config_file = directory.join("prometheus.yml");
        fs::write(&config_file, config).expect("the configuration");
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={}", config_file.display()))
            .arg(format!("--storage.tsdb.path={}", directory.join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .current_dir(directory);
        let log = directory.join("prometheus.log");
        let process = Process::start("prometheus", command, log).expect("prometheus");
        Self { address, process }
    }

    /// Waits until an expression has this value.
    fn wait(&mut self, building: &Building, expression: &str, expected: f64) {
        building.wait(&format!("{expression} is {expected}"), |_| {
            assert!(self.process.ended().is_none(), "{}", self.process.last_lines(20));
            // It answers 503 until it is ready.
            TcpStream::connect(self.address).is_ok()
                && get(self.address, "/-/ready").status == 200
                && value(self, expression).is_some_and(|is| (is - expected).abs() < 1e-9)
        });
    }
}

/// The latest value of an expression, if it has exactly one.
fn value(server: &Server, expression: &str) -> Option<f64> {
    let escaped: Vec<_> = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer = get(server.address, &format!("/api/v1/query?query={}", escaped.concat()));
    assert_eq!(answer.status, 200, "{expression}: {answer:?}");
    match answer.json()["data"]["result"].as_array().expect("a list").as_slice() {
        [only] => only["value"][1].as_str().expect("a number as text").parse().ok(),
        _ => None,
    }
}

/// It reads the metrics over TLS with a token, evaluates every rule over them, and sees a node that
/// was killed.
#[test]
fn prometheus_reads_the_nodes_and_evaluates_the_alerts() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        return skip("prometheus is not installed: apt install prometheus");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mut building = Building::new(4, Line::Serial);
    let (mut nodes, mut authorities) = (Vec::new(), String::new());
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        let node = address(&building, number);
        let place = directory.path().join(name);
        fs::create_dir(&place).expect("a directory");
        let [certificate, key] = tls::certificate(&place, node.ip());
        authorities += &fs::read_to_string(&certificate).expect("a certificate");
        building.start_with(name, |command| {
            command.arg("--http-certificate").arg(&certificate).arg("--http-key").arg(&key);
            command.args(["--mqtt-broker", "mqtt://127.0.0.1:1"]);
        });
        nodes.push(node);
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    for number in [1, 2] {
        serving(&building, number);
    }
    let view = token(&building, "A", "prometheus", "view");
    fs::write(directory.path().join("token"), view).expect("written");
    fs::write(directory.path().join("ca.pem"), authorities).expect("written");
    building.wait("B knows the token", |building| {
        let status = building.status("B").expect("a status");
        status.settings.iter().any(|it| matches!(it.setting, Setting::Token(..)))
    });
    building.press("A", building.hall(2, Direction::Up));
    let mut server = Server::start(directory.path(), &nodes);
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

#[test]
fn the_rules_for_alerts_pass_the_check_of_promtool() {
    let rules = concat!(env!("CARGO_MANIFEST_DIR"), "/config/prometheus-alerts.yml");
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/config/prometheus-alerts.test.yml");
    for words in [["check", "rules", rules], ["test", "rules", tests]] {
        let Ok(output) = Command::new("promtool").args(words).output() else {
            return skip("promtool is not installed: apt install prometheus");
        };
        let said = [output.stdout, output.stderr].concat();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&said));
    }
}
