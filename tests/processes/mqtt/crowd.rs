//! What others at the broker do: calls of many kinds at once, and clients that take the session's name.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

use liftmesh_harness::building::{Building, Line};
use rumqttc::v5::mqttbytes::QoS;

use super::broker::Broker;
use super::{PREFIX, building, hall, is_whole, services, text, topic};
use crate::http::client::{get, serving};

/// The client identifier of the fleet's session.
const SESSION: &str = "liftmesh/liftmesh/master";

/// A value of a node's metrics.
fn metric(building: &Building, name: &str) -> Option<f64> {
    let page = get(serving(building, 1), "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// What the broker does not keep is dropped where there is too much of it, and takes no place from what
/// it keeps.
#[test]
fn calls_that_the_broker_keeps_are_all_answered_in_a_flood_of_others() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 1));
    let flood = broker.ear();
    for _ in 0..900 {
        flood.call_with(QoS::AtMostOnce, PREFIX, &text(&hall(1, "up"), None), Some(("crowd", "")));
    }
    building.wait("some are dropped", |building| {
        metric(building, "liftmesh_mqtt_calls_total{outcome=\"dropped\"}") > Some(0.0)
    });
    // There are no more than 256 in the queue, and so none in front of these for long.
    for number in 0..60 {
        let id = format!("kept-{number}");
        ear.call(PREFIX, &text(&hall(2, "up"), Some(&id)), Some(("careful", &id)));
    }
    building.wait("all are answered", |_| ear.on("careful").len() >= 60);
    assert_eq!(ear.on("careful").len(), 60);
    let shown = "calls with QoS 0 were dropped: they came faster than they can be placed";
    assert_eq!(building.logged("A").matches(shown).count(), 1);
    building.wait_all_dark();
    building.assert_safe();
}

/// Callers count their requests as they like: an id stands for one of them only.
#[test]
fn callers_with_the_same_ids_are_told_apart() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 1));
    let call = hall(2, "up");
    for (robot, count) in [("robot-1", 1), ("robot-2", 2)] {
        ear.call(PREFIX, &text(&call, Some("1")), Some((robot, "")));
        let answer = ear.wait(robot, |_| true).json();
        assert_eq!(answer["state"], "placed", "{answer}");
        building.wait("it is served", |_| services(&ear, &call) == count);
        // The car goes elsewhere: at an open door a call needs no order.
        let away = hall(3, "down");
        ear.call(PREFIX, &text(&away, None), None);
        building.wait("it is away", |_| services(&ear, &away) == count);
        building.wait_all_dark();
    }
    ear.call(PREFIX, &text(&hall(1, "up"), Some("1")), Some(("robot-2", "again")));
    let again = ear.wait("robot-2", |said| said.correlation.as_deref() == Some("again"));
    assert_eq!(again.json()["code"], "request_id_reused", "{again:?}");
    let long = "c".repeat(1025);
    ear.call(PREFIX, &text(&call, None), Some(("robot-3", &long)));
    let refused = ear.wait("robot-3", |_| true);
    assert_eq!((refused.json()["code"].as_str(), &refused.correlation), (Some("too_large"), &None));
}

/// Mosquitto does not say that another client has the name now: the node yields all the same.
#[test]
fn a_node_yields_to_another_client_with_the_name_of_the_session() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let early = broker.ear();
    early.wait(&topic("fleet"), |said| is_whole(said, "A", 1));
    let thief = Broker::ear_named(SESSION, broker.port(), |_| {});
    let taken = |building: &Building| {
        building
            .logged("A")
            .matches("another node has taken it over, or the network is bad")
            .count()
    };
    building.wait("A has lost it", |building| taken(building) > 0);
    std::thread::sleep(Duration::from_secs(5));
    assert!(taken(&building) <= 4, "{}", building.logged("A"));
    assert!(!building.logged("A").contains("no connection to the MQTT broker"));
    drop(thief);
    building
        .wait("A publishes", |building| metric(building, "liftmesh_mqtt_publishing") == Some(1.0));
}

/// `config/mosquitto/`: who may only read can't have the session, and with it the calls that wait there.
#[test]
fn with_the_shipped_configuration_only_a_node_gets_the_session() {
    let other = TcpListener::bind("127.0.0.40:0").and_then(|held| held.local_addr());
    let other = other.expect("a port");
    let broker = Broker::configured(|place, port| {
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/config/mosquitto/liftmesh");
        let acl = fs::read_to_string(format!("{shipped}.acl")).expect("a list");
        fs::write(place.join("liftmesh.acl"), acl.replace("liftmesh/north", PREFIX))
            .expect("written");
        for (file, users) in [
            ("liftmesh-nodes.passwords", &["liftmesh"][..]),
            ("liftmesh.passwords", &["bms", "robot"]),
        ] {
            for (number, user) in users.iter().enumerate() {
                let mut command = Command::new("mosquitto_passwd");
                command.args(if number == 0 { &["-c", "-b"][..] } else { &["-b"] });
                let made = command.arg(place.join(file)).args([user, "sesame"]).status();
                assert!(made.expect("mosquitto_passwd").success());
            }
        }
        let text = fs::read_to_string(format!("{shipped}.conf")).expect("a configuration");
        // TLS and the place of the database are another matter.
        let is_kept = |line: &&str| {
            !["certfile", "keyfile", "persistence"].iter().any(|it| line.starts_with(it))
        };
        let lines: Vec<_> = text.lines().filter(is_kept).collect();
        (lines.join("\n") + "\n")
            .replace("/etc/mosquitto", &place.display().to_string())
            .replace("listener 8883", &format!("listener {port} 127.0.0.40"))
            .replace("listener 8884", &format!("listener {} 127.0.0.40", other.port()))
    });
    let Some(broker) = broker else { return };
    let password = broker.path("password");
    fs::write(&password, "sesame\n").expect("a file");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).expect("a mode");
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.start_with("A", |command| {
        command.args(["--mqtt-broker", &broker.url(), "--mqtt-username", "liftmesh"]);
        command.arg("--mqtt-password-file").arg(&password);
    });
    building.wait_in_service(&["A"]);
    let ear = |name: &str, port: u16, user: &str| {
        Broker::ear_named(name, port, |options| {
            options.set_credentials(user, "sesame");
        })
    };
    let thief = ear(SESSION, other.port(), "bms");
    thief.wait(&topic("fleet"), |said| is_whole(said, "A", 1));
    let intruder = ear(SESSION, broker.port(), "bms");
    let robot = ear("robot", other.port(), "robot");
    let call = hall(2, "up");
    robot.call(PREFIX, &text(&call, Some("1")), Some(("replies/robot/1", "1")));
    let answer = robot.wait("replies/robot/1", |_| true).json();
    assert_eq!(answer["state"], "placed", "{answer}");
    building.wait("it is served", |_| services(&thief, &call) == 1);
    assert!(intruder.all().is_empty(), "{:?}", intruder.all());
    assert!(!building.logged("A").contains("taken over"), "{}", building.logged("A"));
    assert!(!building.logged("A").contains("no connection to"), "{}", building.logged("A"));
    building.wait_all_dark();
}
