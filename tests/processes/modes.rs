//! What an operator commands at one node, or somebody with the key of a panel: it holds at every
//! node, through restarts, and is in every audit log.

use std::time::Duration;

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::Mode;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];
const THREE: [&str; 3] = ["A", "B", "C"];

const WHO: [&str; 4] = ["--operator", "J. Kovac", "--reason", "new carpet"];

fn done(building: &Building, at: &str, words: &[&str]) -> String {
    building.done(at, &[words, &WHO].concat())
}

fn restart_all(building: &mut Building, names: &[&'static str]) {
    building.kill_all(names);
    for name in names {
        building.start(name);
    }
}

fn is_recalled(building: &Building, names: &[&str]) -> bool {
    names.iter().all(|name| building.is_open_at(name, 0))
}

fn wait_for_mode(building: &Building, names: &[&str], mode: Mode) {
    building.wait(&format!("{names:?} are in mode {mode}"), |building| {
        names.iter().all(|name| building.mode(name) == Some(mode))
    });
}

/// The commands in the audit log of a node: who, at which node, what, and why.
fn commands(building: &Building, name: &str) -> Vec<[String; 5]> {
    let shown = building.done(name, &["audit", "--json"]);
    let records = shown.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let commands = records.filter(|record: &serde_json::Value| record["kind"] == "setting");
    let word = |field: &serde_json::Value| field.as_str().unwrap_or_default().to_owned();
    let fields = ["operator", "entered_at", "key", "value", "reason"];
    commands.map(|command| fields.map(|field| word(&command[field]))).collect()
}

/// ASME A17.1 Phase I: it outlives a restart of every node. A command that came over the mesh is
/// audited as well: once, whatever is restarted.
#[test]
fn a_command_is_in_the_audit_log_of_every_node() {
    let mut building = Building::with_cars(4, Line::Serial, &THREE);
    building.fly("B", 3);
    done(&building, "A", &["fire-recall", "start"]);
    let mut opened = Vec::new();
    building.wait("all cars are down", |building| {
        opened.extend(building.car("B").opening.map(|opening| opening.floor.index()));
        is_recalled(building, &THREE)
    });
    assert!(opened.iter().all(|floor| *floor == 0), "B opened on its way: {opened:?}");
    building.wait_all_dark();
    let are_audited = |building: &Building, expected: &[[&str; 2]]| {
        let is_one = |(command, [state, by]): (&[String; 5], &[&str; 2])| {
            let [operator, entered_at, key, value, why] = command;
            let is_recall = key.starts_with("fire-recall/") && value == &format!("{state} 1");
            is_recall && operator == "J. Kovac" && entered_at == by && why == "new carpet"
        };
        THREE.iter().all(|name| {
            let commands = commands(building, name);
            commands.len() == expected.len() && commands.iter().zip(expected).all(is_one)
        })
    };
    building.wait("it is audited", |building| are_audited(building, &[["on", "A"]]));

    restart_all(&mut building, &THREE);
    wait_for_mode(&building, &THREE, Mode::FireRecall);
    building
        .stays("once", Duration::from_secs(1), |building| are_audited(building, &[["on", "A"]]));
    let (exit, why) = building.refusal("A", &["order", "hall", "2", "up"]);
    assert_eq!(exit, Some(1), "{why}");
    building.wait("all cars are down", |building| is_recalled(building, &THREE));

    done(&building, "B", &["fire-recall", "end"]);
    let both = [["on", "A"], ["off", "B"]];
    building.wait("the end is audited", |building| are_audited(building, &both));
    wait_for_mode(&building, &THREE, Mode::InService);
    let page = building.done("C", &["audit"]);
    assert!(page.contains("  J. Kovac  at node A  "), "{page}");
    let (exit, why) = building.refusal("A", &[&["fire-recall", "end"], &WHO[..]].concat());
    assert!(exit == Some(1) && why.contains("end it at a node that shows it"), "{why}");
    assert!(are_audited(&building, &both), "a refusal is not audited");
    building.serve("A", &THREE, building.hall(2, Direction::Up));
    building.assert_safe();
}

/// Turns a key, and waits until the page of the whole fleet at node A shows the car in a mode.
fn turn(building: &Building, name: &str, to: &str, mode: &str) {
    building.tell(name, &format!("key {to}"));
    wait_shown(building, name, mode);
}

fn wait_shown(building: &Building, name: &str, mode: &str) {
    building.wait(&format!("A shows {name} in mode {mode}"), |building| {
        let page = building.done("A", &["status", "--fleet"]);
        let cars = page.split("\nCars\n").nth(1).unwrap_or_default();
        let row = cars.lines().find(|line| line.trim_start().starts_with(&format!("{name} ")));
        row.is_some_and(|row| row.contains(&format!("  {mode}  ")))
    });
}

/// Waits until both nodes have audited these turns of B's key, and no others. Nobody gives a name
/// at a key switch.
fn wait_audited(building: &Building, turns: &[&str]) {
    let expected: Vec<_> = turns.iter().map(|to| ["key switch", "B", "key/B", to, ""]).collect();
    building.wait(&format!("{turns:?} are audited"), |building| {
        TWO.iter().all(|name| commands(building, name) == expected)
    });
}

/// O1, S1: what the key switch at a panel is turned to, the car does, and every node shows and
/// audits, also where it was turned while its node was off. A restart is no turn.
#[test]
fn a_turn_of_a_key_is_in_the_audit_log_of_every_node() {
    let mut building = Building::without_parking(4, Line::Serial, &TWO);
    turn(&building, "B", "independent", "independent");
    building.wait_open_at("B", 0);
    let hall = building.hall(1, Direction::Up);
    building.press("B", hall);
    building.wait_open_at("A", 1);
    building.wait_dark(&TWO, hall);
    assert!(building.is_open_at("B", 0), "it waits for a car call");
    building.press("B", building.car_call(2));
    building.wait_open_at("B", 2);
    wait_audited(&building, &["independent"]);

    building.kill("B");
    building.start("B");
    wait_shown(&building, "B", "independent");
    wait_audited(&building, &["independent"]);
    building.stop("B");
    building.tell("B", "key out");
    building.start("B");
    wait_shown(&building, "B", "out-of-service");
    building.wait("its door closes", |it| it.car("B").door == DoorState::Closed);
    wait_audited(&building, &["independent", "out of service"]);

    // The whole service of an attendant is at the panel: each press closes the door.
    turn(&building, "B", "attendant", "attendant");
    building.wait_open_at("B", 2);
    for floor in [3, 1] {
        let call = building.car_call(floor);
        building.press("B", call);
        building.wait_open_at("B", floor);
        building.wait_dark(&["B"], call);
    }
    turn(&building, "B", "fire", "fire-recall");
    building.wait("it is recalled, alone", |building| is_recalled(building, &["B"]));
    building.serve("A", &TWO, building.hall(2, Direction::Up));
    assert!(is_recalled(&building, &["B"]));
    turn(&building, "B", "normal", "in-service");
    building.assert_safe();
}
