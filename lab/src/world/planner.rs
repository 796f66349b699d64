//! Plans: made at once, or after a while as on a slow computer.

use std::time::Duration;

use elevator_fleet::dispatch::Plan;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::PlanRequest;
use elevator_fleet::wire::{NodeState, PlanEntry};

use super::World;
use crate::agenda::Event;
use crate::fault::BadMaster;

impl World {
    pub(super) fn plan(&mut self, node: usize, request: &PlanRequest) {
        let now = self.now;
        let machine = &mut self.machines[node];
        let incarnation = machine.incarnation;
        let Some(process) = machine.process.as_mut() else {
            return;
        };
        let (version, mut plan) = (request.version, request.plan(process.dispatcher.as_mut()));
        if machine.leads_badly.is_some() {
            plan = Plan::default();
        }
        let takes = match self.settings.planning.end() {
            // No draw: seeds replay as they did.
            0 => 0,
            _ => self.random.u64(self.settings.planning.clone()),
        };
        if takes == 0 {
            // Whoever performs the node's actions goes on with what follows from it.
            let clock = process.clock(now);
            process.node.handle_plan(version, plan, clock);
        } else {
            let planned = Event::Planned { node, incarnation, version, plan };
            self.agenda.enter(now + Duration::from_micros(takes), planned);
        }
    }

    /// What a bad master sends in place of this plan.
    pub(super) fn distort(&self, node: usize, plan: &mut Vec<PlanEntry>) {
        let machine = &self.machines[node];
        let (Some(bad), Some(sender)) = (machine.leads_badly, machine.node()) else {
            return;
        };
        if *sender.node_state() != NodeState::Master {
            return;
        }
        let car = match bad {
            BadMaster::Idle => None,
            BadMaster::Greedy => Some(machine.name.clone()),
            BadMaster::Confused => NodeId::new("nobody").ok(),
        };
        let halls = sender.orders().calls().filter_map(|call| match call {
            Call::Hall(hall) => Some(*hall),
            Call::Car { .. } => None,
        });
        let entry = |call| {
            let (version, car) = (self.events, car.clone()?);
            Some(PlanEntry { version, call, car })
        };
        *plan = halls.filter_map(entry).collect();
    }
}
