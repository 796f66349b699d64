//! What the stage does with the changes that the threads report.

use std::time::Duration;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{OrderStatus, Status};
use elevator_simulator::simulator::{Controller, SimulatorState};
use liftmesh_harness::account::{Sight, Verdict};

use super::{LATE, SETTLE, Stage, silent};
use crate::demo::error::DemoError;
use crate::demo::lines::Update;
use crate::demo::scene::{Life, Weight};
use crate::mesh::Cable;

impl Stage {
    pub(super) fn hear(&mut self, update: Update) -> Result<(), DemoError> {
        match update {
            Update::Car(car, state) => self.see(car, *state),
            Update::Refused(car, why) => self.log(Some(car), Weight::Bad, why),
            Update::CarGone(car, source) => {
                let simulator = &mut self.actors[car].simulator;
                // Its exit code says more than its silence.
                return Err(match simulator.ended() {
                    Some(status) => DemoError::ended(simulator, status),
                    None => silent(&self.site, car, simulator, source),
                });
            }
            Update::Node(car, said) => self.listen(car, said),
            Update::Unmoved(car, why) => {
                self.scene.cars[car].node.cable = Cable::Whole;
                self.log(Some(car), Weight::Bad, why);
            }
        }
        Ok(())
    }

    fn see(&mut self, car: usize, seen: SimulatorState) {
        let now = self.now();
        let scene = &mut self.scene.cars[car];
        let before = scene.faults();
        scene.seen = seen;
        let has_node =
            scene.node.life == Life::Running && scene.seen.controller != Controller::Absent;
        let actor = &mut self.actors[car];
        actor.settled_since = has_node.then(|| actor.settled_since.unwrap_or(now));
        actor.still_since = (!has_node).then(|| actor.still_since.unwrap_or(now));
        let lasts = |since: Duration, limit| now.saturating_sub(since) >= limit;
        let living = actor.settled_since.is_some_and(|at| lasts(at, SETTLE));
        let stands_still = actor.still_since.is_some_and(|at| lasts(at, LATE));
        let mut sight = Sight::new(&scene.seen.car, living);
        if stands_still {
            // A door that was left open serves nobody.
            sight.serves = None;
        }
        let faults = scene.faults();
        let verdicts = self.account.observe(&scene.name, &sight, now);
        self.sights[car] = sight;
        for (is, was, set, unset) in [
            (faults.stuck, before.stuck, "motor stuck", "motor freed"),
            (faults.obstructed, before.obstructed, "door obstructed", "door free"),
            (faults.stopped, before.stopped, "stop switch pulled", "stop switch pushed"),
            (faults.unplugged, before.unplugged, "panel line cut", "panel line plugged"),
        ] {
            if is != was {
                self.log(Some(car), Weight::Notable, if is { set } else { unset });
            }
        }
        for verdict in verdicts {
            self.log_verdict(verdict);
        }
    }

    pub(super) fn log_verdict(&mut self, verdict: Verdict) {
        let (who, weight, text) = match verdict {
            Verdict::Placed { call, at } => (at, Weight::Plain, format!("lit {call}")),
            Verdict::Served { call, by, waited } => {
                let waited = waited.as_secs_f64();
                let text = format!("served {call} in {waited:.0} s");
                (by, Weight::Good, text)
            }
            Verdict::Lost { call, at } => {
                self.lost.push(call.to_string());
                (at, Weight::Bad, format!("lost {call}"))
            }
            Verdict::Unserved { call, at } => {
                let text = format!("{call} unserved at the end");
                self.unserved.push(call.to_string());
                (at, Weight::Bad, text)
            }
        };
        let car = self.site.cars.iter().position(|name| *name == who);
        self.log(car, weight, text);
    }

    fn listen(&mut self, car: usize, said: Option<Box<Status>>) {
        let node = &mut self.scene.cars[car].node;
        match node.life {
            // What it said before its end has come late.
            Life::Suspended | Life::Killed | Life::Hung | Life::Cleared | Life::Ended(_) => return,
            Life::Starting if said.is_some() => node.life = Life::Running,
            Life::Starting | Life::Running => {}
        }
        let before = std::mem::replace(&mut node.said, said);
        let after = self.scene.cars[car].node.said.as_ref();
        let peers = |status: &Status| -> Vec<NodeId> {
            status.peers.iter().map(|peer| peer.node.clone()).collect()
        };
        if let (Some(before), Some(after)) = (before, after) {
            let (before, after) = (peers(&before), peers(after));
            let lost: Vec<_> = before.iter().filter(|one| !after.contains(one)).collect();
            let found: Vec<_> = after.iter().filter(|one| !before.contains(one)).collect();
            for peer in lost {
                self.log(Some(car), Weight::Notable, format!("no longer hears {peer}"));
            }
            for peer in found {
                self.log(Some(car), Weight::Plain, format!("hears {peer}"));
            }
        }
    }

    /// Also where no node says anything any more: then nobody leads, and no order is known.
    pub(super) fn review_nodes(&mut self) {
        self.gather_orders();
        let node_states = self.scene.node_states();
        if let Some(master) = self.leadership.observe(&node_states) {
            let leads = self.site.cars.iter().position(|name| *name == master);
            self.log(leads, Weight::Notable, "is the master");
        }
    }

    /// Every order that some node knows, as the node knows it that has most to say.
    fn gather_orders(&mut self) {
        let mut orders: Vec<OrderStatus> = Vec::new();
        let views = self.scene.cars.iter().filter_map(|car| car.node.view());
        for order in views.flat_map(|view| &view.orders) {
            match orders.iter_mut().find(|known| known.call == order.call) {
                None => orders.push(order.clone()),
                Some(known) => {
                    known.waited = known.waited.max(order.waited);
                    known.holders = known.holders.max(order.holders);
                    known.promised |= order.promised;
                    if known.car.is_none() {
                        known.car.clone_from(&order.car);
                    }
                }
            }
        }
        orders.sort_by_key(|order| std::cmp::Reverse(order.waited));
        self.scene.orders = orders;
    }
}
