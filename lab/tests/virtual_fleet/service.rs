//! A fleet with nothing wrong serves its passengers.

use crate::building::{Building, car_call, down, millis, mins, secs, up};

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
    let mut building = Building::merged(1);
    building.press_all(&[(0, up(1)), (0, car_call(3)), (0, down(2))]);
    building.until(secs(1), "all three are lit", |w| w.lamps(0).len() == 3);
    building.until_at_rest();
    assert_eq!(building.services().len(), 3);
}
