//! A node is suspended while another car serves an order that it placed.

use std::time::Duration;

use liftmesh_lab::Fault;

use crate::building::{Building, down, millis, secs};

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
