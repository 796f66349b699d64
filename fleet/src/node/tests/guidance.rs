//! F17: what a master wants of cars besides their calls.

use super::planning::{idle_at, master, request, slave_tells, up};
use super::*;
use crate::dispatch::CarPlan;

fn parking(places: &[(u8, u8)]) -> Plan {
    let place =
        |(car, at): &(u8, u8)| (name(*car), CarPlan { direction: None, park: Some(floor(*at)) });
    Plan { cars: places.iter().map(place).collect(), ..Plan::default() }
}

/// What goes to the slave's car.
fn told(node: &mut Node) -> Vec<CarPlan> {
    let told = frames(node)
        .into_iter()
        .filter_map(|frame| if let Frame::CarPlan(plan) = frame { Some(plan) } else { None });
    told.collect()
}

/// A master that has asked for a plan, with a call at floor 1.
fn planning() -> (Node, PlanRequest, Timestamp) {
    let (mut node, now) = master();
    node.handle_order(&Call::Hall(up(1)), now).expect("placed");
    let asked = request(&mut node);
    (node, asked, now)
}

/// A slave forgets what it was told when its state changes, and obeys nobody meanwhile.
#[test]
fn a_car_whose_node_changed_its_state_is_told_again() {
    let mut slave = node(2, 1);
    let (mut node, asked, now) = planning();
    node.handle_plan(asked.version, parking(&[(2, 3)]), now);
    assert_eq!(told(&mut node).len(), 1);
    let mut hears = |node: &mut Node, node_state: NodeState, now| {
        let mut beacon = slave.plain_beacon(now);
        beacon.echoes = vec![node.echo(now)];
        beacon.node_state = node_state;
        node.handle_beacon(address(2), &beacon, now);
    };
    let mut now = now;
    let mut again = Vec::new();
    for node_state in [NodeState::Slave { master: name(1) }, NodeState::Seeking] {
        hears(&mut node, node_state.clone(), now);
        for _ in 0..2 {
            hears(&mut node, node_state.clone(), now);
            slave_tells(&mut node, idle_at(2), now);
            if let Some(asked) = plan_requests(&mut node).pop() {
                node.handle_plan(asked.version, parking(&[(2, 3)]), now);
            }
            again.push(told(&mut node).len());
            now = now + Duration::from_millis(1);
        }
    }
    assert_eq!(again, [1, 0, 1, 0], "once after each change");
}

/// A place that the car can't reach, or that the building does not have.
#[test]
fn a_car_is_not_sent_where_it_cannot_go() {
    let (mut node, asked, now) = planning();
    let mut shut = idle_at(2);
    shut.locked_out.insert(floor(3));
    slave_tells(&mut node, shut, now);
    drain(&mut node);
    node.handle_plan(asked.version, parking(&[(2, 3)]), now);
    assert_eq!(told(&mut node), []);
    let (mut node, asked, now) = planning();
    let nowhere = Floor::try_from(9).expect("a floor of some building");
    let plan = CarPlan { direction: None, park: Some(nowhere) };
    let cars = [(name(2), plan)].into();
    node.handle_plan(asked.version, Plan { cars, ..Plan::default() }, now);
    assert_eq!(told(&mut node), []);
}

/// A slave of a master, its car at rest at the lowest floor.
fn slave() -> (Node, Timestamp) {
    let mut master_node = node(1, 1);
    let (mut node, mut now) = cabin(2);
    for _ in 0..4 {
        now = now + PERIOD;
        let mut beacon = master_node.plain_beacon(now);
        beacon.echoes = vec![Echo { nonce: node.hello().nonce, sequence: 1 }];
        node.handle_beacon(address(1), &beacon, now);
        node.handle_timeout(now);
    }
    node.handle_link_up(LINK, master_node.hello(), LinkSide::Dialled, now);
    node.handle_frame(LINK, state(Vec::new()), now);
    node.handle_frame(LINK, Frame::Synced, now);
    drain(&mut node);
    assert_eq!(*node.node_state(), NodeState::Slave { master: name(1) });
    (node, now)
}

/// The last panel outputs make the car move, and it is told so.
fn sets_out(node: &mut Node, now: Timestamp) -> Timestamp {
    let plan = CarPlan { direction: None, park: Some(floor(3)) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    node.handle_timeout(now);
    let run = MotorCommand::Run { direction: Direction::Up, stop_at: floor(3) };
    assert_eq!(node.motor(), run);
    let driven = PanelInputs {
        drive: DriveFeedback::Driven(Direction::Up),
        next_stop: Some(floor(1)),
        floor: None,
        ..at_rest()
    };
    node.see(driven, now);
    now
}

#[test]
fn a_slave_obeys_its_master_until_that_is_lost_or_the_link_ends() {
    let is_lost: fn(&mut Node, Timestamp) = |node, now| {
        node.handle_timeout(now + Duration::from_secs(2));
        assert_ne!(*node.node_state(), NodeState::Slave { master: name(1) });
    };
    let ends: fn(&mut Node, Timestamp) = |node, now| node.handle_link_down(LINK, now);
    for happens in [is_lost, ends] {
        let (mut node, now) = slave();
        let now = sets_out(&mut node, now);
        happens(&mut node, now);
        let next = MotorCommand::Run { direction: Direction::Up, stop_at: floor(1) };
        assert_eq!(node.motor(), next, "it stops as soon as it can");
    }
}

/// E3, and a floor outside the shaft is no mistake of a sound master.
#[test]
fn nobody_but_a_sound_master_is_obeyed() {
    let (mut node, now) = master();
    let plan = CarPlan { direction: None, park: Some(floor(3)) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    node.handle_timeout(now);
    assert_eq!(node.motor(), MotorCommand::Stop, "of a slave");

    let (mut node, now) = slave();
    let nowhere = Floor::try_from(9).expect("a floor of some building");
    let plan = CarPlan { direction: None, park: Some(nowhere) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    assert!(node.peers.links().get(LINK).is_none());
    assert_eq!(node.motor(), MotorCommand::Stop);
}
