//! Service modes and fire recalls by command: they reach every car, and are kept.

use elevator_driver::{DoorState, DriveFeedback, KeySwitch, LampSet};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::Mode;
use elevator_fleet::node::Node;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{
    Building, car_call, down, floor, millis, mins, secs, seed, seen, up, without_parking,
};

fn all_see(world: &World, car: usize, mode: Mode) -> bool {
    world.running().all(|at| seen(world, at, car) == Some(mode))
}

fn directives_are_equal(world: &World) -> bool {
    let mut digests =
        world.running().filter_map(|node| world.node(node)).map(|node| node.directives().digest());
    let first = digests.next();
    first != Some(0) && digests.all(|digest| Some(digest) == first)
}

fn set(building: &mut Building, at: usize, car: usize, mode: Mode) {
    building.inflict(Fault::Mode { at, car, mode });
    building.until(secs(1), "every node sees the mode", |w| all_see(w, car, mode));
}

/// A command at one node is for the car of another, and all see it.
#[test]
fn a_mode_reaches_the_car_from_any_node() {
    let mut building = Building::merged(4);
    for (at, car) in [(3, 1), (1, 3), (2, 2)] {
        for mode in [Mode::OutOfService, Mode::Independent, Mode::InService] {
            set(&mut building, at, car, mode);
            assert!(directives_are_equal(&building));
        }
    }
}

/// F6, O1: hall calls of a car that goes out of service go to others, and none is lost.
#[test]
fn no_order_is_lost_when_a_car_goes_out_of_service() {
    for (at, mode) in [(1, Mode::OutOfService), (0, Mode::Independent), (2, Mode::FireRecall)] {
        let mut building = Building::merged_of(without_parking(3));
        for button in [up(1), up(2), down(3), down(2), down(1), up(0)] {
            building.press(0, button);
        }
        building.until(secs(2), "car 1 has a call", |world| {
            let name = world.name(1);
            world.assignments().iter().any(|assigned| assigned.car == *name)
        });
        let before = building.services().len();
        set(&mut building, at, 1, mode);
        building.until(mins(4), "every call is served", World::is_idle);
        let services = building.services();
        assert!(services.len() > before, "{mode}: there was something left to serve");
        let late = services[before..].iter().filter(|service| service.node == 1);
        // What it was serving at that moment does not count against it.
        assert!(late.count() <= 1, "{mode}: {services:?}");
        building.run_for(secs(2));
        let broken = building.broken_promises();
        assert!(broken.is_empty(), "{mode}: {broken:?}");
    }
}

/// S3: riders are taken where they want to go. Then the car stays where it is, its door closed, and
/// hall calls right in front of it are for others.
#[test]
fn a_car_out_of_service_finishes_its_riders_and_takes_nobody() {
    let mut building = Building::merged_of(without_parking(2));
    building.press(1, car_call(2));
    building.press(1, car_call(3));
    building.until(secs(10), "it is on its way", |world| {
        world
            .node(1)
            .and_then(Node::outputs)
            .is_some_and(|outputs| outputs.motor != elevator_driver::MotorCommand::Stop)
    });
    set(&mut building, 0, 1, Mode::OutOfService);
    building.until(mins(2), "both riders are there", World::is_idle);
    let rides = building.services().len();
    assert_eq!(rides, 2);
    building.run_for(secs(10));
    assert_eq!(building.car(1).shaft().floor(), Some(floor(3)));
    assert_eq!(building.car(1).inputs().door, DoorState::Closed);

    building.press(0, down(3));
    building.until(mins(2), "the other car comes", |world| world.services().len() > 2);
    assert_eq!(building.services()[2].node, 0);
    assert_eq!(building.car(1).inputs().door, DoorState::Closed);

    // Nobody is locked in, and nobody is taken anywhere.
    building.press(1, car_call(0));
    building.until(secs(10), "who was still in it gets out", |world| {
        world.car(1).inputs().door == DoorState::Open
    });
    building.run_for(secs(20));
    assert_eq!(building.car(1).inputs().door, DoorState::Closed);
    assert_eq!(building.car(1).shaft().floor(), Some(floor(3)));
    assert_eq!(building.services().len(), 3);
    set(&mut building, 1, 1, Mode::InService);
}

