//! HTTP where it takes a process: sockets, TLS, deaths, and the clients of others. What the API does and
//! refuses, `src/http/tests.rs` proves without them.

pub(crate) mod client;
mod fleet;
mod generated;
mod prometheus;
pub(crate) mod remote;
pub(crate) mod tls;

use std::process::Command;

use liftmesh_harness::building::{Building, Line, skip};

use self::client::{address, serving};

/// Makes a token at a node.
pub(crate) fn token(building: &Building, node: &str, name: &str, scope: &str) -> String {
    let words = ["token", "create", "--name", name, "--scope", scope];
    building.done(node, &words).trim().to_owned()
}

/// The threads that serve clients have a lower priority than those that serve passengers. No
/// broker is there.
#[test]
fn passengers_come_before_clients() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.start_with("A", |command| {
        command.args(["--mqtt-broker", "mqtt://127.0.0.1:1"]);
    });
    let niceness = |name: &str| {
        let id = building.threads("A").into_iter().find(|thread| thread.name == name)?.id;
        let path = format!("/proc/{}/task/{id}/stat", building.process_id("A"));
        let text = std::fs::read_to_string(path).expect("it runs");
        let (_, rest) = text.rsplit_once(')').expect("a name");
        Some(rest.split_whitespace().nth(16).expect("its niceness").to_owned())
    };
    for name in ["http", "mqtt"] {
        building.wait(&format!("{name} gives way"), |_| niceness(name).as_deref() == Some("10"));
    }
    for name in ["liftmesh", "journal"] {
        assert_eq!(niceness(name).as_deref(), Some("0"), "{name}");
    }
}

/// The program from which others start: it needs Python alone. The first node that it asks does not
/// run.
#[test]
fn the_example_in_python_takes_a_robot_along() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let directory = tempfile::tempdir().expect("a directory");
    let [certificate, key] = tls::certificate(directory.path(), address(&building, 1).ip());
    building.start_with("A", |command| {
        command.arg("--http-certificate").arg(&certificate).arg("--http-key").arg(&key);
    });
    building.wait_in_service(&["A"]);
    let token = token(&building, "A", "robot", "call");
    let node = format!("https://{}", serving(&building, 1));
    let nobody = format!("http://{}", address(&building, 2));
    let run = |words: &[&str]| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/call_a_car.py");
        let mut command = Command::new("python3");
        command.arg(script).args(words).env("LIFTMESH_TOKEN", &token);
        let output = command.output().ok()?;
        let [said, why] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text"));
        Some((output.status.success(), said, why))
    };
    let ca = certificate.to_str().expect("text");
    let Some((is_done, said, why)) = run(&["--from", "2", "--to", "1", "--ca", ca, &nobody, &node])
    else {
        return skip("python3 is not installed");
    };
    assert!(is_done && said.ends_with("ended: done\n"), "{said}{why}");
    let doors: Vec<_> = said.lines().filter(|line| line.starts_with("open at")).collect();
    assert_eq!(doors, ["open at 2, car A", "open at 1, car A"]);
    for (from, more, lacks) in
        [("9", &["--ca", ca][..], "(no_such_button)"), ("0", &[], "CERTIFICATE_VERIFY_FAILED")]
    {
        let words = [&["--from", from, "--to", "3"], more, &[&node]].concat();
        let (is_done, _, why) = run(&words).expect("it runs");
        assert!(!is_done && why.contains(lacks), "{why}");
    }
    building.assert_safe();
}
