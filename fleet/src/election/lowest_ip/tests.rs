use super::*;
use crate::election::Candidate;
use crate::election::testing::{address, candidate, hears, loses, name, slave_of};

fn node(index: u8) -> LowestIp {
    LowestIp::new(name(index), address(index))
}

/// Plays what a third node hears of its peers, or `None` where it loses one, and compares its
/// state after each.
#[track_caller]
fn third(case: &str, steps: &[(u8, Option<NodeState>, NodeState)]) {
    let mut third = node(3);
    for (step, (peer, said, expected)) in steps.iter().enumerate() {
        let outputs = match said {
            Some(node_state) => hears(&mut third, &candidate(*peer), node_state),
            None => loses(&mut third, *peer),
        };
        assert_eq!(outputs, [], "{case}, step {step}");
        assert_eq!(third.node_state(), *expected, "{case}, step {step}");
    }
}

#[test]
fn a_node_follows_the_lowest_master_until_that_is_one_no_longer() {
    let master = NodeState::Master;
    let says = |state: NodeState| Some(state);
    third(
        "F2, F3: masters with higher addresses are not followed",
        &[(4, says(master.clone()), master.clone())],
    );
    third(
        "F3: only masters are followed",
        &[
            (1, says(slave_of(0)), master.clone()),
            (1, says(NodeState::Seeking), master.clone()),
            (1, says(master.clone()), slave_of(1)),
        ],
    );
    third(
        "F3: a slave stays with its master",
        &[
            (2, says(master.clone()), slave_of(2)),
            (1, says(master.clone()), slave_of(2)),
            (4, None, slave_of(2)),
            (2, says(master.clone()), slave_of(2)),
        ],
    );
    third(
        "F7: it leads when it has lost its master",
        &[
            (2, says(master.clone()), slave_of(2)),
            (2, None, master.clone()),
            (2, says(master.clone()), slave_of(2)),
        ],
    );
    third(
        "E1: it leads when its master follows one that it does not hear",
        &[(2, says(master.clone()), slave_of(2)), (2, says(slave_of(1)), master.clone())],
    );
    third(
        "F3: it goes with its master to a lower one, whichever it hears first",
        &[
            (2, says(master.clone()), slave_of(2)),
            (1, says(master.clone()), slave_of(2)),
            (2, says(slave_of(1)), slave_of(1)),
        ],
    );
    third(
        "E1: a master that was lost meanwhile is not followed",
        &[
            (2, says(master.clone()), slave_of(2)),
            (1, says(master.clone()), slave_of(2)),
            (1, None, slave_of(2)),
            (2, None, master.clone()),
        ],
    );
    third(
        "E7: of the masters that are left it follows the lowest",
        &[
            (2, says(master.clone()), slave_of(2)),
            (1, says(master.clone()), slave_of(2)),
            (0, says(master.clone()), slave_of(2)),
            (2, None, slave_of(0)),
        ],
    );
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
