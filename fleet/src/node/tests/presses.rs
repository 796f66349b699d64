//! What a node makes of the presses of its panel, of calls to locked floors, and of commands.

use elevator_driver::{Alarm, Entrance, KeySwitch, Trip};

use super::*;
use crate::model::Mode;
use crate::settings::PriorityCall;

type Outcome = Result<Pressed, OrderRefused>;

fn tell(node: &mut Node, event: PanelEvent, now: Timestamp) -> Outcome {
    node.handle_panel(event, now).expect("a press").outcome
}

fn press(node: &mut Node, button: Button, now: Timestamp) -> Outcome {
    tell(node, PanelEvent::Pressed(button), now)
}

fn ride(to: u8) -> Call {
    Call::ride(&name(1), floor(to))
}

fn lock(node: &mut Node, locked: bool, now: Timestamp) {
    node.command(Command::FloorLock { floor: floor(3), locked }, now);
}

/// A node whose car stands at floor 0, with floor 3 locked.
fn locked() -> (Node, Timestamp) {
    let (mut node, now) = cabin(1);
    lock(&mut node, true, now);
    leave_cars_idle(&mut node, now);
    (node, now)
}

fn trip(from: u8, to: u8) -> PanelEvent {
    PanelEvent::Requested(Trip::new(floor(from), floor(to)).expect("a trip"))
}

