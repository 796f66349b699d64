//! A network that loses much of what is sent, datagrams, connections and address resolution alike.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Times};

use super::building;

const THREE: [&str; 3] = ["A", "B", "C"];

/// F10, F12, P4: at each loss every press lights its lamp on every panel, and is served. Each node
/// shows which share of the beacons of each other one gets lost.
///
/// `LIFTMESH_ROUNDS=20 cargo test --test processes network::loss` presses more.
#[test]
fn orders_are_placed_and_served_while_packets_are_lost() {
    let Some(mut building) = building(&THREE, Protocol::LowestIp) else {
        return;
    };
    let rounds = std::env::var("LIFTMESH_ROUNDS").map_or(1, |text| text.parse().expect("a number"));
    for (percent, limit) in [(25, Duration::from_millis(500)), (50, Duration::from_secs(1))] {
        building.lan().lose(percent).unwrap();
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
        wait_shown(&building, f64::from(percent) / 100.0);
        let (lost, all) = building.lan().lost().unwrap();
        building.lan().repair().unwrap();
        let repaired = building.wait_for_master("A");
        println!(
            "{lost} of {all} packets lost: press to all lamps {lit}; all served {served}; one group {repaired:?} after the loss"
        );
        let share = 100 * lost / all.max(1);
        assert!(share.abs_diff(u64::from(percent)) <= 5, "{share} % were lost");
        assert!(lit.median() < limit, "lamps are slow: {lit}");
    }
    println!("{:?}", building.close_books());
    building.assert_safe();
}

fn wait_shown(building: &Building, share: f64) {
    building.wait("every node shows the loss", |building| {
        THREE.iter().all(|name| {
            let peers = building.status(name).map(|status| status.peers).unwrap_or_default();
            let is_near = |loss: f64| (loss - share).abs() < 0.15;
            peers.len() == 2 && peers.iter().all(|peer| peer.loss.is_some_and(is_near))
        })
    });
}

/// Presses every hall button, each on another panel than the one before, while no car can serve.
fn place_all(building: &Building, lit: &mut Times) {
    for name in THREE {
        building.tell(name, "stop on");
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
