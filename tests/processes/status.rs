//! What `liftmesh status` shows of trouble, with real nodes on loopback that have neither car nor
//! panel.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use elevator_driver::FloorCount;
use elevator_fleet::model::Role;
use elevator_fleet::node::{ConflictKind, FleetStatus, LossCause, Status};
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_harness::NodeCommand;
use liftmesh_harness::building::{Building, Line, PATIENCE, skip};
use serde_json::Value;

/// An empty building whose nodes elect the lowest address.
fn building() -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    building
}

/// Installs a unit whose address ends with this number, and starts it.
fn add(building: &mut Building, name: &'static str, number: u8) {
    building.install_unit(name, number, Role::Indicator);
    building.start(name);
}

/// What `liftmesh status` prints.
fn page(building: &Building, name: &str) -> String {
    let output = building.operator(name, &["status"]).output().expect("it runs");
    String::from_utf8(output.stdout).expect("text")
}

/// Waits until a node says this of itself.
fn wait(
    building: &Building,
    name: &str,
    what: &str,
    mut is_so: impl FnMut(&Status) -> bool,
) -> Status {
    let mut found = None;
    building.wait(what, |building| {
        found = building.status(name).filter(&mut is_so);
        found.is_some()
    });
    found.expect("a status")
}

/// What `liftmesh status --fleet --json` prints.
fn fleet(building: &Building, name: &str) -> FleetStatus {
    let output = building.operator(name, &["status", "--fleet", "--json"]).output();
    serde_json::from_slice(&output.expect("it runs").stdout).expect("a fleet")
}

fn peers(status: &Status) -> Vec<&str> {
    status.peers.iter().map(|peer| peer.node.as_str()).collect()
}

fn lost(status: &Status) -> Vec<&str> {
    status.lost.iter().map(|peer| peer.node.as_str()).collect()
}

fn has_conflict(status: &Status, kind: ConflictKind) -> bool {
    status.conflicts.iter().any(|conflict| conflict.kind == kind)
}

#[test]
fn a_lost_peer_is_shown_until_it_comes_back() {
    let mut building = building();
    add(&mut building, "A", 1);
    add(&mut building, "B", 2);
    wait(&building, "A", "B is a peer", |status| peers(status) == ["B"]);
    building.kill("B");
    let status = wait(&building, "A", "B is lost", |status| lost(status) == ["B"]);
    assert_eq!(status.lost[0].cause, LossCause::Silent);
    assert_eq!(status.lost[0].address, building.endpoint(2).0);
    let shown = page(&building, "A");
    assert!(shown.contains("\nLost peers\n"), "{shown}");
    assert!(shown.contains("No other node is heard"), "{shown}");
    building.start("B");
    wait(&building, "A", "B is back", |status| peers(status) == ["B"] && lost(status).is_empty());
    assert!(!page(&building, "A").contains("Lost peers"));
}

