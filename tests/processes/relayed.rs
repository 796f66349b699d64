//! What real processes do behind a relay that delays, loses, repeats, overtakes and corrupts what
//! they send each other, datagrams and links alike, and cuts one direction.
//!
//! The tests need root and `ip`; without them they say so and do nothing, or fail where
//! `LIFTMESH_SKIPS_FAIL` is set. They print what they measure (`--nocapture` shows it).

use std::time::{Duration, Instant};

use elevator_driver::{Direction, DoorState};
use elevator_fleet::wire::NodeState;
use elevator_simulator::CarState;
use liftmesh_harness::building::{Building, Passed, Times, Weather};

const FOUR: [&str; 4] = ["A", "B", "C", "D"];

const FLOORS: u8 = 6;

/// How often a normal run presses at every floor in one stage.
const ROUNDS: usize = 2;

/// What a bad wireless bridge does, and more.
fn rough() -> Weather {
    Weather {
        loss: 5,
        duplication: 20,
        corruption: 1,
        delay: Duration::ZERO..=Duration::from_millis(40),
    }
}

/// Presses at every floor, on one panel after the other; each press lights its lamp.
fn press_all(building: &Building, panels: &[&str], lit: &mut Times) {
    let rounds = match std::env::var("LIFTMESH_ROUNDS") {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => ROUNDS,
    };
    let mut panels = panels.iter().cycle();
    for round in 0..rounds {
        for floor in 0..FLOORS {
            let is_up = (usize::from(floor) + round) % 2 == 0;
            let button = match (floor, is_up) {
                (0, _) => building.hall(0, Direction::Up),
                (floor, true) if floor + 1 < FLOORS => building.hall(floor, Direction::Up),
                (floor, _) => building.hall(floor, Direction::Down),
            };
            let panel = panels.next().expect("they go round");
            let pressed = Instant::now();
            building.press(panel, button);
            // Any car that stands there with its door open serves it at once (F18).
            let at = building.floor(floor);
            let is_open = |car: &CarState| car.floor == Some(at) && car.door != DoorState::Closed;
            building.wait("the press is answered", |building| {
                let is_lit = building.car(panel).lamps.contains(&button);
                is_lit || FOUR.iter().any(|node| is_open(&building.car(node)))
            });
            lit.add(pressed.elapsed());
        }
        building.wait_all_dark();
    }
}

fn assert_rough(passed: Passed) {
    let share = |count: u64| 1_000 * count / passed.datagrams.max(1);
    assert!(passed.datagrams > 1_000, "{passed:?}");
    // In thousandths; a cut adds to what gets lost.
    assert!((30..=200).contains(&share(passed.lost)), "{passed:?}");
    assert!((150..=250).contains(&share(passed.duplicated)), "{passed:?}");
    assert!((5..=20).contains(&share(passed.corrupted)), "{passed:?}");
    assert!(share(passed.overtaking) > 50, "{passed:?}");
    assert!(passed.links > 0 && passed.pieces > 0, "{passed:?}");
}

/// E1, E4, F6, F7, F10, F12, P4, S1: every order is served while all of it happens at once; one
/// direction between two slaves is cut, the master is killed and comes back.
#[test]
fn orders_are_served_behind_a_relay() {
    let Some(mut building) = Building::with_relay(FLOORS) else {
        return;
    };
    building.fill(&FOUR);
    building.open_books();
    building.relay().set(rough());
    let mut lit = Times::default();
    press_all(&building, &FOUR, &mut lit);
    building.relay().one_way(3, 4);
    press_all(&building, &FOUR, &mut lit);
    building.kill("A");
    let killed = Instant::now();
    building.wait("B, C and D have another master", |building| {
        let states = ["B", "C", "D"].map(|name| building.status(name).map(|one| one.node_state));
        let masters = states.iter().filter(|state| **state == Some(NodeState::Master)).count();
        let slaves = states.iter().filter(
            |state| matches!(state, Some(NodeState::Slave { master }) if master.as_str() != "A"),
        );
        masters == 1 && slaves.count() == 2
    });
    let failover = killed.elapsed();
    press_all(&building, &["B", "C", "D"], &mut lit);
    building.relay().heal();
    building.start("A");
    press_all(&building, &FOUR, &mut lit);
    let passed = building.relay().passed();
    building.relay().set(Weather::default());
    let whole = building.wait_for_master("A");
    let report = building.close_books();
    building.assert_safe();
    println!(
        "{passed:?}: press to lamp {lit}; the next master {failover:?} after the kill; one group \
         {whole:?} after the end; {report:?}"
    );
    assert_rough(passed);
}
