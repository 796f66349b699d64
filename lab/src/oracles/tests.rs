//! Each check is shown what it must not let pass: a world that is lied about.

use elevator_driver::{Button, Direction, Floor, KeySwitch, MotorCommand, PanelOutputs};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::{Call, Dot, HallCall, JournalId, Mode, NodeId, Order, Term};
use elevator_fleet::node::{Access, Change, Lsn, Report, Taken};
use elevator_fleet::orders::{Record, RecordState};
use elevator_fleet::wire::{Delta, Frame, NodeState, Protocol};

use super::*;
use crate::connection::Connections;
use crate::snapshot::QUIET_LOSS;
use crate::{Fault, MotorFault, World, WorldSettings};

mod cars;
mod promises;
mod reference;
mod robots;
mod service;
mod verdicts;

const DOT: Dot = Dot { journal: JournalId(7), sequence: 7 };

fn up(floor: u8) -> Button {
    Button::Hall(Floor::try_from(floor).expect("a floor"), Direction::Up)
}

fn call(floor: u8) -> Call {
    Call::of_button(up(floor), &NodeId::new("A").expect("a name"))
}

/// Three machines in calm, of which nothing is to be complained.
fn calm() -> World {
    let mut world = World::new(WorldSettings::new(3, 1)).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    assert_eq!(world.violations(), []);
    world
}

/// Machines that have heard nothing of each other, in a network that claims to be whole.
fn strangers() -> World {
    strangers_under(WorldSettings::new(3, 1))
}

fn strangers_under(settings: WorldSettings) -> World {
    let mut world = World::new(settings).expect("a world");
    world.inflict(Fault::Partition(Vec::new()));
    world.start_all();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.run_for(Duration::from_secs(3));
    world.press(1, up(2));
    world.run_for(Duration::from_secs(3));
    assert_eq!(world.violations(), []);
    world.network.heal();
    world
}

/// Looks, and looks again after what may be so for a while has been so for too long.
fn look(world: &mut World) {
    world.inspect();
    world.now += EQUAL_WITHIN * 2;
    world.inspect();
}

fn complains(world: &World, id: &str) {
    let found = world.violations();
    let named = found.iter().any(|violation| violation.id == id);
    assert!(named, "no {id} in {found:?}");
}

#[test]
fn a_lit_order_on_no_disk_is_noticed() {
    let mut world = calm();
    world.oracles.promises.promise(DOT, &call(2), None, world.now);
    assert_eq!(world.broken_promises()[0].id, "O1");
    world.inspect();
    complains(&world, "O1");
}

#[test]
fn an_order_on_a_failed_disk_is_on_no_disk() {
    let mut world = calm();
    world.machines[0].disk.write(Lsn(999), vec![open(DOT)]);
    world.machines[0].disk.committed();
    world.oracles.promises.promise(DOT, &call(1), None, world.now);
    world.inspect();
    assert_eq!(world.violations(), [], "it works");
    world.machines[0].disk.fail();
    world.inspect();
    complains(&world, "O1");
}

/// A car's fault is no excuse for nodes and network.
#[test]
fn a_broken_car_does_not_excuse_its_group() {
    let faults = [
        Fault::StopSwitch(0, false),
        Fault::Motor(1, Some(MotorFault::Trips)),
        Fault::AllSensorsDead(2, true),
        Fault::LineCut(0, true),
        Fault::Key(1, KeySwitch::FireRecall),
    ];
    for fault in faults {
        let mut world = strangers();
        world.inflict(fault);
        world.inspect();
        complains(&world, "E1");
    }
}

/// An election that takes its network for reliable, on one that loses packets.
fn ballot_of_the_source(nodes: usize, seed: u64) -> WorldSettings {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.election = ElectionSettings::preset(Protocol::Ballot, Preset::Source);
    settings.weather.loss = QUIET_LOSS;
    settings
}

#[test]
fn an_election_that_does_not_end_under_loss_is_noticed() {
    let mut world = strangers_under(ballot_of_the_source(3, 1));
    world.inspect();
    assert_eq!(world.violations(), [], "it has some time");
    world.now += world.settings.bound();
    world.inspect();
    complains(&world, "E1");
}

