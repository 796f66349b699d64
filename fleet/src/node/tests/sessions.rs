//! Sessions of robots: who has the car, for how long, and what becomes of the others.

use super::receipts;
use super::*;
use crate::model::Mode;
use crate::node::{FollowedCall, Requested, SessionRefused, SessionRequest};
use crate::settings::tests::{register, token};
use crate::settings::{
    Asked, MOST_REQUESTS, MOST_SESSIONS, MOST_SETTINGS, Request, RequestId, Session, SessionEnd,
    SessionState,
};

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

/// The request for a trip from the lowest floor, in a car or any.
fn trip(number: u64, to: u8, car: Option<NodeId>) -> SessionRequest {
    let asked = Asked { floor: floor(0), to: Some(floor(to)), seconds: 30, car };
    SessionRequest { asked, ..request(number, 0) }
}

/// The robot's node says so.
fn say(node: &mut Node, session: Session, now: Timestamp) {
    let setting = Setting::Request(Request::Session(session));
    node.handle_setting(setting, "robot", now).expect("room");
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

/// A car that nobody has heard of may not exist; but what was opened for one that is gone is known.
#[test]
fn a_session_is_for_a_car_that_is_known() {
    let (mut node, now) = cabin(1);
    let asked = Asked { car: Some(name(2)), ..request(1, 0).asked };
    let asks = SessionRequest { asked, ..request(1, 0) };
    assert_eq!(node.handle_session(&asks, now), Err(SessionRefused::UnknownCar(name(2))));
    let (mut one, mut two, now) = linked();
    let (session, is_new) = one.handle_session(&asks, now).expect("it is heard");
    assert!(is_new);
    deliver(&mut one, &mut two, now);
    let told = one.settings().all().cloned().collect();
    node.hear_settings(&name(1), told, now);
    assert_eq!(node.handle_session(&asks, now), Ok((session, false)));
}

/// The end of its session goes out, although there is no room for the end of the priority call.
#[test]
fn a_command_that_half_fails_takes_its_effect() {
    let (mut node, now) = cabin(1);
    let tokens = (0..MOST_SETTINGS).map(|it| register(token(it), it as u64 + 1, 5)).collect();
    node.hear_settings(&name(2), tokens, now);
    node.handle_session(&request(1, 0), now).expect("room");
    assert!(node.settings().session_of(&name(1)).is_some());
    drain(&mut node);
    assert!(
        node.handle_command(
            Command::Priority { car: Some(name(1)), floor: None },
            "kovac",
            None,
            now
        )
        .is_err()
    );
    assert_eq!(node.settings().session_of(&name(1)), None);
    assert!(!persists(&drain(&mut node)).is_empty());
}

/// The time starts anew with each wish, and a repeated request opens nothing.
#[test]
fn a_robot_asks_for_more_time_and_repeats_its_requests() {
    let (mut node, now) = cabin(1);
    open(&mut node, 1, 0, now);
    node.obey_door(now);
    let later = now + Duration::from_secs(20);
    let by = (Access::Public, "robot");
    node.handle_session_floor(id(1), floor(0), None, by, later).expect("open");
    assert_eq!(state(&node, 1), SessionState::Open(name(1)), "a door already open opens it");
    node.handle_timeout(now + Duration::from_secs(40));
    assert_eq!(state(&node, 1), SessionState::Open(name(1)));
    let (again, is_new) = node.handle_session(&request(1, 0), later).expect("known");
    assert_eq!((again.state, is_new), (SessionState::Open(name(1)), false));
    assert_eq!(node.handle_session(&request(1, 2), later), Err(SessionRefused::Reused));
    let done = node.handle_session_end(id(1), None, "robot", later).expect("open");
    assert_eq!(done.state, ended(SessionEnd::Done));
    assert_eq!(node.handle_session_end(id(1), None, "robot", later), Ok(done));
    let over = node.handle_session_floor(id(1), floor(0), None, by, later);
    assert_eq!(over, Err(SessionRefused::NotOpen));
    let (again, is_new) = node.handle_session(&request(1, 0), later).expect("known");
    assert_eq!((again.state, is_new), (ended(SessionEnd::Done), false));
}

/// Two requests at the same moment can't both come to something under one name.
#[test]
fn a_request_is_for_one_thing_whatever_its_kind() {
    let (mut node, now) = cabin(1);
    let call = |number| receipts::request(number, forged::call(2));
    for (number, robots) in [(1, request(1, 0)), (2, trip(2, 3, None))] {
        node.handle_session(&robots, now).expect("room");
        let passengers = node.handle_request(&call(number), now);
        assert_eq!(passengers, Ok(Requested::ForAnotherCall), "{number}");
    }
    assert_eq!(node.handle_request(&call(3), now), Ok(Requested::Now(Taken::Placed)));
    for robots in [request(3, 0), trip(3, 3, None)] {
        assert_eq!(node.handle_session(&robots, now), Err(SessionRefused::Reused));
    }
    assert_eq!((node.orders().calls().count(), node.settings().session(id(3))), (1, None));
}

/// A trip: the door is held open at both ends. A robot that rolls in slowly asks for more time, and is
/// taken along all the same.
#[test]
fn a_trip_goes_on_by_itself() {
    let by = (Access::Public, "robot");
    for asks in [None, Some(0), Some(2)] {
        let (mut node, mut now) = cabin(1);
        node.handle_session(&trip(1, 3, None), now).expect("room");
        node.obey_door(now);
        if let Some(at) = asks {
            now = now + Duration::from_secs(20);
            let session = node.handle_session_floor(id(1), floor(at), None, by, now);
            let to = session.expect("open").to;
            assert_eq!(to, (at == 0).then(|| floor(3)), "another floor is the end of the trip");
            if to.is_none() {
                continue;
            }
            assert_eq!(state(&node, 1), SessionState::Open(name(1)));
        }
        now = now + Duration::from_secs(30);
        node.handle_timeout(now);
        let session = node.settings().session(id(1)).expect("a session");
        assert_eq!((session.floor, &session.state), (floor(3), &SessionState::Coming(name(1))));
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

/// A17.1, phase I: nothing holds a car that is recalled. And what is left of emergency power is for
/// the evacuation.
#[test]
fn a_recall_and_emergency_power_end_every_session() {
    type Emergency = fn(&mut Node, bool, Timestamp);

    let recall: Emergency = |node, on, now| {
        node.command(Command::FireRecall { on }, now);
    };
    let power: Emergency = |node, on, now| {
        node.command(Command::EmergencyPower { on, car: None }, now);
    };
    for (emergency, refused) in
        [(recall, SessionRefused::Recalled), (power, SessionRefused::EmergencyPower)]
    {
        let (mut node, now) = cabin(1);
        open(&mut node, 1, 0, now);
        node.obey_door(now);
        open(&mut node, 2, 0, now);
        emergency(&mut node, true, now);
        for number in [1, 2] {
            assert_eq!(state(&node, number), ended(SessionEnd::Recalled), "{number}");
        }
        assert_eq!(node.handle_session(&request(3, 0), now), Err(refused));
        emergency(&mut node, false, now);
        open(&mut node, 3, 0, now);
    }
}

/// A dead robot keeps nobody waiting, and its car is free at once.
#[test]
fn an_operator_ends_a_session_by_itself_with_its_car_or_with_the_right_to_it() {
    type End = fn(&mut Node, Timestamp);

    let other = RequestId { owner: 8, request: 1 };
    let stop = |node: &mut Node, now| {
        node.handle_session_end(id(1), Some(SessionEnd::Operator), "kovac", now).expect("open");
    };
    let free = |node: &mut Node, now| {
        node.command(Command::Priority { car: Some(name(1)), floor: None }, now);
    };
    let out_of_service = |node: &mut Node, now| {
        node.command(Command::Mode { car: name(1), mode: Mode::OutOfService }, now);
    };
    let revoke = |node: &mut Node, now| node.handle_owner_revoked(7, now);
    let ways: [(End, _); 4] = [
        (stop, SessionState::Open(name(1))),
        (free, SessionState::Open(name(1))),
        (out_of_service, SessionState::Queued),
        (revoke, SessionState::Open(name(1))),
    ];
    for (end, next) in ways {
        let (mut node, now) = cabin(1);
        open(&mut node, 1, 0, now);
        node.obey_door(now);
        let waits = SessionRequest { id: other, ..request(0, 0) };
        node.handle_session(&waits, now).expect("room");
        end(&mut node, now);
        assert_eq!(state(&node, 1), ended(SessionEnd::Operator));
        assert_eq!(node.settings().session(other).expect("a session").state, next);
    }
}

#[test]
fn sessions_that_make_no_sense_are_refused() {
    let (mut node, now) = cabin(1);
    let nowhere = SessionRefused::NoSuchFloor { floor: floor(4), top: 3 };
    assert_eq!(node.handle_session(&request(1, 4), now), Err(nowhere));
    for seconds in [0, 121] {
        let asked = Asked { seconds, ..request(1, 0).asked };
        let request = SessionRequest { asked, ..request(1, 0) };
        assert_eq!(node.handle_session(&request, now), Err(SessionRefused::Time));
    }
    node.command(Command::FloorLock { floor: floor(2), locked: true }, now);
    let locked = SessionRefused::FloorLocked(floor(2));
    assert_eq!(node.handle_session(&request(1, 2), now), Err(locked.clone()));
    assert_eq!(node.handle_session(&trip(1, 2, None), now), Err(locked));
    let granted = SessionRequest { access: Access::Granted, ..request(1, 2) };
    node.handle_session(&granted, now).expect("a right of access");
}

#[test]
fn sessions_are_bounded() {
    let (mut node, now) = cabin(1);
    for number in 0..=MOST_REQUESTS as u64 {
        open(&mut node, number, 0, now);
        node.handle_session_end(id(number), None, "robot", now).expect("open");
    }
    assert_eq!(node.settings().session(id(0)), None, "forgotten");
    assert_eq!(node.status(now).sessions().count(), 32);
    let (again, is_new) = node.handle_session(&request(1, 0), now).expect("known");
    assert_eq!((again.state, is_new), (ended(SessionEnd::Done), false), "not opened again");
    for number in 0..MOST_SESSIONS as u64 {
        open(&mut node, 1_000 + number, 0, now);
    }
    assert_eq!(node.handle_session(&request(2_000, 0), now), Err(SessionRefused::TooMany));
}

/// A robot asks again at a node that has not heard of its request, and may be done at one of them.
#[test]
fn a_session_that_was_opened_at_two_nodes_is_one_in_the_end() {
    for (first, ends) in
        [(0, None), (1, None), (0, Some(0)), (0, Some(1)), (1, Some(0)), (1, Some(1))]
    {
        let (one, two, now) = linked();
        let mut nodes = [one, two];
        open(&mut nodes[first], 9, 0, now);
        for node in &mut nodes {
            open(node, 1, 0, now);
        }
        if let Some(at) = ends {
            nodes[at].handle_session_end(id(1), None, "robot", now).expect("open");
        }
        let [one, two] = &mut nodes;
        exchange_frames(one, two, now);
        let left = if ends.is_some() { ended(SessionEnd::Done) } else { SessionState::Queued };
        for node in &mut nodes {
            let status = node.status(now);
            let copies = status.sessions().filter(|it| it.id == id(1));
            let copies: Vec<_> = copies.map(|session| &session.state).collect();
            assert_eq!(copies, [&left], "first at {first}, ended at {ends:?}");
            assert_eq!(state(node, 9), SessionState::Queued);
        }
        assert_eq!(nodes[0].settings().digest(), nodes[1].settings().digest());
    }
}

/// A client that waits for that can be sure that the session is not lost with the node that took it.
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

/// What was asked for stays known while the car goes on by itself.
#[test]
fn a_trip_is_followed_from_its_request_until_it_is_withdrawn() {
    let (mut node, now) = cabin(1);
    node.handle_session(&trip(1, 3, Some(name(1))), now).expect("room");
    open(&mut node, 2, 1, now);
    node.obey_door(now);
    node.handle_timeout(now + Duration::from_secs(30));
    let followed = |node: &Node| {
        let call = node.followed_call(id(1));
        let Some(FollowedCall::Trip { from, to, car, session }) = call else {
            panic!("{call:?}");
        };
        assert_eq!((from, to, car), (floor(0), floor(3), Some(name(1))));
        (session.floor, session.state)
    };
    assert_eq!(followed(&node), (floor(3), SessionState::Coming(name(1))));
    let later = now + Duration::from_secs(31);
    for _ in 0..2 {
        node.handle_session_end(id(1), Some(SessionEnd::Withdrawn), "robot", later).expect("known");
        assert_eq!(followed(&node), (floor(3), ended(SessionEnd::Withdrawn)));
    }
}

/// Nobody may take a trip for one that was made.
#[test]
fn a_trip_that_ends_before_its_floor_is_withdrawn() {
    let to_the_top = trip(1, 3, Some(name(1)));
    let end = |node: &mut Node, now| {
        node.handle_session_end(id(1), None, "robot", now).expect("known");
        state(node, 1)
    };
    let (mut node, now) = cabin(1);
    node.handle_session(&to_the_top, now).expect("room");
    assert_eq!(end(&mut node, now), ended(SessionEnd::Withdrawn), "on its way to the robot");

    let (mut node, now) = cabin(1);
    let (session, _) = node.handle_session(&to_the_top, now).expect("room");
    let state = SessionState::Open(name(1));
    say(&mut node, Session { floor: floor(3), to: None, state, ..session }, now);
    assert_eq!(end(&mut node, now), ended(SessionEnd::Done), "it is there");

    let refused = node.handle_session(&trip(2, 0, None), now);
    assert_eq!(refused, Err(SessionRefused::SameFloor(floor(0))));
}
