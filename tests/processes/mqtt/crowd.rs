//! What others at the broker do: calls of many kinds at once, and clients that take the session's name.

use std::time::Duration;

use liftmesh_harness::building::Building;

use super::broker::Broker;
use super::{building, is_whole, topic};
use crate::http::client::{get, serving};

/// The client identifier of the fleet's session.
const SESSION: &str = "liftmesh/liftmesh/master";

/// A value of a node's metrics.
fn metric(building: &Building, name: &str) -> Option<f64> {
    let page = get(serving(building, 1), "/metrics").body;
    let line = page.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Mosquitto does not say that another client has the name now: the node yields all the same.
#[test]
fn a_node_yields_to_another_client_with_the_name_of_the_session() {
    let Some(broker) = Broker::open() else { return };
    let building = building(&["A"], &broker);
    let early = broker.ear();
    early.wait(&topic("fleet"), |said| is_whole(said, "A", 1));
    let thief = broker.ear_named(SESSION, broker.port(), |_| {});
    let taken = |building: &Building| {
        building.logged("A").matches("another node has taken over the MQTT connection").count()
    };
    building.wait("A has lost it", |building| taken(building) > 0);
    std::thread::sleep(Duration::from_secs(5));
    assert!(taken(&building) <= 4, "{}", building.logged("A"));
    assert!(!building.logged("A").contains("no connection with the MQTT broker"));
    drop(thief);
    building
        .wait("A publishes", |building| metric(building, "liftmesh_mqtt_publishing") == Some(1.0));
}
