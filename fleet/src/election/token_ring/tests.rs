mod exchange;
mod recovery;
mod turns;

use super::*;
use crate::election::Message as Any;
use crate::election::testing::{
    self, address, armed, candidate, draws, feed, fires, loses, name, receives, sent, slave_of,
};
use crate::model::bounds::JUMP;

fn mac(index: u8) -> Mac {
    Mac::of(address(index))
}

fn node(index: u8) -> TokenRing {
    with(index, &[], Settings::default())
}

/// A node that hears so many peers, which are numbered as the nodes are.
fn with(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = TokenRing::new(&candidate(index), Nonce(u64::from(index)), settings);
    feed(&mut node, Input::Start);
    for peer in peers {
        hears(&mut node, *peer, &NodeState::Seeking);
    }
    node
}

fn hears(node: &mut TokenRing, index: u8, node_state: &NodeState) -> Vec<Output> {
    testing::hears(node, &candidate(index), node_state)
}

/// What is said, to whom; `None` is everybody.
fn said(outputs: &[Output]) -> Vec<(Option<NodeId>, Message)> {
    let ours = sent(outputs).into_iter().filter_map(|(to, message)| {
        if let Any::TokenRing(message) = message { Some((to, message)) } else { None }
    });
    ours.collect()
}

fn life(stamp: Stamp, count: u64) -> Message {
    Message::Life(Life { stamp, count, solo: false })
}

fn stamp(number: u64, creator: u8, hop: u64) -> Stamp {
    Stamp {
        generation: Generation { number, creator: name(creator), nonce: Nonce(u64::from(creator)) },
        hop,
    }
}

/// One that also claims the token.
fn claimant(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = with(index, peers, settings);
    fires(&mut node, Timer::Watch);
    fires(&mut node, Timer::Claim);
    node
}

/// One that also holds the token.
fn holder(index: u8, peers: &[u8]) -> TokenRing {
    holder_with(index, peers, Settings::default())
}

fn holder_with(index: u8, peers: &[u8], settings: Settings) -> TokenRing {
    let mut node = claimant(index, peers, settings);
    fires(&mut node, Timer::Listen);
    assert_eq!(node.node_state(), NodeState::Master);
    node
}

/// One that has sent its token off to `to`, and the token.
fn passing(index: u8, to: u8) -> (TokenRing, Token) {
    let mut node = holder(index, &[to]);
    fires(&mut node, Timer::Hold);
    let outputs = receives(&mut node, to, Message::Here(mac(to)));
    let sent = said(&outputs).into_iter().find_map(|(_, message)| {
        if let Message::Pass(token) = message { Some(token) } else { None }
    });
    assert_eq!(node.node_state(), slave_of(to));
    (node, sent.expect("a token is sent"))
}

/// A holder that hears another, frozen; and the number of its exchange.
fn frozen(own: u8, other: u8) -> (TokenRing, Exchange) {
    let mut holder = holder(own, &[other, 9]);
    let outputs = receives(&mut holder, other, life(stamp(1, other, 0), 1));
    let said = said(&outputs);
    let (Some(to), Message::Wait(exchange)) = &said[0] else {
        panic!("{outputs:?}");
    };
    assert_eq!(*to, name(other));
    (holder, *exchange)
}

fn stamp_of(node: &TokenRing) -> Stamp {
    node.token().expect("it holds one").stamp.clone()
}
