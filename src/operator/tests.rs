mod bench;
mod golden;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::time::{Duration, SystemTime};

use elevator_driver::{Direction, Floor};
use elevator_fleet::model::{Call, HallCall, Mode, NodeId};
use elevator_fleet::node::{Access, Command, Report, Status};

pub(crate) use self::bench::{Bench, busy_fleet, busy_status};
use self::golden::statuses;
use super::*;
use crate::client::{Client, ClientError, Notice};
use crate::mesh::Cable;
use crate::tokens::Change as TokenChange;

/// A status with something in every field.
pub(crate) fn full_status() -> Status {
    statuses().remove(0)
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap()
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn hall(at: u8, direction: Direction) -> Call {
    Call::Hall(HallCall::new(floor(at), direction))
}

fn car_call(car: &str, at: u8) -> Call {
    Call::Car { car: node(car), floor: floor(at) }
}

fn code_of<T: std::fmt::Debug>(refused: Result<T, ClientError>) -> String {
    match refused {
        Err(ClientError::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn faults_are_injected_only_where_they_are_allowed() {
    let bench = Bench::start();
    let client = bench.client();
    client.rewire(Cable::Whole).unwrap();
    assert_eq!(code_of(client.rewire(Cable::Cut)), "faults_not_allowed");
}

fn independent() -> Command {
    Command::Mode { car: node("B"), mode: Mode::Independent }
}

/// What is to go into the audit log is a line of bounded length.
#[test]
fn a_setting_needs_a_name_and_a_reason_that_fit() {
    let bench = Bench::start();
    let client = bench.client();
    let set = |operator: &str, reason| client.command(&independent(), operator, reason);
    set("kovac", Some("new carpet")).unwrap();
    let long = "x".repeat(501);
    for (operator, reason) in [(" ", "why"), ("kovac", ""), ("ko\nvac", "why"), ("kovac", &long)] {
        assert_eq!(code_of(set(operator, Some(reason))), "malformed");
    }
    client.status().unwrap();
}

/// A program that may read can't place, clear or break anything, whatever it sends.
#[test]
fn the_socket_for_reading_only_reads() {
    let bench = Bench::start();
    let path = bench.reading_path();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let client = Client::connect_to(path.clone()).unwrap();
    let revoke = TokenChange::Revoke { name: "kiosk".parse().unwrap() };
    for code in [
        code_of(client.order(&hall(1, Direction::Up), Access::Public)),
        code_of(client.rewire(Cable::Cut)),
        code_of(client.clear_hang("x", "y")),
        code_of(client.audit()),
        code_of(client.presses()),
        code_of(client.command(&independent(), "x", None)),
        code_of(client.change_token(&revoke, "x")),
    ] {
        assert_eq!(code, "scope_missing");
    }
    assert!(client.status().unwrap().orders.is_empty());
    client.watch().unwrap();
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
    drop(bind("read.sock", None).unwrap());
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
fn an_order_is_placed_and_shown() {
    let bench = Bench::start();
    let client = bench.client();
    let calls = [car_call("B", 2), car_call("A", 3)];
    for call in &calls {
        client.order(call, Access::Public).unwrap();
    }
    // Many clients see one node.
    let shown = bench.client().status().unwrap();
    assert_eq!(client.status().unwrap(), shown);
    let orders: Vec<_> = shown.orders.iter().map(|order| order.call.clone()).collect();
    assert_eq!(orders, calls);
    assert_eq!(shown.nodes().collect::<Vec<_>>(), [&node("A"), &node("B")]);
}

#[test]
fn an_order_for_a_button_or_a_car_that_is_not_there_is_refused() {
    let bench = Bench::start();
    let client = bench.client();
    assert_eq!(code_of(client.order(&hall(3, Direction::Up), Access::Public)), "no_such_button");
    assert_eq!(code_of(client.order(&car_call("C", 1), Access::Public)), "unknown_car");
    let refused = client.order(&car_call("C", 1), Access::Public).unwrap_err();
    assert_eq!(refused.to_string(), "unknown car C; use one of A, B");
    assert!(client.status().unwrap().orders.is_empty());
}

#[test]
fn a_watcher_gets_every_event_in_order_and_is_told_of_those_it_missed() {
    let mut bench = Bench::start();
    let mut watch = bench.client().watch().unwrap();
    let event = |index| Event::new(&Report::Floor { floor: floor(index) }, SystemTime::UNIX_EPOCH);
    // More than the queue holds, faster than the server's only thread can take them out: what is
    // missed, is counted.
    for index in 0..200 {
        bench.events.send(event(index)).unwrap();
    }
    let mut next = 0_u64;
    while next < 200 {
        match watch.next().unwrap() {
            Notice::Event(event) => {
                assert_eq!(event.at, "1970-01-01T00:00:00.000Z");
                let Report::Floor { floor } = event.report else {
                    panic!("{event:?}");
                };
                assert_eq!(u64::from(floor.index()), next);
                next += 1;
            }
            Notice::Missed(events) => next += events,
        }
    }
    bench.stop();
    assert!(matches!(watch.next(), Err(ClientError::Ended { .. })));
}

#[test]
fn a_watcher_need_not_wait_for_ever() {
    let bench = Bench::start();
    let mut watch = bench.client().watch().unwrap();
    let event = Event::new(&Report::DiskFailed, SystemTime::UNIX_EPOCH);
    bench.events.send(event.clone()).unwrap();
    let notice = watch.next_within(Duration::from_secs(20)).unwrap();
    assert_eq!(notice, Some(Notice::Event(event)));
    assert_eq!(watch.next_within(Duration::ZERO).unwrap(), None);
}

#[test]
fn the_socket_is_for_its_user_alone_and_goes_with_the_node() {
    let mut bench = Bench::start();
    let path = bench.path().join("node.sock");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bench.client().status().unwrap();
    bench.stop();
    assert!(!path.exists());
    assert!(matches!(Client::connect(bench.path()), Err(ClientError::NoNode(_))));
}

#[test]
fn a_dead_nodes_socket_is_replaced_and_a_running_nodes_is_not() {
    let directory = tempfile::tempdir().unwrap();
    // Closing a listener leaves its file behind, as a killed node does.
    drop(UnixListener::bind(directory.path().join("node.sock")).unwrap());
    assert!(matches!(Client::connect(directory.path()), Err(ClientError::NoNode(_))));
    let socket = OperatorSocket::bind(directory.path()).unwrap();
    assert!(matches!(OperatorSocket::bind(directory.path()), Err(BindError::AnotherNode(_))));
    assert!(socket.path().unwrap().exists());
    drop(socket);
    OperatorSocket::bind(&directory.path().join("a/b")).unwrap();
    OperatorSocket::bind(directory.path()).unwrap();
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let long = directory.path().join("x".repeat(120));
    assert!(matches!(OperatorSocket::bind(&long), Err(BindError::Socket { .. })));
}

/// The golden file says how it is read; this, what the values mean.
#[test]
fn the_json_of_a_status_has_times_in_seconds() {
    let status = serde_json::to_value(busy_status()).unwrap();
    assert_eq!((&status["uptime"], &status["orders"][0]["waited"]), (&90.0.into(), &12.3.into()));
    assert_eq!(status["peers"][0]["silent"], 0.012);
    assert_eq!(status["digest"], "0000000000000abc");
    let phase =
        serde_json::json!({"kind": "moving", "direction": "up", "stop_at": 3, "next_stop": 2});
    assert_eq!(status["car"]["phase"], phase);
}

/// `liftmesh audit` has the directory of a node that does not run while it reads: a node that starts
/// waits for it. A node that has it answers, and is not waited for.
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
