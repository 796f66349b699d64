//! An interface comes back with another address, and a sensor reports another floor.

use std::net::Ipv4Addr;

use liftmesh_lab::{Fault, World};

use crate::building::{Building, car_call, down, floor, lines, secs, up};

/// The interface of a machine goes away for a second, and has this address afterwards.
fn readdress(building: &mut Building, node: usize, last: u8) {
    let address = Ipv4Addr::new(127, 0, 0, last);
    building.inflict(Fault::NewAddress { node, address, millis: 1_000 });
    building.run_for(secs(3));
}

fn serves_at(building: &mut Building, node: usize) {
    building.press(node, up(1));
    building.press(node, down(2));
    building.press(node, car_call(3));
    building.until_at_rest();
    let violations = building.violations();
    assert!(violations.is_empty(), "{}", lines(&violations));
}

/// E7, C7: the address decides who leads; the name, the orders and the car remain.
#[test]
fn a_node_keeps_its_orders_under_a_new_address() {
    let mut building = Building::merged(3);
    assert_eq!(building.master(), Some(0));
    building.press(0, car_call(3));
    building.run_for(secs(1));

    readdress(&mut building, 0, 9);
    assert_eq!(building.master(), Some(1), "{}", building.story(80));
    readdress(&mut building, 2, 1);
    assert_eq!(building.master(), Some(2), "{}", building.story(80));
    serves_at(&mut building, 0);
    let call = building.call(car_call(3), 0);
    assert!(building.served(&call) > 0, "{}", building.story(80));
}

/// C7: an address that another machine has is not taken.
#[test]
fn an_interface_does_not_take_the_address_of_another() {
    let mut building = Building::merged(3);
    readdress(&mut building, 0, 2);
    assert_eq!(building.master(), Some(0));
    assert!(!building.inflicted().contains_key("new address"));
    serves_at(&mut building, 2);
}

/// O7, S1: a car that is led astray endangers nobody, and the others serve.
#[test]
fn a_wrong_sensor_stops_no_other_car() {
    let mut building = Building::merged(3);
    building.inflict(Fault::WrongSensor(0, Some((floor(2), floor(0)))));
    for panel in [1, 2] {
        building.press(panel, up(0));
        building.press(panel, up(2));
        building.press(panel, down(3));
    }
    let served = |world: &World| !world.has_hall_calls();
    let limit = secs(180);
    building.until(limit, "every hall call is served", served);
    let violations = building.violations();
    assert!(violations.is_empty(), "{}", lines(&violations));
    building.repair_everything();
    serves_at(&mut building, 0);
}
