use std::sync::mpsc::sync_channel;

use elevator_driver::Floor;
use elevator_fleet::model::{Availability, Mode, Unavailable};
use elevator_fleet::node::{FleetStatus, Report};
use elevator_fleet::wire::NodeState;

use super::source::Update;
use super::*;
use crate::operator::Event;
use crate::operator::tests::busy_status;

fn drawn(scene: &Scene, now: Instant, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen::draw(picture(scene, now), frame)).unwrap();
    screen::text(terminal.backend().buffer())
}

fn busy_fleet() -> FleetStatus {
    FleetStatus::from(&busy_status())
}

/// A scene of node A with its peer B, and C, which is lost; and the time of its status.
fn scene() -> (Scene, Instant) {
    let now = Instant::now();
    (Scene::new(busy_fleet(), now), now)
}

fn served() -> Update {
    let report = busy_status().orders.remove(0).call;
    let report = Report::Promised { call: report };
    Update::Event(Event { at: "2026-05-01T12:00:09.500Z".to_owned(), report })
}

#[test]
fn a_frame_shows_cars_nodes_orders_and_events() {
    let (mut scene, now) = scene();
    scene.apply(served(), now);
    let shown = drawn(&scene, now, (110, 30));
    for part in [
        "A leads",
        "node D has 9 floors, but this one has 4",
        "★ master",
        "slave of A",
        "lost",
        "door blocked",
        "up to 3",
        "Open orders 1",
        "hall 1 up",
        "12:00:09 hall 1 up promised",
        "differs",
        "75 s",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // The lamp of the promised order is lit at both cars that are heard, not at the lost one.
    assert_eq!(shown.matches('▲').count(), 2 + 2, "two lamps and two lanterns\n{shown}");
}

#[test]
fn a_frame_shows_modes_and_what_is_commanded_for_all_cars() {
    let (mut scene, now) = scene();
    scene.fleet.fire_recall = true;
    scene.fleet.locked_floors = vec![Floor::BOTTOM];
    let [a, b] = &mut scene.fleet.nodes[..] else { panic!("two nodes") };
    a.car.as_mut().unwrap().mode = Mode::Attendant;
    let driven = b.car.as_mut().unwrap();
    driven.mode = Mode::FireService;
    driven.availability = Availability::Unavailable(Unavailable::FireRecall);
    let shown = drawn(&scene, now, (110, 30));
    for part in ["fire recall of all cars; floor 0 is locked; ", "attendant", "fire service"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let narrow = drawn(&scene, now, (80, 22));
    assert!(narrow.contains("firefighter"), "{narrow}");
}

#[test]
fn a_node_that_is_gone_is_never_shown_as_present() {
    let (mut scene, now) = scene();
    assert!(!drawn(&scene, now, (110, 30)).contains("no data since"));
    let later = now + Duration::from_secs(12);
    let shown = drawn(&scene, later, (110, 30));
    assert!(shown.contains("no data since ") && shown.contains(" UTC, 12 s ago"), "{shown}");
    assert!(!shown.contains("A leads") && !shown.contains("★ master"), "{shown}");
    scene.apply(Update::Gone("the node has ended".to_owned()), now);
    let shown = drawn(&scene, now, (110, 30));
    assert!(shown.contains("0 s ago: the node has ended"), "{shown}");
    // What to do has room below: a fire recall that was on then may be over.
    scene.fleet.fire_recall = true;
    scene.apply(Update::Gone("no node answers at X; does it run?".to_owned()), now);
    let shown = drawn(&scene, now, (110, 30));
    assert!(shown.contains("0 s ago\n"), "{shown}");
    assert!(shown.contains("\n no node answers at X; does it run?\n"), "{shown}");
    scene.apply(Update::Fleet(Box::new(busy_fleet())), later);
    assert!(drawn(&scene, later, (110, 30)).contains("A leads"));
}

/// The choice and the events outlive a status; a choice that is no more is replaced.
#[test]
fn a_new_status_keeps_the_choice_and_the_events() {
    let (mut scene, now) = scene();
    scene.apply(served(), now);
    let press = |scene: &mut Scene, key| {
        scene.choice.handle_key(key, scene.cars().len(), scene.fleet.floors);
    };
    for _ in 0..9 {
        press(&mut scene, KeyCode::Right);
        press(&mut scene, KeyCode::Up);
    }
    let chosen = |scene: &Scene| (scene.choice.car, scene.choice.floor.index(), scene.news.len());
    assert_eq!(chosen(&scene), (2, 3, 1));
    scene.apply(Update::Fleet(Box::new(busy_fleet())), now);
    assert_eq!(chosen(&scene), (2, 3, 1));
    let mut alone = busy_fleet();
    alone.nodes.retain(|node| node.node == alone.seen_by);
    alone.lost.clear();
    scene.apply(Update::Fleet(Box::new(alone)), now);
    press(&mut scene, KeyCode::Down);
    assert_eq!(chosen(&scene), (0, 2, 1));
    press(&mut scene, KeyCode::Char('?'));
    assert!(drawn(&scene, now, (80, 22)).contains("choose a floor"));
}

#[test]
fn every_size_of_terminal_can_be_drawn() {
    let (mut scene, now) = scene();
    scene.fleet.nodes[0].node_state = NodeState::Seeking;
    for width in (1..200).step_by(13) {
        for height in (1..70).step_by(6) {
            drawn(&scene, now, (width, height));
        }
    }
    assert!(drawn(&scene, now, (70, 20)).contains("80 × 22"));
}

#[test]
fn updates_arrive_in_order() {
    let (sender, receiver) = sync_channel(4);
    sender.send(Update::Missed(3)).unwrap();
    sender.send(Update::Gone("x".to_owned())).unwrap();
    let (mut scene, now) = scene();
    for update in receiver.try_iter() {
        scene.apply(update, now);
    }
    assert!(drawn(&scene, now, (110, 30)).contains("3 events were missed"));
    assert!(!scene.is_live(now));
}
