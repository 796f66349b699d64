//! How findings become violations, and the checks that no seeded defect of the brain can trip: a world
//! is lied about. All others are proved by `tests/seeded_bugs.rs`.

use elevator_driver::{Direction, Floor, KeySwitch, Trip};
use elevator_fleet::dispatch::WeekTime;
use elevator_fleet::model::{Dot, NodeId};
use elevator_fleet::node::{Change, Lsn};
use elevator_fleet::store::{Record, RecordState};
use elevator_fleet::wire::Nonce;

use super::*;
use crate::snapshot::LINGERS;
use crate::{Fault, MotorFault, World, WorldSettings};

const DOT: Dot = Dot { incarnation: Nonce(7), sequence: 7 };
const SECOND: Duration = Duration::from_secs(1);

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

fn up(index: u8) -> Button {
    Button::Hall(floor(index), Direction::Up)
}

fn call(index: u8) -> Call {
    Call::of_button(up(index), &NodeId::new("A").expect("a name"))
}

fn open(dot: Dot) -> Change {
    let origin = NodeId::new("A").expect("a name");
    let state = RecordState::Open { waited: Duration::ZERO, recall: 0 };
    Change::Record(Record { dot, origin, call: call(1), state, absorbed: Vec::new() })
}

/// Three machines in calm, of which nothing is to be complained.
fn calm() -> World {
    let mut world = World::new(WorldSettings::new(3, 1)).expect("a world");
    world.start_all();
    world.run_for(SECOND * 10);
    assert_eq!(world.violations(), []);
    world
}

/// Machines that have heard nothing of each other, in a network that claims to have been whole for long.
fn strangers() -> World {
    let mut world = World::new(WorldSettings::new(3, 1)).expect("a world");
    world.inflict(Fault::Partition(Vec::new()));
    world.start_all();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.run_for(SECOND * 3);
    world.press(1, up(2));
    world.run_for(SECOND * 3);
    assert_eq!(world.violations(), []);
    world.network.heal();
    world.storm.over = Duration::ZERO;
    world
}

/// Looks, and looks again after what may be so for a while has been so for too long.
fn look(world: &mut World) {
    world.inspect();
    world.now += SECOND * 6;
    world.inspect();
}

fn has(world: &World, id: &str) -> bool {
    world.violations().iter().any(|violation| violation.id == id)
}

fn complains(world: &World, id: &str) {
    assert!(has(world, id), "no {id} in {:?}", world.violations());
}

fn reports(world: &mut World, node: usize, report: &Report) {
    world.judge(|oracles, snapshot| oracles.reported(snapshot, node, report));
}

/// What lasts counts once each inspection has found it for its limit, and once.
#[test]
fn a_finding_counts_once_it_has_stood_for_its_limit() {
    let mut world = calm();
    let mut inspect = |later, found: bool, what: &str| {
        world.now += later;
        world.judge(|oracles, snapshot| {
            let finding = Finding::new("X1", 0, what.to_owned()).lasting(SECOND);
            oracles.verdicts.record(snapshot, found.then_some(finding));
            oracles.verdicts.end_inspection();
        });
        world.violations().len()
    };
    let almost = SECOND.saturating_sub(Duration::from_nanos(1));
    let nano = Duration::from_nanos(1);
    assert_eq!(inspect(SECOND, true, "one"), 0);
    assert_eq!(inspect(almost, true, "one"), 0);
    assert_eq!(inspect(nano, true, "one"), 1);
    assert_eq!(inspect(SECOND, true, "one"), 1, "once");
    assert_eq!(inspect(SECOND * 2, true, "another"), 1);
    assert_eq!(inspect(SECOND, false, "another"), 1);
    assert_eq!(inspect(almost, true, "another"), 1, "it has been gone");
}

/// What a fault invalidates does not count until it has healed and is noticed no longer.
#[test]
fn a_fault_excuses_what_it_invalidates_and_nothing_else() {
    let mut world = calm();
    let complaint = |number: u8| Report::Conflict { text: number.to_string() };
    world.inflict(Fault::Corruption(1));
    reports(&mut world, 0, &complaint(1));
    world.inflict(Fault::CalmNetwork);
    reports(&mut world, 0, &complaint(2));
    assert_eq!(world.violations(), []);
    world.run_for(LINGERS + SECOND * 5);
    reports(&mut world, 0, &complaint(3));
    complains(&world, "C7");
    let mut world = calm();
    world.inflict(Fault::Loss(1));
    reports(&mut world, 0, &complaint(1));
    complains(&world, "C7");
}

