//! The binary, from outside.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use elevator_driver::{Direction, Floor};
use elevator_fleet::car::{HangCause, HangEvidence};
use elevator_fleet::model::NodeId;
use liftmesh::latch::{self, Hang, Latch};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Runs the binary with these words, in an environment without settings.
pub(super) fn liftmesh(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
    command.args(words).env("LIFTMESH_CONFIG", "").stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LIFTMESH__") {
            command.env_remove(name);
        }
    }
    command
}

pub(super) fn run(words: &[&str]) -> Output {
    liftmesh(words).output().unwrap()
}

#[track_caller]
pub(super) fn done(words: &[&str]) -> String {
    let output = run(words);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{errors}");
    assert_eq!(errors, "");
    String::from_utf8(output.stdout).unwrap()
}

/// What it says on standard error when it ends with this code.
#[track_caller]
pub(super) fn fails(exit: i32, words: &[&str]) -> String {
    let output = run(words);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(exit), "{errors}");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "");
    errors
}

fn example(directory: &TempDir) -> String {
    let file = directory.path().join("node.toml");
    std::fs::write(&file, done(&["check-config", "--example"])).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn help_shows_the_commands_and_every_exit_code() {
    let help = done(&["--help"]);
    for command in [
        "run",
        "status",
        "top",
        "events",
        "order",
        "mode",
        "priority",
        "fire-recall",
        "floors",
        "emergency-power",
        "clear-hang",
        "caretaker",
        "audit",
        "presses",
        "keygen",
        "token",
        "doctor",
        "assign",
        "check-config",
    ] {
        assert!(help.contains(&format!("\n  {command} ")), "{command}");
        let own = done(&[command, "--help"]);
        assert!(own.contains("Examples:"), "{command}");
    }
    for exit in 0..=5 {
        assert!(help.contains(&format!("\n  {exit}  ")), "{exit}");
    }
}

/// A page has the keys that a node needs; `help config` has the others.
#[test]
fn the_help_of_a_node_fits_one_page() {
    for command in ["run", "caretaker", "check-config", "doctor"] {
        let help = done(&[command, "--help"]);
        assert!(help.lines().count() <= 60, "{help}");
        assert_eq!(help, done(&["help", command]));
        let flags = ["car", "address", "broadcast", "panel", "floors", "data-dir", "fleet-keys"];
        for flag in flags {
            assert!(help.contains(&format!("  --{flag} <")), "{flag}: {help}");
        }
        assert!(!help.contains("--door-nudge-after"), "{help}");
    }
    let list = done(&["help", "config"]);
    assert!(list.contains("\n[door]  ") && list.contains("\n  nudge_after  "), "{list}");
    for word in ["door.dwell", "dwell", "--door-dwell", "LIFTMESH__DOOR__DWELL"] {
        let told = done(&["help", "config", word]);
        for part in [
            "[door]\n",
            "from 1s to 30s",
            "Default: \"3 s\"",
            "LIFTMESH__DOOR__DWELL",
            "--door-dwell",
        ] {
            assert!(told.contains(part), "{word}: {told}");
        }
    }
    let table = done(&["help", "config", "[door]"]);
    assert!(table.contains("dwell = ") && table.contains("nudge_after = "), "{table}");
    let error = fails(2, &["help", "config", "dor"]);
    assert!(error.contains("did you mean `[door]`?"), "{error}");
}

/// C2
#[test]
fn a_command_finds_the_configuration_by_flag_or_by_variable() {
    let directory = tempfile::tempdir().unwrap();
    let (file, path) = (example(&directory), directory.path().display());
    let by_variable = |words: &[&str]| {
        let output = liftmesh(words).env("LIFTMESH_CONFIG", &file).output().unwrap();
        String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
    };
    assert_eq!(by_variable(&["check-config"]), done(&["check-config", "--config", &file]));
    let error = by_variable(&["check-config", "--config", "/nowhere/node.toml"]);
    assert!(error.contains("/nowhere/node.toml can't be read"), "{error}");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("/var/lib/liftmesh", &format!("{path}/data"))).unwrap();
    let error = by_variable(&["status"]);
    assert!(
        error.contains(&format!("no node is running with data directory {path}/data")),
        "{error}"
    );
    // Whoever names a node needs no configuration.
    std::fs::write(&file, "floors = 1\n").unwrap();
    let error = by_variable(&["status", "--data-dir", &format!("{path}")]);
    assert!(error.contains(&format!("no node is running with data directory {path};")), "{error}");
}

