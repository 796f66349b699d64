//! One car is broken, and the others serve.

use std::time::Duration;

use elevator_driver::FloorCount;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Availability, Call, Timestamp, Unavailable};
use liftmesh_lab::{Fault, MotorFault, World};

use crate::building::{Building, car_call, is_open_at, mins, secs, up, without_parking};

fn availability(world: &World) -> Option<Availability> {
    let now = Timestamp::after_start(world.now());
    Some(world.node(0)?.status(now).car?.view.availability)
}

/// Lets time pass in which the car stays where it is with its door open.
fn stays_open(building: &mut Building, time: Duration) {
    let moved = building.run_until(time, |world| !is_open_at(world, 0, 2));
    assert_eq!(moved, None, "it stays\n{}", building.story(40));
}

/// H4, O7: at 110 % of the rated load. It comes for no hall call meanwhile.
#[test]
fn an_overloaded_car_stays_until_the_load_is_gone() {
    let mut settings = without_parking(2);
    settings.floors = FloorCount::new(6).expect("a shaft");
    let mut building = Building::merged_of(settings);
    building.press(0, car_call(2));
    building.until(mins(1), "its door is open", |world| is_open_at(world, 0, 2));
    building.inflict(Fault::Load(0, Some(110)));
    building.press(0, car_call(5));
    building.press_all(&[(1, up(3)), (1, up(4))]);
    stays_open(&mut building, secs(29));
    stays_open(&mut building, secs(2));
    let blocked = Availability::Unavailable(Unavailable::DoorBlocked);
    assert_eq!(availability(&building), Some(blocked));
    building.press(0, up(1));
    stays_open(&mut building, mins(1));
    assert!(!building.has_hall_calls(), "the other car serves");
    let hall = building.services().iter().filter(|it| matches!(it.call, Call::Hall(_)));
    assert!(hall.clone().count() == 3 && hall.clone().all(|it| it.node == 1), "{hall:?}");
    building.inflict(Fault::Load(0, Some(60)));
    building.until(secs(20), "it goes on", |world| is_open_at(world, 0, 5));
    assert_eq!(availability(&building), Some(Availability::InService));
    building.until_at_rest();
}

fn is_driven(building: &World, node: usize) -> bool {
    building.car(node).shaft().driven().is_some()
}

/// F9, H4, H5, O7
#[test]
fn another_car_starts_soon_after_a_motor_died() {
    let mut building = Building::merged_of(without_parking(2));
    // The car learns how long it takes between floors 0 and 1, and between 0 and 3.
    for floor in [1, 0, 3, 0].repeat(6) {
        building.serve(&[(0, car_call(floor))]);
    }
    building.serve(&[(1, car_call(3))]);
    // Until the doors are closed.
    building.run_for(secs(10));
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
