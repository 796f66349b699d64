//! The playground, as `playground/build.sh` makes it and `liftmesh lab playground` serves it.

mod race;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use liftmesh_harness::Process;
use liftmesh_harness::building::{Machine, PATIENCE, skip};
use serde_json::json;
use tempfile::TempDir;

use super::browser::{Browser, Look};

/// The most that the page and the fleet are on the wire, in bytes.
const MOST_BYTES: f64 = 1024.0 * 1024.0;

/// A served playground and a browser.
struct Playground {
    browser: Browser,
    address: String,
    _server: Process,
    _directory: TempDir,
}

impl Playground {
    /// Opens it; `None` where it was not built, or where there is no browser.
    fn open(look: Look) -> Option<Self> {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/playground");
        if !site.join("index.html").is_file() {
            skip("the playground is not built: ./playground/build.sh");
            return None;
        }
        let browser = Browser::start(look, Machine::shared)?;
        let directory = tempfile::tempdir().expect("a directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["lab", "playground", "--port", "0", "--dir"]).arg(site);
        let log = directory.path().join("server.log");
        let server = Process::start("the playground", command, log).expect("a process");
        let address = address(&server);
        let playground = Self { browser, address, _server: server, _directory: directory };
        playground.follow("");
        Some(playground)
    }

    /// Opens it with this query.
    fn follow(&self, query: &str) {
        self.browser.open(&format!("{}{query}", self.address));
        self.browser.wait_for(".lab-nodes li");
        self.open_part("nodes");
    }

    fn wait_for_state(&self, node: &str, state: &str) {
        self.browser.wait_for_text(&format!("{} .says", row(node)), state);
    }

    /// Sets a slider, a field or a choice, as somebody does who leaves it then.
    fn set(&self, css: &str, value: &str) {
        self.browser.evaluate(&format!(
            "const field = document.querySelector('{css}');
             field.value = '{value}';
             for (const kind of ['input', 'change']) {{
                 field.dispatchEvent(new Event(kind, {{ bubbles: true }}));
             }}"
        ));
    }

    fn slide(&self, name: &str, to: &str) {
        self.set(&format!(".lab input[name={name}]"), to);
    }

    /// Clicks the button with this text.
    fn click_text(&self, within: &str, text: &str) {
        let buttons = format!("{within} button");
        self.browser.wait_for_text(&buttons, text);
        self.browser.evaluate(&format!(
            "[...document.querySelectorAll({})]
                 .find((one) => one.innerText.trim() === '{text}').click()",
            json!(buttons)
        ));
    }

    /// Does what a button in the row of a node says.
    fn act(&self, node: &str, text: &str) {
        self.click_text(&row(node), text);
    }

    /// A car is asked for a floor, and opens its door there.
    fn ride(&self, car: &str, floor: u8) {
        self.browser.open_page("bank");
        self.browser.click(&format!("[data-call=car-{car}-{floor}]"));
        self.browser.open_page("events");
        let served = format!("Car call, {car} to floor {floor}: served by {car}");
        self.browser.wait_for_text(".events", &served);
    }

    fn open_part(&self, name: &str) {
        self.browser.click(&format!(".lab details.{name} summary"));
    }

    /// Leaves room for the page below: what is not on the screen has no text.
    fn close_parts(&self) {
        for name in ["fleet", "break"] {
            self.browser.click(&format!(".lab details.{name}[open] summary"));
        }
    }

    /// Lets time pass at this speed.
    fn set_speed(&self, times: &str) {
        let step = ["0", "0.01", "0.1", "1", "2", "5", "10", "30", "100", "300", "1000"]
            .iter()
            .position(|known| *known == times)
            .expect("such a speed");
        self.slide("speed", &step.to_string());
        let shown = if times == "0" { "paused".to_owned() } else { format!("{times} ×") };
        self.browser.wait_for_text(".lab .speed", &shown);
    }

    /// Starts another fleet by the form, of three cars that nobody rides.
    fn begin_three_cars_under_bully(&self) {
        self.open_part("fleet");
        for (name, value) in
            [("cars", "3"), ("passengers", "0"), ("election", "bully"), ("strategy", "collective")]
        {
            self.set(&format!(".fleet [name={name}]"), value);
        }
        self.click_text(".fleet", "Start");
        self.browser.wait_until_gone(&row("D"));
        let settled = "const says = [...document.querySelectorAll('.lab-nodes .says')].map((one) => one.innerText);
            return says.filter((one) => one === 'master').length === 1
                && says.filter((one) => one.startsWith('slave')).length === 2";
        self.browser.wait("a master and two slaves", settled);
        self.close_parts();
    }

    /// The name of the node that is master.
    fn master(&self) -> String {
        let name = self.browser.evaluate(
            "return [...document.querySelectorAll('.lab-nodes li')]
                .find((one) => one.querySelector('.says').innerText === 'master')
                .querySelector('strong').innerText",
        );
        name.as_str().expect("a name").to_owned()
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
fn a_node_takes_over_when_the_master_is_killed_and_all_start_after_a_power_cut() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.wait_for_state("A", "master");
    playground.wait_for_state("B", "slave");
    browser.wait_for_text(".bar", "Master A");
    let sent = browser.evaluate(
        "return performance.getEntriesByType('resource').reduce((sum, one) => sum + one.encodedBodySize, 0)",
    );
    assert!((10_000.0..MOST_BYTES).contains(&sent.as_f64().expect("a number")), "{sent} bytes");

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

    browser.click(".lab .mains-cut");
    for node in ["A", "B", "C", "D"] {
        playground.wait_for_state(node, "stopped");
    }
    browser.wait_for_text(".banner.lost", "no node of the fleet is running");
    browser.click(".lab .mains");
    playground.wait_for_state("A", "master");
    browser.wait_until_gone(".banner.lost");
    playground.assert_that_all_invariants_hold();
}

#[test]
fn a_link_is_cut_and_repaired_one_way_and_both() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.wait_for_state("A", "master");
    playground.wait_for_state("B", "slave");
    playground.open_part("network");
    playground.click_text(".network", "Cut this way");
    browser.wait_for_text(".cuts li", "A → B");
    // B hears nothing of A any more: it shows so itself.
    browser.click(&format!("{} .viewpoint", row("B")));
    browser.wait_for_text(".bar", "Node B");
    browser.wait_for_text(".column.car.lost", "Node lost");
    playground.click_text(".cuts", "Repair");
    browser.wait_for_text(".network", "No link is cut.");
    browser.wait_until_gone(".column.car.lost");

    playground.click_text(".network", "Cut both ways");
    browser.wait_for_text(".cuts li", "A – B");
    playground.click_text(".network", "Repair this way");
    browser.wait_for_text(".cuts li", "B → A");
    playground.click_text(".network", "Repair all links");
    browser.wait_for_text(".network", "No link is cut.");
    playground.wait_for_state("A", "master");
    playground.wait_for_state("B", "slave");
    playground.assert_that_all_invariants_hold();
}

/// A browser that opens the link shows the same run: every step is in it, and what the controls show comes from
/// the run.
#[test]
fn a_shared_link_leads_to_the_same_run() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.wait_for_state("D", "slave");
    playground.open_part("network");
    playground.slide("loss", "7");
    playground.slide("delay", "2.5");
    playground.open_part("traffic");
    playground.set("select[name=traffic]", "up");
    playground.slide("passengers", "90");
    browser.click(&format!("{} .acts button", row("A")));
    playground.wait_for_state("A", "stopped");
    browser.click("[data-call=hall-3-up]");
    playground.wait_for_state("B", "master");
    browser.click("button[data-mode-of=C]");
    browser.wait_for("dialog input[value=in-service]:checked");
    // There is no audit log: nobody is asked for a name.
    let named = "return document.querySelector('dialog input[name=operator]')";
    assert_eq!(browser.evaluate(named), json!(null));
    browser.submit(&[("input[value=independent]", " ")]);
    browser.wait_for_text("button[data-mode-of=C]", "Independent");
    playground.set_speed("10");
    browser.wait_for_text(".lab .clock", "00:00:3");
    playground.set_speed("0");
    browser.click(".lab .share");
    browser.wait_for(".lab input[name=link]");
    let same = browser.evaluate(
        "const link = document.querySelector('.lab input[name=link]').value;
         const code = document.querySelector('.lab code[data-now]');
         return Promise.all([import('/assets/share.js'), import('/fleet/liftmesh_playground.js')])
             .then(async ([{ decoded }, { Fleet }]) => {
                 const run = await decoded(new URL(link).search);
                 const fleet = new Fleet(JSON.stringify(run));
                 fleet.advance(Number(code.dataset.now));
                 const { fingerprint, now } = JSON.parse(fleet.picture(0));
                 return { link, steps: run.steps.length, mine: code.textContent, theirs: fingerprint,
                          now, at: Number(code.dataset.now) };
             })",
    );
    assert_eq!(same["now"], same["at"], "{same}");
    assert_eq!(same["mine"], same["theirs"], "{same}");
    assert!(same["steps"].as_u64() > Some(6), "{same}");

