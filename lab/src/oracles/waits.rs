//! Who waits for a car, and since when without an excuse.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::Predictor;
use elevator_fleet::model::{Call, HallCall, Mode, Role};
use elevator_fleet::node::Node;

use super::Finding;
use super::car_watch::CarWatch;
use crate::machine::{Line, Machine};
use crate::snapshot::Snapshot;

/// How often it is seen who waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The hall calls that were open at the latest look, each with the nodes of its group, those with
/// sound cars among them, and since when all that has been so.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    looked_at: Duration,
    since: BTreeMap<(Vec<usize>, HallCall), (Vec<usize>, Duration)>,
}

impl Waits {
    /// O7: where all hear each other, a hall call is served in bounded time as long as one car is
    /// sound, whatever the others do.
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot, cars: &[CarWatch]) -> Vec<Finding> {
        if snapshot.now < self.looked_at + LOOK_EVERY {
            return Vec::new();
        }
        let before = std::mem::take(self);
        self.looked_at = snapshot.now;
        let limit = snapshot.longest_wait();
        let mut findings = Vec::new();
        for group in snapshot.calm_groups(snapshot.bound()) {
            let is_sound =
                |node: &usize| !cars[*node].suspect && is_sound(&snapshot.machines[*node]);
            let all_sound: Vec<usize> = group.iter().copied().filter(is_sound).collect();
            for call in hall_calls(snapshot, &group) {
                let has_sensor =
                    |node: &usize| has_sensor_at(&snapshot.machines[*node], call.floor);
                let sound: Vec<usize> = all_sound.iter().copied().filter(has_sensor).collect();
                if sound.is_empty() || waits_for_another(snapshot, (&group, &sound), call) {
                    continue;
                }
                let served = snapshot.history.served_at(&Call::Hall(call));
                let since = before.since(call, (&group, &sound), snapshot.now);
                let since = since.max(served.unwrap_or_default());
                if snapshot.now.saturating_sub(since) > limit {
                    let what = format!("{call:?} has waited since {since:?} for one of {sound:?}");
                    findings.push(Finding::new("O7", group[0], what).once());
                }
                let waits = (group.clone(), call);
                self.since.insert(waits, (sound, since));
            }
        }
        findings
    }

    /// Since when this call has waited in this group for one of these cars.
    fn since(
        &self,
        call: HallCall,
        (group, sound): (&[usize], &[usize]),
        now: Duration,
    ) -> Duration {
        match self.since.get(&(group.to_vec(), call)) {
            Some((before, since)) if before == sound => *since,
            Some(_) | None => now,
        }
    }
}

/// Whether a passenger was told a car that is in service, though not sound: the trip stays with it,
/// however slow it is.
pub(super) fn waits_for_another(
    snapshot: &Snapshot,
    (group, sound): (&[usize], &[usize]),
    call: HallCall,
) -> bool {
    if call.to.is_none() {
        return false;
    }
    let first = group.first().and_then(|first| snapshot.node(*first));
    let mut assignments = first.into_iter().flat_map(Node::assignments);
    let Some((_, told)) = assignments.find(|(assigned, _)| *assigned == call) else {
        return false;
    };
    let others = group.iter().filter(|node| !sound.contains(node));
    let mut machines = others.map(|node| &snapshot.machines[*node]);
    machines.any(|machine| machine.name == *told && can_serve(machine, snapshot.now))
}

/// Whether a node says of its car that it can serve.
fn can_serve(machine: &Machine, now: Duration) -> bool {
    machine.process.as_ref().is_some_and(|process| {
        let car = process.node.status(process.clock(now)).car;
        process.backlog.is_none() && car.is_some_and(|car| Predictor::can_serve(&car.view))
    })
}

/// The open hall calls, as the first node of the group knows them.
fn hall_calls(snapshot: &Snapshot, group: &[usize]) -> Vec<HallCall> {
    let first = group.first().and_then(|first| snapshot.node(*first));
    let calls = first.into_iter().flat_map(|node| node.orders().calls());
    calls
        .filter_map(|call| match call {
            Call::Hall(hall) => Some(*hall),
            Call::Car { .. } => None,
        })
        .collect()
}

/// Whether the sensor of a car works at this floor.
fn has_sensor_at(machine: &Machine, floor: Floor) -> bool {
    !machine.car.shaft().dead_sensors().contains(&floor)
}

/// Nothing is wrong with the car of a running node, but that sensors may be dead.
fn is_sound(machine: &Machine) -> bool {
    let inputs = machine.car.inputs();
    let is_car = |node: &&Node| node.hello().role == Role::Cabin && node.outputs().is_some();
    let runs = machine.awake().as_ref().is_some_and(is_car);
    runs && machine.line == Line::Plugged
        && !machine.car.state().faults.door_jammed
        && !inputs.obstruction
        && !inputs.stop
        && inputs.key == KeySwitch::Normal
        && machine.modes().into_iter().all(|mode| mode == Mode::InService)
        && inputs.load.is_none_or(|load| load < CarSettings::BYPASS_LOAD)
}
