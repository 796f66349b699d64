//! Calls of passengers who give their destination at the landing.

use elevator_driver::Trip;

use super::planning::{idle_at, master, request, slave_tells, up};
use super::*;
use crate::dispatch::Assignments;
use crate::store::{MOST_OPEN_TRIPS, RecordState};
use crate::wire::PlanEntry;

/// A panel that was gone when a passenger entered is noticed by then.
const NOTICED: Duration = Duration::from_millis(300);

/// From the floor where the car of the node stands to the top.
fn trip() -> HallCall {
    HallCall::to(floor(0), floor(3)).expect("a trip")
}

fn ride() -> Call {
    Call::Car { car: name(1), floor: floor(3) }
}

fn place(node: &mut Node, call: HallCall, now: Timestamp) {
    assert_eq!(node.handle_order(&Call::Hall(call), now), Ok(Taken::Placed));
}

fn assign(node: &mut Node, to: &[(HallCall, u8)], now: Timestamp) {
    let version = request(node).version;
    let plan: Assignments = to.iter().map(|(call, car)| (*call, name(*car))).collect();
    node.handle_plan(version, plan.into(), now);
}

/// The disk takes everything that the node has to write; returns what it reported.
fn write_all(node: &mut Node, now: Timestamp) -> Vec<Report> {
    let mut reported = Vec::new();
    loop {
        let actions = drain(node);
        let batches = persists(&actions);
        reported.extend(reports(actions));
        let Some((lsn, _)) = batches.last() else {
            return reported;
        };
        node.handle_durable(*lsn, now);
    }
}

fn open_door(node: &mut Node, now: Timestamp) {
    assert_eq!(node.outputs().map(|outputs| outputs.door), Some(DoorCommand::Open));
    node.obey_door(now);
}

/// A plan with this trip, for the request among these actions.
fn plan_trip(node: &mut Node, actions: &[Action], now: Timestamp) {
    let version = actions.iter().find_map(|action| {
        if let Action::Plan(request) = action { Some(request.version) } else { None }
    });
    let plan: Assignments = [(trip(), name(1))].into();
    node.handle_plan(version.expect("a request"), plan.into(), now);
}

fn served(reports: &[Report]) -> Vec<&Call> {
    let served = reports.iter().filter_map(|report| {
        if let Report::Served { call, .. } = report { Some(call) } else { None }
    });
    served.collect()
}

/// A node alone, whose car has opened its door for a passenger; nothing is written since.
fn boarded() -> (Node, Timestamp) {
    let (mut node, now) = cabin(1);
    write_all(&mut node, now);
    place(&mut node, trip(), now);
    assign(&mut node, &[(trip(), 1)], now);
    write_all(&mut node, now);
    open_door(&mut node, now);
    (node, now)
}

/// O1, F13: the line to the panel is cut, or it restarts, and the last that came from it is read. Nobody
/// has seen the car, which may stand behind a closed door by now.
#[test]
fn a_panel_that_is_lost_as_a_passenger_enters_leaves_the_trip_open() {
    let both = [Call::Hall(trip()), ride()];
    for event in [PanelEvent::Disconnected("cut".to_owned()), PanelEvent::Connected] {
        let (mut node, now) = boarded();
        write_all(&mut node, now);
        assert_eq!(node.open_calls(), both, "it may have been cut before");
        node.handle_panel(event.clone(), now + Duration::from_millis(299));
        let later = now + Duration::from_secs(1);
        node.handle_timeout(later);
        write_all(&mut node, later);
        assert_eq!(node.open_calls(), both);
        assert_eq!(node.waiting_calls(), [trip()].into(), "for any car");

        // A process that was suspended does not notice it.
        let (mut node, now) = boarded();
        write_all(&mut node, now);
        let later = now + Duration::from_secs(1);
        node.handle_interrupted(Duration::from_secs(1), later);
        assert_eq!(node.open_calls(), both);
        node.handle_panel(event, later + Duration::from_millis(299));
        node.handle_timeout(later + NOTICED);
        assert_eq!(node.open_calls(), both);
    }
}

#[test]
fn a_destination_call_lights_no_hall_lamp() {
    let (mut node, now) = boarded();
    assert!(node.outputs().is_some_and(|outputs| outputs.lamps.orders.is_empty()));
    write_all(&mut node, now);
    let lamps = node.outputs().map(|outputs| outputs.lamps.orders.clone());
    assert_eq!(lamps, Some([Button::Car(floor(3))].into()));
}