    browser.open(same["link"].as_str().expect("a link"));
    browser.wait_for(&row("D"));
    playground.open_part("nodes");
    playground.open_part("network");
    playground.open_part("traffic");
    playground.set_speed("10");
    playground.wait_for_state("A", "stopped");
    for (name, value) in [("loss", "7"), ("delay", "2.5"), ("passengers", "90")] {
        let field = format!("document.querySelector('.lab input[name={name}]')");
        browser.wait(name, &format!("return {field}?.value === '{value}'"));
    }
    browser.wait_for_text(".traffic", "nearly everybody comes in");
    browser.wait_for_text("button[data-mode-of=C]", "Independent");
    for (button, begun) in [("button.power", ".banner.power"), ("button.recall", ".banner.alarm")] {
        browser.click(button);
        browser.submit(&[(".confirm input", " ")]);
        browser.click(&format!("{begun} button"));
        browser.submit(&[(".confirm input", " ")]);
        browser.wait_until_gone(begun);
    }
    playground.assert_that_all_invariants_hold();
}

#[test]
fn the_playground_fits_a_phone() {
    let Some(playground) = Playground::open(Look::PHONE) else { return };
    let browser = &playground.browser;
    playground.wait_for_state("D", "slave");
    for part in ["network", "traffic", "lessons", "fleet", "messages"] {
        playground.open_part(part);
    }
    playground.set(".fleet [name=building]", "car-park");
    browser.wait_for(".building");
    browser.wait_for_text(".lab-legend", "beacon");
    super::assert_that_it_fits(browser, "the playground");
    super::shot(browser, "playground");
}

