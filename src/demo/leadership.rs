//! Who leads, as seen from outside.

use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{NodeState, Protocol};

#[derive(Debug)]
pub(super) struct Leadership {
    election: Protocol,
    /// Whom all know at this moment.
    pub(super) leader: Option<NodeId>,
    /// Whom all knew last; nobody if they have never agreed.
    pub(super) last: Option<NodeId>,
    changes: u32,
}

/// How the nodes disagree about the master.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Discord {
    #[error("there is not exactly one master")]
    NotOneMaster,
    /// A node follows no master, or another one.
    #[error("node {node} does not follow {master}")]
    Astray { node: NodeId, master: NodeId },
    /// A node follows no master, under a protocol that rotates the mastership.
    #[error("node {0} knows no master")]
    Seeking(NodeId),
    /// Somebody follows a node that is not among them, where the mastership rotates.
    #[error("node {node} follows {master}, which does not answer")]
    Stranger { node: NodeId, master: NodeId },
}

impl Leadership {
    pub(super) fn new(election: Protocol) -> Self {
        Self { election, leader: None, last: None, changes: 0 }
    }

    /// How often; nothing where the mastership rotates while all is well.
    pub(super) fn changes(&self) -> Option<u32> {
        (!self.election.profile().rotates).then_some(self.changes)
    }

    /// Updates the states of the nodes that run and can hear each other; returns the master if it
    /// has changed. Nothing changes while they disagree, and a rotation is not a change.
    pub(super) fn observe(&mut self, nodes: &[(&NodeId, &NodeState)]) -> Option<NodeId> {
        self.leader = agree(self.election, nodes).ok().cloned();
        let leader = self.leader.clone()?;
        let before = self.last.replace(leader.clone());
        if self.election.profile().rotates || before.as_ref() == Some(&leader) {
            return None;
        }
        if before.is_some() {
            self.changes += 1;
        }
        Some(leader)
    }
}

/// Whom these nodes know as the master, all of them, or why not. Where the mastership rotates, what
/// they said one after the other need not fit together: it is enough that each knows a holder
/// among them.
pub(super) fn agree<'a>(
    election: Protocol,
    nodes: &[(&'a NodeId, &'a NodeState)],
) -> Result<&'a NodeId, Discord> {
    if election.profile().rotates { know_a_holder(nodes) } else { follow_one(nodes) }
}

fn follow_one<'a>(nodes: &[(&'a NodeId, &'a NodeState)]) -> Result<&'a NodeId, Discord> {
    let mut masters = masters(nodes);
    let (Some(master), None) = (masters.next(), masters.next()) else {
        return Err(Discord::NotOneMaster);
    };
    for (node, node_state) in nodes {
        let follows = match node_state {
            NodeState::Master => true,
            NodeState::Slave { master: of } => of == master,
            NodeState::Seeking => false,
        };
        if !follows {
            return Err(Discord::Astray { node: (*node).clone(), master: master.clone() });
        }
    }
    Ok(master)
}

fn know_a_holder<'a>(nodes: &[(&'a NodeId, &'a NodeState)]) -> Result<&'a NodeId, Discord> {
    let mut named = None;
    for (node, node_state) in nodes {
        match node_state {
            NodeState::Master => {}
            NodeState::Slave { master } if nodes.iter().any(|(other, _)| *other == master) => {
                named = Some(master);
            }
            NodeState::Slave { master } => {
                return Err(Discord::Stranger { node: (*node).clone(), master: master.clone() });
            }
            NodeState::Seeking => return Err(Discord::Seeking((*node).clone())),
        }
    }
    // A node that says it is master knows better than its peers.
    masters(nodes).next().or(named).ok_or(Discord::NotOneMaster)
}

fn masters<'a>(nodes: &[(&'a NodeId, &'a NodeState)]) -> impl Iterator<Item = &'a NodeId> {
    nodes.iter().filter(|(_, node_state)| **node_state == NodeState::Master).map(|(node, _)| *node)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> NodeId {
        NodeId::new(text).unwrap()
    }

    fn observe(leadership: &mut Leadership, nodes: &[(&str, NodeState)]) -> Option<String> {
        let names: Vec<_> = nodes.iter().map(|(node, _)| name(node)).collect();
        let node_states = nodes.iter().map(|(_, node_state)| node_state);
        let nodes: Vec<_> = names.iter().zip(node_states).collect();
        leadership.observe(&nodes).map(|node| node.to_string())
    }

    fn slave(master: &str) -> NodeState {
        NodeState::Slave { master: name(master) }
    }

    #[test]
    fn a_change_counts_once_the_others_follow() {
        for election in Protocol::ALL.into_iter().filter(|one| !one.profile().rotates) {
            let mut leadership = Leadership::new(election);
            let all_masters = [("A", NodeState::Master), ("B", NodeState::Master)];
            assert_eq!(observe(&mut leadership, &all_masters), None);
            assert!(leadership.last.is_none());
            let first = [("A", NodeState::Master), ("B", slave("A"))];
            assert_eq!(observe(&mut leadership, &first), Some("A".to_owned()));
            assert_eq!(leadership.changes(), Some(0), "the first is no change");
            assert_eq!(observe(&mut leadership, &first), None);
            let widowed = [("B", slave("A")), ("C", NodeState::Master)];
            assert_eq!(observe(&mut leadership, &widowed), None);
            assert_eq!(leadership.leader.as_ref(), None);
            let second = [("B", NodeState::Master), ("C", slave("B"))];
            assert_eq!(observe(&mut leadership, &second), Some("B".to_owned()));
            assert_eq!(leadership.leader.as_ref(), Some(&name("B")));
            assert_eq!(leadership.changes(), Some(1));
        }
    }

    #[test]
    fn nobody_leads_where_no_node_runs() {
        for election in Protocol::ALL {
            let mut leadership = Leadership::new(election);
            let alone = [("A", NodeState::Master)];
            observe(&mut leadership, &alone);
            assert_eq!(leadership.leader.as_ref(), Some(&name("A")));
            assert_eq!(observe(&mut leadership, &[]), None);
            assert_eq!(leadership.leader.as_ref(), None, "{election}");
        }
    }

    // T1
    #[test]
    fn a_duty_that_goes_round_is_no_change_and_its_holders_need_not_fit_together() {
        let mut leadership = Leadership::new(Protocol::TokenRing);
        let seeking = [("A", NodeState::Master), ("B", NodeState::Seeking)];
        assert_eq!(observe(&mut leadership, &seeking), None);
        assert_eq!(leadership.leader.as_ref(), None);
        let gone = [("A", slave("C")), ("B", slave("A"))];
        assert_eq!(observe(&mut leadership, &gone), None);
        assert!(leadership.last.is_none());
        for (nodes, leader) in [
            ([("A", NodeState::Master), ("B", slave("A"))], "A"),
            ([("A", slave("B")), ("B", slave("A"))], "A"),
            ([("A", slave("B")), ("B", NodeState::Master)], "B"),
            ([("A", NodeState::Master), ("B", NodeState::Master)], "A"),
        ] {
            assert_eq!(observe(&mut leadership, &nodes), None);
            assert_eq!(leadership.leader.as_ref(), Some(&name(leader)), "{nodes:?}");
        }
        assert_eq!(leadership.changes(), None);
    }
}
