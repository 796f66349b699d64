//! What an operator commands from the page Bank, and how the page shows it.

use elevator_driver::Button;
use serde_json::json;

use super::browser::Browser;
use super::{building, panel, shot, token};

/// Puts a JSON document to the API of the node that serves the page.
fn send(browser: &Browser, method: &str, path: &str, body: &serde_json::Value) {
    let answer = browser.evaluate(&format!(
        "const headers = {{ authorization: `Bearer ${{sessionStorage.getItem('liftmesh-token')}}`,
                            'content-type': 'application/json' }};
         const body = JSON.stringify({body});
         return fetch('/api/v1/{path}', {{ method: '{method}', headers, body }}).then((it) => it.status)"
    ));
    assert!(answer == 200 || answer == 201, "{method} {path}: {answer}");
}

/// Of other nodes' cars as well, whose beacons say that they are independent.
#[test]
fn a_car_that_was_sent_is_shown_as_such() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 3), token(&building, "C")));
    browser.wait_for(".light.live");
    let record = |more: serde_json::Value| {
        let mut record = json!({ "operator": "J. Kovac", "reason": "a stretcher" });
        record.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("one"));
        record
    };
    send(&browser, "PUT", "priority", &record(json!({ "car": "A", "floor": 5 })));
    send(&browser, "POST", "sessions", &json!({ "car": "B", "floor": 3, "seconds": 120 }));
    browser.wait_for_text("button[data-mode-of=A]", "Priority");
    browser.wait_for_text("button[data-mode-of=B]", "With a robot");
    // Both are well.
    let is_well = |car: &str| {
        let script = format!(
            "const car = document.querySelector('section[aria-label=\"Car {car}\"]');
             return !car.matches('.off') && car.querySelector('.sign') === null
                 && !car.innerText.includes('ndependent')"
        );
        browser.wait(&format!("{car} has no sign of trouble"), &script);
    };
    is_well("A");
    is_well("B");
    browser.wait_for_text("section[aria-label='Car B'] .doing", "Door open");
    shot(&browser, "sent");
    // The same of a node's own car.
    send(&browser, "PUT", "priority", &record(json!({ "car": "C", "floor": 4 })));
    browser.wait_for_text("button[data-mode-of=C]", "Priority");
    is_well("C");
    send(&browser, "PUT", "priority", &record(json!({ "car": "C", "floor": null })));
    browser.wait_for_text("button[data-mode-of=C]", "In service");
    send(&browser, "PUT", "cars/C/mode", &record(json!({ "mode": "independent" })));
    browser.wait_for_text("button[data-mode-of=C]", "Independent");
    browser.wait_for_text("section[aria-label='Car C'].off .doing", "Independent");
}

#[test]
fn a_car_is_said_once_and_every_sign_is_explained() {
    let Some((building, browser)) = building() else { return };
    browser.open(&panel(&building, 1));
    building.panel("B").send("obstruct on").expect("taken");
    building.press("B", Button::Car(building.floor(3)));
    browser.wait_for("section[aria-label='Car B'] svg[aria-label*='door open']");
    let said = browser.attribute("section[aria-label='Car B'] svg", "aria-label").expect("a label");
    assert_eq!(said.matches("door open").count(), 1, "{said}");
    assert!(said.starts_with("Car B: at floor 3, "), "{said}");
    let sign = "return document.querySelector('.legend .mark')?.closest('span').innerText.trim()";
    assert_eq!(browser.evaluate(sign), "assigned call");
}
