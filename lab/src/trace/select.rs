//! Which messages and nodes a drawing shows.

use elevator_fleet::model::NodeId;
use elevator_fleet::wire::Protocol;

use super::{Arrow, Category, Kind, Sent, Trace};

/// Which messages and nodes a drawing shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Selection {
    /// Names of categories or of kinds; if empty, what the protocol elects by.
    pub only: Vec<String>,
    /// The nodes; if empty, all.
    pub nodes: Vec<NodeId>,
}

/// A filter that fits nothing in the trace: what was asked for, and what there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {0:?} in this trace; there are {1}")]
pub struct UnknownFilter(String, String);

impl Selection {
    /// Checks that each of its names fits something.
    ///
    /// # Errors
    /// A name fits neither a category nor a kind, or there is no such node.
    pub fn check(&self, trace: &Trace) -> Result<(), UnknownFilter> {
        let mut known: Vec<&str> = Category::ALL.map(Category::name).to_vec();
        let kinds = trace.kinds().into_iter().map(|(kind, _)| kind.name);
        // A kind may have the name of its category.
        known.extend(kinds.filter(|name| Category::ALL.iter().all(|it| it.name() != *name)));
        let nodes: Vec<&str> = trace.nodes.iter().map(|(name, _)| name.as_str()).collect();
        let kinds = self.only.iter().map(|name| (name.as_str(), &known));
        let nodes = self.nodes.iter().map(|name| (name.as_str(), &nodes));
        match kinds.chain(nodes).find(|(name, known)| !known.contains(name)) {
            Some((name, known)) => Err(UnknownFilter(name.to_owned(), known.join(", "))),
            None => Ok(()),
        }
    }

    /// The messages that are shown, each with its arrows.
    pub(super) fn messages<'a>(&self, trace: &'a Trace) -> Vec<(&'a Sent, Vec<Arrow>)> {
        let rows = self.rows(trace);
        let is_shown =
            |sent: &&Sent| rows.contains(&sent.from) && self.shows(sent.kind, trace.protocol);
        let with_arrows = |sent: &'a Sent| {
            let arrows = sent.arrows.iter().copied();
            (sent, arrows.filter(|arrow| rows.contains(&arrow.to)).collect())
        };
        trace.messages.iter().filter(is_shown).map(with_arrows).collect()
    }

    fn shows(&self, kind: Kind, protocol: Protocol) -> bool {
        if !self.only.is_empty() {
            return self.only.iter().any(|name| name == kind.name || name == kind.category.name());
        }
        match kind.category {
            Category::Election => true,
            // Links are how `lowest-ip` elects.
            Category::Link => protocol == Protocol::LowestIp && Kind::LINKS.contains(&kind),
            Category::Orders | Category::Climate | Category::Beacon => false,
        }
    }

    /// The nodes that are shown, from top to bottom.
    pub(super) fn rows(&self, trace: &Trace) -> Vec<usize> {
        let is_shown = |name: &NodeId| self.nodes.is_empty() || self.nodes.contains(name);
        (0..trace.nodes.len()).filter(|node| is_shown(&trace.nodes[*node].0)).collect()
    }
}
