//! MQTT: what a Mosquitto hears of a fleet, and calls that come from there.

pub(crate) mod broker;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line};
use rumqttc::v5::mqttbytes::QoS;
use serde_json::{Value, json};

use self::broker::{Broker, Ear, Said, free_port};
use crate::http::client::{get, serving};

/// The topics of a building's fleet, which has the default prefix.
const FLEET: &str = "liftmesh/liftmesh/fleet";
const ORDERS: &str = "liftmesh/liftmesh/orders";
const EVENTS: &str = "liftmesh/liftmesh/events";
const CALLS: &str = "liftmesh/liftmesh/calls";

/// The client identifier of the fleet's session.
const SESSION: &str = "liftmesh/liftmesh/master";

fn car(name: &str) -> String {
    format!("liftmesh/liftmesh/cars/{name}")
}

fn node(name: &str) -> String {
    format!("liftmesh/liftmesh/nodes/{name}")
}

fn start(building: &mut Building, name: &str, broker: &Broker) {
    building.start_with(name, |command| {
        command.args(["--mqtt-broker", &broker.url()]);
    });
}

/// A building in which the lowest address leads, whose nodes use the broker, and a client there that
/// has heard that the first of them publishes the state of all.
fn building(names: &[&'static str], broker: &Broker) -> (Building, Ear) {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    for (name, number) in names.iter().zip(1..) {
        building.install(name, number);
        start(&mut building, name, broker);
    }
    building.wait_for_master(names[0]);
    building.wait_in_service(names);
    let ear = broker.ear();
    ear.wait(FLEET, |said| is_whole(said, names[0], names.len()));
    (building, ear)
}

fn hall(floor: u8, direction: &str) -> Value {
    json!({"kind": "hall", "floor": floor.to_string(), "direction": direction})
}

/// How often a call was seen served, in the events of all masters.
fn services(ear: &Ear, call: &Value) -> usize {
    let events = ear.on(EVENTS).into_iter().map(|said| said.json());
    events.filter(|event| event["event"] == "served" && event["call"] == *call).count()
}

/// Whether a node has published the state of a fleet of this many nodes.
fn is_whole(said: &Said, node: &str, nodes: usize) -> bool {
    said.is_by(node) && said.json()["nodes"].as_array().map(Vec::len) == Some(nodes)
}

/// Who has published the fleet's state, one after the other, since A has for a whole fleet: before,
/// each node was alone for a while. Their terms never fall.
fn publishers(ear: &Ear, nodes: usize) -> Vec<String> {
    let fleet = ear.on(FLEET);
    let fleet: Vec<_> = fleet.iter().skip_while(|said| !is_whole(said, "A", nodes)).collect();
    for said in &fleet {
        let state = said.json();
        assert_eq!(
            (state["node"].as_str(), state["term"].as_u64()),
            (said.node.as_deref(), said.term)
        );
    }
    assert!(fleet.is_sorted_by_key(|said| said.term), "{fleet:#?}");
    let mut publishers: Vec<_> = fleet.iter().filter_map(|said| said.node.clone()).collect();
    publishers.dedup();
    publishers
}

