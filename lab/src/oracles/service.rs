//! Who waits is served, in time and as was promised.

use std::time::Duration;

use elevator_driver::{DoorState, Floor, KeySwitch};
use elevator_fleet::model::{Availability, Call, HallCall};

use crate::World;
use crate::history::Service;
use crate::machine::{Line, Machine};
use crate::oracles::waits::Waits;

/// How often it is seen who waits.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// From this load on a car with riders passes hall calls by, in per cent.
const BYPASS_LOAD: u8 = 80;

impl World {
    /// F18: a car that says that it serves is at the floor with its door not closed; for a hall call it
    /// is in service and announces the direction of the call. Where the floor's sensor is dead, the
    /// car's place counts: it may have died while the node was held up, after it had told of the
    /// floor.
    pub(crate) fn served_here(&mut self, node: usize, call: &Call, waited: Duration) {
        let machine = &self.machines[node];
        let (floor, door) = (machine.car.shaft().floor(), machine.car.inputs().door);
        if floor != Some(call.floor()) || door == DoorState::Closed {
            let what = format!("served {call} at {floor:?}, door {door:?}");
            self.wrong("F18", node, &what);
        }
        self.serves_the_direction(node, call);
        let machine = &self.machines[node];
        if let Some(process) = &machine.process {
            for record in process.node.orders().records(process.clock(self.now)) {
                if record.call == *call && record.state.is_served() {
                    self.history.close(record.dot, call);
                }
            }
        }
        self.history.serve(Service {
            at: self.now,
            node,
            call: call.clone(),
            waited,
        });
    }

    fn serves_the_direction(&mut self, node: usize, call: &Call) {
        let (Call::Hall(HallCall { direction, .. }), Some(process)) =
            (call, &self.machines[node].process)
        else {
            return;
        };
        let Some(car) = process.node.status(process.clock(self.now)).car else {
            return;
        };
        let (heading, availability) = (car.view.direction, car.view.availability);
        if heading != Some(*direction) || availability != Availability::InService {
            let what = format!("served {call}, heading {heading:?}, {availability:?}");
            self.wrong("F18", node, &what);
        }
    }

    /// O7: where all hear each other, a hall call is served in bounded time as long as one car is
    /// sound, whatever the others do.
    pub(crate) fn hall_calls_are_served_in_time(&mut self) {
        if self.now < self.waits.looked_at + LOOK_EVERY {
            return;
        }
        let mut waits = Waits::looked_at(self.now);
        let limit = self.longest_wait();
        for group in self.calm_groups(self.settings.election.bound()) {
            let Some(node) = group.first().and_then(|first| self.node(*first)) else {
                continue;
            };
            let halls: Vec<HallCall> = node
                .orders()
                .calls()
                .filter_map(|call| match call {
                    Call::Hall(hall) => Some(*hall),
                    Call::Cab { .. } => None,
                })
                .collect();
            for call in halls {
                let sound: Vec<usize> = group
                    .iter()
                    .copied()
                    .filter(|node| self.machines[*node].is_sound_at(call.floor))
                    .collect();
                if sound.is_empty() {
                    continue;
                }
                let served = self.history.served_at(&Call::Hall(call));
                let since = self.waits.since(call, (&group, &sound), self.now);
                let since = since.max(served.unwrap_or_default());
                if self.now.saturating_sub(since) > limit {
                    let what = format!("{call:?} has waited since {since:?} for one of {sound:?}");
                    self.once("O7", group[0], &what);
                }
                waits.enter(call, (group.clone(), sound), since);
            }
        }
        self.waits = waits;
    }

    /// One car alone serves every floor of its shaft in this time, in both directions, while riders
    /// hold it up at each; and before that another car has been found to be broken.
    pub(crate) fn longest_wait(&self) -> Duration {
        Duration::from_secs(90) + Duration::from_secs(20) * u32::from(self.settings.floors.get())
    }
}

impl Machine {
    /// Nothing is wrong with the car of a running node, as far as calls at this floor matter.
    fn is_sound_at(&self, floor: Floor) -> bool {
        let inputs = self.car.inputs();
        let runs = self.awake().is_some_and(|node| node.outputs().is_some());
        runs && self.line == Line::Plugged
            && !self.watch.suspect
            && !self.car.shaft().dead_sensors().contains(&floor)
            && !self.car.state().faults.door_jammed
            && !inputs.obstruction
            && !inputs.stop
            && inputs.key == KeySwitch::Normal
            && inputs.load.is_none_or(|load| load < BYPASS_LOAD)
    }
}
