use super::*;
use crate::election::testing::{address, name};

const REDIAL: Duration = Duration::from_millis(50);

/// One that keeps links to the two lowest addresses.
fn standby(index: u8) -> Pairing {
    Pairing::new(LinkRule::Standby, address(index), name(index), REDIAL)
}

fn at(millis: u64) -> Timestamp {
    Timestamp::START + Duration::from_millis(millis)
}

/// The lower peers that a third node hears, and its master.
fn chooses(node: &mut Pairing, peers: &[(u8, bool)], follows: Option<u8>) -> Vec<Due> {
    let names: Vec<_> = peers.iter().map(|(index, _)| name(*index)).collect();
    let known = peers.iter().zip(&names);
    let known = known.map(|(&(index, leads), name)| Known { rank: (address(index), name), leads });
    node.choose(known, follows.map(name).as_ref());
    node.due(at(0))
}

fn dials(peers: &[u8]) -> Vec<Due> {
    peers.iter().map(|peer| Due::Dial(name(*peer))).collect()
}

/// C6
#[test]
fn a_standby_link_leads_to_the_next_lowest_address() {
    let mut node = standby(3);
    let all = [(5, false), (2, false), (4, false), (1, true), (0, false)];
    assert_eq!(chooses(&mut node, &[(1, true), (4, false)], None), dials(&[1]));
    assert_eq!(chooses(&mut node, &[(1, true), (2, false)], Some(1)), dials(&[2]));
    for peer in [1, 2] {
        node.synced(&name(peer));
    }
    assert_eq!(chooses(&mut node, &all, Some(1)), dials(&[0]));
    node.synced(&name(0));
    let parts = chooses(&mut node, &all, Some(1));
    assert_eq!(parts, [Due::GiveUp(name(2))], "the third lowest, once the others are synced");
    assert!(!node.dials(&name(2)) && node.dials(&name(1)));
}

/// E1, E7: a node reaches the master that it should follow, wherever that ranks.
#[test]
fn a_master_dials_the_lowest_other_master_too() {
    let mut node = standby(9);
    let all = [(1, false), (2, false), (3, false), (4, true), (5, true)];
    assert_eq!(chooses(&mut node, &all, None), dials(&[1, 2, 4]));
    assert_eq!(chooses(&mut node, &all, Some(5)), dials(&[5]));
}

/// E1
#[test]
fn a_peer_that_cannot_be_reached_does_not_stand_in_the_way_of_another() {
    let mut node = standby(9);
    let all = [(1, true), (2, false), (3, false), (4, false)];
    assert_eq!(chooses(&mut node, &all, None), dials(&[1, 2]));
    for _ in 0..OUT_OF_REACH {
        node.disconnected(&name(1), 0, at(0));
    }
    assert_eq!(chooses(&mut node, &all, None), dials(&[3]));
    node.synced(&name(1));
    assert_eq!(chooses(&mut node, &all, None), []);
    node.synced(&name(2));
    assert_eq!(chooses(&mut node, &all, None), [Due::GiveUp(name(3))]);
}

/// E4, E6: equal stores are exchanged states, but only a link shows that the peer can be reached.
#[test]
fn a_master_with_an_equal_store_is_believed_until_the_first_link_should_be_there() {
    let limit = redial::limit(REDIAL);
    for is_reached in [true, false] {
        let mut node = standby(3);
        chooses(&mut node, &[(1, true)], None);
        node.heard(&name(1), false, at(0));
        assert!(!node.believes(&name(1)), "its store differs");
        node.heard(&name(1), true, at(0));
        node.disconnected(&name(1), 0, at(1));
        assert!(node.believes(&name(1)), "the next dial may succeed");
        if is_reached {
            node.synced(&name(1));
            assert!(!node.believes(&name(1)));
            // A link that ends is the sign of a dead peer more often than not.
            node.disconnected(&name(1), 0, at(2));
            assert_eq!(node.due(at(2)), [], "it is to be heard again first");
            node.heard(&name(1), true, at(5));
            assert_eq!((node.believes(&name(1)), node.due(at(5))), (false, dials(&[1])));
            continue;
        }
        let until = at(0) + limit;
        assert!(node.due(until).contains(&Due::Doubt(name(1))));
        node.heard(&name(1), true, until);
        assert!(!node.believes(&name(1)), "once");
    }
}

/// E6: a peer that can be heard and not reached is not believed again because it is needed again.
#[test]
fn a_peer_that_was_doubted_is_believed_again_after_a_link() {
    let (alone, others) = ([(2, true)], [(0, true), (1, false), (2, true)]);
    for is_reached in [false, true] {
        let mut node = standby(3);
        chooses(&mut node, &alone, None);
        node.heard(&name(2), true, at(0));
        node.due(at(0) + redial::limit(REDIAL));
        if is_reached {
            node.synced(&name(2));
        }
        node.disconnected(&name(2), 0, at(2000));
        chooses(&mut node, &others, None);
        for peer in [0, 1] {
            node.synced(&name(peer));
        }
        chooses(&mut node, &others, Some(0));
        assert!(!node.dials(&name(2)), "it is not needed");
        chooses(&mut node, &alone, None);
        node.heard(&name(2), true, at(3000));
        assert_eq!(node.believes(&name(2)), is_reached);
    }
}

fn second() -> Pairing {
    Pairing::new(LinkRule::EveryPair, address(2), name(2), REDIAL)
}

/// C6
#[test]
fn the_higher_address_dials_the_lower_once() {
    let mut node = second();
    node.found(address(1), &name(1));
    node.found(address(3), &name(3));
    // Two nodes with one address: the name decides.
    node.found(address(2), &name(0));
    node.found(address(2), &name(4));
    assert_eq!(node.due(at(0)), dials(&[0, 1]));
    assert_eq!(node.due(at(1)), []);
    node.synced(&name(0));
    assert_eq!(node.due(at(1600)), [Due::GiveUp(name(1))], "it does not carry in time");
    node.synced(&name(1));
    node.disconnected(&name(1), 0, at(1700));
    assert_eq!(node.due(at(1700)), dials(&[1]), "at once, where it carried");
    node.synced(&name(1));
    assert_eq!(node.next(), None);
}

/// C6: a peer that is heard and can't be reached is dialled less and less often.
#[test]
fn failed_dials_are_repeated_after_growing_waits() {
    for (draw, waits) in [(0, [50, 100, 200, 400, 400]), (u64::MAX, [74, 149, 299, 599, 599])] {
        let mut node = second();
        node.found(address(1), &name(1));
        let mut now = at(0);
        for wait in waits {
            assert_eq!(node.due(now), dials(&[1]));
            node.disconnected(&name(1), draw, now);
            let next = node.next().expect("a wait");
            assert_eq!(next.since(now).as_millis(), wait);
            now = next;
        }
    }
}

/// C3: the end that dialled may have synced, while the last frame to this one is lost.
#[test]
fn an_accepted_link_that_does_not_carry_in_time_is_given_up() {
    let mut node = second();
    node.found(address(3), &name(3));
    node.opened(&name(3), at(0));
    assert_eq!(node.next(), Some(at(1600)));
    assert_eq!(node.due(at(1599)), []);
    assert_eq!(node.due(at(1600)), [Due::GiveUp(name(3))]);
    node.disconnected(&name(3), 0, at(1600));
    assert_eq!((node.due(at(1601)), node.next()), (vec![], None), "its peer dials");
    for over in [Pairing::synced, Pairing::lost] {
        node.opened(&name(3), at(2000));
        over(&mut node, &name(3));
        assert_eq!(node.next(), None);
    }
}
