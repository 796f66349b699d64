//! Nodes without a car: they hold orders and lead, but are never assigned one.

use std::collections::BTreeMap;

use elevator_fleet::model::Role;
use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, car_call, down, mins, secs, seed, up};

/// A unit without a car at the lowest address, and two cabins.
fn with_unit(role: Role) -> Building {
    let mut settings = WorldSettings::new(3, seed());
    settings.roles = BTreeMap::from([(0, role)]);
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(2));
    assert_eq!(building.master(), Some(0), "a unit leads as any node does");
    building
}

/// C7, F17, F4: the cars of the others serve under it.
#[test]
fn a_node_without_a_car_leads_and_is_never_assigned_an_order() {
    for role in [Role::ControlUnit, Role::Indicator] {
        let mut building = with_unit(role);
        for (node, button) in [(1, up(0)), (2, down(3)), (1, car_call(2))] {
            building.press(node, button);
            building.until(secs(1), "it is lit where it was pressed", |w| w.is_lit(node, button));
        }
        building.until_at_rest();
        assert!(building.services().iter().all(|service| service.node != 0));
        assert_eq!(building.services().len(), 3);
    }
}

/// F12, C7: a panel in a lobby has hall buttons; what is pressed there is lit and served.
#[test]
fn a_hall_call_from_a_lobby_is_served_and_a_cab_call_there_is_none() {
    let mut building = with_unit(Role::Indicator);
    building.press(0, up(1));
    building.press(0, car_call(2));
    building.until_all_show(up(1), true, secs(1));
    building.until_all_show(up(1), false, mins(1));
    assert!(!building.is_lit(0, car_call(2)));
    building.until_at_rest();
    assert_eq!(building.services().len(), 1);
}

/// F4, F12: a unit's copy of an order counts like any other.
#[test]
fn a_node_without_a_car_keeps_the_orders_of_those_that_have_one() {
    let mut building = with_unit(Role::ControlUnit);
    building.inflict(Fault::Kill(2));
    building.run_for(secs(2));
    building.press(1, up(2));
    building.until(secs(1), "it is lit", |w| w.is_lit(1, up(2)));
    building.inflict(Fault::Kill(1));
    building.run_for(secs(2));
    building.start(2);
    building.until(mins(1), "another car serves it", |w| {
        w.services().iter().any(|service| service.node == 2)
    });
    building.start(1);
    building.until_at_rest();
}