/// A lock is against those who want to come: people must be able to leave.
#[test]
fn a_press_without_an_order_says_why() {
    let (mut node, now) = locked();
    let up = |index| Button::Hall(floor(index), Direction::Up);
    let locked = press(&mut node, Button::Car(floor(3)), now);
    let into = tell(&mut node, trip(1, 3), now);
    assert_eq!(reports(drain(&mut node)).count(), 1, "once a minute");
    assert!(tell(&mut node, trip(3, 1), now).is_ok());
    assert!(press(&mut node, Button::Hall(floor(3), Direction::Down), now).is_ok());
    let no_button = press(&mut node, up(3), now);
    let nowhere = tell(&mut node, trip(1, 9), now);
    node.command(Command::FireRecall { on: true }, now);
    let recalled = press(&mut node, up(1), now);
    let why = |outcome: Outcome| outcome.expect_err("it is refused").to_string();
    assert_eq!(
        [locked, into, no_button, nowhere, recalled].map(why),
        [
            "car N1 3 can't be placed: floor 3 is locked",
            "hall 1 to 3 can't be placed: floor 3 is locked",
            "there is no hall 3 up: the building has floors 0 to 3",
            "there is no hall 1 to 9: the building has floors 0 to 3",
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
    node.obey_door(now);
    leave_cars_idle(&mut node, now);
    assert!(node.orders().get(order).is_none(), "served");
    assert_eq!(press(&mut node, Button::Car(floor(0)), now), Ok(Pressed::Absorbed));
}

/// While car 2 is not heard, car 1 alone could serve a call.
#[test]
fn a_press_is_refused_with_the_reason_that_the_building_gives() {
    let building = zones(&[(1, &[0, 1]), (2, &[1, 2, 3])]);
    let (mut node, now) = settled(in_zone(1, &building, Restored::default()));
    let no_car = |call, floors: &[u8]| {
        let floors = floors.iter().map(|index| floor(*index)).collect();
        Err(OrderRefused::NoCarServes { call: Call::Hall(call), floors })
    };
    let up = HallCall::new(floor(1), Direction::Up);
    let trip_up = HallCall::to(floor(0), floor(2)).expect("a trip");
    let not_served = Err(OrderRefused::NotServed { call: ride(2), floor: floor(2) });
    assert_eq!(press(&mut node, Button::Car(floor(2)), now), not_served);
    assert_eq!(press(&mut node, Button::Hall(floor(1), Direction::Up), now), no_car(up, &[1]));
    assert_eq!(tell(&mut node, trip(0, 2), now), no_car(trip_up, &[0, 2]));
    assert_eq!(node.open_calls(), []);
    for button in [Button::Car(floor(1)), Button::Hall(floor(1), Direction::Down)] {
        assert!(matches!(press(&mut node, button, now), Ok(Pressed::Order(_))), "{button}");
    }
}

/// Nobody could serve it, and the other nodes would not take it.
#[test]
fn a_call_at_an_entrance_that_is_not_there_is_refused() {
    let (mut node, now) = cabin(1);
    let rear = Entrance { floor: floor(1), side: Side::Rear };
    let hall = Call::Hall(HallCall::at(rear, Direction::Up));
    let refused = Err(OrderRefused::NoCarServes { call: hall, floors: vec![floor(1)] });
    assert_eq!(press(&mut node, Button::RearHall(floor(1), Direction::Up), now), refused);
    let refused = press(&mut node, Button::RearCar(floor(1)), now);
    assert!(matches!(refused, Err(OrderRefused::NotServed { .. })), "{refused:?}");
    assert_eq!(node.open_calls(), []);
}

/// Otherwise their lamps would be lit, and their car would not park, until the next fire recall.
#[test]
fn car_calls_from_before_the_building_changed_are_ignored() {
    let (mut node, now) = cabin(1);
    for to in [2, 3] {
        node.push(Button::Car(floor(to)), now);
    }
    let restored = node.written(now);
    let building = zones(&[(1, &[0, 1, 2]), (2, &[0, 1, 2, 3])]);
    assert_eq!(in_zone(1, &building, restored).open_calls(), [ride(2)]);
}

/// Only at rest, and once the lamp is lit: a contact that bounces cancels nothing.
#[test]
fn a_second_press_cancels_a_car_call_where_that_is_configured() {
    for cancels in [true, false] {
        let settings = settings(1, 1);
        let car = CarSettings {
            cancel_car_calls: cancels,
            ..CarSettings::new(settings.building.floors())
        };
        let (mut node, now) = settled(started(NodeSettings { car: Some(car), ..settings }));
        let stopped = PanelInputs { stop: true, ..at_rest() };
        node.see(stopped.clone(), now);
        for _ in 0..2 {
            assert!(matches!(press(&mut node, Button::Car(floor(3)), now), Ok(Pressed::Order(_))));
        }
        let (lsn, _) = persists(&drain(&mut node)).pop().expect("a batch");
        node.handle_durable(lsn, now);
        let driven = DriveFeedback::Driven(Direction::Up);
        node.see(PanelInputs { floor: None, drive: driven, ..stopped.clone() }, now);
        assert!(matches!(press(&mut node, Button::Car(floor(3)), now), Ok(Pressed::Order(_))));
        node.see(stopped, now);
        let again = press(&mut node, Button::Car(floor(3)), now);
        assert_eq!(again == Ok(Pressed::Cancelled), cancels, "{again:?}");
        assert_eq!(node.open_calls().is_empty(), cancels);
    }
}

/// It reaches every node and disk, any of them answers it, and the lamp in the car says so.
#[test]
fn an_alarm_holds_until_it_is_acknowledged_and_the_door_has_closed() {
    let (mut one, mut two, mut now) = two_cars();
    let acknowledge = Command::AcknowledgeAlarm { car: name(1) };
    let refused = two.handle_command(acknowledge.clone(), "kovac", None, now);
    assert_eq!(refused, Err(CommandRefused::NoAlarm(name(1))));
    let lamp = |node: &Node| node.outputs().expect("outputs").alarm;
    drain(&mut one);
    for _ in 0..2 {
        assert_eq!(one.handle_panel(PanelEvent::Alarm, now), None);
    }
    assert_eq!(lamp(&one), Alarm::Sent);
    let alarm = Report::Alarm { car: name(1), alarm: Alarm::Sent };
    let actions = drain(&mut one);
    assert_eq!(reports(actions.clone()).filter(|report| *report == alarm).count(), 1);
    for frame in actions {
        if let Action::Send { frame, .. } = frame {
            two.handle_frame(LINK, frame, now);
        }
    }
    assert_eq!(two.status(now).alarms().collect::<Vec<_>>(), [&name(1)]);
    two.command(acknowledge, now);
    talk(&mut two, &mut one, now, now + PERIOD * 8);
    now = now + PERIOD * 8;
    assert_eq!((lamp(&one), lamp(&two)), (Alarm::Acknowledged, Alarm::Off));
    assert_eq!(restarted(3, 1, one.written(now)).settings().alarm(&name(1)), Alarm::Acknowledged);
    for (door, expected) in
        [(DoorState::Open, Alarm::Acknowledged), (DoorState::Closed, Alarm::Off)]
    {
        one.see(PanelInputs { door, ..at_rest() }, now);
        assert_eq!(lamp(&one), expected);
    }
}

#[test]
fn a_call_to_a_locked_floor_is_taken_only_with_a_right_of_access() {
    let (mut node, now) = locked();
    let refused = OrderRefused::FloorLocked { call: ride(3), floor: floor(3) };
    assert_eq!(node.order(&ride(3), now), Err(refused));
    let access = node.status(now).access;
    assert_eq!((access.refused, &access.locked[..]), (1, &[floor(3)][..]));
    assert_eq!(node.order(&ride(2), now), Ok(Taken::Placed));
    assert_eq!(node.handle_order(&ride(3), Access::Granted, now), Ok(Taken::Placed));
    let (mut other, now) = locked();
    lock(&mut other, false, now);
    assert!(press(&mut other, Button::Car(floor(3)), now).is_ok());
}

/// For the press that follows a badge.
#[test]
fn a_released_floor_is_open_for_its_time_in_its_car() {
    let (mut node, now) = locked();
    let five = Duration::from_secs(5);
    for time in [five, five / 5] {
        node.handle_release(floor(3), time, now).expect("a floor");
    }
    assert_eq!(node.status(now).access.released.len(), 1);
    let other = Call::ride(&name(2), floor(3));
    assert!(node.order(&other, now).is_err(), "another car");
    let end = now + five;
    assert!(press(&mut node, Button::Car(floor(3)), end).is_err(), "it is over");
    node.handle_release(floor(3), LONGEST_RELEASE, end).expect("a floor");
    assert!(press(&mut node, Button::Car(floor(3)), end + five).is_ok());

    for time in [Duration::ZERO, LONGEST_RELEASE + Duration::from_millis(1)] {
        assert_eq!(node.handle_release(floor(3), time, end), Err(ReleaseRefused::Time));
    }
    let nowhere = ReleaseRefused::NoSuchFloor { floor: floor(4), top: 3 };
    assert_eq!(node.handle_release(floor(4), five, end), Err(nowhere));
    let no_car = super::node(2, 1).handle_release(floor(3), five, end);
    assert_eq!(no_car, Err(ReleaseRefused::NoCar(name(2))));
}

/// The key of independent service is a right of access; that of a car out of service is none. ASME
/// A17.1, phase II: a firefighter is not kept from any floor, and a press is no order.
#[test]
fn modes_decide_whether_a_lock_holds_in_the_car() {
    let outcome_of = |mut node: Node, now| press(&mut node, Button::Car(floor(3)), now);
    for (key, is_taken) in
        [(KeySwitch::Normal, false), (KeySwitch::Independent, true), (KeySwitch::FireRecall, false)]
    {
        let (mut node, now) = locked();
        node.see(PanelInputs { key, ..at_rest() }, now);
        assert_eq!(outcome_of(node, now).is_ok(), is_taken, "{key:?}");
    }
    for (mode, is_taken) in [(Mode::Attendant, false), (Mode::Independent, true)] {
        let (mut node, now) = locked();
        node.command(Command::Mode { car: name(1), mode }, now);
        assert_eq!(outcome_of(node, now).is_ok(), is_taken, "{mode}");
    }
    for mode in [Mode::FireService, Mode::OutOfService] {
        let (mut node, now) = locked();
        node.command(Command::Mode { car: name(1), mode }, now);
        assert_eq!(outcome_of(node, now), Ok(Pressed::Command), "{mode}");
    }
}

/// The car is where operators want it, whichever node is asked to move it.
#[test]
fn no_node_takes_a_call_for_a_car_that_serves_none() {
    let (mut one, mut two, mut now) = two_cars();
    let car = two.hello().node.clone();
    let call = Call::ride(&car, floor(3));
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
