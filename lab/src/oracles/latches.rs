//! A car that hung stands still until an operator has looked into it.

use std::collections::BTreeSet;

use super::Finding;

/// The machines whose latch nobody has cleared, by what was reported of them.
#[derive(Debug, Default)]
pub(super) struct Latches(BTreeSet<usize>);

impl Latches {
    /// The node has reported that its car hung.
    pub(super) fn hung(&mut self, node: usize) {
        self.0.insert(node);
    }

    /// An operator has cleared the latch.
    pub(super) fn cleared(&mut self, node: usize) {
        self.0.remove(&node);
    }

    /// H3: whatever became of the machine in between.
    pub(super) fn starting(&self, node: usize) -> Vec<Finding> {
        let finding = || {
            let what = "starts although nobody has cleared the hang of its car".to_owned();
            Finding::new("H3", node, what)
        };
        self.0.contains(&node).then(finding).into_iter().collect()
    }
}
