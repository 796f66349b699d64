//! Buildings with named floors, where some cars don't serve every floor.

use std::fs;

use elevator_driver::{Button, Direction, Floor, Side};
use liftmesh_harness::building::{Building, Line};
use serde_json::{Value, json};

use crate::command_line::liftmesh;

/// Floors B1, G, 1 and 2; floor 1 has a rear entrance too. Only car B goes down to B1, and only B opens
/// at the rear.
const CAR_PARK: &str = r#"
floors = [
    { label = "B1", height = 0.0 },
    { label = "G", height = 3.5 },
    { label = "1", height = 7.5, doors = ["front", "rear"] },
    { label = "2", height = 10.5 },
]
cars = [
    { name = "A", serves = ["G", "1", "2"] },
    { name = "B", doors = ["front", "rear"] },
]
"#;

/// What a command says that asks the node in this data directory, and its exit code.
fn ask(building: &Building, name: &str, words: &str) -> (Option<i32>, String) {
    let mut command = liftmesh(&words.split(' ').collect::<Vec<_>>());
    let output = command.arg("--data-dir").arg(building.data_dir(name)).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// O7: labels everywhere, calls for the car that serves their floor alone, and a reason for others.
#[test]
fn a_car_park_is_served_by_its_car_and_every_interface_names_floors() {
    let mut building = Building::new(4, Line::Serial);
    let file = |building: &Building, name: &str, text: &str| {
        let path = building.data_dir("A").with_file_name(name);
        fs::write(&path, text).unwrap();
        path
    };
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
        let here = file(&building, "building.toml", CAR_PARK);
        building.start_as(name, |node| node.building = Some(here));
    }
    building.wait_for_master("A");
    building.wait_in_service(&["A", "B"]);

    building.serve("A", &["A", "B"], Button::Hall(Floor::BOTTOM, Direction::Up));
    assert!(building.is_open_at("B", 0), "B alone goes there");
    let (code, said) = ask(&building, "A", "order hall G up --wait served");
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("hall G up served by "), "{said}");
    let (code, said) = ask(&building, "A", "order car A B1");
    assert_eq!((code, said.contains("the car does not serve floor B1")), (Some(1), true), "{said}");
    let (code, said) = ask(&building, "A", "order hall 3 up");
    assert_eq!((code, said.contains("the floors are B1 G 1 2")), (Some(2), true), "{said}");
    let (code, said) = ask(&building, "A", "order hall 1 up --rear --wait served");
    assert_eq!((code, said.starts_with("hall 1 rear up served by B")), (Some(0), true), "{said}");
    assert_eq!((building.is_open_at("B", 2), building.car("B").side), (true, Side::Rear));
    building.serve("B", &["B"], Button::Car(Floor::BOTTOM));
    building.serve("B", &["B"], Button::RearCar(Floor::try_from(2).unwrap()));
    let (code, said) = ask(&building, "A", "order car A 1 --rear");
    let why = "the car does not serve floor 1 rear";
    assert_eq!((code, said.contains(why)), (Some(1), true), "{said}");
    // The node has the labels that it was started with, whatever the file says by now.
    file(&building, "edited.toml", &CAR_PARK.replace("\"G\"", "\"L\""));
    let edited = file(&building, "node.toml", "building = \"edited.toml\"\n");
    let words = format!("order hall G up --config {}", edited.display());
    let (code, said) = ask(&building, "A", &words);
    assert_eq!((code, said.starts_with("hall G up ")), (Some(0), true), "{said}");
    let (_, said) = ask(&building, "A", "status --fleet --json");
    let state: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(state["cars"][0]["lift_state"]["available_floors"], json!(["G", "1", "2"]));
    assert_eq!(state["cars"][0]["serves"], json!(["G", "1", "2"]));

    building.kill("B");
    let elsewhere = file(&building, "other.toml", &CAR_PARK.replace("7.5", "8.5"));
    building.start_as("B", |node| node.building = Some(elsewhere));
    building.wait("both name the floor that differs", |building| {
        ["A", "B"].iter().all(|name| {
            let (_, said) = ask(building, name, "status");
            said.contains("has another building than this one: floor 3 from below: 1, ")
        })
    });
    building.press("A", Button::Hall(Floor::BOTTOM, Direction::Up));
    let (code, said) = ask(&building, "A", "order hall B1 up");
    assert_eq!(code, Some(1), "nobody is assigned across the difference: {said}");
    assert!(said.contains("no car in service serves floor B1"), "{said}");
}
