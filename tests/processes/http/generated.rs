//! The `OpenAPI` document is valid, and a client that is generated from it works.

use std::path::{Path, PathBuf};
use std::process::Command;

use liftmesh_harness::building::{Building, Line, skip};

use super::client::{get, serving};
use super::token;

const TOUR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/http/tour.py");

/// What a tool of this name says, if it succeeds. Those of `verify.sh` are not in the path.
#[track_caller]
fn run(tools: &Path, name: &str, edit: impl FnOnce(&mut Command)) -> String {
    let mut command = Command::new(tools.join(name));
    edit(&mut command);
    let output = command.output().expect("it runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && !errors.contains("Unable to"), "{name}: {said}\n{errors}");
    said
}

#[test]
fn a_generated_client_passes_the_tour_through_a_kill() {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin");
    if !tools.join("openapi-python-client").exists() {
        return skip("`./verify.sh --full` installs openapi-python-client, and has not run here");
    }
    let names = ["A", "B", "C"];
    let mut building = Building::with_cars(4, Line::Serial, &names);
    let token = token(&building, "A", "tour", "operate");
    let [a, b] = [1, 2].map(|number| serving(&building, number));
    let directory = tempfile::tempdir().expect("a directory");
    let (document, client) =
        (directory.path().join("openapi.json"), directory.path().join("client"));
    std::fs::write(&document, get(a, "/api/v1/openapi.json").body).expect("written");

    run(&tools, "openapi-spec-validator", |command| {
        command.arg(&document);
    });
    run(&tools, "openapi-python-client", |command| {
        command.args(["generate", "--path"]).arg(&document).arg("--output-path").arg(&client);
        command.env("PATH", &tools);
    });
    let tour = |words: &[&str]| {
        run(&tools, "python3", |command| {
            command.arg(TOUR).args(words).env("PYTHONPATH", &client);
        })
    };
    let receipt = tour(&["begin", &format!("http://{a}"), &token]);
    building.kill("A");
    tour(&["finish", &format!("http://{b}"), &token, receipt.trim()]);
}