/// A1: in independent service the door waits for a car call.
#[test]
fn an_independent_car_serves_its_car_calls_only() {
    let mut building = Building::merged_of(without_parking(2));
    set(&mut building, 0, 1, Mode::Independent);
    building.until(secs(20), "its door is open", |w| w.car(1).inputs().door == DoorState::Open);
    building.run_for(mins(1));
    assert_eq!(building.car(1).inputs().door, DoorState::Open);
    building.press(0, up(1));
    building.press(1, car_call(3));
    building.run_for(millis(200));
    building.until_at_rest();
    let services: Vec<_> =
        building.services().iter().map(|it| (it.node, it.call.floor())).collect();
    assert!(services.contains(&(0, floor(1))) && services.contains(&(1, floor(3))), "{services:?}");
    assert_eq!(services.len(), 2);
    set(&mut building, 1, 1, Mode::InService);
}

/// Of key switch and command the most restrictive one holds, but the key for a mechanic comes first.
#[test]
fn the_most_restrictive_of_key_and_command_holds() {
    let mut building = Building::merged(2);
    let expected = [
        (KeySwitch::Normal, Mode::Independent, Mode::Independent),
        (KeySwitch::FireRecall, Mode::Independent, Mode::FireRecall),
        (KeySwitch::Independent, Mode::OutOfService, Mode::OutOfService),
        (KeySwitch::Independent, Mode::FireRecall, Mode::FireRecall),
        (KeySwitch::OutOfService, Mode::FireRecall, Mode::OutOfService),
        (KeySwitch::Independent, Mode::InService, Mode::Independent),
    ];
    for (key, command, mode) in expected {
        building.inflict(Fault::Key(1, key));
        building.inflict(Fault::Mode { at: 0, car: 1, mode: command });
        let what = format!("{key:?} and {command} are {mode}");
        building.until(secs(2), &what, |world| all_see(world, 1, mode));
    }
    building.inflict(Fault::Key(1, KeySwitch::Normal));
    building.run_for(secs(2));
    assert!(all_see(&building, 1, Mode::InService));
}

/// ASME A17.1, load weighing: a car that is loaded to 80 % and has somebody to take somewhere passes hall
/// calls by, which another car serves.
#[test]
fn a_full_car_leaves_hall_calls_to_another() {
    let mut building = Building::merged_of(without_parking(2));
    building.inflict(Fault::StopSwitch(1, true));
    building.inflict(Fault::Load(0, Some(85)));
    building.press(0, car_call(3));
    building.until(secs(5), "it has left", |world| {
        world.car(0).inputs().drive != DriveFeedback::Stopped
    });
    building.press(0, up(2));
    building.until(mins(1), "it is at the top", |world| !world.services().is_empty());
    let services = |world: &World| -> Vec<_> {
        world.services().iter().map(|it| (it.node, it.call.floor())).collect()
    };
    assert_eq!(services(&building), [(0, floor(3))], "it passed the hall call by");
    // Full again, with the only other car back: that one comes.
    building.press(0, car_call(0));
    building.inflict(Fault::StopSwitch(1, false));
    building.until(mins(2), "all are served", World::is_idle);
    assert!(services(&building).contains(&(1, floor(2))), "{:?}", services(&building));
}

/// Other nodes don't take a priority call that waits for what the car does.
#[test]
fn a_key_at_independent_is_seen_while_a_priority_call_waits() {
    let mut building = Building::merged(2);
    building.inflict(Fault::Key(1, KeySwitch::Independent));
    building.inflict(Fault::Priority { at: 0, car: Some(1), floor: Some(floor(3)) });
    building.until(secs(2), "all see it", |world| all_see(world, 1, Mode::Independent));
    building.run_for(secs(5));
    assert!(all_see(&building, 1, Mode::Independent));
    building.inflict(Fault::Key(1, KeySwitch::Normal));
    building.until(secs(2), "it goes", |world| all_see(world, 1, Mode::Priority));
}

