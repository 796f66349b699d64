//! A node is suspended while another car serves an order that it placed.

use std::time::Duration;

use liftmesh_lab::{Fault, World};

use crate::building::{Building, down, millis, secs, up};

/// O1, F8, H1: a slave learns of the service soon, whenever it resumes. Its master sends the
/// record, and it asks the car's node, to which it has no link. The lamp must not stay lit after
/// the car has left.
#[test]
fn a_resumed_slave_soon_learns_what_was_served() {
    const WITHIN: Duration = Duration::from_millis(150);
    let (press, slave, server) = (down(3), 2, 1);
    for after in (0..300).step_by(5) {
        let mut building = Building::merged(3);
        building.inflict(Fault::StopSwitch(0, true));
        building.inflict(Fault::StopSwitch(slave, true));
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

/// O1, P2, P4: the car that served is cut off, and the resumed node notices that only after it has
/// asked that car's node. It must not take the car for one that was gone before the press, of which
/// it hears in the same moment.
#[test]
fn a_resumed_node_learns_what_a_lost_car_served() {
    const WITHIN: Duration = Duration::from_millis(400);
    let (press, late, server) = (up(0), 2, 1);
    for suspended in [300, 1_500, 5_000] {
        let mut building = Building::merged(3);
        building.inflict(Fault::StopSwitch(0, true));
        building.inflict(Fault::StopSwitch(late, true));
        building.run_for(secs(1));
        let call = building.call(press, 0);
        building.inflict(Fault::Suspend(late));
        building.press(0, press);
        let what = "it is served";
        building.until(secs(30), what, |world: &World| world.served(&call) > 0);
        building.run_for(millis(50));
        building.inflict(Fault::Partition(vec![vec![0, late], vec![server]]));
        building.run_for(millis(suspended));
        building.inflict(Fault::Resume(late));
        building.run_for(millis(1));
        assert!(building.node(late).expect("it runs").orders().of_call(&call).count() > 0);
        let knows = |world: &World| {
            let store = world.node(late).expect("it runs").orders();
            store.of_call(&call).count() == 0 && !world.is_lit(late, press)
        };
        let took = building.until(WITHIN, "the service is known", knows);
        println!("after {suspended} ms: {took:?}");
        building.recovers();
    }
}
