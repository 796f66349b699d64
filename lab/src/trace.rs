//! A run as a space-time diagram: one line per node, one arrow per message.
//!
//! ```text
//!   World ── Recorder: what is sent, received, reported ──▶ Trace ──▶ svg(): a drawing
//!                                                            └──────▶ story(): lines of text
//! ```
//!
//! [`World::record`](crate::World::record) begins a recording, and
//! [`World::recorded`](crate::World::recorded) ends it. A recording draws no random
//! number and enters no event, so a world does the same with it and without. It is bounded: what
//! exceeds the bounds is counted and left out.
//!
//! ```
//! use std::time::Duration;
//!
//! use liftmesh_lab::{World, WorldSettings, trace};
//!
//! let mut world = World::new(WorldSettings::new(3, 1))?;
//! world.record(trace::Window::new(Duration::ZERO, Duration::from_millis(200)));
//! world.start_all();
//! world.run_for(Duration::from_millis(200));
//! let trace = world.recorded();
//! assert_eq!(trace.nodes.len(), 3);
//! let drawing = trace::svg(&trace);
//! assert!(drawing.starts_with("<svg"));
//! # Ok::<(), liftmesh_lab::WorldError>(())
//! ```

mod fault;
mod kind;
mod recorder;
mod story;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_fleet::model::{NodeId, Term};
use elevator_fleet::wire::{NodeState, Protocol};

use self::kind::CATEGORIES;
pub use self::kind::Kind;
pub(crate) use self::recorder::Recorder;
pub use self::story::story;
pub use self::svg::svg;
use crate::Fault;

/// The part of a run that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: Duration,
    pub to: Duration,
    /// The moment that the drawing's axis calls 0.
    pub zero: Duration,
}

impl Window {
    /// From one moment to another, on an axis that begins with the run.
    #[must_use]
    pub fn new(from: Duration, to: Duration) -> Self {
        Self { from, to, zero: Duration::ZERO }
    }

    fn contains(&self, at: Duration) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// A recorded run, or part of one.
#[derive(Debug, Clone)]
pub struct Trace {
    pub(crate) title: String,
    pub command: String,
    pub(crate) protocol: Protocol,
    pub window: Window,
    /// The nodes, from 0, with their addresses, which rank them under `lowest-ip`.
    pub nodes: Vec<(NodeId, Ipv4Addr)>,
    /// What was sent, in order.
    pub messages: Vec<Sent>,
    /// The states of the nodes, in order. Each node's first one holds from the beginning.
    pub states: Vec<StateAt>,
    marks: Vec<Mark>,
    bands: Vec<Band>,
    /// Names of categories or of kinds: what is shown; if empty, what the protocol elects by.
    pub only: Vec<String>,
    /// How many messages, arrows and notes the bounds have left out.
    pub left_out: usize,
}

/// A filter that fits nothing in the trace: what was asked for, and what there is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown filter {0:?}; use one of {1}")]
pub struct UnknownFilter(String, String);

/// A message; a broadcast is one.
#[derive(Debug, Clone)]
pub struct Sent {
    pub at: Duration,
    pub from: usize,
    pub kind: Kind,
    /// What it says, for people; may be empty.
    pub detail: String,
    /// Its ways, one for each receiver, and one more for a copy.
    pub arrows: Vec<Arrow>,
}

/// The way of a message to one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    pub to: usize,
    pub fate: Fate,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Arrives(Duration),
    /// It arrived at a suspended process, which may handle it later.
    Waits(Duration),
    /// It reached a machine on which no process takes it.
    Unheard(Duration),
    Lost,
    Cut,
}

impl Fate {
    /// When it arrived, or does.
    #[must_use]
    pub fn arrival(self) -> Option<Duration> {
        match self {
            Self::Arrives(at) | Self::Waits(at) | Self::Unheard(at) => Some(at),
            Self::Lost | Self::Cut => None,
        }
    }

    fn is_lost(self) -> bool {
        matches!(self, Self::Unheard(_) | Self::Lost | Self::Cut)
    }
}

/// The state of a node from a moment on.
#[derive(Debug, Clone)]
pub struct StateAt {
    pub at: Duration,
    pub node: usize,
    /// Its state, or `None` if its process does not run.
    pub state: Option<NodeState>,
    pub(crate) term: Term,
}

/// Something that happened at a node; it is in the story only.
#[derive(Debug, Clone)]
struct Mark {
    at: Duration,
    node: usize,
    what: String,
}

/// Something that lasts, at a node or, without one, in the network.
#[derive(Debug, Clone)]
struct Band {
    from: Duration,
    /// `None` if it outlasts the recording.
    to: Option<Duration>,
    node: Option<usize>,
    what: String,
    /// `None` if the node's process does not run.
    fault: Option<Fault>,
}

impl Trace {
    /// One that has nothing yet.
    pub(crate) fn new(
        title: String,
        protocol: Protocol,
        window: Window,
        nodes: Vec<(NodeId, Ipv4Addr)>,
    ) -> Self {
        Self {
            title,
            command: String::new(),
            protocol,
            window,
            nodes,
            messages: Vec::new(),
            states: Vec::new(),
            marks: Vec::new(),
            bands: Vec::new(),
            only: Vec::new(),
            left_out: 0,
        }
    }

    /// The kinds of its messages, each with its number, in the order of categories and names.
    #[must_use]
    pub fn kinds(&self) -> Vec<(Kind, usize)> {
        count(&self.messages)
    }

    /// Checks that each name of what is to be shown fits something.
    ///
    /// # Errors
    /// A name fits neither a category nor a kind.
    pub fn check(&self) -> Result<(), UnknownFilter> {
        let mut known = CATEGORIES.to_vec();
        let kinds = self.kinds().into_iter().map(|(kind, _)| kind.name);
        // A kind may have the name of its category.
        known.extend(kinds.filter(|name| !CATEGORIES.contains(name)));
        match self.only.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(UnknownFilter(name.clone(), known.join(", "))),
            None => Ok(()),
        }
    }

    fn shown(&self) -> impl Iterator<Item = &Sent> {
        self.messages.iter().filter(|Sent { kind, .. }| {
            let mut names = self.only.iter();
            self.only.is_empty() && kind.elects(self.protocol)
                || names.any(|name| name == kind.name || name == kind.category)
        })
    }

    /// The ways of all messages, in the order in which they were sent.
    pub fn ways(&self) -> impl Iterator<Item = (&Sent, &Arrow)> {
        self.messages.iter().flat_map(|sent| sent.arrows.iter().map(move |arrow| (sent, arrow)))
    }

    fn name(&self, node: usize) -> &str {
        self.nodes.get(node).map_or("?", |(name, _)| name.as_str())
    }
}

fn count<'a>(messages: impl IntoIterator<Item = &'a Sent>) -> Vec<(Kind, usize)> {
    let mut kinds = BTreeMap::new();
    for message in messages {
        *kinds.entry(message.kind).or_insert(0) += 1;
    }
    kinds.into_iter().collect()
}
