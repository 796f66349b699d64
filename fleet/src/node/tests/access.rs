//! Locked floors: which calls are taken, and which are not.

use elevator_driver::{KeySwitch, Trip};

use super::*;
use crate::model::Mode;

fn ride(to: u8) -> Call {
    Call::Car { car: name(1), floor: floor(to) }
}

/// A node whose car stands at floor 0, with floor 3 locked.
fn locked() -> (Node, Timestamp) {
    let (mut node, now) = cabin(1);
    node.command(Command::FloorLock { floor: floor(3), locked: true }, now);
    leave_cars_idle(&mut node, now);
    (node, now)
}

fn goes_up(node: &Node) -> bool {
    matches!(node.motor(), MotorCommand::Run { direction: Direction::Up, .. })
}

#[test]
fn a_call_to_a_locked_floor_is_taken_only_with_a_right_of_access() {
    let (mut node, now) = locked();
    node.push(Button::Car(floor(3)), now);
    let reports: Vec<Report> = reports(drain(&mut node)).collect();
    let refusals = reports.iter().filter(|it| matches!(it, Report::PressRefused { .. }));
    assert_eq!(refusals.count(), 1, "{reports:?}");
    assert_eq!(node.open_calls(), []);
    let refused = OrderRefused::FloorLocked { call: ride(3), floor: floor(3) };
    assert_eq!(node.handle_order(&ride(3), now), Err(refused));
    assert_eq!(node.status(now).access.refused, 2);
    assert_eq!(node.status(now).access.locked, [floor(3)]);
    // Floors that are not locked, and a passenger with a right.
    assert_eq!(node.handle_order(&ride(2), now), Ok(Taken::Placed));
    assert_eq!(node.handle_order_with(&ride(3), Access::Granted, now), Ok(Taken::Placed));
    assert_eq!(node.open_calls(), [ride(2), ride(3)]);

    node.command(Command::FloorLock { floor: floor(3), locked: false }, now);
    let (mut other, now) = cabin(1);
    other.command(Command::FloorLock { floor: floor(3), locked: true }, now);
    other.command(Command::FloorLock { floor: floor(3), locked: false }, now);
    other.push(Button::Car(floor(3)), now);
    assert_eq!(other.open_calls(), [ride(3)]);
}

/// People must be able to leave: a lock is against those who want to come.
#[test]
fn a_locked_floor_can_be_left() {
    let (mut node, now) = locked();
    node.push(Button::Hall(floor(3), Direction::Down), now);
    let out = Trip::new(floor(3), floor(1)).expect("a trip");
    node.handle_panel(PanelEvent::Requested(out), now);
    let into = Trip::new(floor(1), floor(3)).expect("a trip");
    node.handle_panel(PanelEvent::Requested(into), now);
    let hall = |call: Option<HallCall>| Call::Hall(call.expect("a call"));
    let trip_out = hall(HallCall::to(floor(3), floor(1)));
    let trip_in = hall(HallCall::to(floor(1), floor(3)));
    let open = node.open_calls();
    assert!(open.contains(&Call::Hall(HallCall::new(floor(3), Direction::Down))), "{open:?}");
    assert!(open.contains(&trip_out) && !open.contains(&trip_in), "{open:?}");
    assert_eq!(node.status(now).access.refused, 1);
    assert_eq!(node.handle_order_with(&trip_in, Access::Granted, now), Ok(Taken::Placed));
}

/// For the press that follows a badge.
#[test]
fn a_released_floor_is_open_for_its_time_in_its_car() {
    let (mut node, now) = locked();
    let five = Duration::from_secs(5);
    node.handle_release(floor(3), five, now).expect("a floor");
    node.handle_release(floor(3), five / 5, now).expect("a floor");
    assert_eq!(node.status(now).access.released.len(), 1);
    // Not in another car.
    let other = Call::Car { car: name(2), floor: floor(3) };
    assert!(matches!(node.handle_order(&other, now), Err(OrderRefused::FloorLocked { .. })));
    let end = now + five;
    node.push(Button::Car(floor(3)), end);
    assert_eq!(node.open_calls(), [], "it is over");
    assert_eq!(node.status(end).access.released, []);
    node.handle_release(floor(3), LONGEST_RELEASE, end).expect("a floor");
    node.push(Button::Car(floor(3)), end + five);
    assert_eq!(node.open_calls(), [ride(3)]);

    let long = LONGEST_RELEASE + Duration::from_millis(1);
    for time in [Duration::ZERO, long] {
        assert_eq!(node.handle_release(floor(3), time, end), Err(ReleaseRefused::Time));
    }
    let nowhere = node.handle_release(floor(4), five, end);
    assert_eq!(nowhere, Err(ReleaseRefused::NoSuchFloor { floor: floor(4), top: 3 }));
    let no_car = super::node(2, 1).handle_release(floor(3), five, end);
    assert_eq!(no_car, Err(ReleaseRefused::NoCar(name(2))));
}

/// The key of independent service is a right of access; that of a car out of service is none.
#[test]
fn modes_decide_whether_a_lock_holds_in_the_car() {
    for (key, is_taken) in [
        (KeySwitch::Normal, false),
        (KeySwitch::Independent, true),
        (KeySwitch::FireRecall, false),
        (KeySwitch::OutOfService, false),
    ] {
        let (mut node, now) = locked();
        node.see(PanelInputs { key, ..at_rest() }, now);
        node.push(Button::Car(floor(3)), now);
        let expected = if is_taken { vec![ride(3)] } else { vec![] };
        assert_eq!(node.open_calls(), expected, "{key:?}");
    }
    for (mode, is_taken) in [(Mode::Attendant, false), (Mode::Independent, true)] {
        let (mut node, now) = locked();
        node.command(Command::Mode { car: name(1), mode }, now);
        node.push(Button::Car(floor(3)), now);
        assert_eq!(node.open_calls().len(), usize::from(is_taken), "{mode}");
    }
}

/// ASME A17.1, phase II: a firefighter is not kept from any floor, and a press is no order.
#[test]
fn fire_service_passes_every_lock() {
    let (mut node, mut now) = locked();
    node.command(Command::Mode { car: name(1), mode: Mode::FireService }, now);
    node.push(Button::Car(floor(3)), now);
    for _ in 0..1200 {
        now = now + PERIOD;
        node.handle_timeout(now);
        node.obey_door(now);
        drain(&mut node);
        if goes_up(&node) {
            break;
        }
    }
    assert!(goes_up(&node));
    assert_eq!((node.open_calls(), node.status(now).access.refused), (vec![], 0));
}
