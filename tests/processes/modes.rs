//! `liftmesh mode`, `liftmesh priority`, `liftmesh fire-recall`, `liftmesh emergency-power` and
//! `liftmesh floors`: what an operator commands at one node holds at every node, over real
//! pseudo-terminals.

use std::process::Output;
use std::time::Duration;

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::{Mode, NodeId};
use elevator_fleet::settings::{Setting, Turn};
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];
const THREE: [&str; 3] = ["A", "B", "C"];

fn command(building: &Building, at: &str, words: &[&str]) -> Output {
    let who = ["--operator", "J. Kovac", "--reason", "new carpet"];
    building.operator(at, &[words, &who].concat()).output().expect("it runs")
}

fn done(building: &Building, at: &str, words: &[&str]) -> String {
    let output = command(building, at, words);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn mode(building: &Building, name: &str) -> Option<Mode> {
    building.status(name)?.car.map(|car| car.view.mode)
}

fn is_recalled(building: &Building, name: &str) -> bool {
    let car = building.car(name);
    car.door == DoorState::Open && car.floor == Some(building.floor(0))
}

/// O1, F13: the command at one node is for the car of the other; it is kept through a restart of all.
#[test]
fn a_mode_set_at_one_node_holds_for_the_car_of_another() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    let said = done(&building, "A", &["mode", "B", "out-of-service"]);
    assert_eq!(said, "mode of B set to out-of-service\n");
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::OutOfService));

    let call = building.hall(2, Direction::Up);
    building.serve("B", &TWO, call);
    assert_eq!(building.car("B").door, DoorState::Closed);

    let is_audited = |building: &Building| {
        TWO.iter().all(|name| {
            let audit = building.operator(name, &["audit"]).output().expect("it runs");
            let parts = ["setting", "J. Kovac", "new carpet", "mode/B is out-of-service"];
            let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
            audit.lines().any(|line| parts.iter().all(|part| line.contains(part)))
        })
    };
    building.wait("both nodes have audited who did it, and why", is_audited);

    building.kill_all(&TWO);
    for name in TWO {
        building.start(name);
    }
    building.wait("the mode is kept", |building| mode(building, "B") == Some(Mode::OutOfService));
    let page = building.operator("B", &["status"]).output().expect("it runs");
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("mode out-of-service"), "{page}");
    assert!(page.contains("mode/B"), "{page}");
    assert!(is_audited(&building), "it stays in the log");

    done(&building, "B", &["mode", "B", "in-service"]);
    building.wait("B is back", |building| mode(building, "B") == Some(Mode::InService));
    let refused = command(&building, "A", &["mode", "Z", "independent"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = command(&building, "A", &["mode", "B", "haunted"]);
    assert_eq!(refused.status.code(), Some(2));
    building.assert_safe();
}

/// ASME A17.1 Phase I: it outlives a restart of every node.
#[test]
fn a_fire_recall_brings_every_car_down_until_it_is_ended() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    let up = building.car_call(3);
    building.press("B", up);
    building.wait("B moves", |building| building.car("B").speed > 1.0);
    done(&building, "A", &["fire-recall", "start"]);
    let mut opened = Vec::new();
    building.wait("both cars are down", |building| {
        let opening = building.car("B").opening;
        opened.extend(opening.map(|opening| opening.floor.index()));
        TWO.iter().all(|name| is_recalled(building, name))
    });
    assert!(opened.iter().all(|floor| *floor == 0), "B opened on its way: {opened:?}");
    building.wait_all_dark();
    building.kill_all(&TWO);
    for name in TWO {
        building.start(name);
    }
    building.wait("both know", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::FireRecall))
    });
    let call = building.hall(2, Direction::Up);
    building.press("A", call);
    let order = building.operator("A", &["order", "hall", "2", "up"]).output().expect("it runs");
    assert_eq!(order.status.code(), Some(1), "{order:?}");
    building
        .wait("both doors are open", |building| TWO.iter().all(|name| is_recalled(building, name)));

    done(&building, "B", &["fire-recall", "end"]);
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    building.serve("A", &TWO, call);
    building.assert_safe();
}

