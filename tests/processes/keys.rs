//! Real processes with a fleet key, and those without.

use elevator_driver::Direction;
use elevator_fleet::node::ConflictKind;
use liftmesh_harness::building::{Building, Line};

const THREE: [&str; 3] = ["A", "B", "C"];

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
            ["A", "B"].iter().all(|name| {
                let reasons = ["key", "unauthenticated", "forged", "replayed"];
                building.status(name).is_some_and(|status| {
                    let dropped = reasons.iter().filter_map(|reason| status.mesh.get(*reason));
                    dropped.sum::<u64>() >= 20
                })
            })
        });
        building.wait_in_service(&["S"]);
        building.serve("B", &["A", "B"], building.hall(3, Direction::Down));
        building.serve("S", &["S"], building.hall(2, Direction::Down));
        for name in ["A", "B", "S"] {
            let status = building.status(name).expect("a status");
            let peers: Vec<&str> = status.peers.iter().map(|peer| peer.node.as_str()).collect();
            assert!(!peers.contains(&"S") && (name != "S" || peers.is_empty()), "{peers:?}");
            let mut kinds = status.conflicts.iter().map(|conflict| conflict.kind);
            assert!(kinds.all(|kind| kind == ConflictKind::Key), "{:?}", status.conflicts);
            let shown = building.done(name, &["status", "--fleet"]);
            assert!(shown.contains("\nConflicts\n") && shown.contains(" fleet key"), "{shown}");
        }
        assert!(building.are_led_by(&["A", "B"], "A"));
        building.kill("S");
    }
}

/// The key is changed while the fleet serves, node by node in three rounds; a fleet without a key gets
/// one in the same way. At no moment is an order lost (O1); after each restart the node is a member
/// again, and no lamp stays lit.
#[test]
fn a_fleet_changes_its_key_while_it_serves() {
    let mut building = Building::with_cars(4, Line::Serial, &THREE);
    building.open_books();
    let (old, new) = (building.make_key("old.key"), building.make_key("new.key"));
    let rounds = [
        format!("none,{old}"),
        format!("{old},none"),
        old.clone(),
        format!("{old},{new}"),
        format!("{new},{old}"),
        new,
    ];
    for files in rounds {
        building.use_keys(&files);
        for (name, floor) in THREE.iter().zip([3, 2, 3]) {
            building.press(name, building.hall(floor, Direction::Down));
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
    let log = building.done("A", &["audit"]);
    let recorded: Vec<&str> = log.lines().filter(|line| line.contains("fleet-keys")).collect();
    let [.., before, last] = recorded[..] else {
        panic!("{recorded:?}");
    };
    assert!(last.contains(&format!("sends key {id}, accepts {id}")), "{last}");
    assert!(before.contains(&format!("sends key {id}, accepts {id}, ")), "{before}");
    building.close_books();
}
