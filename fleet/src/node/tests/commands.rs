//! Settings of operators: who is told what, and for how long.

use elevator_driver::KeySwitch;

use super::*;
use crate::model::Mode;
use crate::settings::PriorityCall;

fn to_the_top(car: &NodeId) -> Call {
    let floor = FloorCount::new(4).expect("floors").top();
    Call::Car { car: car.clone(), floor }
}

/// The car is where operators want it, whichever node is asked to move it.
#[test]
fn no_node_takes_a_call_for_a_car_that_serves_none() {
    let (mut one, mut two, mut now) = two_cars();
    let car = two.hello().node.clone();
    let call = to_the_top(&car);
    for mode in Mode::ALL {
        one.command(Command::Mode { car: car.clone(), mode }, now);
        talk(&mut one, &mut two, now, now + PERIOD * 8);
        now = now + PERIOD * 8;
        let refused = Err(OrderRefused::NotInService { call: call.clone(), mode });
        let expected = match mode {
            Mode::OutOfService | Mode::FireService => refused,
            Mode::InService | Mode::Attendant | Mode::Independent | Mode::FireRecall => {
                Ok(Taken::Placed)
            }
            Mode::Priority | Mode::EmergencyPower => unreachable!("no mode to be set by its name"),
        };
        assert_eq!(one.handle_order(&call, now), expected, "{mode}");
        assert_eq!(two.handle_order(&call, now), expected, "{mode}");
    }
}

/// It takes a turn of the key to begin a recall, and an operator to end it.
#[test]
fn a_key_at_recall_all_recalls_every_car_until_an_operator_ends_it() {
    let (mut one, mut two, now) = two_cars();
    let turn = |node: &mut Node, key, now| {
        node.see(PanelInputs { key, ..at_rest() }, now);
    };
    turn(&mut two, KeySwitch::RecallAll, now);
    let wait = |one: &mut Node, two: &mut Node, from: Timestamp| {
        talk(one, two, from, from + PERIOD * 16);
        from + PERIOD * 16
    };
    let at = wait(&mut one, &mut two, now);
    assert!(one.settings().is_fire_recalled());
    turn(&mut two, KeySwitch::Normal, at);
    let at = wait(&mut one, &mut two, at);
    assert!(one.settings().is_fire_recalled(), "the key does not end it");
    turn(&mut two, KeySwitch::RecallAll, at);
    let at = wait(&mut one, &mut two, at);
    one.command(Command::FireRecall { on: false }, at);
    let at = wait(&mut one, &mut two, at);
    two.handle_timeout(at);
    for node in [&one, &two] {
        assert!(!node.settings().is_fire_recalled(), "the key was not turned since");
    }
    assert_eq!(one.settings().mode_with_key(&name(2)), Mode::FireRecall);
    turn(&mut two, KeySwitch::Attendant, at);
    wait(&mut one, &mut two, at);
    assert_eq!(one.settings().mode_with_key(&name(2)), Mode::Attendant);
}

/// The commands of the key switch, while it stands like this for a time.
fn turns(node: &mut Node, now: &mut Timestamp, key: KeySwitch, time: Duration) -> Vec<String> {
    let end = *now + time;
    let mut turns = Vec::new();
    while *now < end {
        node.see(PanelInputs { key, ..at_rest() }, *now);
        node.handle_timeout(*now);
        for action in drain(node) {
            if let Action::Report(Report::Setting { setting, operator, .. }) = action {
                assert_eq!(operator.command(), Some(("key switch", name(1))));
                turns.push(format!("{} {setting}", setting.key()));
            }
        }
        *now = *now + PERIOD;
    }
    turns
}