#[test]
fn a_building_is_edited_and_shared() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.open_part("fleet");
    playground.set(".fleet [name=building]", "car-park");
    let field = |label: &str| format!(".building [aria-label=\"{label}\"]");
    let height = field("Height of floor G, in metres");
    playground.set(&height, "2");
    browser.wait_for_text(".lab .wrong", "floor \"G\" must be above the one before it");
    playground.click_text(".fleet", "Start");
    browser.wait_for_text(".notices", "must be above the one before it");
    playground.set(&height, "6");
    browser
        .wait("nothing is wrong", "return document.querySelector('.lab .wrong').innerText === ''");
    playground.set(&field("Label of floor 3 from below"), "Lobby");
    browser.click(&field("Remove floor 8"));
    browser.click(&field("Add a floor at the top"));
    browser.click(&field("Car A serves floor B1"));
    playground.set(".fleet [name=passengers]", "0");
    playground.click_text(".fleet", "Start");
    browser.wait_for("[data-call=car-A-B1]");

    playground.close_parts();
    playground.set_speed("10");
    browser.click("[data-call=car-A-B1]");
    browser.open_page("events");
    browser.wait_for_text(".events", "Car call, A to floor B1: served by A");
    browser.click(".lab .share");
    browser.wait_for(".lab input[name=link]");
    let link = browser.evaluate("return document.querySelector('.lab input[name=link]').value");
    browser.open(link.as_str().expect("a link"));
    browser.wait_for_text(".events", "Car call, A to floor B1");
    browser.open_page("bank");
    browser.wait_for("[data-call=car-D-Lobby]");
    browser.wait_until_gone("[data-call=car-B-B1]");
    playground.assert_that_all_invariants_hold();
}

