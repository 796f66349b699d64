//! F12, F18, F19, O7: who waits is served, in time and as was promised, and no robot holds a car for
//! longer than it asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{DoorState, KeySwitch};
use elevator_fleet::model::{Availability, Call, HallCall, Mode, Timestamp, Unavailable};
use elevator_fleet::settings::{RequestId, Session, SessionState};
use elevator_fleet::store::RecordState;

use super::Finding;
use super::cars::CarWatch;
use super::orders::Orders;
use crate::machine::Line;
use crate::snapshot::Snapshot;

/// How long ago a door may have been looked at that has closed since.
const LOOKED_WITHIN: Duration = Duration::from_millis(100);

/// How long a session may hold a door beyond its time.
const BEYOND: Duration = Duration::from_secs(1);

/// Who waits, and for how long.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// The hall calls that were open at the latest look, each with the sound cars that may serve it, and
    /// since when that has been so.
    waiting: BTreeMap<HallCall, (Vec<usize>, Duration)>,
    /// By node: the incarnation and the session that hold its car's door, how often the robot had asked
    /// for a floor, and since when it has held it, by the clock of the node.
    held: BTreeMap<usize, ((u64, RequestId, u16), Timestamp)>,
    /// The sessions that a node has known to have ended, by node and incarnation.
    ended: BTreeSet<(usize, u64, RequestId)>,
}

impl Service {
    pub(super) fn inspect(&mut self, snapshot: &Snapshot, cars: &[CarWatch]) -> Vec<Finding> {
        let mut findings = self.hall_calls_are_served(snapshot, cars);
        let nodes = 0..snapshot.machines.len();
        findings.extend(nodes.filter_map(|node| self.a_session_ends(snapshot, node)));
        findings
    }

    /// O7, E8: in calm a hall call is served in bounded time as long as one car is sound, whatever the
    /// others do. A trip stays with the car that its passenger was told.
    fn hall_calls_are_served(&mut self, snapshot: &Snapshot, cars: &[CarWatch]) -> Vec<Finding> {
        let before = std::mem::take(&mut self.waiting);
        let Some(group) = snapshot.calm_group(snapshot.bound()) else { return Vec::new() };
        let Some(first) = snapshot.node(group[0]) else { return Vec::new() };
        let is_sound = |node: &usize| {
            let shaft = snapshot.machines[*node].car.shaft();
            !cars[*node].suspect
                && shaft.dead_sensors().is_empty()
                && snapshot.machines[*node].is_in_service()
        };
        let sound: Vec<usize> = group.iter().copied().filter(is_sound).collect();
        let all_are_sound = sound.len() == snapshot.cars_of(&group).count();
        let mut findings = Vec::new();
        for call in first.orders().calls() {
            let Call::Hall(hall) = call else { continue };
            if sound.is_empty() || call.is_trip() && !all_are_sound {
                continue;
            }
            let known = before.get(hall).filter(|(cars, _)| *cars == sound);
            let since = known.map_or(snapshot.now, |(_, since)| *since);
            let since = snapshot.history.served_at(call).map_or(since, |served| since.max(served));
            self.waiting.insert(*hall, (sound.clone(), since));
            if since + snapshot.longest_wait() < snapshot.now {
                let what = format!("{call} has waited since {since:?} for one of {sound:?}");
                findings.push(Finding::new("O7", group[0], what));
            }
        }
        findings
    }

    /// F19: a session holds a door open for the time that was asked for, and what has ended stays so.
    fn a_session_ends(&mut self, snapshot: &Snapshot, node: usize) -> Option<Finding> {
        let before = self.held.remove(&node);
        let machine = &snapshot.machines[node];
        let incarnation = machine.incarnation;
        for session in machine.awake()?.settings().sessions() {
            let known = (node, incarnation, session.id);
            if !session.is_open() {
                self.ended.insert(known);
            } else if self.ended.contains(&known) {
                let what = format!("session {} has ended, and is open again", session.id);
                return Some(Finding::new("F19", node, what));
            }
        }
        let Session { id, leg, seconds, .. } = holding(snapshot, node)?;
        let now = machine.process.as_ref()?.clock(snapshot.now);
        let same = before.filter(|(by, _)| *by == (incarnation, *id, *leg));
        let since = same.map_or(now, |(_, since)| since);
        self.held.insert(node, ((incarnation, *id, *leg), since));
        let is_too_long = now.since(since) > Duration::from_secs((*seconds).into()) + BEYOND;
        let what = || format!("session {id} holds the door beyond its {seconds} s");
        is_too_long.then(|| Finding::new("F19", node, what()))
    }
}

