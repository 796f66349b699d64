//! Routes events to the election, and executes its outputs.

use crate::dispatch::CarPlan;
use crate::election::{Input, LinkRule, Output};
use crate::leadership::{Bank, Change, Enclosed};
use crate::model::{Call, CarView, NodeId, NodeState, Timestamp};
use crate::node::{Node, Report};
use crate::seeded::{SeededBug, is_seeded};

impl Node {
    pub(in crate::node) fn step_election(&mut self, input: Input<'_>, now: Timestamp) {
        let draw = self.random.u64(..);
        let outcome = self.leadership.handle(input, draw, now);
        if outcome.has_new_estimate {
            self.peers.hurry();
        }
        if let Some(change) = outcome.change {
            self.on_change(change);
        }
        for output in outcome.outputs {
            match output {
                Output::Arm(timer, wait) => self.leadership.arm(timer, now + wait),
                Output::Disarm(timer) => self.leadership.disarm(&timer),
                Output::Broadcast(message) => {
                    self.send_message(None, message, Enclosed::Nothing, now);
                }
                Output::Send(to, message) => {
                    let message = message.under(self.leadership.terms.known());
                    self.send_message(Some(to), message, Enclosed::Nothing, now);
                }
                Output::HandOver(to, message) => {
                    self.send_message(Some(to), message, Enclosed::Orders, now);
                }
                Output::Dial(peer) => self.dial(peer, now),
                Output::HangUp(peer) => {
                    if let Some(link) = self.peers.links.to(&peer) {
                        self.hang_up(link, now);
                    }
                }
                Output::HangUpAllBut(peer) => {
                    for link in self.peers.links.all_but(&peer) {
                        self.hang_up(link, now);
                    }
                }
            }
        }
    }

    /// The node's state changed, and with it the plan that is in force and who makes it.
    pub(in crate::node) fn on_change(&mut self, change: Change) {
        let (node_state, rotates) =
            (self.leadership.node_state(), self.leadership.profile().rotates);
        let open = self.store.hall_calls();
        self.dispatching.on_change(node_state, rotates, &open);
        if rotates && self.leadership.leads() {
            let (own, members) = (&self.hello.node, &self.peers.membership);
            self.dispatching.plan.forget_cars_but(|car| car == own || members.get(car).is_some());
        }
        self.peers.hurry();
        self.peers.pairing.invalidate();
        self.cabin.invalidate_stops();
        if !rotates {
            self.cabin.set_plan(CarPlan::default());
        }
        self.report(change.report());
    }

    /// Fires every election timer that is due and still armed when its turn comes.
    pub(in crate::node) fn fire_election_timers(&mut self, now: Timestamp) {
        for (at, timer) in self.leadership.due(now) {
            if self.leadership.take_due(&timer, at) {
                self.step_election(Input::Fired(&timer), now);
            }
        }
    }

    /// Informs the election if the node's fitness has changed.
    pub(in crate::node) fn refresh_estimate(&mut self, now: Timestamp) {
        let health = self.cabin.health(!self.store.ledger.failed());
        if let Some(estimate) = self.leadership.note_health(health) {
            self.step_election(Input::Estimate(estimate), now);
        }
    }

    /// Informs the election of what a peer last said about itself.
    pub(in crate::node) fn step_heard(&mut self, peer: &NodeId, now: Timestamp) {
        let members = &self.peers.membership;
        if !self.may_follow(peer) || self.leadership.waits_for_a_better(peer, members, now) {
            return;
        }
        if let Some(known) = self.peers.membership.get(peer) {
            let (candidate, node_state, term) =
                (known.candidate(), known.node_state.clone(), known.term);
            if self.leadership.is_repeated(&candidate, &node_state, term, now) {
                return;
            }
            let heard = Input::Heard { peer: &candidate, node_state: &node_state, term };
            self.step_election(heard, now);
        }
    }

    /// Whether the election takes this peer into account.
    pub(in crate::node) fn may_follow(&self, peer: &NodeId) -> bool {
        match self.leadership.profile().link_rule {
            LinkRule::FollowState => true,
            LinkRule::EveryPair | LinkRule::Standby => {
                self.peers.exchanges_orders(peer) || is_seeded(SeededBug::YieldsBeforeHandOver)
            }
        }
    }

    /// Takes over hall calls that are overdue (E8). Without a master every car serves every call.
    pub(in crate::node) fn take_over(&mut self, now: Timestamp) {
        if *self.leadership.node_state() == NodeState::Seeking
            || !self.leadership.overdue.is_due(now)
        {
            return;
        }
        let master = self.leadership.master().unwrap_or(&self.hello.node);
        let is_heard =
            |car: &&NodeId| **car == self.hello.node || self.peers.membership.get(car).is_some();
        let car = |call| self.dispatching.plan.car(call).filter(is_heard).cloned();
        let calls = self.store.hall_calls().into_iter();
        let bank = Bank {
            own: &self.hello.node,
            building: self.peers.membership.building(),
            calls: calls.map(|call| (call, car(call))).collect(),
            cars: self.cars_under(master, now),
        };
        if let Some(fresh) = self.leadership.overdue.look(&bank, now) {
            self.cabin.invalidate_stops();
            for call in fresh {
                self.report(Report::TakenOver { call: Call::Hall(call) });
            }
        }
    }

    /// The cars to which this master can assign calls, ordered by address.
    fn cars_under(&self, master: &NodeId, now: Timestamp) -> Vec<(NodeId, CarView)> {
        let peers = self.peers.membership.peers();
        let peers = peers.filter(|(name, it)| *name == master || it.node_state.follows(master));
        let mut cars: Vec<_> = peers
            .filter_map(|(name, peer)| Some((peer.hello.address, name, peer.car?.0)))
            .collect();
        let own = self.cabin.view(now);
        cars.extend(own.map(|view| (self.hello.address, &self.hello.node, view)));
        cars.sort_by_key(|(address, name, _)| (*address, *name));
        let cars = cars.into_iter();
        cars.map(|(_, name, view)| (name.clone(), view)).collect()
    }
}
