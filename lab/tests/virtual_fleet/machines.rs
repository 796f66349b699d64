//! Machines that are not like the others: without a car, with a name or an address of another one.

use std::collections::BTreeMap;

use elevator_driver::Button;
use elevator_fleet::model::Role;
use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Twins, WorldSettings};

use crate::building::{Building, car_call, down, mins, secs, seed, up};

/// A unit without a car at the lowest address, and two cabins.
fn with_unit(role: Role) -> Building {
    let mut settings = WorldSettings::new(3, seed());
    settings.roles = BTreeMap::from([(0, role)]);
    Building::merged_of(settings)
}

/// C7, F4, F12, F17: the cars of the others serve under it, and what is pressed at a panel in a lobby.
#[test]
fn a_node_without_a_car_leads_and_is_never_assigned_an_order() {
    for role in [Role::ControlUnit, Role::Indicator] {
        let mut building = with_unit(role);
        for (node, button) in [(1, up(0)), (2, down(3)), (1, car_call(2))] {
            building.press(node, button);
            building.until(secs(1), "it is lit where it was pressed", |w| w.is_lit(node, button));
        }
        let mut expected = 3;
        if role == Role::Indicator {
            // A lobby has no car.
            building.press_all(&[(0, up(1)), (0, car_call(2))]);
            building.until_all_show(up(1), true, secs(1));
            assert!(!building.is_lit(0, car_call(2)));
            expected += 1;
        }
        building.until_at_rest();
        assert!(building.services().iter().all(|service| service.node != 0));
        assert_eq!(building.services().len(), expected);
    }
}

/// Who presses what.
const PRESSES: [(usize, fn() -> Button); 6] = [
    (0, || up(1)),
    (1, || down(2)),
    (2, || up(2)),
    (0, || car_call(2)),
    (1, || car_call(3)),
    (2, || car_call(0)),
];

/// Presses at each panel, for the landings and for the car, one after the other.
///
/// Whoever hears others that don't take its orders has nobody to promise them with: its lamps may
/// stay dark.
fn press_everywhere(building: &mut Building) {
    let follows = |node| matches!(building.node_state(node), Some(NodeState::Slave { .. }));
    let in_group = [true, follows(1), follows(2)];
    assert!(in_group[1] || in_group[2], "{}", building.story(80));
    for (node, button) in PRESSES {
        building.press(node, button());
        if in_group[node] {
            building.until(secs(1), "its lamp is lit", |w| w.is_lit(node, button()));
        }
    }
}

/// C7, O1, F13: each says so, keeps its own orders, and the building is served.
#[test]
fn two_nodes_of_one_name_or_address_say_so_and_neither_takes_over_the_others_orders() {
    for twins in [Twins::Name(1, 2), Twins::Address(1, 2)] {
        let mut settings = WorldSettings::new(3, seed());
        settings.twins = Some(twins);
        let mut building = Building::on(settings, secs(3));
        for node in [1, 2] {
            assert!(building.conflicts(node) > 0, "{node} says nothing");
        }
        press_everywhere(&mut building);
        let pressed = PRESSES.map(|(node, button)| building.call(button(), node));
        building.until(mins(4), "every order is served", |w| {
            let dark = w.running().all(|node| w.lamps(node).is_empty());
            dark && pressed.iter().all(|call| w.served(call) > 0)
        });
        building.run_for(secs(2));
        let broken = building.broken_promises();
        assert!(broken.is_empty(), "{broken:?}");
        for (node, floor) in [(1, 3), (2, 0)] {
            let call = building.call(car_call(floor), node);
            let services = building.services().iter().filter(|service| service.call == call);
            let by: Vec<usize> = services.map(|service| service.node).collect();
            assert_eq!(by, [node], "{}", building.story(80));
        }
    }
}
