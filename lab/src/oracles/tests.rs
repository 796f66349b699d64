//! Each check is shown what it must not let pass: a world that is lied about.

use elevator_driver::{Button, Direction, Floor, KeySwitch, MotorCommand, PanelOutputs};
use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::{Call, Dot, HallCall, JournalId, Mode, NodeId, Order, Term};
use elevator_fleet::node::{Access, Change, Lsn, Report, Taken};
use elevator_fleet::orders::{Record, RecordState};
use elevator_fleet::wire::{Frame, NodeState, Protocol};

use super::*;
use crate::connection::Connections;
use crate::snapshot::QUIET_LOSS;
use crate::{Bursts, Fault, MotorFault, World, WorldSettings};

mod cars;
mod elections;
mod lamps;
mod orders;
mod planning;
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
    assert!(is_among(id, &found), "no {id} in {found:?}");
}

/// Whatever else there is to complain of, not that.
fn excuses(world: &World, id: &str) {
    let found = world.violations();
    assert!(!is_among(id, &found), "{found:?}");
}

fn is_among(id: &str, found: &[Violation]) -> bool {
    found.iter().any(|violation| violation.id == id)
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

/// O1: who has no disk to wait for any more waits for one that is being written.
#[test]
fn an_order_on_a_disk_that_fails_may_be_on_its_way_to_another() {
    for is_written in [false, true] {
        let mut world = calm();
        for (node, change) in [(0, open(DOT)), (1, open(LATER)), (2, open(LATER))] {
            world.machines[node].disk.write(Lsn(999), vec![change]);
        }
        world.machines[0].disk.committed();
        world.oracles.promises.promise(DOT, &call(1), None, world.now);
        world.machines[0].disk.fail();
        world.inspect();
        assert_eq!(world.violations(), [], "others are being written");
        world.machines[1].disk.fail();
        world.inspect();
        assert_eq!(world.violations(), [], "one is");
        if is_written {
            world.machines[2].disk.committed();
            world.inspect();
            assert_eq!(world.violations(), []);
        }
        world.machines[2].disk.fail();
        world.inspect();
        complains(&world, "O1");
    }
    let mut world = calm();
    world.machines[1].disk.write(Lsn(999), vec![open(DOT)]);
    world.oracles.promises.promise(DOT, &call(1), None, world.now);
    world.machines[0].disk.fail();
    world.inspect();
    complains(&world, "O1");
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
    let (at, top) = (world.car(0).shaft().floor().expect("a floor"), world.floors().top());
    let stop_at = if at == top { Floor::BOTTOM } else { top };
    let direction = at.direction_to(stop_at).expect("another floor");
    let outputs = PanelOutputs {
        motor: MotorCommand::Run { stop_at, direction },
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
