//! Which messages and nodes a drawing shows.

use std::str::FromStr;

use elevator_fleet::model::NodeId;
use elevator_fleet::wire::Protocol;

use super::{Category, Kind, Trace};

/// Which messages and nodes a drawing shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Names of categories or of kinds; if empty, what the protocol elects by.
    pub only: Vec<String>,
    /// The nodes; if empty, all.
    pub nodes: Vec<NodeId>,
}

/// A filter that fits nothing in the trace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownFilter {
    /// No category, and no kind of its messages.
    #[error("there are no messages {name:?} in this trace; there are {known}")]
    Kind {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// No node.
    #[error("there is no node {0:?} in this trace")]
    Node(String),
}

impl Selection {
    /// Checks that each of its names fits something.
    ///
    /// # Errors
    /// A name fits neither a category nor a kind, or there is no such node.
    pub fn check(&self, trace: &Trace) -> Result<(), UnknownFilter> {
        let kinds = trace.kinds();
        for name in &self.only {
            let is_known =
                Category::from_str(name).is_ok() || kinds.iter().any(|(kind, _)| kind.name == name);
            if !is_known {
                let mut known = Category::ALL.map(Category::name).to_vec();
                // A kind may have the name of its category.
                for (kind, _) in &kinds {
                    if !known.contains(&kind.name) {
                        known.push(kind.name);
                    }
                }
                let known = known.join(", ");
                return Err(UnknownFilter::Kind { name: name.clone(), known });
            }
        }
        let is_there = |name: &&NodeId| trace.nodes.iter().any(|node| node.name == **name);
        match self.nodes.iter().find(|name| !is_there(name)) {
            Some(missing) => Err(UnknownFilter::Node(missing.to_string())),
            None => Ok(()),
        }
    }

    /// Whether messages of this kind are shown.
    #[must_use]
    pub fn shows(&self, kind: Kind, protocol: Protocol) -> bool {
        if self.only.is_empty() {
            return match kind.category {
                Category::Election => true,
                // Links are how `lowest-ip` elects.
                Category::Link => {
                    protocol == Protocol::LowestIp
                        && [Kind::DIAL, Kind::ACCEPT, Kind::CLOSE, Kind::RESET].contains(&kind)
                }
                Category::Orders | Category::Climate | Category::Beacon => false,
            };
        }
        self.only.iter().any(|name| name == kind.name || name == kind.category.name())
    }

    /// The nodes that are shown, from top to bottom.
    #[must_use]
    pub fn rows(&self, trace: &Trace) -> Vec<usize> {
        let is_shown = |name: &NodeId| self.nodes.is_empty() || self.nodes.contains(name);
        (0..trace.nodes.len()).filter(|node| is_shown(&trace.nodes[*node].name)).collect()
    }
}
