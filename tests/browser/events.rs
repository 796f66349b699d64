//! The page Events, and the timeline of what has happened.

use std::time::Duration;

use elevator_driver::{Button, Direction};

use super::browser::ENTER;
use super::{THREE, operator, panel, viewer};

#[test]
fn events_are_filtered_by_car_kind_and_severity() {
    let Some((building, browser)) = operator() else { return };
    // From before the page is opened.
    building.serve("A", &THREE, Button::Hall(building.floor(4), Direction::Up));
    browser.write("button[data-mode-of=B]", ENTER);
    let who = [("input[name=operator]", "J. Kovac"), ("input[name=reason]", "new carpet")];
    browser.submit(&[&[("input[value=independent]", " ")], &who[..]].concat());
    browser.wait_for_text("button[data-mode-of=B]", "Independent");
    browser.open("about:blank");
    browser.open(&format!("{}#/events", panel(&building, 1)));
    browser.wait_for_text(".events", "Mode of car B: independent, by J. Kovac");
    browser.wait_for_text(".events", "Hall call, floor 4 up: served by");
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

/// What the node remembers is there when the page is opened, and says when the master began to lead.
#[test]
fn failovers_from_before_the_page_was_opened_are_on_the_timeline() {
    let Some((mut building, browser)) = viewer("") else { return };
    building.kill("A");
    building.wait_for_master("B");
    building.wait("B has led for a while", |building| {
        let since = building.status("B").map(|status| status.state_since);
        since > Some(Duration::from_secs(3))
    });
    browser.open("about:blank");
    browser.open(&format!("{}#/fleet", panel(&building, 2)));
    browser.wait_for(".timeline .failover");
    browser.wait_for_text(".changes li", "B is the master");
    browser.wait_for(".timeline rect.lost");
    // The node's clock may pass a second between what it says once and again.
    browser.wait(
        "the time at which B began to lead",
        "const shown = document.querySelector('.facts dd.dim').innerText;
         return fetch('/api/v1/fleet').then((it) => it.json()).then(({ at, master_since }) =>
             [-1000, 0, 1000].some((apart) => {
                 const time = new Date(Date.parse(at) - master_since * 1000 + apart);
                 return shown === `since ${time.toTimeString().slice(0, 8)}`;
             }))",
    );
}
