//! The demo as a user starts it: real processes, on the loopback interface.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use liftmesh_lab::FaultKind;

fn demo(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .args(["demo", "--headless"])
        .args(arguments)
        .env("TMPDIR", dir)
        .output()
        .unwrap()
}

/// The number before a word of the summary.
fn figure(summary: &str, word: &str) -> u32 {
    let words: Vec<&str> = summary.split([' ', ',', ';']).collect();
    let at = words.iter().position(|one| *one == word).unwrap();
    words[..at].iter().rev().find_map(|one| one.parse().ok()).unwrap()
}

/// How often a kind of fault occurred, from the line that counts them.
fn count(faults: &str, kind: &str) -> u32 {
    let mut counts = faults.trim_start_matches("faults: ").split(", ");
    let count = counts.find_map(|one| one.strip_prefix(kind));
    count.unwrap().trim().parse().unwrap()
}

// E1, F6, F7, F8, F9, F12, F13, F15, F16, O7
#[test]
fn every_lit_order_is_served_in_chaos_by_a_seed_and_nothing_is_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let output = demo(&["--chaos", "--seed", "3", "--duration", "28s"], dir.path());
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{lines}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "a directory");
    assert!(lines.lines().next().unwrap().ends_with("seed 3"), "{lines}");
    let mut last = lines.lines().rev();
    let (summary, faults) = (last.next().unwrap(), last.next().unwrap());
    for kind in FaultKind::ALL {
        assert!(count(faults, &kind.to_string()) >= 1, "no {kind}:\n{lines}");
    }
    assert!(figure(summary, "placed") >= 1, "{summary}");
    assert_eq!(figure(summary, "lost"), 0, "{summary}");
}

#[test]
fn a_demo_that_cannot_start_says_why_and_fails() {
    let dir = tempfile::tempdir().unwrap();
    let fails = |dir: &Path| {
        let output = demo(&["--cars", "2"], dir);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{errors}");
        errors
    };
    let errors = fails(&dir.path().join("nowhere"));
    assert!(errors.contains("nowhere"), "{errors}");
    // No socket can have so long a path: the process that ends is named with the end of its log.
    let deep = dir.path().join("deep".repeat(30));
    fs::create_dir(&deep).unwrap();
    let errors = fails(&deep);
    assert!(errors.contains("ended unexpectedly"), "{errors}");
    assert!(errors.contains("deepdeep"), "the end of its log: {errors}");
    assert_eq!(fs::read_dir(&deep).unwrap().count(), 0, "a directory");
}
