//! F17: what a master wants of cars besides their calls.

use elevator_driver::{DriveFeedback, MotorCommand};

use super::planning::{LINK, idle_at, master, request, slave_tells, up};
use super::*;
use crate::dispatch::CarPlan;

fn floor(index: u8) -> Floor {
    up(index).floor
}

fn parking(places: &[(u8, u8)]) -> Plan {
    let place =
        |(car, at): &(u8, u8)| (name(*car), CarPlan { direction: None, park: Some(floor(*at)) });
    Plan { cars: places.iter().map(place).collect(), ..Plan::default() }
}

/// What goes to the slave's car.
fn told(node: &mut Node) -> Vec<CarPlan> {
    let told = drain(node).into_iter().filter_map(|action| match action {
        Action::Send { link: LINK, frame: Frame::CarPlan(plan) } => Some(plan),
        Action::Send { .. }
        | Action::Broadcast(_)
        | Action::Unicast { .. }
        | Action::Packet { .. }
        | Action::Dial { .. }
        | Action::Close(_)
        | Action::Panel(_)
        | Action::Persist { .. }
        | Action::Plan(_)
        | Action::Report(_)
        | Action::Audit(_) => None,
    });
    told.collect()
}

/// A master that has asked for a plan, with a call at floor 1.
fn planning() -> (Node, PlanRequest, Timestamp) {
    let (mut node, now) = master();
    node.handle_order(Call::Hall(up(1)), now).expect("placed");
    let asked = request(&mut node);
    (node, asked, now)
}

#[test]
fn a_car_is_told_what_is_new_to_it() {
    let (mut node, asked, now) = planning();
    node.handle_plan(asked.version, parking(&[(2, 3)]), now);
    assert_eq!(told(&mut node), [CarPlan { direction: None, park: Some(floor(3)) }]);
}

/// A slave forgets what it was told when its state changes, and obeys nobody meanwhile.
#[test]
fn a_car_whose_node_changed_its_state_is_told_again() {
    let (mut node, asked, now) = planning();
    node.handle_plan(asked.version, parking(&[(2, 3)]), now);
    assert_eq!(told(&mut node).len(), 1);
    let mut slave = unstarted(2, 1, ElectionSettings::of(Protocol::LowestIp));
    slave.start(now);
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
            let asked = drain(&mut node).into_iter().find_map(|action| {
                if let Action::Plan(request) = action { Some(request.version) } else { None }
            });
            if let Some(version) = asked {
                node.handle_plan(version, parking(&[(2, 3)]), now);
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

/// F17: an idle bank is planned once, or cars would go on moving though nothing happens.
#[test]
fn an_idle_bank_is_planned_once() {
    let (mut node, now) = master();
    for floor in [0, 3, 1, 2] {
        // As a car that drives to where it is to wait.
        slave_tells(&mut node, idle_at(floor), now);
    }
    node.handle_timeout(now + PERIOD);
    let asks = |node: &mut Node| {
        drain(node).iter().filter(|action| matches!(action, Action::Plan(_))).count()
    };
    assert_eq!(asks(&mut node), 0);
    let mut shut = idle_at(2);
    shut.locked_out.insert(floor(3));
    slave_tells(&mut node, shut, now + PERIOD);
    assert_eq!(asks(&mut node), 1, "it is another bank");
}

/// A slave of a master, its car at rest at the lowest floor.
fn slave() -> (Node, Timestamp) {
    let (mut node, now) = cabin(2);
    let master = unstarted(1, 1, ElectionSettings::of(Protocol::LowestIp));
    let mut master_node = master;
    master_node.start(Timestamp::START);
    let mut now = now;
    for _ in 0..4 {
        now = now + PERIOD;
        let mut beacon = master_node.plain_beacon(now);
        beacon.echoes = vec![Echo { nonce: node.hello().nonce, sequence: 1 }];
        node.handle_beacon(address(1), &beacon, now);
        node.handle_timeout(now);
    }
    node.handle_link_up(LINK, master_node.hello(), LinkSide::Dialled, now);
    let state = crate::wire::StateTransfer {
        term: Term::default(),
        records: Vec::new(),
        durable: true,
        more: false,
    };
    node.handle_frame(LINK, Frame::State(state), now);
    node.handle_frame(LINK, Frame::Synced, now);
    drain(&mut node);
    assert_eq!(*node.node_state(), NodeState::Slave { master: name(1) });
    (node, now)
}

fn motor(node: &Node) -> MotorCommand {
    node.outputs().expect("a panel").motor
}

/// The last panel outputs make the car move, and it is told so.
fn sets_out(node: &mut Node, now: Timestamp) -> Timestamp {
    let plan = CarPlan { direction: None, park: Some(floor(3)) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    node.handle_timeout(now);
    let run = MotorCommand::Run { direction: Direction::Up, stop_at: floor(3) };
    assert_eq!(motor(node), run);
    let driven = PanelInputs {
        drive: DriveFeedback::Driven(Direction::Up),
        next_stop: Some(floor(1)),
        floor: None,
        ..at_rest()
    };
    node.handle_panel(PanelEvent::Inputs(driven), now);
    now
}

#[test]
fn a_slave_obeys_its_master_until_the_link_ends() {
    let (mut node, now) = slave();
    let now = sets_out(&mut node, now);
    node.handle_link_down(LINK, now);
    let next = MotorCommand::Run { direction: Direction::Up, stop_at: floor(1) };
    assert_eq!(motor(&node), next, "it stops as soon as it can");
}

#[test]
fn a_slave_that_loses_its_master_does_not_go_on() {
    let (mut node, now) = slave();
    let now = sets_out(&mut node, now);
    node.handle_timeout(now + Duration::from_secs(2));
    assert_ne!(*node.node_state(), NodeState::Slave { master: name(1) });
    let next = MotorCommand::Run { direction: Direction::Up, stop_at: floor(1) };
    assert_eq!(motor(&node), next);
}

/// E3, and a floor outside the shaft is no mistake of a sound master.
#[test]
fn nobody_but_a_sound_master_is_obeyed() {
    let (mut node, now) = master();
    let plan = CarPlan { direction: None, park: Some(floor(3)) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    node.handle_timeout(now);
    assert_eq!(motor(&node), MotorCommand::Stop, "of a slave");

    let (mut node, now) = slave();
    let nowhere = Floor::try_from(9).expect("a floor of some building");
    let plan = CarPlan { direction: None, park: Some(nowhere) };
    node.handle_frame(LINK, Frame::CarPlan(plan), now);
    assert!(node.peers.links().get(LINK).is_none());
    assert_eq!(motor(&node), MotorCommand::Stop);
}
