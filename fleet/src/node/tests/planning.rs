//! F1, F6: how a master gets its plans.

use super::*;
use crate::dispatch::Assignments;
use crate::model::{Availability, CarPhase, HallCall, Unavailable};

pub(super) fn up(floor: u8) -> HallCall {
    let floors = FloorCount::new(4).expect("floors");
    HallCall::new(floors.floor(floor).expect("a floor"), Direction::Up)
}

pub(super) fn idle_at(floor: u8) -> CarView {
    CarView::idle_at(up(floor).floor)
}

/// A master with a car, and a slave that has one.
pub(super) fn master() -> (Node, Timestamp) {
    let (mut node, now) = cabin(1);
    let slave = Node::new(settings(2, 1));
    node.handle_link_up(LINK, slave.hello(), LinkSide::Accepted, now);
    node.handle_frame(LINK, state(Vec::new()), now);
    node.handle_frame(LINK, Frame::Synced, now);
    slave_tells(&mut node, idle_at(2), now);
    leave_cars_idle(&mut node, now);
    assert_eq!(*node.node_state(), NodeState::Master);
    (node, now)
}

pub(super) fn slave_tells(node: &mut Node, view: CarView, now: Timestamp) {
    node.hear_delta(Delta { car: Some(view), ..Delta::default() }, now);
}

/// A beacon of the slave arrives.
fn slave_is_heard(node: &mut Node, now: Timestamp) {
    let mut slave = Node::new(settings(2, 1));
    let beacon = Beacon {
        sequence: u64::try_from(now.since(Timestamp::START).as_millis()).expect("a short test"),
        echoes: vec![node.echo(now)],
        node_state: NodeState::Slave { master: node.hello().node.clone() },
        ..slave.plain_beacon(now)
    };
    node.handle_beacon(slave.hello().address, &beacon, now);
}

/// The only request for a plan among what the node wants done.
pub(super) fn request(node: &mut Node) -> PlanRequest {
    let [request] = plan_requests(node).try_into().expect("one request");
    request
}

pub(super) fn place(node: &mut Node, call: HallCall, now: Timestamp) {
    assert_eq!(node.order(&Call::Hall(call), now), Ok(Taken::Placed));
}

pub(super) fn assignments(of: &[(HallCall, u8)]) -> Assignments {
    of.iter().map(|(call, car)| (*call, name(*car))).collect()
}

/// The answer to a request; returns what the slave is told.
fn answer(
    node: &mut Node,
    asked: &PlanRequest,
    plan: &[(HallCall, u8)],
    now: Timestamp,
) -> Assignments {
    node.handle_plan(asked.version, assignments(plan).into(), now);
    let told = frames(node)
        .into_iter()
        .filter_map(|frame| if let Frame::Delta(delta) = frame { Some(delta.plan) } else { None });
    told.flatten().map(|line| (line.call, line.car)).collect()
}

/// N4: a car that obeys is no reason for another plan, which may send it back. Where it is then is.
#[test]
fn a_car_that_obeys_its_plan_asks_for_no_other() {
    let (mut node, now) = master();
    place(&mut node, up(0), now);
    let asked = request(&mut node);
    answer(&mut node, &asked, &[(up(0), 2)], now);
    let direction = Direction::Down;
    let moving = |at, stop_at| CarView {
        phase: CarPhase::Moving { direction, stop_at: up(stop_at).floor, next_stop: up(1).floor },
        direction: Some(direction),
        ..idle_at(at)
    };
    for stop_at in [0, 1, 0] {
        slave_tells(&mut node, moving(2, stop_at), now);
        assert_eq!(plan_requests(&mut node), []);
    }
    slave_tells(&mut node, moving(1, 0), now);
    request(&mut node);
}

/// O7, F18: nor to a car that went out of service: a call stays until there is a better one.
#[test]
fn a_call_that_is_served_meanwhile_is_not_assigned() {
    let (mut node, now) = master();
    place(&mut node, up(0), now);
    let asked = request(&mut node);
    node.handle_plan(asked.version, assignments(&[(up(0), 1)]).into(), now);
    place(&mut node, up(1), now);
    let asked = request(&mut node);
    node.obey_door(now);
    assert_eq!(node.orders().calls().count(), 1, "the car has served its call");
    drain(&mut node);
    let told = answer(&mut node, &asked, &[(up(0), 2), (up(1), 2)], now);
    assert_eq!(told, assignments(&[(up(1), 2)]));

    let (mut node, now) = master();
    place(&mut node, up(2), now);
    let asked = request(&mut node);
    let hung = Availability::Unavailable(Unavailable::Hung);
    slave_tells(&mut node, CarView { availability: hung, ..idle_at(2) }, now);
    drain(&mut node);
    assert_eq!(answer(&mut node, &asked, &[(up(2), 2)], now), assignments(&[]));
}

/// The thread that makes plans may have died. One request is under way at a time.
#[test]
fn a_plan_that_never_comes_is_asked_for_again() {
    let (mut node, begun) = master();
    place(&mut node, up(1), begun);
    let first = request(&mut node);
    let mut now = begun;
    let second = loop {
        now = now + PERIOD;
        assert!(now.since(begun) < Duration::from_secs(10), "nobody asks");
        slave_is_heard(&mut node, now);
        slave_tells(&mut node, idle_at(2), now);
        node.handle_timeout(now);
        let requests = plan_requests(&mut node);
        assert!(requests.is_empty() || now.since(begun) > Duration::from_secs(1));
        if let Some(request) = requests.into_iter().next() {
            break request;
        }
    };
    // A planner that is merely slow is of use.
    let [late, newer] = [[(up(1), 2)], [(up(1), 1)]];
    assert_eq!(answer(&mut node, &first, &late, now), assignments(&late));
    assert_eq!(answer(&mut node, &second, &newer, now), assignments(&newer));
    assert_eq!(answer(&mut node, &first, &late, now), assignments(&[]), "overtaken");
}

/// E3: a plan belongs to the mastership that asked for it.
#[test]
fn a_plan_of_an_earlier_mastership_is_not_taken_in() {
    let (mut node, now) = master();
    place(&mut node, up(1), now);
    let first = request(&mut node);
    for node_state in [NodeState::Seeking, NodeState::Master] {
        let change = node.leadership.change_state(node_state, now);
        node.on_change(change);
    }
    node.settle(now);
    let second = request(&mut node);
    let plan = [(up(1), 2)];
    assert_eq!(answer(&mut node, &first, &plan, now), assignments(&[]));
    assert_eq!(answer(&mut node, &second, &plan, now), assignments(&plan));
}
