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
//! exceeds [`MOST_MESSAGES`] and its siblings is counted and left out.
//!
//! A [`Subject`] says which run to record: a situation of [`elections`](crate::elections) or a
//! [`Campaign`](crate::Campaign). An [`Example`] is a run of the documentation.
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
//! let drawing = trace::svg(&trace, &trace::Selection::default());
//! assert!(drawing.starts_with("<svg"));
//! # Ok::<(), liftmesh_lab::WorldError>(())
//! ```

mod examples;
mod fault;
mod hooks;
mod kind;
mod recorder;
mod select;
mod story;
mod subject;
mod svg;
#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_fleet::model::{NodeId, Term};
use elevator_fleet::wire::{NodeState, Protocol};

pub use self::examples::{Example, ExampleError};
pub use self::kind::{Category, Kind};
pub(crate) use self::recorder::{ArrowId, Recorder, SentId, Signal};
pub use self::select::{Selection, UnknownFilter};
pub use self::story::story;
pub use self::subject::Subject;
pub use self::svg::svg;

/// The most messages that a recording holds; a broadcast counts once.
pub const MOST_MESSAGES: usize = 200_000;

/// The most arrows: a broadcast to n − 1 nodes has n − 1.
pub const MOST_ARROWS: usize = 500_000;

/// The most changes of state, marks, bands and lines of detail, each.
pub const MOST_NOTES: usize = 50_000;

/// The part of a run that is recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its beginning.
    pub from: Duration,
    /// Its end.
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

    pub(crate) fn contains(&self, at: Duration) -> bool {
        (self.from..=self.to).contains(&at)
    }
}

/// A recorded run, or part of one.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// What it shows, in a line.
    pub title: String,
    /// The command that draws it.
    pub command: String,
    /// The election protocol.
    pub protocol: Protocol,
    /// The part of the run.
    pub window: Window,
    /// The nodes, from 0.
    pub nodes: Vec<TracedNode>,
    /// What was sent, in order.
    pub messages: Vec<Sent>,
    /// What became of it, receiver by receiver.
    pub arrows: Vec<Arrow>,
    /// The states of the nodes, in order. Each node's first one holds from the beginning.
    pub states: Vec<StateAt>,
    /// What happened at a node at one moment.
    pub marks: Vec<Mark>,
    /// What lasts: faults of a node or of the network.
    pub bands: Vec<Band>,
    /// How many messages, arrows and notes the bounds have left out.
    pub left_out: usize,
}

/// A node's line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedNode {
    /// Its name.
    pub name: NodeId,
    /// Its address, which ranks it under `lowest-ip`.
    pub address: Ipv4Addr,
}

/// A message; a broadcast is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Duration,
    /// By which node.
    pub from: usize,
    /// What it is.
    pub kind: Kind,
    /// What it says, for people; may be empty.
    pub detail: String,
}

/// The way of a message to one receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrow {
    /// The message: its place among [`Trace::messages`].
    pub message: usize,
    /// The receiver.
    pub to: usize,
    /// What became of it.
    pub fate: Fate,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is under way at the end of the recording, and arrives then.
    UnderWay(Duration),
    /// It was handled on arrival.
    Received(Duration),
    /// It arrived at a suspended process, which may handle it later.
    Waits(Duration),
    /// It reached a machine on which no process takes it.
    Unheard(Duration),
    /// The network lost it.
    Lost,
    /// It met a cut.
    Cut,
}

impl Fate {
    /// When it arrived, or does.
    #[must_use]
    pub fn arrival(self) -> Option<Duration> {
        match self {
            Self::UnderWay(at) | Self::Received(at) | Self::Waits(at) | Self::Unheard(at) => {
                Some(at)
            }
            Self::Lost | Self::Cut => None,
        }
    }
}

/// The state of a node from a moment on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StateAt {
    /// The moment.
    pub at: Duration,
    /// The node.
    pub node: usize,
    /// Its state, or `None` if its process does not run.
    pub state: Option<NodeState>,
    /// Its term.
    pub term: Term,
}

/// Something that happened at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Duration,
    /// Where.
    pub node: usize,
    /// What sort of thing.
    pub kind: MarkKind,
    /// What, for people.
    pub what: String,
}

/// What sort of thing a mark stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkKind {
    /// A button was pressed.
    Pressed,
    /// A lamp went on.
    Lit,
    /// A lamp went out.
    Dark,
    /// The node's car has served a call.
    Served,
    /// A link is up at this end.
    LinkUp,
    /// A link is gone at this end.
    LinkDown,
    /// A peer is not heard any more.
    PeerLost,
    /// Something else that the node reported.
    Report,
}

impl MarkKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pressed,
        Self::Lit,
        Self::Dark,
        Self::Served,
        Self::LinkUp,
        Self::LinkDown,
        Self::PeerLost,
        Self::Report,
    ];

    /// Its name in legends.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pressed => "button pressed",
            Self::Lit => "lamp on",
            Self::Dark => "lamp off",
            Self::Served => "call served",
            Self::LinkUp => "link up",
            Self::LinkDown => "link down",
            Self::PeerLost => "peer lost",
            Self::Report => "report",
        }
    }
}

/// Something that lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Band {
    /// Since when.
    pub from: Duration,
    /// Until when; `None` if it outlasts the recording.
    pub to: Option<Duration>,
    /// The node that it concerns, or `None` if it is the network.
    pub node: Option<usize>,
    /// What, for people: `killed`, `loss 25 %`, `A C | B D`.
    pub what: String,
}

impl Trace {
    /// The kinds of its messages, each with its number, in the order of categories and names.
    #[must_use]
    pub fn kinds(&self) -> Vec<(Kind, usize)> {
        let mut kinds = std::collections::BTreeMap::new();
        for message in &self.messages {
            *kinds.entry(message.kind).or_insert(0) += 1;
        }
        kinds.into_iter().collect()
    }

    /// The state of each node at a moment.
    #[must_use]
    pub fn states_at(&self, at: Duration) -> Vec<Option<&NodeState>> {
        let mut states = vec![None; self.nodes.len()];
        for state in self.states.iter().take_while(|state| state.at <= at) {
            if let Some(shown) = states.get_mut(state.node) {
                *shown = state.state.as_ref();
            }
        }
        states
    }

    /// The masters at a moment.
    #[must_use]
    pub fn masters_at(&self, at: Duration) -> Vec<usize> {
        let states = self.states_at(at);
        let is_master = |(node, state): (usize, Option<&NodeState>)| {
            (state == Some(&NodeState::Master)).then_some(node)
        };
        states.into_iter().enumerate().filter_map(is_master).collect()
    }
}
