use super::*;
use crate::election::testing::{self, address, candidate, feed, loses, name, slave_of};

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

/// F3, C6: a slave stays with its master until it is disconnected.
#[test]
fn a_master_dials_a_lower_master_and_follows_it_once_synced() {
    let mut third = node(3);
    assert_eq!(hears(&mut third, 2, &NodeState::Master), [Output::Dial(name(2))]);
    assert_eq!(third.node_state(), NodeState::Master, "until the link carries");
    assert_eq!(hears(&mut third, 2, &NodeState::Master), [], "one dial at a time");
    assert_eq!(synced(&mut third, 2), [Output::HangUpAllBut(name(2))]);
    assert_eq!(hears(&mut third, 1, &NodeState::Master), []);
    assert_eq!(third.node_state(), slave_of(2));
    feed(&mut third, Input::Disconnected { peer: &name(2) });
    assert_eq!(hears(&mut third, 1, &NodeState::Master), [Output::Dial(name(1))]);
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
