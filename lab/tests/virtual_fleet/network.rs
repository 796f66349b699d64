//! A network that loses, repeats, delays and parts.

use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, car_call, down, millis, mins, secs, seed, up, without_parking};

/// F8, F14: what is served on one side does not come back, what is not stays.
#[test]
fn both_sides_of_a_partition_serve_and_the_merge_unites_them() {
    let mut building = Building::merged(4);
    building.inflict(Fault::Partition(vec![vec![0, 1], vec![2, 3]]));
    building.run_for(secs(2));
    assert_eq!((building.master_of(&[0, 1]), building.master_of(&[2, 3])), (Some(0), Some(2)));
    building.press(1, up(1));
    building.press(3, down(3));
    building.run_for(millis(50));
    building.until(mins(1), "each side has served its own", World::is_idle);
    assert_eq!(building.services().len(), 2);
    // One that stays open on one side: both its cars stand still.
    for node in [2, 3] {
        building.inflict(Fault::StopSwitch(node, true));
    }
    building.press(2, up(2));
    building.run_for(secs(1));
    assert!(building.is_lit(2, up(2)) && building.is_lit(3, up(2)));
    building.inflict(Fault::Heal);
    building.until(secs(2), "the lamp is lit on both sides", |w| w.all_show(up(2), true));
    building.until_at_rest();
    building.recovers();
    assert_eq!(building.services().len(), 3, "nothing came back");
}

/// E6: nobody is lost where packets travel for up to 100 ms, and none for much less.
#[test]
fn a_slow_network_costs_no_peer() {
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(4, seed());
        settings.election = ElectionSettings::of(protocol);
        // The ring takes a token back that is not acknowledged within 150 ms.
        let most = if protocol == Protocol::TokenRing { 70_000 } else { 100_000 };
        settings.weather.delay = most - 5_000..=most;
        settings.weather.duplication = 5;
        let mut building = Building::of(settings);
        building.start_all();
        building.run_for(secs(10));
        building.inflict(Fault::Kill(2));
        building.run_for(secs(5));
        building.inflict(Fault::Restart(2));
        building.run_for(secs(10));
        let losses = building.mesh_traffic().losses;
        building.run_for(mins(2));
        assert_eq!(building.mesh_traffic().losses, losses, "{protocol}: {}", building.story(40));
    }
}

/// F14: one call, pressed on both sides and served on both, is done with.
#[test]
fn a_call_that_both_sides_served_does_not_come_back() {
    let mut building = Building::merged(4);
    building.inflict(Fault::Partition(vec![vec![0, 1], vec![2, 3]]));
    building.run_for(secs(2));
    building.press(1, up(1));
    building.press(3, up(1));
    building.run_for(millis(50));
    building.until(mins(1), "each side has served it", World::is_idle);
    building.inflict(Fault::Heal);
    building.recovers();
    assert_eq!(building.served(&building.call(up(1), 0)), 2);
}

/// F14: a merge in the middle of things.
#[test]
fn sides_that_meet_while_both_serve_lose_nothing() {
    for wait in [0, 40, 300, 2_000, 7_000] {
        let mut building = Building::merged(4);
        building.press(0, up(0));
        building.press(3, down(3));
        building.inflict(Fault::Partition(vec![vec![0, 3], vec![1, 2]]));
        building.run_for(millis(500));
        for (node, button) in
            [(0, up(1)), (1, up(1)), (2, down(2)), (3, car_call(0)), (1, car_call(3))]
        {
            building.press(node, button);
        }
        building.run_for(millis(wait));
        building.inflict(Fault::Heal);
        building.recovers();
    }
}

/// F10
#[test]
fn lost_datagrams_do_no_harm() {
    let mut settings = WorldSettings::new(4, seed());
    settings.weather.loss = 5;
    settings.weather.duplication = 5;
    settings.weather.delay = 100..=40_000;
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(5));
    assert_eq!(building.master(), Some(0));
    for (node, button) in [(0, up(1)), (1, down(2)), (2, up(0)), (3, car_call(3))] {
        building.press(node, button);
        building.run_for(secs(2));
    }
    building.until_at_rest();
    building.recovers();
}

