//! Lies about service.

use elevator_driver::{DoorState, Trip};
use elevator_fleet::model::{HallCall, Role};

use super::*;

fn served(call: Call) -> Report {
    Report::Served { call, waited: Duration::ZERO, here: true, car: None }
}

/// The first node reports this.
fn reports(world: &mut World, report: &Report) {
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, report));
}

/// A calm world whose first car stands with its door open for those who want to go up.
fn open_for_up() -> (World, Floor) {
    let mut world = calm();
    for node in [1, 2] {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.press(0, up(1));
    let is_open = |world: &World| world.car(0).inputs().door == DoorState::Open;
    assert!(world.run_until(Duration::from_mins(1), is_open).is_some());
    world.run_for(Duration::from_millis(100));
    let floor = world.car(0).inputs().floor.expect("at a floor");
    assert_eq!((floor.index(), world.violations()), (1, vec![]));
    (world, floor)
}

#[test]
fn service_at_another_floor_is_noticed() {
    let (mut world, _) = open_for_up();
    reports(&mut world, &served(call(2)));
    complains(&world, "F18");
}

#[test]
fn service_behind_a_closed_door_is_noticed() {
    let mut world = calm();
    let floor = world.machines[0].car.inputs().floor.expect("at a floor");
    let car_call = Button::Car(floor);
    let call = Call::of_button(car_call, &world.machines[0].name);
    reports(&mut world, &served(call));
    complains(&world, "F18");
}

#[test]
fn service_in_the_other_direction_is_noticed() {
    let (mut world, floor) = open_for_up();
    let hall = |direction| Call::Hall(HallCall::new(floor, direction));
    reports(&mut world, &served(hall(Direction::Up)));
    assert_eq!(world.violations(), []);
    reports(&mut world, &served(hall(Direction::Down)));
    complains(&world, "F18");
}

#[test]
fn service_by_a_car_that_is_out_of_the_group_is_noticed() {
    let (mut world, floor) = open_for_up();
    world.inflict(Fault::Key(0, KeySwitch::Independent));
    world.run_for(Duration::from_millis(100));
    let direction = Direction::Up;
    reports(&mut world, &served(Call::Hall(HallCall::new(floor, direction))));
    complains(&world, "F18");
}

/// F18: what takes a car in the input in which it comes back into service takes it after it has served
/// those at its open door; later it serves nobody.
#[test]
fn only_what_is_given_a_car_at_once_excuses_its_service() {
    let (mut world, floor) = open_for_up();
    let call = Call::Hall(HallCall::new(floor, Direction::Up));
    let is_given = |world: &World| world.machines[0].has_just_given_its_car();
    let priority = Fault::Priority { at: 0, car: Some(0), floor: Some(floor) };
    world.inflict(priority.clone());
    assert!(is_given(&world));
    reports(&mut world, &served(call.clone()));
    assert_eq!(world.violations(), []);
    world.run_for(Duration::from_millis(100));
    assert!(!is_given(&world));
    reports(&mut world, &served(call));
    complains(&world, "F18");

    // A session that has the car goes on having it.
    let (mut world, floor) = open_for_up();
    world.inflict(Fault::Session { at: 0, session: 1, car: Some(0), floor: Some(floor) });
    world.run_for(Duration::from_secs(1));
    let directives = world.node(0).expect("it runs").directives();
    assert!(directives.session_of(&world.machines[0].name).is_some());
    world.inflict(priority);
    assert!(!is_given(&world));
}

/// The first car has taken along who wanted to go up from where it stood, has left the landing, and
/// stands elsewhere. Returns the trip, and the report that its press has become an order.
fn taken_along() -> (World, Call, Report) {
    let (mut world, floor) = open_for_up();
    let to = Floor::try_from(3).expect("a floor");
    let trip = Call::Hall(HallCall::to(floor, to).expect("a trip"));
    world.request(0, Trip::new(floor, to).expect("a trip"));
    world.run_for(Duration::from_secs(30));
    assert_eq!(world.violations(), []);
    let node = world.node(0).expect("it runs");
    let last = Dot { journal: node.journal(), sequence: u64::MAX };
    let press = node.orders().present(last, &trip);
    assert!(press.is_some_and(|press| node.orders().service(press).is_some()));
    let (call, origin) = (trip.clone(), world.machines[0].name.clone());
    (world, trip, Report::Placed { call, origin, press })
}

/// F18: the car has to have been there since the press.
#[test]
fn a_trip_that_is_served_from_elsewhere_is_noticed() {
    let (mut world, trip, placed) = taken_along();
    // It was made just now.
    world.oracles.boardings = Boardings::default();
    reports(&mut world, &placed);
    reports(&mut world, &served(trip));
    complains(&world, "F18");
}

/// F18: a node that was cut off may have to wait until its peers know of the ride before the trip of
/// its passenger ends. Its press is as old as it is, though they hear of it only then, and though the
/// car of another has served the same trip meanwhile.
#[test]
fn a_press_that_becomes_known_late_is_no_later_press() {
    let (mut world, trip, placed) = taken_along();
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 1, &placed));
    reports(&mut world, &served(trip));
    assert_eq!(world.violations(), []);
}

