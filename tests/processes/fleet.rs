//! Fleets of real processes: nodes and simulated cars, over pseudo-terminals and over TCP.

use std::time::Duration;

use elevator_driver::{Direction, DoorState};
use elevator_simulator::CarState;
use liftmesh_harness::building::{Building, Line};

const THREE: [&str; 3] = ["A", "B", "C"];

/// F1, F4, F12, F15, F17, F18, P4, S1: press → order → mesh → car → door → lamp out.
fn any_hall_button_lights_everywhere_and_one_car_comes(line: Line) {
    let building = Building::without_parking(4, line, &THREE);
    // No car stands at any of these floors when the button is pressed.
    for (at, floor, direction) in
        [("A", 2, Direction::Up), ("B", 3, Direction::Down), ("C", 1, Direction::Up)]
    {
        let button = building.hall(floor, direction);
        building.press(at, button);
        building.wait_lit(&THREE, button);
        building.wait("a door is open there", |building| {
            THREE.iter().any(|name| is_open_at(building, name, floor))
        });
        building.wait_dark(&THREE, button);
        let came = THREE.iter().filter(|name| is_open_at(&building, name, floor)).count();
        assert!(came <= 1, "{came} cars came to {button}");
    }
    building.assert_safe();
}

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    let open = car.door == DoorState::Open || car.door_lamp;
    open && car.floor == Some(building.floor(floor))
}

/// F15, F16
#[test]
fn any_hall_button_lights_everywhere_and_one_car_comes_over_pseudo_terminals() {
    any_hall_button_lights_everywhere_and_one_car_comes(Line::Serial);
}

/// F15, F16
#[test]
fn any_hall_button_lights_everywhere_and_one_car_comes_over_tcp() {
    any_hall_button_lights_everywhere_and_one_car_comes(Line::Tcp);
}

/// F12, S1
#[test]
fn a_cab_lamp_is_lit_in_its_own_car_only() {
    let building = Building::with_cars(6, Line::Serial, &THREE);
    let button = building.car_call(5);
    building.press("B", button);
    building.wait_lit(&["B"], button);
    building.wait("B has served it, and nobody else has shown it", |building| {
        for other in ["A", "C"] {
            assert!(!building.car(other).lamps.contains(&button), "lit on {other}");
        }
        is_open_at(building, "B", 5)
    });
    building.wait_dark(&["B"], button);
    building.assert_safe();
}

/// F2, F3: no matter who starts first, the lowest address leads in the end.
#[test]
fn the_lowest_address_becomes_master_in_any_starting_order() {
    let mut building = Building::new(4, Line::Tcp);
    for (name, number) in [("A", 1), ("B", 2), ("C", 3)] {
        building.install(name, number);
    }
    for order in [["A", "B", "C"], ["C", "B", "A"], ["B", "C", "A"]] {
        for (name, started) in order.into_iter().zip(1..) {
            building.start(name);
            let lowest = order[..started].iter().min().expect("somebody");
            building.wait_for_master(lowest);
        }
        for name in order {
            assert!(building.stop(name).success());
        }
    }
}

/// F3, F14
#[test]
fn a_fourth_car_joins_with_no_change_to_the_others() {
    let mut building = Building::with_cars(4, Line::Serial, &THREE);
    let terms = |building: &Building| {
        THREE.map(|name| building.status(name).map(|status| (status.node_state, status.term)))
    };
    let before = terms(&building);
    building.install("D", 4);
    building.start("D");
    building.wait_for_master("A");
    assert_eq!(terms(&building), before);
    let button = building.hall(2, Direction::Down);
    building.press("D", button);
    building.wait_lit(&["A", "B", "C", "D"], button);
    building.wait_dark(&["A", "B", "C", "D"], button);
}

/// F6: the orders of a slave that is gone are redistributed and served.
#[test]
fn a_killed_slaves_orders_are_served_by_the_others() {
    let mut building = Building::with_cars(8, Line::Serial, &THREE);
    let button = building.hall(7, Direction::Down);
    building.panel("A").send("stop on").expect("the stop switch");
    building.wait("A is out of the group", |building| {
        building
            .status("B")
            .and_then(|status| status.peers.into_iter().find(|peer| peer.node == "A"))
            .and_then(|peer| peer.car)
            .is_some_and(|car| !car.is_in_service())
    });
    building.press("A", button);
    let victim = assignee(&building, "A");
    building.kill(victim);
    building.wait_dark(&["A"], button);
    building.wait_for_master("A");
    building.assert_safe();
}

