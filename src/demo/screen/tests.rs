use std::collections::VecDeque;

use elevator_driver::{Button, DoorState, FloorCount};
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::wire::Protocol;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::super::scene::{
    CarScene, Event, Life, NodeView, OrderScene, Power, Scene, Standing, Weight,
};
use super::*;
use crate::account::Tally;
use crate::operator::view::DetailView;

fn name(text: &str) -> NodeId {
    NodeId::new(text).unwrap()
}

fn scene() -> Scene {
    let floors = FloorCount::new(3).unwrap();
    let floor = |index| floors.floor(index).unwrap();
    let call = Call::of_button(Button::Hall(floor(1), Direction::Up), &name("A"));
    let says = |standing| NodeView {
        standing,
        election: vec![],
        term: 2,
        peers: vec![],
        unavailable: None,
        digest: String::new(),
        orders: vec![],
    };
    let mut first = CarScene::new(name("A"), [127, 0, 0, 11].into());
    first.node.life = Life::Running;
    first.node.said = Some(says(Standing::Master));
    first.lamps = [call.button(), Button::Cab(floor(2))].into();
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
        seed: 7,
        floors,
        cars: vec![first, second],
        orders: vec![OrderScene {
            call,
            age: Duration::from_millis(12_300),
            assignee: Some(name("A")),
            holders: 2,
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
            longest: Duration::from_secs(21),
        },
        master_changes: Some(1),
        arrived: 5,
        waiting: vec![0, 3, 9],
        car: 1,
        floor: floor(1),
    }
}

fn picture(scene: &Scene, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(scene, frame)).unwrap();
    let buffer = terminal.backend().buffer();
    buffer
        .content()
        .chunks(usize::from(width))
        .map(|row| {
            row.iter()
                .map(ratatui::buffer::Cell::symbol)
                .collect::<String>()
        })
        .map(|row| row.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn the_screen_shows_shafts_lamps_nodes_orders_events_and_the_account() {
    let expected = include_str!("golden.txt");
    let drawn = picture(&scene(), 100, 24);
    assert_eq!(drawn, expected, "drawn:\n{drawn}");
}

fn details(pairs: &[(&str, &str)]) -> Vec<DetailView> {
    let details = pairs.iter().map(|(name, value)| DetailView {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    });
    details.collect()
}

/// The scene with another election, in which the node of the chosen car says this.
fn electing(election: Protocol, standing: Standing, pairs: &[(&str, &str)]) -> Scene {
    let mut scene = scene();
    scene.election = election;
    scene.car = 0;
    let said = scene.cars[0].node.said.as_mut().unwrap();
    (said.standing, said.election) = (standing, details(pairs));
    scene
}

/// C1: the state of the election has room in the narrowest usual terminal.
#[test]
fn two_lines_of_eighty_columns_tell_who_leads_and_what_the_election_is_at() {
    let mut ring = electing(
        Protocol::TokenRing,
        Standing::Master,
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
        Standing::Seeking,
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
        Standing::Seeking,
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
