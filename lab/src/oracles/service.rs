//! F12, F18, F19, O7: who waits is served, in time and as was promised, and no robot holds a car for
//! longer than it asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{DoorCommand, DoorState, KeySwitch};
use elevator_fleet::directives::{RequestId, Session, SessionState};
use elevator_fleet::model::{Availability, Call, Dot, HallCall, Mode, Unavailable};
use elevator_fleet::orders::RecordState;

use super::Finding;
use super::cars::CarWatch;
use crate::machine::{Line, Machine};
use crate::snapshot::Snapshot;

/// How long ago a door may have been looked at that has closed since.
const LOOKED_WITHIN: Duration = Duration::from_millis(100);

/// How long a session may hold a door beyond its time.
const BEYOND: Duration = Duration::from_secs(1);

/// Who waits, and for how long.
#[derive(Debug, Default)]
pub(crate) struct Service {
    /// When each press of a destination call was made, as the first report of it shows. A node that was
    /// cut off may report it much later: it is no other press then.
    made: BTreeMap<Dot, Duration>,
    /// The hall calls that were open at the latest look, each with the sound cars that may serve it, and
    /// since when that has been so.
    waiting: BTreeMap<HallCall, (Vec<usize>, Duration)>,
    /// By node: the session that holds its car's door, how often its robot had asked for a floor, and
    /// for how long it has held it since, by the clock of the node.
    held: BTreeMap<usize, (RequestId, u16, Duration)>,
    /// By node: the sessions that its process has known to have ended.
    ended: BTreeMap<usize, BTreeSet<RequestId>>,
    looked_at: Duration,
}

impl Service {
    pub(super) fn placed(&mut self, call: &Call, press: Dot, now: Duration) {
        if call.is_trip() {
            self.made.entry(press).or_insert(now);
        }
    }

    /// A process starts, and knows of no session.
    pub(super) fn starts(&mut self, node: usize) {
        self.held.remove(&node);
        self.ended.remove(&node);
    }

    /// F18: a car that reports that it has served a destination call has been at its landing since
    /// each press that it has served, with its door not closed and its lantern lit that way.
    pub(super) fn boarded(
        &self,
        snapshot: &Snapshot,
        node: usize,
        (call, car): (&Call, &CarWatch),
    ) -> Option<Finding> {
        let Call::Hall(HallCall { floor, direction, to: Some(_) }) = call else { return None };
        let machine = &snapshot.machines[node];
        let process = machine.process.as_ref()?;
        // Where the network is cut two cars may serve one call, each the presses that its node knows.
        let records = process.node.orders().records(process.clock(snapshot.now));
        let own = records.filter(|record| {
            let by = match &record.state {
                RecordState::Served(service) => Some(service),
                RecordState::Open { .. } => None,
            };
            record.call == *call && by.is_some_and(|service| service.car == machine.name)
        });
        let since = own.filter_map(|record| self.made.get(&record.dot)).max()?;
        let opened = car.opened.get(&(*floor, *direction));
        let was_there = opened.is_some_and(|opened| *opened + LOOKED_WITHIN >= *since);
        let what = || format!("served {call} of {since:?}, and was last there at {opened:?}");
        (!was_there).then(|| Finding::new("F18", node, what()))
    }

    pub(super) fn inspect(&mut self, snapshot: &Snapshot, cars: &[CarWatch]) -> Vec<Finding> {
        let passed = snapshot.now.saturating_sub(self.looked_at);
        self.looked_at = snapshot.now;
        let mut findings = self.hall_calls_are_served(snapshot, cars);
        for node in 0..snapshot.machines.len() {
            findings.extend(self.a_session_ends(snapshot, node, passed));
        }
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
        for call in first.orders().calls() {
            let Call::Hall(call) = call else { continue };
            if !sound.is_empty()
                && (call.to.is_none() || sound.len() == snapshot.cars_of(&group).count())
            {
                let known = before.get(call).filter(|(cars, _)| *cars == sound);
                let since = known.map_or(snapshot.now, |(_, since)| *since);
                let served = snapshot.history.served_at(&Call::Hall(*call)).unwrap_or_default();
                self.waiting.insert(*call, (sound.clone(), since.max(served)));
            }
        }
        let limit = snapshot.longest_wait();
        let late = self.waiting.iter().filter(|(_, (_, since))| *since + limit < snapshot.now);
        late.map(|(call, (_, since))| {
            let what = format!("{call:?} has waited since {since:?} for one of {sound:?}");
            Finding::new("O7", group[0], what)
        })
        .collect()
    }

