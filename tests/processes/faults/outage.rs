//! One process is killed, or suspended for a while, at the worst moment.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Times};

use super::{THREE, bank};

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// SIGKILL; later it is started again.
    Kill,
    /// SIGSTOP; later SIGCONT.
    Suspend,
}

impl Blow {
    const BOTH: [Self; 2] = [Self::Kill, Self::Suspend];

    fn strike(self, building: &mut Building, name: &str) {
        match self {
            Self::Kill => building.kill(name),
            Self::Suspend => building.suspend(name),
        }
    }

    fn undo(self, building: &mut Building, name: &str) {
        match self {
            Self::Kill => building.start(name),
            Self::Suspend => building.resume(name),
        }
    }
}

/// F6, F8, H1, H4: the car that was on its way is struck, and another one comes.
#[test]
fn a_hall_call_is_served_when_its_car_is_struck_on_its_way() {
    let mut building = bank();
    // No car is left at the second floor: one went to the first, and the other was struck near the
    // bottom.
    for (blow, floor) in [(Blow::Kill, 7), (Blow::Suspend, 4)] {
        // Not the master: that is another test.
        building.take_out("A");
        let button = building.hall(floor, Direction::Down);
        building.press("A", button);
        building.wait_lit(&THREE, button);
        let victim = building.assignee("A");
        building.wait("its car is on its way", |building| building.car(victim).speed.abs() > 1.0);
        blow.strike(&mut building, victim);
        let struck = Instant::now();
        let living: Vec<&str> = building.running().collect();
        let noticed = building.wait_for_master("A");
        building.wait_dark(&living, button);
        let served = struck.elapsed();
        blow.undo(&mut building, victim);
        let synced = building.wait_for_master("A");
        building.put_in("A");
        building.wait_in_service(&THREE);
        println!(
            "{blow:?} of a car on its way: one group of the living after {noticed:?}, served after {served:?}, whole {synced:?} after its return"
        );
    }
    building.close_books();
    building.assert_safe();
}

/// F7, F8, F13, E1, E2: the master is struck with orders open, its own car order among them.
#[test]
fn every_order_is_served_when_the_master_is_struck() {
    let mut building = bank();
    for (blow, floors) in [(Blow::Kill, [7, 6, 5]), (Blow::Suspend, [1, 2, 3])] {
        let [halls @ .., own] = floors;
        let own = building.car_call(own);
        let halls = halls.map(|floor| building.hall(floor, Direction::Down));
        building.press("A", own);
        for button in halls {
            building.press("C", button);
            building.wait_lit(&THREE, button);
        }
        building.wait_lit(&["A"], own);
        blow.strike(&mut building, "A");
        let struck = Instant::now();
        let elected = building.wait_for_master("B");
        for button in halls {
            building.wait_dark(&["B", "C"], button);
        }
        let served = struck.elapsed();
        blow.undo(&mut building, "A");
        let returned = building.wait_for_master("A");
        building.wait_all_dark();
        println!(
            "{blow:?} of the master: a new one after {elected:?}, hall calls served after {served:?}, the old one leads {returned:?} after its return"
        );
    }
    building.close_books();
    building.assert_safe();
}

/// F11, F12, F13: from the press on, at each of these moments the node is struck. If the lamp was
/// lit, on whichever panel, a car comes.
#[test]
fn a_press_is_kept_when_its_slave_is_struck_at_that_moment() {
    let mut building = bank();
    let mut noticed = Times::default();
    let mut lit = 0;
    // Milliseconds after the press, and a floor where no car is left from the time before.
    let moments = [(0, 7), (1, 3), (2, 5), (4, 1), (8, 6), (16, 2), (32, 4), (64, 7)];
    for (blow, (after, floor)) in Blow::BOTH.into_iter().cycle().zip(moments) {
        let button = building.hall(floor, Direction::Down);
        building.press("C", button);
        std::thread::sleep(Duration::from_millis(after));
        blow.strike(&mut building, "C");
        lit += u32::from(building.car("C").lamps.contains(&button));
        noticed.add(building.wait_for_master("A"));
        building.wait_dark(&["A", "B"], button);
        blow.undo(&mut building, "C");
        building.wait_for_master("A");
        building.wait_in_service(&THREE);
        building.wait_dark(&THREE, button);
    }
    let report = building.close_books();
    building.assert_safe();
    println!(
        "struck within 64 ms of a press: lit {lit} times of 8, the others on their own after {noticed}; {report:?}"
    );
}
