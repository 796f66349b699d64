//! The messages of the last moments, for a space-time view.

use elevator_fleet::wire::NodeState;
use liftmesh_lab::trace::{Fate, Trace};
use serde::Serialize;

use crate::picture::seconds;

/// So many ways are shown at most; of more, the latest.
const MOST_WAYS: usize = 6_000;

/// What the nodes sent within a time.
#[derive(Debug, Serialize)]
pub struct Messages {
    /// From this moment of the run, in seconds.
    pub from: f64,
    /// Until this one.
    pub to: f64,
    /// The ways of the messages, in the order in which they were sent.
    pub ways: Vec<Way>,
    /// How many more ways there were.
    pub left_out: usize,
    /// How many messages there were of each kind; a broadcast counts once.
    pub kinds: Vec<Kind>,
    /// Of each node: in which state it was from which moment on; `down` if it did not run.
    pub states: Vec<Vec<(f64, &'static str)>>,
}

/// The way of a message to one receiver: when it was sent, from which node, to which one, when it
/// arrives if it does, what it is about, and what becomes of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Way(pub f64, pub usize, pub usize, pub Option<f64>, pub &'static str, pub &'static str);
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Kind {
    pub category: &'static str,
    pub name: &'static str,
    pub count: usize,
}

impl Messages {
    pub(crate) fn of(trace: &Trace) -> Self {
        let left_out = trace.ways().count().saturating_sub(MOST_WAYS);
        let ways = trace.ways().skip(left_out).map(|(sent, arrow)| {
            let arrives = arrow.fate.arrival().map(seconds);
            let about = sent.kind.category;
            Way(seconds(sent.at), sent.from, arrow.to, arrives, about, fate(arrow.fate))
        });
        let ways: Vec<Way> = ways.collect();
        let kinds = trace.kinds().into_iter().map(|(kind, count)| Kind {
            category: kind.category,
            name: kind.name,
            count,
        });
        let mut states = vec![Vec::new(); trace.nodes.len()];
        for state in &trace.states {
            let at = seconds(state.at.max(trace.window.from));
            states[state.node].push((at, name(state.state.as_ref())));
        }
        Self {
            from: seconds(trace.window.from),
            to: seconds(trace.window.to),
            ways,
            left_out: left_out + trace.left_out,
            kinds: kinds.collect(),
            states,
        }
    }
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Arrives(_) => "received",
        Fate::Waits(_) => "waits",
        Fate::Unheard(_) => "unheard",
        Fate::Lost => "lost",
        Fate::Cut => "cut",
    }
}

fn name(state: Option<&NodeState>) -> &'static str {
    match state {
        None => "down",
        Some(NodeState::Master) => "master",
        Some(NodeState::Slave { .. }) => "slave",
        Some(NodeState::Seeking) => "seeking",
    }
}
