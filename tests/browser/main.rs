//! The web panel in a real browser: Debian's chromium, without a window, in front of real nodes.
//!
//! Needs `chromium` and `chromedriver` (Debian: `apt-get install chromium-driver`); without them the
//! tests say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set. The tests of the playground
//! also need what `playground/build.sh` makes.
//!
//! `LIFTMESH_SHOTS=DIRECTORY cargo test --test browser screenshots` writes a picture of each page, light
//! and dark, on a desktop and on a phone.
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

use elevator_driver::{Button, Direction};
use elevator_fleet::node::{LossCause, LostStatus};
use liftmesh_harness::building::{Building, Line, skip};

use self::browser::{Browser, Look};

/// The port of every node's panel.
const PORT: u16 = 7080;

/// The first paint of the panel: within this time, and with this many bytes of all its files.
const FIRST_PAINT: Duration = Duration::from_millis(200);
const MOST_BYTES: f64 = 100.0 * 1024.0;

/// A building of three cars with its panel, and a browser; `None` where there is no browser.
fn building() -> Option<(Building, Browser)> {
    let browser = browser(Look::DESKTOP)?;
    Some((bank(), browser))
}

/// A building of three cars with its panel.
fn bank() -> Building {
    Building::with_cars(6, Line::Serial, &["A", "B", "C"])
}

fn browser(look: Look) -> Option<Browser> {
    or_skip(Browser::start(look))
}

fn or_skip(browser: Option<Browser>) -> Option<Browser> {
    if browser.is_none() {
        skip("chromium and chromedriver are not installed (Debian: chromium-driver)");
    }
    browser
}

/// The panel of the node whose address ends with this number.
fn panel(building: &Building, number: u8) -> String {
    format!("http://{}:{PORT}/", building.endpoint(number).0)
}

/// A token of a node that may do everything.
fn token(building: &Building, name: &str) -> String {
    let words = ["token", "create", "--name", "browser", "--scope", "operate"];
    let made = building.operator(name, &words).output().expect("it runs");
    assert!(made.status.success(), "{made:?}");
    String::from_utf8(made.stdout).expect("text").trim().to_owned()
}

/// Presses a button of the page, which asks for a token.
fn press_with_token(browser: &Browser, call: &str, token: &str) {
    browser.click(&format!("[data-call={call}]"));
    browser.wait_for("dialog input[name=token]");
    browser.write("dialog input[name=token]", token);
    browser.click("dialog button[type=submit]");
}

#[test]
fn a_pressed_hall_button_is_lit_and_served() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    // No car of three is parked at the top.
    let button = "[data-call=hall-5-down]";
    browser.wait_for(button);
    assert_eq!(browser.attribute(button, "aria-pressed").as_deref(), Some("false"));

    press_with_token(&browser, "hall-5-down", "lmt_of_nobody");
    browser.wait_for_text("dialog", "the node refuses this token");
    browser.write("dialog input[name=token]", &token(&building, "A"));
    browser.watch_cars();
    browser.click("dialog button[type=submit]");

    browser.wait_for(&format!("{button}[aria-pressed=true]"));
    let down = Button::Hall(building.floor(5), Direction::Down);
    building.wait_lit(&["A", "B", "C"], down);
    // The assigned car has a mark in its shaft, and is drawn on its way.
    browser.wait_for(".column.car .mark");
    let seen = browser.positions_while_moving();
    assert!(seen > 30, "a moving car was drawn at {seen} positions in a second");

    browser.open_page("fleet");
    browser.wait_for_text("table", "Hall call, floor 5 down");
    browser.wait_for_text("table", "✓ promised");
    browser.open_page("bank");
    browser.wait_for(&format!("{button}[aria-pressed=false]"));
    browser.open_page("events");
    browser.wait_for_text(".events", "Hall call, floor 5 down: served by");
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
    let Some(browser) = browser(Look::DESKTOP) else { return };
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
    browser.write("dialog input[name=token]", "lmt_of_nobody");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("dialog", "the node refuses this token");
    browser.write("dialog input[name=token]", &token);
    browser.click("dialog button[type=submit]");
    browser.wait_for(".light.live");
    browser.wait_for("[data-call=hall-3-up]");
    browser.wait_until_gone(".banner.lost");

    // The page of another node has another origin, and asks again.
    building.kill("A");
    browser.wait_for_address(&there);
    browser.wait_for_text("dialog", "needs a token");
    browser.write("dialog input[name=token]", &token);
    browser.click("dialog button[type=submit]");
    browser.wait_for(".light.live");
    browser.wait_for_text(".bar", "Node B");
}

