//! Nodes that elect by `ballot`, and a device by another hand that knows nothing but the packets.

use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Building, Line, skip};

const THREE: [&str; 3] = ["A", "B", "C"];

/// Where the device is: no node of a building is there.
fn device() -> Ipv4Addr {
    let block = u8::try_from(std::process::id() % 200).expect("below 200");
    Ipv4Addr::new(127, 251, block, 9)
}

/// A port for packets that nobody uses.
fn free_port() -> String {
    let socket = UdpSocket::bind((device(), 0)).expect("a free port");
    let address = socket.local_addr().expect("bound");
    address.port().to_string()
}

/// How many answers of bare devices a node has taken.
fn answers(building: &Building, name: &str) -> u64 {
    let status = building.status(name).expect("a status");
    let mut details = status.election_state.iter();
    let answers = details.find(|detail| detail.name == "answers of devices");
    answers.and_then(|detail| detail.value.parse().ok()).expect("a number")
}

/// Starts the device; `None`, having said why, where there is no Python.
fn start_indicator(building: &Building, port: &str) -> Option<Process> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/processes/indicator.py");
    let mut command = Command::new("python3");
    command.arg(script).args(["--address", &device().to_string()]);
    command.args(["--broadcast", "127.255.255.255", "--port", port]);
    command.args(["--temperature", "21", "--illuminance", "180"]);
    let started = Process::start("the indicator", command, building.path("indicator.log"));
    started.inspect_err(|lack| skip(&format!("python3 is needed: {lack}"))).ok()
}

/// Waits until it has printed a line with such words.
fn wait_printed(building: &Building, what: &str, is_it: impl Fn(&[&str]) -> bool) {
    building.wait(what, |building| {
        let printed = std::fs::read_to_string(building.path("indicator.log")).expect("a log");
        printed.lines().any(|line| is_it(&line.split(' ').collect::<Vec<_>>()))
    });
}

/// C1, C4, V1 to V3, V8, V9, V11, V12: every master receives its readings, and it shows what that one sends.
#[test]
fn a_device_by_another_hand_answers_whoever_leads_and_shows_temperature_and_time() {
    let port = free_port();
    let mut building = Building::new(4, Line::Serial);
    let Some(_indicator) = start_indicator(&building, &port) else { return };
    wait_printed(&building, "it listens", |words| words == ["listening"]);
    building.elect_by(Protocol::Ballot);
    for (name, number) in THREE.iter().zip(1..) {
        building.install(name, number);
        building.tell(name, "climate 25 180");
        building.start_with(name, |command| {
            command.args(["--ballot-port", &port]);
        });
    }
    building.wait_in_service(&THREE);
    building.serve("B", &THREE, building.hall(2, Direction::Up));
    for _ in 0..2 {
        let leader = building.wait_for_one_master();
        let address = building.status(leader).expect("a status").address.to_string();
        wait_printed(&building, "it hears the leader", |words| words == ["control", &address]);
        building.wait("its answers are taken", |building| answers(building, leader) > 0);
        // The average of the living cabins, which read 25, and of the device, which reads 21.
        let average = match building.running().count() {
            3 => ["24.0", "24"],
            _ => ["23.7", "24"],
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        wait_printed(&building, "it shows temperature and time", |words| {
            let [_, text, number, seconds, _brightness] = words else {
                return false;
            };
            let shown: u64 = seconds.parse().expect("seconds");
            [*text, *number] == average && shown.abs_diff(now) < 3600
        });
        building.kill(leader);
    }
}