    /// F19: a session holds a door open for the time that was asked for, and what has ended stays so.
    fn a_session_ends(
        &mut self,
        snapshot: &Snapshot,
        node: usize,
        passed: Duration,
    ) -> Option<Finding> {
        let before = self.held.remove(&node);
        let machine = &snapshot.machines[node];
        let sessions =
            || machine.awake().into_iter().flat_map(|it| it.directives().remembered_sessions());
        let ended = self.ended.entry(node).or_default();
        ended.extend(sessions().filter(|it| !it.is_open()).map(|it| it.id));
        if let Some(again) = sessions().find(|it| it.is_open() && ended.contains(&it.id)) {
            let what = format!("session {} has ended, and is open again", again.id);
            return Some(Finding::new("F19", node, what));
        }
        let Session { id, leg, seconds, .. } = holding(snapshot, machine)?;
        let same = before.filter(|(of, asked, _)| (*of, *asked) == (id, leg));
        let passed = passed * machine.clock_rate / 1_000;
        let held = same.map_or(Duration::ZERO, |(.., held)| held + passed);
        self.held.insert(node, (id, leg, held));
        let is_too_long = held > Duration::from_secs(seconds.into()) + BEYOND;
        let what = || format!("session {id} holds the door beyond its {seconds} s");
        is_too_long.then(|| Finding::new("F19", node, what()))
    }
}

/// The session that holds the door of a car open, if nothing else does.
fn holding(snapshot: &Snapshot, machine: &Machine) -> Option<Session> {
    let process = machine.process.as_ref().filter(|_| machine.awake().is_some())?;
    let directives = process.node.directives();
    let session = directives.session_of(&machine.name)?;
    let is_its_mode = machine.mode() == Mode::Priority
        && directives.priority(&machine.name).is_none()
        && machine.reported.key == KeySwitch::Normal;
    let is_open = machine.line == Line::Plugged
        && machine.car.inputs().door == DoorState::Open
        && machine.is_taken_to_be_at(session.floor)
        && process.node.outputs().is_some_and(|outputs| outputs.door == DoorCommand::Open);
    if !(matches!(session.state, SessionState::Open(_)) && is_open && is_its_mode) {
        return None;
    }
    let car = process.node.status(process.clock(snapshot.now)).car?;
    let why = car.view.availability.unavailable();
    why.is_none_or(|why| why == Unavailable::Independent).then(|| session.clone())
}

/// F18: a car that reports a service is at the floor with its door not closed; for a hall call it
/// is in service and announces the direction of the call. One input may bring a car back into
/// service, which serves a call at its open door, and then give it to a robot that waits or to a
/// priority call.
///
/// F12, F13: a destination call is served once its passenger's car call is promised, or served, which
/// may be after the car has left: [`Service::boarded`] sees that it was there.
pub(super) fn served_here(snapshot: &Snapshot, node: usize, call: &Call) -> Option<Finding> {
    let machine = &snapshot.machines[node];
    let process = machine.process.as_ref()?;
    if let Call::Hall(HallCall { to: Some(to), .. }) = call {
        let ride = Call::Car { car: machine.name.clone(), floor: *to };
        let mut open = process.node.orders().of_call(&ride).peekable();
        let is_unsafe =
            open.peek().is_some() && !open.any(|order| process.node.has_promised(order.dot));
        let what = || format!("served {call}, {ride} is not promised");
        return is_unsafe.then(|| Finding::new("F12", node, what()));
    }
    let (floor, door) = (machine.car.shaft().floor(), machine.car.inputs().door);
    if !machine.is_taken_to_be_at(call.floor()) || door == DoorState::Closed {
        let what = format!("served {call} at {floor:?}, door {door:?}");
        return Some(Finding::new("F18", node, what));
    }
    let Call::Hall(HallCall { direction, .. }) = call else { return None };
    let view = process.node.status(process.clock(snapshot.now)).car?.view;
    let is_in_service = view.availability == Availability::InService
        || view.mode == Mode::Priority && machine.has_just_given_its_car();
    let is_right = view.direction == Some(*direction) && is_in_service;
    let (heading, why) = (view.direction, view.availability);
    let what = || format!("served {call}, heading {heading:?}, {why:?}");
    (!is_right).then(|| Finding::new("F18", node, what()))
}
