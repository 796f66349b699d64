//! Plans: made at once, or after a while as on a slow computer.

use std::time::Duration;

use elevator_fleet::node::PlanRequest;

use super::World;
use super::agenda::Event;

impl World {
    /// A node asks for a plan.
    pub(super) fn plan(&mut self, node: usize, request: &PlanRequest) {
        let now = self.now;
        let machine = &mut self.machines[node];
        let life = machine.life;
        let Some(process) = machine.process.as_mut() else {
            return;
        };
        let (version, plan) = (request.version, request.plan(&mut process.dispatcher));
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
            let planned = Event::Planned {
                node,
                life,
                version,
                plan,
            };
            self.agenda
                .enter(now + Duration::from_micros(takes), planned);
        }
    }
}
