//! MQTT: what a Mosquitto hears of a fleet, and calls that come from there.

pub(crate) mod broker;
mod crowd;
mod failover;
mod robots;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_harness::building::{Building, Line};
use liftmesh_harness::free_port;
use rustix::process::Signal;
use serde_json::{Value, json};

use self::broker::{Broker, Ear};
use crate::http::client::{get, serving};

/// The default prefix of a building's fleet.
const PREFIX: &str = "liftmesh/liftmesh";

fn topic(name: &str) -> String {
    format!("{PREFIX}/{name}")
}

fn start(building: &mut Building, name: &str, broker: &Broker) {
    building.start_with(name, |command| {
        command.args(["--mqtt-broker", &broker.url()]);
    });
}

/// A building in which the lowest address leads, whose nodes use the broker.
fn building(names: &[&'static str], broker: &Broker) -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    for (name, number) in names.iter().zip(1..) {
        building.install(name, number);
        start(&mut building, name, broker);
    }
    building.wait_for_master(names[0]);
    building.wait_in_service(names);
    building
}

fn hall(floor: u8, direction: &str) -> Value {
    json!({"kind": "hall", "floor": floor, "direction": direction})
}

fn text(call: &Value, id: Option<&str>) -> String {
    let mut request = json!({"call": call});
    if let Some(id) = id {
        request["request_id"] = id.into();
    }
    request.to_string()
}

/// How often a call was seen served, in the events of all masters.
fn services(ear: &Ear, call: &Value) -> usize {
    let events = ear.on(&topic("events")).into_iter().map(|said| said.json());
    events.filter(|event| event["event"] == "served" && event["call"] == *call).count()
}

/// Whether a node has published the state of a fleet of so many nodes.
fn is_whole(said: &broker::Said, node: &str, nodes: usize) -> bool {
    let fleet = said.json();
    said.node.as_deref() == Some(node) && fleet["nodes"].as_array().map(Vec::len) == Some(nodes)
}

/// Who has published the fleet's state, one after the other, since A has for a whole fleet: before,
/// each node was alone for a while.
fn publishers(ear: &Ear, nodes: usize) -> Vec<String> {
    let fleet = ear.on(&topic("fleet"));
    let fleet = fleet.iter().skip_while(|said| !is_whole(said, "A", nodes));
    let publishers = fleet.map(|said| {
        let node = said.node.clone().expect("a node");
        assert_eq!(said.json()["node"], node.as_str(), "{said:?}");
        assert_eq!(said.json()["term"].as_u64(), said.term, "{said:?}");
        node
    });
    let mut publishers: Vec<_> = publishers.collect();
    publishers.dedup();
    publishers
}

#[test]
fn the_state_is_retained_and_a_call_is_answered() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A", "B"], &broker);
    let early = broker.ear();
    let fleet = early.wait(&topic("fleet"), |said| is_whole(said, "A", 2));
    assert_eq!(fleet.content_type.as_deref(), Some("application/json"), "{fleet:?}");
    early.wait(&topic("cars/B"), |_| true);
    // What comes to a client that comes late.
    let ear = broker.ear();
    for (name, field, value) in
        [("cars/A", "car", "A"), ("cars/B", "car", "B"), ("fleet", "master", "A")]
    {
        let said = ear.wait(&topic(name), |_| true);
        assert!(said.retained, "{said:?}");
        assert_eq!(said.json()[field], value, "{said:?}");
    }
    assert_eq!(ear.wait(&topic("orders"), |_| true).json(), json!([]));
    for node in ["nodes/A", "nodes/B"] {
        let said = ear.wait(&topic(node), |_| true);
        assert!(said.retained && said.payload == "online", "{said:?}");
    }

    let call = hall(3, "down");
    ear.call(PREFIX, &text(&call, Some("one")), Some(("robot/answers", "c-1")));
    let answer = ear.wait("robot/answers", |said| said.correlation.as_deref() == Some("c-1"));
    let receipt = answer.json()["receipt"].clone();
    let placed = json!({
        "request_id": "one", "id": "hall-3-down", "receipt": receipt, "state": "placed",
        "call": call
    });
    assert_eq!(answer.json(), placed, "{answer:?}");
    assert_eq!(receipt.as_str().map(str::len), Some(24), "{answer:?}");
    assert_eq!(answer.node.as_deref(), Some("A"), "{answer:?}");
    ear.wait(&topic("orders"), |said| said.json()[0]["id"] == "hall-3-down");
    ear.wait(&topic("events"), |said| said.json()["event"] == "served");
    let is_moving = |said: &broker::Said| {
        said.json()["position"].as_f64().is_some_and(|at| at > 0.1 && at < 2.9)
    };
    assert!(ear.all().iter().any(|said| said.topic.contains("/cars/") && is_moving(said)));
    // The id still stands for the call that has been served.
    ear.call(PREFIX, &text(&call, Some("one")), Some(("robot/answers", "c-2")));
    let again = ear.wait("robot/answers", |said| said.correlation.as_deref() == Some("c-2"));
    assert_eq!(again.json(), placed, "{again:?}");
    building.wait_all_dark();
    assert_eq!(services(&ear, &call), 1);
    assert_eq!(publishers(&ear, 2), ["A"]);
    building.assert_safe();
}

