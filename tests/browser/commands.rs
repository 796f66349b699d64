//! What an operator commands from the page Bank, and how the page shows it.

use elevator_driver::Button;
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::node::Status;
use liftmesh_harness::building::Building;
use serde_json::json;

use super::browser::Browser;
use super::{building, panel, shot, token};

/// Chromium's code of the key, as its driver has it.
const ENTER: &str = "\u{E007}";

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

/// What the API of the node that serves the page says: the value of an expression with `it`.
fn wait_for_api(browser: &Browser, path: &str, expression: &str) {
    let script = format!(
        "return fetch('/api/v1/{path}').then((answer) => answer.json()).then((it) => {expression})"
    );
    browser.wait(&format!("{expression} in {path}"), &script);
}

fn priority_of(car: &str, status: &Status) -> Option<u8> {
    let call = status.priority(&NodeId::new(car).expect("a name"))?;
    Some(call.floor.index())
}

fn mode(building: &Building, name: &str) -> Option<Mode> {
    building.status(name)?.car.map(|car| car.view.mode)
}

/// Whether that is so by the status of every node.
fn is_known(building: &Building, is_so: impl Fn(&Status) -> bool) -> bool {
    ["A", "B", "C"].iter().all(|name| building.status(name).is_some_and(|status| is_so(&status)))
}

/// Of other nodes' cars as well, whose beacons say that they are independent.
#[test]
fn a_car_that_was_sent_is_shown_as_such() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 3), token(&building, "C")));
    browser.wait_for(".light.live");
    let command = |command: serde_json::Value| {
        let body = json!({ "command": command, "operator": "J. Kovac", "reason": "a stretcher" });
        send(&browser, "POST", "commands", &body);
    };
    command(json!({ "kind": "priority", "car": "A", "floor": 5 }));
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
    command(json!({ "kind": "priority", "car": "C", "floor": 4 }));
    browser.wait_for_text("button[data-mode-of=C]", "Priority");
    is_well("C");
    command(json!({ "kind": "priority", "car": "C", "floor": null }));
    browser.wait_for_text("button[data-mode-of=C]", "In service");
    command(json!({ "kind": "mode", "car": "C", "mode": "independent" }));
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

