//! One leads, all know who, and nobody is left with a car that is gone.

use std::time::Duration;

use elevator_fleet::model::{Call, NodeId, Order};
use elevator_fleet::node::{Node, Report};
use elevator_fleet::wire::Standing;

use crate::World;

/// An order that came in so shortly before may still be under way.
const HANDED_OVER_WITHIN: Duration = Duration::from_millis(50);

impl World {
    /// E6: where nobody comes or goes, nobody takes or leaves office.
    pub(crate) fn no_change_of_leader_in_quiet(&mut self, node: usize, report: &Report) {
        self.note_estimates();
        let groups = self.settled_groups();
        if groups.iter().any(|group| group.contains(&node)) {
            self.wrong("E6", node, &format!("{report:?}"));
        }
    }

    /// Under `bully` a node that has become fitter or less fit may change the leader (E6).
    pub(crate) fn note_estimates(&mut self) {
        for node in 0..self.machines.len() {
            let estimate = self.node(node).map_or(0, Node::estimate);
            let before = std::mem::replace(&mut self.machines[node].estimate, estimate);
            if estimate != before {
                self.ranked_at = self.now;
            }
        }
    }

    /// The groups in which the election has had its time.
    fn settled_groups(&self) -> Vec<Vec<usize>> {
        let bound = self.settings.election.bound();
        if self.now.saturating_sub(self.ranked_at) < bound {
            return Vec::new();
        }
        self.calm_groups(bound)
    }

    /// E3
    pub(crate) fn terms_never_decrease(&mut self) {
        for node in 0..self.machines.len() {
            let Some(term) = self.machines[node].node().map(Node::term) else {
                continue;
            };
            let before = std::mem::replace(&mut self.machines[node].term, term);
            if term < before {
                self.wrong("E3", node, &format!("term {before} became {term}"));
            }
        }
    }

    /// E1, E2, E7, F3: each group has one master, known to all; under `lowest-ip` the lowest
    /// address. Where the duty rotates, all know within a bounded time where it has gone (C3).
    pub(crate) fn one_master_in_each_group(&mut self) {
        for group in self.settled_groups() {
            let master = self.master_of(&group);
            if !self.is_right(&group, master) {
                let what = format!("the group {group:?} has the master {master:?}");
                let since = self.history.stands(&what, self.now);
                let stood = self.now.saturating_sub(since);
                if let Some(first) = group.first()
                    && stood >= self.settings.election.settles_within()
                {
                    self.once("E1", *first, &what);
                }
            }
        }
    }

    /// E4: of two that hear each other, whoever yields has handed over the orders that it had; what
    /// came in while it did goes over the link afterwards.
    pub(crate) fn the_loser_has_handed_over(&mut self, node: usize, master: &NodeId) {
        let winner = self.machines.iter().find(|machine| machine.name == *master);
        let (Some(loser), Some(winner)) = (
            self.machines[node].process.as_ref(),
            winner.and_then(|machine| machine.process.as_ref()),
        ) else {
            return;
        };
        let there = winner.clock(self.now);
        // A process that was held up may yield to one that has ended meanwhile: it sees its error
        // with the next packet.
        let name = &self.machines[node].name;
        if !winner
            .node
            .status(there)
            .peers
            .iter()
            .any(|peer| peer.node == *name)
        {
            return;
        }
        let known = &self.machines[node].known;
        let had = |order: &Order| {
            let since = known.get(&order.dot);
            since.is_some_and(|at| self.now.saturating_sub(*at) >= HANDED_OVER_WITHIN)
        };
        let handed_over = |order: &Order| {
            winner.node.orders().records(there).any(|record| {
                (record.dot.journal, &record.call) == (order.dot.journal, &order.call)
                    && record.dot.sequence >= order.dot.sequence
            })
        };
        let kept: Vec<String> = loser
            .node
            .orders()
            .orders()
            .filter(|order| had(order) && !handed_over(order))
            .map(|order| format!("yields to {master}, which does not know {}", order.dot))
            .collect();
        for what in kept {
            self.wrong("E4", node, &what);
        }
    }

    /// H4, F6: a call is not left with a car that is gone.
    pub(crate) fn calls_are_assigned_to_the_living(&mut self) {
        for group in self.settled_groups() {
            let leads = |node: &&usize| self.standing(**node) == Some(&Standing::Master);
            let Some(master) = group.iter().copied().find(|node| leads(&node)) else {
                continue;
            };
            let gone: Vec<String> = self.machines[master]
                .process
                .iter()
                .flat_map(|process| process.node.status(process.clock(self.now)).orders)
                .filter(|order| matches!(order.call, Call::Hall(_)))
                .filter_map(|order| Some((order.call, order.car?)))
                .filter(|(_, car)| !group.iter().any(|node| self.machines[*node].name == *car))
                .map(|(call, car)| format!("{call} is left with {car}"))
                .collect();
            for what in gone {
                self.once("H4", master, &what);
            }
        }
    }
}
