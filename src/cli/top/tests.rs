use elevator_driver::Floor;
use elevator_fleet::model::{Mode, Reason};
use elevator_fleet::node::Report;
use liftmesh_api::State;

use super::*;
use crate::client::{Notice, Streamed};
use crate::operator::Event;
use crate::operator::tests::{busy_fleet, busy_status};

fn streamed(state: State) -> Update {
    Update::Streamed(Streamed::State(Box::new(state)))
}

/// A scene of node A with its peer B, and C, which is lost; and the time of its status.
fn scene() -> (Scene, Instant) {
    let now = Instant::now();
    (Scene::new(busy_fleet(), now), now)
}

fn served() -> Update {
    let report = busy_status().orders.remove(0).call;
    let report = Report::Promised { call: report };
    let event = Event { at: "2026-05-01T12:00:09.500Z".to_owned(), press: None, report };
    Update::Streamed(Streamed::Notice(Notice::Event(event)))
}

#[test]
fn a_frame_shows_cars_nodes_orders_events_and_what_is_commanded() {
    let (mut scene, now) = scene();
    scene.apply(served(), now);
    scene.state.fleet.fire_recall = true;
    scene.state.fleet.locked_floors = vec![Floor::BOTTOM];
    let shown = page(&scene, now, (110, 30));
    for part in [
        "A leads",
        "fire recall of all cars; floor 0 is locked; node D has 9 floors, but this one has 4",
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
    let b = &mut scene.state.cars[1];
    (b.mode, b.unavailable) = (Mode::FireService, Some(Reason::Mode(Mode::FireService)));
    let narrow = page(&scene, now, (80, 22));
    assert!(narrow.contains("firefighter"), "{narrow}");
}

#[test]
fn a_node_that_is_gone_is_never_shown_as_present() {
    let (mut scene, now) = scene();
    assert!(!page(&scene, now, (110, 30)).contains("no data since"));
    let later = now + Duration::from_secs(12);
    let shown = page(&scene, later, (110, 30));
    assert!(shown.contains("no data since ") && shown.contains(" UTC, 12 s ago"), "{shown}");
    assert!(!shown.contains("A leads") && !shown.contains("★ master"), "{shown}");
    // What to do has room below: a fire recall that was on then may be over.
    scene.state.fleet.fire_recall = true;
    scene.apply(Update::Gone("no node answers at X; does it run?".to_owned()), now);
    let shown = page(&scene, now, (110, 30));
    assert!(shown.contains(" 0 s ago\n no node answers at X; does it run?\n"), "{shown}");
    scene.apply(streamed(busy_fleet()), later);
    assert!(page(&scene, later, (110, 30)).contains("A leads"));
}

/// The choice and the events outlive a status; a choice that is no more is replaced.
#[test]
fn a_new_status_keeps_the_choice_and_the_events() {
    let (mut scene, now) = scene();
    scene.apply(served(), now);
    for key in [KeyCode::Right, KeyCode::Up].repeat(9) {
        scene.choice.handle_key(key, scene.cabins().len(), scene.state.fleet.floors());
    }
    let chosen = |scene: &Scene| (scene.choice.car, scene.choice.floor.index(), scene.news.len());
    assert_eq!(chosen(&scene), (2, 3, 1));
    scene.apply(streamed(busy_fleet()), now);
    assert_eq!(chosen(&scene), (2, 3, 1));
    let mut alone = busy_fleet();
    alone.fleet.nodes.retain(|node| node.is_self);
    alone.fleet.lost.clear();
    scene.apply(streamed(alone), now);
    scene.apply(Update::Streamed(Streamed::Notice(Notice::Missed(3))), now);
    assert_eq!(chosen(&scene), (0, 3, 2));
    assert!(page(&scene, now, (110, 30)).contains("3 events were missed"));
}
