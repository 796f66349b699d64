//! What an operator commands from the page Bank, by the keyboard alone, and how the page shows it.

use elevator_driver::Button;
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::node::Status;
use liftmesh_harness::building::Building;
use serde_json::{Value, json};

use super::browser::{Browser, ENTER};
use super::{THREE, operator, shot, token, viewer};

const WHO: (&str, &str) = ("input[name=operator]", "J. Kovac");

/// A box that has to be checked before something grave is commanded.
const CONFIRMED: (&str, &str) = (".confirm input", " ");

fn why(reason: &'static str) -> (&'static str, &'static str) {
    ("input[name=reason]", reason)
}

/// Waits until that is so by the status of every node.
fn wait_known(building: &Building, what: &str, is_so: impl Fn(&Status) -> bool) {
    building.wait(what, |building| {
        THREE.iter().all(|name| building.status(name).is_some_and(|status| is_so(&status)))
    });
}

/// Waits until the API of the node that serves the page says so: an expression with `it`.
fn wait_for_api(browser: &Browser, path: &str, expression: &str) {
    let script = format!(
        "return fetch('/api/v1/{path}').then((answer) => answer.json()).then((it) => {expression})"
    );
    browser.wait(&format!("{expression} in {path}"), &script);
}

/// Of other nodes' cars as well, whose beacons say that they are independent.
#[test]
fn a_car_that_was_sent_is_shown_as_such() {
    let Some((_building, browser)) = operator() else { return };
    let send = |path: &str, body: Value| {
        let answer = browser.evaluate(&format!(
            "const token = sessionStorage.getItem('liftmesh-token');
             const type = 'application/json';
             const headers = {{ authorization: `Bearer ${{token}}`, 'content-type': type }};
             const request = {{ method: 'POST', headers, body: JSON.stringify({body}) }};
             return fetch('/api/v1/{path}', request).then((it) => it.status)"
        ));
        assert!(answer == 200 || answer == 201, "{path}: {answer}");
    };
    let command = |command: Value| {
        let body = json!({ "command": command, "operator": "J. Kovac", "reason": "a stretcher" });
        send("commands", body);
    };
    for (car, name) in [("B", "Priority"), ("A", "Priority")] {
        command(json!({ "kind": "priority", "car": car, "floor": "5" }));
        browser.wait_for_text(&format!("button[data-mode-of={car}]"), name);
    }
    send("sessions", json!({ "car": "C", "floor": "3", "to": "5", "seconds": 120 }));
    browser.wait_for_text("button[data-mode-of=C]", "With a robot");
    browser.wait_for_text("section[aria-label='Car C'] .doing", "Door open");
    // All are well.
    browser.wait(
        "no car has a sign of trouble",
        "return [...document.querySelectorAll('section.column.car')].every((car) =>
             !car.matches('.off') && car.querySelector('.sign') === null
             && !car.innerText.includes('ndependent'))",
    );
    browser.wait_for(".column.car .tag.robot");
    shot(&browser, "sent");
    command(json!({ "kind": "priority", "car": "A", "floor": null }));
    browser.wait_for_text("button[data-mode-of=A]", "In service");
    command(json!({ "kind": "mode", "car": "A", "mode": "independent" }));
    browser.wait_for_text("section[aria-label='Car A'].off .doing", "Independent");
    browser.open_page("fleet");
    browser.wait_for_text("table", "its car is holding the door open");
    browser.wait_for_text("table", "3, then 5");
    browser.open_page("events");
    browser.wait_for_text(".events", "car C holds its door open at floor 3");
}

#[test]
fn a_car_is_said_once_and_every_sign_is_explained() {
    let Some((building, browser)) = viewer("") else { return };
    building.tell("B", "obstruct on");
    building.press("B", Button::Car(building.floor(3)));
    browser.wait_for("section[aria-label='Car B'] svg[aria-label*='door open']");
    let said = browser.attribute("section[aria-label='Car B'] svg", "aria-label").expect("a label");
    assert_eq!(said.matches("door open").count(), 1, "{said}");
    assert!(said.starts_with("Car B: at floor 3, "), "{said}");
    let sign = "return document.querySelector('.legend .mark')?.closest('span').innerText.trim()";
    assert_eq!(browser.evaluate(sign), "assigned call");
}

