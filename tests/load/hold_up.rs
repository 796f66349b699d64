//! A machine that has too much to do.

use std::process::Command;
use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Building, Line, Machine, Times};

const THREE: [&str; 3] = ["A", "B", "C"];

/// How long the machine is busy.
const BUSY: Duration = Duration::from_secs(10);

/// Processes that do nothing as fast as they can, until they are dropped.
fn start_hogs(building: &Building) -> Vec<Process> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let hog = |number| {
        let mut command = Command::new("sh");
        // Ends by itself even if nobody is left to end it.
        command.args(["-c", "ulimit -t 30; while :; do :; done"]);
        let log = building.path(&format!("hog-{number}.log"));
        Process::start("a hog", command, log).expect("a shell")
    };
    (0..2 * cores).map(hog).collect()
}

/// E6, N2: a node that gets little of the processor is neither taken for dead nor takes others for it.
#[test]
fn the_master_stays_the_same_while_the_machine_is_busy() {
    let _machine = Machine::alone();
    let mut building = Building::new(8, Line::Serial);
    let key = building.make_key("fleet.key");
    building.use_keys(&key);
    building.fill(&THREE);
    building.open_books();
    let node_states = |building: &Building| {
        THREE.map(|name| {
            let status = building.status(name).expect("it answers");
            (status.node_state, status.term, status.peers.len())
        })
    };
    let before = node_states(&building);
    let hogs = start_hogs(&building);
    let busy_since = Instant::now();
    let mut lit = Times::default();
    for floor in [1, 2, 3, 4, 5, 6].into_iter().cycle() {
        if busy_since.elapsed() >= BUSY {
            break;
        }
        let button = building.hall(floor, Direction::Up);
        if building.car("A").lamps.contains(&button) {
            building.wait_dark(&["A"], button);
        }
        building.press("C", button);
        let pressed = Instant::now();
        building.wait("it is lit, or a door stands open there", |building| {
            let cars = THREE.map(|name| building.car(name));
            cars.iter().all(|car| car.lamps.contains(&button))
                || cars
                    .iter()
                    .any(|car| car.door_fraction > 0.0 && car.floor == Some(building.floor(floor)))
        });
        lit.add(pressed.elapsed());
        assert_eq!(node_states(&building), before, "a false change of master");
    }
    drop(hogs);
    assert_eq!(node_states(&building), before, "a false change of master");
    let report = building.close_books();
    building.assert_safe();
    println!("{BUSY:?} on a busy machine: press to all lamps {lit}; {report:?}");
}
