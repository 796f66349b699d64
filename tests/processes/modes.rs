//! `liftmesh mode`, `liftmesh priority`, `liftmesh fire-recall`, `liftmesh emergency-power` and
//! `liftmesh floors`: what an operator commands at one node holds at every node, over real
//! pseudo-terminals.

use std::process::Output;

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::Mode;
use elevator_fleet::node::DirectiveStatus;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

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
    building.press("B", call);
    building.wait_dark(&TWO, call);
    assert_eq!(building.car("B").door, DoorState::Closed);

    building.kill_all(&TWO);
    for name in TWO {
        building.start(name);
    }
    building.wait("the mode is kept", |building| mode(building, "B") == Some(Mode::OutOfService));
    let page = building.operator("B", &["status"]).output().expect("it runs");
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("mode out-of-service"), "{page}");
    assert!(page.contains("mode/B"), "{page}");
    let audit = building.operator("A", &["audit"]).output().expect("it runs");
    let audit = String::from_utf8_lossy(&audit.stdout).into_owned();
    let recorded = |line: &str| {
        ["directive", "J. Kovac", "new carpet", "mode/B is out-of-service"]
            .iter()
            .all(|part| line.contains(part))
    };
    assert!(audit.lines().any(recorded), "{audit}");

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
    building
        .wait("both cars are down", |building| TWO.iter().all(|name| is_recalled(building, name)));
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
    building.press("A", call);
    building.wait_dark(&TWO, call);
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

    // People leave.
    let leaving = building.hall(3, Direction::Down);
    building.press("A", leaving);
    building.wait_dark(&TWO, leaving);
    let shown = String::from_utf8(order(&["floors", "show"]).stdout).expect("text");
    assert_eq!(shown, "locked floors: 3\ncalls refused by this node: 2\n");
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
        let turn = |directive: &DirectiveStatus| directive.key.as_str() == "emergency-power/turn";
        let status = building.status("A");
        let turn = status.and_then(|status| status.directives.into_iter().find(turn));
        is_recalled(building, "A") && turn.is_some_and(|it| it.value.as_str() == "B by A serves")
    });
    assert!(worst <= 1, "{worst} cars move at a time");
    let call = building.hall(2, Direction::Up);
    building.press("A", call);
    building.wait_dark(&TWO, call);
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
