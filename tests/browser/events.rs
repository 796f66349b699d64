//! The page Events, and the timeline of what has happened.

use std::time::Duration;

use elevator_driver::{Button, Direction};

use super::{building, panel, token};

#[test]
fn events_are_filtered_by_car_kind_and_severity() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.click("button[data-mode-of=B]");
    browser.write("dialog input[value=independent]", " ");
    browser.write("dialog input[name=operator]", "J. Kovac");
    browser.write("dialog input[name=reason]", "new carpet");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("button[data-mode-of=B]", "Independent");
    browser.open_page("events");
    browser.wait_for_text(".events", "Mode of car B: independent, by J. Kovac");
    let choose = |place: usize, value: &str| {
        browser.evaluate(&format!(
            "const select = document.querySelectorAll('.filters select')[{place}];
             select.value = '{value}';
             select.dispatchEvent(new Event('change', {{ bubbles: true }}));"
        ));
    };
    let wait_until_all_have = |css: &str, text: &str| {
        let script = format!(
            "const shown = [...document.querySelectorAll('.events {css}')];
             return shown.length > 0 && shown.every((one) => one.innerText.trim() === '{text}')"
        );
        browser.wait(&format!("only {text:?} in {css}"), &script);
    };
    choose(0, "B");
    wait_until_all_have(".about", "B");
    browser.wait_for_text(".events", "Mode of car B: independent");
    choose(0, "");
    choose(1, "setting");
    wait_until_all_have(".kind", "setting");
    choose(1, "");
    choose(2, "alarm");
    browser.wait_for_text(".panel .empty", "No event matches the filters.");
    choose(2, "notice");
    browser.wait_for(".events li.notice");
    browser.wait_until_gone(".events li.routine");
}

#[test]
fn events_from_before_the_page_was_opened_are_shown() {
    let Some((building, browser)) = building() else { return };
    let up = Button::Hall(building.floor(4), Direction::Up);
    building.serve("A", &["A", "B", "C"], up);
    browser.open(&format!("{}#/events", panel(&building, 1)));
    browser.wait_for_text(".events", "Hall call, floor 4 up: served by");
    browser.wait_for_text(".events", "In service");
}

/// What the node remembers is there when the page is opened, and says when the master began to lead.
#[test]
fn failovers_from_before_the_page_was_opened_are_on_the_timeline() {
    let Some((mut building, browser)) = building() else { return };
    building.kill("A");
    building.wait_for_master("B");
    browser.open(&format!("{}#/fleet", panel(&building, 2)));
    browser.wait_for(".timeline .failover");
    browser.wait_for_text(".changes li", "B is the master");
    browser.wait_for(".timeline rect.lost");
    let since = || {
        let text = browser.evaluate("return document.querySelector('.facts dd.dim').innerText");
        let text = text.as_str().expect("a text").to_owned();
        let time: jiff::civil::Time =
            text.strip_prefix("since ").and_then(|time| time.parse().ok()).expect("a time");
        (text, time)
    };
    let (first, then) = since();
    browser.open("about:blank");
    std::thread::sleep(Duration::from_millis(2_100));
    browser.open(&format!("{}#/fleet", panel(&building, 2)));
    browser.wait_for(".timeline");
    // The node's clock may pass a second between what it says once and again.
    let (again, now) = since();
    let apart = (now - then).total(jiff::Unit::Second).expect("a time").abs();
    assert!(apart <= 1.0, "whenever the page was opened: {first} and {again}");
}
