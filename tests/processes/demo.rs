//! The demo as a user starts it: real processes, on the loopback interface.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

use elevator_fleet::wire::Protocol;
use liftmesh_lab::FaultKind;

fn demo(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .args(["demo", "--headless"])
        .args(arguments)
        .env("TMPDIR", dir)
        .output()
        .unwrap()
}

/// What a demo prints that succeeds and leaves nothing behind.
fn printed(arguments: &[&str]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let output = demo(arguments, dir.path());
    let lines = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{arguments:?}:\n{lines}\n{errors}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a directory");
    lines
}

/// The summary, by which there were orders and all of them were served.
fn all_served(lines: &str) -> &str {
    let summary = lines.lines().last().unwrap();
    assert!(summary.starts_with("summary: "), "{lines}");
    assert!(figure(summary, "placed") >= 1, "{lines}");
    assert_eq!(figure(summary, "placed"), figure(summary, "served"), "{lines}");
    assert_eq!(figure(summary, "lost"), 0, "{lines}");
    summary
}

/// The number before a word of the summary.
fn figure(summary: &str, word: &str) -> u32 {
    let words: Vec<&str> = summary.split([' ', ',', ';']).collect();
    let at = words.iter().position(|one| *one == word).unwrap();
    words[..at].iter().rev().find_map(|one| one.parse().ok()).unwrap()
}

// F12, F15, F16
#[test]
fn a_fleet_of_real_processes_serves_every_order_and_leaves_nothing_behind() {
    let lines = printed(&["--cars", "2", "--floors", "4", "--seed", "7", "--duration", "6s"]);
    all_served(&lines);
}

// C1, F12, F15
#[test]
fn a_fleet_serves_every_order_under_each_election_side_by_side() {
    thread::scope(|scope| {
        for election in Protocol::ALL {
            scope.spawn(move || serve_all_under(election));
        }
    });
}

fn serve_all_under(election: Protocol) {
    let lines = printed(&[
        "--election",
        &election.to_string(),
        "--floors",
        "4",
        "--seed",
        "7",
        "--duration",
        "6s",
    ]);
    let first = lines.lines().next().unwrap();
    assert!(first.contains(&format!("election {election},")), "{first}");
    let summary = all_served(&lines);
    // A duty that goes round is no change of master.
    let told = lines.contains("is the master");
    let counted = summary.contains("changes of master");
    assert_eq!([told, counted], [!election.profile().rotates; 2], "{lines}");
}

/// How often a kind of fault occurred, from the line that counts them.
fn count(faults: &str, kind: &str) -> u32 {
    let mut counts = faults.trim_start_matches("faults: ").split(", ");
    let count = counts.find_map(|one| one.strip_prefix(kind));
    count.unwrap().trim().parse().unwrap()
}

// E1, F6, F7, F8, F9, F12, F13, O7
#[test]
fn every_lit_order_is_served_in_chaos_by_a_seed() {
    let lines = printed(&["--chaos", "--seed", "3", "--duration", "28s"]);
    assert!(lines.lines().next().unwrap().ends_with("seed 3"), "{lines}");
    let mut last = lines.lines().rev();
    let (summary, faults) = (last.next().unwrap(), last.next().unwrap());
    for kind in FaultKind::ALL {
        assert!(count(faults, &kind.to_string()) >= 1, "no {kind}:\n{lines}");
    }
    assert!(figure(summary, "placed") >= 1, "{summary}");
    assert_eq!(figure(summary, "lost"), 0);
}

#[test]
fn a_demo_that_cannot_start_says_why_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    let output = demo(&["--cars", "2"], &nowhere);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("nowhere"), "{errors}");
    let protocol = demo(&["--election", "by-lot"], dir.path());
    assert_eq!(protocol.status.code(), Some(2));
    let errors = String::from_utf8(protocol.stderr).unwrap();
    assert!(errors.contains("by-lot"), "{errors}");
    for known in Protocol::ALL {
        assert!(errors.contains(&known.to_string()), "no {known}: {errors}");
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a directory");
}

#[test]
fn a_process_that_ends_is_named_with_the_end_of_its_log() {
    let dir = tempfile::tempdir().unwrap();
    // No socket can have so long a path.
    let deep = dir.path().join("deep".repeat(30));
    fs::create_dir(&deep).unwrap();
    let output = demo(&["--cars", "2"], &deep);
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("ended unexpectedly"), "{errors}");
    assert!(errors.contains("deepdeep"), "the end of its log: {errors}");
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 0, "a directory");
}
