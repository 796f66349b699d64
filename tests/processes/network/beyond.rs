//! HTTP beyond loopback: a node that really listens at its address, and a client at another host.

use std::process::Stdio;

use liftmesh_harness::building::{Building, Interface};

use crate::http::tls::certificate;
use crate::http::token;

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
    let said = |token: Option<&str>, words: &[&str]| {
        let mut command = building.lan().on_host(2, env!("CARGO_BIN_EXE_liftmesh"));
        command.args(words).args(["--url", &url]).arg("--ca").arg(&certificate);
        command.env_remove("LIFTMESH_TOKEN").stdin(Stdio::null());
        command.envs(token.map(|token| ("LIFTMESH_TOKEN", token)));
        let output = command.output().expect("it runs");
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).expect("text"))
    };
    let status = ["status", "--fleet"];
    building.wait("a reader sees the fleet", |_| said(Some(&view), &status).0 == Some(0));
    let (_, page) = said(Some(&view), &status);
    assert!(page.contains("as node A sees it"), "{page}");
    for token in [None, Some("liftmesh-token-0")] {
        for words in [&status[..], &["top", "--once"]] {
            let (code, why) = said(token, words);
            assert_eq!(code, Some(2), "{why}");
            assert!(why.contains(&url) && why.contains("give one with --token-file FILE"), "{why}");
        }
    }
    let (code, why) = said(Some(&view), &["order", "hall", "2", "up"]);
    assert!(code != Some(0) && why.contains("scope view"), "{why}");
    building.done("A", &["token", "revoke", "--name", "reader"]);
    assert_eq!(said(Some(&view), &status).0, Some(2), "with a revoked one");
}
