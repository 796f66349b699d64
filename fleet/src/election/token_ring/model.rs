//! A small ring under the model checker.
//!
//! Messages may be lost, reordered and delivered again at any time; every suspicion may be wrong.
//! With the mesh's signs of loss a node may hear a beacon of another at any moment. Messages
//! from or to a former incarnation do not arrive: the mesh discards them.
//!
//! The state space is made finite by [`Reach`]: states beyond it have no successors, and what is
//! sent while so many messages are under way gets lost.
//!
//! What is checked: once nothing more breaks, every run comes to exactly one token, in whatever
//! order messages arrive, timers fire (after what is under way) and nodes are heard; no two nodes
//! ever hold a token under one stamp (E7); a holder knows of no later hop of its own token, so no
//! stale hand-over acts; each node waits for the timers of its state; and, where nobody crashes, a
//! token that was once made is always held by a node or kept by its sender (T5, T8: of two that are
//! compared one always stays).
//!
//! The largest models that the tests exhaust, with one hop of each token and one exchange a node: two
//! nodes with two messages under way; two nodes and tokens of two generations; these come to one
//! token. Two nodes, one of which crashes and restarts, with the
//! mesh's signs; three nodes, one of which crashes: in these, nobody counts computations alone.
//! `meeting.rs` has three holders that meet, with a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;

use stateright::Property;

use super::state::State;
use super::*;
use crate::election::Message as Any;
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, Taken, exhaust,
    is_large, settles,
};
use crate::model::Term;
use fold::Scales;

mod fold;
mod meeting;

#[derive(Debug, Clone, Copy)]
struct Reach {
    /// The highest number of a generation.
    generations: u64,
    hops: u64,
    /// How many exchanges each node begins.
    exchanges: u64,
    computations: u64,
    /// Whether a holder that serves alone goes on counting.
    solo: bool,
    mesh_detection: bool,
    crashes: u8,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Past {
    /// Who first held each token, so far as it can come up again.
    held: BTreeMap<Stamp, usize>,
    /// Two nodes have held a token under one stamp.
    doubled: bool,
    made: bool,
}

impl Subject for Reach {
    type Machine = TokenRing;
    type Notes = Past;
    type Step = Infallible;

    fn machine(&self, own: Candidate, incarnation: u64) -> TokenRing {
        let settings = Settings {
            mesh_detection: self.mesh_detection,
            search_tries: 1,
            ..Settings::default()
        };
        TokenRing::new(&own, Nonce(incarnation), settings)
    }

    fn timers(machine: &TokenRing) -> Option<BTreeSet<ElectionTimer>> {
        Some(machine.state.timers().iter().map(|timer| (*timer).into()).collect())
    }

    fn knows(machine: &TokenRing, peer: &NodeId) -> bool {
        machine.peers.contains_key(peer)
    }

    /// It has heard all others already.
    fn started(check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        for (_, peer) in check.pairs().filter(|(own, _)| *own == node) {
            let (peer, node_state) = (&check.candidates[peer], &NodeState::Seeking);
            let heard = Input::Heard { peer, node_state, term: Term::default() };
            check.feed(moment, node, &heard, 0);
        }
    }

    fn observe(_check: &Check<Self>, moment: &mut At<Self>, step: &mut Taken<'_, Self>) {
        let past = &mut moment.notes;
        if let Some(token) = step.after.token() {
            past.made = true;
            let first = past.held.entry(token.stamp.clone()).or_insert(step.node);
            past.doubled |= *first != step.node;
        }
    }

    fn within(&self, moment: &At<Self>) -> bool {
        moment.living().all(|(_, node)| {
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
                && (self.solo || !has_computed_alone(node))
        })
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        let mut properties = vec![
            Property::always("one holder of each stamp", |_, ring: &At<Self>| !ring.notes.doubled),
            Property::always("no stale holder", |_, ring: &At<Self>| no_stale_holder(ring)),
            Property::always("a token is kept", |_, ring: &At<Self>| kept(ring)),
            Property::sometimes("two tokens", |_, ring: &At<Self>| holders(ring).count() > 1),
            Property::sometimes("a token was handed over", |_, ring: &At<Self>| {
                holders(ring).any(|node| node.token().is_some_and(|token| token.stamp.hop > 0))
            }),
        ];
        if self.mesh_detection {
            let what = "the smaller of two does not act";
            properties.push(Property::sometimes(what, |_, ring: &At<Self>| {
                let acts = |node: &TokenRing| node.node_state() == NodeState::Master;
                holders(ring).count() > 1 && holders(ring).filter(|node| acts(node)).count() == 1
            }));
        }
        properties
    }
}

impl Calms for Reach {
    /// One token, held or kept by its sender.
    fn is_right(_: &Check<Self>, ring: &At<Self>) -> bool {
        let passing = |node: &TokenRing| matches!(node.state, State::Passing { .. });
        let passing = ring.living().filter(|(_, node)| passing(node)).count();
        let (held, none_lives) = (holders(ring).count(), ring.living().next().is_none());
        none_lives || held == 1 || held == 0 && passing == 1
    }