/// C3: votes are opened again and again, and each one ends.
#[test]
fn under_loss_a_ballot_of_the_source_ends_each_vote() {
    for (nodes, seed) in [(2, 1), (5, 2), (16, 3)] {
        let mut world = World::new(ballot_of_the_source(nodes, seed)).expect("a world");
        world.start_all();
        world.run_for(Duration::from_mins(2));
        assert_eq!(world.violations(), [], "{nodes} nodes");
        assert!(world.state_changes > 50, "{nodes} nodes: {} changes", world.state_changes);
    }
}

#[test]
fn a_dot_of_two_presses_is_noticed() {
    let mut world = strangers();
    world.inspect();
    let node = world.node(1).expect("it runs");
    let mut order = node.orders().orders().next().expect("an order").clone();
    order.call = call(0);
    assert!(!world.oracles.presses.is_the_press(&order));
    order.dot = DOT;
    assert!(world.oracles.presses.is_the_press(&order));
}

/// O4: a store is looked at again once it has changed.
#[test]
fn a_later_press_under_a_dot_that_has_named_another_is_noticed() {
    let mut world = strangers();
    let node = world.node(1).expect("it runs");
    let mut order = node.orders().orders().next().expect("an order").clone();
    order.dot.sequence += 1;
    order.call = call(0);
    assert!(world.oracles.presses.is_the_press(&order));
    world.press(1, up(1));
    world.run_for(Duration::from_millis(200));
    complains(&world, "O4");
}

#[test]
fn stores_that_stay_different_are_noticed() {
    let mut world = strangers();
    look(&mut world);
    complains(&world, "O7");
}

#[test]
fn a_lamp_that_goes_out_unserved_is_noticed() {
    let mut world = calm();
    world.oracles.promises.shown[0].insert(call(1), vec![DOT]);
    world.judge(|oracles, snapshot| oracles.lamp_went_dark(snapshot, 0, up(1)));
    complains(&world, "P1");
}

#[test]
fn a_lamp_of_which_no_disk_knows_is_noticed() {
    let mut world = calm();
    is_lit(&mut world, 0, DOT);
    complains(&world, "P1");
    world.inflict(Fault::DiskFail(1));
    is_lit(&mut world, 1, DOT);
    complains(&world, "P5");
}

/// A lamp promises a press of the call at floor 1.
fn is_lit(world: &mut World, node: usize, dot: Dot) {
    world.judge(|oracles, snapshot| {
        let finding = oracles.promises.some_disk_knows(snapshot, node, dot, &call(1));
        oracles.verdicts.record(snapshot, finding.into_iter().collect());
    });
}

/// Three machines in calm, the third of which is lost with the only disk that knew of a press.
fn bereaved() -> World {
    let mut world = calm();
    world.machines[2].disk.write(Lsn(999), vec![open(DOT)]);
    world.machines[2].disk.committed();
    world.inflict(Fault::PowerCut(2));
    world.inflict(Fault::Replace(2));
    world
}

fn open(dot: Dot) -> Change {
    let waited = Duration::ZERO;
    record(dot, RecordState::Open { waited })
}

fn served(dot: Dot) -> Change {
    record(dot, RecordState::Served(None))
}

fn record(dot: Dot, state: RecordState) -> Change {
    Change::Record(Record { dot, origin: NodeId::new("A").expect("a name"), call: call(1), state })
}

#[test]
fn a_press_repeats_only_what_is_open_on_a_disk_that_works() {
    let mut world = calm();
    let disk = &mut world.machines[0].disk;
    assert_eq!(disk.earlier_press(LATER, &call(1)), None, "nothing yet");
    disk.write(Lsn(999), vec![open(DOT)]);
    assert_eq!(disk.earlier_press(LATER, &call(1)), None, "on its way");
    disk.committed();
    assert_eq!(disk.earlier_press(LATER, &call(1)), Some(DOT));
    assert_eq!(disk.earlier_press(DOT, &call(1)), None, "it is no repetition");
    assert_eq!(disk.earlier_press(LATER, &call(2)), None, "of another call");
    disk.write(Lsn(1000), vec![served(DOT)]);
    disk.committed();
    assert_eq!(disk.earlier_press(LATER, &call(1)), None, "served");
    disk.write(Lsn(1001), vec![open(DOT)]);
    disk.committed();
    disk.fail();
    assert_eq!(disk.earlier_press(LATER, &call(1)), None, "on a disk that failed");
}

