//! One car is broken, and the other serves.

use elevator_fleet::dispatch::Kinematics;
use liftmesh_lab::{Fault, MotorFault, World};

use crate::building::{Building, car_call, mins, secs, up, without_parking};

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
    let flight = Kinematics::default().travel(1);
    println!("the other car starts {noticed:?} after the motor died; a flight takes {flight:?}");
    assert!(noticed <= flight * 6 / 5, "{noticed:?}");
    assert!(building.node(0).is_some(), "nothing is latched yet");
    // H5: nothing but the limit of the driven time latches it.
    building.until(secs(20), "the node is stopping", |w| w.node(0).is_none());
    let hung = building.now().saturating_sub(died);
    assert!(hung <= secs(11), "{hung:?}");
    building.until(mins(1), "the call is served", |w| !w.is_lit(1, up(1)));
}
