//! The web panel in a real browser: Debian's chromium, without a window, in front of real nodes.
//!
//! Needs `chromium` and `chromedriver` (Debian: `apt-get install chromium-driver`); without them the
//! tests say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set. The tests of the playground
//! also need what `playground/build.sh` makes.
//!
//! `LIFTMESH_SHOTS=DIRECTORY cargo test --test browser` writes pictures of the pages: light and
//! dark, on a desktop and on a phone.
#![cfg(feature = "simulator")]
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "all of this is test code, which ends where what it needs is missing"
)]

mod browser;
mod commands;
mod events;
mod names;
mod playground;
mod scripts;
mod words;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use elevator_driver::{Button, Direction, Side};
use elevator_fleet::node::{LossCause, LostStatus};
use liftmesh_harness::building::{Building, Line, Machine};

use self::browser::{Browser, Look};

/// The port of every node's panel.
const PORT: u16 = 7080;

/// The first paint of the panel: within this time, and with this many bytes of all its files.
const FIRST_PAINT: Duration = Duration::from_millis(200);
const MOST_BYTES: f64 = 100.0 * 1024.0;

const THREE: [&str; 3] = ["A", "B", "C"];

/// A building of three cars with its panel.
fn bank() -> Building {
    Building::with_cars(6, Line::Serial, &THREE)
}

/// It, and a browser that shows this page at node A; `None` where there is no browser.
fn viewer(page: &str) -> Option<(Building, Browser)> {
    let browser = Browser::start(Look::DESKTOP, Machine::shared)?;
    let building = bank();
    browser.open(&format!("{}#/{page}", panel(&building, 1)));
    browser.wait_for(".light.live");
    Some((building, browser))
}

/// The same for somebody who may do everything: the address brings a token along.
fn operator() -> Option<(Building, Browser)> {
    let (building, browser) = viewer("")?;
    let token = token(&building, "A");
    browser.open("about:blank");
    browser.open(&format!("{}#token={token}", panel(&building, 1)));
    browser.wait_for(".light.live");
    assert_eq!(browser.evaluate("return location.hash"), "#/bank");
    Some((building, browser))
}

/// The panel of the node whose address ends with this number.
fn panel(building: &Building, number: u8) -> String {
    format!("http://{}:{PORT}/", building.endpoint(number).0)
}

/// A token of a node that may do everything.
fn token(building: &Building, name: &str) -> String {
    let words = ["token", "create", "--name", "browser", "--scope", "operate"];
    building.done(name, &words).trim().to_owned()
}

#[test]
fn a_pressed_hall_button_is_lit_and_served() {
    let Some((building, browser)) = viewer("") else { return };
    // No car of three is parked at the top.
    let button = "[data-call=hall-5-down]";
    browser.wait_for(button);
    assert_eq!(browser.attribute(button, "aria-pressed").as_deref(), Some("false"));

    browser.click(button);
    browser.submit(&[("input[name=token]", "lmt_of_nobody")]);
    browser.wait_for_text("dialog", "the node refuses this token");
    let token = token(&building, "A");
    browser.submit(&[("input[name=token]", &token)]);

    browser.wait_for(&format!("{button}[aria-pressed=true]"));
    let down = Button::Hall(building.floor(5), Direction::Down);
    building.wait_lit(&THREE, down);
    // The assigned car has a mark in its shaft, and is drawn on its way between two floors.
    browser.wait_for(".column.car .mark");
    let cabins =
        "[...document.querySelectorAll('.cabin')].map((it) => it.getAttribute('transform')).join()";
    browser.evaluate(&format!("window.before = {cabins}"));
    browser.wait("a car moves", &format!("return {cabins} !== window.before"));

    browser.open_page("fleet");
    browser.wait_for_text("table", "Hall call, floor 5 down");
    browser.wait_for_text("table", "✓ promised");
    browser.open_page("bank");
    browser.wait_for(&format!("{button}[aria-pressed=false]"));
    browser.open_page("events");
    browser.wait_for_text(".events", "Hall call, floor 5 down: served by");
}