/// Convergence and liveness count in calm only. A broken car is no excuse for nodes and network.
#[test]
fn what_converges_is_looked_at_in_calm_only() {
    let storms = [
        Fault::Cut(0, 1),
        Fault::RefuseLinks(0, 1),
        Fault::Loss(30),
        Fault::Suspend(2),
        Fault::DiskFail(0),
        Fault::ClockRate { node: 1, rate: 900 },
    ];
    for fault in storms {
        let mut world = strangers();
        world.inflict(fault);
        look(&mut world);
        assert_eq!(world.violations(), []);
    }
    let calms = [
        Fault::Motor(1, Some(MotorFault::Trips)),
        Fault::AllSensorsDead(2, true),
        Fault::LineCut(0, true),
        Fault::Key(1, KeySwitch::FireRecall),
    ];
    for fault in calms {
        let mut world = strangers();
        world.inflict(fault);
        look(&mut world);
        complains(&world, "E1");
        complains(&world, "O7");
    }
}

#[test]
fn a_lit_order_on_no_disk_that_works_is_noticed() {
    let mut world = calm();
    world.machines[0].disk.write(Lsn(999), vec![open(DOT)]);
    world.machines[0].disk.committed();
    world.oracles.promises.open.insert(DOT, (call(1), world.now));
    look(&mut world);
    assert_eq!(world.violations(), [], "it is on one");
    assert_eq!(world.broken_promises()[0].id, "O1");
    world.machines[0].disk.fail();
    world.inspect();
    assert_eq!(world.violations(), [], "another may be being written");
    look(&mut world);
    complains(&world, "O1");
}

/// P1: a passenger who asks for a trip that the kiosk shows as promised relies on the earlier press.
#[test]
fn a_trip_may_be_asked_for_again_before_any_disk_knows() {
    let trip = Trip::new(floor(0), floor(1)).expect("a trip");
    for pause in 0..12 {
        let mut world = calm();
        for (node, millis) in [(1, 35), (0, pause), (1, 50)] {
            world.request(node, trip);
            world.run_for(Duration::from_millis(millis));
        }
        assert_eq!(world.violations(), [], "{pause} ms");
    }
}

#[test]
fn a_call_that_waits_for_ever_for_a_sound_car_is_noticed() {
    for is_sound in [true, false] {
        let mut world = calm();
        world.inflict(Fault::Motor(1, Some(MotorFault::Trips)));
        world.inflict(Fault::DoorJammed(2, true));
        if !is_sound {
            world.inflict(Fault::Key(0, KeySwitch::FireRecall));
        }
        world.press(0, up(2));
        world.run_for(Duration::from_millis(1_500));
        assert!(world.has_hall_calls());
        world.inspect();
        world.now += world.snapshot().longest_wait() + SECOND;
        world.inspect();
        assert_eq!(world.violations().iter().any(|it| it.what.contains("waited")), is_sound);
    }
}

/// N4: with each entry of the schedule the master plans once; that they alternate is no event.
#[test]
fn plans_without_an_event_are_noticed() {
    let schedule = "daily 00:00-12:00 park 0; daily 12:00-24:00 park 1";
    let schedule = schedule.parse().expect("a schedule");
    let settings = WorldSettings { schedule, ..WorldSettings::new(3, 1) };
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(SECOND * 10);
    for is_noticed in [false, true] {
        for round in 0..20 {
            world.set_local_time(0..3, WeekTime::new(0, 6 + 12 * (round % 2), 0));
        }
        world.inspect();
        assert_eq!(has(&world, "N4"), is_noticed);
    }
}

/// S2: no defect of the brain keeps a motor running whose panel has no controller.
#[test]
fn a_motor_that_runs_without_a_controller_is_noticed() {
    let mut world = calm();
    for index in 0..4 {
        world.press(0, Button::Car(floor(index)));
    }
    let runs = |world: &World| world.car(0).shaft().driven().is_some();
    assert!(world.run_until(SECOND * 30, runs).is_some());
    world.machines[0].silent_since = Some(Duration::ZERO);
    world.inspect();
    complains(&world, "S2");
}
