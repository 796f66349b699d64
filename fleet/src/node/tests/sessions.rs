//! Sessions of robots: who has the car, for how long, and what becomes of the others.

use super::receipts;
use super::*;
use crate::model::Mode;
use crate::node::{FollowedCall, Requested, SessionRefused, SessionRequest};
use crate::settings::{Asked, MOST_SESSIONS, RequestId, SessionEnd, SessionState};

/// What a robot says later on.
const BY_ROBOT: (Access, &str) = (Access::Public, "robot");

fn id(request: u64) -> RequestId {
    RequestId { owner: 7, request }
}

fn request(number: u64, at: u8) -> SessionRequest {
    SessionRequest {
        id: id(number),
        bearer: "robot".to_owned(),
        asked: Asked { floor: floor(at), to: None, seconds: 30, car: None },
        access: Access::Public,
    }
}

fn trip(number: u64, to: u8) -> SessionRequest {
    let asked = Asked { floor: floor(0), to: Some(floor(to)), seconds: 30, car: None };
    SessionRequest { asked, ..request(number, 0) }
}

fn state(node: &Node, number: u64) -> SessionState {
    node.settings().session(id(number)).expect("a session").state.clone()
}

fn open(node: &mut Node, number: u64, at: u8, now: Timestamp) -> SessionState {
    let (session, is_new) = node.handle_session(&request(number, at), now).expect("room");
    assert!(is_new);
    session.state
}

fn ended(end: SessionEnd) -> SessionState {
    SessionState::Ended(end)
}

/// Nobody but the robot ends it before its time.
#[test]
fn a_session_holds_the_door_open_for_its_time() {
    let (mut node, now) = cabin(1);
    assert_eq!(open(&mut node, 1, 0, now), SessionState::Coming(name(1)));
    node.obey_door(now);
    assert_eq!(state(&node, 1), SessionState::Open(name(1)));
    assert_eq!(node.status(now).car.expect("a car").view.mode, Mode::Priority);
    node.push(Button::Car(floor(2)), now);
    let almost = now + Duration::from_millis(29_900);
    node.handle_timeout(almost);
    assert_eq!(state(&node, 1), SessionState::Open(name(1)));
    assert_eq!(node.outputs().expect("outputs").door, DoorCommand::Open);
    assert_eq!(node.orders().calls().count(), 1, "the rider's call waits");
    node.handle_timeout(now + Duration::from_secs(30));
    assert_eq!(state(&node, 1), ended(SessionEnd::Time));
    assert_eq!(node.settings().session_of(&name(1)), None);
}

/// A client that waits for that can be sure that the session is not lost with the node that took
/// it.
#[test]
fn a_session_outlives_its_node_once_a_peer_or_the_disk_has_it() {
    let (mut one, mut two, now) = linked();
    open(&mut one, 1, 0, now);
    assert!(!one.status(now).settings_held);
    deliver(&mut one, &mut two, now);
    assert!(!one.status(now).settings_held, "not known yet");
    talk(&mut one, &mut two, now, now + PERIOD * 2);
    assert!(one.status(now).settings_held);

    let (mut alone, now) = cabin(1);
    drain(&mut alone);
    open(&mut alone, 1, 0, now);
    assert!(!alone.status(now).settings_held);
    let (lsn, _) = persists(&drain(&mut alone)).pop().expect("a batch");
    alone.handle_durable(lsn, now);
    assert!(alone.status(now).settings_held);
}

/// The time starts anew with each wish, and a repeated request opens nothing.
#[test]
fn a_robot_asks_for_more_time_and_repeats_its_requests() {
    let (mut node, now) = cabin(1);
    open(&mut node, 1, 0, now);
    node.obey_door(now);
    let later = now + Duration::from_secs(20);
    node.handle_session_floor(id(1), floor(0), None, BY_ROBOT, later).expect("open");
    node.handle_timeout(now + Duration::from_secs(40));
    assert_eq!(state(&node, 1), SessionState::Open(name(1)));
    assert_eq!(node.handle_session(&request(1, 2), later), Err(SessionRefused::Reused));
    let done = node.handle_session_end(id(1), None, "robot", later).expect("open");
    assert_eq!(done.state, ended(SessionEnd::Done));
    assert_eq!(node.handle_session_end(id(1), None, "robot", later), Ok(done.clone()));
    let over = node.handle_session_floor(id(1), floor(0), None, BY_ROBOT, later);
    assert_eq!(over, Err(SessionRefused::NotOpen));
    assert_eq!(node.handle_session(&request(1, 0), later), Ok((done, false)));
    // One name is for one thing, whatever its kind.
    let call = |number| receipts::request(number, forged::call(2));
    assert_eq!(node.handle_request(&call(1), later), Ok(Requested::ForAnotherCall));
    assert_eq!(node.handle_request(&call(3), later), Ok(Requested::Now(Taken::Placed)));
    assert_eq!(node.handle_session(&request(3, 0), later), Err(SessionRefused::Reused));
}

/// Car 1 is the first at floor 0, but goes to floor 1 only.
#[test]
fn a_session_gets_a_car_that_goes_where_its_robot_does() {
    let building = zones(&[(1, &[0, 1]), (2, &[0, 1, 2, 3])]);
    let car = |index| in_zone(index, &building, Restored::default());
    let (mut one, _, now) = with_panels(car(1), car(2));
    one.handle_session(&trip(1, 3), now).expect("room");
    assert_eq!(state(&one, 1), SessionState::Coming(name(2)));
    let asked = Asked { car: Some(name(1)), ..request(2, 0).asked };
    one.handle_session(&SessionRequest { asked, ..request(2, 0) }, now).expect("room");
    assert_eq!(state(&one, 2), SessionState::Coming(name(1)));
    let next = one.handle_session_floor(id(2), floor(2), None, BY_ROBOT, now);
    assert_eq!(next, Err(SessionRefused::NotServed(vec![floor(2)])));
}