#[test]
fn a_command_line_that_is_none_ends_with_two() {
    for words in [&["fly"][..], &["run", "--colour", "red"], &["order", "hall"]] {
        assert!(fails(2, words).contains("Usage:"), "{words:?}");
    }
}

#[test]
fn check_config_shows_what_holds_and_where_it_comes_from() {
    let directory = tempfile::tempdir().unwrap();
    let file = example(&directory);
    let output = liftmesh(&["check-config", "--config", &file, "--floors", "7"])
        .env("LIFTMESH__DOOR__DWELL", "4 s")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = |key: &str| {
        let start = format!("{key} = ");
        let line = shown.lines().find(|line| line.starts_with(&start)).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("floors"), "floors = 7 # flag --floors");
    assert_eq!(line("door.dwell"), "door.dwell = \"4 s\" # variable LIFTMESH__DOOR__DWELL");
    assert!(line("car").starts_with(&format!("car = \"A\" # {file}:")));
    assert_eq!(line("fleet"), "fleet = \"liftmesh\" # default");
}

#[test]
fn a_wrong_configuration_ends_with_two_and_names_the_place() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.toml");
    let right = done(&["check-config", "--example"]);
    let text = right.replace("floors = 4", "floors = 1");
    let line = text.lines().position(|line| line == "floors = 1").unwrap() + 1;
    std::fs::write(&file, text).unwrap();
    let file = file.to_str().unwrap();
    for command in ["check-config", "run"] {
        let error = fails(2, &[command, "--config", file]);
        assert_eq!(
            error,
            format!(
                "liftmesh: {file}:{line}:10: floors = 1 is wrong; \
                 expected a whole number from 2 to 254\n"
            )
        );
        let error = fails(2, &[command, "--config", "/nowhere/node.toml"]);
        assert!(error.contains("/nowhere/node.toml can't be read"), "{error}");
    }
    let error = fails(2, &["run", "--car", "A"]);
    assert!(error.contains("address is not set; give --address ADDRESS"));
}

/// They speak to a node by its socket or read its disk: an address helps them nothing.
#[test]
fn commands_of_the_nodes_own_computer_say_so_to_an_address() {
    let url = "https://127.0.0.9:7080";
    let commands: [&[&str]; 3] = [&["presses"], &["token", "list"], &["floors", "show"]];
    for words in commands {
        let by_flag = fails(2, &[words, &["--url", url]].concat());
        let output = liftmesh(words).env("LIFTMESH_URL", url).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let by_variable = String::from_utf8(output.stderr).unwrap();
        for (told, named) in [(by_flag, "--url"), (by_variable, "LIFTMESH_URL")] {
            for part in ["only on the node's own computer", "--data-dir", named] {
                assert!(told.contains(part), "{words:?}: {told}");
            }
        }
    }
}

#[test]
fn every_error_of_a_configuration_is_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.toml");
    std::fs::write(&file, "car = \"A\"\nfloors = 1\nfleet_key_file = \"/etc/key\"\n").unwrap();
    let file = file.to_str().unwrap();
    for command in ["check-config", "run"] {
        let told = fails(2, &[command, "--config", file, "--dwell", "1h"]);
        let mut lines = told.lines();
        let head = "liftmesh: the configuration has 7 errors";
        assert_eq!(lines.next(), Some(head), "{told}");
        for line in lines {
            assert!(line.starts_with("  "), "{told}");
        }
        for error in [
            &format!("{file}:2:10: floors = 1 is wrong"),
            &format!("{file}:3:1: fleet_key_file is not supported: name the file"),
            "flag --door-dwell: door.dwell = \"1h\" is wrong",
            "address is not set",
            "broadcast is not set",
            "panel is not set",
            "data_dir is not set",
        ] {
            assert!(told.contains(error), "{error}\n{told}");
        }
    }
}

