use super::*;
use crate::election::LinkSide;
use crate::election::testing::{
    address, armed, candidate, feed, fires, hears, loses, name, slave_of,
};

use NodeState::{Master, Seeking};

/// What a third node hears of its peers, or `None` where it loses one, and its state after each.
/// That it follows the lowest master in the end is in the model.
#[test]
fn a_slave_stays_with_its_master_until_that_is_one_no_longer() {
    for (case, steps) in [
        ("F3", vec![(1, Some(slave_of(0)), Master), (1, Some(Seeking), Master)]),
        (
            "F3, F7: it leads when it has lost its master, and goes with it to a lower one",
            vec![
                (4, Some(Master), Master),
                (2, Some(Master), slave_of(2)),
                (1, Some(Master), slave_of(2)),
                (4, None, slave_of(2)),
                (2, Some(slave_of(1)), slave_of(1)),
                (1, None, Master),
            ],
        ),
        (
            "E1: a master that was lost meanwhile, or that is not heard, is not followed",
            vec![
                (2, Some(Master), slave_of(2)),
                (1, Some(Master), slave_of(2)),
                (1, None, slave_of(2)),
                (2, Some(slave_of(1)), Master),
            ],
        ),
    ] {
        let mut third = LowestIp::new(name(3), address(3));
        for (step, (peer, said, expected)) in steps.into_iter().enumerate() {
            let outputs = match said {
                Some(said) => hears(&mut third, &candidate(peer), &said),
                None => loses(&mut third, peer),
            };
            assert_eq!((outputs, third.node_state()), (vec![], expected), "{case}, step {step}");
        }
    }
}

/// Two nodes with one address: the name decides, so that one of them yields.
#[test]
fn equal_addresses_are_ranked_by_name() {
    for (own, peer, expected) in [(2, 1, slave_of(1)), (1, 2, Master)] {
        let mut node = LowestIp::new(name(own), address(9));
        let peer = Candidate { node: name(peer), ..candidate(9) };
        hears(&mut node, &peer, &Master);
        assert_eq!(node.node_state(), expected);
    }
}

/// F3, F7, C6: as in the source a slave stays with its master until it is disconnected.
#[test]
fn a_master_dials_a_lower_master_and_follows_it_once_synced() {
    let mut third = Source::new(name(3), address(3), Duration::from_millis(50));
    let outputs = hears(&mut third, &candidate(2), &Master);
    assert_eq!(outputs.last(), Some(&Output::Dial(name(2))));
    assert!(armed(&outputs, Timer::Join(name(2))).is_some());
    assert_eq!(third.node_state(), Master, "until the link carries");
    assert_eq!(hears(&mut third, &candidate(2), &Master), [], "one dial at a time");
    let synced = Input::Synced { peer: &name(2), side: LinkSide::Dialled };
    assert_eq!(feed(&mut third, synced), [Output::HangUpAllBut(name(2))]);
    for (peer, says) in [(1, Master), (2, slave_of(1))] {
        assert_eq!(hears(&mut third, &candidate(peer), &says), []);
        assert_eq!(third.node_state(), slave_of(2), "it has not hung up yet");
    }
    feed(&mut third, Input::Disconnected { peer: &name(2) });
    assert_eq!(third.node_state(), Master);
}

/// F3, E1: a dial that fails, or takes too long, is repeated after a wait that grows.
#[test]
fn a_master_that_can_not_be_reached_is_dialled_again_later() {
    let first_wait = Duration::from_millis(50);
    let mut third = Source::new(name(3), address(3), first_wait);
    for (failures, doublings) in [0, 1, 2, 3, 3].into_iter().enumerate() {
        let dial = hears(&mut third, &candidate(2), &Master);
        assert_eq!(dial.last(), Some(&Output::Dial(name(2))), "{failures} have failed");
        let outputs = match failures % 2 {
            0 => feed(&mut third, Input::Disconnected { peer: &name(2) }),
            _ => fires(&mut third, Timer::Join(name(2))),
        };
        assert_eq!(armed(&outputs, Timer::Redial(name(2))), Some(first_wait * (1 << doublings)));
        assert_eq!(hears(&mut third, &candidate(2), &Master), []);
        fires(&mut third, Timer::Redial(name(2)));
    }
    hears(&mut third, &candidate(2), &Master);
    assert_eq!(hears(&mut third, &candidate(2), &Seeking), [Output::HangUp(name(2))]);
    assert_eq!(third.node_state(), Master, "it leads no longer");
}
