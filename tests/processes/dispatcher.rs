//! Dispatchers that are programs of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use elevator_driver::{Button, Direction};
use liftmesh_harness::building::{Building, Line, is_nightly, skip};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::command_line::liftmesh;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/dispatchers").join(name)
}

/// The command of an example; `None`, having said why, if its interpreter is missing.
fn command(interpreter: &str, name: &str) -> Option<String> {
    if Command::new(interpreter).arg("--version").output().is_err() {
        skip(&format!("{interpreter} is not installed"));
        return None;
    }
    Some(format!("{interpreter} {}", example(name).display()))
}

fn text(output: &Output) -> String {
    [&output.stdout[..], &output.stderr].map(String::from_utf8_lossy).concat()
}

fn child_of(process: u32) -> Option<Pid> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let children =
        threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")));
    children.flatten().find_map(|of_thread| Pid::from_raw(of_thread.trim().parse().ok()?))
}

/// The examples pass the check, and nobody waits much longer for the nearest car than with a simple
/// built-in rule.
#[test]
fn the_examples_are_sound_and_compare_with_the_built_in_strategies() {
    let directory = tempfile::tempdir().unwrap();
    // The others are there to learn from.
    let others = [("node", "fewest_stops.js"), ("node", "round_robin.js")];
    let others = others.into_iter().filter(|_| is_nightly());
    for (interpreter, name) in
        [("python3", "nearest_car.py"), ("node", "nearest_car.js")].into_iter().chain(others)
    {
        let Some(command) = command(interpreter, name) else { continue };
        let check = ["lab", "dispatcher-check", &command, "--cells", "car-park_lunch_5"];
        let check = liftmesh(&check).output().unwrap();
        assert!(check.status.success(), "{}", text(&check));
        if !name.starts_with("nearest_car") {
            continue;
        }
        let json = directory.path().join("summary.json");
        let strategies = format!("nearest-car,exec:{command}");
        let words =
            ["lab", "traffic", "--cells", "A12_lunch_5", "--seed", "1", "--seeds", "1", "--json"];
        let mut compared = liftmesh(&words);
        let compared = compared.arg(&json).args(["--strategies", &strategies]).output().unwrap();
        assert!(compared.status.success(), "{}", text(&compared));
        let summaries: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        let wait = |at: usize| summaries["summaries"][at]["means"]["awt"]["estimate"].as_f64();
        let (built_in, own) = (wait(0).unwrap(), wait(1).unwrap());
        println!("{name}: {own:.1} s instead of {built_in:.1} s");
        assert!(own < 2.0 * built_in, "{name}: {own} s instead of {built_in} s");
    }
}

/// O1, O7: a fleet obeys a program; when that is gone, or answers nonsense, calls are served all the
/// same, and the operator is told.
#[test]
fn a_fleet_obeys_a_program_and_does_without_it() {
    let Some(command) = command("python3", "nearest_car.py") else { return };
    let mut building = Building::new(4, Line::Serial);
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        let strategy = format!("exec:/usr/bin/{command}");
        building.start_with(name, |node| {
            node.args(["--dispatch-strategy", &strategy, "--dispatch-program-limit", "1s"]);
        });
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    let program = |building: &Building| building.status("A")?.dispatcher;
    let top = building.floor(3);
    building.serve("B", &["A", "B"], Button::Hall(top, Direction::Down));
    building.wait("the program has assigned", |building| {
        program(building).is_some_and(|it| it.plans > 0 && !it.is_failing)
    });

    let former = child_of(building.process_id("A")).expect("a child");
    let of =
        |file| fs::read_to_string(format!("/proc/{}/{file}", former.as_raw_nonzero())).unwrap();
    let (stat, memory) = (of("stat"), of("oom_score_adj"));
    let niceness = stat.rsplit(')').next().and_then(|fields| fields.split_whitespace().nth(16));
    assert_eq!((niceness, memory.trim()), (Some("19"), "900"), "the node comes first");
    let open = fs::read_dir(format!("/proc/{}/fd", former.as_raw_nonzero())).unwrap();
    for file in open.map(|file| fs::read_link(file.unwrap().path()).unwrap()) {
        let is_the_nodes = file.starts_with("/dev/pts")
            || file.starts_with(building.data_dir("A"))
            || file.to_string_lossy().starts_with("socket:");
        assert!(!is_the_nodes, "the program has {}", file.display());
    }
    kill_process(former, Signal::STOP).unwrap();
    building.serve("B", &["A", "B"], Button::Hall(building.floor(1), Direction::Up));
    building.wait("the operator is told", |building| {
        program(building).is_some_and(|it| it.fallbacks > 0 && it.fault.is_some())
    });
    assert!(building.logged("A").contains("the program that dispatches fails"));
    building.press("B", Button::Hall(top, Direction::Down));
    building.wait("the program works again", |building| {
        building.press("A", Button::Hall(building.floor(2), Direction::Up));
        program(building).is_some_and(|it| !it.is_failing)
    });
    assert_ne!(child_of(building.process_id("A")), Some(former), "it was started again");
}