#[test]
fn an_address_may_bring_a_token_along() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    assert_eq!(browser.evaluate("return location.hash"), "#/bank");
    // No car is parked at the top.
    browser.click("[data-call=hall-5-down]");
    browser.wait_for("[data-call=hall-5-down][aria-pressed=true]");
}

#[test]
fn a_panel_says_that_its_node_is_gone_and_moves_to_another() {
    let Some((mut building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    browser.wait_for(".light.live");
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
    let Some((mut building, browser)) = building() else { return };
    browser.open(&format!("{}#/events", panel(&building, 1)));
    browser.wait_for(".light.live");
    // An idle car may be on its way down to where it is parked.
    building.press("B", Button::Car(building.floor(5)));
    building.wait("B goes up", |it| it.car("B").driven == Some(Direction::Up));
    building.panel("B").send("fault motor stuck").expect("taken");
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
    // A page that is opened only now shows why, too.
    browser.open("about:blank");
    browser.open(&format!("{}#/events", panel(&building, 1)));
    browser.wait_for_text(".panel.hang", "without a new sensor");
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
    browser.write("dialog input[name=operator]", "J. Kovac");
    browser.write("dialog input[name=reason]", "brake replaced");
    browser.click("dialog button[type=submit]");
    browser.wait_for("dialog input[name=token]");
    browser.write("dialog input[name=token]", &token);
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".notices", "The hang of B is cleared");
    assert_eq!(building.end_of(&mut caretaker).code(), Some(0));
    building.panel("B").send("fault motor ok").expect("taken");
    // As the supervisor does.
    building.start("B");
    browser.wait_for_text(".bar", "Node B");
    browser.wait_for(".light.live");
    browser.wait_until_gone(".panel.hang");
}

#[test]
fn an_order_is_shown_with_the_nodes_and_disks_that_hold_it() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#/fleet", panel(&building, 1)));
    browser.wait_for_text(".panel", "No open orders.");
    // A door that can't close keeps the car, and its order open.
    building.panel("B").send("obstruct on").expect("taken");
    building.press("B", Button::Car(building.floor(0)));
    building.press("B", Button::Car(building.floor(5)));
    browser.wait_for_text("table", "Car call, B to floor 5");
    browser.wait_for_text("td[data-label='Held by']", "A (disk), B (disk), C (disk) 3 of 3 nodes");
    building.panel("B").send("obstruct off").expect("taken");
    browser.wait_for_text(".panel", "No open orders.");
}

#[test]
fn a_robot_with_a_car_is_shown() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    browser.open_page("fleet");
    let made = browser.evaluate(
        "const headers = { authorization: `Bearer ${sessionStorage.getItem('liftmesh-token')}`,
                           'content-type': 'application/json' };
         const body = JSON.stringify({ car: 'B', floor: 3, to: 5, seconds: 20 });
         return fetch('/api/v1/sessions', { method: 'POST', headers, body }).then((it) => it.status)",
    );
    assert_eq!(made, 201);
    browser.wait_for_text("table", "its car is holding the door open");
    browser.wait_for_text("table", "3, then 5");
    browser.open_page("bank");
    browser.wait_for(".column.car .tag.robot");
    browser.open_page("events");
    browser.wait_for_text(".events", "car B is on its way to floor 3");
    browser.wait_for_text(".events", "car B holds its door open at floor 3");
    shot(&browser, "session");
}