fn shown(node: &Node) -> Vec<(Trip, String)> {
    let kiosks = node.outputs().map(|outputs| outputs.kiosks.clone());
    kiosks.unwrap_or_default().into_iter().collect()
}

/// P1: what a kiosk shows is as safe as what a lamp says.
#[test]
fn a_kiosk_shows_the_car_once_the_trip_is_promised() {
    let (mut node, now) = cabin(1);
    write_all(&mut node, now);
    let asked = Trip::new(floor(0), floor(3)).expect("a trip");
    node.handle_panel(PanelEvent::Requested(asked), now);
    assign(&mut node, &[(trip(), 1)], now);
    assert_eq!(shown(&node), [], "it is on no disk");
    let (mut node, now) = cabin(1);
    write_all(&mut node, now);
    node.handle_panel(PanelEvent::Requested(asked), now);
    let actions = drain(&mut node);
    let (lsn, _) = persists(&actions).pop().expect("a press");
    node.handle_durable(lsn, now);
    assert_eq!(shown(&node), [], "it has no car");
    plan_trip(&mut node, &actions, now);
    assert_eq!(shown(&node), [(asked, name(1).to_string())]);
    open_door(&mut node, now);
    write_all(&mut node, now);
    assert_eq!(shown(&node), [], "its passenger is in the car");
}

/// The calls of a process that starts with what was written.
fn after_restart(written: &[Change]) -> Vec<Call> {
    let records = written.iter().filter_map(|change| match change {
        Change::Record(record) => Some(record.clone()),
        Change::Forget(_)
        | Change::Term(_)
        | Change::Setting(_)
        | Change::ForgetSetting(_)
        | Change::FlightTimes(_) => None,
    });
    let restored = Restored { records: records.collect(), ..Restored::default() };
    restarted(1, 2, restored).open_calls()
}

/// O1, F12, F13: after whichever write the node crashes, the passenger is fetched, or brought there.
#[test]
fn a_crash_between_boarding_and_the_promise_loses_no_trip() {
    let (mut node, now) = cabin(1);
    write_all(&mut node, now);
    place(&mut node, trip(), now);
    let mut written = Vec::new();
    let mut write = |node: &mut Node, actions: &[Action]| {
        let batches = persists(actions);
        written.extend(batches.iter().flat_map(|(_, changes)| changes.clone()));
        let (lsn, _) = batches.last()?;
        node.handle_durable(*lsn, now);
        Some(after_restart(&written))
    };
    let actions = drain(&mut node);
    assert_eq!(write(&mut node, &actions), Some(vec![Call::Hall(trip())]));
    plan_trip(&mut node, &actions, now);
    open_door(&mut node, now);
    let actions = drain(&mut node);
    let both = vec![Call::Hall(trip()), ride()];
    assert_eq!(write(&mut node, &actions), Some(both), "made twice at worst");
    node.handle_timeout(now + NOTICED);
    let actions = drain(&mut node);
    assert_eq!(write(&mut node, &actions), Some(vec![ride()]));
}

/// A car that opens for somebody else leaves alone who waits for another car.
#[test]
fn a_destination_call_of_another_car_stays_open() {
    let (mut node, now) = master();
    place(&mut node, trip(), now);
    place(&mut node, up(0), now);
    assign(&mut node, &[(trip(), 2), (up(0), 1)], now);
    write_all(&mut node, now);
    open_door(&mut node, now);
    assert_eq!(served(&write_all(&mut node, now)), [&Call::Hall(up(0))]);
    assert_eq!(node.open_calls(), [Call::Hall(trip())]);
}

/// Alone, with its disk, in a building with 1,560 trips, which are returned.
fn tall() -> (Node, Vec<HallCall>, Timestamp) {
    let floors = FloorCount::new(40).expect("floors");
    let mut node = started(NodeSettings { floors, ..settings(1, 1) });
    drain(&mut node);
    let from = |from: Floor| floors.floors().filter_map(move |to| HallCall::to(from, to));
    (node, floors.floors().flat_map(from).collect(), Timestamp::START)
}