#[test]
fn a_floor_with_two_entrances_has_buttons_for_both() {
    let Some(browser) = Browser::start(Look::DESKTOP, Machine::shared) else { return };
    let mut building = Building::new(3, Line::Serial);
    building.install("A", 1);
    let file = building.data_dir("A").with_file_name("building.toml");
    let text = r#"
        floors = [
            { label = "G", height = 0.0 },
            { label = "1", height = 3.5, doors = ["front", "rear"] },
            { label = "2", height = 6.5 },
        ]
        cars = [{ name = "A", doors = ["front", "rear"] }]
    "#;
    fs::write(&file, text).expect("written");
    building.start_as("A", |node| node.building = Some(file));
    building.wait_in_service(&["A"]);
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    for call in ["rear-car-A-1", "car-A-2", "rear-hall-1-down"] {
        let button = format!("[data-call={call}]");
        browser.click(&button);
        browser.wait_for(&format!("{button}[aria-pressed=true]"));
        browser.wait_for(&format!("{button}[aria-pressed=false]"));
    }
    assert_eq!(building.car("A").side, Side::Rear);
    shot(&browser, "rear");
}

/// Installs a node whose panel is served over TLS, and whose readers need a token: its address counts as
/// one beyond loopback, for it is written as one of IPv6.
fn start_with_tls(building: &mut Building, name: &'static str, number: u8, files: &Path) {
    building.install(name, number);
    let address = building.endpoint(number).0;
    let made = rcgen::generate_simple_self_signed([address.to_string()]).expect("a certificate");
    let paths = ["crt", "key"].map(|kind| files.join(format!("{name}.{kind}")));
    fs::write(&paths[0], made.cert.pem()).expect("written");
    fs::write(&paths[1], made.signing_key.serialize_pem()).expect("written");
    fs::set_permissions(&paths[1], Permissions::from_mode(0o600)).expect("rights");
    building.start_with(name, |command| {
        command.args(["--http-address", &format!("[::ffff:{address}]:{PORT}")]);
        command.arg("--http-certificate").arg(&paths[0]).arg("--http-key").arg(&paths[1]);
    });
}

#[test]
fn a_panel_beyond_loopback_asks_for_a_token_before_it_shows_the_fleet() {
    let Some(browser) = Browser::start(Look::DESKTOP, Machine::shared) else { return };
    let files = tempfile::tempdir().expect("a directory");
    let mut building = Building::new(6, Line::Serial);
    start_with_tls(&mut building, "A", 1, files.path());
    start_with_tls(&mut building, "B", 2, files.path());
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);
    let token = token(&building, "A");
    let page = |number| format!("https://{}:{PORT}/", building.endpoint(number).0);
    let there = format!("{}#/bank", page(2));

    browser.open(&page(1));
    browser.wait_for_text("dialog", "needs a token");
    browser.click("dialog button[type=button]");
    browser.wait_for_text(".banner.lost", "A token is needed to see the fleet");
    browser.click(".banner.lost button");
    browser.submit(&[("input[name=token]", &token)]);
    browser.wait_for(".light.live");
    browser.wait_for("[data-call=hall-3-up]");
    browser.wait_until_gone(".banner.lost");

    // The page of another node has another origin, and asks again.
    building.kill("A");
    browser.wait_for_address(&there);
    browser.wait_for_text("dialog", "needs a token");
    browser.submit(&[("input[name=token]", &token)]);
    browser.wait_for(".light.live");
    browser.wait_for_text(".bar", "Node B");
}

#[test]
fn a_panel_says_that_its_node_is_gone_and_moves_to_another() {
    let Some((mut building, browser)) = viewer("bank") else { return };
    building.kill("A");
    browser.wait_for_text(".banner.lost", "No data since");
    browser.wait_for("main.stale");
    browser.wait_for("button.call:disabled");
    browser.wait_for_text(".banner.lost", "Moving to B");
    let there = format!("{}#/bank", panel(&building, 2));
    browser.wait_for_address(&there);
    browser.wait_for(".light.live");
    browser.wait_for_text(".bar", "Node B");
    browser.wait_for_text(".notices", "Node A did not answer");
    browser.wait_for_text(".column.car.lost", "Node lost");

    building.start("A");
    browser.wait_for_text(".bar", "Master A");
    browser.open_page("fleet");
    browser.wait_for(".timeline .failover");
}

