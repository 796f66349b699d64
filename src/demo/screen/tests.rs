use std::collections::{BTreeMap, VecDeque};

use elevator_driver::{Button, Direction, DoorState, FloorCount};
use elevator_fleet::election::Detail;
use elevator_fleet::model::{Call, FleetName, Mac, NodeId, Role, Term};
use elevator_fleet::node::{
    ClimateStatus, DispatchStatus, OrderStatus, PeerStatus, RefusedStatus, Status,
};
use elevator_fleet::wire::{NodeState, Protocol};
use liftmesh_harness::account::Tally;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::super::scene::{CarScene, Event, Life, Power, Scene, Weight};
use super::*;

mod svg;

fn name(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

/// What a node says that hears nobody and has no orders.
fn says(node: &str, node_state: NodeState) -> Box<Status> {
    let address = [127, 0, 0, 11].into();
    Box::new(Status {
        node: name(node),
        role: Role::Cabin,
        fleet: FleetName::new("demo").unwrap(),
        address,
        mac: Mac::of(address),
        election: Protocol::LowestIp,
        election_state: Vec::new(),
        floors: FloorCount::new(3).unwrap(),
        uptime: Duration::from_secs(80),
        node_state,
        state_since: Duration::from_secs(70),
        term: Term(2),
        digest: 0,
        registers: 0,
        refused: RefusedStatus::default(),
        dispatch: DispatchStatus::default(),
        durable: true,
        disk_failed: false,
        fleet_keys: elevator_fleet::node::FleetKeysStatus::default(),
        log_lines_lost: 0,
        mqtt_refused: Vec::new(),
        mesh: BTreeMap::new(),
        queues: BTreeMap::new(),
        peers: Vec::new(),
        lost: Vec::new(),
        hangs: Vec::new(),
        conflicts: Vec::new(),
        settings: Vec::new(),
        settings_held: true,
        access: elevator_fleet::node::AccessStatus::default(),
        schedule: None,
        orders: Vec::new(),
        car: None,
        climate: ClimateStatus::default(),
    })
}

fn scene() -> Scene {
    let floors = FloorCount::new(3).unwrap();
    let floor = |index| floors.floor(index).unwrap();
    let button = Button::Hall(floor(1), Direction::Up);
    let call = Call::of_button(button, &name("A"));
    let mut first = CarScene::new(name("A"), [127, 0, 0, 11].into());
    first.node.life = Life::Running;
    first.node.said = Some(says("A", NodeState::Master));
    first.lamps = [button, Button::Car(floor(2))].into();
    first.door = DoorState::Open;
    first.door_fraction = 1.0;
    first.riding = 2;
    first.indicator = Some(floor(0));
    first.lantern = Some(Direction::Up);
    let mut second = CarScene::new(name("B"), [127, 0, 0, 12].into());
    second.node.life = Life::Killed;
    second.height = 1.5;
    second.indicator = Some(floor(1));
    second.display = "21.4 C 10:05".to_owned();
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
        orders: vec![OrderStatus {
            call,
            waited: Duration::from_millis(12_300),
            car: Some(name("A")),
            holders: 2,
            held_by: Vec::new(),
            durable_at: Vec::new(),
            promised: true,
        }],
        events: VecDeque::from([Event {
            at: Duration::from_secs(70),
            car: Some(name("B")),
            text: "killed".to_owned(),
            weight: Weight::Bad,
        }]),
        tally: Tally {
            placed: 9,
            served: 8,
            lost: 0,
            unserved: 0,
            fetched: 8,
            waited: Duration::from_secs(64),
            late: Duration::from_secs(18),
            longest: Duration::from_secs(21),
        },
        master_changes: Some(1),
        arrived: 5,
        waiting: vec![0, 3, 9],
        car: 1,
        floor: floor(1),
    }
}

fn cells(scene: &Scene, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(scene, frame)).unwrap();
    terminal.backend().buffer().clone()
}

fn picture(scene: &Scene, width: u16, height: u16) -> String {
    text(&cells(scene, width, height))
}

