use super::*;
use crate::election::Candidate;
use crate::election::testing::{address, candidate, hears, loses, name, slave_of};

fn node(index: u8) -> LowestIp {
    LowestIp::new(name(index), address(index))
}

/// What a third node hears of its peers, or `None` where it loses one, and its state after each.
#[test]
fn a_node_follows_the_lowest_master_until_that_is_one_no_longer() {
    let leads = |peer, then: NodeState| (peer, Some(NodeState::Master), then);
    let says = |peer, said: NodeState, then: NodeState| (peer, Some(said), then);
    let lost = |peer, then: NodeState| (peer, None, then);
    let (own, second) = (|| NodeState::Master, || slave_of(2));
    for (case, steps) in [
        ("F2, F3: masters with higher addresses are not followed", vec![leads(4, own())]),
        (
            "F3: only masters are followed",
            vec![
                says(1, slave_of(0), own()),
                says(1, NodeState::Seeking, own()),
                leads(1, slave_of(1)),
            ],
        ),
        (
            "F3: a slave stays with its master",
            vec![leads(2, second()), leads(1, second()), lost(4, second()), leads(2, second())],
        ),
        (
            "F7: it leads when it has lost its master",
            vec![leads(2, second()), lost(2, own()), leads(2, second())],
        ),
        (
            "E1: it leads when its master follows one that it does not hear",
            vec![leads(2, second()), says(2, slave_of(1), own())],
        ),
        (
            "F3: it goes with its master to a lower one, whichever it hears first",
            vec![leads(2, second()), leads(1, second()), says(2, slave_of(1), slave_of(1))],
        ),
        (
            "E1: a master that was lost meanwhile is not followed",
            vec![leads(2, second()), leads(1, second()), lost(1, second()), lost(2, own())],
        ),
        (
            "E7: of the masters that are left it follows the lowest",
            vec![leads(2, second()), leads(1, second()), leads(0, second()), lost(2, slave_of(0))],
        ),
    ] {
        let mut third = node(3);
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
    for (own, peer, expected) in [(2, 1, slave_of(1)), (1, 2, NodeState::Master)] {
        let mut node = LowestIp::new(name(own), address(9));
        let peer = Candidate { node: name(peer), ..candidate(9) };
        hears(&mut node, &peer, &NodeState::Master);
        assert_eq!(node.node_state(), expected);
    }
}

/// The preset of the source keeps no standby link, and has the machine that dials.
#[test]
fn presets_choose_the_links() {
    for (settings, rule) in
        [(Settings::default(), LinkRule::Standby), (Settings::source(), LinkRule::FollowState)]
    {
        assert_eq!(settings.profile().link_rule, rule);
        let election = settings.elect(candidate(1), Nonce(1), Duration::from_millis(50));
        assert_eq!(election.profile().link_rule, rule, "{settings:?}");
    }
}