/// What a command shows of the whole fleet at a node.
fn fleet_page(building: &Building, at: &str) -> String {
    let shown = building.operator(at, &["status", "--fleet"]).output().expect("it runs");
    String::from_utf8(shown.stdout).expect("text")
}

/// Whether a page of the whole fleet shows a car in a mode.
fn shows(page: &str, car: &str, mode: &str) -> bool {
    let cars = page.split("\nCars\n").nth(1).unwrap_or_default();
    let row = cars.lines().find(|line| line.trim_start().starts_with(&format!("{car} ")));
    row.is_some_and(|row| row.contains(&format!("  {mode}  ")))
}

fn turn_key(building: &Building, name: &str, to: &str) {
    building.panel(name).send(&format!("key {to}")).expect("a key");
}

/// O1, S1: what the key switch at a panel is turned to, the car does, and every node shows.
#[test]
fn a_key_turned_at_a_panel_is_obeyed_and_shown_everywhere() {
    let building = Building::without_parking(4, Line::Serial, &TWO);
    turn_key(&building, "B", "independent");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "independent"));
    building.wait("the door waits", |it| it.car("B").door == DoorState::Open);
    let (up, call) = (building.hall(1, Direction::Up), building.car_call(2));
    building.press("B", up);
    building.wait("the hall call is for the other car", |it| is_open_at(it, "A", 1));
    building.wait_dark(&TWO, up);
    assert!(is_open_at(&building, "B", 0), "it waits for a car call");
    building.press("B", call);
    building.wait("it goes there", |building| is_open_at(building, "B", 2));

    turn_key(&building, "B", "out");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "out-of-service"));
    building.wait("its door closes", |it| it.car("B").door == DoorState::Closed);
    // ASME A17.1: a car that a mechanic has is not recalled.
    done(&building, "A", &["fire-recall", "start"]);
    building.wait("A is recalled", |building| is_recalled(building, "A"));
    assert_eq!(building.car("B").floor, Some(building.floor(2)));
    done(&building, "A", &["fire-recall", "end"]);

    turn_key(&building, "B", "fire");
    building.wait("it is recalled, alone", |building| is_recalled(building, "B"));
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "fire-recall"));
    let up = building.hall(2, Direction::Up);
    building.serve("A", &TWO, up);
    assert!(is_recalled(&building, "B"));
    turn_key(&building, "B", "normal");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "in-service"));
    building.assert_safe();
}

/// The commands in the audit log of a node: who, at which node, what, and why.
fn commands(building: &Building, name: &str) -> Vec<[String; 5]> {
    let shown = building.operator(name, &["audit", "--json"]).output().expect("it runs");
    assert_eq!(shown.status.code(), Some(0), "{shown:?}");
    let shown = String::from_utf8(shown.stdout).expect("text");
    let records = shown.lines().map(|line| serde_json::from_str(line).expect("JSON"));
    let commands = records.filter(|record: &serde_json::Value| record["kind"] == "setting");
    let word = |field: &serde_json::Value| field.as_str().unwrap_or_default().to_owned();
    let fields = ["operator", "entered_at", "key", "value", "reason"];
    commands.map(|command| fields.map(|field| word(&command[field]))).collect()
}