const LATER: Dot = Dot { sequence: 8, ..DOT };

#[test]
fn the_word_of_a_lost_machine_counts_until_its_loss_is_noticed() {
    let mut world = bereaved();
    is_lit(&mut world, 0, DOT);
    assert_eq!(world.violations(), [], "it can't know yet");
    is_lit(&mut world, 0, LATER);
    complains(&world, "P1");

    let mut world = bereaved();
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.violations(), []);
    is_lit(&mut world, 0, DOT);
    complains(&world, "P1");
}

#[test]
fn lamps_that_are_lit_on_one_panel_only_or_after_the_service_are_noticed() {
    let mut world = calm();
    world.machines[1].lit.insert(up(1));
    look(&mut world);
    complains(&world, "P2");
    complains(&world, "P4");
}

#[test]
fn a_lamp_that_the_disk_does_not_light_is_noticed() {
    let mut world = calm();
    let disk = &mut world.machines[0].disk;
    disk.write(Lsn(999), vec![open(DOT)]);
    disk.committed();
    world.judge(|oracles, snapshot| oracles.started(snapshot, 0));
    complains(&world, "P3");
}

#[test]
fn a_term_that_decreases_is_noticed() {
    let mut world = calm();
    world.oracles.terms.latest[2] = Term(99);
    world.inspect();
    complains(&world, "E3");
}

/// E3: the second node says that it was told this.
fn is_told(world: &mut World, call: &Call, car: &NodeId) -> usize {
    let before = world.violations().len();
    let report = Report::Assigned { call: call.clone(), car: car.clone(), here: false };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 1, &report));
    world.violations().len() - before
}

#[test]
fn an_assignment_of_an_earlier_mastership_is_noticed() {
    let mut world = calm();
    let car = world.machines[2].name.clone();
    assert_eq!(world.master(), Some(0));
    assert_eq!(is_told(&mut world, &call(1), &car), 1, "nobody has said so");
    let report = Report::Assigned { call: call(1), car: car.clone(), here: true };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    assert_eq!(is_told(&mut world, &call(1), &car), 0);
    let leads_anew = |oracles: &mut Oracles, _: &crate::snapshot::Snapshot| {
        oracles.plans.became_master(0, Term(99));
    };
    world.judge(leads_anew);
    assert_eq!(is_told(&mut world, &call(1), &car), 1, "it led before");
    world.disturbed();
    assert_eq!(is_told(&mut world, &call(1), &car), 0, "it may be under way");
}

/// C3: the plan goes along with the token.
#[test]
fn an_assignment_that_no_holder_has_made_is_noticed() {
    let mut settings = WorldSettings::new(3, 1);
    settings.election = ElectionSettings::of(Protocol::TokenRing);
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    let car = world.machines[2].name.clone();
    let report = Report::Assigned { call: call(1), car: car.clone(), here: true };
    let holds = |world: &World| world.master() == Some(0);
    assert!(world.run_until(Duration::from_secs(30), holds).is_some());
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    let passed_on = |world: &World| world.master() == Some(2);
    assert!(world.run_until(Duration::from_secs(30), passed_on).is_some());
    assert_eq!(is_told(&mut world, &call(1), &car), 0, "it has gone round");
    assert_eq!(is_told(&mut world, &call(2), &car), 1);
}

#[test]
fn a_group_without_one_master_is_noticed() {
    let mut world = strangers();
    world.inspect();
    complains(&world, "E1");
}

fn yields(world: &mut World, node: usize, master: &NodeId) {
    world.judge(|oracles, snapshot| {
        let findings = oracles.handovers.yielded(snapshot, node, master);
        oracles.verdicts.record(snapshot, findings);
    });
}

/// Two that have heard each other and told each other nothing, and the first one's name.
fn met() -> (World, NodeId) {
    let mut world = strangers();
    let loser = world.machines[1].name.clone();
    let hears = |world: &World| {
        let process = world.machines[0].process.as_ref().expect("it runs");
        let peers = process.node.status(process.clock(world.now)).peers;
        peers.iter().any(|peer| peer.node == loser)
    };
    let met = world.run_until(Duration::from_secs(1), hears);
    assert!(met.is_some(), "and has been told nothing yet");
    let master = world.machines[0].name.clone();
    (world, master)
}

