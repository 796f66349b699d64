//! HTTP beyond loopback: a node that really listens at its address, and a client at another host.

use std::io::{BufRead, BufReader};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Interface};

use crate::http::tls::certificate;
use crate::http::token;

/// What a command at the second host comes to.
fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8(text).expect("text"))
}

#[test]
fn a_client_at_another_host_needs_a_token_that_counts() {
    let Some(mut building) = Building::with_lan(7) else {
        return;
    };
    building.install_at("A", 1, Interface::Ready);
    building.install_at("B", 2, Interface::Ready);
    let address = building.lan().address(1);
    let directory = tempfile::tempdir().expect("a directory");
    let [certificate, key] = certificate(directory.path(), address.into());
    building.start_with("A", |command| {
        command.arg("--http-address").arg(format!("{address}:7080"));
        command.arg("--http-certificate").arg(&certificate).arg("--http-key").arg(&key);
    });
    building.wait_in_service(&["A"]);
    let view = token(&building, "A", "reader", "view");
    let url = format!("https://{address}:7080");
    let there = |token: Option<&str>, words: &[&str]| -> Command {
        let mut command = building.lan().on_host(2, env!("CARGO_BIN_EXE_liftmesh"));
        command.args(words).args(["--url", &url]).arg("--ca").arg(&certificate);
        command.env_remove("LIFTMESH_TOKEN").stdin(Stdio::null());
        if let Some(token) = token {
            command.env("LIFTMESH_TOKEN", token);
        }
        command
    };
    let status = |token: Option<&str>| {
        said(&there(token, &["status", "--fleet"]).output().expect("it runs"))
    };
    building.wait("a reader sees the fleet", |_| status(Some(&view)).0 == Some(0));
    let (code, page) = status(Some(&view));
    assert_eq!(code, Some(0), "{page}");
    assert!(page.contains("as node A sees it"), "{page}");
    assert_eq!(status(None).0, Some(2), "without a token");
    assert_eq!(status(Some("liftmesh-token-0")).0, Some(2), "with a stranger's");
    let top =
        |token: Option<&str>| said(&there(token, &["top", "--once"]).output().expect("it runs"));
    let (code, picture) = top(Some(&view));
    assert_eq!(code, Some(0), "{picture}");
    assert!(picture.contains("as A sees it") && picture.contains("★ A leads"), "{picture}");
    for token in [None, Some("liftmesh-token-0")] {
        let (code, why) = top(token);
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains(&url) && why.contains("give one with --token-file FILE"), "{why}");
    }
    let (code, why) =
        said(&there(Some(&view), &["order", "hall", "2", "up"]).output().expect("it runs"));
    assert!(code != Some(0) && why.contains("scope view"), "{why}");

    // Whoever follows sees events, until the token is revoked.
    let mut follower = there(Some(&view), &["events", "--json"]);
    let mut follower =
        follower.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let lines = follower.stdout.take().expect("a pipe");
    let (sender, seen) = std::sync::mpsc::sync_channel(1024);
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(lines).lines() {
            sender.send(line.expect("a line")).expect("a listener");
        }
    });
    // Until its stream has begun, what happens goes unseen.
    let mut floors = (1..=3).cycle();
    let line = loop {
        let button = building.hall(floors.next().expect("a floor"), Direction::Down);
        building.press("A", button);
        if let Ok(line) = seen.recv_timeout(Duration::from_secs(1)) {
            break line;
        }
    };
    assert!(line.contains("\"event\""), "{line}");
    let revoke = ["token", "revoke", "--name", "reader"];
    assert!(building.operator("A", &revoke).status().expect("it runs").success());
    reader.join().expect("its lines end");
    assert!(!follower.wait().expect("it ends").success());
    assert_eq!(status(Some(&view)).0, Some(2), "with a revoked one");
    building.assert_safe();
}
