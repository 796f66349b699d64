//! What becomes of calls when the node that took them is lost at once, and who publishes under
//! `token-ring`.

use std::time::{Duration, Instant};

use elevator_fleet::wire::Protocol;
use fastrand::Rng;
use liftmesh_harness::building::{Building, Line, PATIENCE};

use super::broker::Broker;
use super::{PREFIX, building, hall, is_whole, services, start, text, topic};

/// A master that is killed within 200 ms of a call has acknowledged it, or not: it is served, and a
/// repetition with its id makes no second order.
#[test]
fn a_call_outlives_the_master_that_took_it() {
    let Some(broker) = Broker::open() else { return };
    let seed = std::env::var("LIFTMESH_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| fastrand::u64(..));
    println!("LIFTMESH_SEED={seed}");
    let mut random = Rng::with_seed(seed);
    let mut building = building(&["A", "B", "C"], &broker);
    let ear = broker.ear();
    for round in 0..4 {
        ear.wait(&topic("fleet"), |said| is_whole(said, "A", 3));
        // Cars wait at the top or the bottom, and at no door of a call.
        let (floor, direction) = [(1, "up"), (2, "down")][round % 2];
        let (call, id) = (hall(floor, direction), format!("round-{round}"));
        let request = text(&call, Some(&id));
        let before = services(&ear, &call);
        ear.call(PREFIX, &request, Some(("robot", &id)));
        std::thread::sleep(Duration::from_millis(random.u64(..200)));
        building.kill("A");
        let answer = ear.wait("robot", |said| said.correlation.as_ref() == Some(&id)).json();
        assert!(["placed", "absorbed"].contains(&answer["state"].as_str().expect("a state")));
        if answer["state"] == "placed" {
            building.wait("it is served", |_| services(&ear, &call) > before);
        }
        // The next publisher knows the request.
        ear.call(PREFIX, &request, Some(("robot", "again")));
        building.wait("the repetition is answered", |_| {
            let said = ear.on("robot");
            let again = said.iter().filter(|said| said.correlation.as_deref() == Some("again"));
            again.count() > round
        });
        building.wait("no order is left", |building| {
            building.status("B").is_some_and(|status| status.orders.is_empty())
        });
        start(&mut building, "A", &broker);
        building.wait_for_master("A");
        building.wait_in_service(&["A", "B", "C"]);
        let count = ear.on(&topic("fleet")).len();
        building.wait("A publishes again", |_| {
            let fleet = ear.on(&topic("fleet"));
            fleet[count..].iter().any(|said| is_whole(said, "A", 3))
        });
    }
    building.wait_all_dark();
    building.assert_safe();
}

/// The mastership goes round all the time; one node publishes all the while, and the next one when that
/// is lost.
#[test]
fn under_token_ring_the_first_node_publishes() {
    let Some(broker) = Broker::open() else { return };
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::TokenRing);
    for (name, number) in [("A", 1), ("B", 2), ("C", 3)] {
        building.install(name, number);
        start(&mut building, name, &broker);
    }
    building.wait_in_service(&["A", "B", "C"]);
    let ear = broker.ear();
    ear.wait(&topic("fleet"), |said| is_whole(said, "A", 3));
    let began = Instant::now();
    let heard = ear.on(&topic("fleet")).len();
    let mut masters = std::collections::BTreeSet::new();
    while masters.len() < 2 {
        assert!(began.elapsed() < PATIENCE, "the mastership goes round: {masters:?}");
        for said in &ear.on(&topic("fleet"))[heard..] {
            assert_eq!(said.node.as_deref(), Some("A"), "{said:?}");
            masters.extend(said.json()["master"].as_str().map(str::to_owned));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let call = hall(2, "up");
    ear.call(PREFIX, &text(&call, Some("1")), Some(("robot", "1")));
    ear.wait("robot", |said| said.json()["state"] == "placed");
    building.wait("it is served", |_| services(&ear, &call) > 0);
    building.kill("A");
    ear.wait(&topic("fleet"), |said| said.node.as_deref() == Some("B"));
    ear.call(PREFIX, &text(&hall(1, "up"), Some("2")), Some(("robot", "2")));
    let answer = ear.wait("robot", |said| said.correlation.as_deref() == Some("2"));
    assert_eq!(answer.node.as_deref(), Some("B"), "{answer:?}");
    building.wait_all_dark();
    building.assert_safe();
}
