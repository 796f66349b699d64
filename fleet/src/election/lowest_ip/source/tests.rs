use super::*;
use crate::election::Candidate;
use crate::election::testing::{self, address, candidate, feed, fires, loses, name, slave_of};

const REDIAL: Duration = Duration::from_millis(50);

fn node(index: u8) -> Source {
    Source::new(name(index), address(index), REDIAL)
}

fn hears(node: &mut Source, index: u8, node_state: &NodeState) -> Vec<Output> {
    let mut outputs = testing::hears(node, &candidate(index), node_state);
    outputs.retain(|output| {
        !matches!(output, Output::Arm(ElectionTimer::LowestIp(Timer::Join(_)), _))
    });
    outputs
}

fn synced(node: &mut Source, index: u8) -> Vec<Output> {
    feed(node, Input::Synced { peer: &name(index), side: LinkSide::Dialled })
}

/// F2
#[test]
fn every_node_starts_as_a_master() {
    assert_eq!(node(3).node_state(), NodeState::Master);
}

/// F3, C6
#[test]
fn a_master_dials_a_lower_master_and_follows_it_once_synced() {
    let mut third = node(3);
    assert_eq!(hears(&mut third, 2, &NodeState::Master), [Output::Dial(name(2))]);
    assert_eq!(third.node_state(), NodeState::Master, "until the link carries");
    assert_eq!(hears(&mut third, 2, &NodeState::Master), [], "one dial at a time");
    assert_eq!(synced(&mut third, 2), [Output::HangUpAllBut(name(2))]);
    assert_eq!(third.node_state(), slave_of(2));
}

/// F3: only a master's beacon is an announcement, and only a lower one's counts.
#[test]
fn slaves_and_higher_masters_are_not_followed() {
    let mut second = node(2);
    assert_eq!(hears(&mut second, 3, &NodeState::Master), []);
    assert_eq!(hears(&mut second, 1, &slave_of(0)), []);
    assert_eq!(hears(&mut second, 1, &NodeState::Seeking), []);
}

/// F3: a slave stays with its master until it is disconnected.
#[test]
fn a_slave_ignores_a_lower_master_until_its_own_has_gone() {
    let mut third = node(3);
    hears(&mut third, 2, &NodeState::Master);
    synced(&mut third, 2);
    assert_eq!(hears(&mut third, 1, &NodeState::Master), []);
    feed(&mut third, Input::Disconnected { peer: &name(2) });
    assert_eq!(third.node_state(), NodeState::Master);
    assert_eq!(hears(&mut third, 1, &NodeState::Master), [Output::Dial(name(1))]);
}

/// E1: the peer restarted while it was being dialled, and answers all the same.
#[test]
fn a_dial_that_was_given_up_counts_if_it_succeeds() {
    let mut third = node(3);
    hears(&mut third, 1, &NodeState::Master);
    loses(&mut third, 1);
    assert_eq!(synced(&mut third, 1), [Output::HangUpAllBut(name(1))]);
    assert_eq!(third.node_state(), slave_of(1));
}

/// E1: of two dials that succeed, the later one decides.
#[test]
fn a_node_that_joins_or_follows_one_master_hangs_up_on_another() {
    let mut third = node(3);
    hears(&mut third, 1, &NodeState::Master);
    feed(&mut third, Input::Disconnected { peer: &name(1) });
    hears(&mut third, 2, &NodeState::Master);
    assert_eq!(synced(&mut third, 1), [Output::HangUp(name(1))]);
    synced(&mut third, 2);
    assert_eq!(synced(&mut third, 1), [Output::HangUpAllBut(name(2))]);
    assert_eq!(third.node_state(), slave_of(2));
}

/// E1: nor does one whose master still leads, once it has had its time.
#[test]
fn a_join_that_takes_too_long_is_broken_off_and_tried_again_after_a_wait() {
    let mut third = node(3);
    hears(&mut third, 1, &NodeState::Master);
    let late: ElectionTimer = Timer::Join(name(1)).into();
    match feed(&mut third, Input::Fired(&late)).as_slice() {
        [Output::HangUp(peer), Output::Arm(ElectionTimer::LowestIp(Timer::Redial(_)), _)] => {
            assert_eq!(*peer, name(1));
        }
        other => panic!("{other:?}"),
    }
    synced(&mut third, 1);
    assert_eq!(feed(&mut third, Input::Fired(&late)), [], "it carries");
    assert_eq!(third.node_state(), slave_of(1));
}

/// E1: a link that is slow to carry does not keep the node from another master.
#[test]
fn a_node_does_not_wait_for_a_master_that_has_yielded() {
    let mut third = node(3);
    hears(&mut third, 2, &NodeState::Master);
    assert_eq!(hears(&mut third, 2, &slave_of(1)), [Output::HangUp(name(2))]);
    assert_eq!(hears(&mut third, 1, &NodeState::Master), [Output::Dial(name(1))]);
}

/// F7, F3: only a disconnection ends the slave's state.
#[test]
fn a_slave_leads_when_it_is_disconnected_from_its_master() {
    for is_lost in [true, false] {
        let mut third = node(3);
        hears(&mut third, 2, &NodeState::Master);
        synced(&mut third, 2);
        loses(&mut third, 4);
        assert_eq!(third.node_state(), slave_of(2), "somebody else's loss");
        assert_eq!(hears(&mut third, 2, &slave_of(1)), []);
        assert_eq!(third.node_state(), slave_of(2), "it has not hung up yet");
        if is_lost {
            loses(&mut third, 2);
        } else {
            feed(&mut third, Input::Disconnected { peer: &name(2) });
        }
        assert_eq!(third.node_state(), NodeState::Master);
    }
}

/// E1: a master that can be heard but not reached does not make the node flap.
#[test]
fn failed_dials_are_repeated_after_growing_waits() {
    let mut third = node(3);
    let mut waits = Vec::new();
    for _ in 0..8 {
        assert_eq!(hears(&mut third, 1, &NodeState::Master), [Output::Dial(name(1))]);
        match feed(&mut third, Input::Disconnected { peer: &name(1) }).as_slice() {
            [Output::Arm(ElectionTimer::LowestIp(Timer::Redial(peer)), wait)]
                if *peer == name(1) =>
            {
                waits.push(wait.as_millis());
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(hears(&mut third, 1, &NodeState::Master), [], "not before the timer");
        assert_eq!(third.node_state(), NodeState::Master);
        fires(&mut third, Timer::Redial(name(1)));
    }
    assert_eq!(waits, [50, 100, 200, 400, 400, 400, 400, 400]);
}

/// E1: while one lower master can't be reached, another one is tried.
#[test]
fn an_unreachable_master_does_not_stand_in_the_way_of_another() {
    let mut third = node(3);
    hears(&mut third, 1, &NodeState::Master);
    feed(&mut third, Input::Disconnected { peer: &name(1) });
    assert_eq!(hears(&mut third, 2, &NodeState::Master), [Output::Dial(name(2))]);
}

/// Two nodes with one address: the name decides, so that one of them yields.
#[test]
fn equal_addresses_are_ranked_by_name() {
    let mut second = Source::new(name(2), address(9), REDIAL);
    let mut first = Source::new(name(1), address(9), REDIAL);
    let master = NodeState::Master;
    for (node, peer, follows) in [(&mut second, name(1), true), (&mut first, name(2), false)] {
        let candidate = Candidate { node: peer.clone(), ..candidate(9) };
        let dials = testing::hears(node, &candidate, &master).contains(&Output::Dial(peer));
        assert_eq!(dials, follows);
    }
}
