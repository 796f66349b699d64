//! A network that loses, repeats, delays and parts.

use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, WorldSettings};

use crate::building::{Building, down, millis, secs, seed, up, without_parking};

/// P2, O5: two nodes that do not hear each other, though the master hears both, learn from it what
/// the other's car has served.
#[test]
fn a_service_between_nodes_that_are_cut_off_from_each_other_darkens_the_lamp() {
    let mut settings = without_parking(3);
    settings.floors = FloorCount::new(8).expect("floors");
    let mut building = Building::on(settings, secs(5));
    building.inflict(Fault::Cut(1, 2));
    building.run_for(secs(5));
    // Only the car of the third can serve.
    building.stop_switches([0, 1], true);
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
        building.stop_switches([0, 2], true);
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
        building.stop_switches([0, 2], false);
        building.run_for(millis(100));
        building.inflict(Fault::Heal);
        building.until(secs(1), "the service is believed", |world| world.all_show(up(2), false));
        building.run_for(secs(20));
        assert_eq!(building.services().len(), 1, "{protocol}: nobody served it again");
        assert_eq!(building.violations(), [], "{protocol}");
    }
}

/// O1, F8, H1: a slave learns of the service soon, whenever it resumes. Its master sends the
/// record, and it asks the car's node, to which it has no link. The lamp must not stay lit after
/// the car has left.
#[test]
fn a_resumed_slave_soon_learns_what_was_served() {
    const WITHIN: Duration = Duration::from_millis(150);
    let (press, slave, server) = (down(3), 2, 1);
    for after in (0..300).step_by(5) {
        let mut building = Building::merged(3);
        building.stop_switches([0, slave], true);
        building.run_for(millis(500));
        let call = building.call(press, slave);
        building.press(slave, press);
        building.run_for(millis(64));
        assert!(building.is_lit(slave, press));
        building.inflict(Fault::Suspend(slave));
        // By then a real socket's buffer is full: later datagrams are dropped.
        building.run_for(millis(1_500));
        building.inflict(Fault::CutOneWay { from: server, to: slave });
        building.until(secs(30), "it is served", |world| world.served(&call) > 0);
        building.run_for(millis(after));
        building.inflict(Fault::Heal);
        building.inflict(Fault::Resume(slave));
        let what = format!("it is known, of a service {after} ms before");
        building.until(WITHIN, &what, |world| !world.is_lit(slave, press));
    }
}
