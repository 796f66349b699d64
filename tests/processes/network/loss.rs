//! A network that loses much of what is sent, datagrams, connections and address resolution alike.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Times};

use super::building;

const THREE: [&str; 3] = ["A", "B", "C"];

/// How often a normal run presses every hall button of the building.
const ROUNDS: usize = 2;

/// F10, F12, P4: at this loss every press lights its lamp on every panel, and is served.
///
/// `LIFTMESH_ROUNDS=20 cargo test --test processes network::loss` presses more.
fn orders_are_placed_and_served_at_a_loss_of(percent: u8, limit: Duration) {
    let Some(mut building) = building(&THREE) else {
        return;
    };
    let rounds = match std::env::var("LIFTMESH_ROUNDS") {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => ROUNDS,
    };
    building.lan().lose(percent);
    let (mut lit, mut served) = (Times::default(), Times::default());
    for _ in 0..rounds {
        place_all(&building, &mut lit);
        for name in THREE {
            building.put_in(name);
        }
        let started = Instant::now();
        building.wait_all_dark();
        served.add(started.elapsed());
    }
    let (lost, all) = building.lan().lost();
    building.lan().mend();
    let mended = building.wait_for_master("A");
    let report = building.close_books();
    building.assert_safe();
    println!(
        "{lost} of {all} packets lost: press to all lamps {lit}; all served {served}; one group {mended:?} after the loss; {report:?}"
    );
    let share = 100 * lost / all.max(1);
    assert!(share.abs_diff(u64::from(percent)) <= 5, "{share} % were lost");
    assert!(lit.median() < limit, "lamps are slow: {lit}");
}

/// Presses every hall button, each on another panel than the one before, while no car can serve.
fn place_all(building: &Building, lit: &mut Times) {
    for name in THREE {
        building.panel(name).send("stop on").expect("the stop switch");
    }
    building.wait("every car rests", |building| {
        let mut cars = THREE.iter().map(|name| building.car(name));
        cars.all(|car| car.driven.is_none())
    });
    let ups = (0..5).map(|floor| building.hall(floor, Direction::Up));
    let downs = (1..6).map(|floor| building.hall(floor, Direction::Down));
    for (button, at) in ups.chain(downs).zip(THREE.iter().cycle()) {
        building.press(at, button);
        lit.add(building.wait_lit(&THREE, button));
    }
}

/// F10, F12, P4
#[test]
fn orders_are_placed_and_served_while_a_quarter_of_all_packets_is_lost() {
    orders_are_placed_and_served_at_a_loss_of(25, Duration::from_millis(500));
}

/// F10, F12, P4
#[test]
fn orders_are_placed_and_served_while_half_of_all_packets_is_lost() {
    orders_are_placed_and_served_at_a_loss_of(50, Duration::from_secs(1));
}

/// Each node shows which share of the beacons of each other one gets lost.
#[test]
fn the_share_of_beacons_that_is_shown_as_lost_is_the_one_that_gets_lost() {
    let Some(building) = building(&THREE) else {
        return;
    };
    building.lan().lose(20);
    building.wait("every node shows the loss", |building| {
        THREE.iter().all(|name| {
            let peers = building.status(name).map(|status| status.peers).unwrap_or_default();
            peers.len() == 2
                && peers
                    .iter()
                    .all(|peer| peer.loss.is_some_and(|loss| (0.14..0.26).contains(&loss)))
        })
    });
    let (lost, all) = building.lan().lost();
    building.lan().mend();
    for name in THREE {
        for peer in building.status(name).expect("it runs").peers {
            println!(
                "{name} of {}: loss {:?}, round trip {:?}",
                peer.node, peer.loss, peer.round_trip
            );
            assert!(
                peer.round_trip.is_some_and(|time| time < Duration::from_millis(100)),
                "{peer:?}"
            );
        }
    }
    println!("{lost} of {all} packets were lost");
    building.assert_safe();
}
