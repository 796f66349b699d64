//! A recording of every call, through the deaths of nodes and of the recorder.

use std::collections::BTreeMap;
use std::fs::{File, read_to_string};
use std::io::Write;
use std::path::Path;

use elevator_driver::{Button, Direction};
use liftmesh_harness::Process;
use liftmesh_harness::building::{Building, Line};

use super::command_line::liftmesh;
use super::http::client::serving;

/// Starts a recording by the node with this number.
fn start(building: &Building, out: &Path, node: u8) -> Process {
    let mut command = liftmesh(&["record", "--url"]);
    command.arg(format!("http://{}", serving(building, node))).arg("--out").arg(out);
    Process::start("the recorder", command, building.path("recorder.log")).expect("it starts")
}

/// How often each call was recorded as served: its kind, floor, direction and, in a car, the car.
fn rows(out: &Path) -> BTreeMap<String, usize> {
    let text = read_to_string(out).unwrap_or_default();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().unwrap_or_default();
    let mut rows = BTreeMap::new();
    for row in lines.filter(|row| row.len() == head.len()) {
        let cell = |name: &str| row[head.iter().position(|cell| *cell == name).expect(name)];
        let car = if cell("kind") == "car" { cell("car") } else { "" };
        assert!(cell("placed") < cell("served") && !cell("car").is_empty(), "{row:?}");
        assert!(cell("waited").parse::<f64>().is_ok_and(|waited| waited > 0.0), "{row:?}");
        *rows
            .entry([cell("kind"), cell("floor"), cell("direction"), car].join(" "))
            .or_default() += 1;
    }
    rows
}

/// The followed node is killed while calls are open, then the recorder, and then the next node: each
/// press is recorded once. What the last node has kept makes the same rows.
#[test]
fn every_press_is_recorded_once() {
    let mut building = Building::without_parking(12, Line::Serial, &["A", "B", "C"]);
    let (out, log) = (building.path("calls.csv"), building.path("recorder.log"));
    let mut pressed = BTreeMap::new();
    // Each call is for a floor where no car stands.
    let mut press = |building: &Building, at: &str, button: Button| {
        let call = match button {
            Button::Hall(floor, direction) => format!("hall {floor} {direction} "),
            Button::Car(floor) => format!("car {floor}  {at}"),
            _ => panic!("{button:?}"),
        };
        pressed.insert(call, 1);
        building.press(at, button);
        building.wait_lit(&[at], button);
        pressed.clone()
    };
    let follows = |building: &Building, node: &str| {
        let line = format!("following node {node}\n");
        building.wait(&line, |_| read_to_string(&log).is_ok_and(|log| log.ends_with(&line)));
    };
    let recorder = start(&building, &out, 1);
    follows(&building, "A");
    press(&building, "A", building.hall(8, Direction::Down));
    let served = press(&building, "B", building.car_call(2));
    building.wait("the first are recorded", |_| rows(&out) == served);
    press(&building, "B", building.hall(3, Direction::Up));
    press(&building, "C", building.car_call(4));
    building.kill("A");
    press(&building, "B", building.hall(1, Direction::Up));
    follows(&building, "B");
    let served = press(&building, "C", building.hall(6, Direction::Down));
    building.wait("no call is missed with the node", |_| rows(&out) == served);

    press(&building, "C", building.car_call(9));
    recorder.kill();
    // As if it had been killed in the middle of a row.
    let mut file = File::options().append(true).open(&out).expect("the recording");
    file.write_all(b"0123456789abcdef:7,hall,").expect("written");
    let unseen = building.hall(5, Direction::Down);
    press(&building, "B", unseen);
    building.wait_dark(&["B", "C"], unseen);
    let recorder = start(&building, &out, 2);
    let served = press(&building, "B", building.car_call(7));
    building.wait("no call is missed with the recorder", |_| rows(&out) == served);
    press(&building, "C", building.hall(10, Direction::Down));
    building.kill("B");
    let served = press(&building, "C", building.car_call(11));
    building.wait("C tells the rest", |_| rows(&out) == served);

    let again = building.path("again.csv");
    let node = format!("http://{}", serving(&building, 3));
    let words = ["record", "--once", "--url", &node, "--out", again.to_str().expect("a path")];
    let output = liftmesh(&words).output().expect("it runs");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(rows(&again), served);
    drop(recorder);
    building.assert_safe();
}
