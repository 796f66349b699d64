use std::collections::VecDeque;

use elevator_driver::{Button, Direction, FloorCount};
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Status;
use elevator_fleet::wire::{NodeState, Protocol};
use elevator_simulator::simulator::{Controller, SimulatorState};
use elevator_simulator::{CarConfig, SimulatedCar};
use liftmesh_harness::account::Tally;

use super::*;
use crate::operator::tests::busy_status;
use crate::screen::Choice;

/// The height of a floor, m.
const FLOOR: f64 = 3.0;

fn name(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

/// A car at rest at the lowest floor.
fn car(node: &str, last: u8) -> CarScene {
    let car = SimulatedCar::new(&CarConfig::new(FloorCount::new(6).unwrap()), 0).unwrap();
    let seen = SimulatorState {
        name: node.to_owned(),
        controller: Controller::Serial,
        unplugged: false,
        noise: 0,
        car: car.state(),
    };
    CarScene::new(name(node), [127, 0, 0, last].into(), seen)
}

fn scene() -> Scene {
    let floors = FloorCount::new(3).unwrap();
    let floor = |index| floors.floor(index).unwrap();
    let button = Button::Hall(floor(1), Direction::Up);
    let mut first = car("A", 11);
    first.node.life = Life::Running;
    first.node.said = Some(Box::new(Status { car: None, ..busy_status() }));
    let shown = &mut first.seen.car;
    shown.lamps = [button, Button::Car(floor(2))].into();
    shown.door = DoorState::Open;
    shown.door_fraction = 1.0;
    first.riding = 2;
    shown.indicator = Some(floor(0));
    shown.lantern = Some(Direction::Up);
    let mut second = car("B", 12);
    second.node.life = Life::Killed;
    second.seen.car.position = 1.5 * FLOOR;
    second.seen.car.indicator = Some(floor(1));
    Scene {
        elapsed: Duration::from_secs(83),
        phase: Phase::Traffic,
        power: Power::On,
        election: Protocol::LowestIp,
        leader: Some(name("A")),
        panel: "http://127.0.0.11:7080/#token=liftmesh-token-0123456789abcdef0123456789abcdef"
            .to_owned(),
        seed: 7,
        floors,
        cars: vec![first, second],
        orders: busy_status().orders,
        events: VecDeque::from([Event {
            at: Duration::from_secs(70),
            car: Some(name("B")),
            text: "killed".to_owned(),
            weight: Weight::Bad,
        }]),
        tally: Tally {
            placed: 9,
            served: 8,
            fetched: 8,
            waited: Duration::from_secs(64),
            late: Duration::from_secs(18),
            longest: Duration::from_secs(21),
            ..Tally::default()
        },
        arrived: 5,
        waiting: vec![0, 3, 9],
        choice: Choice { car: 1, floor: floor(1), ..Choice::default() },
    }
}

fn picture(scene: &Scene, width: u16, height: u16) -> String {
    screen::page(super::picture(scene), (width, height))
}

/// T1: whom all follow, one of them. Where the mastership rotates, each may know another one.
#[test]
fn the_master_is_whom_all_nodes_follow() {
    let mut scene = scene();
    scene.cars[1].node = scene.cars[0].node.clone();
    // The master of each of A and B, as it says.
    for (masters, leader, rotating) in [
        (["A", "A"], Some("A"), Some("A")),
        (["B", "B"], Some("B"), Some("B")),
        (["A", "B"], None, Some("A")),
        (["B", "A"], None, Some("B")),
        (["A", ""], None, None),
        (["C", "C"], None, None),
    ] {
        for (car, master) in scene.cars.iter_mut().zip(masters) {
            let state = match master {
                "" => NodeState::Seeking,
                master if car.name == *master => NodeState::Master,
                master => NodeState::Slave { master: name(master) },
            };
            car.node.said.as_mut().unwrap().node_state = state;
        }
        for (election, leader) in [(Protocol::LowestIp, leader), (Protocol::TokenRing, rotating)] {
            scene.election = election;
            assert_eq!(scene.agreed_master().map(NodeId::as_str), leader, "{masters:?}");
        }
    }
}

/// Eight cars and twenty floors.
fn large() -> Scene {
    let mut scene = scene();
    scene.floors = FloorCount::new(20).unwrap();
    scene.waiting = vec![2; 20];
    let names = ["A", "B", "C", "D", "E", "F", "G", "H"];
    let template = scene.cars[0].clone();
    scene.cars = names.map(|one| CarScene { name: name(one), ..template.clone() }).into();
    scene
}

#[test]
fn a_small_terminal_shows_the_chosen_car_and_floor_of_a_large_building() {
    let mut scene = large();
    for (car, floor, shafts, fleet) in [
        (0, 0, "Shafts A–C of 8, floors 0–13 of 20", "Fleet 1–5 of 8"),
        (4, 10, "Shafts D–F of 8, floors 3–16 of 20", "Fleet 3–7 of 8"),
        (7, 19, "Shafts F–H of 8, floors 6–19 of 20", "Fleet 4–8 of 8"),
    ] {
        scene.choice.car = car;
        scene.choice.floor = scene.floors.floor(floor).unwrap();
        let drawn = picture(&scene, 80, 25);
        for part in [shafts, fleet, "Open orders 1", "hall 1 up", "Events", "killed"] {
            assert!(drawn.contains(part), "no {part}:\n{drawn}");
        }
        let chosen = format!(" {} ★", scene.cars[car].name);
        assert!(drawn.contains(&chosen), "no{chosen}:\n{drawn}");
        assert!(drawn.contains(&format!("{floor:>3} ☻☻")), "{drawn}");
        for figure in ["placed 9", "served 8", "lost 0", "mean 8.0 s, P90 18.0 s", "arrived 5"] {
            assert!(drawn.contains(figure), "no {figure}:\n{drawn}");
        }
    }
}

/// Nothing is drawn over anything else: every frame is whole, if the terminal is large enough.
#[test]
fn every_size_of_terminal_can_be_drawn() {
    let sizes =
        (1..300).step_by(37).flat_map(|width| (1..80).step_by(9).map(move |it| (width, it)));
    for (width, height) in sizes.chain([(80, 22)]) {
        for scene in [scene(), large()] {
            let drawn = picture(&scene, width, height);
            if width < 80 || height < 22 {
                continue;
            }
            for corner in ['╭', '╮', '╰', '╯'] {
                let corners = drawn.matches(corner).count();
                assert_eq!(corners, 4, "{corner} at {width} × {height}:\n{drawn}");
            }
            for line in drawn.lines().filter(|line| line.starts_with('│')) {
                let is_whole = line.ends_with(['│', '╮', '╯']);
                assert!(is_whole, "{line} at {width} × {height}:\n{drawn}");
            }
        }
    }
    assert!(picture(&scene(), 70, 20).contains("80 × 22"));
}