#[test]
fn without_a_node_status_and_order_end_with_five_and_say_how_to_start_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for words in [
        &["status", "--data-dir", path][..],
        &["status", "--data-dir", path, "--json", "--watch"],
        &["order", "hall", "1", "up", "--data-dir", path],
        &["order", "car", "A", "1", "--data-dir", path, "--wait", "lit"],
    ] {
        let error = fails(5, words);
        assert!(
            error.contains(&format!("no node is running with data directory {path}; start one")),
            "{error}"
        );
    }
    let error = fails(2, &["status"]);
    for part in
        ["data_dir is not set; give --data-dir", "/etc/liftmesh/node.toml", "LIFTMESH_CONFIG"]
    {
        assert!(error.contains(part), "{error}");
    }
}

/// Everything that is wrong is told at once, with what to do, and nothing is changed.
#[test]
fn the_doctor_tells_what_would_keep_a_node_from_running() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("file"), "").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let broadcast = format!("127.255.255.255:{}", udp.local_addr().unwrap().port());
    let link_port = tcp.local_addr().unwrap().port().to_string();
    let probe = |panel: &str, data_dir: &str, more: &[&str]| {
        let mut words = vec!["doctor", "--car", "A", "--floors", "4"];
        words.extend(["--address", "127.0.0.1", "--broadcast", &broadcast]);
        words.extend(["--link-port", &link_port, "--panel", panel, "--data-dir", data_dir]);
        words.extend(["--http-enabled", "false"]);
        words.extend(more);
        let output = run(&words);
        let shown = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), shown)
    };
    let device = format!("serial://{}", path("ttyNONE"));
    let (code, shown) = probe(
        &device,
        &path("file"),
        &["--read-only-socket", &path("file"), "--read-only-group", "no-such-group"],
    );
    assert_eq!(code, Some(1), "{shown}");
    for start in [
        "error    data_dir: ",
        "ok       address: 127.0.0.1 is on lo",
        &format!("error    panel: there is no device {}", path("ttyNONE")),
        &format!("error    broadcast: UDP port {}", udp.local_addr().unwrap().port()),
        &format!("error    link_port: TCP port {link_port} at 127.0.0.1 is in use"),
        "error    operator.read_only_socket: operator.read_only_group = no-such-group",
    ] {
        assert!(shown.lines().any(|line| line.starts_with(start)), "{start}\n{shown}");
    }
    let (_, shown) = probe("serial:///dev/null", &path("new/data"), &[]);
    assert!(shown.contains("error    panel: /dev/null is not a serial device"), "{shown}");
    assert!(shown.contains("data will be created when the node starts"), "{shown}");
    assert!(!directory.path().join("new").exists());

    // With everything in order it ends with 0.
    drop((udp, tcp));
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let panel = format!("tcp://{}", server.local_addr().unwrap());
    let (code, shown) = probe(&panel, &path("new"), &[]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(!shown.contains("\nerror "), "{shown}");
}

