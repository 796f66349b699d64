use elevator_driver::Trip;
use elevator_fleet::model::HallCall;

use super::*;

fn pair() -> World {
    let mut world = World::new(WorldSettings::new(2, 1)).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(1));
    world
}

fn trip() -> Trip {
    Trip::new(Floor::BOTTOM, Floor::try_from(1).expect("a floor")).expect("a trip")
}

/// P1: a passenger who asks for a trip that the kiosk shows as promised relies on the earlier press.
#[test]
fn a_trip_may_be_asked_for_again_before_any_disk_knows() {
    for pause in 0..12 {
        let mut world = pair();
        world.request(1, trip());
        world.run_for(Duration::from_millis(35));
        world.request(0, trip());
        world.run_for(Duration::from_millis(pause));
        world.request(1, trip());
        world.run_for(Duration::from_millis(50));
        assert_eq!(world.violations(), [], "{pause} ms");
    }
}

#[test]
fn a_promised_trip_of_which_no_disk_knows_is_noticed() {
    let mut world = pair();
    world.request(1, trip());
    world.run_for(Duration::from_millis(50));
    assert_eq!(world.violations(), []);
    for node in [0, 1] {
        world.inflict(Fault::DiskFail(node));
    }
    let call = HallCall::to(trip().from(), trip().to()).expect("a trip");
    let call = Call::Hall(call);
    world.oracles.promises.trip_is_over(1, &call);
    world.judge(|oracles, snapshot| {
        let findings = oracles.promises.trip_is_promised(snapshot, 1, &call);
        oracles.verdicts.record(snapshot, findings);
    });
    complains(&world, "P5");
}

/// F12: what is written behind a transaction that began on a slow disk waits for it.
#[test]
fn an_order_may_wait_for_a_disk_that_was_slow() {
    let mut world = pair();
    for node in [0, 1] {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.inflict(Fault::DiskFail(1));
    world.run_for(EQUAL_WITHIN);
    world.inflict(Fault::SlowDisk { node: 0, millis: 2_400 });
    world.press(0, up(1));
    world.run_for(Duration::from_millis(10));
    world.inflict(Fault::SlowDisk { node: 0, millis: 40 });
    world.press(1, up(2));
    world.run_for(Duration::from_secs(4));
    assert_eq!(world.violations(), []);
}

/// O1: what is over is looked at no more, until a lamp promises it again.
#[test]
fn a_press_that_is_promised_again_after_a_service_is_looked_at_again() {
    let mut world = pair();
    let call = Call::of_button(up(1), &world.machines[0].name);
    world.press(0, up(1));
    let is_served = |world: &World| world.history.served_at(&call).is_some();
    assert!(world.run_until(Duration::from_mins(1), is_served).is_some());
    world.run_for(Duration::from_secs(2));
    assert_eq!(world.broken_promises(), []);
    world.oracles.promises.promise(DOT, &call, None, world.now);
    world.inspect();
    complains(&world, "O1");
    assert_eq!(world.broken_promises()[0].id, "O1");
}