/// From any node: the same nodes, the same master, and the order that one of them took.
#[test]
fn the_whole_fleet_is_shown_from_every_node() {
    let mut building = building();
    add(&mut building, "A", 1);
    add(&mut building, "B", 2);
    add(&mut building, "C", 3);
    for name in ["A", "B", "C"] {
        wait(&building, name, "everyone is synced", |status| {
            status.peers.len() == 2 && status.peers.iter().all(|peer| peer.synced)
        });
    }
    let order = building.operator("C", &["order", "hall", "2", "up"]).output().expect("it runs");
    assert!(order.status.success(), "{order:?}");
    for name in ["A", "B", "C"] {
        building.wait("the order is everywhere", |building| {
            let seen = fleet(building, name);
            seen.orders.len() == 1 && seen.orders[0].holders == 3
        });
        let seen = fleet(&building, name);
        assert_eq!(seen.seen_by, *name);
        assert_eq!(seen.master.expect("a master"), "A");
        let nodes: Vec<_> = seen.nodes.iter().map(|node| node.node.as_str()).collect();
        assert_eq!(nodes, ["A", "B", "C"]);
        assert_eq!(seen.nodes[0].node_state, NodeState::Master);
        assert!(seen.nodes.iter().all(|node| node.role == Role::Indicator && node.synced));
    }
    building.kill("A");
    building.wait("B reports the loss", |building| {
        let seen = fleet(building, "B");
        seen.nodes.len() == 2 && seen.lost.len() == 1 && seen.lost[0].node == "A"
    });
    let output = building.operator("B", &["status", "--fleet"]).output().expect("it runs");
    let shown = String::from_utf8(output.stdout).expect("text");
    assert!(shown.starts_with("Fleet "), "{shown}");
    for part in ["\nNodes\n", "\nNo car is heard\n", "\nOpen orders\n", "\nLost peers\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(shown.contains("  hall 2 up "), "{shown}");
}

/// Whatever keeps a node that is heard from being a peer is said.
#[test]
fn a_node_that_does_not_fit_is_shown_with_the_reason() {
    type Setting = fn(&mut NodeCommand);
    let mut building = building();
    add(&mut building, "A", 1);
    let others: [(_, _, _, Setting); 4] = [
        (ConflictKind::Floors, "floors", "B", |node| {
            node.floors = FloorCount::new(9).expect("a number of floors");
        }),
        (ConflictKind::Election, "election", "C", |node| node.election = Protocol::Bully),
        (ConflictKind::Fleet, "fleet", "D", |node| node.fleet = "other".to_owned()),
        (ConflictKind::Name, "name", "E", |node| node.name = "A".to_owned()),
    ];
    for (number, (kind, shown_as, name, setting)) in (2..).zip(others) {
        building.install_unit(name, number, Role::Indicator);
        building.start_as(name, setting);
        let status = wait(&building, "A", shown_as, |status| has_conflict(status, kind));
        assert!(status.peers.is_empty(), "{status:?}");
        let shown = page(&building, "A");
        assert!(shown.contains("\nConflicts\n"), "{shown}");
        let row = shown.lines().find(|line| line.starts_with(&format!("  {shown_as} ")));
        assert!(row.is_some(), "{shown}");
        building.kill(name);
    }
}

#[test]
fn a_node_of_another_wire_version_is_shown() {
    let mut building = building();
    add(&mut building, "A", 1);
    wait(&building, "A", "A runs", |_| true);
    let ((own, _), (node, beacons)) = (building.endpoint(9), building.endpoint(1));
    let socket = UdpSocket::bind((own, 0)).expect("a socket");
    let covered = b"LM\x63\x00whatever it is";
    let check = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(covered).to_le_bytes();
    let datagram = [covered.as_slice(), &check].concat();
    let status = wait(&building, "A", "the version is shown", |status| {
        let sent = socket.send_to(&datagram, (node, beacons.port()));
        sent.is_ok() && has_conflict(status, ConflictKind::Version)
    });
    let what = &status.conflicts[0].what;
    assert!(what.contains("version 99 of the wire protocol"), "{what}");
    assert!(what.contains(&own.to_string()), "{what}");
}

/// B9: `lost` is the word of the protocol for a follower; people are told whom it follows.
#[test]
fn a_follower_under_bully_reads_as_one_that_follows() {
    let mut building = building();
    building.elect_by(Protocol::Bully);
    add(&mut building, "A", 1);
    add(&mut building, "B", 2);
    wait(&building, "A", "A follows B", |status| {
        matches!(&status.node_state, NodeState::Slave { master } if *master == "B")
            && status.election_state.iter().any(|detail| detail.value == "lost")
    });
    let shown = page(&building, "A");
    let line = shown.lines().find(|line| line.starts_with("  bully: "));
    let line = line.expect("the protocol's line");
    assert!(line.contains("follows B") && !line.contains("lost"), "{line}");
}

/// The socket for reading, with a user that is neither the node's nor root: in its group, status and
/// events can be read and no order placed; outside of it, nothing.
#[test]
fn a_group_may_read_status_and_events_and_nothing_else() {
    const READER: (u32, u32) = (54_321, 54_300);
    const STRANGER: (u32, u32) = (54_322, 54_301);
    if !rustix::process::geteuid().is_root() {
        return skip("only root can run a program as another user");
    }
    let mut building = building();
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(building.path(""), open).expect("a directory for all");
    let program = building.path("liftmesh");
    std::fs::copy(env!("CARGO_BIN_EXE_liftmesh"), &program).expect("a copy");
    let socket = building.path("read.sock");
    let socket = socket.to_str().expect("text");
    let group = READER.1.to_string();
    building.install_unit("A", 1, Role::Indicator);
    building.start_with("A", |command| {
        command.args(["--read-only-socket", socket, "--read-only-group", &group]);
    });
    wait(&building, "A", "A runs", |_| true);
    let as_user = |(uid, gid): (u32, u32), words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).uid(uid).gid(gid);
        command.current_dir("/").env_clear();
        command.output().expect("it runs")
    };
    let data_dir = building.data_dir("A");
    let data_dir = data_dir.to_str().expect("text");

    let status = as_user(READER, &["status", "--json", "--socket", socket]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
    let view: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(view["node"], "A");
    let mut events = Command::new(&program)
        .args(["events", "--json", "--kind", "peer_discovered", "--limit", "1"])
        .args(["--socket", socket])
        .uid(READER.0)
        .gid(READER.1)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Until the watch has begun nothing is seen: each new peer is another chance.
    let start = Instant::now();
    for number in 2.. {
        if events.try_wait().expect("a state").is_some() {
            break;
        }
        assert!(start.elapsed() < PATIENCE, "no event came");
        add(&mut building, format!("B{number}").leak(), number);
        wait(&building, "A", "the next peer", |status| {
            status.peers.len() + 1 == usize::from(number)
        });
    }
    let output = events.wait_with_output().expect("its output");
    let event: Value = serde_json::from_slice(&output.stdout).expect("one event");
    assert_eq!(event["event"], "peer_discovered");

    let order = ["order", "hall", "1", "up", "--data-dir", data_dir];
    assert_eq!(as_user(READER, &order).status.code(), Some(1), "no way in");
    let status = as_user(STRANGER, &["status", "--socket", socket]);
    assert_eq!(status.status.code(), Some(1), "{status:?}");
}
