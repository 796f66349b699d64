mod golden;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};

use elevator_driver::{Button, Direction, Floor};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{
    Availability, Call, CarPhase, CarView, HallCall, NodeId, Role, Unavailable,
};
use elevator_fleet::node::{
    CarStatus, ConflictKind, ConflictStatus, FleetKeysStatus, LossCause, LostStatus, OrderStatus,
    PeerStatus, Status,
};
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};

use self::golden::statuses;
use super::*;
use crate::client::{Client, ClientError};

pub(crate) fn full_status() -> Status {
    statuses().remove(0)
}

pub(crate) fn busy_fleet() -> State {
    State::new(&busy_status(), &Flights::new(Kinematics::default()), SystemTime::now())
}

/// Master A, whose peer B has a blocked door, with a promised order; C hung, and D has other
/// floors.
pub(crate) fn busy_status() -> Status {
    let full = full_status();
    let car = full.car.unwrap();
    let peer = PeerStatus {
        node: node("B"),
        role: Role::Cabin,
        address: Ipv4Addr::new(127, 0, 0, 2),
        node_state: NodeState::Slave { master: node("A") },
        silent: Duration::from_millis(12),
        round_trip: Some(Duration::from_micros(1_500)),
        loss: Some(0.0125),
        synced: true,
        in_step: false,
        car: Some(CarView {
            availability: Availability::Unavailable(Unavailable::DoorBlocked),
            phase: CarPhase::Open,
            ..car.view
        }),
    };
    Status {
        fleet_keys: FleetKeysStatus::default(),
        log_lines_lost: 0,
        mqtt_refused: Vec::new(),
        mesh: BTreeMap::new(),
        peers: vec![peer],
        lost: vec![LostStatus {
            node: node("C"),
            role: Role::Cabin,
            address: Ipv4Addr::new(127, 0, 0, 3),
            silent: Duration::from_secs(75),
            cause: LossCause::Hung,
        }],
        hangs: Vec::new(),
        conflicts: vec![ConflictStatus {
            kind: ConflictKind::Building,
            what: "node D has 9 floors, but this one has 4".to_owned(),
            since: Duration::from_secs(20),
            last: Duration::from_millis(30),
        }],
        orders: vec![OrderStatus {
            call: Call::Hall(HallCall::new(floor(1), Direction::Up)),
            waited: Duration::from_millis(12_300),
            car: Some(node("A")),
            promised: true,
            holders: 2,
            held_by: Vec::new(),
            durable_at: Vec::new(),
        }],
        car: Some(CarStatus {
            panel: String::new(),
            line: elevator_driver::LineCounters::default(),
            at: None,
            stuck: [Button::Car(floor(2))].into(),
            lamps: [Button::Hall(floor(3), Direction::Down)].into(),
            ..car
        }),
        ..full
    }
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap()
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn mode_of(path: &std::path::Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_socket_for_reading_replaces_a_dead_nodes_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let bind = |name: &str, group: Option<&str>| {
        let settings =
            ReadingSettings { path: directory.path().join(name), group: group.map(str::to_owned) };
        let socket = OperatorSocket::bind(&directory.path().join("data")).unwrap();
        socket.with_reading(Some(&settings))
    };
    let path = directory.path().join("read.sock");
    drop(UnixListener::bind(&path).unwrap());
    let socket = bind("read.sock", None).unwrap();
    assert_eq!(mode_of(&path), 0o660);
    drop(socket);
    assert!(!path.exists(), "it goes with the node");
    let _other = UnixListener::bind(&path).unwrap();
    assert!(matches!(bind("read.sock", None), Err(ReadingError::InUse(_))));
    std::fs::write(directory.path().join("file"), "precious").unwrap();
    assert!(matches!(bind("file", None), Err(ReadingError::NoSocket(_))));
    let nobody = bind("new", Some("no-such-group-here"));
    assert!(matches!(nobody, Err(ReadingError::NoGroup(_))));
    assert!(matches!(bind("a/b", None), Err(ReadingError::Bind { .. })));
}

#[test]
fn a_dead_nodes_socket_is_replaced_and_a_running_nodes_is_not() {
    let directory = tempfile::tempdir().unwrap();
    // Closing a listener leaves its file behind, as a killed node does.
    let path = directory.path().join("node.sock");
    drop(UnixListener::bind(&path).unwrap());
    let is_absent = || matches!(Client::connect(directory.path()), Err(ClientError::NoNode(_)));
    assert!(is_absent());
    let socket = OperatorSocket::bind(directory.path()).unwrap();
    assert_eq!(mode_of(&path), 0o600, "for its user alone");
    assert!(!is_absent());
    assert!(matches!(OperatorSocket::bind(directory.path()), Err(BindError::AnotherNode(_))));
    drop(socket);
    assert!(!path.exists() && is_absent(), "it goes with the node");
    OperatorSocket::bind(&directory.path().join("a/b")).unwrap();
    let long = directory.path().join("x".repeat(120));
    assert!(matches!(OperatorSocket::bind(&long), Err(BindError::Socket { .. })));
}

/// `liftmesh audit` has the directory only while it reads: a node that starts waits for it.
#[test]
fn a_claim_passes_unless_a_node_has_it() {
    let directory = tempfile::tempdir().unwrap();
    let held = Claim::new(directory.path()).unwrap();
    let refused = socket::claim(directory.path());
    assert!(matches!(refused, Err(BindError::AnotherNode(_))), "{refused:?}");
    assert!(socket::is_passing(&refused, directory.path()));
    drop(held);
    let _node = OperatorSocket::bind(directory.path()).unwrap();
    assert!(!socket::is_passing(&socket::claim(directory.path()), directory.path()));
}
