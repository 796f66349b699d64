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

/// The most that the page and the fleet are on the wire, in bytes.
const MOST_BYTES: f64 = 1024.0 * 1024.0;

/// The time that the page shows, in seconds.
const CLOCK: &str = "document.querySelector('.lab .clock').textContent
    .split(':').reduce((sum, part) => 60 * sum + Number(part), 0)";

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
        Self::open_in(|| super::browser(Look::DESKTOP))
    }

    fn open_in(browser: impl FnOnce() -> Option<Browser>) -> Option<Self> {
        let site = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/playground");
        if !site.join("index.html").is_file() {
            skip("the playground is not built: ./playground/build.sh");
            return None;
        }
        let browser = browser()?;
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

    fn wait_for_slider(&self, name: &str, value: &str) {
        let script = format!(
            "return document.querySelector('.lab input[name={name}]')?.value === '{value}'"
        );
        self.browser.wait(&format!("{name} at {value}"), &script);
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

    /// The time of the fleet, in seconds.
    fn clock(&self) -> f64 {
        self.browser.evaluate(&format!("return {CLOCK}")).as_f64().expect("a number")
    }

    fn wait_for_clock(&self, seconds: f64) {
        self.browser.wait(&format!("{seconds} s"), &format!("return {CLOCK} >= {seconds}"));
    }

    /// Virtual seconds a second, by the clock that the page shows.
    fn measure_speed(&self) -> f64 {
        let script = format!(
            "const seconds = () => {CLOCK};
             const [begun, before] = [performance.now(), seconds()];
             return new Promise((resolve) => setTimeout(() => resolve(
                (seconds() - before) * 1000 / (performance.now() - begun)), {}));",
            MEASURED.as_millis(),
        );
        self.browser.evaluate(&script).as_f64().expect("a number")
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
    let Some(playground) = Playground::open() else { return };
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
    let Some(playground) = Playground::open() else { return };
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

/// There is no audit log: nobody is asked for a name.
#[test]
fn cars_are_commanded_in_the_playground() {
    let Some(playground) = Playground::open() else { return };
    let browser = &playground.browser;
    playground.wait_for_state("D", "slave");
    browser.click("button[data-mode-of=B]");
    browser.click("dialog input[value=independent]");
    assert_eq!(
        browser.evaluate("return document.querySelector('dialog input[name=operator]')"),
        json!(null)
    );
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("button[data-mode-of=B]", "Independent");

    browser.click("button.lock");
    browser.write("dialog select[name=floor]", "3");
    browser.click("dialog input[name=locked][value=yes]");
    browser.click("dialog button[type=submit]");
    browser.wait_for("[data-locked='3']");

    browser.click("button.priority");
    browser.write("dialog select[name=floor]", "6");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".notices", "goes to floor 6 with priority");

    browser.click("button.power");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".banner.power", "Emergency power");
    browser.click(".banner.power button");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_until_gone(".banner.power");

    browser.click("button.recall");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".banner.alarm", "Fire recall");
    browser.wait_for_text("button[data-mode-of=C]", "Fire recall");
    browser.click(".banner.alarm button");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("button[data-mode-of=C]", "In service");
    browser.wait_for_text("button[data-mode-of=B]", "Independent");
    playground.assert_that_all_invariants_hold();
}

/// A browser that opens the link shows the same run: every step is in it, and what the controls show comes from
/// the run.
#[test]
fn a_shared_link_leads_to_the_same_run() {
    let Some(playground) = Playground::open() else { return };
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
    browser.click("dialog input[value=independent]");
    browser.click("dialog button[type=submit]");
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
    playground.open_part("network");
    playground.open_part("traffic");
    playground.set_speed("10");
    playground.wait_for_state("A", "stopped");
    playground.wait_for_slider("loss", "7");
    playground.wait_for_slider("delay", "2.5");
    playground.wait_for_slider("passengers", "90");
    browser.wait_for_text(".traffic", "nearly everybody comes in");
    browser.wait_for_text("button[data-mode-of=C]", "Independent");
    playground.assert_that_all_invariants_hold();
}

#[test]
fn messages_are_shown_as_they_are_sent() {
    let Some(playground) = Playground::open() else { return };
    let browser = &playground.browser;
    playground.wait_for_state("D", "slave");
    playground.open_part("messages");
    browser.wait_for_text(".lab-legend", "beacon");
    let colours = "
        const canvas = document.querySelector('canvas.space-time');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] === 255) seen.add(`${data[at]},${data[at + 1]},${data[at + 2]}`);
        }
        return seen.size > 3";
    browser.wait("drawn lines", colours);
    let said = browser.attribute("canvas.space-time", "aria-label").expect("a label");
    assert!(said.contains("beacon"), "{said}");
    playground.set_speed("0.01");
    playground.set("select[name=span]", "0.1");
    browser.wait("drawn lines", colours);
    super::shot(browser, "playground-messages");
    playground.set_speed("10");
    browser.wait_for_text(".messages", "slow the run down");
}

#[test]
fn the_playground_fits_a_phone() {
    let Some(playground) = Playground::open_in(|| super::browser(Look::PHONE)) else { return };
    let browser = &playground.browser;
    playground.wait_for_state("D", "slave");
    for part in ["network", "traffic", "messages", "fleet"] {
        playground.open_part(part);
    }
    browser.wait_for_text(".lab-legend", "beacon");
    super::assert_that_it_fits(browser, "the playground");
    super::shot(browser, "playground");
}

/// A shared link leads to the run. How fast the page is depends on the machine: the test prints it.
#[test]
fn eight_cars_run_much_faster_than_real_time() {
    let alone = || super::or_skip(Browser::start_alone(Look::DESKTOP));
    let Some(playground) = Playground::open_in(alone) else { return };
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

    // The second is more than the page can do.
    for wanted in ["100", "300"] {
        playground.set_speed(wanted);
        let speed = playground.measure_speed();
        println!(
            "8 cars, 8 floors, 40 passengers a minute, {wanted} × wanted: {speed:.0} × reached"
        );
        assert!(speed > LEAST_SPEED, "{speed}");
    }
    playground.assert_that_all_invariants_hold();
}

/// In a fleet that was made by the form: every switch of a node's row, one after the other, and each time the car serves again.
#[test]
fn a_node_and_its_car_are_broken_and_repaired() {
    let Some(playground) = Playground::open() else { return };
    let browser = &playground.browser;
    // Nobody else presses a button, or stands in a door.
    playground.begin_three_cars_under_bully();
    browser.open_page("fleet");
    browser.wait_for_text(".facts", "bully");
    browser.click(".lab .share");
    browser.wait_for(".lab input[name=link]");
    let run = browser.evaluate(
        "const link = document.querySelector('.lab input[name=link]').value;
         return import('/assets/share.js').then(({ decoded }) => decoded(new URL(link).search))",
    );
    let made = ["cars", "passengers", "election", "strategy"].map(|name| run[name].clone());
    assert_eq!(made, [json!(3), json!(0), json!("bully"), json!("collective")]);
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
    // The door stays open for 3 s, or with somebody in it until it nudges, after 20 s.
    playground.set_speed("2");
    playground.act(car, "Break door");
    browser.click(&format!("[data-call=car-{car}-2]"));
    let doing = format!("section[aria-label='Car {car}'] .doing");
    browser.wait_for_text(&doing, "Door open");
    playground.wait_for_clock(playground.clock() + 10.0);
    browser.wait_for_text(&doing, "Door open");
    playground.act(car, "Repair door");
    playground.set_speed("10");
    playground.ride(car, 6);

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
