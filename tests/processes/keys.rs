//! Real processes with a fleet key, and those without.

use std::fs;
use std::process::Command;

use elevator_driver::Direction;
use elevator_fleet::node::{ConflictKind, Status};
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};
use liftmesh_harness::free_port;

const THREE: [&str; 3] = ["A", "B", "C"];

/// A building whose nodes have these fleet keys.
fn with_keys(names: &[&'static str]) -> (Building, String) {
    let mut building = Building::new(4, Line::Serial);
    let key = building.make_key("fleet.key");
    building.use_keys(&key);
    building.fill(names);
    (building, key)
}

/// The records of changes of keys.
fn audit(building: &Building, name: &str) -> Vec<String> {
    let data_dir = building.data_dir(name);
    let printed = Command::new(env!("CARGO_BIN_EXE_liftmesh"))
        .arg("audit")
        .arg("--data-dir")
        .arg(data_dir)
        .output()
        .expect("the program");
    assert!(printed.status.success(), "{printed:?}");
    let text = String::from_utf8(printed.stdout).expect("text");
    text.lines().filter(|line| line.contains("fleet-keys")).map(str::to_owned).collect()
}

fn dropped(status: &Status) -> u64 {
    let reasons = ["key", "unauthenticated", "forged", "replayed"];
    reasons.iter().filter_map(|reason| status.mesh.get(*reason)).sum()
}

fn serves(building: &Building, pressed_at: &str, shown_at: &[&str], floor: u8) {
    let hall = building.hall(floor, Direction::Down);
    building.press(pressed_at, hall);
    building.wait_lit(shown_at, hall);
    building.wait_dark(shown_at, hall);
}

/// A node with the lowest address and without the key, or with another one, serves alone: nobody
/// follows it, and it follows nobody.
#[test]
fn who_does_not_have_the_fleet_key_is_no_member() {
    let mut building = Building::new(4, Line::Serial);
    let (key, other) = (building.make_key("fleet.key"), building.make_key("other.key"));
    building.use_keys(&key);
    for (name, number) in [("A", 2), ("B", 3)] {
        building.install(name, number);
        building.start(name);
    }
    building.wait_for_master_of(&["A", "B"], "A");
    building.wait_in_service(&["A", "B"]);
    building.install("S", 1);
    for files in [None, Some(other)] {
        building.start_as("S", |node| node.fleet_keys = files);
        building.wait("the stranger's beacons are dropped", |building| {
            ["A", "B"]
                .iter()
                .all(|name| building.status(name).is_some_and(|status| dropped(&status) >= 20))
        });
        building.wait_in_service(&["S"]);
        serves(&building, "B", &["A", "B"], 3);
        serves(&building, "S", &["S"], 2);
        for name in ["A", "B", "S"] {
            let status = building.status(name).expect("a status");
            let peers: Vec<&str> = status.peers.iter().map(|peer| peer.node.as_str()).collect();
            assert!(!peers.contains(&"S") && (name != "S" || peers.is_empty()), "{peers:?}");
            let mut kinds = status.conflicts.iter().map(|conflict| conflict.kind);
            assert!(kinds.all(|kind| kind == ConflictKind::Key), "{:?}", status.conflicts);
            let output = building.operator(name, &["status", "--fleet"]).output().expect("it runs");
            let shown = String::from_utf8(output.stdout).expect("text");
            assert!(shown.contains("\nConflicts\n") && shown.contains(" fleet key"), "{shown}");
        }
        assert!(building.are_led_by(&["A", "B"], "A"));
        building.kill("S");
    }
}

/// The key is changed while the fleet serves, node by node in three rounds; then a fleet without a
/// key gets one in the same way. At no moment is an order lost (O1); after each restart the node
/// is a member again, and no lamp stays lit.
#[test]
fn a_fleet_changes_its_key_while_it_serves() {
    let mut building = Building::new(4, Line::Serial);
    let (old, new) = (building.make_key("old.key"), building.make_key("new.key"));
    for old in ["none", &old] {
        building.use_keys(old);
        if building.running().count() == 0 {
            building.fill(&THREE);
        } else {
            building.kill_all(&THREE);
            for name in THREE {
                building.start(name);
            }
            building.wait_for_master("A");
            building.wait_in_service(&THREE);
        }
        building.open_books();
        for files in [format!("{old},{new}"), format!("{new},{old}"), new.clone()] {
            building.use_keys(&files);
            for (name, floor) in THREE.iter().zip([3, 2, 3]) {
                let hall = building.hall(floor, Direction::Down);
                building.press(name, hall);
                building.kill(name);
                building.start(name);
                building.wait_for_one_master_of(&THREE);
                building.wait_in_service(&THREE);
                building.wait_all_dark();
            }
        }
        let status = building.status("A").expect("a status");
        assert_eq!(status.fleet_keys.accepted.len(), 1);
        assert!(!status.fleet_keys.accepts_anybody);
        let id = status.fleet_keys.sent.expect("a key");
        let recorded = audit(&building, "A");
        let [.., before, last] = recorded.as_slice() else {
            panic!("{recorded:?}");
        };
        assert!(last.contains(&format!("sends key {id}, accepts {id}")), "{last}");
        assert!(before.contains(&format!("sends key {id}, accepts {id}, ")), "{before}");
        building.close_books();
    }
}

/// A node whose key can't be used drives its car alone, says why, and takes part as soon as it can.
#[test]
fn a_node_without_a_usable_key_serves_alone_and_says_why() {
    let (mut building, key) = with_keys(&["A"]);
    let copy = building.path("copy.key");
    let copy = copy.to_str().expect("a path").to_owned();
    building.install("B", 2);
    building.start_as("B", |node| node.fleet_keys = Some(copy.clone()));
    building.wait_in_service(&["B"]);
    let reason = |building: &Building| {
        building.status("B").and_then(|status| status.fleet_keys.missing).unwrap_or_default()
    };
    building.wait("it is told", |building| reason(building).contains("No such file"));
    serves(&building, "B", &["B"], 2);

    let chmod = |mode: &str| {
        assert!(Command::new("chmod").args([mode, &copy]).status().expect("chmod").success());
    };
    fs::write(&copy, "no key").expect("written");
    chmod("0644");
    building.wait("it is told", |building| reason(building).contains("chmod 0640"));
    chmod("0600");
    building.wait("it is told", |building| reason(building).contains("not a key"));
    fs::copy(&key, &copy).expect("copied");
    building.wait("it takes part", |building| building.are_led_by(&["A", "B"], "A"));
    assert_eq!(reason(&building), "");
    serves(&building, "B", &["A", "B"], 3);
}

/// C1: the packets of `ballot`, which have a port of their own, carry the key too.
#[test]
fn every_protocol_elects_among_those_who_have_the_key() {
    for election in Protocol::ALL {
        let mut building = Building::new(4, Line::Serial);
        building.elect_by(election);
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        // At the usual port all buildings on the machine hear each other's packets.
        let addresses = [1, 2, 3].map(|number| building.endpoint(number).0);
        let (port, held) = free_port(&addresses).expect("a free port");
        drop(held);
        let port = port.to_string();
        let packets = (election == Protocol::Ballot).then_some(["--ballot-port", port.as_str()]);
        for (name, number) in THREE.iter().zip(1..) {
            building.install(name, number);
            building.start_with(name, |command| {
                command.args(packets.iter().flatten());
            });
        }
        let master = building.wait_for_one_master();
        building.wait_in_service(&THREE);
        serves(&building, "A", &THREE, 3);
        building.kill(master);
        let rest: Vec<&str> = THREE.into_iter().filter(|name| *name != master).collect();
        building.wait_for_one_master_of(&rest);
        serves(&building, rest[0], &rest, 2);
        for name in rest {
            let status = building.status(name).expect("a status");
            assert_eq!(dropped(&status), 0, "{election}: {:?}", status.mesh);
        }
    }
}
