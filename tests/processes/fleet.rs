//! Fleets of real processes: nodes and simulated cars, over pseudo-terminals and over TCP.

use elevator_driver::{Direction, Trip};
use elevator_simulator::ShownTrip;
use liftmesh_harness::building::{Building, Line};

const TWO: [&str; 2] = ["A", "B"];
const THREE: [&str; 3] = ["A", "B", "C"];

/// F1, F4, F12, F15, F16, F17, F18, P4, S1: press → order → mesh → car → door → lamp out. The lamp of
/// a car call is lit in its own car only.
fn any_button_is_lit_where_it_should_be_and_one_car_comes(line: Line) {
    let building = Building::without_parking(4, line, &THREE);
    // No car stands at any of these floors when the button is pressed.
    for (at, floor, direction) in
        [("A", 2, Direction::Up), ("B", 3, Direction::Down), ("C", 1, Direction::Up)]
    {
        let button = building.hall(floor, direction);
        building.press(at, button);
        building.wait_lit(&THREE, button);
        building.wait("a door is open there", |building| {
            THREE.iter().any(|name| building.is_open_at(name, floor))
        });
        building.wait_dark(&THREE, button);
        let came = THREE.iter().filter(|name| building.is_open_at(name, floor)).count();
        assert!(came <= 1, "{came} cars came to {button}");
    }
    let button = building.car_call(0);
    let car = THREE.into_iter().find(|name| building.car(name).floor != Some(building.floor(0)));
    let car = car.expect("one has left");
    building.press(car, button);
    building.wait_lit(&[car], button);
    building.wait("it has served it, and nobody else has shown it", |building| {
        for other in THREE.iter().filter(|name| **name != car) {
            assert!(!building.car(other).lamps.contains(&button), "lit on {other}");
        }
        building.is_open_at(car, 0)
    });
    building.wait_dark(&[car], button);
    building.assert_safe();
}

#[test]
fn any_button_is_lit_where_it_should_be_and_one_car_comes_over_pseudo_terminals() {
    any_button_is_lit_where_it_should_be_and_one_car_comes(Line::Serial);
}

#[test]
fn any_button_is_lit_where_it_should_be_and_one_car_comes_over_tcp() {
    any_button_is_lit_where_it_should_be_and_one_car_comes(Line::Tcp);
}

/// F12, F15, P1, S1: a passenger gives the destination at a kiosk, is shown a car, and that car takes
/// the passenger there. An operator's order is told its car as well.
#[test]
fn a_kiosk_shows_the_car_that_takes_its_passenger_there() {
    // The cars stand at floor 0, so that the trip is on show for as long as they fly.
    let building = Building::without_parking(6, Line::Serial, &TWO);
    let shown = |building: &Building, name: &str| -> Vec<ShownTrip> { building.car(name).kiosks };
    let [landing, destination] = [5, 0].map(|index| building.floor(index));
    let asked = Trip::new(landing, destination).expect("a trip");
    building.panel("B").request(asked).expect("a request");
    building.wait("both kiosks show a car", |building| {
        TWO.iter().all(|name| !shown(building, name).is_empty())
    });
    let [one] = shown(&building, "B").try_into().expect("one trip");
    assert_eq!((one.from, one.to), (landing, destination));
    let car = TWO.into_iter().find(|name| *name == one.car).expect("one of the two");
    building.wait_open_at(car, 5);
    building.wait_open_at(car, 0);
    building.wait("the kiosks are dark", |building| {
        TWO.iter().all(|name| shown(building, name).is_empty())
    });

    let said = building.done("B", &["order", "destination", "4", "1", "--wait", "assigned"]);
    let car = TWO.into_iter().find(|car| said.starts_with(&format!("hall 4 to 1 given to {car}")));
    let car = car.unwrap_or_else(|| panic!("{said}"));
    building.wait_open_at(car, 4);
    building.wait_open_at(car, 1);
    building.wait_all_dark();
    building.assert_safe();
}

/// S2, F16: the panel stops the motor of a controller that is killed in mid-flight.
#[test]
fn the_panel_stops_the_motor_of_a_killed_controller() {
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    building.fly("A", 19);
    building.kill("A");
    building.wait("the car stands", |building| building.car("A").driven.is_none());
    assert!(building.car("A").watchdog_stops > 0);
}

/// A node waits for a panel that is not there yet, and ends in order when asked to.
#[test]
fn a_node_waits_for_its_panel_and_ends_in_order() {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.tell("A", "fault line unplugged");
    building.start("A");
    building.wait("the node misses its panel", |building| {
        let car = building.status("A").and_then(|status| status.car);
        car.is_some_and(|car| car.connection.is_err())
    });
    building.tell("A", "fault line ok");
    building.wait_in_service(&["A"]);
    building.serve("A", &["A"], building.hall(3, Direction::Down));
    building.fly("A", 0);
    let stopped_before = building.car("A").watchdog_stops;
    assert!(building.stop("A").success());
    assert_eq!(building.car("A").watchdog_stops, stopped_before, "the node stopped the motor");
}
