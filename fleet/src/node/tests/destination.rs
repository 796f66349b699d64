//! Calls of passengers who give their destination at the landing.

use elevator_driver::Trip;

use super::planning::{assignments, idle_at, master, place, request, slave_tells, up};
use super::*;
use crate::model::{Availability, Unavailable};
use crate::store::{MOST_OPEN_TRIPS, RecordState};
use crate::wire::Ack;

/// A panel that was gone when a passenger entered is noticed by then.
const NOTICED: Duration = Duration::from_millis(300);

/// From the floor where the car of the node stands to the top.
fn trip() -> HallCall {
    HallCall::to(floor(0), floor(3)).expect("a trip")
}

fn ride() -> Call {
    Call::ride(&name(1), floor(3))
}

fn assign(node: &mut Node, to: &[(HallCall, u8)], now: Timestamp) {
    let version = request(node).version;
    node.handle_plan(version, assignments(to).into(), now);
}

/// The disk takes everything that the node has to write.
fn write_all(node: &mut Node, now: Timestamp) {
    while let Some((lsn, _)) = persists(&drain(node)).last() {
        node.handle_durable(*lsn, now);
    }
}

fn open_door(node: &mut Node, now: Timestamp) {
    assert_eq!(node.outputs().map(|outputs| outputs.door), Some(DoorCommand::Open));
    node.obey_door(now);
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

/// O1, F13: the line to the panel is cut, or it restarts, and the last that came from it is read.
/// Nobody has seen the car, which may stand behind a closed door by now.
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
        node.handle_panel(event, later + Duration::from_millis(299));
        node.handle_timeout(later + NOTICED);
        assert_eq!(node.open_calls(), both);
    }
}

fn shown(node: &Node) -> Vec<(Trip, String)> {
    let kiosks = node.outputs().map(|outputs| outputs.kiosks.clone());
    kiosks.unwrap_or_default().into_iter().collect()
}

/// P1: what a kiosk shows is as safe as what a lamp says.
#[test]
fn a_kiosk_shows_the_car_once_the_trip_is_promised() {
    let asked = Trip::new(floor(0), floor(3)).expect("a trip");
    let (mut node, now) = cabin(1);
    write_all(&mut node, now);
    node.handle_panel(PanelEvent::Requested(asked), now);
    let wanted = drain(&mut node);
    for action in &wanted {
        if let Action::Plan(request) = action {
            node.handle_plan(request.version, assignments(&[(trip(), 1)]).into(), now);
        }
    }
    assert_eq!(shown(&node), [], "it is on no disk");
    let (lsn, _) = persists(&wanted).pop().expect("a press");
    node.handle_durable(lsn, now);
    assert_eq!(shown(&node), [(asked, name(1).to_string())]);
    open_door(&mut node, now);
    write_all(&mut node, now);
    assert_eq!(shown(&node), [], "its passenger is in the car");
    let lamps = node.outputs().map(|outputs| outputs.lamps.orders.clone());
    assert_eq!(lamps, Some([Button::Car(floor(3))].into()), "a trip has no hall lamp");
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
    let dot = node.orders().orders().next().expect("the trip").dot;
    let acks = vec![Ack::Press { dot, served: false, durable: true, recall: 0 }];
    node.hear_delta(Delta { acks, ..Delta::default() }, now);
    assert_eq!(shown(&node), [(asked, name(2).to_string())]);
    let availability = Availability::Unavailable(Unavailable::Stopped);
    slave_tells(&mut node, CarView { availability, ..idle_at(2) }, now);
    assert_eq!(shown(&node), []);
    slave_tells(&mut node, idle_at(2), now);
    assert_eq!(shown(&node), [(asked, name(2).to_string())]);
}

#[test]
fn a_destination_call_of_another_car_stays_open() {
    let (mut node, now) = master();
    place(&mut node, trip(), now);
    place(&mut node, up(0), now);
    assign(&mut node, &[(trip(), 2), (up(0), 1)], now);
    write_all(&mut node, now);
    open_door(&mut node, now);
    assert_eq!(node.open_calls(), [Call::Hall(trip())]);
}

/// N1: a node places no more trips; of another one it takes twice as many.
#[test]
fn the_trips_of_a_node_are_bounded() {
    let floors = FloorCount::new(40).expect("floors");
    let building = Arc::new(Building::from(floors));
    let of = |index| NodeSettings { building: building.clone(), ..settings(index, 1) };
    let (mut node, peer, now) = (started(of(1)), Node::new(of(2)), Timestamp::START);
    let from = |from: Floor| floors.floors().filter_map(move |to| HallCall::to(from, to));
    let trips: Vec<HallCall> = floors.floors().flat_map(from).collect();
    let most = MOST_OPEN_TRIPS;
    for call in &trips[..most] {
        place(&mut node, *call, now);
    }
    place(&mut node, trips[0], now);
    let call = Call::Hall(trips[most]);
    let refused = OrderRefused::TooManyTrips { call: call.clone(), most };
    assert_eq!(node.order(&call, now), Err(refused));
    place(&mut node, HallCall::new(floor(39), Direction::Down), now);

    node.handle_link_up(LINK, peer.hello(), LinkSide::Accepted, now);
    let open = |(sequence, call): (u64, &HallCall)| {
        forged::press(2, sequence, Call::Hall(*call), RecordState::open(Duration::ZERO))
    };
    // A later press of an open trip takes the place of the earlier one.
    let again = (1_000, &trips[0]);
    let records: Vec<_> = (1..).zip(&trips[..600]).chain([again]).map(open).collect();
    for records in records.chunks(300) {
        node.hear_delta(Delta { records: records.to_vec(), ..Delta::default() }, now);
        drain(&mut node);
    }
    assert_eq!(node.orders().orders().count(), most + 1 + 2 * most);
    assert_eq!(node.status(now).refused.no_room, 88);
    assert!(node.orders().get(forged::dot(201, 1_000)).is_some());
}
