//! A fleet with nothing wrong serves its passengers.

use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, car_call, down, millis, mins, secs, seed, up};

/// F1, F4, F12, F17, P2, P4
#[test]
fn any_hall_button_lights_on_every_panel_one_car_comes_and_the_lamps_go_out_everywhere() {
    for (node, button) in [(0, up(2)), (1, down(3)), (2, up(0)), (1, down(1))] {
        let mut building = Building::merged(3);
        building.press(node, button);
        let lit = building.until_all_show(button, true, secs(1));
        assert!(lit <= millis(100), "{lit:?}");
        building.until_all_show(button, false, mins(1));
        building.run_for(secs(5));
        assert_eq!(building.served(&building.call(button, node)), 1);
    }
}

/// F4, F12: a car lamp is its own panel's business.
#[test]
fn cab_lamps_are_not_shared() {
    let mut building = Building::merged(3);
    building.press(1, car_call(3));
    building.until(secs(1), "the car lamp is lit", |w| w.is_lit(1, car_call(3)));
    building.run_for(millis(200));
    assert!(!building.is_lit(0, car_call(3)) && !building.is_lit(2, car_call(3)));
    building.until_at_rest();
    let services = building.services();
    assert!(services.iter().all(|service| service.node == 1), "{services:?}");
}

/// F2, F12: a node alone lights its lamps on the strength of its own disk.
#[test]
fn a_node_alone_serves_its_passengers() {
    let mut building = Building::dark(1);
    building.start(0);
    building.run_for(secs(1));
    for button in [up(1), car_call(3), down(2)] {
        building.press(0, button);
    }
    building.until(secs(1), "all three are lit", |w| w.lamps(0).len() == 3);
    building.until_at_rest();
    assert_eq!(building.services().len(), 3);
}

/// S1: the simulated car complains of every unsafe request; a busy hour brings none.
#[test]
fn a_door_never_moves_while_the_car_does() {
    let mut building = Building::merged(3);
    let mut random = fastrand::Rng::with_seed(crate::building::seed());
    for _ in 0..100 {
        let floor = random.u8(0..4);
        let button = [up(floor), down(floor), car_call(floor)][random.usize(0..3)];
        let node = random.usize(0..3);
        building.press(node, button);
        match random.u8(0..12) {
            0 => building.inflict(Fault::Obstruct(node, true)),
            1 => building.inflict(Fault::StopSwitch(node, true)),
            2..8 => {
                building.inflict(Fault::Obstruct(node, false));
                building.inflict(Fault::StopSwitch(node, false));
            }
            _ => {}
        }
        building.run_for(millis(random.u64(10..3_000)));
    }
    building.recovers();
}

/// F17: two calls far apart are not served by one car.
#[test]
fn calls_are_shared_among_the_cars() {
    let mut building = Building::merged(4);
    for button in [up(0), down(3), up(2), down(1)] {
        building.press(0, button);
    }
    building.until_at_rest();
    let mut cars: Vec<usize> = building.services().iter().map(|s| s.node).collect();
    cars.sort_unstable();
    cars.dedup();
    assert!(cars.len() > 1, "{:?}", building.services());
}

/// Says how fast virtual time passes, which `--release` makes worth reading.
#[test]
#[expect(clippy::disallowed_methods, reason = "it measures how fast a world runs")]
fn virtual_time_outruns_the_clock() {
    let mut settings = WorldSettings::new(8, seed());
    settings.codec = false;
    settings.inspect = false;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(2));
    let (began, events) = (std::time::Instant::now(), building.events());
    building.run_for(secs(60));
    let took = began.elapsed();
    println!(
        "8 quiet nodes: {:.0} virtual seconds a second, {} events a virtual second",
        60.0 / took.as_secs_f64(),
        (building.events() - events) / 60
    );
    assert!(took < secs(60), "{took:?}");
}
