//! Fifty buildings at one Mosquitto, one node each.

use std::time::Instant;

use elevator_fleet::model::Role;
use liftmesh_harness::building::{Building, Line, Machine};
use rumqttc::v5::mqttbytes::QoS;

use self::broker::Broker;

#[path = "../processes/mqtt/broker.rs"]
#[allow(dead_code, reason = "other tests use the rest of it")]
mod broker;

const CALL: &str = r#"{"call": {"kind": "hall", "floor": "2", "direction": "up"}}"#;

/// Each is shown, and each answers its own call.
#[test]
fn fifty_buildings_share_a_broker() {
    let _machine = Machine::alone();
    let Some(broker) = Broker::open() else { return };
    let ear = broker.ear();
    let sites: Vec<_> = (1..=50).map(|number| format!("site/{number}")).collect();
    let start = |site: &String| {
        let mut building = Building::new(4, Line::Serial);
        building.install_unit("A", 1, Role::ControlUnit);
        building.start_with("A", |command| {
            command.args(["--mqtt-broker", &broker.url(), "--mqtt-topic", site]);
        });
        building
    };
    let _buildings: Vec<_> = sites.iter().map(start).collect();
    for site in &sites {
        ear.wait(&format!("{site}/fleet"), |said| !said.payload.is_empty());
    }
    let begun = Instant::now();
    for site in &sites {
        let topic = format!("{site}/calls");
        ear.publish(QoS::AtLeastOnce, &topic, CALL.to_owned(), Some(("answers", site)));
    }
    for site in &sites {
        let answer = ear.wait("answers", |said| said.correlation.as_ref() == Some(site)).json();
        assert_eq!(answer["state"], "placed", "{site}: {answer}");
    }
    println!("{} buildings have answered after {:?}", sites.len(), begun.elapsed());
}