/// On a phone nothing is cut off at the side, whatever is shown.
#[test]
fn no_page_scrolls_sideways_on_a_phone() {
    let Some(browser) = browser(Look::PHONE) else { return };
    let building = Building::with_cars(6, Line::Serial, &["A", "B", "C"]);
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    building.press("A", Button::Car(building.floor(5)));
    for page in ["bank", "fleet", "events", "service", "audit"] {
        browser.open_page(page);
        assert_that_it_fits(&browser, page);
    }
    browser.open_page("bank");
    browser.click("button[data-mode-of=B]");
    browser.wait_for("dialog");
    assert_that_it_fits(&browser, "a dialog");
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
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
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
    let Some(browser) = or_skip(Browser::start_alone(Look::DESKTOP)) else { return };
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
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    browser.wait_for(".light.live");
    assert_eq!(browser.evaluate("return typeof window.uPlot"), "undefined");
    // A page that was opened too early shows what is counted meanwhile.
    browser.open_page("service");
    for (name, button) in [
        ("A", Button::Hall(building.floor(4), Direction::Up)),
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
    // It is fetched with the token, which a link would not send.
    let csv = browser.evaluate(
        "sessionStorage.setItem('liftmesh-token', 'mine');
         const [fetched, made] = [window.fetch, URL.createObjectURL];
         let sent;
         window.fetch = (path, options) => {
             if (path.includes('.csv')) sent = options.headers.authorization;
             return fetched(path, options);
         };
         const downloaded = new Promise((resolve) => {
             URL.createObjectURL = (blob) => {
                 blob.text().then(resolve);
                 return made.call(URL, blob);
             };
         });
         document.querySelector('.service button.download').click();
         return downloaded.then((text) => `${sent}\\n${text}`)",
    );
    let csv = csv.as_str().expect("text");
    assert!(csv.starts_with("Bearer mine\nstart,watched,hall_calls,"), "{csv}");
    let wide = "return document.documentElement.scrollWidth <= innerWidth";
    assert_eq!(browser.evaluate(wide), true, "the page is wider than the window");
}

/// Takes a picture, if pictures are wanted.
fn shot(browser: &Browser, name: &str) {
    let Ok(directory) = std::env::var("LIFTMESH_SHOTS") else { return };
    std::thread::sleep(Duration::from_millis(300));
    let path = format!("{directory}/{name}-{}.png", Look::DESKTOP.name());
    std::fs::write(&path, browser.screenshot()).expect("a picture");
    println!("{path}");
}

#[test]
fn screenshots() {
    let Ok(directory) = std::env::var("LIFTMESH_SHOTS") else {
        println!("no pictures: LIFTMESH_SHOTS names no directory");
        return;
    };
    let mut building = Building::with_cars(6, Line::Serial, &["A", "B", "C"]);
    // The timeline has something to show, over some time.
    let some_time = || std::thread::sleep(Duration::from_secs(9));
    some_time();
    building.kill("A");
    building.wait_for_master("B");
    some_time();
    building.start("A");
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B", "C"]);
    some_time();
    for look in Look::ALL {
        let Some(browser) = browser(look) else { return };
        browser.open(&panel(&building, 2));
        browser.wait_for(".light.live");
        for page in ["bank", "fleet", "events", "service"] {
            for (name, floor) in [("A", 4), ("B", 0), ("C", 5), ("A", 1)] {
                building.press(name, Button::Car(building.floor(floor)));
                let direction = if floor == 5 { Direction::Down } else { Direction::Up };
                building.press(name, Button::Hall(building.floor(floor), direction));
            }
            browser.open_page(page);
            std::thread::sleep(Duration::from_millis(700));
            let path = format!("{directory}/{page}-{}.png", look.name());
            std::fs::write(&path, browser.screenshot()).expect("a picture");
            println!("{path}");
        }
    }
}