/// A command that came over the mesh is audited as well: once, whatever is restarted.
#[test]
fn a_command_is_in_the_audit_log_of_every_node() {
    let mut building = Building::with_cars(4, Line::Serial, &THREE);
    done(&building, "A", &["fire-recall", "start"]);
    let has = |building: &Building, name: &str, expected: &[[&str; 3]]| {
        let commands = commands(building, name);
        let at_a = |(command, [state, by, reason]): (&[String; 5], &[&str; 3])| {
            let [operator, entered_at, key, value, why] = command;
            let is_recall = key.starts_with("fire-recall/") && value == &format!("{state} 1");
            is_recall && operator == "J. Kovac" && entered_at == by && why == reason
        };
        commands.len() == expected.len() && commands.iter().zip(expected).all(at_a)
    };
    let on_all = |building: &Building, expected: &[[&str; 3]]| {
        THREE.iter().all(|name| has(building, name, expected))
    };
    let start = ["on", "A", "new carpet"];
    building.wait("it is audited", |building| on_all(building, &[start]));
    building.kill("C");
    building.start("C");
    building.wait("C is back", |building| mode(building, "C") == Some(Mode::FireRecall));
    building.stays("once", Duration::from_secs(1), |building| on_all(building, &[start]));
    done(&building, "B", &["fire-recall", "end"]);
    let end = ["off", "B", "new carpet"];
    building.wait("the end is audited", |building| on_all(building, &[start, end]));
    let page = building.operator("C", &["audit"]).output().expect("it runs");
    let page = String::from_utf8(page.stdout).expect("text");
    assert!(page.contains("  J. Kovac  at node A  "), "{page}");

    let refused = command(&building, "A", &["fire-recall", "end"]);
    let why = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{why}");
    assert!(why.contains("end it at a node that shows it"), "{why}");
    assert!(on_all(&building, &[start, end]), "a refusal is not audited");
    building.assert_safe();
}

/// Nobody gives a name at a key switch, but a turn of it is audited all the same, once.
#[test]
fn a_turn_of_a_key_is_in_the_audit_log_of_every_node() {
    let mut building = Building::without_parking(4, Line::Serial, &TWO);
    turn_key(&building, "B", "independent");
    let mut expected = vec!["independent"];
    let has = |building: &Building, expected: &[&str]| {
        let turns = expected.iter().map(|to| ["key switch", "B", "key/B", to, ""]);
        let turns: Vec<_> = turns.collect();
        TWO.iter().all(|name| commands(building, name) == turns)
    };
    building.wait("it is audited", |it| has(it, &expected));
    for is_killed in [true, false] {
        if is_killed {
            building.kill("B");
        } else {
            building.stop("B");
        }
        building.start("B");
        building.wait("B is back", |it| mode(it, "B") == Some(Mode::Independent));
        building.stays("a restart is no turn", Duration::from_secs(1), |it| has(it, &expected));
    }
    building.stop("B");
    turn_key(&building, "B", "out");
    building.start("B");
    // Before the node has its journal, the command would open that.
    building.wait("B is back", |it| mode(it, "B") == Some(Mode::OutOfService));
    expected.push("out of service");
    building.wait("a turn in its absence is on record", |it| has(it, &expected));
    turn_key(&building, "B", "normal");
    expected.push("normal");
    building.wait("the turn back as well", |it| has(it, &expected));
    building.assert_safe();
}

/// The switch at the main landing (ASME A17.1, phase I): every car comes down, until an operator ends
/// it. An attendant has a key as well.
#[test]
fn a_key_at_one_panel_recalls_every_car() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    turn_key(&building, "B", "recall-all");
    building.wait("both are down", |building| TWO.iter().all(|name| is_recalled(building, name)));
    turn_key(&building, "B", "normal");
    building.kill("B");
    building.start("B");
    building.wait("both know", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::FireRecall))
    });
    done(&building, "A", &["fire-recall", "end"]);
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });

    turn_key(&building, "B", "attendant");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "attendant"));
    turn_key(&building, "B", "normal");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "in-service"));
    building.assert_safe();
}

