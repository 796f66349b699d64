//! F17: what a master wants of cars besides their calls.

use super::planning::{idle_at, master, request, slave_tells, up};
use super::*;
use crate::dispatch::CarPlan;

/// A place that the car can't reach, or that the building does not have.
#[test]
fn a_car_is_not_sent_where_it_cannot_go() {
    for park in [3, 9] {
        let (mut node, now) = master();
        node.order(&Call::Hall(up(1)), now).expect("placed");
        let asked = request(&mut node);
        let mut shut = idle_at(2);
        shut.locked_out.insert(floor(3));
        slave_tells(&mut node, shut, now);
        drain(&mut node);
        let plan = CarPlan { direction: None, park: Floor::try_from(park).ok() };
        let cars = [(name(2), plan)].into();
        node.handle_plan(asked.version, Plan { cars, ..Plan::default() }, now);
        let told = frames(&mut node);
        assert!(!told.iter().any(|frame| matches!(frame, Frame::CarPlan(_))), "{told:?}");
    }
}

/// A slave of a master, its car at rest at the lowest floor.
fn slave() -> (Node, Timestamp) {
    let (_, mut node, now) = two_cars();
    drain(&mut node);
    assert_eq!(*node.node_state(), NodeState::Slave { master: name(1) });
    (node, now)
}

/// The last panel outputs make the car move, and it is told so.
fn sets_out(node: &mut Node, now: Timestamp) {
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
        sets_out(&mut node, now);
        happens(&mut node, now);
        let next = MotorCommand::Run { direction: Direction::Up, stop_at: floor(1) };
        assert_eq!(node.motor(), next, "it stops as soon as it can");
    }
}

/// E3
#[test]
fn nobody_but_a_sound_master_is_obeyed() {
    for ((mut node, now), park) in [(master(), 3), (slave(), 9)] {
        let plan = CarPlan { direction: None, park: Floor::try_from(park).ok() };
        node.handle_frame(LINK, Frame::CarPlan(plan), now);
        node.handle_timeout(now);
        assert_eq!(node.motor(), MotorCommand::Stop, "{park}");
    }
}
