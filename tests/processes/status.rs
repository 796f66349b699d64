//! What `liftmesh status` shows of trouble, with real nodes on loopback that have neither car nor
//! panel.

use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

use elevator_driver::FloorCount;
use elevator_fleet::model::Role;
use elevator_fleet::node::{ConflictKind, LossCause, Status};
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_api::State;
use liftmesh_harness::NodeCommand;
use liftmesh_harness::building::{Building, Line, PATIENCE, skip};
use serde_json::Value;

const THREE: [&str; 3] = ["A", "B", "C"];

/// A building with these nodes, whose first has the lowest address.
fn building(election: Protocol, names: &[&'static str]) -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(election);
    for (name, number) in names.iter().zip(1..) {
        building.install_unit(name, number, Role::Indicator);
        building.start(name);
    }
    for name in names {
        wait(&building, name, "everyone is synced", |status| {
            status.peers.len() + 1 == names.len() && status.peers.iter().all(|peer| peer.synced)
        });
    }
    building
}

/// Waits until a node says this of itself.
fn wait(
    building: &Building,
    name: &str,
    what: &str,
    mut is_so: impl FnMut(&Status) -> bool,
) -> Status {
    building.wait_for(what, |building| building.status(name).filter(&mut is_so))
}

/// What a node shows of the whole fleet.
fn fleet(building: &Building, name: &str) -> State {
    let shown = building.done(name, &["status", "--fleet", "--json"]);
    serde_json::from_str(&shown).expect("a fleet")
}

/// The page of a node has a row of this kind under this heading.
#[track_caller]
fn shows(building: &Building, name: &str, heading: &str, row: &str) {
    let shown = building.done(name, &["status"]);
    let rows = shown.split_once(&format!("\n{heading}\n")).map(|(_, rest)| rest);
    let found =
        rows.is_some_and(|rows| rows.lines().any(|it| it.starts_with(&format!("  {row} "))));
    assert!(found, "{heading}, {row}: {shown}");
}

/// From any node: the same nodes, the same master, the order that one of them took, and who is lost.
#[test]
fn a_lost_peer_is_shown_until_it_comes_back() {
    let mut building = building(Protocol::LowestIp, &THREE);
    building.done("C", &["order", "hall", "2", "up"]);
    for name in THREE {
        building.wait("the order is everywhere", |building| {
            let seen = fleet(building, name);
            seen.orders.len() == 1 && seen.orders[0].what.holders == 3
        });
        let seen = fleet(&building, name).fleet;
        assert_eq!(seen.node, *name);
        assert_eq!(seen.master.expect("a master"), "A");
        let mut nodes: Vec<_> = seen.nodes.iter().map(|node| node.node.as_str()).collect();
        nodes.sort_unstable();
        assert_eq!(nodes, THREE);
        assert!(seen.nodes.iter().all(|node| node.role == Role::Indicator && node.synced));
    }
    building.kill("A");
    let status = wait(&building, "B", "A is lost", |status| status.lost.len() == 1);
    assert_eq!((status.lost[0].node.as_str(), status.lost[0].cause), ("A", LossCause::Silent));
    assert_eq!(status.lost[0].address, building.endpoint(1).0);
    shows(&building, "B", "Lost peers", "A");
    let shown = building.done("B", &["status", "--fleet"]);
    assert!(shown.starts_with("Fleet "), "{shown}");
    for part in ["\nNodes\n", "\nNo car is heard\n", "\nOpen orders\n", "\nLost peers\n"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    building.start("A");
    wait(&building, "B", "A is back", |it| it.peers.len() == 2 && it.lost.is_empty());
    assert!(!building.done("B", &["status"]).contains("Lost peers"));
}

/// Whatever keeps a node that is heard from being a peer is said, also of another version.
#[test]
fn a_node_that_does_not_fit_is_shown_with_the_reason() {
    type Setting = fn(&mut NodeCommand);
    let mut building = building(Protocol::LowestIp, &["A"]);
    let others: [(_, _, _, Setting); 4] = [
        (ConflictKind::Floors, "floors", "B", |node| {
            node.floors = FloorCount::new(9).expect("a number of floors");
        }),
        (ConflictKind::Election, "election", "C", |node| node.election = Protocol::Bully),
        (ConflictKind::Fleet, "fleet", "D", |node| node.fleet = "other".to_owned()),
        (ConflictKind::Name, "name", "E", |node| node.name = "A".to_owned()),
    ];
    let has = |status: &Status, kind| status.conflicts.iter().any(|it| it.kind == kind);
    for (number, (kind, shown_as, name, setting)) in (2..).zip(others) {
        building.install_unit(name, number, Role::Indicator);
        building.start_as(name, setting);
        let status = wait(&building, "A", shown_as, |status| has(status, kind));
        assert!(status.peers.is_empty(), "{status:?}");
        shows(&building, "A", "Conflicts", shown_as);
        building.kill(name);
    }
    let ((own, _), (node, beacons)) = (building.endpoint(9), building.endpoint(1));
    let socket = UdpSocket::bind((own, 0)).expect("a socket");
    let covered = b"LM\x63\x00whatever it is";
    let check = crc::Crc::<u32>::new(&crc::CRC_32_ISCSI).checksum(covered).to_le_bytes();
    let datagram = [covered.as_slice(), &check].concat();
    let status = wait(&building, "A", "the version is shown", |status| {
        let sent = socket.send_to(&datagram, (node, beacons.port()));
        sent.is_ok() && has(status, ConflictKind::Version)
    });
    let mut said = status.conflicts.iter().map(|conflict| conflict.what.as_str());
    assert!(said.any(|what| what.contains("version 99 of the wire protocol")), "{status:?}");
}

/// B9: `lost` is the word of the protocol for a follower; people are told whom it follows.
#[test]
fn a_follower_under_bully_reads_as_one_that_follows() {
    let building = building(Protocol::Bully, &["A", "B"]);
    wait(&building, "A", "A follows B", |status| {
        matches!(&status.node_state, NodeState::Slave { master } if *master == "B")
            && status.election_state.iter().any(|detail| detail.value == "lost")
    });
    let shown = building.done("A", &["status"]);
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
    let mut building = building(Protocol::LowestIp, &[]);
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
        command.args(words).uid(uid).gid(gid).current_dir("/").env_clear();
        command.stdout(Stdio::piped());
        command
    };
    let status = ["status", "--json", "--socket", socket];
    let read = as_user(READER, &status).output().expect("it runs");
    assert_eq!(read.status.code(), Some(0), "{read:?}");
    let view: Value = serde_json::from_slice(&read.stdout).expect("JSON");
    assert_eq!(view["node"], "A");
    let follow = ["events", "--kind", "peer_discovered", "--limit", "1", "--socket", socket];
    let mut events = as_user(READER, &follow).spawn().expect("it runs");
    // Until the watch has begun nothing is seen: each new peer is another chance.
    let start = Instant::now();
    for number in 2.. {
        if let Some(ended) = events.try_wait().expect("a state") {
            assert!(ended.success(), "{ended}");
            break;
        }
        assert!(start.elapsed() < PATIENCE, "no event came");
        let name = format!("B{number}").leak();
        building.install_unit(name, number, Role::Indicator);
        building.start(name);
        wait(&building, "A", "the next peer", |it| it.peers.len() + 1 == usize::from(number));
    }
    let data_dir = building.data_dir("A");
    let order = ["order", "hall", "1", "up", "--data-dir", data_dir.to_str().expect("text")];
    for mut refused in [as_user(READER, &order), as_user(STRANGER, &status)] {
        let ended = refused.status().expect("it runs");
        assert_eq!(ended.code(), Some(1), "{refused:?}");
    }
}