/// Both begin and end by buttons of the page, and every node has them.
#[test]
fn an_operator_sends_a_car_and_commands_emergency_power() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    browser.wait_for(".light.live");
    browser.click("button.priority");
    browser.write("dialog select[name=car]", "B");
    browser.write("dialog select[name=floor]", "5");
    browser.write("dialog input[name=operator]", "J. Kovac");
    browser.write("dialog input[name=reason]", "a stretcher");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".notices", "Car B goes to floor 5 with priority");
    wait_for_api(&browser, "cars", "it.find(({ car }) => car === 'B').priority === 5");
    building.wait("every node knows of the priority call", |building| {
        is_known(building, |status| priority_of("B", status) == Some(5))
    });
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::Priority));
    browser.wait_for_text("button[data-mode-of=B]", "Priority");

    browser.click("button.priority");
    browser.write("dialog select[name=car]", "B");
    browser.wait_for("dialog select[name=floor] option[value='']");
    browser.write("dialog select[name=floor]", "None");
    browser.write("dialog input[name=reason]", "not needed");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".notices", "The priority call of B has ended");
    wait_for_api(&browser, "cars", "it.find(({ car }) => car === 'B').priority === null");
    building.wait("the priority call is over", |building| {
        is_known(building, |status| priority_of("B", status).is_none())
            && mode(building, "B") == Some(Mode::InService)
    });

    browser.click("button.power");
    browser.write("dialog input[name=reason]", "the mains are out");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text(".banner.power", "'s turn");
    wait_for_api(&browser, "fleet", "it.emergency_power && it.turn !== null");
    building.wait("every node knows of it", |building| {
        is_known(building, Status::is_on_emergency_power)
    });
    browser.click(".banner.power button");
    browser.write("dialog input[name=reason]", "the mains are back");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_until_gone(".banner.power");
    wait_for_api(&browser, "fleet", "!it.emergency_power && it.turn === null");
    building.wait("every car has its own mode again", |building| {
        let names = ["A", "B", "C"];
        is_known(building, |status| !status.is_on_emergency_power())
            && names.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
}

#[test]
fn the_page_audit_says_who_took_a_car_out_and_why() {
    let Some((building, browser)) = building() else { return };
    let words = ["mode", "B", "out-of-service", "--operator", "J. Kovac", "--reason", "new carpet"];
    assert!(building.operator("A", &words).output().expect("it runs").status.success());
    browser.open(&panel(&building, 1));
    browser.open_page("audit");
    browser.write("dialog input[name=token]", &token(&building, "A"));
    browser.click("dialog button[type=submit]");
    let row = ".audit tbody tr";
    for part in ["Mode of car B: out of service", "J. Kovac (uid ", "new carpet"] {
        browser.wait_for_text(row, part);
    }
    browser.wait_for_text(row, "Token browser created");
    browser.write(".audit input[name=car]", "b");
    browser.wait("B's alone", &format!("return document.querySelectorAll('{row}').length === 1"));
    shot(&browser, "audit");
}

/// O1: by the keyboard alone.
#[test]
fn an_operator_sets_modes_and_a_fire_recall() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    let button = "button[data-mode-of=B]";
    browser.wait_for_text(button, "In service");
    browser.write(button, ENTER);
    browser.wait_for("dialog input[value=in-service]:checked");
    let offered = browser.evaluate(
        "return [...document.querySelectorAll('dialog input[name=mode]')].map((one) => one.value)",
    );
    let names = Mode::ALL.map(|mode| mode.to_string());
    assert_eq!(offered, json!(names));
    shot(&browser, "mode");
    browser.write("dialog input[value=independent]", " ");
    browser.wait_for("dialog input[value=independent]:checked");
    browser.write("dialog input[name=operator]", "J. Kovac");
    browser.write("dialog input[name=reason]", "new carpet");
    browser.write("dialog button[type=submit]", ENTER);
    browser.wait_for_text(button, "Independent");
    browser.wait_for_text(".notices", "Car B: independent");
    assert_eq!(mode(&building, "B"), Some(Mode::Independent));

    browser.write("button.recall", ENTER);
    assert_eq!(
        browser.evaluate("return document.querySelector('dialog input[name=operator]').value"),
        "J. Kovac"
    );
    browser.write("dialog input[name=reason]", "alarm on floor 3");
    shot(&browser, "recall");
    browser.write("dialog .confirm input", " ");
    browser.write("dialog button[type=submit]", ENTER);
    browser.wait_for_text(".banner.alarm", "Fire recall");
    building.wait("every car is recalled", |building| {
        ["A", "B", "C"].iter().all(|name| mode(building, name) == Some(Mode::FireRecall))
    });
    shot(&browser, "recalled");
    browser.click(".banner.alarm button");
    browser.write("dialog input[name=reason]", "all clear");
    browser.click("dialog .confirm input");
    browser.click("dialog button[type=submit]");
    browser.wait_for_text("button[data-mode-of=A]", "In service");
    building.wait("B has its own mode again", |building| {
        mode(building, "B") == Some(Mode::Independent)
    });
}

/// O1: by the keyboard alone.
#[test]
fn an_operator_locks_a_floor_and_unlocks_it() {
    let Some((building, browser)) = building() else { return };
    browser.open(&format!("{}#token={}", panel(&building, 1), token(&building, "A")));
    let set = |how: &str| {
        browser.wait_for("button.lock");
        browser.write("button.lock", ENTER);
        browser.wait_for("dialog select[name=floor]");
        browser.write("dialog select[name=floor]", "3");
        browser.write(&format!("dialog input[name=locked][value={how}]"), " ");
        browser.write("dialog input[name=operator]", "J. Kovac");
        browser.write("dialog input[name=reason]", "server room");
        shot(&browser, "lock");
        browser.write("dialog button[type=submit]", ENTER);
    };
    set("yes");
    browser.wait_for("[data-locked='3']");
    building.wait("C knows", |building| {
        building.status("C").is_some_and(|it| it.access.locked == [building.floor(3)])
    });
    shot(&browser, "locked");
    set("no");
    browser.wait_until_gone("[data-locked='3']");
}
