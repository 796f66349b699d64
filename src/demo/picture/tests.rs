use std::collections::VecDeque;

use elevator_driver::{Button, Direction, FloorCount};
use elevator_fleet::election::Detail;
use elevator_fleet::model::{Call, NodeId, Term};
use elevator_fleet::node::{OrderStatus, PeerStatus, Status};
use elevator_fleet::wire::{NodeState, Protocol};
use elevator_simulator::simulator::{Controller, SimulatorState};
use elevator_simulator::{CarConfig, SimulatedCar};
use liftmesh_harness::account::Tally;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::KeyCode;

use super::*;
use crate::operator::tests::busy_status;
use crate::screen::{Choice, draw, text};

mod svg;

/// The height of a floor, m.
const FLOOR: f64 = 3.0;

fn name(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

/// What a node says that hears nobody and has no orders.
fn says(node: &str, node_state: NodeState) -> Box<Status> {
    Box::new(Status {
        node: name(node),
        node_state,
        term: Term(2),
        election_state: Vec::new(),
        peers: Vec::new(),
        orders: Vec::new(),
        car: None,
        ..busy_status()
    })
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
    first.node.said = Some(says("A", NodeState::Master));
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
        master_changes: Some(1),
        arrived: 5,
        waiting: vec![0, 3, 9],
        choice: Choice { car: 1, floor: floor(1), ..Choice::default() },
    }
}