fn metric(building: &Building, name: &str) -> Option<f64> {
    let page = get(serving(building, 1), "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

#[test]
fn the_state_is_retained_and_a_call_is_answered() {
    let Some(broker) = Broker::open() else { return };
    let (mut building, early) = building(&["A", "B"], &broker);
    early.wait(&car("B"), |_| true);
    // What comes to a client that comes late.
    let ear = broker.ear();
    for (topic, field, value) in
        [(&car("A")[..], "car", "A"), (&car("B"), "car", "B"), (FLEET, "master", "A")]
    {
        let said = ear.wait(topic, |_| true);
        assert!(said.retained && said.content_type.as_deref() == Some("application/json"));
        assert_eq!(said.json()[field], value, "{said:?}");
    }
    assert_eq!(ear.wait(ORDERS, |_| true).json(), json!([]));
    for name in ["A", "B"] {
        let said = ear.wait(&node(name), |_| true);
        assert!(said.retained && said.payload == "online", "{said:?}");
    }

    // More than the node takes: the broker keeps it back.
    ear.publish(QoS::AtLeastOnce, CALLS, "x".repeat(100_000), Some(("robot", "huge")));
    let call = hall(3, "down");
    let asked = json!({"call": call, "request_id": "one"});
    let answer = ear.ask(CALLS, &asked, ("robot", "1"));
    let receipt = answer.json()["receipt"].clone();
    let placed = json!({
        "request_id": "one", "id": "hall-3-down", "receipt": receipt, "state": "placed",
        "call": call
    });
    assert_eq!((answer.json(), receipt.as_str().map(str::len)), (placed.clone(), Some(24)));
    assert!(answer.is_by("A"), "{answer:?}");
    ear.wait(ORDERS, |said| said.json()[0]["id"] == "hall-3-down");
    ear.wait(EVENTS, |said| said.json()["event"] == "served");
    let is_moving = |said: &Said| {
        let at = said.json()["position"].as_f64();
        at.is_some_and(|at| at > 0.1 && at < 2.9)
    };
    assert!(["A", "B"].iter().any(|name| ear.on(&car(name)).iter().any(is_moving)));
    // The id still stands for the call that has been served.
    assert_eq!(ear.ask(CALLS, &asked, ("robot", "2")).json(), placed);
    building.wait_all_dark();
    assert_eq!((services(&ear, &call), ear.on("robot").len()), (1, 2));

    // A node that is told to end says so.
    assert_eq!(publishers(&ear, 2), ["A"]);
    assert!(building.stop("A").success());
    assert!(ear.on(&node("A")).iter().any(|said| said.payload == "offline"));
    ear.wait(FLEET, |said| said.is_by("B"));
    assert_eq!(publishers(&ear, 2), ["A", "B"]);
    building.assert_safe();
}

/// The master is killed: the broker says so, the next one takes over, and no call is lost. One that
/// came after the master was gone is not doubled; for the others MQTT.md says when it may be.
#[test]
fn a_call_outlives_the_master() {
    let Some(broker) = Broker::open() else { return };
    let seed = std::env::var("LIFTMESH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("LIFTMESH_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut building, ear) = building(&["A", "B", "C"], &broker);
    // Cars wait at the top or the bottom, and at no door of a call.
    for (round, (floor, direction)) in [(1, "up"), (2, "down"), (1, "up")].into_iter().enumerate() {
        let (call, id) = (hall(floor, direction), format!("round-{round}"));
        let asked = json!({"call": call, "request_id": id});
        let before = services(&ear, &call);
        let is_orphan = round == 0;
        if is_orphan {
            building.kill("A");
        }
        ear.publish(QoS::AtLeastOnce, CALLS, asked.to_string(), Some(("robot", &id)));
        if !is_orphan {
            std::thread::sleep(Duration::from_millis(random.u64(..200)));
            building.kill("A");
        }
        let answer = ear.wait("robot", |said| said.correlation.as_ref() == Some(&id));
        assert!(answer.is_by("B") || !is_orphan, "{answer:?}");
        let answer = answer.json();
        if answer["state"] == "placed" {
            building.wait("it is served", |_| services(&ear, &call) > before);
        } else {
            assert_eq!(answer["state"], "absorbed", "{answer}");
        }
        // The next publisher knows the request.
        ear.ask(CALLS, &asked, ("robot", &format!("{id} again")));
        building.wait("no order is left", |building| {
            building.status("B").is_some_and(|status| status.orders.is_empty())
        });
        assert!(services(&ear, &call) <= before + 1 || !is_orphan);
        ear.wait(&node("A"), |said| said.payload == "offline");
        // The car of the killed node is not shown any more, but what is known of its node is.
        ear.wait(&car("A"), |said| said.payload.is_empty());
        ear.wait(FLEET, |said| said.is_by("B") && said.json()["lost"][0]["node"] == "A");
        let heard = ear.on(FLEET).len();
        start(&mut building, "A", &broker);
        building.wait_for_master("A");
        building.wait_in_service(&["A", "B", "C"]);
        building.wait("A publishes again", |_| {
            ear.on(FLEET)[heard..].iter().any(|said| is_whole(said, "A", 3))
        });
    }
    // What happened while nobody published.
    let by_b: Vec<_> = ear.on(EVENTS).into_iter().filter(|said| said.is_by("B")).collect();
    let tells = |is_it: fn(&Value) -> bool| by_b.iter().any(|said| is_it(&said.json()));
    assert!(tells(|it| it["event"] == "peer_lost" && it["node"] == "A"), "{by_b:?}");
    assert!(tells(|it| it["event"] == "node_state" && it["to"]["kind"] == "master"), "{by_b:?}");
    let handovers = publishers(&ear, 3).len();
    assert!(handovers >= 3);
    let is_one = |_: &Building| publishers(&ear, 3).len() == handovers;
    building.stays("one publishes", Duration::from_secs(2), is_one);
    assert_eq!(ear.on(&node("A")).pop().expect("a word").payload, "online");
    building.wait_all_dark();
    building.assert_safe();
}

/// A broker that hangs or is away costs the fleet nothing, and hears everything afterwards.
#[test]
fn a_broker_that_hangs_or_ends_holds_nothing_up() {
    let Some(mut broker) = Broker::open() else { return };
    let (building, _) = building(&["A", "B"], &broker);
    broker.suspend();
    building.press("A", building.hall(3, Direction::Down));
    building.wait_lit(&["A", "B"], building.hall(3, Direction::Down));
    building.wait_all_dark();
    broker.kill();
    building.press("B", building.hall(2, Direction::Up));
    building.wait_lit(&["A", "B"], building.hall(2, Direction::Up));
    building.wait_all_dark();
    broker.start();
    let ear = broker.ear();
    for topic in [FLEET, ORDERS, &car("A"), &car("B")] {
        ear.wait(topic, |said| said.is_by("A"));
    }
    for name in ["A", "B"] {
        ear.wait(&node(name), |said| said.payload == "online");
    }
    let call = hall(1, "up");
    ear.publish(QoS::AtLeastOnce, CALLS, json!({"call": call}).to_string(), None);
    building.wait("it is served", |_| services(&ear, &call) == 1);
    assert_eq!(metric(&building, "liftmesh_mqtt_publishing"), Some(1.0));
    assert_eq!(metric(&building, "liftmesh_mqtt_calls_total{outcome=\"taken\"}"), Some(1.0));
    building.assert_safe();
}

#[test]
fn a_node_yields_to_another_client_with_the_name_of_the_session() {
    let Some(broker) = Broker::open() else { return };
    let (building, _) = building(&["A"], &broker);
    let thief = Ear::new(SESSION, broker.port, None);
    let told = "no connection to the MQTT broker";
    let taken = |building: &Building| building.logged("A").matches(told).count();
    building.wait("A has lost it", |building| taken(building) > 0);
    building.stays("it does not fight for it", Duration::from_secs(5), |it| taken(it) <= 4);
    drop(thief);
    building
        .wait("A publishes", |building| metric(building, "liftmesh_mqtt_publishing") == Some(1.0));
}

/// `config/mosquitto/`: who may only read can't have the session, and with it the calls that wait
/// there. The nodes use TLS and a password, of which the log says nothing.
#[test]
fn with_the_shipped_configuration_only_a_node_gets_the_session() {
    let run = |command: &mut Command| {
        let made = command.output().expect("the program");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let others = free_port();
    let broker = Broker::configured(|place, port| {
        run(Command::new("openssl")
            .current_dir(place)
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
            .args(["-nodes", "-days", "2", "-subj", "/CN=broker"])
            .args(["-addext", "subjectAltName=IP:127.0.0.40"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-keyout", "broker.key", "-out", "broker.pem"]));
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/config/mosquitto/liftmesh");
        let acl = fs::read_to_string(format!("{shipped}.acl")).expect("a list");
        let acl = acl.replace("liftmesh/north", "liftmesh/liftmesh");
        fs::write(place.join("liftmesh.acl"), acl).expect("written");
        for (file, user) in [
            ("liftmesh-nodes.passwords", "liftmesh"),
            ("liftmesh.passwords", "bms"),
            ("liftmesh.passwords", "robot"),
        ] {
            let flags = if place.join(file).exists() { &["-b"][..] } else { &["-c", "-b"] };
            let mut command = Command::new("mosquitto_passwd");
            run(command.args(flags).arg(place.join(file)).args([user, "open sesame"]));
        }
        let text = fs::read_to_string(format!("{shipped}.conf")).expect("a configuration");
        let (of_nodes, of_others) = text.split_once("listener 8884").expect("two listeners");
        // The clients of this test use no TLS, and nothing is kept.
        let is_kept = |line: &&str| {
            !["certfile", "keyfile", "persistence"].iter().any(|it| line.starts_with(it))
        };
        let of_others: Vec<_> = of_others.lines().filter(is_kept).collect();
        let of_nodes = of_nodes.replace("/etc/mosquitto/certs", "/etc/mosquitto");
        format!("{of_nodes}listener {others} 127.0.0.40{}\n", of_others.join("\n"))
            .replace("/etc/mosquitto", &place.display().to_string())
            .replace("listener 8883", &format!("listener {port} 127.0.0.40"))
    });
    let Some(broker) = broker else { return };
    let password = broker.path("password");
    fs::write(&password, "open sesame\n").expect("a file");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    let start = |building: &mut Building, user: &str| {
        building.start_with("A", |command| {
            let url = broker.url().replace("mqtt:", "mqtts:");
            command.args(["--mqtt-broker", &url, "--mqtt-username", user]);
            command.arg("--mqtt-password-file").arg(&password);
            command.arg("--mqtt-ca-file").arg(broker.path("broker.pem"));
        });
        building.wait_in_service(&["A"]);
    };
    start(&mut building, "bms");
    building.wait("it is refused", |building| {
        building.logged("A").contains("the broker refuses the connection")
    });
    assert!(building.stop("A").success());
    start(&mut building, "liftmesh");
    let thief = Ear::new(SESSION, others, Some(("bms", "open sesame")));
    thief.wait(FLEET, |said| is_whole(said, "A", 1));
    let robot = Ear::new("robot", others, Some(("robot", "open sesame")));
    let call = hall(2, "up");
    let answer = robot.ask(CALLS, &json!({"call": call}), ("replies/robot/1", "1")).json();
    assert_eq!(answer["state"], "placed", "{answer}");
    building.wait("it is served", |_| services(&thief, &call) == 1);
    for told in ["TakenOver", "sesame", "MQTT without TLS"] {
        assert!(!building.logged("A").contains(told), "{told}: {}", building.logged("A"));
    }
    building.wait_all_dark();
}