/// The whole service is at the panel: the key begins it, each press of the attendant closes the door, and
/// the key ends it.
#[test]
fn a_car_is_ridden_with_an_attendants_key() {
    let mut building = Building::without_parking(4, Line::Serial, &TWO);
    turn_key(&building, "B", "attendant");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "attendant"));
    building.wait("its door waits", |building| is_open_at(building, "B", 0));
    for floor in [2, 1] {
        let call = building.car_call(floor);
        building.press("B", call);
        building.wait("it is there", |building| is_open_at(building, "B", floor));
        building.wait_dark(&["B"], call);
    }
    // The key is where it was.
    building.kill("B");
    building.start("B");
    building.wait("its door waits again", |building| {
        mode(building, "B") == Some(Mode::Attendant) && is_open_at(building, "B", 1)
    });
    turn_key(&building, "B", "normal");
    building.wait("A shows it", |it| shows(&fleet_page(it, "A"), "B", "in-service"));
    building.wait("its door closes", |it| it.car("B").door == DoorState::Closed);
    let call = building.hall(1, Direction::Up);
    building.press("A", call);
    building.wait("B serves it", |building| is_open_at(building, "B", 1));
    building.wait_dark(&TWO, call);
    building.assert_safe();
}

/// ASME A17.1 phase I, by a key in one car while the other one is on its way up with a rider. The key
/// that stays begins no second recall, but keeps its own car.
#[test]
fn a_recall_by_key_drops_every_call_and_begins_once_a_turn() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    let (rider, hall) = (building.car_call(3), building.hall(2, Direction::Down));
    building.press("A", rider);
    building.wait("A moves", |building| building.car("A").speed > 1.0);
    building.press("A", hall);
    building.wait_lit(&TWO, hall);
    turn_key(&building, "B", "recall-all");
    let mut opened = Vec::new();
    building.wait("both cars are down", |building| {
        for name in TWO {
            opened.extend(building.car(name).opening.map(|opening| opening.floor.index()));
        }
        TWO.iter().all(|name| is_recalled(building, name))
    });
    assert!(opened.iter().all(|floor| *floor == 0), "one opened on its way: {opened:?}");
    building.wait_all_dark();

    let is_recall = |building: &Building| fleet_page(building, "A").contains("fire recall of all");
    assert!(is_recall(&building));
    done(&building, "A", &["fire-recall", "end"]);
    building.wait("A is back", |building| mode(building, "A") == Some(Mode::InService));
    building.kill("B");
    building.start("B");
    building.wait("B is back, and stays down", |building| {
        let page = fleet_page(building, "A");
        shows(&page, "B", "fire-recall") && is_recalled(building, "B")
    });
    building.press("A", hall);
    building.wait("A serves it", |building| is_open_at(building, "A", 2));
    building.wait_dark(&TWO, hall);
    assert!(!is_recall(&building));

    turn_key(&building, "B", "normal");
    // A contact that bounces turns no key: it has to stand there for a while.
    building.wait("the key stands there", |building| {
        let is_turn = |command: &[String; 5]| command[2..4] == ["key/B", "normal"];
        commands(building, "A").iter().any(is_turn)
    });
    turn_key(&building, "B", "recall-all");
    building.wait("both are down", |building| TWO.iter().all(|name| is_recalled(building, name)));
    assert!(is_recall(&building));
    turn_key(&building, "B", "normal");
    done(&building, "A", &["fire-recall", "end"]);
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    building.assert_safe();
}