/// F7: each slave becomes a master, they merge, and the orders of the dead one are served.
#[test]
fn a_killed_masters_orders_are_served_by_the_survivors() {
    let mut building = Building::with_cars(8, Line::Tcp, &THREE);
    let buttons = [building.hall(7, Direction::Down), building.hall(5, Direction::Up)];
    for button in buttons {
        building.press("C", button);
        building.wait_lit(&THREE, button);
    }
    building.kill("A");
    for button in buttons {
        building.wait_dark(&["B", "C"], button);
    }
    building.wait_for_master("B");
    building.assert_safe();
}

/// F13, F14, O5: the lowest address returns knowing nothing, and takes nothing from the others.
#[test]
fn the_lowest_address_returns_with_an_empty_store_and_no_lamp_goes_out_unserved() {
    let mut building = Building::with_cars(8, Line::Serial, &THREE);
    building.kill("A");
    building.wipe("A");
    building.wait_for_master("B");
    // Nobody can serve: a lamp that goes out now has gone out unserved.
    for name in THREE {
        building.panel(name).send("stop on").expect("the stop switch");
    }
    let buttons = [building.hall(6, Direction::Up), building.hall(3, Direction::Down)];
    let survivors = ["B", "C"];
    for button in buttons {
        building.press("C", button);
        building.wait_lit(&survivors, button);
    }
    building.start("A");
    building.wait("A is back", |building| {
        for name in survivors {
            for button in buttons {
                assert!(building.car(name).lamps.contains(&button), "{button} dark on {name}");
            }
        }
        building.are_led_by(&THREE, "A")
    });
    for button in buttons {
        building.wait_lit(&THREE, button);
    }
    building.stays("the lamps are lit", Duration::from_millis(500), |building| {
        THREE.iter().all(|name| buttons.iter().all(|b| building.car(name).lamps.contains(b)))
    });
    for name in THREE {
        building.panel(name).send("stop off").expect("the stop switch");
    }
    for button in buttons {
        building.wait_dark(&THREE, button);
    }
    building.assert_safe();
}

/// F13: a node's own car orders come back with it.
#[test]
fn a_killed_nodes_cab_orders_are_served_after_its_restart() {
    let mut building = Building::with_cars(8, Line::Serial, &["A", "B"]);
    building.panel("B").send("stop on").expect("the stop switch");
    let button = building.car_call(7);
    building.press("B", button);
    building.wait_lit(&["B"], button);
    building.kill("B");
    building.panel("B").send("stop off").expect("the stop switch");
    building.start("B");
    building.wait("B has brought its passenger", |building| is_open_at(building, "B", 7));
    building.wait_dark(&["B"], button);
}

/// S2, F16: the panel stops the motor of a controller that is killed in mid-flight.
#[test]
fn the_panel_stops_the_motor_of_a_killed_controller() {
    let mut building = Building::with_cars(40, Line::Serial, &["A"]);
    building.press("A", building.car_call(39));
    building.wait("the car moves", |building| building.car("A").speed > 1.0);
    building.kill("A");
    building.wait("the car stands", |building| building.car("A").driven.is_none());
    assert!(building.car("A").watchdog_stops > 0);
}

/// A node waits for a panel that is not there yet, and ends in order when asked to.
#[test]
fn a_node_waits_for_its_panel_and_ends_in_order() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.panel("A").send("fault line unplugged").expect("unplugged");
    building.wait("the node misses its panel", |building| {
        building
            .status("A")
            .and_then(|status| status.car)
            .is_some_and(|car| car.connection.is_err())
    });
    assert!(building.stop("A").success());
    building.start("A");
    building.wait("the node runs without a panel", |building| building.status("A").is_some());
    building.panel("A").send("fault line ok").expect("plugged");
    let button = building.hall(3, Direction::Down);
    building.wait("the panel is back", |building| {
        building.status("A").and_then(|status| status.car).is_some_and(|car| car.connection.is_ok())
    });
    building.press("A", button);
    building.wait_lit(&["A"], button);
    building.wait_dark(&["A"], button);
    building.press("A", building.car_call(0));
    building.wait("the car moves", |building| building.car("A").driven.is_some());
    let stopped_before = building.car("A").watchdog_stops;
    assert!(building.stop("A").success());
    assert_eq!(
        building.car("A").watchdog_stops,
        stopped_before,
        "the node itself stopped the motor"
    );
}