/// A contact bounces, a switch passes positions, and a spring takes the key back from *recall all*.
#[test]
fn a_turn_of_the_key_is_a_command_once_it_stands() {
    let (mut node, mut now) = cabin(1);
    let recall = format!("{} on 1", node.settings().next_recall(node.hello().nonce).key());
    let long = Duration::from_secs(1);
    for (key, time, expected) in [
        (KeySwitch::Attendant, PERIOD * 2, vec![]),
        (KeySwitch::Independent, long, vec!["key/1 independent"]),
        (KeySwitch::Normal, PERIOD * 2, vec![]),
        (KeySwitch::Independent, long, vec![]),
        (KeySwitch::RecallAll, PERIOD, vec!["key/1 recall all", &recall]),
        (KeySwitch::Normal, PERIOD, vec![]),
        (KeySwitch::RecallAll, PERIOD, vec![]),
        (KeySwitch::Normal, long, vec!["key/1 normal"]),
    ] {
        let expected: Vec<String> =
            expected.iter().map(|it| it.replace("key/1", &format!("key/{}", name(1)))).collect();
        assert_eq!(turns(&mut node, &mut now, key, time), expected, "{key}");
    }
}

#[test]
fn a_key_that_was_turned_while_its_node_was_off_is_a_command() {
    let (mut first, mut now) = cabin(1);
    let long = Duration::from_secs(1);
    assert_eq!(turns(&mut first, &mut now, KeySwitch::Attendant, long).len(), 1);
    for (key, count) in [(KeySwitch::Attendant, 0), (KeySwitch::Normal, 1)] {
        let mut now = Timestamp::START;
        let mut node = with_car(1, 2, first.written(now), now);
        node.handle_panel(PanelEvent::Connected, now);
        assert_eq!(turns(&mut node, &mut now, key, long).len(), count, "{key}");
    }
}

/// Cars may have been taken out of the fleet since the last emergency.
#[test]
fn each_command_of_emergency_power_counts_the_cars_anew() {
    let (mut one, _, now) = two_cars();
    let cars = |node: &Node| node.settings().emergency_power().map(|it| it.cars);
    one.command(Command::EmergencyPower { on: true, car: None }, now);
    assert_eq!(cars(&one), Some(2));
    one.direct(Setting::Cars(8), now);
    assert_eq!(cars(&one), Some(8));
    one.command(Command::EmergencyPower { on: false, car: None }, now);
    assert_eq!(cars(&one), None);
    one.command(Command::EmergencyPower { on: true, car: None }, now);
    assert_eq!(cars(&one), Some(2));
}

/// What the building does not have is not set, for it would stay forever. What is set can be ended all
/// the same: nobody may hear the car again, and the building may have lost the floor.
#[test]
fn only_what_there_is_can_be_commanded_and_all_that_is_set_can_be_ended() {
    let (mut one, _, now) = two_cars();
    let (nobody, high) = (name(9), floor(7));
    let end = Command::Priority { car: Some(nobody.clone()), floor: None };
    let unlock = Command::FloorLock { floor: high, locked: false };
    let unknown = CommandRefused::UnknownCar { car: nobody.clone(), known: vec![name(1), name(2)] };
    let no_floor = CommandRefused::NoSuchFloor { floor: high, top: 3 };
    let before = one.settings().clone();
    for (command, refused) in [
        (Command::Mode { car: nobody.clone(), mode: Mode::Independent }, &unknown),
        (Command::EmergencyPower { on: true, car: Some(nobody.clone()) }, &unknown),
        (Command::Priority { car: Some(nobody.clone()), floor: Some(floor(1)) }, &unknown),
        (end.clone(), &unknown),
        (Command::Priority { car: None, floor: Some(high) }, &no_floor),
        (Command::FloorLock { floor: high, locked: true }, &no_floor),
        (unlock.clone(), &no_floor),
        (Command::Priority { car: None, floor: None }, &CommandRefused::NoCarNamed),
        (
            Command::Mode { car: name(1), mode: Mode::Priority },
            &CommandRefused::NoModeToSet(Mode::Priority),
        ),
    ] {
        let outcome = one.handle_command(command.clone(), "kovac", None, now);
        assert_eq!(outcome.as_ref(), Err(refused), "{command:?}");
    }
    assert_eq!(*one.settings(), before);

    let call = PriorityCall { floor: floor(1), any: false };
    for set in [Setting::Priority(nobody.clone(), Some(call)), Setting::FloorLock(high, true)] {
        one.have_set(set, now);
    }
    for command in [end, unlock] {
        one.command(command, now);
    }
    assert!(one.settings().priority(&nobody).is_none() && !one.settings().is_locked(high));
}