/// Two broken cars and a sound one, before which a call waits.
fn waiting() -> World {
    let mut world = calm();
    world.inflict(Fault::Motor(1, Some(MotorFault::Trips)));
    world.inflict(Fault::DoorJammed(2, true));
    world.press(0, up(2));
    world.run_for(Duration::from_millis(1_500));
    assert!(world.has_hall_calls());
    world
}

#[test]
fn a_call_that_waits_for_ever_for_a_sound_car_is_noticed() {
    let mut world = waiting();
    world.inspect();
    world.now += world.snapshot().longest_wait() + Duration::from_secs(1);
    world.inspect();
    complains(&world, "O7");
}

/// However long the open calls wait, nobody is to blame.
fn no_wait_is_too_long(world: &mut World) {
    world.inspect();
    world.now += world.snapshot().longest_wait() + Duration::from_secs(1);
    world.inspect();
    let complaints = world.violations();
    let waits = complaints.iter().any(|wrong| wrong.what.contains("waited"));
    assert!(!waits, "{complaints:?}");
}

#[test]
fn a_call_that_waits_where_no_car_is_sound_is_excused() {
    let mut world = waiting();
    world.inflict(Fault::Key(0, KeySwitch::FireRecall));
    no_wait_is_too_long(&mut world);
}

#[test]
fn a_call_at_a_node_without_a_car_waits_for_none() {
    let mut settings = WorldSettings::new(2, 1);
    settings.election = ElectionSettings::of(Protocol::Senior);
    settings.roles = [(1, Role::ControlUnit)].into();
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    world.inflict(Fault::Partition(vec![vec![0], vec![1]]));
    world.press(1, up(2));
    world.run_for(Duration::from_secs(30));
    assert!(world.has_hall_calls());
    no_wait_is_too_long(&mut world);
}

/// O7: passengers keep the car that they were told, but not one that is gone.
#[test]
fn a_trip_is_expected_of_another_car_once_its_own_is_gone() {
    let mut world = calm();
    world.inflict(Fault::StopSwitch(0, true));
    let [from, to] = [2, 0].map(|floor| Floor::try_from(floor).expect("a floor"));
    world.request(0, Trip::new(from, to).expect("a trip"));
    world.run_for(Duration::from_millis(500));
    let call = HallCall::to(from, to).expect("a trip");
    let mut assignments = world.node(0).expect("it runs").assignments();
    let told = assignments.find_map(|(assigned, car)| (assigned == call).then(|| car.clone()));
    drop(assignments);
    let has_it = |node: &usize| Some(&world.machines[*node].name) == told.as_ref();
    let (told, sound): (Vec<usize>, Vec<usize>) = (1..3).partition(has_it);
    assert_eq!((told.len(), sound.len()), (1, 1));
    let waits =
        |world: &World| waits::waits_for_another(&world.snapshot(), (&[0, 1, 2], &sound), call);
    assert!(waits(&world), "its car is in service");
    world.inflict(Fault::Kill(told[0]));
    assert!(!waits(&world), "its car is gone");
}