/// An address and an interface that this machine does not have.
#[test]
fn the_doctor_tells_an_address_of_another_machine() {
    let directory = tempfile::tempdir().unwrap();
    let file = example(&directory);
    let output = run(&[
        "doctor",
        "--config",
        &file,
        "--address",
        "192.0.2.7",
        "--broadcast",
        "192.0.2.255:46100",
        "--election",
        "ballot",
        "--ballot-interface",
        "nowhere0",
    ]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for line in [
        "error    address: no interface of this machine has 192.0.2.7; ",
        "error    ballot.interface: there is no network interface nowhere0; ",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
}

/// F9: a script and an operator can tell a node that is latched from one that was stopped.
#[test]
fn a_latched_node_reads_as_latched() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let evidence = HangEvidence {
        cause: HangCause::NoProgress,
        floor: Floor::try_from(5).ok(),
        direction: Direction::Up,
        expected: Duration::from_secs(10),
        actual: Duration::from_secs(10),
        last_sensor: Floor::try_from(2).ok(),
    };
    let at = SystemTime::UNIX_EPOCH;
    let hang = Hang::new(NodeId::new("A").unwrap(), &evidence, at);
    latch::set(directory.path(), &Latch::Hang(hang)).unwrap();
    let remedy = format!("liftmesh clear-hang --operator NAME --reason TEXT --data-dir {path}");

    let status = run(&["status", "--data-dir", path]);
    assert_eq!(status.status.code(), Some(4));
    assert_eq!(String::from_utf8(status.stderr).unwrap(), "");
    let page = String::from_utf8(status.stdout).unwrap();
    assert_eq!(
        page,
        format!(
            "Node A: not running, latched\n  the car of node A hung at 1970-01-01T00:00:00.000Z, on \
             its way up to floor 5: driven for 10.0 s (10.0 s allowed) without a new floor sensor, \
             the last was floor 2\n\nIt does not start until an operator has inspected the car. \
             Once the car is fit to run:\n  {remedy}\n"
        )
    );

    let status = run(&["status", "--json", "--data-dir", path]);
    assert_eq!(status.status.code(), Some(4));
    let view: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(view["running"], false);
    assert_eq!(view["node"], "A");
    assert_eq!(view["latch"]["cause"], "hang");
    assert_eq!(view["latch"]["at"], "1970-01-01T00:00:00.000Z");
    assert_eq!(view["latch"]["evidence"]["last_sensor"], 2);
    assert_eq!(view["remedy"], remedy.as_str());

    let error = fails(4, &["order", "hall", "1", "up", "--data-dir", path]);
    assert!(error.contains("the car of node A hung at"), "{error}");
    assert!(error.contains(&remedy), "{error}");
}

#[test]
fn every_wrong_setting_is_told_with_its_place() {
    let error = fails(2, &["run", "--election", "raft", "--role", "butler"]);
    assert!(error.contains("flag --election: election = \"raft\""), "{error}");
    assert!(error.contains("flag --role: role = \"butler\""), "{error}");
}

#[test]
#[cfg(feature = "simulator")]
fn the_examples_of_simulate_name_this_program() {
    let help = done(&["simulate", "--help"]);
    assert!(help.contains("  liftmesh simulate --serial "), "{help}");
    assert!(!help.contains("elevator-simulator"), "{help}");
}

/// Four cars whose files differ in what has to differ, and in nothing else.
#[test]
fn the_example_of_a_bank_is_right() {
    let bank = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/bank");
    let mut rest = Vec::new();
    let mut own = std::collections::BTreeSet::new();
    for car in ["A", "B", "C", "D"] {
        let file = bank.join(car).with_extension("toml");
        done(&["check-config", "--config", file.to_str().unwrap()]);
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let (of_car, shared): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("car =") || line.starts_with("address ="));
        assert_eq!(of_car[0], format!("car = \"{car}\""));
        own.insert(of_car[1].to_owned());
        rest.push(shared.join("\n"));
    }
    assert_eq!(own.len(), 4, "addresses: {own:?}");
    rest.dedup();
    assert_eq!(rest.len(), 1, "{rest:#?}");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = liftmesh(&["check-config", "--example"]).stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn the_example_in_the_repository_is_right() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/node.toml");
    done(&["check-config", "--config", file.to_str().unwrap()]);
}

