//! The binary, from outside.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The flags of a node on loopback, but for its panel and its data directory.
pub(super) const NODE: &str =
    "--car A --floors 4 --address 127.0.0.1 --broadcast 127.255.255.255:46100";

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
    failed(exit, &mut liftmesh(words))
}

#[track_caller]
fn failed(exit: i32, command: &mut Command) -> String {
    let output = command.output().unwrap();
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

/// A page has the keys that a node needs; `help config` has the others.
#[test]
fn the_help_of_a_node_fits_one_page() {
    for command in ["run", "caretaker", "check-config", "doctor"] {
        let help = done(&[command, "--help"]);
        assert!(help.lines().count() <= 60 && help.contains("Examples:"), "{help}");
        assert_eq!(help, done(&["help", command]));
        let flags = ["car", "address", "broadcast", "panel", "floors", "data-dir", "fleet-keys"];
        for flag in flags {
            assert!(help.contains(&format!("  --{flag} <")), "{flag}: {help}");
        }
        assert!(!help.contains("--door-nudge-after"), "{help}");
    }
    assert!(done(&["help", "config"]).contains("\n  nudge_after  "));
    let told = done(&["help", "config", "LIFTMESH__DOOR__DWELL"]);
    for part in ["[door]\n", "from 1s to 30s", "Default: \"3 s\"", "--door-dwell"] {
        assert!(told.contains(part), "{told}");
    }
    let error = fails(2, &["help", "config", "dor"]);
    assert!(error.contains("did you mean `[door]`?"), "{error}");
    let help = done(&["simulate", "--help"]);
    assert!(help.contains("  liftmesh simulate --serial "), "{help}");
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
    assert!(error.contains(&format!("is running with data directory {path}/data")), "{error}");
    // Whoever names a node needs no configuration.
    std::fs::write(&file, "floors = 1\n").unwrap();
    let error = by_variable(&["status", "--data-dir", &format!("{path}")]);
    assert!(error.contains(&format!("no node is running with data directory {path};")), "{error}");
}

#[test]
fn check_config_shows_what_holds_and_where_it_comes_from() {
    let directory = tempfile::tempdir().unwrap();
    let file = example(&directory);
    let output = liftmesh(&["check-config", "--config", &file, "--floors", "7"])
        .envs([("LIFTMESH__DOOR__DWELL", "4 s"), ("LIFTMESH__FLOORS", "5"), ("LIFTMESH__CAR", "B")])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).unwrap();
    let line = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} = "))).unwrap();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("floors"), "floors = 7 # flag --floors");
    assert_eq!(line("door.dwell"), "door.dwell = \"4 s\" # variable LIFTMESH__DOOR__DWELL");
    assert_eq!(line("car"), "car = \"B\" # variable LIFTMESH__CAR");
    assert!(line("address").contains(&format!(" # {file}:")));
    assert_eq!(line("fleet"), "fleet = \"liftmesh\" # default");
}

#[test]
fn every_error_of_a_configuration_is_told_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("wrong.toml");
    std::fs::write(&file, "car = \"A\"\nfloors = 1\nfleet_key_file = \"/etc/key\"\n").unwrap();
    let file = file.to_str().unwrap();
    for command in ["check-config", "run"] {
        let told = fails(2, &[command, "--config", file, "--dwell", "1h", "--election", "raft"]);
        let mut lines = told.lines();
        let head = "liftmesh: the configuration has 8 errors";
        assert_eq!(lines.next(), Some(head), "{told}");
        for line in lines {
            assert!(line.starts_with("  "), "{told}");
        }
        for error in [
            &format!("{file}:2:10: floors = 1 is wrong; expected a whole number from 2 to 254"),
            &format!("{file}:3:1: unknown key `fleet_key_file`; "),
            "flag --door-dwell: door.dwell = \"1h\" is wrong",
            "flag --election: election = \"raft\"",
            "address is not set",
            "broadcast is not set",
            "panel is not set",
            "data_dir is not set",
        ] {
            assert!(told.contains(error), "{error}\n{told}");
        }
    }
    for words in [&["fly"][..], &["run", "--colour", "red"], &["order", "hall"]] {
        assert!(fails(2, words).contains("Usage:"), "{words:?}");
    }
}

#[test]
fn without_a_node_commands_end_with_five_and_say_how_to_start_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    for words in [&["status"][..], &["top", "--once"], &["order", "hall", "1", "up"]] {
        let error = fails(5, &[words, &["--data-dir", path]].concat());
        let why = format!("no node is running with data directory {path}; start one");
        assert!(error.contains(&why), "{error}");
    }
    let error = fails(2, &["status"]);
    for part in
        ["data_dir is not set; give --data-dir", "/etc/liftmesh/node.toml", "LIFTMESH_CONFIG"]
    {
        assert!(error.contains(part), "{error}");
    }
}

/// Four cars whose files differ in what has to differ, and in nothing else.
#[test]
fn the_examples_in_the_repository_are_right() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("config");
    done(&["check-config", "--config", config.join("node.toml").to_str().unwrap()]);
    let (mut addresses, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for car in ["A", "B", "C", "D"] {
        let file = config.join("bank").join(car).with_extension("toml");
        done(&["check-config", "--config", file.to_str().unwrap()]);
        let text = std::fs::read_to_string(file).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let (of_car, rest): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("car =") || line.starts_with("address ="));
        assert_eq!(of_car[0], format!("car = \"{car}\""));
        addresses.insert(of_car[1].to_owned());
        shared.insert(rest.join("\n"));
    }
    assert_eq!((addresses.len(), shared.len()), (4, 1), "{addresses:?} {shared:#?}");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = liftmesh(&["check-config", "--example"]).stdout(writer).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
}

/// A parent that has ended before the system could be asked to tell is not waited for.
#[test]
fn a_node_whose_parent_has_ended_already_does_not_start() {
    let mut parent = Command::new("true").spawn().expect("a process");
    let gone = parent.id().to_string();
    parent.wait().expect("it ends");
    let mut command = liftmesh(&["run", "--die-with-parent", &gone]);
    command.args(NODE.split(' ')).args(["--panel", "serial:///nowhere", "--data-dir", "/nowhere"]);
    let said = failed(1, &mut command);
    assert!(said.contains("has ended"), "{said}");
}
