//! What `liftmesh status` shows of trouble, with real nodes on loopback that have neither car nor
//! panel.

use std::net::UdpSocket;

use elevator_driver::FloorCount;
use elevator_fleet::model::Role;
use elevator_fleet::node::{ConflictKind, LossCause, Status};
use elevator_fleet::wire::Protocol;
use liftmesh_api::State;
use liftmesh_harness::NodeCommand;
use liftmesh_harness::building::{Building, Line};

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
        (ConflictKind::Building, "building", "B", |node| {
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
