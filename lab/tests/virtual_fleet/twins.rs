//! Two machines with one name, or one address: a mistake in the installation.

use elevator_driver::Button;
use elevator_fleet::model::Call;
use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Twins, World, WorldSettings};

use crate::building::{Building, car_call, down, mins, secs, seed, up};

/// Who presses what.
const PRESSES: [(usize, fn() -> Button); 6] = [
    (0, || up(1)),
    (1, || down(2)),
    (2, || up(2)),
    (0, || car_call(2)),
    (1, || car_call(3)),
    (2, || car_call(0)),
];

/// Three machines, of which the last two have something in common.
fn with(twins: Twins) -> Building {
    let mut settings = WorldSettings::new(3, seed());
    settings.twins = Some(twins);
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(3));
    building
}

/// Everything is served, the car calls of either machine by its own car.
fn each_serves_its_own(building: &mut Building) {
    press_everywhere(building);
    until_every_order_is_served(building);
    for (node, floor) in [(1, 3), (2, 0)] {
        let by = served_by(building, node, floor);
        assert_eq!(by, [node], "{}", building.story(80));
    }
}

fn until_every_order_is_served(building: &mut Building) {
    let pressed = PRESSES.map(|(node, button)| building.call(button(), node));
    building.until(mins(4), "every order is served", |w| {
        let dark = w.running().all(|node| w.lamps(node).is_empty());
        dark && pressed.iter().all(|call| w.served(call) > 0)
    });
    building.run_for(secs(2));
    let broken = building.broken_promises();
    assert!(broken.is_empty(), "{broken:?}");
}

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

/// The machines whose cars have served this car call of machine `node`.
fn served_by(world: &World, node: usize, floor: u8) -> Vec<usize> {
    let call = Call::of_button(car_call(floor), world.name(node));
    let services = world.services().iter();
    let services = services.filter(|service| service.call == call);
    services.map(|service| service.node).collect()
}

/// C7, O1, F13: each says so, keeps its own orders, and the building is served.
#[test]
fn two_nodes_of_one_name_say_so_and_neither_takes_over_the_others_orders() {
    let mut building = with(Twins::Name(1, 2));
    for node in [1, 2] {
        assert!(building.conflicts(node) > 0, "{node} says nothing");
    }
    each_serves_its_own(&mut building);
}

/// C7, O1, F13
#[test]
fn two_nodes_at_one_address_say_so_and_neither_takes_over_the_others_orders() {
    let mut building = with(Twins::Address(1, 2));
    for node in [1, 2] {
        assert!(building.conflicts(node) > 0, "{node} says nothing");
    }
    each_serves_its_own(&mut building);
}
