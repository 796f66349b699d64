//! Nodes that elect by `ballot`, and a device by another hand that knows nothing but the packets.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line, PATIENCE, skip};

const THREE: [&str; 3] = ["A", "B", "C"];

/// How many lines of the device may wait; then it waits.
const QUEUE: usize = 1024;

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

/// The device, and what it has printed.
struct Indicator {
    process: Child,
    lines: Receiver<String>,
}

impl Indicator {
    /// One that listens; `None`, having said why, where there is no Python.
    fn start(port: &str) -> Option<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/processes/indicator.py");
        let spawned = Command::new("python3")
            .arg(script)
            .args(["--address", &device().to_string()])
            .args(["--broadcast", "127.255.255.255", "--port", port])
            .args(["--temperature", "21", "--illuminance", "180"])
            .stdout(Stdio::piped())
            .spawn();
        let mut process = match spawned {
            Ok(process) => process,
            Err(lack) => {
                skip(&format!("python3 is needed: {lack}"));
                return None;
            }
        };
        let output = BufReader::new(process.stdout.take().expect("piped"));
        let (sender, lines) = sync_channel(QUEUE);
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let indicator = Self { process, lines };
        indicator.until("it listens", |words| words == ["listening"]);
        Some(indicator)
    }

    /// Waits until it prints a line with such words.
    fn until(&self, what: &str, wanted: impl Fn(&[&str]) -> bool) {
        let start = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(start.elapsed());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("waited in vain until {what}"));
            let words: Vec<&str> = line.split(' ').collect();
            if wanted(&words) {
                return;
            }
        }
    }

    fn hears_control_of(&self, leader: Ipv4Addr) {
        let leader = leader.to_string();
        self.until("the leader's control packet", |words| words == ["control", leader.as_str()]);
    }
}

impl Drop for Indicator {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

/// C1, C4, V1 to V3, V8, V9, V11, V12: every master receives its readings, and it shows what that one sends.
#[test]
fn a_device_by_another_hand_answers_whoever_leads_and_shows_temperature_and_time() {
    let port = free_port();
    let Some(indicator) = Indicator::start(&port) else {
        return;
    };
    let mut building = Building::new(4, Line::Serial);
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
        let address = building.status(leader).expect("a status").address;
        indicator.hears_control_of(address);
        building.wait("its answers are taken", |building| answers(building, leader) > 0);
        // The average of the living cabins, which read 25, and of the device, which reads 21.
        let average = match building.running().count() {
            3 => ["24.0", "24"],
            _ => ["23.7", "24"],
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.expect("after 1970").as_secs();
        indicator.until("temperature and time", |words| {
            let [_, text, number, seconds, _brightness] = words else {
                return false;
            };
            let shown: u64 = seconds.parse().expect("seconds");
            [*text, *number] == average && shown.abs_diff(now) < 3600
        });
        building.kill(leader);
    }
}