/// F14, with the hand instead of steps after the lesson has ended.
#[test]
fn a_lesson_shows_what_each_store_holds() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    playground.follow("?lesson=f14");
    browser.wait_for_text(".lesson", "F14: two networks become one");
    let cells = |of: &str, cells: [&str; 4]| {
        let row = format!(".store [data-call-of={of}]");
        let wait = format!(
            "return [...document.querySelectorAll('{row} td .hidden')]
                .map((one) => one.innerText).join() === '{}'",
            cells.join(",")
        );
        browser.wait(&format!("{of}: {cells:?}"), &wait);
    };
    playground.set_speed("2");
    cells("hall-6-down", ["on disk"; 4]);
    browser.wait_for_text("[data-call-of=hall-6-down] .lamp", "lit");
    cells("hall-6-down", ["served", "served", "on disk", "on disk"]);
    cells("hall-3-up", ["unknown", "unknown", "on disk", "on disk"]);
    cells("hall-3-up", ["served"; 4]);

    let side = |node: char| format!(".store button.side[aria-label^='Node {node}']");
    browser.write(&side('D'), super::browser::ENTER);
    playground.wait_for_state("D", "master");
    playground.set_speed("1");
    browser.click("[data-call=hall-7-down]");
    cells("hall-7-down", ["on disk", "on disk", "on disk", "unknown"]);
    browser.click(".lab .heal");
    playground.wait_for_state("D", "slave");
    playground.assert_that_all_invariants_hold();
}

/// In a fleet that was made by the form: every switch of a node's row, one after the other, and each time the car serves again.
#[test]
fn a_node_and_its_car_are_broken_and_repaired() {
    let Some(playground) = Playground::open(Look::DESKTOP) else { return };
    let browser = &playground.browser;
    // Nobody else presses a button, or stands in a door.
    playground.begin_three_cars_under_bully();
    browser.open_page("fleet");
    browser.wait_for_text(".facts", "bully");
    let master = playground.master();
    browser.click(&format!("{} .viewpoint", row(&master)));
    browser.wait_for_text(".bar", &format!("Node {master}"));
    let car = if master == "B" { "C" } else { "B" };
    playground.set_speed("10");
    playground.ride(car, 7);

    playground.act(car, "Freeze");
    playground.wait_for_state(car, "frozen");
    browser.open_page("bank");
    browser.wait_for_text(".column.car.lost", "Node lost");
    playground.act(car, "Resume");
    playground.wait_for_state(car, "slave");
    browser.wait_until_gone(".column.car.lost");
    playground.ride(car, 3);

    browser.open_page("bank");
    playground.act(car, "Break panel line");
    browser.wait_for_text(".column.car.off .doing", "No panel");
    playground.act(car, "Repair panel line");
    browser.wait_until_gone(".column.car.off");
    playground.ride(car, 5);

    browser.open_page("bank");
    playground.act(car, "Break motor");
    browser.click(&format!("[data-call=car-{car}-0]"));
    playground.wait_for_state(car, "hung");
    browser.wait_for(".column.car.lost, .column.car.hung");
    playground.act(car, "Repair motor");
    playground.act(car, "Clear and start");
    playground.wait_for_state(car, "slave");
    browser.wait_until_gone(".column.car.lost, .column.car.hung");
    playground.ride(car, 4);
    playground.assert_that_all_invariants_hold();
}