/// The session that holds the door of a car open, if nothing else does.
fn holding<'a>(snapshot: &Snapshot<'a>, index: usize) -> Option<&'a Session> {
    let machine = &snapshot.machines[index];
    let node = machine.awake()?;
    let settings = node.settings();
    let session = settings.session_of(&machine.name)?;
    let is_its_mode = machine.mode() == Mode::Priority
        && settings.priority(&machine.name).is_none()
        && machine.reported.key == KeySwitch::Normal;
    let is_open = machine.line == Line::Plugged
        && machine.car.inputs().door == DoorState::Open
        && machine.is_taken_to_be_at(session.floor)
        && node.outputs().is_some_and(|outputs| outputs.door.opens().is_some());
    if !(matches!(session.state, SessionState::Open(_)) && is_open && is_its_mode) {
        return None;
    }
    let why = snapshot.car_view(index)?.availability.unavailable();
    why.is_none_or(|why| why == Unavailable::Independent).then_some(session)
}

/// F18: a car that reports that it has served a destination call has been at its landing since
/// each press that it has served, with its door not closed and its lantern lit that way.
pub(super) fn boarded(
    snapshot: &Snapshot,
    node: usize,
    call: &Call,
    (car, orders): (&CarWatch, &Orders),
) -> Option<Finding> {
    let Call::Hall(HallCall { floor, direction, to: Some(_), .. }) = call else { return None };
    let name = &snapshot.machines[node].name;
    // Where the network is cut two cars may serve one call, each the presses that its node knows.
    let own = snapshot.records(node).filter(|record| {
        let is_own = matches!(&record.state, RecordState::Served(by) if by.car == *name);
        record.call == *call && is_own
    });
    let since = own.filter_map(|record| orders.made(record.dot)).max()?;
    let opened = car.opened.get(&(*floor, *direction));
    let was_there = opened.is_some_and(|opened| *opened + LOOKED_WITHIN >= since);
    let what = || format!("served {call} of {since:?}, and was last there at {opened:?}");
    (!was_there).then(|| Finding::new("F18", node, what()))
}

/// F18: a car that reports a service is at the floor with its door not closed; for a hall call it
/// is in service and announces the direction of the call. One input may bring a car back into
/// service, which serves a call at its open door, and then give it to a robot that waits or to a
/// priority call.
///
/// F12, F13: a destination call is served once its passenger's car call is promised, or served, which
/// may be after the car has left: [`boarded`] sees that it was there.
pub(super) fn served_here(snapshot: &Snapshot, node: usize, call: &Call) -> Option<Finding> {
    let machine = &snapshot.machines[node];
    if let Call::Hall(HallCall { to: Some(to), .. }) = call {
        let ride = Call::ride(&machine.name, *to);
        let process = machine.node()?;
        let mut open = process.orders().of_call(&ride).peekable();
        let is_unsafe = open.peek().is_some() && !open.any(|it| process.has_promised(it.dot));
        let what = || format!("served {call}, {ride} is not promised");
        return is_unsafe.then(|| Finding::new("F12", node, what()));
    }
    let (floor, door) = (machine.car.shaft().floor(), machine.car.inputs().door);
    let building = machine.node()?.building();
    let opens = building.door(machine.name.as_str(), call.entrance());
    let (side, is_here) = (machine.car.inputs().side, machine.is_taken_to_be_at(call.floor()));
    if !is_here || door == DoorState::Closed || opens != Some(side) {
        let what = format!("served {call} at {floor:?}, {side} door {door:?}");
        return Some(Finding::new("F18", node, what));
    }
    let Call::Hall(HallCall { direction, .. }) = call else { return None };
    let view = snapshot.car_view(node)?;
    let is_in_service = view.availability == Availability::InService
        || view.mode == Mode::Priority && machine.has_just_given_its_car();
    let is_right = view.direction == Some(*direction) && is_in_service;
    let (heading, why) = (view.direction, view.availability);
    let what = || format!("served {call}, heading {heading:?}, {why:?}");
    (!is_right).then(|| Finding::new("F18", node, what()))
}
