//! What the stage does with the changes that the threads report.

use std::collections::BTreeMap;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{OrderStatus, Status};
use elevator_simulator::simulator::{Controller, SimulatorState};
use liftmesh_harness::account::{Sight, Verdict};

use super::{LATE, SETTLE, Stage, silent};
use crate::demo::error::DemoError;
use crate::demo::lines::Update;
use crate::demo::scene::{Life, Switch, Weight};
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
        let before = Switch::ALL.map(|switch| scene.is(switch));
        scene.seen = seen;
        let has_node =
            scene.node.life == Life::Running && scene.seen.controller != Controller::Absent;
        let actor = &mut self.actors[car];
        if actor.attended.0 != has_node {
            actor.attended = (has_node, now);
        }
        let lasts = now.saturating_sub(actor.attended.1);
        let living = has_node && lasts >= SETTLE;
        let mut sight = Sight::new(&scene.seen.car, living);
        if !has_node && lasts >= LATE {
            // A door that was left open serves nobody.
            sight.serves = None;
        }
        let after = Switch::ALL.map(|switch| scene.is(switch));
        let verdicts = self.account.observe(&scene.name, &sight, now);
        self.sights[car] = sight;
        for ((switch, was), is) in Switch::ALL.into_iter().zip(before).zip(after) {
            if is != was {
                self.log(Some(car), Weight::Notable, switch.words(is).1);
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
        let peers = |status: Option<&Status>| -> Option<Vec<NodeId>> {
            Some(status?.peers.iter().map(|peer| peer.node.clone()).collect())
        };
        if let (Some(before), Some(after)) = (peers(before.as_deref()), peers(node.said.as_deref()))
        {
            for peer in before.iter().filter(|one| !after.contains(one)) {
                self.log(Some(car), Weight::Notable, format!("no longer hears {peer}"));
            }
            for peer in after.iter().filter(|one| !before.contains(one)) {
                self.log(Some(car), Weight::Plain, format!("hears {peer}"));
            }
        }
    }

    /// Also where no node says anything any more: then nobody leads, and no order is known.
    pub(super) fn review_nodes(&mut self) {
        self.gather_orders();
        let master = self.scene.agreed_master().cloned();
        let is_news = master != self.scene.leader && !self.scene.rotates();
        if let Some(master) = master.as_ref().filter(|_| is_news) {
            let leads = self.site.cars.iter().position(|name| name == master);
            self.log(leads, Weight::Notable, "is the master");
        }
        self.scene.leader = master;
    }

    /// Every order that some node knows, as one of them says.
    fn gather_orders(&mut self) {
        let mut orders: BTreeMap<_, OrderStatus> = BTreeMap::new();
        for order in
            self.scene.cars.iter().filter_map(|car| car.node.view()).flat_map(|it| &it.orders)
        {
            let known = orders.entry(&order.call).or_insert_with(|| order.clone());
            if (order.promised, order.holders) > (known.promised, known.holders) {
                *known = order.clone();
            }
        }
        let mut orders: Vec<_> = orders.into_values().collect();
        orders.sort_by_key(|order| std::cmp::Reverse(order.waited));
        self.scene.orders = orders;
    }
}