/// O1: all of it begins and ends by buttons of the page, and every node has it.
#[test]
fn an_operator_locks_a_floor_sends_a_car_and_commands_emergency_power() {
    let Some((building, browser)) = operator() else { return };
    for how in ["yes", "no"] {
        browser.write("button.lock", ENTER);
        let locked = format!("input[name=locked][value={how}]");
        browser.submit(&[("select[name=floor]", "3"), (&locked, " "), WHO, why("server room")]);
        wait_known(&building, "every node knows of the lock", |status| {
            status.access.locked.contains(&building.floor(3)) == (how == "yes")
        });
    }
    browser.wait_until_gone("[data-locked='3']");

    let priority = |status: &Status| status.priority(&NodeId::new("B").expect("a name")).is_some();
    browser.write("button.priority", ENTER);
    let floor = ("select[name=floor]", "5");
    browser.submit(&[("select[name=car]", "B"), floor, why("a stretcher")]);
    browser.wait_for_text(".notices", "Car B goes to floor 5 with priority");
    wait_for_api(&browser, "cars", "it.find(({ car }) => car === 'B').priority === '5'");
    wait_known(&building, "every node knows of the priority call", priority);
    building.wait("B obeys", |building| building.mode("B") == Some(Mode::Priority));
    browser.write("button.priority", ENTER);
    browser.write("dialog select[name=car]", "B");
    browser.wait_for("dialog select[name=floor] option[value='']");
    browser.submit(&[("select[name=floor]", "None"), why("not needed")]);
    browser.wait_for_text(".notices", "The priority call of B has ended");
    wait_known(&building, "the priority call is over", |status| !priority(status));

    browser.write("button.power", ENTER);
    browser.submit(&[why("the mains are out"), CONFIRMED]);
    browser.wait_for_text(".banner.power", "'s turn");
    wait_for_api(&browser, "fleet", "it.emergency_power && it.turn !== null");
    wait_known(&building, "every node knows of it", Status::is_on_emergency_power);
    browser.write(".banner.power button", ENTER);
    browser.submit(&[why("the mains are back"), CONFIRMED]);
    browser.wait_until_gone(".banner.power");
    building.wait("every car has its own mode again", |building| {
        THREE.iter().all(|name| building.mode(name) == Some(Mode::InService))
    });
}

#[test]
fn the_page_audit_says_who_took_a_car_out_and_why() {
    let Some((building, browser)) = viewer("") else { return };
    let who = ["--operator", "J. Kovac", "--reason", "new carpet"];
    building.done("A", &[&["mode", "B", "out-of-service"], &who[..]].concat());
    browser.open_page("audit");
    browser.submit(&[("input[name=token]", &token(&building, "A"))]);
    let row = ".audit tbody tr";
    for part in ["Mode of car B: out of service", "J. Kovac (uid ", "new carpet"] {
        browser.wait_for_text(row, part);
    }
    browser.wait_for_text(row, "Token browser created");
    browser.write(".audit input[name=car]", "b");
    browser.wait("B's alone", &format!("return document.querySelectorAll('{row}').length === 1"));
    shot(&browser, "audit");
}

/// O1
#[test]
fn an_operator_sets_modes_and_a_fire_recall() {
    let Some((building, browser)) = operator() else { return };
    let button = "button[data-mode-of=B]";
    browser.wait_for_text(button, "In service");
    browser.write(button, ENTER);
    browser.wait_for("dialog input[value=in-service]:checked");
    let offered = browser.evaluate(
        "return [...document.querySelectorAll('dialog input[name=mode]')].map((one) => one.value)",
    );
    assert_eq!(offered, json!(Mode::ALL.map(|mode| mode.to_string())));
    browser.submit(&[("input[value=independent]", " "), WHO, why("new carpet")]);
    browser.wait_for_text(button, "Independent");
    browser.wait_for_text(".notices", "Car B: independent");
    assert_eq!(building.mode("B"), Some(Mode::Independent));

    browser.write("button.recall", ENTER);
    let name = "return document.querySelector('dialog input[name=operator]').value";
    assert_eq!(browser.evaluate(name), "J. Kovac");
    browser.submit(&[why("alarm on floor 3"), CONFIRMED]);
    browser.wait_for_text(".banner.alarm", "Fire recall");
    building.wait("every car is recalled", |building| {
        THREE.iter().all(|name| building.mode(name) == Some(Mode::FireRecall))
    });
    shot(&browser, "recalled");
    browser.write(".banner.alarm button", ENTER);
    browser.submit(&[why("all clear"), CONFIRMED]);
    browser.wait_for_text("button[data-mode-of=A]", "In service");
    building.wait("B has its own mode again", |it| it.mode("B") == Some(Mode::Independent));
}
