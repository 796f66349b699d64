//! A motor that dies in flight: the group notices long before the car counts as hung.

use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Availability, Timestamp, Unavailable};
use elevator_simulator::shaft::MotorFault;
use liftmesh_lab::{Fault, World};

use crate::building::{Building, car_call, mins, secs, up, without_parking};

/// Makes node 0's car fly between floors 0 and 1 and between 0 and 3 until it knows how long that
/// takes, and leaves it at floor 0; node 1's car ends at floor 3.
fn practised() -> Building {
    let mut building = Building::merged_of(without_parking(2));
    for _ in 0..6 {
        for floor in [1, 0, 3, 0] {
            ride(&mut building, 0, floor);
        }
    }
    ride(&mut building, 1, 3);
    // Until the doors are closed.
    building.run_for(secs(10));
    building
}

/// A passenger of this node's car rides to this floor.
fn ride(building: &mut Building, node: usize, floor: u8) {
    building.press(node, car_call(floor));
    building.until(secs(1), "lit", |w| w.is_lit(node, car_call(floor)));
    building.until_at_rest();
}

fn is_driven(building: &World, node: usize) -> bool {
    building.car(node).shaft().driven().is_some()
}

/// F9, H4, H5, O7
#[test]
fn another_car_starts_soon_after_a_motor_died() {
    let mut building = practised();
    building.press(1, up(1));
    building.until(secs(5), "the nearer car is under way", |w| is_driven(w, 0));
    assert!(!is_driven(&building, 1));
    building.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    let died = building.now();
    building.until(secs(20), "the other car starts", |w| is_driven(w, 1));
    let noticed = building.now().saturating_sub(died);
    let flight = Kinematics::default().slowest_flight();
    println!("the other car starts {noticed:?} after the motor died; a flight takes {flight:?}");
    assert!(noticed <= flight * 6 / 5, "{noticed:?}");
    assert!(building.node(0).is_some(), "nothing is latched yet");
    // H5: nothing but the limit of the driven time latches it.
    building.until(secs(20), "the node ends", |w| w.node(0).is_none());
    let hung = building.now().saturating_sub(died);
    assert!(hung <= secs(11), "{hung:?}");
    building.until(mins(1), "the call is served", |w| !w.is_lit(1, up(1)));
}

/// H1: a car that is slower than ever comes back by itself.
#[test]
fn a_car_that_was_overdue_comes_back_when_it_arrives() {
    let mut building = practised();
    building.press(0, car_call(3));
    building.until(secs(5), "under way", |w| is_driven(w, 0));
    building.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    building.until(secs(6), "overdue", |w| availability(w) == OVERDUE);
    building.inflict(Fault::Motor(0, None));
    building.until_at_rest();
    assert_eq!(availability(&building), Some(Availability::InService));
}

const OVERDUE: Option<Availability> = Some(Availability::Unavailable(Unavailable::Overdue));

/// What the group is told of node 0's car.
fn availability(world: &World) -> Option<Availability> {
    let now = Timestamp::after_start(world.now());
    Some(world.node(0)?.status(now).car?.view.availability)
}
