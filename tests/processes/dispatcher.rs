//! Dispatchers that are programs of their own. `integrations/dispatchers/test` tests the examples.

use std::fs;
use std::path::Path;
use std::process::Command;

use elevator_driver::{Button, Direction};
use liftmesh_harness::building::{Building, Line, skip};
use rustix::process::{Pid, Signal, kill_process};

fn child_of(process: u32) -> Option<Pid> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let children =
        threads.map(|thread| fs::read_to_string(thread.unwrap().path().join("children")));
    children.flatten().find_map(|of_thread| Pid::from_raw(of_thread.trim().parse().ok()?))
}

/// O1, O7: a fleet obeys a program; when that is gone, or answers nonsense, calls are served all the
/// same, and the operator is told.
#[test]
fn a_fleet_obeys_a_program_and_does_without_it() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("python3 is not installed");
    }
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("integrations/dispatchers/nearest_car.py");
    let strategy = format!("exec:/usr/bin/python3 {}", program.display());
    let mut building = Building::new(4, Line::Serial);
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
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