/// ASME A17.1 Phase II by key: in a recall of the fleet it gives the car to a firefighter, also on
/// emergency power, and the end of the recall does not take it away.
#[test]
fn a_firefighter_drives_a_car_by_its_key() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    done(&building, "A", &["fire-recall", "start"]);
    building
        .wait("both cars are down", |building| TWO.iter().all(|name| is_recalled(building, name)));
    turn_key(&building, "B", "fire");
    let page = |building: &Building| fleet_page(building, "A");
    building.wait("A shows it", |it| shows(&page(it), "B", "fire-service"));
    assert!(page(&building).contains("\n  fire recall of all cars\n"), "{}", page(&building));
    let call = building.car_call(2);
    let stands = |building: &Building, floor: u8| {
        let car = building.car("B");
        car.floor == Some(building.floor(floor)) && car.speed.abs() < 0.01
    };
    building.press("B", call);
    building.wait("it is there", |building| stands(building, 2));
    assert_eq!(building.car("B").door, DoorState::Closed);

    done(&building, "A", &["emergency-power", "start", "--car", "A"]);
    building.wait("it is B's turn", |building| {
        page(building).contains("\n  emergency power, car B's turn\n")
    });
    let call = building.car_call(3);
    building.press("B", call);
    building.wait("it is there", |building| stands(building, 3));
    // Until its node knows that it stands, the button names a floor.
    building.wait("its door opens", |building| {
        if building.car("B").door == DoorState::Closed {
            building.press("B", call);
        }
        building.car("B").door == DoorState::Open
    });
    assert!(is_recalled(&building, "A"));
    done(&building, "A", &["emergency-power", "end"]);
    done(&building, "A", &["fire-recall", "end"]);
    building.wait("A is back", |building| mode(building, "A") == Some(Mode::InService));
    assert!(shows(&page(&building), "B", "fire-service"), "{}", page(&building));
    assert!(is_open_at(&building, "B", 3));
    turn_key(&building, "B", "normal");
    building.wait("it is back", |building| mode(building, "B") == Some(Mode::InService));
    building.assert_safe();
}

/// The door waits for a car call (ASME A17.1 *independent service*), by command at the other node.
#[test]
fn an_independent_car_waits_for_a_car_call() {
    let building = Building::without_parking(4, Line::Serial, &TWO);
    done(&building, "A", &["mode", "B", "independent"]);
    building.wait("its door is open", |building| is_open_at(building, "B", 0));
    for floor in [2, 1] {
        let call = building.hall(floor, Direction::Up);
        building.serve("B", &TWO, call);
        assert!(is_open_at(&building, "B", 0), "it takes no hall call, and its door waits");
    }
    let call = building.car_call(3);
    building.press("B", call);
    building.wait("it is there", |building| is_open_at(building, "B", 3));
    building.wait_dark(&TWO, call);
    done(&building, "B", &["mode", "B", "in-service"]);
    building.wait("its door closes", |it| it.car("B").door == DoorState::Closed);
    building.assert_safe();
}

/// A car that is loaded to 80 % passes hall calls by, and serves them once it has room.
#[test]
fn a_full_car_passes_a_hall_call_by() {
    let building = Building::without_parking(6, Line::Serial, &["A"]);
    building.panel("A").send("load 85").expect("a load");
    let (call, hall) = (building.car_call(5), building.hall(3, Direction::Up));
    building.press("A", call);
    building.wait_lit(&["A"], call);
    building.press("A", hall);
    building.wait_lit(&["A"], hall);
    let mut opened = Vec::new();
    building.wait("it is at the top", |building| {
        let car = building.car("A");
        opened.extend(car.opening.map(|opening| opening.floor.index()));
        is_open_at(building, "A", 5)
    });
    assert!(!opened.contains(&3), "{opened:?}");
    assert!(building.car("A").lamps.contains(&hall), "it is promised still");
    building.panel("A").send("load 20").expect("a load");
    building.wait_dark(&["A"], hall);
    building.assert_safe();
}

/// The door waits for the attendant, whose presses come in over the panel.
#[test]
fn an_attended_car_leaves_when_its_attendant_presses_a_button() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    done(&building, "B", &["mode", "A", "attendant"]);
    building.wait("its door is open", |building| building.car("A").door == DoorState::Open);
    building.wait("B knows", |building| {
        let status = building.status("B");
        let peer = status.and_then(|it| it.peers.into_iter().find(|it| it.node.as_str() == "A"));
        peer.and_then(|it| it.car).is_some_and(|car| car.mode == Mode::Attendant)
    });
    let call = building.car_call(2);
    building.press("A", call);
    building.wait("it is there, open", |building| {
        let car = building.car("A");
        car.floor == Some(building.floor(2)) && car.door == DoorState::Open
    });
    done(&building, "A", &["mode", "A", "in-service"]);
    building.wait("its door closes", |building| building.car("A").door == DoorState::Closed);
    building.assert_safe();
}