fn placed_at(world: &mut World, at: Duration) {
    for known in world.oracles.handovers.known[1].values_mut() {
        *known = at;
    }
}

#[test]
fn an_order_may_cross_a_slow_network_while_a_node_yields() {
    let (mut world, master) = met();
    world.network.weather.delay = 100..=51_000;
    let now = world.now;
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(99)));
    yields(&mut world, 1, &master);
    let complaints = world.violations();
    let early = complaints.iter().any(|wrong| wrong.id == "E4");
    assert!(!early, "it may be under way: {complaints:?}");
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(101)));
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

#[test]
fn a_node_that_yields_with_orders_not_handed_over_is_noticed() {
    let (mut world, master) = met();
    let now = world.now;
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(49)));
    yields(&mut world, 1, &master);
    let complaints = world.violations();
    let early = complaints.iter().any(|wrong| wrong.id == "E4");
    assert!(!early, "it may be under way: {complaints:?}");
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(51)));
    world.network.cut(1, 0);
    yields(&mut world, 1, &master);
    let complaints = world.violations();
    let cut_off = complaints.iter().any(|wrong| wrong.id == "E4");
    assert!(!cut_off, "nothing reaches the master: {complaints:?}");
    world.network.heal();
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

/// E4: what is on its way over a link is handed over.
#[test]
fn an_order_that_a_link_brings_may_arrive_after_a_node_has_yielded() {
    let mut world = calm();
    let master = world.machines[0].name.clone();
    world.press(1, up(2));
    let is_on_its_way = |world: &World| {
        let lacks =
            |order: &Order| world.node(0).expect("it runs").orders().get(order.dot).is_none();
        let mut orders = world.node(1).expect("it runs").orders().orders();
        orders.any(|order| lacks(order) && world.connections.bring((1, 0), order))
    };
    assert!(world.run_until(Duration::from_secs(1), is_on_its_way).is_some());
    world.inspect();
    placed_at(&mut world, Duration::ZERO);
    yields(&mut world, 1, &master);
    assert_eq!(world.violations(), []);
    world.connections = Connections::default();
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

/// An order that somebody has invented has reached the second node in the name of this one, and no
/// link brings it to the others.
fn invents(by: usize) -> World {
    let mut world = calm();
    let Change::Record(record) = open(DOT) else { panic!() };
    let delta = Delta { records: vec![record], ..Delta::default() };
    assert!(world.forge(by, 1, &Frame::Delta(delta)));
    world.connections = Connections::default();
    world.inspect();
    placed_at(&mut world, Duration::ZERO);
    world
}

/// E4: in a full store there is no room for what nobody announces.
#[test]
fn a_node_may_yield_to_one_that_has_no_room() {
    let master = |world: &World| world.machines[0].name.clone();
    let mut world = invents(2);
    let winner = master(&world);
    world.machines[0].without_room_at = Some(world.now);
    yields(&mut world, 1, &winner);
    assert_eq!(world.violations(), []);
    world.machines[0].without_room_at = None;
    yields(&mut world, 1, &winner);
    complains(&world, "E4");
    // What came in the winner's name, it is taken to have.
    let mut world = invents(0);
    yields(&mut world, 1, &winner);
    assert_eq!(world.violations(), []);
    // For what somebody announces there is room, and for the rest unless much is invented.
    let (mut world, winner) = met();
    let now = world.now;
    placed_at(&mut world, now.saturating_sub(Duration::from_secs(1)));
    world.machines[0].without_room_at = Some(now);
    yields(&mut world, 1, &winner);
    complains(&world, "E4");
}

/// E4: to a process that has ended a node yields before it knows.
#[test]
fn a_node_may_yield_to_a_process_whose_end_it_has_not_noticed() {
    let mut world = calm();
    let (master, loser) = (world.machines[0].name.clone(), world.machines[1].name.clone());
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.press(1, up(2));
    world.run_for(Duration::from_secs(1));
    assert_eq!(world.violations(), []);
    world.inflict(Fault::PowerCut(0));
    world.inflict(Fault::Replace(0));
    let hears = |world: &World| world.machines[0].hears(&loser);
    assert!(world.run_until(Duration::from_secs(1), hears).is_some());
    let first = world.node(0).expect("it runs");
    assert_eq!(first.orders().orders().count(), 0);
    let nonce = first.hello().nonce;
    assert!(world.node(1).expect("it runs").proven().all(|(_, counted)| counted != nonce));
    placed_at(&mut world, Duration::ZERO);
    yields(&mut world, 1, &master);
    let complaints = world.violations();
    assert!(complaints.iter().all(|wrong| wrong.id != "E4"), "{complaints:?}");
}

#[test]
fn a_change_of_master_in_calm_is_noticed() {
    let mut world = calm();
    let report =
        Report::NodeState { from: NodeState::Master, to: NodeState::Seeking, term: Term(1) };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    complains(&world, "E6");
}

#[test]
fn a_call_that_is_left_with_a_car_that_is_gone_is_noticed() {
    let mut world = calm();
    world.press(0, up(2));
    world.run_for(Duration::from_millis(50));
    assert_eq!(world.violations(), []);
    for machine in &mut world.machines {
        machine.name = NodeId::new("another").expect("a name");
    }
    world.judge(|oracles, snapshot| {
        let findings = election::calls_are_assigned_to_the_living(snapshot);
        oracles.verdicts.record(snapshot, findings);
    });
    complains(&world, "H4");
}

#[test]
fn a_display_that_does_not_show_the_climate_is_noticed() {
    for (told, read) in [(Some(10), None), (Some(10), Some(40)), (None, Some(21))] {
        let mut world = calm();
        let climate = |temperature| elevator_driver::Climate { temperature, illuminance: None };
        for node in 0..3 {
            world.set_climate(node, climate(told));
        }
        world.run_for(Duration::from_secs(30));
        assert_eq!(world.violations(), []);
        for machine in &mut world.machines {
            machine.car.set_climate(climate(read));
        }
        look(&mut world);
        complains(&world, "K2");
    }
}

/// K2: a node whose sensor is silent needs the answers of the others, and they may come too late.
#[test]
fn answers_that_come_too_late_excuse_a_node_without_a_sensor() {
    let climate = |temperature| elevator_driver::Climate { temperature, illuminance: None };
    let mut world = calm();
    for node in 0..3 {
        world.set_climate(node, climate(None));
    }
    world.run_for(Duration::from_secs(30));
    world.network.weather.delay = 100..=40_000;
    for node in [1, 2] {
        world.machines[node].car.set_climate(climate(Some(21)));
    }
    look(&mut world);
    assert_eq!(world.violations(), []);
    world.machines[0].car.set_climate(climate(Some(21)));
    look(&mut world);
    complains(&world, "K2");
}

fn takes_for_two(world: &mut World, first: u8, second: u8) -> bool {
    let what = format!("two nodes are named C: one at 127.0.0.{first}, one at 127.0.0.{second}");
    let before = world.violations().len();
    let report = Report::Conflict(what);
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    world.violations().len() == before
}

/// C7, E8: what was damaged or forged excuses complaints for a while.
#[test]
fn a_forgery_excuses_no_complaint_for_ever() {
    let mut world = calm();
    let complains = |world: &mut World| {
        let before = world.violations().len();
        let report = Report::Conflict("another node is named so".to_owned());
        world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
        world.violations().len() > before
    };
    assert!(complains(&mut world));
    world.inflict(Fault::Forge {
        forgery: crate::Forgery::Term,
        by: crate::Forger::Stranger,
        of: 1,
        to: 0,
    });
    assert!(!complains(&mut world));
    world.inflict(Fault::Suspend(0));
    world.run_for(Duration::from_secs(20));
    world.inflict(Fault::Resume(0));
    assert!(!complains(&mut world), "it hears of it just now");
    world.run_for(Duration::from_secs(20));
    assert!(complains(&mut world));
}

#[test]
fn directives_that_differ_are_noticed() {
    let mut world = calm();
    let car = world.machines[1].name.clone();
    let now = world.now;
    let process = world.machines[0].process.as_mut().expect("it runs");
    let clock = process.clock(now);
    // Nothing of it goes out.
    process.node.handle_mode(&car, Mode::Independent, "kovac", clock).expect("room");
    look(&mut world);
    complains(&world, "O7");
}

/// Whether F4 is found when the button of this floor is pressed in the first car and an order of it is
/// there, and all that is found. The order comes from elsewhere.
fn becomes_an_order(world: &mut World, floor: Floor) -> (bool, Vec<Violation>) {
    let button = Button::Car(floor);
    world.judge(|oracles, snapshot| oracles.locks.pressed(snapshot, 0, button));
    let call = Call::of_button(button, &world.machines[0].name);
    world.with(0, |node, now| {
        let taken = node.handle_order_with(call.clone(), Access::Granted, now);
        assert_eq!(taken, Ok(Taken::Placed));
    });
    world.inspect();
    let found = world.violations();
    (found.iter().any(|violation| violation.id == "F4"), found)
}

/// F4: the car takes along who was told it before the floor was locked.
#[test]
fn a_locked_floor_is_the_floor_of_those_who_were_told_a_car_before() {
    let floor = Floor::try_from(2).expect("a floor");
    for is_told in [false, true] {
        let mut world = calm();
        for node in 0..3 {
            world.inflict(Fault::StopSwitch(node, true));
        }
        if is_told {
            let trip = HallCall::to(Floor::BOTTOM, floor).expect("a trip");
            world.with(0, |node, now| {
                assert_eq!(node.handle_order(Call::Hall(trip), now), Ok(Taken::Placed));
            });
        }
        world.inflict(Fault::FloorLock { at: 0, floor, locked: true });
        world.run_for(Duration::from_secs(1));
        let (is_noticed, found) = becomes_an_order(&mut world, floor);
        assert_eq!(is_noticed, !is_told, "{found:?}");
    }
}

/// F4: a firefighter's car is commanded by its buttons; any other one's makes an order.
#[test]
fn a_button_in_the_car_of_a_firefighter_need_not_make_an_order() {
    for is_firefighters in [false, true] {
        let mut world = calm();
        if is_firefighters {
            world.inflict(Fault::FireRecall { at: 0, start: true });
            world.run_for(Duration::from_mins(1));
            for key in [KeySwitch::Normal, KeySwitch::FireRecall] {
                world.inflict(Fault::Key(0, key));
                world.run_for(Duration::from_secs(1));
            }
            world.inflict(Fault::FireRecall { at: 0, start: false });
            world.run_for(Duration::from_secs(2));
            let node = world.node(0).expect("it runs");
            assert!(node.directives().has_firefighter(&world.machines[0].name));
        }
        // The press gets lost on its way to the node.
        let button = Button::Car(Floor::try_from(3).expect("a floor"));
        world.judge(|oracles, snapshot| oracles.taken.pressed(snapshot, 0, button));
        world.inspect();
        world.now += Duration::from_secs(3);
        world.inspect();
        let found = world.violations();
        let is_noticed = found.iter().any(|violation| violation.id == "F4");
        assert_eq!(is_noticed, !is_firefighters, "{found:?}");
    }
}

/// F4: who has shown a right of access may ride there, a button in the car may not.
#[test]
fn a_press_for_a_locked_floor_that_becomes_an_order_is_noticed() {
    let floor = Floor::try_from(2).expect("a floor");
    for is_locked in [false, true] {
        let mut world = calm();
        world.inflict(Fault::FloorLock { at: 0, floor, locked: is_locked });
        world.run_for(Duration::from_secs(1));
        let (is_noticed, found) = becomes_an_order(&mut world, floor);
        assert_eq!(is_noticed, is_locked, "{found:?}");
    }
}

/// C7: a node may have no room for what is invented, not for what a machine has placed.
#[test]
fn only_what_is_invented_excuses_that_there_is_no_room() {
    let mut world = calm();
    let is_excused = |world: &mut World, journal: JournalId| {
        let dot = Dot { journal, sequence: 1 };
        let what = format!(
            "node B sends more journals or calls than there can be, {dot} among them: 1 records were \
             refused"
        );
        let before = world.violations().len();
        let report = Report::Conflict(what);
        world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
        world.violations().len() == before
    };
    let placed = world.machines[2].journals[0];
    assert!(is_excused(&mut world, DOT.journal));
    assert!(!is_excused(&mut world, placed));
    // Where there is much that is invented, nothing has room that nobody announces.
    let nobody = NodeId::new("GHOST").expect("a name");
    let invented = (100..164).map(|journal| Record {
        dot: Dot { journal: JournalId(journal), sequence: 1 },
        origin: nobody.clone(),
        call: Call::Car { car: nobody.clone(), floor: Floor::BOTTOM },
        state: RecordState::Open { waited: Duration::ZERO },
    });
    let delta = Delta { records: invented.collect(), ..Delta::default() };
    assert!(world.forge(1, 0, &Frame::Delta(delta)));
    // What deceives a node excuses every complaint for a while.
    world.run_for(Duration::from_secs(20));
    assert!(!is_excused(&mut world, placed), "its node announces it");
    world.inflict(Fault::Kill(2));
    assert!(is_excused(&mut world, placed));
}

/// O7: stores may differ for longer in what nobody announces, where those that lack it have no room.
#[test]
fn only_who_has_no_room_may_lack_an_order_for_longer() {
    let mut world = calm();
    let patience = |world: &World, journal| {
        contested::patience(&world.snapshot(), journal, [0]) > Duration::ZERO
    };
    let announced = world.machines[1].node().expect("it runs").journal();
    assert!(!patience(&world, DOT.journal), "there is room");
    world.machines[0].without_room_at = Some(world.now);
    assert!(patience(&world, DOT.journal));
    assert!(!patience(&world, announced), "there is always room for it");
    assert!(contested::patience(&world.snapshot(), DOT.journal, [0, 1]).is_zero(), "B has room");
    world.now += Duration::from_secs(15);
    assert!(!patience(&world, DOT.journal), "that was long ago");
}

/// C7: its former address excuses a node for no longer than a peer may still count it there.
#[test]
fn a_new_address_excuses_no_other_conflict() {
    let mut world = calm();
    let address = std::net::Ipv4Addr::new(127, 0, 0, 9);
    world.inflict(Fault::NewAddress { node: 2, address, millis: 1_000 });
    world.run_for(Duration::from_secs(2));
    assert!(takes_for_two(&mut world, 3, 9));
    assert!(takes_for_two(&mut world, 9, 3));
    assert!(!takes_for_two(&mut world, 3, 8), "it has never been there");
    assert!(!takes_for_two(&mut world, 9, 9), "a node replaces itself");
    world.run_for(Duration::from_secs(2));
    assert!(!takes_for_two(&mut world, 3, 9), "it is known there no longer");
}

/// C7: a process that was suspended meanwhile still counts the node at its former address.
#[test]
fn who_sleeps_through_a_new_address_takes_one_for_two() {
    for shared in [false, true] {
        let mut world = calm();
        let change = if shared {
            world.inflict(Fault::SharedAddress { node: 1, with: Some(0) });
            world.run_for(Duration::from_secs(3));
            Fault::SharedAddress { node: 1, with: None }
        } else {
            let address = std::net::Ipv4Addr::new(127, 0, 0, 9);
            Fault::NewAddress { node: 1, address, millis: 1_000 }
        };
        world.inflict(Fault::Suspend(2));
        world.inflict(change);
        world.run_for(Duration::from_secs(10));
        world.inflict(Fault::Resume(2));
        world.run_for(Duration::from_secs(5));
        assert_eq!(world.violations(), [], "{shared}");
    }
}

#[test]
fn doors_and_motors_that_contradict_each_other_are_noticed() {
    let mut world = calm();
    let outputs = PanelOutputs {
        motor: MotorCommand::Run {
            stop_at: Floor::try_from(3).expect("a floor"),
            direction: Direction::Up,
        },
        door: elevator_driver::DoorCommand::Open,
        ..PanelOutputs::default()
    };
    world.machines[0].car.set_outputs(&outputs);
    world.run_for(Duration::from_secs(3));
    complains(&world, "S1");
}

#[test]
fn a_motor_that_runs_without_a_controller_is_noticed() {
    let mut world = calm();
    for floor in 0..3 {
        world.press(0, Button::Car(Floor::try_from(floor).expect("a floor")));
    }
    let moves = |world: &World| world.car(0).shaft().driven().is_some();
    assert!(world.run_until(Duration::from_secs(30), moves).is_some());
    world.machines[0].silent_since = Some(Duration::ZERO);
    world.inspect();
    complains(&world, "S2");
}
