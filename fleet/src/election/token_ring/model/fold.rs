//! Numbers of a ring that only grow: what counts is their order, and whether one follows another.

use std::collections::{BTreeMap, BTreeSet};

use super::super::TokenRing;
use super::super::message::{Exchange, Generation, Message, Stamp, Token};
use super::super::state::{Phase, State};
use crate::election::Message as Any;
use crate::election::testing::model::{Moment, Node};
use crate::model::NodeId;

/// Numbers that are further apart than this might as well be so far apart.
const APART: u64 = 2;

/// The numbers of one kind that a ring knows.
#[derive(Debug, Default)]
struct Scale(BTreeSet<u64>);

impl Scale {
    fn note(&mut self, number: u64) {
        self.0.insert(number);
    }

    /// The number in place of this one: the lowest becomes 0, and gaps become small.
    fn fold(&self, number: u64) -> u64 {
        let up_to = self.0.range(..=number);
        let above = up_to.clone().skip(1);
        up_to.zip(above).map(|(below, above)| APART.min(above - below)).sum()
    }
}

/// All numbers that a ring knows.
#[derive(Debug, Default)]
pub(super) struct Scales {
    generations: Scale,
    counts: Scale,
    /// By generation, as it was before.
    hops: BTreeMap<Generation, Scale>,
    /// Of each node's own exchanges.
    exchanges: BTreeMap<usize, Scale>,
    names: Vec<NodeId>,
}

/// A number, and what it counts.
enum Number<'a> {
    Generation(&'a mut u64),
    Count(&'a mut u64),
    Stamp(&'a mut Stamp),
    /// Of this node.
    Exchange(usize, &'a mut Exchange),
}

impl Scales {
    pub(super) fn of<N>(ring: &mut Moment<TokenRing, N>) -> Self {
        let names = names(ring);
        let mut scales = Self::default();
        each(ring, &names, &mut |number| match number {
            Number::Generation(number) => scales.generations.note(*number),
            Number::Count(count) => scales.counts.note(*count),
            Number::Stamp(stamp) => {
                scales.generations.note(stamp.generation.number);
                scales.hops.entry(stamp.generation.clone()).or_default().note(stamp.hop);
            }
            Number::Exchange(node, exchange) => {
                scales.exchanges.entry(node).or_default().note(exchange.0);
            }
        });
        Self { names, ..scales }
    }

    pub(super) fn fold<N>(&self, ring: &mut Moment<TokenRing, N>) {
        each(ring, &self.names, &mut |number| match number {
            Number::Generation(number) => *number = self.generations.fold(*number),
            Number::Count(count) => *count = self.counts.fold(*count),
            Number::Stamp(stamp) => {
                let hops = self.hops.get(&stamp.generation);
                stamp.hop = hops.map_or(stamp.hop, |hops| hops.fold(stamp.hop));
                stamp.generation.number = self.generations.fold(stamp.generation.number);
            }
            Number::Exchange(node, exchange) => {
                let exchanges = self.exchanges.get(&node);
                exchange.0 = exchanges.map_or(exchange.0, |known| known.fold(exchange.0));
            }
        });
    }
}

/// The names of the nodes that run; the others are spoken of by nobody.
fn names<N>(ring: &Moment<TokenRing, N>) -> Vec<NodeId> {
    let name = |node: &Option<Node<TokenRing>>| node.as_ref().map(|node| node.own.node.clone());
    let unknown = || NodeId::new("-").expect("a name");
    ring.nodes.iter().map(|node| name(node).unwrap_or_else(unknown)).collect()
}

fn each<N>(ring: &mut Moment<TokenRing, N>, names: &[NodeId], of: &mut impl FnMut(Number<'_>)) {
    let index = |name: &NodeId| names.iter().position(|node| node == name).unwrap_or(names.len());
    for (own, node) in ring.nodes.iter_mut().enumerate() {
        let Some(node) = node.as_deref_mut() else {
            continue;
        };
        of(Number::Stamp(&mut node.seen));
        of(Number::Count(&mut node.count));
        of(Number::Exchange(own, &mut node.exchange));
        match &mut node.state {
            State::Claiming { generation } => of(Number::Generation(&mut generation.number)),
            State::Holding { token, phase } => {
                token_numbers(token, of);
                if let Phase::Frozen { with, asked, agreed, .. } = phase {
                    if let Some(asked) = asked {
                        of(Number::Exchange(own, asked));
                    }
                    if let Some(agreed) = agreed {
                        of(Number::Exchange(index(&with.node), agreed));
                    }
                }
            }
            State::Passing { token, .. } => token_numbers(token, of),
            State::Waiting { .. } | State::Deferring { .. } | State::Missing { .. } => {}
        }
    }
    ring.network = std::mem::take(&mut ring.network)
        .into_iter()
        .map(|mut sent| {
            if let Any::TokenRing(message) = &mut sent.message {
                message_numbers(message, (sent.from, sent.to), of);
            }
            sent
        })
        .collect();
}

fn token_numbers(token: &mut Token, of: &mut impl FnMut(Number<'_>)) {
    of(Number::Stamp(&mut token.stamp));
    of(Number::Count(&mut token.count));
}

fn message_numbers(
    message: &mut Message,
    (from, to): (usize, usize),
    of: &mut impl FnMut(Number<'_>),
) {
    match message {
        Message::Search | Message::Here(_) | Message::Objection => {}
        Message::Life(life) => {
            of(Number::Stamp(&mut life.stamp));
            of(Number::Count(&mut life.count));
        }
        Message::Pass(token) => token_numbers(token, of),
        Message::Accepted(stamp) => of(Number::Stamp(stamp)),
        Message::Refused { stamp, seen } => {
            of(Number::Stamp(stamp));
            of(Number::Stamp(seen));
        }
        Message::Agreed { exchange, count, .. } => {
            of(Number::Exchange(to, exchange));
            of(Number::Count(count));
        }
        Message::NoLongerHolder(exchange) | Message::Busy(exchange) => {
            of(Number::Exchange(to, exchange));
        }
        Message::Wait(exchange) | Message::Result { exchange, .. } => {
            of(Number::Exchange(from, exchange));
        }
        Message::Claim { generation, .. } => of(Number::Generation(&mut generation.number)),
    }
}
