//! Who leads, as seen from outside.

use elevator_fleet::model::NodeId;

use super::scene::Standing;

/// The master that the fleet follows, and how often it has come to follow another.
#[derive(Debug, Default)]
pub(super) struct Leadership {
    leader: Option<NodeId>,
    changes: u32,
}

impl Leadership {
    /// The master that all agreed on last.
    pub(super) fn leader(&self) -> Option<&NodeId> {
        self.leader.as_ref()
    }

    /// How often.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Takes in where the nodes stand that run and can hear each other; answers with the master
    /// where it is another than before. While they don't agree nothing has changed yet.
    pub(super) fn observe<'a>(
        &mut self,
        nodes: impl Iterator<Item = (&'a NodeId, &'a Standing)> + Clone,
    ) -> Option<NodeId> {
        let (leader, _) = nodes
            .clone()
            .find(|(_, standing)| **standing == Standing::Master)?;
        let agreed = nodes.into_iter().all(|(node, standing)| match standing {
            Standing::Master => node == leader,
            Standing::Slave(master) => master == leader,
            Standing::Seeking => false,
        });
        if !agreed || self.leader.as_ref() == Some(leader) {
            return None;
        }
        if self.leader.replace(leader.clone()).is_some() {
            self.changes += 1;
        }
        self.leader.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observe(leadership: &mut Leadership, nodes: &[(&str, Standing)]) -> Option<String> {
        let named: Vec<_> = nodes
            .iter()
            .map(|(name, standing)| (NodeId::new(name).unwrap(), standing))
            .collect();
        let nodes = named.iter().map(|(name, standing)| (name, *standing));
        leadership.observe(nodes).map(String::from)
    }

    fn slave(master: &str) -> Standing {
        Standing::Slave(NodeId::new(master).unwrap())
    }

    #[test]
    fn a_change_counts_once_the_others_follow() {
        let mut leadership = Leadership::default();
        let all_masters = [("A", Standing::Master), ("B", Standing::Master)];
        assert_eq!(observe(&mut leadership, &all_masters), None);
        let first = [("A", Standing::Master), ("B", slave("A"))];
        assert_eq!(observe(&mut leadership, &first), Some("A".to_owned()));
        assert_eq!(leadership.changes(), 0, "the first is no change");
        assert_eq!(observe(&mut leadership, &first), None);
        let widowed = [("B", slave("A")), ("C", Standing::Master)];
        assert_eq!(observe(&mut leadership, &widowed), None);
        let second = [("B", Standing::Master), ("C", slave("B"))];
        assert_eq!(observe(&mut leadership, &second), Some("B".to_owned()));
        assert_eq!(leadership.changes(), 1);
    }
}
