//! Nodes that are heard and do not hear this one, and those that only others hear.

use std::collections::{BTreeMap, BTreeSet};

use super::forged::{call, dot, exchange, pair, sound, with_journal};
use super::*;
use crate::model::NodeId;
use crate::node::peers::{MOST_ECHOES, STRANGERS_ECHOED};
use crate::orders::{Record, RecordState};
use crate::wire::{Delta, Hello};

/// So many processes that are heard and hear nobody. Their nonces mix with those of the peers.
fn invent(one: &mut Node, count: u64, now: Timestamp) {
    let template = with_journal(200, sound(200)).plain_beacon(now);
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

/// Strangers take no echo from a peer, and each gets its turn where there is room.
#[test]
fn no_number_of_strangers_keeps_peers_from_being_echoed() {
    for (peers, strangers) in [(7, 0), (7, 400), (31, 300), (32, 300), (63, 1), (63, 300), (64, 9)]
    {
        let now = Timestamp::START + PERIOD;
        let (mut one, nonces) = amid(peers, now);
        invent(&mut one, strangers, now);
        let for_peers = MOST_ECHOES - STRANGERS_ECHOED;
        let turns = (usize::from(peers) + 1).div_ceil(for_peers);
        let mut missed: BTreeMap<Nonce, usize> = BTreeMap::new();
        let mut others = BTreeSet::new();
        for _ in 0..turns * 400 {
            let echoes = one.peers.membership.echoes(MOST_ECHOES);
            let told: BTreeSet<Nonce> = echoes.iter().map(|echo| echo.nonce).collect();
            assert_eq!(told.len(), echoes.len(), "nobody twice");
            others.extend(told.difference(&nonces).copied());
            for nonce in &nonces {
                let missed = missed.entry(*nonce).or_default();
                *missed = if told.contains(nonce) { 0 } else { *missed + 1 };
                assert!(*missed < turns, "{peers} peers, {strangers} strangers");
            }
        }
        assert_eq!(others.len() as u64, strangers, "{peers} peers");
    }
}

/// A restarted node is a stranger until it is echoed: in any fleet each stranger has its turn soon.
#[test]
fn many_strangers_have_their_turns_in_a_fleet_of_any_size() {
    for (peers, strangers) in [(27, 480), (31, 448), (60, 400), (63, 400)] {
        let now = Timestamp::START + PERIOD;
        let (mut one, nonces) = amid(peers, now);
        invent(&mut one, strangers, now);
        let mut seen = BTreeSet::new();
        for _ in 0..strangers.div_ceil(4) {
            let echoes = one.peers.membership.echoes(MOST_ECHOES);
            seen.extend(echoes.iter().map(|echo| echo.nonce));
        }
        let of_strangers = seen.difference(&nonces).count() as u64;
        assert_eq!(of_strangers, strangers, "{peers} peers");
    }
}

/// After a quarter of a minute: the first node, its peer, a call of the first and its dot.
fn long_acquainted() -> (Node, Node, Timestamp) {
    let (mut one, mut two, now) = pair();
    let later = now + Duration::from_secs(15);
    exchange(&mut one, &mut two, now, later);
    (one, two, later)
}

/// A recorded beacon that is sent again creates no peer, causes no conflict and draws no answer,
/// whether its sender is a peer, has restarted since, or was this node before it restarted.
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

    let peers = one.peers.members().names();
    for index in [1, 2, 3] {
        // The same names and addresses yesterday: other incarnations, which know this one not.
        let mut yesterday = probe(with_journal(index, sound(index)).plain_beacon(now));
        yesterday.hello.nonce = Nonce(77);
        yesterday.echoes = vec![Echo { nonce: Nonce(78), sequence: 5 }];
        assert_eq!(answers(&mut one, &yesterday), 0, "{index}");
    }
    assert_eq!(one.peers.members().names(), peers);
    assert!(one.status(now).conflicts.is_empty());
}

/// O1, E1: a node that lost its disk knows nothing yet. What its peer said an hour ago, sent again by
/// somebody without the key, plants neither an order nor a fire recall in it.
#[test]
fn an_old_beacon_plants_nothing_in_a_replaced_node() {
    let (_, mut two, now) = pair();
    let mut gone = node(9, 1);
    gone.handle_fire_recall(FireRecall::Start, "kovac", now).expect("room");
    let open =
        Record { dot: dot(2, 7), origin: name(2), call: call(3), state: RecordState::open(PERIOD) };
    let recorded = Beacon {
        directives: gone.directives().iter().cloned().collect(),
        delta: Delta { records: vec![open], ..Delta::default() },
        ..two.plain_beacon(now)
    };
    let hour = now + Duration::from_hours(1);
    for beacon in 0..200 {
        two.handle_timeout(hour + PERIOD * beacon);
        drain(&mut two);
    }

    let mut replaced = node(1, 2);
    let now = hour + PERIOD * 200;
    replaced.handle_timeout(now);
    let until = now + PERIOD * 8;
    // It is heard and hears; there is no link yet.
    talk(&mut replaced, &mut two, now, until);
    assert!(replaced.peers.members().get(&name(2)).is_some(), "it counts");
    let known = (replaced.orders().digest(), replaced.directives().clone());
    assert!(!known.1.is_fire_recalled());
    for _ in 0..3 {
        let fate = replaced.handle_beacon(two.hello().address, &recorded, until);
        assert_eq!(fate, BeaconFate::Replayed);
    }
    assert_eq!((replaced.orders().digest(), replaced.directives().clone()), known);
    assert!(replaced.orders().of_call(&call(3)).next().is_none());
}
