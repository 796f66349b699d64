//! Who waits is served, in time and as was promised.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Direction, DoorState, Floor};
use elevator_fleet::model::{Availability, Call, Dot, HallCall, Mode};
use elevator_fleet::orders::{Record, RecordState};

use super::Finding;
use crate::snapshot::Snapshot;

/// How long ago a door may have been looked at that has closed since.
const LOOKED_WITHIN: Duration = Duration::from_millis(100);

/// When each press of a destination call was made, as the first report of it shows. A press may come
/// to be known to others much later, from a node that was cut off: it is no other press then.
#[derive(Debug, Default)]
pub(super) struct Boardings {
    made: BTreeMap<Dot, Duration>,
}

impl Boardings {
    /// A press has become an order, as some node reports.
    pub(super) fn placed(&mut self, snapshot: &Snapshot, call: &Call, press: Option<Dot>) {
        if let Some(press) = press.filter(|_| call.is_trip()) {
            self.made.entry(press).or_insert(snapshot.now);
        }
    }

    /// F18: a car that reports that it has served a destination call has been at its landing since
    /// each press that it has served, with its door not closed and its lantern lit that way. It was
    /// when its door was `opened`.
    pub(super) fn served(
        &self,
        snapshot: &Snapshot,
        node: usize,
        call: &Call,
        opened: &BTreeMap<(Floor, Direction), Duration>,
    ) -> Option<Finding> {
        let Call::Hall(HallCall { floor, direction, to: Some(_) }) = call else {
            return None;
        };
        let since = self.latest_served(snapshot, node, call)?;
        let opened = opened.get(&(*floor, *direction));
        let was_there = opened.is_some_and(|opened| *opened + LOOKED_WITHIN >= since);
        let what = || format!("served {call} of {since:?}, and was last there at {opened:?}");
        (!was_there).then(|| Finding::new("F18", node, what()))
    }

    /// When the latest press was made that the car of this node has served, as its store says. Two
    /// cars may serve one call where the network is cut, each the presses that its node knows.
    fn latest_served(&self, snapshot: &Snapshot, node: usize, call: &Call) -> Option<Duration> {
        let machine = &snapshot.machines[node];
        let process = machine.process.as_ref()?;
        let records = process.node.orders().records(process.clock(snapshot.now));
        let is_own = |record: &Record| match &record.state {
            RecordState::Served(Some(service)) => service.car == machine.name,
            RecordState::Served(None) | RecordState::Open { .. } => false,
        };
        let served = records.filter(|record| record.call == *call && is_own(record));
        served.filter_map(|record| self.made.get(&record.dot)).max().copied()
    }
}

/// F18: a car that reports a service is at the floor with its door not closed; for a hall call it
/// is in service and announces the direction of the call. One input may bring a car back into
/// service, which serves a call at its open door, and then give it to a robot that waits or to a
/// priority call. Where the floor's sensor is dead, the car's place counts: it may have died while the
/// node was held up, after it had reported the floor. Where a car is led astray by a wrong sensor, what
/// that reports counts too.
///
/// F12, F13: a destination call is served once its passenger's car call is promised, or served, which
/// may be after the car has left: [`Boardings`] sees that it was there.
pub(super) fn served_here(snapshot: &Snapshot, node: usize, call: &Call) -> Vec<Finding> {
    let machine = &snapshot.machines[node];
    if let Call::Hall(HallCall { to: Some(to), .. }) = call {
        let ride = Call::Car { car: machine.name.clone(), floor: *to };
        let is_unsafe = machine.process.as_ref().is_some_and(|process| {
            let mut open = process.node.orders().of_call(&ride).peekable();
            open.peek().is_some() && !open.any(|order| process.node.has_promised(order.dot))
        });
        let what = || format!("served {call}, {ride} is not promised");
        return is_unsafe.then(|| Finding::new("F12", node, what())).into_iter().collect();
    }
    let mut findings = Vec::new();
    let (floor, door) = (machine.car.shaft().floor(), machine.car.inputs().door);
    if !machine.is_taken_to_be_at(call.floor()) || door == DoorState::Closed {
        let what = format!("served {call} at {floor:?}, door {door:?}");
        findings.push(Finding::new("F18", node, what));
    }
    findings.extend(serves_the_direction(snapshot, node, call));
    findings
}

fn serves_the_direction(snapshot: &Snapshot, node: usize, call: &Call) -> Option<Finding> {
    let Call::Hall(HallCall { direction, .. }) = call else {
        return None;
    };
    let process = snapshot.machines[node].process.as_ref()?;
    let car = process.node.status(process.clock(snapshot.now)).car?;
    let (heading, availability) = (car.view.direction, car.view.availability);
    let is_in_service = availability == Availability::InService
        || car.view.mode == Mode::Priority && snapshot.machines[node].has_just_given_its_car();
    let is_right = heading == Some(*direction) && is_in_service;
    (!is_right).then(|| {
        let what = format!("served {call}, heading {heading:?}, {availability:?}");
        Finding::new("F18", node, what)
    })
}
