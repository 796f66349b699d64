//! Settings of operators: who is told what, and for how long.

use super::*;
use crate::model::Mode;
use crate::settings::PriorityCall;

/// The car is where operators want it, whichever node is asked to move it.
#[test]
fn no_node_takes_a_call_for_a_car_that_serves_none() {
    let (mut one, mut two, mut now) = two_cars();
    let car = two.hello().node.clone();
    let call = Call::Car { car: car.clone(), floor: floor(3) };
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
        assert_eq!(one.order(&call, now), expected, "{mode}");
        assert_eq!(two.order(&call, now), expected, "{mode}");
    }
}

/// What the building does not have is not set, for it would stay forever. What is set can be ended
/// all the same: nobody may hear the car again, and the building may have lost the floor.
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
