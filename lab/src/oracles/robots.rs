//! Sessions of robots: no car is held for longer than was asked for, nor once the robot is done with it.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{DoorCommand, DoorState, KeySwitch};
use elevator_fleet::directives::{RequestId, Session, SessionState};
use elevator_fleet::model::{Mode, Unavailable};
use elevator_fleet::node::Node;

use super::Finding;
use crate::machine::{Line, Machine};
use crate::snapshot::Snapshot;

/// How long a session may hold a door beyond its time.
const BEYOND: Duration = Duration::from_secs(1);

/// What is seen of the sessions that one node knows, since its process has started.
#[derive(Debug, Default)]
pub(super) struct RobotWatch {
    /// The session that holds this car's door, how often its robot had asked for a floor, and for how
    /// long it has held it since, by the clock of the node.
    held: Option<(RequestId, u16, Duration)>,
    /// The sessions that the node has known to have ended.
    ended: BTreeSet<RequestId>,
    looked_at: Option<Duration>,
}

impl RobotWatch {
    /// F19: a session holds a door open for the time that was asked for, and what has ended stays so.
    pub(super) fn inspect(&mut self, snapshot: &Snapshot, node: usize) -> Vec<Finding> {
        let machine = &snapshot.machines[node];
        let looked_at = self.looked_at.take();
        let Some(awake) = machine.awake() else { return Vec::new() };
        self.looked_at = Some(snapshot.now);
        let passed = looked_at.map_or(Duration::ZERO, |at| snapshot.now.saturating_sub(at));
        let mut findings = self.stay_ended(awake, node);
        findings.extend(self.hold(snapshot, node, passed * machine.clock_rate / 1_000));
        findings
    }

    fn stay_ended(&mut self, awake: &Node, node: usize) -> Vec<Finding> {
        let (open, ended): (Vec<&Session>, Vec<&Session>) =
            awake.directives().remembered_sessions().partition(|session| session.is_open());
        let open: BTreeSet<RequestId> = open.into_iter().map(|session| session.id).collect();
        let again = open.intersection(&self.ended).map(|id| {
            Finding::new("F19", node, format!("session {id} has ended, and is open again")).once()
        });
        let findings = again.collect();
        self.ended.extend(ended.into_iter().map(|session| session.id));
        findings
    }

    fn hold(&mut self, snapshot: &Snapshot, node: usize, passed: Duration) -> Option<Finding> {
        let before = self.held.take();
        let Session { id, leg, seconds, .. } = holding(snapshot, &snapshot.machines[node])?;
        let same = before.filter(|(of, asked, _)| (*of, *asked) == (id, leg));
        let held = same.map_or(Duration::ZERO, |(.., held)| held + passed);
        self.held = Some((id, leg, held));
        let is_too_long = held > Duration::from_secs(seconds.into()) + BEYOND;
        let what = || format!("session {id} holds the door beyond its {seconds} s");
        is_too_long.then(|| Finding::new("F19", node, what()).once())
    }
}

/// The session because of which the door of a car is open, and nothing else.
fn holding(snapshot: &Snapshot, machine: &Machine) -> Option<Session> {
    let process = machine.process.as_ref()?;
    let directives = process.node.directives();
    let session = directives.session_of(&machine.name)?;
    let is_said = matches!(session.state, SessionState::Open(_));
    let is_its_mode = || {
        directives.mode(&machine.name) == Mode::Priority
            && directives.priority(&machine.name).is_none()
            && machine.reported.key == KeySwitch::Normal
    };
    let is_open = machine.line == Line::Plugged
        && machine.car.inputs().door == DoorState::Open
        && machine.is_taken_to_be_at(session.floor)
        && process.node.outputs().is_some_and(|outputs| outputs.door == DoorCommand::Open);
    if !(is_said && is_open && is_its_mode()) {
        return None;
    }
    let car = process.node.status(process.clock(snapshot.now)).car?;
    let why = car.view.availability.unavailable();
    why.is_none_or(|why| why == Unavailable::Independent).then(|| session.clone())
}
