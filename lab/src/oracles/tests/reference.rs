//! Orders that vanish without a service.

use elevator_driver::Trip;

use super::*;

/// Three machines, each of which shows that somebody waits.
fn lit() -> World {
    let mut world = calm();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.press(1, up(2));
    world.run_for(Duration::from_millis(200));
    assert!(world.is_lit(0, up(2)) && world.is_lit(1, up(2)));
    assert_eq!(world.violations(), []);
    world
}

fn left(world: &World) -> usize {
    world.oracles.reference.left(&world.snapshot()).len()
}

#[test]
fn an_order_that_no_store_has_is_noticed() {
    let mut world = lit();
    for node in 0..3 {
        world.inflict(Fault::PowerCut(node));
    }
    world.inspect();
    assert_eq!(world.violations(), [], "their disks have it");
    for machine in &mut world.machines {
        machine.disk = crate::disk::Disk::new(JournalId(99));
    }
    // The other oracle of O1 is silent: it would say so too.
    world.judge(|oracles, snapshot| {
        let findings = oracles.reference.inspect(snapshot);
        oracles.verdicts.record(snapshot, findings);
    });
    complains(&world, "O1");
}

/// A press that the controller never heard of, because it ended at that moment, binds nobody, although
/// the lamp goes on: it promises what others have asked for.
#[test]
fn a_press_that_no_controller_has_heard_binds_nobody() {
    for is_heard in [true, false] {
        let mut world = calm();
        for node in 0..3 {
            world.inflict(Fault::StopSwitch(node, true));
        }
        world.run_for(Duration::from_millis(100));
        world.press(1, up(2));
        if is_heard {
            world.run_for(Duration::from_millis(5));
        }
        world.inflict(Fault::PowerCut(1));
        let name = world.machines[0].name.clone();
        world.oracles.reference.lit(&name, up(2), world.now);
        assert_eq!(left(&world), usize::from(is_heard));
    }
}

#[test]
fn an_order_for_which_no_car_comes_is_noticed() {
    let mut world = lit();
    assert_eq!(left(&world), 1);
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, false));
    }
    world.run_for(Duration::from_mins(1));
    assert_eq!(left(&world), 0, "a car has come");
}

#[test]
fn a_lamp_that_nobody_asked_for_binds_nobody() {
    let mut world = calm();
    let name = world.machines[0].name.clone();
    world.oracles.reference.lit(&name, up(1), Duration::ZERO);
    assert_eq!(left(&world), 0);
    world.oracles.reference.pressed(&name, up(1));
    world.oracles.reference.starting(true);
    world.oracles.reference.lit(&name, up(1), Duration::ZERO);
    assert_eq!(left(&world), 0, "its disk may be behind");
    world.oracles.reference.starting(false);
    world.oracles.reference.resumed(&name, Duration::ZERO);
    world.oracles.reference.lit(&name, up(1), Duration::ZERO);
    assert_eq!(left(&world), 0, "it may have waited during a suspension");
    let other = world.machines[1].name.clone();
    world.oracles.reference.resumed(&other, Duration::from_secs(1));
    world.oracles.reference.lit(&name, up(1), Duration::from_secs(1));
    assert_eq!(left(&world), 1);
}

/// A trip that a node finds on its disk may have been served while it was away; one that it shows
/// again may not.
#[test]
fn a_trip_that_a_node_has_found_on_its_disk_binds_nobody() {
    let mut world = calm();
    let name = world.machines[0].name.clone();
    let trip = Trip::new(Floor::BOTTOM, Floor::try_from(2).expect("a floor")).expect("a trip");
    let call = HallCall::to(trip.from(), trip.to()).map(Call::Hall).expect("a call");
    world.oracles.reference.requested(trip);
    world.oracles.reference.finds(&name, [call].into());
    world.oracles.reference.shown(&name, trip, Duration::ZERO);
    assert_eq!(left(&world), 0);
    world.oracles.reference.shown(&name, trip, Duration::from_secs(1));
    assert_eq!(left(&world), 1);
}