#[test]
fn a_call_that_is_no_call_is_refused() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |_| true);
    let good = text(&hall(1, "up"), None);
    let nowhere = text(&hall(9, "up"), None);
    let nobody = text(&json!({"kind": "car", "car": "Z", "floor": 1}), None);
    let long = text(&hall(1, "up"), Some(&"i".repeat(65)));
    let extra = r#"{"call":{"kind":"hall","floor":1,"direction":"up"},"more":1}"#;
    let large = format!("{good}{}", " ".repeat(5000));
    let deep = "[".repeat(4000);
    for (number, (payload, code)) in [
        ("", "malformed"),
        ("rubbish", "malformed"),
        ("{}", "malformed"),
        (extra, "malformed"),
        (&deep, "malformed"),
        (&long, "malformed"),
        (&large, "too_large"),
        (&nowhere, "no_such_button"),
        (&nobody, "unknown_car"),
    ]
    .into_iter()
    .enumerate()
    {
        let id = number.to_string();
        ear.call(PREFIX, payload, Some(("caller", &id)));
        let said = ear.wait("caller", |said| said.correlation.as_ref() == Some(&id));
        assert_eq!(said.json()["code"], code, "{payload}: {said:?}");
        assert_eq!(said.content_type.as_deref(), Some("application/problem+json"), "{said:?}");
    }
    // Without a topic for the answer it comes to the fleet's own.
    ear.call(PREFIX, &text(&hall(9, "up"), Some("mine")), None);
    let said = ear.wait(&topic("answers"), |_| true).json();
    assert_eq!((&said["request_id"], &said["status"]), (&json!("mine"), &json!(422)), "{said}");
    // More than the node takes: the broker keeps it back.
    ear.call(PREFIX, &"x".repeat(100_000), Some(("caller", "huge")));
    // The node does not say what a caller likes where it says something else.
    ear.call(PREFIX, &nowhere, Some((&topic("fleet"), "spoof")));
    ear.call(PREFIX, &nowhere, Some(("caller", "last")));
    ear.wait("caller", |said| said.correlation.as_deref() == Some("last"));
    assert!(
        ear.all()
            .iter()
            .all(|said| said.correlation.as_deref() != Some("huge") || said.topic != "caller")
    );
    assert!(ear.on(&topic("fleet")).iter().all(|said| said.correlation.is_none()));
    assert_eq!(building.status("A").expect("a status").orders.len(), 0);
}

