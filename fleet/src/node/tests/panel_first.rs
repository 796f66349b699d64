//! H6: what the panel is to do goes out before anything else.

use super::*;

fn top() -> Floor {
    FloorCount::new(4).expect("floors").top()
}

fn inputs(change: impl FnOnce(&mut PanelInputs)) -> PanelEvent {
    let mut inputs =
        PanelInputs { floor: None, drive: DriveFeedback::Driven(Direction::Up), ..at_rest() };
    change(&mut inputs);
    PanelEvent::Inputs(inputs)
}

/// A car on its way up, with calls that wait, and with a beacon and a batch for the disk due.
fn under_way() -> (Node, Timestamp) {
    let (mut node, mut now) = cabin(1);
    node.push(Button::Car(top()), now);
    let down = Button::Hall(top(), Direction::Down);
    node.push(down, now);
    drain(&mut node);
    assert!(matches!(node.motor(), MotorCommand::Run { .. }), "{:?}", node.motor());
    node.handle_panel(inputs(|inputs| inputs.floor = Some(Floor::BOTTOM)), now);
    now = now + PERIOD;
    node.handle_panel(inputs(|_| {}), now);
    drain(&mut node);
    (node, now + PERIOD)
}

fn stops_the_motor(action: &Action) -> bool {
    matches!(action, Action::Panel(outputs) if outputs.motor == MotorCommand::Stop)
}

/// The first of these actions stops the motor, and others follow.
fn assert_stops_first(actions: &[Action]) {
    let first = actions.first();
    assert!(first.is_some_and(stops_the_motor), "{actions:?}");
    assert!(actions.len() > 1, "{actions:?}");
}

/// Nor does the stop wait for a plan that is being made.
#[test]
fn the_stop_switch_and_an_open_door_stop_the_motor_before_all_else() {
    let pulled = inputs(|inputs| inputs.stop = true);
    let pried = inputs(|inputs| inputs.door = DoorState::Opening);
    for (event, plans) in [(&pulled, false), (&pried, false), (&pulled, true)] {
        let (mut node, now) = under_way();
        if plans {
            // The request for the first call is not answered.
            let up = Button::Hall(Floor::BOTTOM, Direction::Up);
            node.push(up, now);
            drain(&mut node);
        }
        node.handle_panel(event.clone(), now);
        let actions = drain(&mut node);
        assert_stops_first(&actions);
        let asks = actions.iter().any(|action| matches!(action, Action::Plan(_)));
        assert!(!plans || !asks, "{actions:?}");
    }
}

/// The motor first; then the disk, which the lamp waits for; then those who hold the order as well; the
/// plan last, as it takes the longest.
#[test]
fn what_follows_from_a_press_goes_out_in_one_order() {
    let (mut node, now) = cabin(1);
    node.push(Button::Car(top()), now + PERIOD);
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
