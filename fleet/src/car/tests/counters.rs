//! What a car counts for its maintenance. That no number decreases is checked at each tick.

use elevator_driver::{DoorState, PanelEvent, PanelInputs};

use super::shaft::{World, floor};
use crate::car::{Car, CarEvent, CarSettings, Maintenance};
use crate::model::{Counters, Wear};

/// A ride from the lowest floor to floor 3, once its door is closed again.
fn ride(world: &mut World) {
    world.press_car(3);
    world.run_until("served", World::is_quiet);
    world.run_until("closed", |w| w.door == DoorState::Closed);
    world.run(1);
}

/// The process ends and another one starts, with these counters on its disk.
fn restart(world: &mut World, counters: Option<&Counters>) {
    world.car = Car::new(world.car.settings().clone());
    world.car.restore_counters(counters);
    world.reconnect();
    world.update_stops();
}

#[test]
fn a_ride_counts_start_way_stop_and_door() {
    let mut world = World::at(0).settled();
    world.press_car(3);
    world.run_until("closing", |w| w.door == DoorState::Closing);
    world.obstruction = true;
    world.run_until("open again", |w| w.door == DoorState::Open);
    world.obstruction = false;
    ride(&mut world);
    let stops = vec![0, 0, 0, 1];
    let (trips, starts, door_cycles, reopenings, running, metres) = (1, 1, 1, 1, 3, 9);
    let expected =
        Counters { since: None, trips, starts, door_cycles, reopenings, running, metres, stops };
    assert_eq!(*world.car.counters(), expected);
    assert_eq!(world.car.take_counted(), Some(expected));
    let elsewhere = PanelInputs { load: Some(9), floor: Some(floor(3)), ..PanelInputs::default() };
    world.car.handle_panel(&PanelEvent::Inputs(elsewhere), world.now);
    assert_eq!(world.car.take_counted(), None, "nothing that counts");
}

/// In the middle of a flight, and of a door's cycle.
#[test]
fn numbers_go_on_after_a_restart_at_any_moment() {
    for ticks in (1..120).step_by(3) {
        let mut world = World::at(0).settled();
        world.press_car(3);
        world.run(ticks);
        let before = world.car.counters().clone();
        restart(&mut world, Some(&before));
        assert_eq!(*world.car.counters(), before, "{ticks}");
        ride(&mut world);
        let after = world.car.counters();
        // The restart stops the motor between two floors, and the new process does not know where.
        assert!((1..=2).contains(&after.trips) && (1..=3).contains(&after.starts), "{after:?}");
        assert!((1..=2).contains(&after.door_cycles) && after.metres <= 9, "{after:?}");
        assert_eq!(after.stops.iter().sum::<u64>(), after.trips);
    }
}

#[test]
fn maintenance_is_due_once_its_threshold_is_reached() {
    let mut world = World::at(0).settled();
    let maintenance = Maintenance { door_cycles: Some(1), hours: Some(1), starts: Some(3) };
    world.car = Car::new(CarSettings { maintenance, ..world.car.settings().clone() });
    world.reconnect();
    let said = |world: &World| {
        let due = |event: &CarEvent| {
            let CarEvent::MaintenanceDue { wear, count } = event else { return None };
            Some((*wear, *count))
        };
        world.events.iter().filter_map(due).collect::<Vec<_>>()
    };
    ride(&mut world);
    assert_eq!(said(&world), [(Wear::DoorCycles, 1)]);
    let counters = Counters { running: 7_200, ..world.car.counters().clone() };
    world.events.clear();
    restart(&mut world, Some(&counters));
    ride(&mut world);
    assert_eq!(said(&world), [(Wear::DoorCycles, 1), (Wear::Hours, 2)], "again after a start");
    assert!(!world.car.maintenance_due().contains(&Wear::Starts));
}