/// Modes are on every disk: they survive a restart, and the loss of power in the whole building.
#[test]
fn modes_survive_a_power_cut() {
    let mut building = Building::merged(3);
    set(&mut building, 2, 1, Mode::OutOfService);
    set(&mut building, 0, 2, Mode::Independent);
    building.run_for(secs(1));
    building.inflict(Fault::MainsCut);
    building.run_for(secs(5));
    // Alone, before it hears anybody.
    building.start(1);
    building.run_for(secs(2));
    assert_eq!(seen(&building, 1, 1), Some(Mode::OutOfService));
    building.start_all();
    building.until(secs(5), "both modes hold", |world| {
        all_see(world, 1, Mode::OutOfService) && all_see(world, 2, Mode::Independent)
    });
    building.recovers();
    assert!(all_see(&building, 1, Mode::InService) && all_see(&building, 2, Mode::InService));
}

/// A car whose node is off gets its mode when it is back, even if its own disk is new.
#[test]
fn a_node_that_was_away_learns_the_modes() {
    let mut building = Building::merged(3);
    building.inflict(Fault::Kill(2));
    building.run_for(secs(1));
    building.inflict(Fault::Mode { at: 0, car: 2, mode: Mode::OutOfService });
    building.run_for(secs(1));
    building.inflict(Fault::Restart(2));
    building.until(secs(5), "it is told", |world| all_see(world, 2, Mode::OutOfService));
    building.inflict(Fault::Kill(2));
    building.run_for(secs(1));
    building.inflict(Fault::Replace(2));
    building.inflict(Fault::Restart(2));
    building.until(secs(5), "so is a new computer", |world| all_see(world, 2, Mode::OutOfService));
    building.recovers();
}

/// Halves that were told different things agree once they hear each other, on the later command of
/// those who knew of the other, and on one of two that did not.
#[test]
fn halves_agree_on_modes_after_a_partition() {
    let mut building = Building::merged(4);
    building.inflict(Fault::Partition(vec![vec![0, 1], vec![2, 3]]));
    building.run_for(secs(2));
    building.inflict(Fault::Mode { at: 0, car: 3, mode: Mode::Independent });
    building.inflict(Fault::Mode { at: 2, car: 1, mode: Mode::OutOfService });
    building.inflict(Fault::Mode { at: 3, car: 3, mode: Mode::OutOfService });
    building.run_for(secs(2));
    building.inflict(Fault::Heal);
    building.until(secs(5), "all agree", directives_are_equal);
    building.until(secs(2), "the cars obey", |world| all_see(world, 1, Mode::OutOfService));
    let mode = seen(&building, 3, 3).expect("a car");
    assert_ne!(mode, Mode::InService);
    building.until(secs(2), "and all see it", |world| all_see(world, 3, mode));
    building.recovers();
}

/// A third of all datagrams is lost.
#[test]
fn a_mode_arrives_in_a_lossy_network() {
    let mut building = Building::merged(6);
    building.inflict(Fault::Loss(30));
    building.run_for(secs(1));
    for car in 0..6 {
        building.inflict(Fault::Mode { at: 5 - car, car, mode: Mode::Independent });
    }
    building.until(secs(5), "all have all", |world| {
        (0..6).all(|car| all_see(world, car, Mode::Independent))
    });
    building.inflict(Fault::CalmNetwork);
    building.recovers();
}

fn is_recalled(world: &World, node: usize) -> bool {
    let inputs = world.car(node).inputs();
    inputs.floor == Some(floor(0)) && inputs.door == DoorState::Open
}

