//! Each check is shown what it must not let pass: a world that is lied about. Seeded defects of the brain
//! prove most of them a second time (`tests/seeded_bugs.rs`).

use elevator_driver::{
    Direction, DoorCommand, DoorState, DriveFeedback, Floor, KeySwitch, MotorCommand, PanelOutputs,
    Trip,
};
use elevator_fleet::directives::{SessionState, Topic, Value};
use elevator_fleet::dispatch::WeekTime;
use elevator_fleet::model::{Dot, HallCall, JournalId, NodeId, Order};
use elevator_fleet::node::{Change, Lsn};
use elevator_fleet::orders::{Record, RecordState};

use super::*;
use crate::connection::Connections;
use crate::disk::Disk;
use crate::snapshot::LINGERS;
use crate::{Fault, LevellingFault, MotorFault, World, WorldSettings};

const DOT: Dot = Dot { journal: JournalId(7), sequence: 7 };
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
    Change::Record(Record { dot, origin, call: call(1), state })
}

/// Three machines in calm, of which nothing is to be complained.
fn calm() -> World {
    let mut world = World::new(WorldSettings::new(3, 1)).expect("a world");
    world.start_all();
    world.run_for(SECOND * 10);
    assert_eq!(world.violations(), []);
    world
}

/// The same, whose cars do not move, so that what is pressed stays open.
fn standing() -> World {
    let mut world = calm();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.run_for(SECOND);
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

/// A calm world whose first car is on its way between two floors.
fn under_way() -> World {
    let mut world = calm();
    for index in 0..4 {
        world.press(0, Button::Car(floor(index)));
    }
    let runs = |world: &World| {
        world.machines[0].motor_command() != MotorCommand::Stop
            && world.car(0).shaft().floor().is_none()
            && world.machines[0].reported.drive != DriveFeedback::Stopped
    };
    assert!(world.run_until(SECOND * 30, runs).is_some());
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

fn finds(world: &mut World, oracle: impl FnOnce(&mut Oracles, &Snapshot) -> Vec<Finding>) {
    world.judge(|oracles, snapshot| {
        let findings = oracle(oracles, snapshot);
        oracles.verdicts.record(snapshot, findings);
    });
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
    let complaint = |number: u8| Report::Conflict(number.to_string());
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
    world.oracles.promises.promise(DOT, &call(1), world.now);
    look(&mut world);
    assert_eq!(world.violations(), [], "it is on one");
    assert_eq!(world.broken_promises()[0].id, "O1");
    world.machines[0].disk.fail();
    world.inspect();
    assert_eq!(world.violations(), [], "another may be being written");
    look(&mut world);
    complains(&world, "O1");
}

#[test]
fn lamps_that_promise_what_is_not_kept_are_noticed() {
    let mut world = standing();
    world.press(1, up(1));
    world.run_for(SECOND);
    assert!(world.is_lit(0, up(1)));
    let goes_dark =
        |world: &mut World| world.judge(|oracles, it| oracles.lamp_went_dark(it, 0, up(1)));
    goes_dark(&mut world);
    complains(&world, "P1");
    // Where no disk knows what it shows for the first time.
    for (failed, id) in [(false, "P1"), (true, "P5")] {
        let mut world = standing();
        world.press(1, up(1));
        world.run_for(SECOND);
        for machine in &mut world.machines {
            machine.disk = Disk::new(JournalId(99));
        }
        if failed {
            world.machines[0].disk.fail();
        }
        world.oracles.promises = Promises::new(3);
        world.judge(|oracles, snapshot| oracles.lamp_is_lit(snapshot, 0, up(1)));
        complains(&world, id);
    }
    let mut world = calm();
    world.machines[1].lit.insert(up(1));
    look(&mut world);
    complains(&world, "P2");
    complains(&world, "P4");
    let mut world = calm();
    world.machines[0].disk.write(Lsn(999), vec![open(DOT)]);
    world.machines[0].disk.committed();
    world.judge(|oracles, snapshot| oracles.started(snapshot, 0));
    complains(&world, "P3");
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
fn doors_and_motors_that_contradict_each_other_are_noticed() {
    let mut world = calm();
    let (at, top) = (world.car(0).shaft().floor().expect("a floor"), world.floors().top());
    let stop_at = if at == top { Floor::BOTTOM } else { top };
    let direction = at.direction_to(stop_at).expect("another floor");
    let outputs = PanelOutputs {
        motor: MotorCommand::Run { stop_at, direction },
        door: DoorCommand::Open,
        ..PanelOutputs::default()
    };
    world.machines[0].car.set_outputs(&outputs);
    world.run_for(SECOND * 3);
    complains(&world, "S1");

    let mut world = under_way();
    world.machines[0].silent_since = Some(Duration::ZERO);
    world.inspect();
    complains(&world, "S2");
}

/// H1, H6: what a sound car has to bear is no reason to count as hung.
#[test]
fn a_sound_car_that_hangs_is_noticed() {
    let hangs = |world: &mut World| {
        finds(world, |oracles, snapshot| {
            oracles.car_changed(snapshot, 0);
            oracles.cars[0].only_a_broken_car_hangs(0).into_iter().collect()
        });
        has(world, "H1")
    };
    let bearable = [
        Fault::DeadSensor(0, Some(floor(1))),
        Fault::Levelling(0, Some(LevellingFault::Off)),
        Fault::Speed(0, 80),
        Fault::DoorJammed(0, true),
        Fault::StopSwitch(0, true),
        Fault::LineCut(0, true),
    ];
    for fault in bearable {
        let mut world = calm();
        world.inflict(fault);
        assert!(hangs(&mut world));
    }
    let mut world = calm();
    world.inflict(Fault::Motor(0, Some(MotorFault::Dead)));
    world.inflict(Fault::Motor(0, None));
    assert!(!hangs(&mut world), "it has not got anywhere since");
    let at = world.machines[0].reported.floor.expect("at a floor").index();
    world.press(0, Button::Car(floor((at + 2) % 4)));
    world.run_for(SECOND * 30);
    assert!(hangs(&mut world));
    let world = under_way();
    assert!(cars::the_motor_is_stopped_first(&world.machines[0], 0).is_some());
}

/// H5: the time adds up over retries and interruptions, and a floor is new once. Where the sensor of the
/// stop has lied, the floors before it are new as well.
#[test]
fn a_stuck_car_that_does_not_hang_is_noticed() {
    for (driven, in_all) in [(12, 12), (0, 52)] {
        let mut world = under_way();
        world.inspect();
        assert_eq!(world.violations(), []);
        let watch = &mut world.oracles.cars[0];
        (watch.driven, watch.driven_in_all) = (SECOND * driven, SECOND * in_all);
        world.inspect();
        complains(&world, "H5");
    }
    let mut world = under_way();
    world.inflict(Fault::Motor(0, Some(MotorFault::Stuck)));
    world.run_for(SECOND * 3);
    let driven = world.oracles.cars[0].driven;
    assert!((SECOND * 2..SECOND * 6).contains(&driven), "{driven:?}");
    world.inflict(Fault::StopSwitch(0, true));
    world.run_for(SECOND * 3);
    let watch = &world.oracles.cars[0];
    assert!(watch.driven < SECOND && watch.driven_in_all >= driven);

    let mut world = calm();
    let at = world.machines[0].reported.floor.expect("at a floor").index();
    let (to, between) = if at < 2 { (3, 2) } else { (0, 1) };
    world.press(0, Button::Car(floor(to)));
    let runs = |world: &World| {
        matches!(world.machines[0].motor_command(), MotorCommand::Run { .. })
            && world.car(0).shaft().floor().is_none()
            && world.machines[0].reported.drive != DriveFeedback::Stopped
    };
    assert!(world.run_until(SECOND * 30, runs).is_some());
    let mut is_new = |index: u8| {
        world.machines[0].reported.floor = Some(floor(index));
        let watch = &mut world.oracles.cars[0];
        watch.driven = SECOND * 9;
        watch.look(&world.machines[0], world.now);
        world.oracles.cars[0].driven < SECOND * 9
    };
    let seen = [to, to, between, between, to, between].map(&mut is_new);
    assert_eq!(seen, [true, false, true, false, true, false]);
}

/// The first machine's car stands with its door open for those who want to go up from floor 1.
fn open_for_up() -> World {
    let mut world = calm();
    for node in [1, 2] {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.press(0, up(1));
    let is_open = |world: &World| world.car(0).inputs().door == DoorState::Open;
    assert!(world.run_until(SECOND * 60, is_open).is_some());
    world.run_for(Duration::from_millis(100));
    assert_eq!((world.car(0).inputs().floor, world.violations()), (Some(floor(1)), vec![]));
    world
}

#[test]
fn a_service_by_a_car_that_is_not_there_for_it_is_noticed() {
    let served = |call| Report::Served { call, waited: Duration::ZERO, here: true, car: None };
    let down = Call::Hall(HallCall::new(floor(1), Direction::Down));
    for (lie, is_noticed) in [(call(1), false), (call(2), true), (down, true)] {
        let mut world = open_for_up();
        reports(&mut world, 0, &served(lie));
        assert_eq!(has(&world, "F18"), is_noticed);
    }
    let mut world = open_for_up();
    world.inflict(Fault::Key(0, KeySwitch::Independent));
    world.run_for(Duration::from_millis(100));
    reports(&mut world, 0, &served(call(1)));
    complains(&world, "F18");
    let mut world = calm();
    let here = Button::Car(world.machines[0].car.inputs().floor.expect("at a floor"));
    let behind_a_closed_door = Call::of_button(here, &world.machines[0].name);
    reports(&mut world, 0, &served(behind_a_closed_door));
    complains(&world, "F18");
    // What takes a car in the input in which it comes back into service takes it after it has served.
    let mut world = open_for_up();
    world.inflict(Fault::Priority { at: 0, car: Some(0), floor: Some(floor(1)) });
    reports(&mut world, 0, &served(call(1)));
    assert_eq!(world.violations(), []);
    world.run_for(Duration::from_millis(100));
    reports(&mut world, 0, &served(call(1)));
    complains(&world, "F18");
}

/// F18: the car has been at the landing since the press, which may become known elsewhere much later.
#[test]
fn a_trip_that_is_served_from_elsewhere_is_noticed() {
    for knows_late in [false, true] {
        let mut world = open_for_up();
        let trip = Call::Hall(HallCall::to(floor(1), floor(3)).expect("a trip"));
        world.request(0, Trip::new(floor(1), floor(3)).expect("a trip"));
        world.run_for(SECOND * 30);
        let node = world.node(0).expect("it runs");
        let last = Dot { journal: node.journal(), sequence: u64::MAX };
        let press = node.orders().present(last, &trip);
        let origin = world.machines[0].name.clone();
        let placed = Report::Placed { call: trip.clone(), origin, press };
        if !knows_late {
            world.oracles.service = Service::default();
        }
        reports(&mut world, 1, &placed);
        let car = Some(world.machines[0].name.clone());
        let served = Report::Served { call: trip, waited: Duration::ZERO, here: true, car };
        reports(&mut world, 0, &served);
        assert_eq!(has(&world, "F18"), !knows_late);
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

#[test]
fn a_session_that_holds_a_car_for_too_long_or_again_is_noticed() {
    let ask = |world: &mut World, floor| {
        world.inflict(Fault::Session { at: 0, session: 1, car: Some(0), floor });
    };
    let session = |world: &World| {
        let node = world.node(0).expect("it runs");
        node.directives().remembered_sessions().next().cloned().expect("a session")
    };
    let is_open = |world: &World| matches!(session(world).state, SessionState::Open(_));
    for has_priority in [false, true] {
        let mut world = calm();
        ask(&mut world, Some(Floor::BOTTOM));
        assert!(world.run_until(SECOND * 40, is_open).is_some());
        if has_priority {
            // Then that is what holds its door.
            let floor = Some(Floor::BOTTOM);
            world.inflict(Fault::Priority { at: 0, car: Some(0), floor });
        }
        world.run_for(SECOND * 5);
        assert_eq!(world.violations(), []);
        // The node does not get to look at its clock.
        world.now += SECOND * 30;
        world.inspect();
        assert_eq!(has(&world, "F19"), !has_priority);
    }
    let mut world = calm();
    ask(&mut world, Some(Floor::BOTTOM));
    let open = session(&world);
    world.run_for(SECOND * 5);
    ask(&mut world, None);
    world.run_for(SECOND);
    assert!(!session(&world).is_open());
    world.with(0, |node, now| {
        let value = Value::new(&open.to_string()).expect("it is short");
        node.handle_directive(Topic::Session(0).key(), value, "lab", now).expect("room");
    });
    world.inspect();
    complains(&world, "F19");
}

/// E4: what is on its way over a link is handed over.
#[test]
fn a_node_that_yields_with_orders_not_handed_over_is_noticed() {
    let mut world = standing();
    let master = world.machines[0].name.clone();
    world.press(1, up(2));
    let is_on_its_way = |world: &World| {
        let lacks =
            |order: &Order| world.node(0).expect("it runs").orders().get(order.dot).is_none();
        let mut orders = world.node(1).expect("it runs").orders().orders();
        orders.any(|order| lacks(order) && world.connections.bring((1, 0), order))
    };
    assert!(world.run_until(SECOND, is_on_its_way).is_some());
    world.now += SECOND;
    let yields =
        |world: &World| elections::orders_are_handed_over(&world.snapshot(), 1, &master).is_some();
    assert!(!yields(&world));
    world.connections = Connections::default();
    assert!(yields(&world));
    world.network.cut(1, 0);
    assert!(!yields(&world), "nothing reaches the master");
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
