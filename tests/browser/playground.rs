//! The playground, as `playground/build.sh` makes it and `liftmesh lab playground` serves it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use liftmesh_harness::Process;
use liftmesh_harness::building::{PATIENCE, skip};
use serde_json::json;
use tempfile::TempDir;

use super::browser::{Browser, Look};

/// How long a speed is measured.
const MEASURED: Duration = Duration::from_secs(5);

/// The least of it, in virtual seconds a second: far below what a machine reaches that does nothing
/// else.
const LEAST_SPEED: f64 = 10.0;

/// A served playground and a browser.
struct Playground {
    browser: Browser,
    address: String,
    _server: Process,
    _directory: TempDir,
}

impl Playground {
    /// Opens it; `None` where it was not built, or where there is no browser.
    fn open() -> Option<Self> {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/playground");
        if !site.join("index.html").is_file() {
            skip("the playground is not built: ./playground/build.sh");
            return None;
        }
        let browser = super::browser(Look::DESKTOP)?;
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["lab", "playground", "--port", "0", "--dir"]).arg(site);
        let log = directory.path().join("server.log");
        let server = Process::start("the playground", command, log).expect("a process");
        let address = address(&server);
        browser.open(&address);
        browser.wait_for(".lab-nodes li");
        Some(Self { browser, address, _server: server, _directory: directory })
    }

    fn wait_for_state(&self, node: &str, state: &str) {
        self.browser.wait_for_text(&format!("{} .says", row(node)), state);
    }

    /// Moves the slider of the speed to its step of this number.
    fn set_speed(&self, step: usize) {
        let slider = ".lab input[type=range]";
        self.browser.evaluate(&format!(
            "const slider = document.querySelector('{slider}');
             slider.value = {step};
             slider.dispatchEvent(new Event('input', {{ bubbles: true }}));"
        ));
        self.browser.wait_for_text(".lab .figure", "100 ×");
    }

    /// Virtual seconds a second, by the clock that the page shows.
    fn measure_speed(&self) -> f64 {
        let script = format!(
            "const seconds = () => document.querySelectorAll('.lab .figure')[1].textContent
                .split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
             const [begun, before] = [performance.now(), seconds()];
             return new Promise((resolve) => setTimeout(() => resolve(
                (seconds() - before) * 1000 / (performance.now() - begun)), {}));",
            MEASURED.as_millis(),
        );
        self.browser.evaluate(&script).as_f64().expect("a number")
    }

    fn assert_that_all_invariants_hold(&self) {
        let banner =
            "return document.querySelector('.lab .banner.alarm')?.innerText ?? 'none is violated'";
        assert_eq!(self.browser.evaluate(banner), "none is violated");
    }
}

/// What the server prints as soon as it listens.
fn address(server: &Process) -> String {
    let begun = Instant::now();
    loop {
        let printed = fs::read_to_string(server.log()).expect("its output");
        match printed.strip_suffix('\n') {
            Some(address) if address.starts_with("http://127.0.0.1:") => return address.to_owned(),
            _ => assert!(begun.elapsed() < PATIENCE, "it does not serve: {printed}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn row(node: &str) -> String {
    format!(".lab-nodes li[aria-label='Node {node}']")
}

#[test]
fn a_node_takes_over_in_the_playground_when_the_master_is_killed() {
    let Some(playground) = Playground::open() else { return };
    let browser = &playground.browser;
    playground.wait_for_state("A", "master");
    playground.wait_for_state("B", "slave");
    browser.wait_for_text(".bar", "Master A");

    let button = format!("{} .acts button", row("A"));
    browser.click(&button);
    playground.wait_for_state("A", "stopped");
    playground.wait_for_state("B", "master");
    // The panel's pages show the same fleet, now as another node sees it.
    browser.wait_for_text(".bar", "Master B");
    browser.wait_for_text(".column.car.lost", "Node lost");

    browser.wait_for_text(&button, "Start");
    browser.click(&button);
    playground.wait_for_state("A", "master");
    playground.wait_for_state("B", "slave");
    playground.assert_that_all_invariants_hold();
}

/// A shared link leads to the run. How fast the page is depends on the machine: the test prints it.
#[test]
fn eight_cars_run_much_faster_than_real_time() {
    let Some(playground) = Playground::open() else { return };
    let browser = &playground.browser;
    let settings = json!({"cars": 8, "floors": 8, "seed": 1, "election": "lowest-ip",
        "strategy": "planner", "passengers": 40, "steps": []});
    let link = browser.evaluate(&format!(
        "return import('/assets/share.js').then(({{ encoded }}) => encoded({settings}))"
    ));
    let link = link.as_str().expect("a link");
    assert!(link.starts_with(&playground.address), "{link}");
    browser.open(link);
    browser.wait_for(&row("H"));
    playground.wait_for_state("A", "master");
    playground.wait_for_state("H", "slave");

    playground.set_speed(6);
    let speed = playground.measure_speed();
    println!("8 cars, 8 floors, 40 passengers a minute, 100 × wanted: {speed:.0} × reached");
    assert!(speed > LEAST_SPEED, "{speed}");
    playground.assert_that_all_invariants_hold();
}