#[test]
fn a_hung_car_is_shown_with_what_to_do() {
    let Some((mut building, browser)) = viewer("events") else { return };
    // An idle car may be on its way down to where it is parked.
    building.press("B", Button::Car(building.floor(5)));
    building.wait("B goes up", |it| it.car("B").driven == Some(Direction::Up));
    building.tell("B", "fault motor stuck");
    assert_eq!(building.exit("B").code(), Some(3), "its car hung");
    building.wait("A has heard why", |building| {
        let lost = building.status("A").map(|status| status.lost);
        let is_hung = |lost: &LostStatus| lost.node == "B" && lost.cause == LossCause::Hung;
        lost.is_some_and(|lost| lost.iter().any(is_hung))
    });
    browser.wait_for_text(".panel.hang", "Car B hung");
    browser.wait_for_text(".panel.hang", "Help the passengers");
    // As its node has told before it ended.
    browser.wait_for_text(".panel.hang", "without a new sensor");
    browser.wait_for_text(".panel.hang .facts", "Last heard");
    browser.wait_for_text(".panel.hang .facts", "Last floor");
    shot(&browser, "hung");
    browser.open_page("bank");
    browser.wait_for_text(".banner.alarm", "Car B hung");
    browser.wait_for_text(".column.hung", "Hung");
    browser.open_page("events");
    // The latch is on the computer of B: node A can't clear it, and leads there.
    // The caretaker looks into the journal as it starts, and then nobody else can.
    let token = token(&building, "B");
    let mut caretaker = building.start_caretaker("B");
    browser.click(".panel.hang a.danger");
    browser.wait_for_address(&format!("{}#/events", panel(&building, 2)));
    browser.wait_for_text(".panel.latched h2", "Car B hung");
    browser.wait_for_text(".panel.latched .evidence", "on its way up to floor");
    shot(&browser, "latched");
    browser.click(".panel.latched button.danger");
    let why = ("input[name=reason]", "brake replaced");
    browser.submit(&[("input[name=operator]", "J. Kovac"), why]);
    browser.submit(&[("input[name=token]", &token)]);
    browser.wait_for_text(".notices", "The hang of B is cleared");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    building.tell("B", "fault motor ok");
    // As the supervisor does.
    building.start("B");
    browser.wait_for_text(".bar", "Node B");
    browser.wait_for(".light.live");
    browser.wait_until_gone(".panel.hang");
}

#[test]
fn an_order_is_shown_with_the_nodes_and_disks_that_hold_it() {
    let Some((building, browser)) = viewer("fleet") else { return };
    browser.wait_for_text(".panel", "No open orders.");
    // A door that can't close keeps the car, and its order open.
    building.tell("B", "obstruct on");
    building.press("B", Button::Car(building.floor(0)));
    building.press("B", Button::Car(building.floor(5)));
    browser.wait_for_text("table", "Car call, B to floor 5");
    browser.wait_for_text("td[data-label='Held by']", "A (disk), B (disk), C (disk) 3 of 3 nodes");
    building.tell("B", "obstruct off");
    browser.wait_for_text(".panel", "No open orders.");
}

/// Nothing is cut off at the side, whatever is shown, on a phone either.
#[test]
fn no_page_scrolls_sideways() {
    let building = bank();
    let token = token(&building, "A");
    for look in Look::ALL {
        let Some(browser) = Browser::start(look, Machine::shared) else { return };
        browser.open(&format!("{}#token={token}", panel(&building, 1)));
        browser.wait_for(".light.live");
        building.press("A", Button::Car(building.floor(5)));
        building.press("B", Button::Hall(building.floor(4), Direction::Up));
        for page in ["bank", "fleet", "events", "service", "audit"] {
            browser.open_page(page);
            assert_that_it_fits(&browser, page);
            shot(&browser, page);
        }
        browser.open_page("bank");
        browser.click("button[data-mode-of=B]");
        browser.wait_for("dialog");
        assert_that_it_fits(&browser, "a dialog");
    }
}

/// The page is not wider than the window, and no button or text is beyond its edge.
fn assert_that_it_fits(browser: &Browser, what: &str) {
    let beyond = browser.evaluate(
        "const isHidden = (one) => one.closest('.hidden, .skip, .scroll, [hidden]') !== null;
         return document.documentElement.scrollWidth <= innerWidth ? [] :
             [...document.querySelectorAll('body *')]
                 .filter((one) => !isHidden(one) && one.getBoundingClientRect().right > innerWidth + 1)
                 .map((one) => `${one.tagName}.${one.className} ${one.getBoundingClientRect().right}`)
                 .concat([`${document.documentElement.scrollWidth} of ${innerWidth}`]).slice(-12)",
    );
    assert_eq!(beyond, serde_json::json!([]), "{what} is wider than the window");
}