/// ASME A17.1 Phase II, commanded without the key.
#[test]
fn a_car_in_fire_service_goes_where_it_is_told_and_opens_when_it_is_told() {
    let building = Building::with_cars(4, Line::Serial, &TWO);
    done(&building, "A", &["fire-recall", "start"]);
    building
        .wait("both cars are down", |building| TWO.iter().all(|name| is_recalled(building, name)));
    done(&building, "A", &["mode", "B", "fire-service"]);
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::FireService));
    let call = building.car_call(2);
    building.press("B", call);
    building.wait("it is there", |building| {
        let car = building.car("B");
        car.floor == Some(building.floor(2)) && car.speed.abs() < 0.01
    });
    assert_eq!(building.car("B").door, DoorState::Closed);
    // Until its node knows that it stands, the button names a floor.
    building.wait("its door opens", |building| {
        if building.car("B").door == DoorState::Closed {
            building.press("B", call);
        }
        building.car("B").door == DoorState::Open
    });
    assert!(is_recalled(&building, "A"));
    done(&building, "A", &["mode", "B", "in-service"]);
    building.wait("it is recalled again", |building| is_recalled(building, "B"));
    building.assert_safe();
}

/// O1, F13: a lock at one node is against the buttons of the other car, and is kept through a restart
/// of all; a right of access passes it.
#[test]
fn a_floor_locked_at_one_node_is_locked_in_every_car() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    assert_eq!(done(&building, "A", &["floors", "lock", "3"]), "floor 3 locked\n");
    let is_locked = |building: &Building, name: &str| {
        building.status(name).is_some_and(|it| it.access.locked == [building.floor(3)])
    };
    let refused = |building: &Building, name: &str| {
        building.status(name).map_or(0, |status| status.access.refused)
    };
    building.wait("B knows", |building| is_locked(building, "B"));
    let (to_locked, free) = (building.car_call(3), building.car_call(2));
    building.press("B", to_locked);
    building.wait("it is counted", |building| refused(building, "B") == 1);
    // The later press is served, so the earlier one was handled.
    building.press("B", free);
    building.wait("B went to the free floor", |building| {
        let car = building.car("B");
        car.floor == Some(building.floor(2)) && car.door == DoorState::Open
    });
    building.wait_all_dark();

    building.kill_all(&TWO);
    for name in TWO {
        building.start(name);
    }
    building
        .wait("both know it still", |building| TWO.iter().all(|name| is_locked(building, name)));
    building.press("A", to_locked);
    building.wait("it is counted again", |building| refused(building, "A") == 1);
    let order = |words: &[&str]| building.operator("A", words).output().expect("it runs");
    let refusal = order(&["order", "car", "A", "3"]);
    let errors = String::from_utf8_lossy(&refusal.stderr).into_owned();
    assert_eq!(refusal.status.code(), Some(1), "{errors}");
    assert!(errors.contains("floor 3 is locked"), "{errors}");
    let taken = order(&["order", "car", "A", "3", "--access", "--wait", "served"]);
    assert_eq!(taken.status.code(), Some(0), "{taken:?}");
    assert_eq!(building.car("A").floor, Some(building.floor(3)));

    // A guard in A lets somebody up, in A alone.
    let released = order(&["floors", "release", "3", "--seconds", "60"]);
    assert_eq!(String::from_utf8_lossy(&released.stdout), "floor 3 released for 60 s\n");
    building.press("B", to_locked);
    building.wait("it is locked in B", |building| refused(building, "B") == 1);
    building.press("A", free);
    building.wait_all_dark();
    building.press("A", to_locked);
    building.wait("A is there", |building| building.car("A").floor == Some(building.floor(3)));
    building.wait_all_dark();
    assert_eq!(refused(&building, "A"), 2, "it is not refused");

    // People leave.
    let leaving = order(&["order", "hall", "3", "down", "--wait", "served"]);
    assert_eq!(leaving.status.code(), Some(0), "{leaving:?}");
    let shown = String::from_utf8(order(&["floors", "show"]).stdout).expect("text");
    let [locked, released, refused] = shown.lines().collect::<Vec<_>>()[..] else {
        panic!("{shown}");
    };
    assert_eq!((locked, refused), ("locked floors: 3", "calls refused by this node: 2"));
    assert!(released.starts_with("released in this car: 3 for "), "{released}");
    assert_eq!(done(&building, "B", &["floors", "unlock", "3"]), "floor 3 unlocked\n");
    building.wait("B was told", |building| !is_locked(building, "B"));
    building.press("B", to_locked);
    building.wait("B serves it", |building| building.car("B").floor == Some(building.floor(3)));
    assert_eq!(command(&building, "A", &["floors", "lock", "4"]).status.code(), Some(2));
    building.assert_safe();
}

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    car.door == DoorState::Open && car.floor == Some(building.floor(floor))
}

