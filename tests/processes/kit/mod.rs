//! What students get: `liftmesh lab fat` and `liftmesh lab loss`.

use std::process::Output;
use std::thread;

use liftmesh_harness::building::{is_nightly, skip};
use serde_json::Value;

use super::command_line::liftmesh;

mod loss;

const PROGRAM: &str = env!("CARGO_BIN_EXE_liftmesh");
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/kit");

const CHECKS: [&str; 9] = [
    "calls",
    "lamps",
    "crash",
    "door",
    "obstruction",
    "stop",
    "motor",
    "disconnect",
    "packet-loss",
];

/// Those that run without `LIFTMESH_NIGHTLY`: all take minutes, and a quiet machine.
const FEW: [&str; 2] = ["calls", "door"];

/// How many checks run at a time; each has three controllers.
const AT_ONCE: usize = 3;

/// Above this load a controller may be too slow although it is right.
const BUSY: f64 = 4.0;

fn has_root() -> bool {
    let has_root = rustix::process::geteuid().is_root();
    if !has_root {
        skip("only root can make network namespaces");
    }
    has_root
}

/// What a check of these controllers finds, if it is what was expected. A busy computer says nothing
/// about them: tries again.
fn verdict(
    check: &str,
    words: &[&str],
    controller: &[String],
    is_expected: impl Fn(&Value) -> bool,
) -> Value {
    let mut verdict = Value::Null;
    for _ in 0..3 {
        let mut command = liftmesh(&["lab", "fat", "--json", "--only", check, "--travel", "1s"]);
        command.args(words).arg("--").args(controller).env("LIFTMESH", PROGRAM);
        let Output { stdout, stderr, status } = command.output().unwrap();
        let report: Value = serde_json::from_slice(&stdout)
            .unwrap_or_else(|_| panic!("{check}: {}", String::from_utf8_lossy(&stderr)));
        verdict = report[0].clone();
        let exit = i32::from(verdict["outcome"] == "failed");
        assert_eq!(status.code(), Some(exit), "{verdict:#}");
        let was_busy = verdict["timeline"].to_string().contains("this computer");
        if is_expected(&verdict) || !was_busy && load() < BUSY {
            break;
        }
    }
    assert!(is_expected(&verdict), "{check}: {verdict:#}");
    verdict
}

/// How many processes have wanted to run at a time in the last minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap();
    text.split(' ').next().unwrap().parse().unwrap()
}

fn for_each_check(judge: impl Fn(&str) + Sync) {
    let checks = if is_nightly() { &CHECKS[..] } else { &FEW };
    for checks in checks.chunks(AT_ONCE) {
        thread::scope(|scope| {
            for check in checks {
                scope.spawn(|| judge(check));
            }
        });
    }
}

#[test]
fn a_fleet_of_nodes_passes_every_check() {
    const NODE: &str = "--car C{n} --fleet kit --fleet-keys none --address {address} --broadcast \
                        {broadcast}:46100 --panel tcp://{server}:{port} --floors {floors} \
                        --floor-height 3 --acceleration 3 --jerk 10 --rated-speed 6 --flight-limit 3s \
                        --homing-limit 10s --door-nudge-after 7s --door-blocked-after 8s";
    if !has_root() {
        return;
    }
    let script = format!("{HERE}/ours.sh");
    let words = [&script, PROGRAM, "{dir}"].into_iter().chain(NODE.split_whitespace());
    let node: Vec<String> = words.map(str::to_owned).collect();
    for_each_check(|check| {
        verdict(check, &[], &node, |verdict| verdict["outcome"] == "passed");
    });
}

/// Each check fails for the controller that is wrong in its respect, and says why.
#[test]
fn each_check_finds_its_defect() {
    if !has_root() {
        return;
    }
    for_each_check(|check| {
        let reason = match check {
            "calls" => "down, pressed at panel",
            "lamps" => "lights on each panel",
            "crash" => "which was lit",
            "door" => "it was open for 1.",
            "obstruction" => "an obstructed door stays open",
            "stop" => "opens its door",
            "motor" | "disconnect" => "opens its door there",
            _ => "lights on",
        };
        let controller = ["python3", &format!("{HERE}/wrong.py"), check, "{n}"].map(str::to_owned);
        let words = ["--service-limit", "15s", "--loss", "60"];
        let verdict = verdict(check, &words, &controller, |verdict| {
            verdict["expected"].as_str().is_some_and(|it| it.contains(reason))
        });
        assert!(verdict["timeline"].as_array().is_some_and(|it| it.len() > 5), "{verdict:#}");
    });
}
