//! Which nodes have no excuse.

use std::time::Duration;

use super::World;

/// Up to this much loss the network counts as quiet, in per cent.
pub(super) const QUIET_LOSS: u8 = 5;

impl World {
    /// The groups of nodes that run, all hear each other and can all have links, once nothing has
    /// disturbed them for so long.
    pub(super) fn calm_groups(&self, for_at_least: Duration) -> Vec<Vec<usize>> {
        let calm = self.now.saturating_sub(self.history.disturbed_at()) >= for_at_least;
        if !calm || self.network.weather.loss > QUIET_LOSS || self.settings.twins.is_some() {
            return Vec::new();
        }
        let mut groups = self.components();
        groups.retain(|group| {
            group
                .iter()
                .all(|one| group.iter().all(|other| self.network.links(*one, *other)))
        });
        groups
    }

    /// The groups of nodes that run, and are connected with each other, if only through others.
    pub(super) fn components(&self) -> Vec<Vec<usize>> {
        let mut left: Vec<usize> = (0..self.machines.len())
            .filter(|node| self.machines[*node].awake().is_some())
            .collect();
        let mut groups = Vec::new();
        while let Some(first) = left.pop() {
            let mut group = vec![first];
            let mut next = 0;
            while let Some(node) = group.get(next).copied() {
                let (near, far) = left
                    .iter()
                    .partition(|other| self.network.connects(node, **other));
                group.extend::<Vec<usize>>(near);
                left = far;
                next += 1;
            }
            group.sort_unstable();
            groups.push(group);
        }
        groups
    }
}