/// F6: a priority call, through a restart of its node, to the end of the stay by a button in the car.
#[test]
fn a_priority_call_sends_a_car_and_lets_it_go() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    let said = done(&building, "A", &["priority", "2", "--car", "B"]);
    assert_eq!(said, "car B goes to floor 2 with priority\n");
    building.wait("B obeys", |building| mode(building, "B") == Some(Mode::Priority));
    building.kill_all(&["B"]);
    building.start("B");
    building.wait("it is there", |building| is_open_at(building, "B", 2));
    let page = building.operator("A", &["status"]).output().expect("it runs");
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("priority/B"), "{page}");
    let call = building.car_call(0);
    building.press("B", call);
    building.wait("it is back", |building| mode(building, "B") == Some(Mode::InService));
    building.wait_dark(&["B"], call);

    let said = done(&building, "B", &["priority", "3"]);
    let car =
        TWO.into_iter().find(|name| said == format!("car {name} goes to floor 3 with priority\n"));
    let car = car.unwrap_or_else(|| panic!("{said}"));
    building.wait("it obeys", |building| mode(building, car) == Some(Mode::Priority));
    done(&building, "A", &["priority", "end", "--car", car]);
    building.wait("it is called off", |building| mode(building, car) == Some(Mode::InService));
    let refused = command(&building, "A", &["priority", "9"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    let refused = command(&building, "A", &["priority", "end"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    building.assert_safe();
}

/// A17.1, emergency power: one car after the other, then one serves; the command ends it.
#[test]
fn emergency_power_brings_the_cars_down_one_at_a_time() {
    let mut building = Building::with_cars(4, Line::Serial, &TWO);
    for name in TWO {
        let call = building.car_call(2);
        building.press(name, call);
        building.wait_lit(&[name], call);
    }
    building.wait_all_dark();
    done(&building, "A", &["emergency-power", "start", "--car", "B"]);
    let mut worst = 0;
    building.wait("both are down, and B serves", |building| {
        let moving = TWO.iter().filter(|name| building.car(name).speed.abs() > 0.01).count();
        worst = worst.max(moving);
        let status = building.status("A").expect("a status");
        let node = |name| NodeId::new(name).expect("a name");
        let serves = Turn::Serves { car: node("B"), master: node("A") };
        let is_given = status.settings.iter().any(|it| it.setting == Setting::Turn(serves.clone()));
        is_recalled(building, "A") && is_given
    });
    assert!(worst <= 1, "{worst} cars move at a time");
    let call = building.hall(2, Direction::Up);
    building.serve("A", &TWO, call);
    assert!(is_recalled(&building, "A"), "it stays open");
    building.kill_all(&TWO);
    for name in TWO {
        building.start(name);
    }
    building.wait("A stays down", |building| {
        mode(building, "A") == Some(Mode::EmergencyPower) && is_recalled(building, "A")
    });
    done(&building, "B", &["emergency-power", "end"]);
    building.wait("both are back", |building| {
        TWO.iter().all(|name| mode(building, name) == Some(Mode::InService))
    });
    building.assert_safe();
}
