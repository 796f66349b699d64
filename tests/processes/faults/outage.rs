//! A process is killed, or suspended for a while, at the worst moment.

use std::time::Instant;

use elevator_driver::Direction;

use super::{THREE, bank};

/// F6, F8, H1, H4: the car that was on its way is struck, and another one comes.
#[test]
fn a_hall_call_is_served_when_its_car_is_struck_on_its_way() {
    let mut building = bank();
    // No car is left at the second floor: one went to the first, and the other was struck near the
    // bottom.
    for (is_killed, floor) in [(true, 7), (false, 4)] {
        // Not the master: another test strikes that.
        building.take_out("A");
        let button = building.hall(floor, Direction::Down);
        building.press("A", button);
        building.wait_lit(&THREE, button);
        let victim = building.assignee("A");
        building.wait("its car is on its way", |building| building.car(victim).speed.abs() > 1.0);
        if is_killed {
            building.kill(victim);
        } else {
            building.suspend(victim);
        }
        let struck = Instant::now();
        let living: Vec<&str> = building.running().collect();
        let noticed = building.wait_for_master("A");
        building.wait_dark(&living, button);
        let served = struck.elapsed();
        if is_killed {
            building.start(victim);
        } else {
            building.resume(victim);
        }
        let synced = building.wait_for_master("A");
        building.put_in("A");
        building.wait_in_service(&THREE);
        println!(
            "a car on its way: one group of the living after {noticed:?}, served after \
             {served:?}, whole {synced:?} after its return"
        );
    }
    building.close_books();
    building.assert_safe();
}