/// The master is killed: the broker says so, the next one takes over, and no call is lost or doubled.
#[test]
fn a_call_outlives_the_master() {
    let Some(broker) = Broker::open() else { return };
    let mut building = building(&["A", "B", "C"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 3));
    building.kill("A");
    // Nobody takes it yet.
    let call = hall(2, "up");
    ear.call(PREFIX, &text(&call, Some("orphan")), Some(("robot", "1")));
    ear.wait(&topic("nodes/A"), |said| said.payload == "offline");
    let answer = ear.wait("robot", |said| said.correlation.as_deref() == Some("1"));
    assert_eq!((answer.node.as_deref(), &answer.json()["state"]), (Some("B"), &json!("placed")));
    ear.wait(&topic("events"), |said| {
        said.json()["event"] == "served" && said.json()["call"] == call
    });
    // What happened while nobody published.
    let tells = |kind: &'static str| {
        let said =
            ear.on(&topic("events")).into_iter().filter(|said| said.node.as_deref() == Some("B"));
        said.map(|said| said.json()).filter(|event| event["event"] == kind).collect::<Vec<_>>()
    };
    assert!(
        tells("peer_lost").iter().any(|event| event["node"] == "A"),
        "{:?}",
        tells("peer_lost")
    );
    let elected = tells("node_state");
    assert!(elected.iter().any(|event| event["to"]["kind"] == "master"), "{elected:?}");
    // The car of the killed node is not shown any more, but what is known of its node is.
    ear.wait(&topic("cars/A"), |said| said.payload.is_empty());
    let fleet = ear.wait(&topic("fleet"), |said| said.json()["lost"][0]["node"] == "A");
    assert_eq!(fleet.node.as_deref(), Some("B"), "{fleet:?}");
    // It comes back, and leads again.
    start(&mut building, "A", &broker);
    building.wait_for_master("A");
    building.wait("A publishes again", |_| {
        let publishers = publishers(&ear, 3);
        publishers.iter().any(|node| node == "B") && publishers.ends_with(&["A".to_owned()])
    });
    let last = ear.on(&topic("nodes/A")).pop().expect("a word");
    assert_eq!(last.payload, "online");
    let handovers = publishers(&ear, 3).len();
    building
        .stays("one publishes", Duration::from_secs(2), |_| publishers(&ear, 3).len() == handovers);
    assert_eq!(services(&ear, &call), 1);
    let fleet = ear.on(&topic("fleet"));
    let terms = fleet.iter().skip_while(|said| !is_whole(said, "A", 3)).map(|said| said.term);
    let terms: Vec<_> = terms.collect();
    assert!(terms.is_sorted(), "{terms:?}");
    building.assert_safe();
}

