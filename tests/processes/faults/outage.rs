//! One process is killed, or suspended for a while, at the worst moment.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Times};

use super::{Bank, THREE};

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blow {
    /// SIGKILL; later it is started again.
    Kill,
    /// SIGSTOP; later SIGCONT.
    Suspend,
}

impl Blow {
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
fn a_hall_call_is_served_when_its_car_is_struck_on_its_way(blow: Blow) {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    // Not the master: that is another test.
    building.take_out("A");
    let button = building.hall(7, Direction::Down);
    building.press("A", button);
    building.wait_lit(&THREE, button);
    let victim = building.assignee("A");
    building.wait("the car is on its way", |building| building.car(victim).speed > 1.0);
    blow.strike(building, victim);
    let struck = Instant::now();
    let living: Vec<&str> = building.running().collect();
    let noticed = building.wait_for_master("A");
    building.wait_dark(&living, button);
    let served = struck.elapsed();
    blow.undo(building, victim);
    let synced = building.wait_for_master("A");
    building.put_in("A");
    building.wait_in_service(&THREE);
    building.close_books();
    building.assert_safe();
    println!(
        "{blow:?} of a car on its way: one group of the living after {noticed:?}, served after {served:?}, whole {synced:?} after its return"
    );
}

/// F6, F8
#[test]
fn a_hall_call_is_served_when_its_car_is_killed_on_its_way() {
    a_hall_call_is_served_when_its_car_is_struck_on_its_way(Blow::Kill);
}

/// F8, H1
#[test]
fn a_hall_call_is_served_when_its_car_is_suspended_on_its_way() {
    a_hall_call_is_served_when_its_car_is_struck_on_its_way(Blow::Suspend);
}

/// F7, E1, E2: the master is struck with orders open, its own car order among them.
fn every_order_is_served_when_the_master_is_struck(blow: Blow) {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    let (own, other) = (building.car_call(6), building.car_call(5));
    let halls = [building.hall(7, Direction::Down), building.hall(5, Direction::Up)];
    for (at, button) in [("A", own), ("B", other), ("C", halls[0]), ("C", halls[1])] {
        building.press(at, button);
    }
    for button in halls {
        building.wait_lit(&THREE, button);
    }
    building.wait_lit(&["A"], own);
    blow.strike(building, "A");
    let struck = Instant::now();
    let elected = building.wait_for_master("B");
    for button in halls {
        building.wait_dark(&["B", "C"], button);
    }
    let served = struck.elapsed();
    blow.undo(building, "A");
    let returned = building.wait_for_master("A");
    building.close_books();
    building.assert_safe();
    println!(
        "{blow:?} of the master: a new one after {elected:?}, hall calls served after {served:?}, the old one leads {returned:?} after its return"
    );
}

/// F7, F13, E1, E2
#[test]
fn every_order_is_served_when_the_master_is_killed() {
    every_order_is_served_when_the_master_is_struck(Blow::Kill);
}

/// F7, F8, E1, E2
#[test]
fn every_order_is_served_when_the_master_is_suspended() {
    every_order_is_served_when_the_master_is_struck(Blow::Suspend);
}

/// F11, F12: from the press on, at each of these moments the node is struck. If the lamp was lit,
/// on whichever panel, a car comes.
fn a_press_is_kept_when_its_node_is_struck_at_that_moment(blow: Blow) {
    let mut bank = Bank::open();
    let building = &mut bank.building;
    let mut noticed = Times::default();
    let mut lit = 0;
    // Milliseconds after the press, and a floor where no car is left from the time before.
    let moments = [(0, 7), (1, 3), (2, 5), (4, 1), (8, 6), (16, 2), (32, 4), (64, 7)];
    for (after, floor) in moments {
        let button = building.hall(floor, Direction::Down);
        building.press("C", button);
        std::thread::sleep(Duration::from_millis(after));
        blow.strike(building, "C");
        lit += u32::from(building.car("C").lamps.contains(&button));
        noticed.add(building.wait_for_master("A"));
        building.wait_dark(&["A", "B"], button);
        blow.undo(building, "C");
        building.wait_for_master("A");
        building.wait_in_service(&THREE);
        building.wait_dark(&THREE, button);
    }
    let report = building.close_books();
    building.assert_safe();
    println!(
        "{blow:?} within 64 ms of a press: lit {lit} times of 8, the others on their own after {noticed}; {report:?}"
    );
}

/// F11, F12, F13
#[test]
fn a_press_is_kept_when_its_slave_is_killed_at_that_moment() {
    a_press_is_kept_when_its_node_is_struck_at_that_moment(Blow::Kill);
}

/// F11, F12
#[test]
fn a_press_is_kept_when_its_slave_is_suspended_at_that_moment() {
    a_press_is_kept_when_its_node_is_struck_at_that_moment(Blow::Suspend);
}
