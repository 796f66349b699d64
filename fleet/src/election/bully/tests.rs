//! The rows of the protocol, one machine at a time and several by hand.

mod estimates;
mod rows;
mod source;

use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::election::Rules;
use crate::election::testing::{self, armed, detail, feed, fires, loses, name, receives, slave_of};

/// A node whose estimate is ten times its number.
fn candidate(index: u8) -> Candidate {
    estimating(index, 10 * u32::from(index))
}

fn estimating(index: u8, estimate: u32) -> Candidate {
    Candidate { estimate, ..testing::candidate(index) }
}

/// As in the source: nodes are asked whether they live or not.
fn as_in_the_source() -> Settings {
    Settings::source()
}

/// Every node has a number.
fn configured() -> Settings {
    Settings { estimate: Estimate::Fixed(0), ..Settings::default() }
}

fn node(index: u8) -> Bully {
    Bully::new(candidate(index), Settings::default())
}

/// A beacon of a node whose estimate is ten times its number.
fn hears(node: &mut Bully, index: u8, node_state: &NodeState) -> Vec<Output> {
    hears_in(node, index, node_state, 0)
}

fn hears_in(node: &mut Bully, index: u8, node_state: &NodeState, term: u64) -> Vec<Output> {
    testing::hears_in(node, &candidate(index), node_state, term)
}

/// What is sent, without the timers, by receiver.
fn sent(outputs: &[Output]) -> Vec<(u8, Message)> {
    let sent = testing::sent(outputs).into_iter().filter_map(|(to, message)| {
        let index = to?.as_str()[1..].parse().expect("a number");
        if let Any::Bully(message) = message { Some((index, message)) } else { None }
    });
    let mut sent: Vec<_> = sent.collect();
    sent.sort_by_key(|(to, _)| *to);
    sent
}

/// A question to each of these nodes.
fn asked<const N: usize>(nodes: [u8; N]) -> [(u8, Message); N] {
    nodes.map(|to| (to, Message::Election))
}

fn state(node: &Bully) -> String {
    detail(node, "state").expect("a state")
}

fn master(term: u64) -> Message {
    Message::Master { term: Term(term) }
}

/// A started node that has heard of others, none of which leads.
fn amid(own: u8, others: &[u8], settings: Settings) -> Bully {
    let mut node = Bully::new(candidate(own), settings);
    feed(&mut node, Input::Start);
    for other in others {
        hears(&mut node, *other, &NodeState::Seeking);
    }
    node
}

/// One that follows the master of term 1.
fn follower(own: u8, others: &[u8], of: u8, settings: Settings) -> Bully {
    let mut node = amid(own, others, settings);
    receives(&mut node, of, master(1));
    hears_in(&mut node, of, &NodeState::Master, 1);
    fires(&mut node, Timer::Pause);
    assert_eq!(node.node_state(), slave_of(of));
    node
}

/// One that leads in term 1.
fn leader(own: u8, others: &[u8]) -> Bully {
    let mut node = amid(own, others, Settings::default());
    fires(&mut node, Timer::Answer);
    assert_eq!(node.node_state(), NodeState::Master);
    node
}
