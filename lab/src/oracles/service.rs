//! Who waits is served, in time and as was promised.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Direction, DoorState, Floor};
use elevator_fleet::model::{Availability, Call, HallCall, Mode};

use super::Finding;
use crate::snapshot::Snapshot;

/// How long ago a door may have been looked at that has closed since.
const LOOKED_WITHIN: Duration = Duration::from_millis(100);

/// Since when destination calls have waited: from the first press after a service. Two cars may serve
/// one press where the network is cut.
#[derive(Debug, Default)]
pub(super) struct Boardings {
    trips: BTreeMap<HallCall, Waiting>,
}

#[derive(Debug, Clone, Copy)]
struct Waiting {
    since: Duration,
    /// A car has come since then.
    is_served: bool,
}

impl Boardings {
    /// A press has become an order, as some node reports.
    pub(super) fn placed(&mut self, call: &Call, now: Duration) {
        if let Call::Hall(trip @ HallCall { to: Some(_), .. }) = call {
            let waits = Waiting { since: now, is_served: false };
            let waiting = self.trips.entry(*trip).or_insert(waits);
            if waiting.is_served {
                *waiting = waits;
            }
        }
    }

    /// F18: a car that reports that it has served a destination call has been at its landing since the
    /// press, with its door not closed and its lantern lit that way. It was when its door was `opened`.
    pub(super) fn served(
        &mut self,
        node: usize,
        call: &Call,
        opened: &BTreeMap<(Floor, Direction), Duration>,
    ) -> Option<Finding> {
        let Call::Hall(trip @ HallCall { floor, direction, to: Some(_) }) = call else {
            return None;
        };
        let waiting = self.trips.get_mut(trip)?;
        waiting.is_served = true;
        let since = waiting.since;
        let opened = opened.get(&(*floor, *direction));
        let was_there = opened.is_some_and(|opened| *opened + LOOKED_WITHIN >= since);
        let what = || format!("served {call} of {since:?}, and was last there at {opened:?}");
        (!was_there).then(|| Finding::new("F18", node, what()))
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
