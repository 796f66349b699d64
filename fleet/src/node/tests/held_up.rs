//! A node that does not run all the time.

use std::collections::VecDeque;

use super::*;

/// How the node's time goes: it runs, and then it does not.
const RUNS: Duration = Duration::from_millis(130);
const HELD_UP: Duration = Duration::from_millis(170);

/// Node 1 is held up again and again. Node 3 lives all the time; node 2 dies at the start, or, if
/// `alive`, lives as well. Hands back what node 1 reports within this time.
fn chronically_late(alive: bool, limit: Duration) -> Vec<(Timestamp, Report)> {
    let (mut late, mut two, mut three) = (node(1, 1), node(2, 1), node(3, 1));
    let begun = Timestamp::START + PERIOD * 8;
    talk(&mut late, &mut two, Timestamp::START, begun);
    talk(&mut late, &mut three, begun, begun + PERIOD * 4);
    talk(&mut late, &mut two, begun + PERIOD * 4, begun + PERIOD * 8);
    let begun = begun + PERIOD * 8;
    let mut peers = vec![&mut three];
    if alive {
        peers.push(&mut two);
    }
    let mut heard = Vec::new();
    let mut waiting: VecDeque<(core::net::Ipv4Addr, Beacon)> = VecDeque::new();
    let mut stopped = None;
    let mut now = begun;
    while now < begun + limit {
        let cycle = now.since(begun).as_millis() % (RUNS + HELD_UP).as_millis();
        let runs = cycle < RUNS.as_millis();
        for peer in &mut peers {
            peer.handle_timeout(now);
            let from = peer.hello().address;
            let sent = drain(peer);
            waiting.extend(broadcasts(&sent).map(|beacon| (from, beacon.clone())));
        }
        if runs {
            if let Some(since) = stopped.take() {
                late.handle_interrupted(now.since(since), now);
            }
            late.handle_timeout(now);
            for (from, beacon) in waiting.drain(..) {
                late.handle_beacon(from, &beacon, now);
            }
            let actions = drain(&mut late);
            for beacon in broadcasts(&actions) {
                for peer in &mut peers {
                    peer.handle_beacon(address(1), beacon, now);
                }
            }
            heard.extend(reports(actions).map(|report| (now, report)));
        } else {
            stopped.get_or_insert(now);
        }
        now = now + Duration::from_millis(1);
    }
    heard
}

fn loses(reports: &[(Timestamp, Report)], index: u8) -> bool {
    let lost = Report::PeerLost { node: name(index) };
    reports.iter().any(|(_, report)| *report == lost)
}

/// H1: what a node does not hear while it runs counts, however often it is held up.
#[test]
fn a_node_that_is_often_held_up_loses_a_dead_peer() {
    let reports = chronically_late(false, Duration::from_secs(2));
    assert!(loses(&reports, 2), "{reports:?}");
    assert!(!loses(&reports, 3), "{reports:?}");
}

/// H1: and what it could not hear meanwhile does not.
#[test]
fn a_node_that_is_often_held_up_keeps_its_living_peers() {
    let reports = chronically_late(true, Duration::from_secs(20));
    assert!(!loses(&reports, 2) && !loses(&reports, 3), "{reports:?}");
}

/// Passes on what one node sends to the other, at once.
fn pass_on(from: &mut Node, to: &mut Node, now: Timestamp) {
    let address = from.hello().address;
    for beacon in beacons(&drain(from)) {
        to.handle_beacon(address, beacon, now);
    }
}

/// A master is suspended, and its only slave takes over. Returns how many beacons without a message
/// waited for the former, and how many messages it sends when these arrive, all at once.
fn sent_on_resumption(election: ElectionSettings) -> (usize, usize) {
    let (two, one) = (electing(1, 1, election.clone()), electing(2, 1, election));
    let (mut two, mut one, start) = linked_after(two, one, 4);
    let mut now = start;
    while *one.node_state() != NodeState::Master || !two.leadership.follows(&name(2)) {
        now = now + Duration::from_millis(1);
        for node in [&mut one, &mut two] {
            node.handle_timeout(now);
        }
        pass_on(&mut one, &mut two, now);
        pass_on(&mut two, &mut one, now);
        assert!(now < start + Duration::from_secs(20), "{:?}", one.node_state());
    }
    drain(&mut one);
    let suspended = now;
    let mut waiting = Vec::new();
    while now < suspended + Duration::from_secs(2) {
        now = now + Duration::from_millis(1);
        two.handle_timeout(now);
        let sent = drain(&mut two);
        waiting.extend(beacons(&sent).filter(|beacon| beacon.piggybacked.is_none()).cloned());
    }
    assert_eq!(*two.node_state(), NodeState::Master);
    one.handle_interrupted(now.since(suspended), now);
    for beacon in &waiting {
        one.handle_beacon(address(1), beacon, now);
    }
    let sent = drain(&mut one);
    (waiting.len(), beacons(&sent).filter(|beacon| beacon.piggybacked.is_some()).count())
}

/// C3: the beacons that waited for a suspended master say the same over and over, and it answers
/// them once, not each.
#[test]
fn a_resumed_master_answers_the_beacons_that_waited_once() {
    for protocol in [Protocol::Bully, Protocol::TokenRing] {
        let (waiting, sent) = sent_on_resumption(ElectionSettings::of(protocol));
        assert!(
            waiting > 60 && (1..=6).contains(&sent),
            "{protocol}: {sent} messages to {waiting} beacons"
        );
    }
}