/// ASME A17.1 Phase I: every car goes to the recall floor without opening elsewhere and stays there
/// with its door open; calls are dropped, buttons do nothing. Only a command ends it.
#[test]
fn a_fire_recall_brings_all_cars_down_and_drops_all_calls() {
    let mut building = Building::merged_of(without_parking(3));
    for node in 0..3 {
        building.press(node, car_call(3));
    }
    building.run_for(millis(200));
    building.until_at_rest();
    for button in [up(1), up(2), down(1), down(2)] {
        building.press(1, button);
    }
    building.press(2, car_call(1));
    building.until(secs(2), "the lamps are lit", |world| world.lamps(0).len() == 4);
    building.inflict(Fault::FireRecall { at: 1, start: true });
    building.until(secs(1), "all lamps are dark", |w| (0..3).all(|node| w.lamps(node).is_empty()));
    let served = building.services().len();
    building.until(mins(1), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    building.press(0, up(2));
    building.press(1, car_call(3));
    building.run_for(mins(5));
    assert!((0..3).all(|node| is_recalled(&building, node)), "they stay");
    assert!((0..3).all(|node| building.lamps(node).is_empty()), "the buttons do nothing");
    assert_eq!(building.services().len(), served, "nobody was served");
    assert!(building.in_step() && building.is_idle());

    building.inflict(Fault::FireRecall { at: 2, start: false });
    building
        .until(secs(1), "they are back", |w| (0..3).all(|car| all_see(w, car, Mode::InService)));
    building.press(0, up(2));
    building.run_for(millis(200));
    building.until_at_rest();
    assert_eq!(building.services().len(), served + 1);
}

/// It is never cleared automatically: not by a restart, nor by a loss of power.
#[test]
fn a_fire_recall_survives_a_power_cut() {
    let mut building = Building::merged(3);
    building.press(0, car_call(3));
    building.press(1, up(2));
    building.run_for(secs(4));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.run_for(secs(1));
    building.inflict(Fault::MainsCut);
    building.run_for(secs(10));
    building.start_all();
    building.until(mins(3), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    assert!((0..3).all(|node| building.lamps(node).is_empty()));
    building.recovers();
}

/// A node that was cut off during the alarm comes to know of it, and its orders are dropped too.
#[test]
fn a_node_that_was_cut_off_joins_a_fire_recall() {
    let mut building = Building::merged(3);
    building.inflict(Fault::NetworkCut(2, true));
    building.run_for(secs(2));
    building.press(2, up(2));
    building.press(2, car_call(1));
    building.run_for(millis(200));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.inflict(Fault::NetworkCut(2, false));
    building.until(mins(2), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    building.until(secs(5), "the stores are equal", World::in_step);
    assert!((0..3).all(|node| building.lamps(node).is_empty()));
    building.recovers();
}

/// O1, C7: a node that was cut off for the whole of a fire recall keeps the calls that it has promised,
/// although the others have dropped them. The same after a restart, with what is on its disk.
#[test]
fn a_node_that_missed_a_whole_recall_keeps_what_it_has_promised() {
    for restarts in [false, true] {
        let mut building = Building::merged_of(without_parking(3));
        for node in 0..3 {
            building.inflict(Fault::StopSwitch(node, true));
        }
        for button in [up(1), down(2), car_call(3)] {
            building.press(2, button);
        }
        building.press(0, up(2));
        building.until(secs(2), "the lamps are lit", |world| {
            world.lamps(2).len() == 4 && world.lamps(0).len() == 3
        });
        building.inflict(Fault::NetworkCut(2, true));
        building.run_for(secs(2));
        if restarts {
            building.inflict(Fault::Kill(2));
            building.run_for(secs(1));
        }
        building.inflict(Fault::FireRecall { at: 0, start: true });
        building.run_for(secs(20));
        building.inflict(Fault::FireRecall { at: 1, start: false });
        building.run_for(secs(2));
        building.press(1, down(3));
        building.run_for(secs(2));
        if restarts {
            building.inflict(Fault::Restart(2));
            building.run_for(secs(2));
        }
        assert_eq!(building.lamps(2).len(), 4, "it knows of no recall");
        building.press(2, down(1));
        building.run_for(secs(1));
        building.inflict(Fault::NetworkCut(2, false));
        let own: LampSet = [up(1), down(2), up(2), down(3), down(1), car_call(3)].into();
        building.until(secs(5), "it learns of the others' call", |world| world.lamps(2) == own);
        building.until(secs(5), "the stores are equal", World::in_step);
        building.run_for(secs(5));
        assert_eq!(building.lamps(2), own, "they stay open");
        building.recovers();
        let to_three = building.call(car_call(3), 2);
        assert!(building.services().iter().any(|service| service.call == to_three));
    }
}

/// Under every protocol, whatever carries its messages.
#[test]
fn a_mode_needs_no_certain_protocol() {
    for protocol in Protocol::ALL {
        let mut settings = WorldSettings::new(3, seed());
        settings.election = ElectionSettings::of(protocol);
        let mut building = Building::of(settings);
        building.start_all();
        building.run_for(secs(20));
        set(&mut building, 2, 1, Mode::OutOfService);
        set(&mut building, 1, 1, Mode::InService);
        building.inflict(Fault::FireRecall { at: 2, start: true });
        building.until(mins(1), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    }
}

/// O7: hall calls of an attended car whose attendant has gone are for others.
#[test]
fn no_hall_call_waits_for_an_attendant_who_has_gone() {
    let mut building = Building::merged_of(without_parking(2));
    set(&mut building, 1, 0, Mode::Attendant);
    building.until(secs(20), "its door is open", |w| w.car(0).inputs().door == DoorState::Open);
    let at = building.car(0).shaft().floor();
    building.press(1, down(3));
    building.press(1, up(2));
    building.press(1, down(1));
    building.until_at_rest();
    assert_eq!(building.car(0).shaft().floor(), at, "nobody sent it off");
    // At its next command it is back.
    building.press(0, car_call(2));
    building.run_for(millis(200));
    building.until_at_rest();
    assert_eq!(building.car(0).shaft().floor(), Some(floor(2)));
    building.recovers();
}

/// ASME A17.1 Phase II: in a recall of the fleet the key in a car gives it to a firefighter; no order
/// is placed, no other car leaves, and nothing but the key ends it.
#[test]
fn a_firefighter_drives_one_car_while_the_others_stay_recalled() {
    let mut building = Building::merged_of(without_parking(3));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.until(mins(1), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    building.inflict(Fault::Key(1, KeySwitch::FireRecall));
    building.run_for(secs(1));
    let drive = |building: &mut Building, to: u8| {
        building.press(1, car_call(to));
        building.until(secs(40), "the car is there", |world| {
            let inputs = world.car(1).inputs();
            inputs.floor == Some(floor(to)) && inputs.drive == DriveFeedback::Stopped
        });
    };
    assert!(all_see(&building, 1, Mode::FireService), "also at the other nodes");
    drive(&mut building, 3);
    building.run_for(mins(1));
    assert_eq!(building.car(1).inputs().door, DoorState::Closed);
    building.press(1, car_call(3));
    building.until(secs(10), "it opens", |w| w.car(1).inputs().door == DoorState::Open);

    // The firefighter is on the floor when the node starts again.
    building.inflict(Fault::Kill(1));
    building.run_for(secs(1));
    building.inflict(Fault::Restart(1));
    building.run_for(mins(1));
    assert_eq!(building.car(1).inputs().floor, Some(floor(3)));
    drive(&mut building, 2);
    assert!(is_recalled(&building, 0) && is_recalled(&building, 2));
    assert!(building.services().is_empty() && building.is_idle());

    building.inflict(Fault::Key(1, KeySwitch::Normal));
    building.until(mins(1), "it is recalled again", |world| is_recalled(world, 1));
    building.recovers();
}

fn all_know_the_lock(world: &World, index: u8, locked: bool) -> bool {
    let directives = |node| world.node(node).map(Node::directives);
    world.running().filter_map(directives).all(|it| it.is_locked(floor(index)) == locked)
}

/// O1, F13: a lock at one node is against the buttons of every car, through the loss of the master
/// and of all power; what was promised before is kept.
#[test]
fn a_locked_floor_stays_locked_through_failover_and_a_power_cut() {
    let mut building = Building::merged_of(without_parking(3));
    building.press(1, car_call(3));
    building.until(secs(2), "it is promised", |world| !world.lamps(1).is_empty());
    building.inflict(Fault::FloorLock { at: 2, floor: floor(3), locked: true });
    building.until(secs(1), "all know it", |world| all_know_the_lock(world, 3, true));
    building.until_at_rest();
    assert_eq!(building.car(1).shaft().floor(), Some(floor(3)), "the promise is kept");

    building.inflict(Fault::Kill(0));
    building.run_for(secs(5));
    for node in [1, 2] {
        building.press(node, car_call(3));
    }
    building.run_for(secs(2));
    assert!((1..3).all(|node| building.lamps(node).is_empty()), "the lamps stay dark");
    building.inflict(Fault::MainsCut);
    building.run_for(secs(5));
    // Alone, before it hears anybody.
    building.start(2);
    building.run_for(secs(5));
    building.press(2, car_call(3));
    building.run_for(secs(2));
    assert!(building.lamps(2).is_empty());
    building.start_all();
    building.run_for(secs(5));
    assert!(all_know_the_lock(&building, 3, true));
    // People leave, all the same.
    building.press(1, down(3));
    building.run_for(millis(200));
    building.until_at_rest();
    building.recovers();
    assert!(all_know_the_lock(&building, 3, false));
}

/// Each half keeps what it was told; the later command of those who knew of the other counts.
#[test]
fn halves_agree_on_locks_after_a_partition() {
    let mut building = Building::merged(4);
    building.inflict(Fault::FloorLock { at: 0, floor: floor(2), locked: true });
    building.until(secs(1), "all know it", |world| all_know_the_lock(world, 2, true));
    building.inflict(Fault::Partition(vec![vec![0, 1], vec![2, 3]]));
    building.run_for(secs(2));
    building.inflict(Fault::FloorLock { at: 1, floor: floor(3), locked: true });
    building.inflict(Fault::FloorLock { at: 2, floor: floor(2), locked: false });
    building.run_for(secs(1));
    building.press(1, car_call(3));
    building.press(3, car_call(3));
    building.run_for(millis(500));
    assert!(building.lamps(1).is_empty());
    assert!(!building.lamps(3).is_empty(), "there it is not locked");
    building.inflict(Fault::Heal);
    building.until(secs(5), "all agree", directives_are_equal);
    building.until_at_rest();
    assert_eq!(building.car(3).shaft().floor(), Some(floor(3)), "the promise is kept");
    assert!(all_know_the_lock(&building, 2, false) && all_know_the_lock(&building, 3, true));
    building.recovers();
}

/// ASME A17.1 Phase II: the end of the fleet's recall does not take the car away from a firefighter who
/// is on a floor, not even if the node or the power of the whole building failed meanwhile.
#[test]
fn a_firefighter_keeps_the_car_when_the_recall_ends() {
    let mut building = Building::merged_of(without_parking(3));
    building.inflict(Fault::FireRecall { at: 0, start: true });
    building.until(mins(1), "all cars are down", |w| (0..3).all(|node| is_recalled(w, node)));
    building.inflict(Fault::Key(1, KeySwitch::FireRecall));
    building.run_for(secs(1));
    building.press(1, car_call(3));
    building.until(secs(40), "the car is there", |world| {
        let inputs = world.car(1).inputs();
        inputs.floor == Some(floor(3)) && inputs.drive == DriveFeedback::Stopped
    });
    let is_left_alone = |building: &mut Building| {
        building.run_for(mins(1));
        assert_eq!(building.car(1).inputs().floor, Some(floor(3)));
        assert!(all_see(building, 1, Mode::FireService), "the recall is over, not the service");
    };
    building.inflict(Fault::FireRecall { at: 2, start: false });
    is_left_alone(&mut building);
    building.inflict(Fault::Kill(1));
    building.run_for(secs(1));
    building.inflict(Fault::Restart(1));
    is_left_alone(&mut building);
    building.inflict(Fault::MainsCut);
    building.run_for(secs(5));
    building.start_all();
    is_left_alone(&mut building);
    // The others run as usual, and this car takes no hall call.
    building.press(1, up(2));
    building.until(mins(1), "another car comes", |world| !world.services().is_empty());
    assert_ne!(building.services()[0].node, 1);
    building.until(secs(2), "all know that", World::is_idle);

    building.inflict(Fault::Key(1, KeySwitch::Normal));
    building.until(secs(5), "it is in service", |world| all_see(world, 1, Mode::InService));
    building.recovers();
}

/// A car that its own key has recalled is on its way when the fleet is recalled: it goes on, also after
/// a restart of its node.
#[test]
fn a_recall_of_the_fleet_does_not_stop_a_car_that_is_recalled_by_key() {
    for restarts in [false, true] {
        let mut building = Building::merged_of(without_parking(2));
        building.press(1, car_call(3));
        building.run_for(millis(200));
        building.until_at_rest();
        building.inflict(Fault::Key(1, KeySwitch::FireRecall));
        building.until(secs(20), "it is on its way", |world| {
            world.car(1).inputs().drive != DriveFeedback::Stopped
        });
        building.inflict(Fault::FireRecall { at: 0, start: true });
        building.run_for(millis(500));
        if restarts {
            building.inflict(Fault::Kill(1));
            building.run_for(secs(1));
            building.inflict(Fault::Restart(1));
        }
        building.until(mins(1), "it is down", |world| is_recalled(world, 1));
        building.run_for(mins(1));
        assert!(is_recalled(&building, 1));
        assert_eq!(seen(&building, 1, 1), Some(Mode::FireRecall));
    }
}
