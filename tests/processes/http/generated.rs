//! The `OpenAPI` document is valid, and a client that is generated from it works.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use liftmesh_harness::building::{Building, Line, skip};

use super::client::{get, serving};
use super::token;

const TOUR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/http/tour.py");

#[test]
fn a_generated_client_passes_the_tour_through_a_kill() {
    let tools = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin");
    if !tools.join("openapi-python-client").exists() {
        return skip("`./verify.sh --full` installs openapi-python-client, and has not run here");
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B", "C"]);
    let token = token(&building, "A", "tour", "operate");
    let [a, b] = [1, 2].map(|number| serving(&building, number));
    let directory = tempfile::tempdir().expect("a directory");
    // Those of `verify.sh` are not in the path.
    let run = |name: &str, words: &[&str]| {
        let mut command = Command::new(tools.join(name));
        command.args(words).current_dir(&directory);
        let output = command.env("PATH", &tools).env("PYTHONPATH", "client").output();
        let output = output.expect("it runs");
        let errors = String::from_utf8_lossy(&output.stderr);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_done = output.status.success() && !errors.contains("Unable to");
        assert!(is_done, "{name}: {said}\n{errors}");
        said
    };
    let document = directory.path().join("openapi.json");
    fs::write(&document, get(a, "/api/v1/openapi.json").body).expect("written");
    run("openapi-spec-validator", &["openapi.json"]);
    let words = ["generate", "--path", "openapi.json", "--output-path", "client"];
    run("openapi-python-client", &words);
    let receipt = run("python3", &[TOUR, "begin", &format!("http://{a}"), &token]);
    building.kill("A");
    run("python3", &[TOUR, "finish", &format!("http://{b}"), &token, receipt.trim()]);
}