/// N1
#[test]
fn a_node_places_a_bounded_number_of_trips() {
    let (mut node, trips, now) = tall();
    let most = MOST_OPEN_TRIPS;
    for call in &trips[..most] {
        place(&mut node, *call, now);
    }
    place(&mut node, trips[0], now);
    let call = Call::Hall(trips[most]);
    let refused = OrderRefused::TooManyTrips { call: call.clone(), most };
    assert_eq!(node.handle_order(&call, now), Err(refused));
    drain(&mut node);
    for floor in 10..20 {
        let trip = Trip::new(self::floor(39), self::floor(floor)).expect("a trip");
        node.handle_panel(PanelEvent::Requested(trip), now);
    }
    let reports = write_all(&mut node, now);
    let is_refusal = |report: &&Report| matches!(report, Report::PressRefused { .. });
    assert_eq!(reports.iter().filter(is_refusal).count(), 1, "{reports:?}");
    assert_eq!(node.open_calls().len(), most);
    let button = HallCall::new(floor(39), Direction::Down);
    place(&mut node, button, now);
}

/// N1
#[test]
fn invented_trips_of_a_node_are_bounded_and_counted() {
    let (mut node, trips, now) = tall();
    let floors = node.hello().floors;
    let peer = Node::new(NodeSettings { floors, ..settings(2, 1) });
    node.handle_link_up(LINK, peer.hello(), LinkSide::Accepted, now);
    let waits = RecordState::open(Duration::ZERO);
    let open = |sequence, call| forged::press(2, sequence, Call::Hall(call), waits.clone());
    let records = (1..).zip(&trips[..600]).map(|(sequence, call)| open(sequence, *call));
    for records in records.collect::<Vec<_>>().chunks(300) {
        node.hear_delta(Delta { records: records.to_vec(), ..Delta::default() }, now);
        drain(&mut node);
    }
    assert_eq!(node.orders().orders().count(), 2 * MOST_OPEN_TRIPS);
    assert_eq!(node.status(now).refused.no_room, 88);
    // A later press of an open trip takes the place of the earlier one.
    let again = open(1_000, trips[0]);
    node.hear_delta(Delta { records: vec![again.clone()], ..Delta::default() }, now);
    assert!(node.orders().get(again.dot).is_some());
}

/// Its car call is not on the disk yet, but no passenger waits for a car.
#[test]
fn a_passenger_who_is_in_the_car_is_not_planned_for() {
    let (mut node, now) = boarded();
    leave_cars_idle(&mut node, now);
    place(&mut node, up(2), now);
    assert!(node.open_calls().contains(&Call::Hall(trip())));
    let demand = request(&mut node).demand;
    let planned: Vec<HallCall> = demand.iter().map(|demand| demand.call).collect();
    assert_eq!(planned, [up(2)]);
}

/// Who waits for a car that went out of service is told no car until there is another.
#[test]
fn a_kiosk_shows_no_car_that_was_withdrawn() {
    let (mut node, now) = master();
    let asked = Trip::new(floor(0), floor(3)).expect("a trip");
    place(&mut node, trip(), now);
    assign(&mut node, &[(trip(), 2)], now);
    write_all(&mut node, now);
    let dots: Vec<Dot> = node.orders().orders().map(|order| order.dot).collect();
    let acks = dots.into_iter().map(|dot| crate::wire::Ack::Press {
        dot,
        served: false,
        durable: true,
        recall: 0,
    });
    node.hear_delta(Delta { acks: acks.collect(), ..Delta::default() }, now);
    assert_eq!(shown(&node), [(asked, name(2).to_string())]);
    let stopped = crate::model::Availability::Unavailable(crate::model::Unavailable::Stopped);
    slave_tells(&mut node, CarView { availability: stopped, ..idle_at(2) }, now);
    assert_eq!(shown(&node), []);
    slave_tells(&mut node, idle_at(2), now);
    assert_eq!(shown(&node), [(asked, name(2).to_string())]);
}

/// The plan entry of a trip that was over came after its service.
#[test]
fn a_passenger_is_told_no_car_of_an_earlier_one() {
    let (mut node, now) = master();
    node.dispatching.plan.learn(PlanEntry { version: 1, call: trip(), car: name(2) });
    place(&mut node, trip(), now);
    assert_eq!(request(&mut node).demand[0].assigned, None);
}

/// A frame of a sound node stays within its limit, however many trips there are.
#[test]
fn a_long_plan_takes_several_frames() {
    let entry = |version| PlanEntry { version, call: trip(), car: name(1) };
    let entries: Vec<PlanEntry> = (0..5_000).map(|at| entry(u64::MAX - at)).collect();
    let parts: Vec<Delta> = Delta::of_plan(entries.clone()).collect();
    for part in &parts {
        assert!(crate::wire::codec::encode_frame(&Frame::Delta(part.clone())).is_ok());
    }
    let joined: Vec<PlanEntry> = parts.into_iter().flat_map(|part| part.plan).collect();
    assert_eq!(joined, entries);
}
