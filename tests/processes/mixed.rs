//! A fleet of two releases: what a node of the older one and those of this one make of each other, and
//! what an upgrade in place keeps.
//!
//! ```sh
//! git worktree add --detach ../liftmesh-old COMMIT
//! (cd ../liftmesh-old && cargo build --package liftmesh --no-default-features)
//! LIFTMESH_OLD=$PWD/../liftmesh-old/target/debug/liftmesh \
//!     cargo test --test processes mixed:: -- --nocapture
//! ```
//!
//! The older release has to have the same format of the journal, as the upgrade goes on with it.
//!
//! Without the variable the test says so and does nothing. That counts as no lack of the machine:
//! which release is the older one is for somebody to choose. `docs/PROTOCOL.md` has what was seen.

use elevator_driver::{Button, Direction, DoorState};
use elevator_fleet::node::{ConflictKind, Status};
use elevator_fleet::wire::NodeState;
use liftmesh_harness::building::{Building, Line};

/// Those of this release. Between them in the order of addresses is B, of the older one.
const NEW: [&str; 2] = ["A", "C"];

const FLOORS: u8 = 4;

const ALL: [&str; 3] = ["A", "B", "C"];

/// What nodes of two releases are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Members of one fleet.
    One,
    /// Each side reports the other's version, and serves alone.
    Apart,
}

fn company(status: &Status) -> Option<Company> {
    let is_peer = status.peers.iter().any(|peer| peer.node == "B");
    let is_other = status.conflicts.iter().any(|it| it.kind == ConflictKind::Version);
    match (is_peer, is_other) {
        (true, false) => Some(Company::One),
        (false, true) => Some(Company::Apart),
        // Not yet, or no longer: a conflict is shown for a minute.
        (false, false) | (true, true) => None,
    }
}

/// What those of this release have found, once they agree.
fn met(building: &Building) -> Company {
    let mut found = None;
    building.wait("A and C have met B", |building| {
        let of = |name| building.status(name).as_ref().and_then(company);
        let [a, c] = NEW.map(of);
        found = a.filter(|_| a == c);
        found.is_some()
    });
    found.expect("a company")
}

fn start_older(building: &mut Building, program: &str, name: &str) {
    building.use_program(program);
    building.start(name);
    building.use_program(env!("CARGO_BIN_EXE_liftmesh"));
}

/// A hall button at a floor where no car is: so the lamp is lit for a while (F18).
fn hall(building: &Building) -> Button {
    let running: Vec<_> = building.running().collect();
    building.wait("every door is closed", |building| {
        running.iter().all(|name| building.car(name).door == DoorState::Closed)
    });
    let taken = ALL.map(|name| building.car(name).floor);
    let free = |floor: &u8| !taken.contains(&Some(building.floor(*floor)));
    let floor = (0..FLOORS).rev().find(free).expect("more floors than cars");
    let direction = if floor == 0 { Direction::Up } else { Direction::Down };
    building.hall(floor, direction)
}

/// A hall call at this panel is shown on the panels of its company, on no other, and is served.
fn serves(building: &Building, panel: &str, shown_at: &[&str]) {
    let hall = hall(building);
    building.press(panel, hall);
    building.wait_lit(shown_at, hall);
    for other in ALL.iter().filter(|name| !shown_at.contains(name)) {
        assert!(!building.car(other).lamps.contains(&hall), "{other} shows it");
    }
    building.wait_dark(shown_at, hall);
}

/// A button in the car of B for a floor where it is not.
fn ride(building: &Building) -> Button {
    let is_there = building.car("B").floor == Some(building.floor(1));
    building.car_call(if is_there { 2 } else { 1 })
}

/// The car of B carries somebody to another floor: it is in service, which the status of an older
/// program need not say in words that this one knows.
fn carries(building: &Building) {
    let ride = ride(building);
    building.press("B", ride);
    building.wait_lit(&["B"], ride);
    building.wait_dark(&["B"], ride);
}

/// E1, F8, F13, O1: the two releases serve as one fleet, or as two beside each other, also when a
/// master is lost; the older node becomes one of this release with its journal, and goes back.
#[test]
fn an_older_release_serves_with_this_one_or_beside_it() {
    let Ok(older) = std::env::var("LIFTMESH_OLD") else {
        println!("skipped: LIFTMESH_OLD names no program of an older release");
        return;
    };
    let mut building = Building::new(FLOORS, Line::Serial);
    let key = building.make_key("fleet.key");
    building.use_keys(&key);
    for (name, number) in ALL.iter().zip(1..) {
        building.install(name, number);
    }
    for name in NEW {
        building.start(name);
    }
    building.wait_for_master_of(&NEW, "A");
    start_older(&mut building, &older, "B");
    let company = met(&building);
    println!("{older}: {company:?}");
    building.wait_in_service(&NEW);
    let beside = |panel: &'static str| match (company, panel) {
        (Company::One, _) => ALL.to_vec(),
        (Company::Apart, "B") => vec!["B"],
        (Company::Apart, _) => NEW.to_vec(),
    };
    carries(&building);
    for panel in ALL {
        serves(&building, panel, &beside(panel));
    }

    building.kill("A");
    building.wait("C has another master, or is it", |building| {
        let state = building.status("C").map(|status| status.node_state);
        match (company, state) {
            (Company::One, Some(NodeState::Slave { master })) => master == "B",
            (Company::Apart, Some(state)) => state == NodeState::Master,
            (Company::One, Some(NodeState::Master | NodeState::Seeking)) | (_, None) => false,
        }
    });
    let without = |panel: &'static str| -> Vec<&str> {
        beside(panel).into_iter().filter(|name| *name != "A").collect()
    };
    for panel in ["B", "C"] {
        serves(&building, panel, &without(panel));
    }
    building.start("A");
    building.wait("A leads again", |building| {
        let state = |name| building.status(name).map(|status| status.node_state);
        let follows = matches!(state("C"), Some(NodeState::Slave { master }) if master == "A");
        follows && state("A") == Some(NodeState::Master)
    });

    // The upgrade of B, with an open order on its disk.
    building.panel("B").send("stop on").expect("the stop switch");
    let ride = ride(&building);
    building.press("B", ride);
    building.wait_lit(&["B"], ride);
    building.kill("B");
    building.start("B");
    building.wait_for_master("A");
    building.wait_lit(&["B"], ride);
    building.put_in("B");
    building.wait_dark(&["B"], ride);
    building.wait_in_service(&ALL);
    serves(&building, "B", &ALL);

    // And back, with the journal that this release has written.
    assert!(building.stop("B").success());
    start_older(&mut building, &older, "B");
    assert_eq!(met(&building), company);
    carries(&building);
    serves(&building, "B", &beside("B"));
    building.assert_safe();
}