/// A trip: the door is held open at both ends. A robot that rolls in slowly asks for more time, and
/// is taken along all the same. A trip that ends before its floor is withdrawn.
#[test]
fn a_trip_goes_on_by_itself() {
    for asks in [None, Some(0), Some(2)] {
        let (mut node, mut now) = cabin(1);
        node.handle_session(&trip(1, 3), now).expect("room");
        node.obey_door(now);
        if let Some(at) = asks {
            now = now + Duration::from_secs(20);
            let session = node.handle_session_floor(id(1), floor(at), None, BY_ROBOT, now);
            let to = session.expect("open").to;
            assert_eq!(to, (at == 0).then(|| floor(3)), "another floor is the end of the trip");
            if to.is_none() {
                let session = node.handle_session_end(id(1), None, "robot", now).expect("open");
                assert_eq!(session.state, ended(SessionEnd::Withdrawn));
                continue;
            }
        }
        now = now + Duration::from_secs(30);
        node.handle_timeout(now);
        let Some(FollowedCall::Trip { from, to, session, .. }) = node.followed_call(id(1)) else {
            panic!("no trip");
        };
        assert_eq!((from, to, session.floor), (floor(0), floor(3), floor(3)));
        assert_eq!(session.state, SessionState::Coming(name(1)));
        let upstairs = PanelInputs { floor: Some(floor(3)), ..at_rest() };
        now = now + Duration::from_secs(1);
        for door in [DoorState::Closed, DoorState::Closed, DoorState::Open, DoorState::Open] {
            now = now + Duration::from_secs(2);
            node.see(PanelInputs { door, ..upstairs.clone() }, now);
            node.handle_timeout(now);
        }
        assert_eq!(state(&node, 1), SessionState::Open(name(1)));
        node.handle_timeout(now + Duration::from_secs(30));
        assert_eq!(state(&node, 1), ended(SessionEnd::Done));
    }
}

/// A17.1, phase I: nothing holds a recalled car. Emergency power is for the evacuation.
#[test]
fn a_recall_and_emergency_power_end_every_session() {
    let recall = |on| Command::FireRecall { on };
    let power = |on| Command::EmergencyPower { on, car: None };
    for (emergency, over, refused) in [
        (recall(true), recall(false), SessionRefused::Recalled),
        (power(true), power(false), SessionRefused::EmergencyPower),
    ] {
        let (mut node, now) = cabin(1);
        open(&mut node, 1, 0, now);
        node.obey_door(now);
        open(&mut node, 2, 0, now);
        node.command(emergency, now);
        for number in [1, 2] {
            assert_eq!(state(&node, number), ended(SessionEnd::Recalled), "{number}");
        }
        assert_eq!(node.handle_session(&request(3, 0), now), Err(refused));
        node.command(over, now);
        open(&mut node, 3, 0, now);
    }
}

/// A dead robot keeps nobody waiting, and its car is free at once.
#[test]
fn an_operator_ends_a_session_by_itself_with_its_car_or_with_the_right_to_it() {
    let free = Command::Priority { car: Some(name(1)), floor: None };
    let out_of_service = Command::Mode { car: name(1), mode: Mode::OutOfService };
    for way in 0..4 {
        let (mut node, now) = cabin(1);
        open(&mut node, 1, 0, now);
        node.obey_door(now);
        let other = RequestId { owner: 8, request: 1 };
        let waits = SessionRequest { id: other, ..request(0, 0) };
        node.handle_session(&waits, now).expect("room");
        let by_operator = Some(SessionEnd::Operator);
        match way {
            0 => drop(node.handle_session_end(id(1), by_operator, "kovac", now).expect("open")),
            1 => node.handle_owner_revoked(7, now),
            2 => node.command(free.clone(), now),
            _ => node.command(out_of_service.clone(), now),
        }
        assert_eq!(state(&node, 1), ended(SessionEnd::Operator));
        let next = &node.settings().session(other).expect("a session").state;
        let is_queued = *next == SessionState::Queued;
        assert_eq!(is_queued, way == 3, "{next:?}");
    }
}

#[test]
fn sessions_that_make_no_sense_and_too_many_are_refused() {
    let (mut node, now) = cabin(1);
    node.command(Command::FloorLock { floor: floor(2), locked: true }, now);
    let asks = |asked: Asked| SessionRequest { asked, ..request(1, 0) };
    let Asked { floor: at, to, seconds, car } = request(1, 0).asked;
    for (refused, asked) in [
        (SessionRefused::NoSuchFloor { floor: floor(4), top: 3 }, request(1, 4).asked),
        (SessionRefused::Time, Asked { floor: at, to, seconds: 0, car: car.clone() }),
        (SessionRefused::Time, Asked { floor: at, to, seconds: 121, car: car.clone() }),
        (SessionRefused::UnknownCar(name(2)), Asked { floor: at, to, seconds, car: Some(name(2)) }),
        (SessionRefused::SameFloor(at), Asked { floor: at, to: Some(at), seconds, car }),
        (SessionRefused::FloorLocked(floor(2)), request(1, 2).asked),
        (SessionRefused::FloorLocked(floor(2)), trip(1, 2).asked),
    ] {
        assert_eq!(node.handle_session(&asks(asked), now), Err(refused));
    }
    let granted = SessionRequest { access: Access::Granted, ..request(1, 2) };
    node.handle_session(&granted, now).expect("a right of access");
    for number in 2..=MOST_SESSIONS as u64 {
        open(&mut node, number, 0, now);
    }
    assert_eq!(node.handle_session(&request(2_000, 0), now), Err(SessionRefused::TooMany));
}