#[test]
fn arrow_keys_move_through_the_buttons_of_a_shaft() {
    let Some((_building, browser)) = viewer("") else { return };
    browser.wait_for("[data-call=car-A-5]");
    let stops =
        browser.evaluate("return document.querySelectorAll('button.call[tabindex=\"0\"]').length");
    assert_eq!(stops, 4, "one stop of the Tab key for the landings, and one for each car");
    // Chromium's code of the arrow key, as its driver has it.
    let down = "\u{E015}";
    browser.write("[data-call=car-A-5]", down);
    assert_eq!(browser.evaluate("return document.activeElement.dataset.call"), "car-A-4");
    assert_eq!(browser.evaluate("return document.activeElement.tabIndex"), 0);
}

#[test]
fn the_first_paint_is_quick_and_small() {
    let Some(browser) = Browser::start(Look::DESKTOP, Machine::alone) else { return };
    let building = bank();
    let paints: Vec<_> = (0..5).map(|_| browser.first_paint(&panel(&building, 1))).collect();
    let quickest = paints.iter().map(|(time, _)| *time).min().expect("a paint");
    let bytes = paints.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    println!("first paint after {quickest:?} of {paints:?}, {bytes} bytes");
    assert!(quickest < FIRST_PAINT, "{paints:?}");
    assert!((1_000.0..MOST_BYTES).contains(&bytes), "{paints:?}");
}

/// The charts come with the page that needs them, and not before.
#[test]
fn the_page_service_shows_how_long_passengers_have_waited() {
    let Some((building, browser)) = viewer("") else { return };
    assert_eq!(browser.evaluate("return typeof window.uPlot"), "undefined");
    // A page that was opened too early shows what is counted meanwhile.
    browser.open_page("service");
    for (name, button) in [
        ("A", Button::Hall(building.floor(4), Direction::Up)),
        ("A", Button::Car(building.floor(5))),
        ("B", Button::Car(building.floor(2))),
    ] {
        building.press(name, button);
        building.wait_lit(&[name], button);
    }
    building.wait_all_dark();
    browser.wait_for(".chart canvas");
    browser.wait_for_text(".facts.times", "1 call");
    // What the charts show is in tables as well, for those who do not see them.
    let hidden = "return [...document.querySelectorAll('.chart')].every((one) => one.ariaHidden)";
    assert_eq!(browser.evaluate(hidden), true);
    browser.click(".service details summary");
    browser.wait_for_text(".service details[open] table", "P90");
    browser.click("[data-window=week]");
    browser.wait_for("[data-window=week][aria-pressed=true]");
    browser.wait_for_text(".service", "Each point covers an hour.");
    browser.wait_for_text(".heat thead", "Floor");
    let cells = "return document.querySelectorAll('.heat tbody .cell').length";
    assert_eq!(browser.evaluate(cells), 6 * 24);
    browser.wait_for("[data-car=C]");
    browser.wait_for_text(".maintenance", "Maintenance of car A");
    browser.wait(
        "the trip of A is counted, with units",
        "const rows = [...document.querySelectorAll('.maintenance tbody tr')];
         const cells = rows.map(({ cells }) => [...cells].map((cell) => cell.textContent));
         const is = (name, unit) => cells.some((row) => row[0] === name && row[1] > 0 && row[2] === unit);
         return is('Trips', '') && is('Distance', 'm') && is('Stops at floor 5', '')",
    );
    // It is fetched with the token, which a link would not send.
    let csv = browser.evaluate(
        "sessionStorage.setItem('liftmesh-token', 'mine');
         const fetched = window.fetch;
         const sent = new Promise((resolve) => {
             window.fetch = (path, options) => {
                 if (path.includes('.csv')) resolve(options.headers.authorization);
                 return fetched(path, options);
             };
         });
         document.querySelector('.service button.download').click();
         return sent",
    );
    assert_eq!(csv, "Bearer mine");
}

/// Takes a picture, if pictures are wanted, once nothing moves any more but cars.
fn shot(browser: &Browser, name: &str) {
    let Ok(directory) = std::env::var("LIFTMESH_SHOTS") else { return };
    browser.wait(
        "nothing is being faded in",
        "return document.getAnimations().every(({ playState }) => playState !== 'running')",
    );
    let path = format!("{directory}/{name}-{}.png", browser.look.name());
    std::fs::write(&path, browser.screenshot()).expect("a picture");
    println!("{path}");
}