/// A parent that has ended before the system could be asked to tell is not waited for.
#[test]
fn a_node_whose_parent_has_ended_already_does_not_start() {
    let mut parent = Command::new("true").spawn().expect("a process");
    let gone = parent.id().to_string();
    parent.wait().expect("it ends");
    let directory = tempfile::tempdir().expect("a directory");
    let output = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .env("LIFTMESH_CONFIG", "")
        .args(["run", "--die-with-parent", &gone])
        .args(["--car", "A", "--floors", "4", "--address", "127.0.0.1"])
        .args(["--broadcast", "127.255.255.255:46100"])
        .args(["--panel", "serial:///nowhere", "--data-dir"])
        .arg(directory.path())
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("has ended"), "{said}");
}

#[test]
fn every_experiment_has_examples() {
    let help = done(&["lab", "--help"]);
    for experiment in ["elections", "campaign", "trace", "traffic", "playground"] {
        assert!(help.contains(&format!("\n  {experiment} ")), "{experiment}");
        assert!(done(&["lab", experiment, "--help"]).contains("Examples:"), "{experiment}");
    }
}

#[test]
fn traffic_compares_the_strategies_on_a_list_of_passengers() {
    let directory = tempfile::tempdir().unwrap();
    let list = directory.path().join("list.csv");
    let list = list.to_str().unwrap();
    std::fs::write(list, "id,t_s,from,to,kg\n0,1.5,0,9,75\n1,2.5,7,0,75\n").unwrap();
    let words = ["lab", "traffic", "--building", "A12", "--passengers", list];
    let page = done(&[&words[..], &["--seeds", "1"]].concat());
    let mut rows = page.lines().map(|line| line.split_whitespace().take(4).collect::<Vec<_>>());
    for strategy in ["collective", "planner"] {
        assert!(rows.any(|row| row == ["list", strategy, "100.0", "%"]), "{strategy}: {page}");
    }
    assert!(page.contains("difference from collective"), "{page}");

    std::fs::write(list, "id,t_s,from,to,kg\n0,1.5,0,12,75\n").unwrap();
    let error = fails(1, &words);
    assert!(error.contains("list.csv: line 2: A12 has no floor 12: 0 to 11"), "{error}");
}

#[test]
fn a_playground_that_was_not_built_is_told_how_to_build_it() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().to_str().unwrap();
    let error = fails(1, &["lab", "playground", "--dir", nowhere]);
    assert!(error.contains(nowhere) && error.contains("./playground/build.sh"), "{error}");
}

#[test]
fn the_playground_is_served_on_loopback_until_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let site = directory.path().join("site");
    std::fs::create_dir_all(site.join("fleet")).unwrap();
    std::fs::write(directory.path().join("secret"), "not for others").unwrap();
    std::fs::write(site.join("index.html"), "<!doctype html>a fleet").unwrap();
    std::fs::write(site.join("fleet/liftmesh_playground_bg.wasm"), b"\0asm").unwrap();
    let serve = |port: &str| {
        let mut command = liftmesh(&["lab", "playground", "--port", port, "--dir"]);
        command.arg(&site).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    };
    let mut server = serve("0");
    let mut printed = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut printed).unwrap();
    let address = printed.trim().strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
    assert!(address.starts_with("127.0.0.1:"), "{printed}");
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")
            .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.to_lowercase()
    };
    let page = get("/");
    assert!(page.contains("content-type: text/html") && page.ends_with("a fleet"), "{page}");
    assert!(page.contains("cache-control: no-cache"), "{page}");
    let program = get("/fleet/liftmesh_playground_bg.wasm");
    assert!(program.contains("content-type: application/wasm"), "{program}");
    for path in ["/../secret", "/%2e%2e/secret", "/nothing"] {
        assert!(get(path).starts_with("http/1.1 404"), "{path}: {}", get(path));
    }

    let port = address.rsplit(':').next().unwrap();
    let second = serve(port).wait_with_output().unwrap();
    let error = String::from_utf8(second.stderr).unwrap();
    assert_eq!(second.status.code(), Some(1), "{error}");
    assert!(error.contains(port) && error.contains("--port"), "{error}");

    let pid = Pid::from_raw(i32::try_from(server.id()).unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(server.wait().unwrap().code(), Some(0));
}
