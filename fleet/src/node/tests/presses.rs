//! What a node makes of the presses of its panel.

use elevator_driver::Trip;

use super::*;

type Outcome = Result<Pressed, OrderRefused>;

fn tell(node: &mut Node, event: PanelEvent, now: Timestamp) -> Outcome {
    node.handle_panel(event, now).expect("a press").outcome
}

fn press(node: &mut Node, button: Button, now: Timestamp) -> Outcome {
    tell(node, PanelEvent::Pressed(button), now)
}

fn up(index: u8) -> Button {
    Button::Hall(floor(index), Direction::Up)
}

#[test]
fn a_press_without_an_order_says_why() {
    let (mut node, now) = cabin(1);
    node.command(Command::FloorLock { floor: floor(3), locked: true }, now);
    let into = Trip::new(floor(1), floor(3)).expect("a trip");
    let locked = press(&mut node, Button::Car(floor(3)), now);
    let trip = tell(&mut node, PanelEvent::Requested(into), now);
    let no_button = press(&mut node, up(3), now);
    node.command(Command::FireRecall { on: true }, now);
    let recalled = press(&mut node, up(1), now);
    let why = |outcome: Outcome| outcome.expect_err("it is refused").to_string();
    assert_eq!(
        [locked, trip, no_button, recalled].map(why),
        [
            "car N1 3 can't be placed: floor 3 is locked",
            "hall 1 to 3 can't be placed: floor 3 is locked",
            "there is no hall 3 up: the building has floors 0 to 3",
            "hall 1 up can't be placed: all cars are recalled because of a fire",
        ]
    );
}

/// F18
#[test]
fn a_press_that_keeps_the_door_open_is_absorbed() {
    let (mut node, now) = cabin(1);
    let Ok(Pressed::Order(order)) = press(&mut node, Button::Car(floor(0)), now) else {
        panic!("an order")
    };
    assert!(node.orders().get(order).is_some());
    leave_cars_idle(&mut node, now);
    let door = node.outputs().map(|outputs| outputs.door);
    assert_eq!(door, Some(DoorCommand::Open));
    node.see(PanelInputs { door: DoorState::Open, ..at_rest() }, now);
    leave_cars_idle(&mut node, now);
    assert!(node.orders().get(order).is_none(), "served");
    assert_eq!(press(&mut node, Button::Car(floor(0)), now), Ok(Pressed::Absorbed));
}