fn text(buffer: &Buffer) -> String {
    buffer
        .content()
        .chunks(usize::from(buffer.area.width))
        .map(|row| row.iter().map(ratatui::buffer::Cell::symbol).collect::<String>())
        .map(|row| row.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn the_screen_shows_shafts_lamps_nodes_orders_events_and_the_account() {
    let expected = include_str!("golden.txt");
    let drawn = picture(&scene(), 100, 25);
    assert_eq!(drawn, expected, "drawn:\n{drawn}");
}

fn details(pairs: &[(&str, &str)]) -> Vec<Detail> {
    let details = pairs.iter().map(|(name, value)| Detail {
        name: (*name).to_owned().into(),
        value: (*value).to_owned(),
    });
    details.collect()
}

/// The scene with another election, in which the node of the chosen car says this.
fn electing(election: Protocol, node_state: NodeState, pairs: &[(&str, &str)]) -> Scene {
    let mut scene = scene();
    scene.election = election;
    scene.car = 0;
    let said = scene.cars[0].node.said.as_mut().unwrap();
    (said.node_state, said.election_state) = (node_state, details(pairs));
    scene
}

/// C1: the state of the election has room in the narrowest usual terminal.
#[test]
fn two_lines_of_eighty_columns_show_the_master_and_the_election_state() {
    let mut ring = electing(
        Protocol::TokenRing,
        NodeState::Master,
        &[
            ("generation", "12 of B"),
            ("hop", "4711"),
            ("computations", "42"),
            ("token", "held, next node searched"),
            ("peers in the ring", "11"),
        ],
    );
    ring.master_changes = None;
    let drawn = picture(&ring, 80, 26);
    let lines: Vec<&str> = drawn.lines().collect();
    assert!(lines[0].contains("token-ring, seed 7"), "{drawn}");
    assert_eq!(
        lines[1..3],
        [
            " ★ A leads   node A ★ master, generation 12 of B, hop 4711, computations 42,",
            " token held, next node searched, peers in the ring 11",
        ],
    );
    assert!(picture(&ring, 100, 26).contains("changes of master –"));

    let mut senior = electing(
        Protocol::Senior,
        NodeState::Seeking,
        &[
            ("state", "waiting for master"),
            ("attempt", "1 of 3"),
            ("senior flag", "yes"),
            ("units seen", "2"),
            ("MAC address", "02:00:7f:00:00:0b"),
        ],
    );
    senior.leader = None;
    let drawn = picture(&senior, 80, 26);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(
        lines[1..3],
        [
            " no leader that all know   node A seeking, state waiting for master, attempt 1",
            " of 3, senior flag yes, units seen 2, MAC address 02:00:7f:00:00:0b",
        ],
    );

    let mut ballot = electing(
        Protocol::Ballot,
        NodeState::Seeking,
        &[
            ("ballot", "voting"),
            ("own vote", "4294967294"),
            ("highest vote heard", "4294967295"),
            ("answers of devices", "1000"),
        ],
    );
    ballot.leader = None;
    let drawn = picture(&ballot, 80, 26);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(
        lines[1..3],
        [
            " no leader that all know   node A seeking, ballot voting, own vote 4294967294,",
            " highest vote heard 4294967295, answers of devices 1000",
        ],
    );
}

#[test]
fn a_car_moves_by_eighths_of_a_line() {
    let mut scene = scene();
    let pictures: std::collections::BTreeSet<String> = (0u8..24)
        .map(|step| {
            scene.cars[1].height = f64::from(step) / 24.0;
            picture(&scene, 100, 23)
        })
        .collect();
    assert!(pictures.len() >= 20, "{} pictures a floor", pictures.len());
}

#[test]
fn no_terminal_is_too_small_and_no_building_too_high() {
    let mut scene = scene();
    for (width, height) in [(1, 1), (20, 5), (60, 12), (200, 60)] {
        for floors in [2, 24, 60] {
            scene.floors = FloorCount::new(floors).unwrap();
            scene.floor = scene.floors.top();
            let drawn = picture(&scene, width, height);
            assert_eq!(drawn.lines().count(), usize::from(height));
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
        (0, 0, "Shafts A–C of 8, floors 0–11 of 20", "Fleet 1–3 of 8"),
        (4, 10, "Shafts D–F of 8, floors 4–15 of 20", "Fleet 4–6 of 8"),
        (7, 19, "Shafts F–H of 8, floors 8–19 of 20", "Fleet 6–8 of 8"),
    ] {
        scene.car = car;
        scene.floor = scene.floors.floor(floor).unwrap();
        let drawn = picture(&scene, 80, 25);
        for part in [shafts, fleet, "Open orders 1", "hall 1 up", "Events", "killed"] {
            assert!(drawn.contains(part), "no {part}:\n{drawn}");
        }
        let chosen = format!(" {} ★", scene.cars[car].name);
        assert!(drawn.contains(&chosen), "no{chosen}:\n{drawn}");
        assert!(drawn.contains(&format!("{floor:>3} ☻☻")), "{drawn}");
        for figure in ["placed 9", "served 8", "lost 0", "mean 8.0 s  P90 18.0 s", "arrived 5"] {
            assert!(drawn.contains(figure), "no {figure}:\n{drawn}");
        }
    }
}

/// Nothing is drawn over anything else: every frame is whole.
#[test]
fn every_frame_is_whole_from_the_smallest_terminal_on() {
    for scene in [scene(), large()] {
        for (width, height) in [(80, 23), (80, 24), (100, 30), (132, 40), (200, 50), (300, 80)] {
            let drawn = picture(&scene, width, height);
            let corners = |corner| drawn.matches(corner).count();
            for corner in ['╭', '╮', '╰', '╯'] {
                assert_eq!(corners(corner), 5, "{corner} at {width} × {height}:\n{drawn}");
            }
            let body = drawn.lines().filter(|line| line.starts_with('│'));
            for line in body {
                let edges = line.ends_with('│') || line.ends_with('╮') || line.ends_with('╯');
                assert!(edges, "{line} at {width} × {height}:\n{drawn}");
            }
        }
    }
}

#[test]
fn a_terminal_that_is_too_small_says_what_it_needs() {
    for (width, height) in [(60, 18), (79, 24), (80, 22)] {
        let drawn = picture(&scene(), width, height);
        let has = format!("This terminal has {width} × {height}.");
        assert!(drawn.starts_with(&has), "{drawn}");
        assert!(drawn.contains("The picture needs 80 × 23."), "{drawn}");
        assert!(!drawn.contains("Shafts"), "{drawn}");
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
        car.lamps = lamps.into();
        car.riding = 0;
    }
    let said = |node, node_state: NodeState, peer| Status {
        peers: vec![PeerStatus {
            node: name(peer),
            role: Role::Cabin,
            address: [127, 0, 0, 12].into(),
            node_state: node_state.clone(),
            silent: Duration::ZERO,
            round_trip: Some(Duration::from_micros(1_500)),
            loss: Some(0.0125),
            synced: true,
            in_step: true,
            car: None,
        }],
        ..*says(node, node_state)
    };
    let slave = NodeState::Slave { master: name("A") };
    cars[0].node.said = Some(Box::new(said("A", NodeState::Master, "C")));
    cars[2].node.said = Some(Box::new(said("C", slave, "A")));
    cars[1].node.life = Life::Killed;
    cars[1].lamps = [hall(1, Direction::Down), Button::Car(floor(0))].into();
    (cars[0].height, cars[0].indicator, cars[0].lantern) = (4.0, Some(floor(4)), None);
    cars[0].riding = 1;
    (cars[1].height, cars[1].indicator, cars[1].lantern) =
        (1.0, Some(floor(1)), Some(Direction::Down));
    cars[1].riding = 2;
    (cars[2].height, cars[2].indicator, cars[2].lantern) = (2.55, Some(floor(3)), None);
    (cars[2].door, cars[2].door_fraction) = (DoorState::Closed, 0.0);
    cars[2].moves = Some(Direction::Down);
    let order = |button, waited, car: &str| OrderStatus {
        call: Call::of_button(button, &name("B")),
        waited: Duration::from_millis(waited),
        car: Some(name(car)),
        holders: 2,
        held_by: Vec::new(),
        durable_at: Vec::new(),
        promised: true,
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
        event(19, Some("A"), "served  car A 4 after 16.1 s", Weight::Good),
        event(16, Some("C"), "hears B no more", Weight::Notable),
        event(16, Some("A"), "hears B no more", Weight::Notable),
        event(16, Some("A"), "lit     hall 2 down", Weight::Plain),
        event(16, None, "passenger at 2 wants to go to 0", Weight::Plain),
        event(16, Some("B"), "node killed (kill -9)", Weight::Bad),
        event(15, Some("B"), "lit     car B 0", Weight::Plain),
        event(10, Some("C"), "lit     hall 1 down", Weight::Plain),
        event(10, None, "passenger at 1 wants to go to 0", Weight::Plain),
        event(4, Some("A"), "served  hall 0 up after 1.5 s", Weight::Good),
        event(3, Some("A"), "lit     car A 4", Weight::Plain),
        event(2, Some("B"), "lit     hall 0 up", Weight::Plain),
    ]);
    scene.elapsed = Duration::from_secs(20);
    (scene.floors, scene.floor, scene.seed) = (floors, floor(1), 11);
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
    let cells = cells(&of_the_docs(), 120, 39);
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