fn cells(scene: &Scene, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(super::picture(scene), frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn picture(scene: &Scene, width: u16, height: u16) -> String {
    text(&cells(scene, width, height))
}

/// C1: the state of the election has room in the narrowest usual terminal.
#[test]
fn two_lines_of_eighty_columns_show_the_master_and_the_election_state() {
    for (election, leader, details, lines) in [
        (
            Protocol::TokenRing,
            Some("A"),
            &[
                ("generation", "12 of B"),
                ("hop", "4711"),
                ("computations", "42"),
                ("token", "held, searching for next node"),
                ("peers in the ring", "11"),
            ][..],
            [
                " ★ A leads   node A ★ master, generation 12 of B, hop 4711, computations 42,",
                " token held, searching for next node, peers in the ring 11",
            ],
        ),
        (
            Protocol::Ballot,
            None,
            &[
                ("ballot", "voting"),
                ("own vote", "4294967294"),
                ("highest vote heard", "4294967295"),
                ("answers of devices", "1000"),
            ],
            [
                " no master known to all   node A ★ master, ballot voting, own vote 4294967294,",
                " highest vote heard 4294967295, answers of devices 1000",
            ],
        ),
    ] {
        let mut scene = scene();
        (scene.election, scene.choice.car) = (election, 0);
        (scene.leader, scene.master_changes) = (leader.map(name), None);
        let details = details.iter().map(|(name, value)| Detail {
            name: (*name).to_owned().into(),
            value: (*value).to_owned(),
        });
        scene.cars[0].node.said.as_mut().unwrap().election_state = details.collect();
        let drawn = picture(&scene, 80, 26);
        assert_eq!(drawn.lines().skip(1).take(2).collect::<Vec<_>>(), lines);
        assert!(drawn.contains("masters –"), "{drawn}");
    }
}

#[test]
fn a_car_moves_by_eighths_of_a_line() {
    let mut scene = scene();
    let pictures: std::collections::BTreeSet<String> = (0u8..24)
        .map(|step| {
            scene.cars[1].seen.car.position = f64::from(step) / 24.0 * FLOOR;
            picture(&scene, 100, 23)
        })
        .collect();
    assert!(pictures.len() >= 20, "{} pictures a floor", pictures.len());
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

/// Nothing is drawn over anything else: every frame is whole.
#[test]
fn every_frame_is_whole_from_the_smallest_terminal_on() {
    for scene in [scene(), large()] {
        for (width, height) in [(80, 22), (80, 24), (100, 30), (132, 40), (200, 50), (300, 80)] {
            let drawn = picture(&scene, width, height);
            let corners = |corner| drawn.matches(corner).count();
            for corner in ['╭', '╮', '╰', '╯'] {
                assert_eq!(corners(corner), 4, "{corner} at {width} × {height}:\n{drawn}");
            }
            let body = drawn.lines().filter(|line| line.starts_with('│'));
            for line in body {
                let edges = line.ends_with('│') || line.ends_with('╮') || line.ends_with('╯');
                assert!(edges, "{line} at {width} × {height}:\n{drawn}");
            }
        }
    }
}

/// The end of an event often names its floor.
#[test]
fn an_event_has_as_many_lines_as_it_needs_and_the_keys_can_be_listed() {
    let mut scene = large();
    scene.events[0].text = "served hall 12 down in 16.1 s".to_owned();
    let drawn = picture(&scene, 80, 24);
    assert!(drawn.contains("│ 01:10 B served hall 12 down in │\n"), "{drawn}");
    assert!(drawn.contains("│         16.1 s                 │\n"), "{drawn}");
    assert!(!drawn.contains("kill -9 the node"), "{drawn}");
    scene.choice.handle_key(KeyCode::Char('?'), 8, scene.floors);
    let drawn = picture(&scene, 80, 22);
    for (key, _, what) in KEYS.iter().copied().flatten() {
        assert!(drawn.contains(&format!(" {key:<7}{what}")), "{key}:\n{drawn}");
    }
}

/// Three cars, of which the middle one's node has just been killed.
fn of_the_docs() -> Scene {
    let floors = FloorCount::new(6).unwrap();
    let floor = |index| floors.floor(index).unwrap();
    let hall = |index, direction| Button::Hall(floor(index), direction);
    let mut scene = scene();
    let mut cars = ["A", "B", "C"].map(|one| CarScene { name: name(one), ..scene.cars[0].clone() });
    let lamps = [hall(1, Direction::Down), hall(2, Direction::Down)];
    for (car, last) in cars.iter_mut().zip(11..) {
        car.address = [127, 0, 0, last].into();
        car.seen.car.lamps = lamps.into();
        car.riding = 0;
    }
    let said = |node, node_state: NodeState, peer| {
        let heard = busy_status().peers.into_iter();
        let peers = heard.map(|heard| PeerStatus { node: name(peer), ..heard }).collect();
        Status { peers, ..*says(node, node_state) }
    };
    let slave = NodeState::Slave { master: name("A") };
    cars[0].node.said = Some(Box::new(said("A", NodeState::Master, "C")));
    cars[2].node.said = Some(Box::new(said("C", slave, "A")));
    cars[1].node.life = Life::Killed;
    cars[1].seen.car.lamps = [hall(1, Direction::Down), Button::Car(floor(0))].into();
    (cars[0].riding, cars[1].riding) = (1, 2);
    let [a, b, c] = &mut cars;
    let [a, b, c] = [a, b, c].map(|car| &mut car.seen.car);
    for (car, height, indicator, lantern) in
        [(a, 4.0, 4, None), (b, 1.0, 1, Some(Direction::Down)), (&mut *c, 2.55, 3, None)]
    {
        (car.position, car.indicator, car.lantern) =
            (height * FLOOR, Some(floor(indicator)), lantern);
    }
    (c.door, c.door_fraction, c.driven) = (DoorState::Closed, 0.0, Some(Direction::Down));
    let order = |button, waited, car: &str| OrderStatus {
        call: Call::of_button(button, &name("B")),
        waited: Duration::from_millis(waited),
        car: Some(name(car)),
        ..busy_status().orders.remove(0)
    };
    scene.orders = vec![
        order(hall(1, Direction::Down), 10_200, "C"),
        order(Button::Car(floor(0)), 4_900, "B"),
        order(hall(2, Direction::Down), 4_800, "A"),
    ];
    let event = |at, car: Option<&str>, text: &str, weight| Event {
        at: Duration::from_secs(at),
        car: car.map(name),
        text: text.to_owned(),
        weight,
    };
    scene.events = VecDeque::from([
        event(19, Some("A"), "served car A 4 in 16.1 s", Weight::Good),
        event(16, Some("C"), "no longer hears B", Weight::Notable),
        event(16, Some("A"), "no longer hears B", Weight::Notable),
        event(16, Some("A"), "lit hall 2 down", Weight::Plain),
        event(16, None, "passenger 2 → 0", Weight::Plain),
        event(16, Some("B"), "node killed (kill -9)", Weight::Bad),
        event(15, Some("B"), "lit car B 0", Weight::Plain),
        event(10, Some("C"), "lit hall 1 down", Weight::Plain),
        event(10, None, "passenger 1 → 0", Weight::Plain),
        event(4, Some("A"), "served hall 0 up in 1.5 s", Weight::Good),
        event(3, Some("A"), "lit car A 4", Weight::Plain),
        event(2, Some("B"), "lit hall 0 up", Weight::Plain),
    ]);
    scene.elapsed = Duration::from_secs(20);
    (scene.floors, scene.choice.floor, scene.seed) = (floors, floor(1), 11);
    scene.cars = cars.into();
    scene.waiting = vec![0, 0, 1, 0, 0, 0];
    scene.tally = Tally {
        placed: 5,
        served: 2,
        fetched: 1,
        waited: Duration::from_millis(1_500),
        late: Duration::from_millis(1_500),
        longest: Duration::from_millis(1_500),
        ..Tally::default()
    };
    (scene.master_changes, scene.arrived) = (Some(0), 1);
    scene
}

/// `LIFTMESH_DRAW=1 cargo test --lib documented` draws them anew.
#[test]
fn the_documented_pictures_are_what_the_screen_shows() {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let cells = cells(&of_the_docs(), 120, 36);
    let about =
        "Three simulated cars in their shafts, the fleet, open orders and events in a terminal";
    for (file, drawn) in [("demo.txt", text(&cells)), ("demo.svg", svg::svg(&cells, about))] {
        let file = docs.join(file);
        if std::env::var_os("LIFTMESH_DRAW").is_some() {
            std::fs::write(&file, &drawn).unwrap();
        }
        let shown = std::fs::read_to_string(&file).unwrap();
        assert!(shown == drawn, "{} is another picture", file.display());
    }
}
