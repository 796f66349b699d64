//! Kiosks, with real processes over real pseudo-terminals: a passenger gives the destination at the
//! landing, is shown a car, and that car takes the passenger there.

use elevator_driver::{DoorState, Trip};
use elevator_simulator::ShownTrip;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    car.door == DoorState::Open && car.floor == Some(building.floor(floor))
}

fn shown(building: &Building, name: &str) -> Vec<ShownTrip> {
    building.car(name).kiosks
}

/// F12, F15, P1, S1
#[test]
fn a_kiosk_shows_the_car_that_takes_its_passenger_there() {
    // The cars stand at floor 0, so that the trip is on show for as long as they fly.
    let building = Building::without_parking(6, Line::Serial, &TWO);
    for (at, from, to) in [("B", 5, 0), ("A", 0, 5)] {
        let [landing, destination] = [from, to].map(|index| building.floor(index));
        let asked = Trip::new(landing, destination).expect("a trip");
        if from == 0 {
            // The other car is at floor 0, and would be there too soon to be seen.
            for name in TWO {
                building.press(name, building.car_call(3));
                building.wait("it is away", |building| is_open_at(building, name, 3));
            }
        }
        building.panel(at).request(asked).expect("a request");
        building.wait("both kiosks show a car", |building| {
            TWO.iter().all(|name| !shown(building, name).is_empty())
        });
        let [one] = shown(&building, at).try_into().expect("one trip");
        assert_eq!((one.from, one.to), (landing, destination));
        let car = TWO.into_iter().find(|name| *name == one.car).expect("one of the two");
        building.wait("it opens at the landing", |building| is_open_at(building, car, from));
        building.wait("it opens at the destination", |building| is_open_at(building, car, to));
        building.wait("the kiosks are dark", |building| {
            TWO.iter().all(|name| shown(building, name).is_empty())
        });
        building.wait_all_dark();
    }
    building.assert_safe();
}

/// An operator's order is told its car.
#[test]
fn an_order_with_a_destination_is_told_its_car() {
    let building = Building::without_parking(6, Line::Serial, &TWO);
    let words = ["order", "destination", "4", "1", "--wait", "assigned"];
    let output = building.operator("B", &words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let car = TWO.into_iter().find(|car| said.starts_with(&format!("hall 4 to 1 given to {car}")));
    let car = car.unwrap_or_else(|| panic!("{said}"));
    building.wait("it opens at the landing", |building| is_open_at(building, car, 4));
    building.wait("it opens at the destination", |building| is_open_at(building, car, 1));
    building.wait_all_dark();
}
