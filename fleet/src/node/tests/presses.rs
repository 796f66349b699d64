//! What the node remembers of the presses of its panel.

use elevator_driver::{Button, DoorCommand, DoorState, Trip};

use super::*;

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

fn press(node: &mut Node, button: Button, now: Timestamp) {
    node.handle_panel(PanelEvent::Pressed(button), now);
}

fn up(index: u8) -> Button {
    Button::Hall(floor(index), Direction::Up)
}

fn fates(node: &Node, now: Timestamp) -> Vec<PressFate> {
    node.presses(now).map(|press| press.fate).collect()
}

/// Writes what the node wants on its disk.
fn write(node: &mut Node, now: Timestamp) {
    let lsn = |action| if let Action::Persist { lsn, .. } = action { Some(lsn) } else { None };
    if let Some(lsn) = drain(node).into_iter().filter_map(lsn).next_back() {
        node.handle_durable(lsn, now);
    }
    leave_cars_idle(node, now);
}

fn is_open(fate: &PressFate, lit: bool) -> bool {
    matches!(fate, PressFate::Open { promised, .. } if *promised == lit)
}

#[test]
fn a_press_is_followed_until_it_is_served() {
    let (mut node, now) = cabin(1);
    press(&mut node, up(2), now);
    assert!(matches!(&fates(&node, now)[..], [fate] if is_open(fate, false)));
    write(&mut node, now);
    assert!(matches!(&fates(&node, now)[..], [fate] if is_open(fate, true)));
    // Impatient, and served by another car.
    let later = now + Duration::from_secs(3);
    press(&mut node, up(2), later);
    let seen: Vec<PressStatus> = node.presses(later).collect();
    assert!(matches!(&seen[..], [it] if is_open(&it.fate, true)), "{seen:?}");
    assert_eq!((seen[0].times, seen[0].ago, seen[0].last.as_secs()), (2, later.since(now), 0));
    let hall = HallCall::new(floor(2), Direction::Up);
    assert_eq!(seen[0].call, Call::Hall(hall));
    node.store.serve(Call::Hall(hall), later);
    node.route_orders();
    let served = PressFate::Served { car: Some(name(1)), waited: later.since(now) };
    assert_eq!(fates(&node, later), std::slice::from_ref(&served));
    // Once more: another press.
    press(&mut node, up(2), later);
    assert!(
        matches!(&fates(&node, later)[..], [first, next] if *first == served && is_open(next, false))
    );
}

#[test]
fn a_press_without_an_order_says_why() {
    let (mut node, now) = cabin(1);
    node.handle_floor_lock(floor(3), FloorLock::Lock, "kovac", now).expect("room");
    press(&mut node, Button::Car(floor(3)), now);
    let into = Trip::new(floor(1), floor(3)).expect("a trip");
    node.handle_panel(PanelEvent::Requested(into), now);
    // There is no such button.
    press(&mut node, up(3), now);
    node.handle_fire_recall(FireRecall::Start, "fire panel", now).expect("room");
    press(&mut node, up(1), now);
    let reasons: Vec<String> = fates(&node, now)
        .into_iter()
        .map(
            |fate| {
                if let PressFate::Refused { reason } = fate { reason } else { panic!("{fate:?}") }
            },
        )
        .collect();
    assert_eq!(
        reasons,
        [
            "car N1 3 can't be placed: floor 3 is locked",
            "hall 1 to 3 can't be placed: floor 3 is locked",
            "there is no hall 3 up in a building with floors 0 to 3",
            "hall 1 up can't be placed: all cars are recalled because of a fire",
        ]
    );
}

#[test]
fn an_order_that_a_recall_drops_is_noted_as_dropped() {
    let (mut node, now) = cabin(1);
    press(&mut node, up(2), now);
    node.handle_fire_recall(FireRecall::Start, "fire panel", now).expect("room");
    assert_eq!(fates(&node, now), [PressFate::Dropped]);
}

/// F18
#[test]
fn a_press_that_keeps_the_door_open_is_absorbed() {
    let (mut node, now) = cabin(1);
    press(&mut node, Button::Car(floor(0)), now);
    leave_cars_idle(&mut node, now);
    let door = node.outputs().map(|outputs| outputs.door);
    assert_eq!(door, Some(DoorCommand::Open));
    node.handle_panel(PanelEvent::Inputs(PanelInputs { door: DoorState::Open, ..at_rest() }), now);
    leave_cars_idle(&mut node, now);
    press(&mut node, Button::Car(floor(0)), now);
    let seen = fates(&node, now);
    assert!(matches!(&seen[..], [PressFate::Served { .. }, PressFate::Absorbed]), "{seen:?}");
}
