//! H6: what the panel is to do goes out before anything else.

use super::*;

fn inputs(change: impl FnOnce(&mut PanelInputs)) -> PanelEvent {
    let mut inputs =
        PanelInputs { floor: None, drive: DriveFeedback::Driven(Direction::Up), ..at_rest() };
    change(&mut inputs);
    PanelEvent::Inputs(inputs)
}

/// A car on its way up, with calls that wait, and with a beacon and a batch for the disk due.
fn under_way() -> (Node, Timestamp) {
    let (mut node, mut now) = cabin(1);
    node.push(Button::Car(floor(3)), now);
    let down = Button::Hall(floor(3), Direction::Down);
    node.push(down, now);
    drain(&mut node);
    assert!(matches!(node.motor(), MotorCommand::Run { .. }), "{:?}", node.motor());
    node.handle_panel(inputs(|inputs| inputs.floor = Some(Floor::BOTTOM)), now);
    now = now + PERIOD;
    node.handle_panel(inputs(|_| {}), now);
    drain(&mut node);
    (node, now + PERIOD)
}

/// Nor does the stop wait for a plan that is being made.
#[test]
fn the_stop_switch_and_an_open_door_stop_the_motor_before_all_else() {
    let pulled = inputs(|inputs| inputs.stop = true);
    let pried = inputs(|inputs| inputs.door = DoorState::Opening);
    for event in [pulled, pried] {
        let (mut node, now) = under_way();
        // The request for the first call is not answered.
        node.push(Button::Hall(Floor::BOTTOM, Direction::Up), now);
        drain(&mut node);
        node.handle_panel(event, now);
        let actions = drain(&mut node);
        let stops = |action: &Action| matches!(action, Action::Panel(outputs) if outputs.motor == MotorCommand::Stop);
        assert!(actions.len() > 1 && actions.first().is_some_and(stops), "{actions:?}");
    }
}

/// The motor, the disk for the lamp, others who hold the order; the plan takes the longest.
#[test]
fn what_follows_from_a_press_goes_out_in_one_order() {
    let (mut node, now) = cabin(1);
    node.push(Button::Car(floor(3)), now + PERIOD);
    let kind = |action: &Action| match action {
        Action::Panel(_) => Some("panel"),
        Action::Persist { .. } => Some("disk"),
        Action::Send { .. } | Action::Broadcast(_) => Some("peers"),
        Action::Plan(_) => Some("plan"),
        Action::Unicast { .. }
        | Action::Packet { .. }
        | Action::Dial { .. }
        | Action::Close(_)
        | Action::Report(_) => None,
    };
    let mut order: Vec<_> = drain(&mut node).iter().filter_map(kind).collect();
    order.dedup();
    assert_eq!(order, ["panel", "disk", "peers", "plan"]);
}
