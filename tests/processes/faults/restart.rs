//! Power cuts and returns: what stood on disk is there again.

use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction};
use liftmesh_harness::building::Building;

use super::{Bank, THREE};

/// Two hall calls, and a car call in each car.
fn orders(building: &Building) -> ([Button; 2], [(&'static str, Button); 3]) {
    let halls = [building.hall(6, Direction::Up), building.hall(3, Direction::Down)];
    let cars =
        [("A", building.car_call(7)), ("B", building.car_call(2)), ("C", building.car_call(4))];
    (halls, cars)
}

/// Nobody can serve, so that no lamp may go out.
fn light_all(building: &Building) {
    for name in THREE {
        building.take_out(name);
    }
    let (halls, cars) = orders(building);
    for (name, button) in cars {
        building.press(name, button);
    }
    for button in halls {
        building.press("B", button);
        building.wait_lit(&THREE, button);
    }
    for (name, button) in cars {
        building.wait_lit(&[name], button);
    }
}

/// Ends every node, and the memory of every panel.
fn cut_power(building: &mut Building) {
    building.kill_all(&THREE);
    for name in THREE {
        building.panel(name).send("fault panel restart").expect("a restart");
        building.wait("the lamps are dark", |building| building.car(name).lamps.is_empty());
    }
}

/// F13: all processes end at one moment, as soon as the lamps are lit.
#[test]
fn every_lit_order_is_served_after_a_power_cut_of_the_whole_building() {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    light_all(building);
    cut_power(building);
    let cut = Instant::now();
    for name in ["C", "B", "A"] {
        building.start(name);
    }
    let merged = building.wait_for_master("A");
    let (halls, cars) = orders(building);
    for button in halls {
        building.wait_lit(&THREE, button);
    }
    for (name, button) in cars {
        building.wait_lit(&[name], button);
    }
    let lit = cut.elapsed();
    for name in THREE {
        building.put_in(name);
    }
    building.wait_in_service(&THREE);
    let report = building.close_books();
    assert_eq!(report.tally.served, 5, "{report:?}");
    building.assert_safe();
    println!(
        "power cut: one group after {merged:?}, all lamps lit again after {lit:?}; {report:?}"
    );
}

/// F13, P3: nobody is there whom the node could ask.
#[test]
fn lamps_are_lit_from_disk_while_every_peer_is_dead() {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    light_all(building);
    building.wait("C has it all on disk", |building| {
        building.status("C").is_some_and(|status| status.durable)
    });
    cut_power(building);
    let (halls, cars) = orders(building);
    building.start("C");
    let started = Instant::now();
    for button in [halls[0], halls[1], cars[2].1] {
        building.wait_lit(&["C"], button);
    }
    let lit = started.elapsed();
    let status = building.status("C").expect("it runs");
    assert!(status.peers.is_empty(), "{status:?}");
    building.put_in("C");
    for button in [halls[0], halls[1], cars[2].1] {
        building.wait_dark(&["C"], button);
    }
    let served = started.elapsed();
    for name in ["A", "B"] {
        building.put_in(name);
        building.start(name);
    }
    building.wait_for_master("A");
    building.wait_in_service(&THREE);
    let report = building.close_books();
    building.assert_safe();
    println!(
        "alone after a power cut: lamps lit {lit:?} after its start, all served after {served:?}; {report:?}"
    );
}

/// F3, F13, F14, O5: the lowest address comes back to lit lamps with the disk that it had.
#[test]
fn the_lowest_address_returns_with_its_disk_and_every_lamp_stays_lit_until_served() {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    let before = building.hall(6, Direction::Up);
    let meanwhile = building.hall(3, Direction::Down);
    let car_call = building.car_call(7);
    for name in THREE {
        building.take_out(name);
    }
    building.press("A", car_call);
    building.press("A", before);
    building.wait_lit(&THREE, before);
    building.wait_lit(&["A"], car_call);
    building.kill("A");
    building.wait_for_master("B");
    building.press("C", meanwhile);
    building.wait_lit(&["B", "C"], meanwhile);
    building.start("A");
    let stay_lit = |building: &Building| {
        ["B", "C"].iter().all(|name| {
            let lamps = building.car(name).lamps;
            lamps.contains(&before) && lamps.contains(&meanwhile)
        })
    };
    let whole = building.wait("A is back", |building| {
        assert!(stay_lit(building), "a lamp went out unserved");
        building.are_led_by(&THREE, "A")
    });
    for button in [before, meanwhile] {
        building.wait_lit(&THREE, button);
    }
    building.wait_lit(&["A"], car_call);
    building.stays("the lamps are lit", Duration::from_millis(500), stay_lit);
    for name in THREE {
        building.put_in(name);
    }
    building.wait_in_service(&THREE);
    let report = building.close_books();
    assert_eq!(report.tally.served, 3, "{report:?}");
    building.assert_safe();
    println!("one group {whole:?} after the return of the lowest address; {report:?}");
}