/// A broker that hangs or is away costs the fleet nothing, and hears everything afterwards.
#[test]
fn a_broker_that_hangs_or_ends_holds_nothing_up() {
    let Some(mut broker) = Broker::open() else { return };
    let building = building(&["A", "B"], &broker);
    broker.ear().wait(&topic("fleet"), |said| is_whole(said, "A", 2));
    broker.signal(Signal::STOP);
    building.press("A", building.hall(3, Direction::Down));
    building.wait_lit(&["A", "B"], building.hall(3, Direction::Down));
    building.wait_all_dark();
    broker.kill();
    building.press("B", building.hall(2, Direction::Up));
    building.wait_lit(&["A", "B"], building.hall(2, Direction::Up));
    building.wait_all_dark();
    broker.start();
    let ear = broker.ear();
    for name in ["fleet", "orders", "cars/A", "cars/B"] {
        ear.wait(&topic(name), |said| said.node.as_deref() == Some("A"));
    }
    for name in ["nodes/A", "nodes/B"] {
        ear.wait(&topic(name), |said| said.payload == "online");
    }
    let call = hall(1, "up");
    ear.call(PREFIX, &text(&call, None), None);
    ear.wait(&topic("events"), |said| {
        said.json()["event"] == "served" && said.json()["call"] == call
    });
    let metrics = get(serving(&building, 1), "/metrics").body;
    for line in ["liftmesh_mqtt_publishing 1", "liftmesh_mqtt_calls_total{outcome=\"taken\"} 1"] {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
    building.assert_safe();
}

/// Which keys and names make a connection with TLS, and what the node says without.
#[test]
fn a_broker_with_tls_and_passwords_is_used() {
    let run = |command: &mut Command| {
        let made = command.output().expect("the program");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let broker = Broker::prepared(|place| {
        run(Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=broker"])
            .args(["-addext", "subjectAltName=IP:127.0.0.40"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-keyout")
            .arg(place.join("key.pem"))
            .arg("-out")
            .arg(place.join("cert.pem")));
        let passwords = place.join("passwords");
        run(Command::new("mosquitto_passwd")
            .args(["-b", "-c"])
            .arg(&passwords)
            .args(["node", "open sesame"]));
        let path = |name: &str| place.join(name).display().to_string();
        format!(
            "certfile {}\nkeyfile {}\npassword_file {}\n",
            path("cert.pem"),
            path("key.pem"),
            path("passwords")
        )
    });
    let Some(broker) = broker else { return };
    let password = broker.path("password");
    fs::write(&password, "open sesame\n").expect("a file");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).expect("a mode");
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.start_with("A", |command| {
        let url = format!("mqtts://127.0.0.40:{}", broker.port());
        command.args(["--mqtt-broker", &url, "--mqtt-username", "node"]);
        command.arg("--mqtt-password-file").arg(&password);
        command.arg("--mqtt-ca-file").arg(broker.path("cert.pem"));
    });
    building.wait("A refuses the file", |building| {
        building.logged("A").contains("others may read or change it (mode 0644)")
    });
    building.wait_in_service(&["A"]);
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).expect("a mode");
    building.wait("A publishes", |building| {
        let page = get(serving(building, 1), "/metrics").body;
        page.lines().any(|line| line == "liftmesh_mqtt_publishing 1")
    });
    assert!(!building.logged("A").contains("sesame"));
    assert_eq!(building.logged("A").matches("MQTT without TLS").count(), 0);
}

/// A node that is told to end says so.
#[test]
fn a_node_that_ends_is_offline_at_once() {
    let Some(broker) = Broker::open() else { return };
    let mut building = building(&["A", "B"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 2));
    assert!(building.stop("A").success());
    let said: BTreeSet<_> = ear.on(&topic("nodes/A")).into_iter().map(|it| it.payload).collect();
    assert!(said.contains("offline"), "{said:?}");
    ear.wait(&topic("fleet"), |said| said.node.as_deref() == Some("B"));
    assert_eq!(publishers(&ear, 2), ["A", "B"]);
}

/// Two halves of a fleet that do not hear each other, but the same broker: one publishes, and the other
/// once that is gone.
#[test]
fn of_two_masters_one_publishes() {
    let Some(broker) = Broker::open() else { return };
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    for (name, number) in [("A", 1), ("B", 2)] {
        building.install(name, number);
    }
    start(&mut building, "A", &broker);
    // Its beacons go where A does not listen.
    let (_, elsewhere) = free_port(&[]).expect("a port");
    let port = elsewhere.local_addr().expect("an address").port();
    drop(elsewhere);
    let other = format!("127.255.255.255:{port}");
    building.start_with("B", |command| {
        let words: Vec<_> = command.get_args().map(OsStr::to_owned).collect();
        let place = words.iter().position(|word| word == "--broadcast").expect("a flag");
        let mut changed = Command::new(command.get_program());
        changed.args(&words[..=place]).arg(&other).args(&words[place + 2..]);
        changed.args(["--mqtt-broker", &broker.url()]);
        *command = changed;
    });
    building.wait_in_service(&["A", "B"]);
    let is_master = |node| {
        let status = building.status(node);
        status.is_some_and(|it| it.node_state == NodeState::Master && it.peers.is_empty())
    };
    building.wait("there are two masters", |_| is_master("A") && is_master("B"));
    building.wait("B stands by", |building| {
        building.logged("B").contains("another master of this fleet publishes over MQTT")
    });
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| said.node.as_deref() == Some("A"));
    let count = ear.on(&topic("fleet")).len();
    building
        .wait("A has published three times more", |_| ear.on(&topic("fleet")).len() >= count + 3);
    let later = ear.on(&topic("fleet")).split_off(count);
    assert!(later.iter().all(|said| said.node.as_deref() == Some("A")), "{later:#?}");
    building.kill("A");
    ear.wait(&topic("fleet"), |said| said.node.as_deref() == Some("B"));
    ear.wait(&topic("cars/A"), |said| said.payload.is_empty());
}
