//! Nodes that are heard and do not hear this one, and those that only others hear.

use std::collections::{BTreeMap, BTreeSet};

use super::forged::{call, exchange, pair, press};
use super::*;
use crate::model::{Hello, NodeId};
use crate::peers::{MOST_ECHOES, STRANGERS_ECHOED};
use crate::store::RecordState;

/// So many processes that are heard and hear nobody. Their nonces mix with those of the peers.
fn invent(one: &mut Node, count: u64, now: Timestamp) {
    let template = node(200, 1).plain_beacon(now);
    for number in 0..count {
        let node = NodeId::new(&format!("GHOST{number}")).expect("a name");
        let address = core::net::Ipv4Addr::from_bits(0x7f02_0000 + u32::try_from(number).unwrap());
        let hello =
            Hello { node, address, nonce: Nonce(number * 100 + 1_050), ..template.hello.clone() };
        let beacon = Beacon { hello, ..template.clone() };
        one.handle_beacon(address, &beacon, now);
    }
}

/// A node with so many peers that count, and the nonces of these.
fn amid(peers: u8, now: Timestamp) -> (Node, BTreeSet<Nonce>) {
    let (mut one, mut nonces) = (node(1, 1), BTreeSet::new());
    for index in 0..peers {
        let peer = node(10 + index, 1);
        nonces.insert(peer.hello().nonce);
        one.handle_link_up(LinkId(u64::from(index)), peer.hello(), LinkSide::Accepted, now);
    }
    assert_eq!(one.peers.members().count(), usize::from(peers));
    (one, nonces)
}

/// Strangers take no echo from a peer. A restarted node is a stranger until it is echoed: in any fleet
/// each stranger has its turn soon.
#[test]
fn no_number_of_strangers_keeps_peers_from_being_echoed() {
    for (peers, strangers) in
        [(7, 0), (7, 400), (27, 480), (31, 448), (32, 300), (60, 400), (63, 1), (63, 400), (64, 9)]
    {
        let now = Timestamp::START + PERIOD;
        let (mut one, nonces) = amid(peers, now);
        invent(&mut one, strangers, now);
        let for_peers = MOST_ECHOES - STRANGERS_ECHOED;
        let turns = (usize::from(peers) + 1).div_ceil(for_peers);
        let mut missed: BTreeMap<Nonce, usize> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for turn in 1..=turns as u64 * 400 {
            let echoes = one.peers.membership.echoes(MOST_ECHOES);
            let told: BTreeSet<Nonce> = echoes.iter().map(|echo| echo.nonce).collect();
            assert_eq!(told.len(), echoes.len(), "nobody twice");
            others.extend(told.difference(&nonces).copied());
            let all_had_turns = others.len() as u64 == strangers;
            assert!(turn < strangers.div_ceil(4) || all_had_turns, "{peers}: {strangers}");
            for nonce in &nonces {
                let missed = missed.entry(*nonce).or_default();
                *missed = if told.contains(nonce) { 0 } else { *missed + 1 };
                assert!(*missed < turns, "{peers} peers, {strangers} strangers");
            }
        }
    }
}

/// After a quarter of a minute: the first node, its peer, a call of the first and its dot.
fn long_acquainted() -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = pair();
    let later = now + Duration::from_secs(15);
    exchange(&mut one, &mut two, now, later);
    (one, two, later)
}

/// O1, E1: a recorded beacon that is sent again creates no peer, causes no conflict, draws no answer,
/// and plants neither an order nor a fire recall, whether its sender is a peer, has restarted since, or
/// was this node before it restarted.
#[test]
fn a_beacon_that_is_sent_again_draws_no_answer() {
    let (mut one, mut two, now) = long_acquainted();
    let probe = |beacon: Beacon| Beacon { probe: true, ..beacon };
    let recorded = probe(two.plain_beacon(now));
    let answers = |one: &mut Node, beacon: &Beacon| {
        one.handle_beacon(beacon.hello.address, beacon, now);
        let actions = drain(one);
        let unicasts = actions.iter().filter(|action| matches!(action, Action::Unicast { .. }));
        assert!(!actions.iter().any(|action| matches!(action, Action::Report(_))), "{actions:?}");
        unicasts.count()
    };
    assert_eq!(answers(&mut one, &recorded), 1);
    assert_eq!(answers(&mut one, &recorded), 0, "sent again");

    let mut gone = node(9, 1);
    gone.command(Command::FireRecall { on: true }, now);
    let open = press(2, 7, call(0), RecordState::open(PERIOD));
    let peers = one.peers.members().names();
    let known = (one.orders().digest(), one.settings().clone());
    for index in [1, 2, 3] {
        // The same names and addresses yesterday: other incarnations, which know this one not.
        let mut yesterday = probe(node(index, 1).plain_beacon(now));
        yesterday.hello.nonce = Nonce(77);
        yesterday.echoes = vec![Echo { nonce: Nonce(78), sequence: 5 }];
        yesterday.delta.settings = gone.settings().iter().cloned().collect();
        yesterday.delta.records = vec![open.clone()];
        assert_eq!(answers(&mut one, &yesterday), 0, "{index}");
    }
    assert_eq!(one.peers.members().names(), peers);
    assert_eq!((one.orders().digest(), one.settings().clone()), known);
    assert!(one.status(now).conflicts.is_empty());
}