    /// Messages are faster than timers, and T, the hold time and the grace period are longer than an
    /// exchange or a hand-over takes: nobody misses a holder that can be heard.
    fn due(_: &Check<Self>, ring: &At<Self>, node: usize, timer: &ElectionTimer) -> Due {
        let lives =
            |node: &TokenRing| node.life().is_some() || matches!(node.state, State::Passing { .. });
        let mut others = ring.living().filter(|(other, _)| *other != node);
        if *timer == Timer::Watch.into() && others.any(|(_, other)| lives(other)) {
            Due::Never
        } else if ring.network.is_empty() {
            Due::Now
        } else {
            Due::Later
        }
    }

    /// What was held is forgotten, and numbers count from the lowest.
    fn fold(_: &Check<Self>, ring: &mut At<Self>) {
        ring.notes = Past::default();
        Scales::of(ring).fold(ring);
    }
}

fn holders(ring: &At<Reach>) -> impl Iterator<Item = &TokenRing> {
    ring.living().map(|(_, node)| node).filter(|node| node.token().is_some())
}

/// Its token has seen more computations than recoveries and hand-overs account for.
fn has_computed_alone(node: &TokenRing) -> bool {
    let alone = |token: &Token| token.count > token.stamp.generation.number + token.stamp.hop;
    matches!(&node.state, State::Holding { token, phase: Phase::Alone } if alone(token))
}

fn no_stale_holder(ring: &At<Reach>) -> bool {
    holders(ring).all(|node| {
        node.token().is_some_and(|token| {
            node.seen >= token.stamp
                && (node.seen.generation != token.stamp.generation
                    || node.seen.hop == token.stamp.hop)
        })
    })
}

fn kept(ring: &At<Reach>) -> bool {
    let keeps =
        |node: &TokenRing| matches!(node.state, State::Holding { .. } | State::Passing { .. });
    !ring.notes.made || ring.happened.crashes > 0 || ring.living().any(|(_, node)| keeps(node))
}

const NEAR: Reach = Reach {
    generations: 1,
    hops: 1,
    exchanges: 1,
    computations: 2,
    solo: true,
    mesh_detection: false,
    crashes: 0,
};

fn ring(nodes: usize, under_way: usize, restarts: u8, reach: Reach) -> Check<Reach> {
    let most = Misfortunes { crashes: reach.crashes, restarts, ..Misfortunes::default() };
    let beacons = if reach.mesh_detection { Beacons::Late } else { Beacons::Silent };
    let network = Network::Carries(under_way);
    Check::new(reach, Bounds { nodes, network, beacons, most })
}

/// C3, E7, T5, T8
#[test]
fn two_nodes_come_to_one_token_whatever_is_lost_late_or_repeated() {
    settles("two nodes", ring(2, 2, 0, NEAR), 173_170, 132_004);
}

/// C3, E7, T5, T8: a token whose hand-over has failed goes on under a new generation, and meets
/// the one that has arrived.
#[test]
fn two_nodes_come_to_one_token_though_it_was_renewed() {
    let reach = Reach { generations: 2, computations: 3, exchanges: 0, ..NEAR };
    settles("two nodes, two generations", ring(2, 1, 0, reach), 24_455, 23_377);
    if is_large() {
        let reach = Reach { exchanges: 1, ..reach };
        settles("two nodes, two generations, exchanges", ring(2, 1, 0, reach), 346_452, 104_262);
    }
}

/// E7, T7, C5
#[test]
fn two_nodes_one_of_which_crashes_and_restarts_never_hold_one_token() {
    let reach = Reach { crashes: 1, mesh_detection: true, computations: 4, solo: false, ..NEAR };
    exhaust("two nodes, a crash and a restart", ring(2, 1, 1, reach), 77_474);
}

/// E7, T5, T7, T8
#[test]
fn three_nodes_one_of_which_crashes_never_hold_one_token() {
    let reach = Reach { crashes: 1, computations: 5, solo: false, ..NEAR };
    exhaust("three nodes, a crash", ring(3, 1, 0, reach), 579_952);
}
