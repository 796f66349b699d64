//! A small ring under the model checker.
//!
//! Messages may be lost, reordered and delivered again at any time; every suspicion may be wrong.
//! The state space is made finite by [`Reach`]: states beyond it have no successors.

use std::collections::BTreeMap;

use super::*;
use crate::election::Rules;
use crate::election::testing::model::{At, Bounds, LINKED, Misfortunes, Subject, Taken, settles};

#[derive(Debug, Clone, Copy)]
struct Reach {
    /// The highest number of a generation.
    generations: u64,
    hops: u64,
    /// How many exchanges each node begins.
    exchanges: u64,
    computations: u64,
    mesh_detection: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Past {
    /// Who first held each token.
    held: BTreeMap<Stamp, usize>,
    made: bool,
}

impl Reach {
    fn settings(self) -> Settings {
        let mesh_detection = self.mesh_detection;
        Settings { mesh_detection, search_tries: 1, ..Settings::default() }
    }
}

impl Subject for Reach {
    type Machine = TokenRing;
    type Notes = Past;

    fn machine(&self, own: Candidate, incarnation: u64) -> TokenRing {
        TokenRing::new(&own, Nonce(incarnation), self.settings())
    }

    fn within(&self, node: &TokenRing) -> bool {
        let (mut stamp, mut claimed) = (&node.seen, 0);
        if let State::Holding { token, .. } | State::Passing { token, .. } = &node.state {
            stamp = &token.stamp;
        } else if let State::Claiming { generation } = &node.state {
            claimed = generation.number;
        }
        stamp.generation.number.max(claimed) <= self.generations
            && stamp.hop <= self.hops
            && node.exchange.0 <= self.exchanges
            && node.count <= self.computations
    }

    fn broken_by(&self, step: &mut Taken<'_, Self>, past: &mut Past) -> Option<&'static str> {
        let stamp = &step.after.token()?.stamp;
        past.made = true;
        let first = *past.held.entry(stamp.clone()).or_insert(step.node);
        (first != step.node).then_some("E7: two nodes have held a token under one stamp")
    }

    fn broken_in(&self, ring: &At<Self>) -> Option<&'static str> {
        let is_stale = |node: &TokenRing| {
            node.token().is_some_and(|token| {
                let (seen, own) = (&node.seen, &token.stamp);
                seen < own || seen.generation == own.generation && seen.hop != own.hop
            })
        };
        let keeps =
            |node: &TokenRing| matches!(node.state, State::Holding { .. } | State::Passing { .. });
        let kept = ring.living().any(|(_, node)| keeps(node));
        if ring.living().any(|(_, node)| is_stale(node)) {
            Some("E7: a holder knows of a later hop of its own token")
        } else if ring.notes.made && ring.happened.crashes == 0 && !kept {
            Some("T5, T8: a token that was made is neither held nor kept by its sender")
        } else {
            None
        }
    }

    /// One token, held or kept by its sender.
    fn is_right(&self, ring: &At<Self>) -> bool {
        let passing = |(_, node): &(usize, &TokenRing)| matches!(node.state, State::Passing { .. });
        let passing = ring.living().filter(passing).count();
        let held = ring.living().filter(|(_, node)| node.token().is_some()).count();
        ring.living().next().is_none() || held == 1 || held == 0 && passing == 1
    }
}

const NEAR: Reach =
    Reach { generations: 1, hops: 1, exchanges: 1, computations: 2, mesh_detection: false };

/// So many nodes and messages under way.
fn ring([nodes, messages]: [usize; 2], crashes: u8, restarts: u8, reach: Reach, least: usize) {
    let most = Misfortunes { crashes, restarts, ..Misfortunes::default() };
    let what = format!("{nodes} nodes, {most:?}, {reach:?}");
    let bound = reach.settings().bound(LINKED, nodes);
    settles(&what, reach, Bounds { nodes, messages, is_instant: false, most, bound }, least);
}

/// C3, E7, T5, T8
#[test]
fn two_nodes_come_to_one_token_whatever_is_lost_late_or_repeated() {
    ring([2, 2], 0, 0, NEAR, 324_614);
}

/// C3, E7, T5, T8: a token goes on under a new generation, and meets the one that has arrived.
#[test]
fn two_nodes_come_to_one_token_though_it_was_renewed() {
    let reach = Reach { generations: 2, computations: 3, exchanges: 0, ..NEAR };
    ring([2, 1], 0, 0, reach, 44_518);
}

/// E7, T7, C5
#[test]
fn two_nodes_one_of_which_restarts_come_to_one_token() {
    ring([2, 1], 1, 1, Reach { mesh_detection: true, ..NEAR }, 478_328);
}

/// C3, E7, T7 to T9: of three holders each may wait for another.
#[test]
fn three_nodes_come_to_one_token() {
    ring([3, 1], 0, 0, Reach { hops: 0, computations: 1, ..NEAR }, 173_228);
}