/// F10, F12: heavy loss makes it slower, not worse.
#[test]
fn at_25_and_50_per_cent_loss_lamps_light_and_orders_are_served() {
    for loss in [25, 50] {
        let mut building = Building::merged(4);
        building.inflict(Fault::Loss(loss));
        let mut times: Vec<Duration> = Vec::new();
        for round in 0..12 {
            let button = [up(0), up(1), up(2), down(1), down(2), down(3)][round % 6];
            building.until(mins(2), "the lamp of the last press is dark", |w| {
                w.all_show(button, false)
            });
            // An open door takes a press with no lamp (F18).
            let away =
                |w: &World| (0..4).find(|n| w.car(*n).inputs().floor != Some(button.floor()));
            building.until(mins(1), "some car is elsewhere", |w| away(w).is_some());
            let node = away(&building).unwrap_or_default();
            let call = building.call(button, node);
            let before = building.served(&call);
            building.press(node, button);
            times.push(building.until(secs(10), "the lamp is lit, or the call served", |w| {
                w.is_lit(node, button) || w.served(&call) > before
            }));
            building.run_for(millis(700));
        }
        times.sort_unstable();
        println!("{loss} % loss: lit after {:?} (median), {:?} (most)", times[6], times[11]);
        building.until(mins(5), "every order is served", World::is_idle);
        building.recovers();
        assert!(times[11] < secs(2), "{times:?}");
    }
}

/// P2, O5: two nodes that do not hear each other, though the master hears both, learn from it what
/// the other's car has served.
#[test]
fn a_service_between_nodes_that_are_cut_off_from_each_other_darkens_the_lamp() {
    let mut settings = without_parking(3);
    settings.floors = FloorCount::new(8).expect("floors");
    let mut building = Building::of(settings);
    building.start_all();
    building.run_for(secs(5));
    building.inflict(Fault::Cut(1, 2));
    building.run_for(secs(5));
    // Only the car of the third can serve.
    for node in [0, 1] {
        building.inflict(Fault::StopSwitch(node, true));
    }
    for (node, button) in [(1, up(3)), (0, down(5)), (1, down(2))] {
        building.press(node, button);
        building.until_all_show(button, true, secs(1));
        building.until_all_show(button, false, secs(40));
        building.run_for(secs(15));
        assert!(building.all_show(button, false), "{button} is lit again");
    }
}

/// O1, C7: what a car served while it was out of sight is believed as soon as it is heard again,
/// wherever it stood when it was last seen, and whether a link or a beacon comes first.
#[test]
fn a_service_out_of_sight_is_believed() {
    for (protocol, more) in Protocol::ALL.into_iter().flat_map(|it| (0..4).map(move |at| (it, at)))
    {
        let mut settings = WorldSettings::new(3, seed() + more);
        settings.election = ElectionSettings::of(protocol);
        let mut building = Building::of(settings);
        building.start_all();
        // Only the second car serves.
        for node in [0, 2] {
            building.inflict(Fault::StopSwitch(node, true));
        }
        building.run_for(secs(30));
        building.press(2, up(2));
        building.run_for(millis(100));
        assert!(building.all_show(up(2), true), "{protocol}");
        // The others hear the second, but not the other way round: they are lost to each other.
        building.inflict(Fault::OneWayPartition { from: vec![0, 2], to: vec![1] });
        building.run_for(secs(30));
        assert_eq!(building.services().len(), 1, "{protocol}");
        assert!(building.is_lit(0, up(2)) && building.is_lit(2, up(2)), "{protocol}");
        // Only who can have an order served after all refuses what it hears of a service.
        for node in [0, 2] {
            building.inflict(Fault::StopSwitch(node, false));
        }
        building.run_for(millis(100));
        building.inflict(Fault::Heal);
        building.until(secs(1), "the service is believed", |world| world.all_show(up(2), false));
        building.run_for(secs(20));
        assert_eq!(building.services().len(), 1, "{protocol}: nobody served it again");
        assert_eq!(building.violations(), [], "{protocol}");
    }
}