/// F9: a motor that does not move its car ends the program with a code of its own, and the others
/// serve.
#[test]
fn a_hung_motor_ends_the_program_and_the_others_serve() {
    let mut building = Building::with_cars(8, Line::Serial, &["A", "B"]);
    building.panel("A").send("fault motor stuck").expect("a fault");
    building.press("A", building.car_call(5));
    let button = building.hall(6, Direction::Down);
    building.press("A", button);
    assert_eq!(building.exit("A").code(), Some(3));
    building.wait_dark(&["B"], button);
    building.wait_for_master("B");
}

/// C4, V11, K1, K2: from the sensors over every panel line and the network to every display; a
/// reading lapses when its node is killed.
#[test]
fn the_average_temperature_is_on_every_display_and_a_killed_nodes_reading_lapses() {
    let mut building = Building::with_cars(4, Line::Serial, &THREE);
    let set = |building: &Building, name: &str, climate: &str| {
        let set = building.panel(name).send(&format!("climate {climate}"));
        set.expect("a climate");
    };
    for (name, climate) in [("A", "18 40"), ("B", "21 80"), ("C", "27 120")] {
        set(&building, name, climate);
    }
    building.wait("every display shows the average", |building| {
        THREE.iter().all(|name| shows(&building.car(name), "22.0 C "))
    });
    assert_eq!(building.status("A").expect("it runs").climate.own.temperature, Some(18));
    building.wait("the master says of whom it is the average", |building| {
        THREE.iter().filter_map(|name| building.status(name)).any(|status| {
            let units = status.climate.units.iter().map(|unit| unit.unit.as_str());
            status.climate.average == Some(22.0) && units.eq(THREE)
        })
    });

    set(&building, "B", "none none");
    building.wait("the dead sensor is left out", |building| {
        THREE.iter().all(|name| shows(&building.car(name), "22.5 C "))
    });
    // A new master would have no reading of it.
    let master_stays = building.follow(&THREE, "A");
    building.kill("C");
    let took = building.wait("the reading of the killed node lapses", |building| {
        let left = ["A", "B"];
        left.iter().all(|name| shows(&building.car(name), "18.0 C "))
    });
    assert!(!master_stays || took > Duration::from_secs(3), "it counts while it is fresh");
    building.kill("A");
    building.wait("the next master knows of no temperature", |building| {
        shows(&building.car("B"), "-- C ")
    });
    set(&building, "B", "-7 10");
    building.wait("it shows its own", |building| shows(&building.car("B"), "-7.0 C "));
    building.start("A");
    building.wait("the master that is back counts both", |building| {
        let there = ["A", "B"];
        there.iter().all(|name| shows(&building.car(name), "5.5 C "))
    });
}

/// Whether the display begins so, ends with a time of day, and is lit.
fn shows(car: &CarState, temperature: &str) -> bool {
    let Some(time) = car.display_text.strip_prefix(temperature) else {
        return false;
    };
    let time = time.split_once(':');
    let is_number =
        |text: &str, below: u8| text.len() == 2 && text.parse().is_ok_and(|n: u8| n < below);
    let is_time = time.is_some_and(|(hour, minute)| is_number(hour, 24) && is_number(minute, 60));
    is_time && car.display_brightness.is_some_and(|brightness| brightness > 0)
}

fn assignee(building: &Building, at: &str) -> &'static str {
    let mut found = None;
    building.wait("a car is assigned", |building| {
        let orders = building.status(at).map(|status| status.orders).unwrap_or_default();
        let car = orders.into_iter().find_map(|order| order.car);
        found = THREE.into_iter().find(|name| car.as_ref().is_some_and(|car| car == name));
        found.is_some()
    });
    found.expect("somebody")
}
