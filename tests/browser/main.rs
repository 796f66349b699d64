//! The web panel in a real browser: Debian's chromium, without a window, in front of real nodes.
//!
//! Needs `chromium` and `chromedriver` (Debian: `apt-get install chromium-driver`); without them the
//! tests say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set.
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

use std::time::Duration;

use elevator_driver::{Button, Direction};
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
    Some((Building::with_cars(6, Line::Serial, &["A", "B", "C"]), browser))
}

fn browser(look: Look) -> Option<Browser> {
    let browser = Browser::start(look);
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
    let button = "[data-call=hall-4-up]";
    browser.wait_for(button);
    assert_eq!(browser.attribute(button, "aria-pressed").as_deref(), Some("false"));

    press_with_token(&browser, "hall-4-up", "lmt_of_nobody");
    browser.wait_for_text("dialog", "the node refuses this token");
    browser.write("dialog input[name=token]", &token(&building, "A"));
    browser.click("dialog button[type=submit]");

    browser.wait_for(&format!("{button}[aria-pressed=true]"));
    let up = Button::Hall(building.floor(4), Direction::Up);
    building.wait_lit(&["A", "B", "C"], up);
    // The assigned car has a mark in its shaft, and is drawn on its way.
    browser.wait_for(".column.car .mark");
    let seen = browser.positions_while_moving();
    assert!(seen > 30, "a moving car was drawn at {seen} positions in a second");

    browser.open_page("fleet");
    browser.wait_for_text("table", "Hall call, floor 4 up");
    browser.wait_for_text("table", "✓ promised");
    browser.open_page("bank");
    browser.wait_for(&format!("{button}[aria-pressed=false]"));
    browser.open_page("events");
    browser.wait_for_text(".events", "Hall call, floor 4 up: served by");
}

#[test]
fn an_address_may_bring_a_token_along() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    assert_eq!(browser.evaluate("return location.hash"), "#/bank");
    browser.click("[data-call=hall-3-down]");
    browser.wait_for("[data-call=hall-3-down][aria-pressed=true]");
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
    building.panel("B").send("fault motor stuck").expect("taken");
    building.press("B", Button::Car(building.floor(5)));
    building.exit("B");
    browser.wait_for_text(".panel.hang", "Car B hung");
    browser.wait_for_text(".panel.hang", "Help the passengers");
    browser.open_page("bank");
    browser.wait_for_text(".banner.alarm", "Car B hung");
    browser.wait_for_text(".column.hung", "Hung");
    browser.open_page("events");
    let token = serde_json::json!(token(&building, "A"));
    browser.evaluate(&format!("sessionStorage.setItem('liftmesh-token', {token})"));
    browser.click(".panel.hang button.danger");
    browser.wait_for("dialog input[name=operator]");
    browser.write("dialog input[name=operator]", "J. Kovac");
    browser.write("dialog input[name=reason]", "brake replaced");
    browser.click("dialog button[type=submit]");
    // The latch is on the computer of B: node A can't clear it, and the page says so.
    browser.wait_for_text(".notices .alarm", "Clearing the hang of B");
    building.panel("B").send("fault motor ok").expect("taken");
    building.clear_hang("B");
    building.start("B");
    browser.wait_until_gone(".panel.hang");
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
fn a_car_is_never_drawn_where_it_can_not_be() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [0, 0.5, 1, 60].map((age) => \
         estimate({ position: 2.4, speed: 0.5, floor: 2 }, age)))",
    );
    assert_eq!(drawn, serde_json::json!([2.4, 2.65, 2.9, 2.9]));
    let drawn = browser.evaluate(
        "return import('/assets/motion.js').then(({ estimate }) => [\
         estimate({ position: 2.2, speed: -0.5, floor: 3 }, 1), \
         estimate({ position: 2.9, speed: 0.5, floor: 2 }, 1), \
         estimate({ position: null, speed: 0, floor: null }, 1)])",
    );
    assert_eq!(drawn, serde_json::json!([2.02, 2.98, null]));
    let doors = browser.evaluate(
        "return import('/assets/motion.js').then(({ Motion }) => {
            const motion = new Motion();
            motion.update({ position: 2, speed: 0, floor: 2, door: 'open' }, 0);
            motion.advance(0);
            const before = motion.door;
            motion.update({ position: 2.1, speed: 0.5, floor: 2, door: 'closed' }, 20);
            motion.advance(20);
            return [before, motion.door];
        })",
    );
    assert_eq!(doors, serde_json::json!([1, 0]), "no car moves with its door open");
}

#[test]
fn the_first_paint_is_quick_and_small() {
    let Some((building, browser)) = building() else { return };
    let paints: Vec<_> = (0..5).map(|_| browser.first_paint(&panel(&building, 1))).collect();
    let quickest = paints.iter().map(|(time, _)| *time).min().expect("a paint");
    let bytes = paints.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    println!("first paint after {quickest:?} of {paints:?}, {bytes} bytes");
    assert!(quickest < FIRST_PAINT, "{paints:?}");
    assert!((1_000.0..MOST_BYTES).contains(&bytes), "{paints:?}");
}

#[test]
fn screenshots() {
    let Ok(directory) = std::env::var("LIFTMESH_SHOTS") else {
        println!("no pictures: LIFTMESH_SHOTS names no directory");
        return;
    };
    let building = Building::with_cars(6, Line::Serial, &["A", "B", "C"]);
    for look in Look::ALL {
        let Some(browser) = browser(look) else { return };
        for (name, floor) in [("A", 4), ("B", 1), ("C", 5)] {
            building.press(name, Button::Car(building.floor(floor)));
            let direction = if floor == 5 { Direction::Down } else { Direction::Up };
            building.press(name, Button::Hall(building.floor(floor), direction));
        }
        browser.open(&panel(&building, 1));
        browser.wait_for(".light.live");
        for page in ["bank", "fleet", "events"] {
            browser.open_page(page);
            std::thread::sleep(Duration::from_millis(700));
            let path = format!("{directory}/{page}-{}.png", look.name());
            std::fs::write(&path, browser.screenshot()).expect("a picture");
            println!("{path}");
        }
    }
}
