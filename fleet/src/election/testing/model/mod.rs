//! Every order of events among a few nodes, under a model checker.
//!
//! The machines are the real ones. Time does not exist: a timer may fire whenever it is armed, a
//! message may arrive whenever it is under way, a node may hear a beacon of another at any moment,
//! crash, and restart. [`Bounds`] says how much of that may happen. An adapter, [`Subject`], says
//! what is special about a protocol, what no step may do, and what must hold in every state.
//!
//! A run that does not see every state within its bounds fails, and so does one that sees fewer
//! than it once did. `calm.rs` says what has to follow once nothing more breaks.

mod calm;
mod check;
mod components;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use stateright::{Checker as _, Model, Property};

use super::candidate;
use crate::election::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::{NodeId, NodeState, Term};

pub(in crate::election) use calm::{Calms, Due, settles};

/// More states than any model generates. The checker stops there and calls itself done.
const MOST_STATES: usize = 40_000_000;

/// As often as there is an opportunity.
pub(in crate::election) const WITHOUT_END: u8 = u8::MAX;

/// What may happen, and how often.
#[derive(Debug, Clone)]
pub(in crate::election) struct Bounds {
    pub(in crate::election) nodes: usize,
    pub(in crate::election) network: Network,
    pub(in crate::election) beacons: Beacons,
    pub(in crate::election) most: Misfortunes,
}

/// What becomes of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::election) enum Network {
    /// A message arrives at any time, any number of times, until it is lost. States with more
    /// messages under way than this are not looked at.
    Repeats(usize),
    /// The same, but while this many messages are under way further ones are lost at once, and a
    /// crash takes along what was sent by or to the crashed incarnation.
    Carries(usize),
    /// A message arrives whenever it has been sent, as often as it likes or never, and is never
    /// forgotten: lost, repeated, delayed and reordered without bound.
    Remembers,
    /// Any message of [`Subject::forgeries`] arrives from anybody, whether it was sent or not.
    /// What can happen on [`Remembers`](Self::Remembers) can happen here too, in fewer states.
    Forges,
}

/// How nodes learn about each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::election) enum Beacons {
    /// At any later moment.
    Late,
    /// At once: before anything else happens all have heard all, and miss the dead.
    Instant,
    /// They do not hear each other, but miss the dead at any later moment.
    Silent,
}

/// Misfortunes: how many may happen, or have happened. [`WITHOUT_END`] is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(in crate::election) struct Misfortunes {
    pub(in crate::election) crashes: u8,
    pub(in crate::election) restarts: u8,
    /// Links that break although both ends live.
    pub(in crate::election) breaks: u8,
    /// Nodes whose estimate falls to 1.
    pub(in crate::election) falls: u8,
}

/// A protocol under the checker. Functions take the whole [`Check`], which has the machines' world.
pub(in crate::election) trait Subject:
    Debug + Sized + Send + Sync + 'static
{
    type Machine: Election + Clone + PartialEq + Eq + Hash + Sync;
    /// What the checks remember of the past.
    type Notes: Clone + Debug + Default + PartialEq + Eq + Hash + Send + Sync;
    /// Steps beyond those of every protocol.
    type Step: Clone + Debug + PartialEq;

    /// The numbers that a node may draw when a message arrives, a timer fires or a peer is lost.
    const DRAWS: &'static [u64] = &[0];

    fn candidate(&self, node: usize) -> Candidate {
        candidate(number(node))
    }

    /// A machine that has yet to start. `incarnation` differs between runs of the same node.
    fn machine(&self, own: Candidate, incarnation: u64) -> Self::Machine;

    /// Whether this node has anything to lose with the peer.
    fn knows(machine: &Self::Machine, peer: &NodeId) -> bool;

    /// The term in the node's beacons.
    fn term(_machine: &Self::Machine) -> Term {
        Term::default()
    }

    /// The messages of [`Network::Forges`].
    fn forgeries(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Called once in the initial state, after all nodes have started.
    fn begin(_check: &Check<Self>, _moment: &mut At<Self>) {}

    /// Called after a node has been placed and started, again or for the first time.
    fn started(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    /// Called after a crash.
    fn crashed(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    /// Called before a node is started again.
    fn restarts(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    /// Called after a machine took an input and before its outputs are performed: takes notes, and
    /// sets the moment's fault if the step is forbidden.
    fn observe(_check: &Check<Self>, _moment: &mut At<Self>, _step: &mut Taken<'_, Self>) {}

    /// Performs an output that concerns links.
    fn link(_check: &Check<Self>, _moment: &mut At<Self>, node: usize, output: Output) {
        panic!("{node}: {output:?} is none of the protocol's");
    }

    fn steps(_check: &Check<Self>, _moment: &At<Self>, _steps: &mut Vec<Self::Step>) {}

    fn apply(_check: &Check<Self>, _moment: &mut At<Self>, step: &Self::Step) {
        panic!("{step:?} has no meaning");
    }

    /// Whether to look at the states that follow this one.
    fn within(&self, _moment: &At<Self>) -> bool {
        true
    }

    fn properties(&self) -> Vec<Property<Check<Self>>>;
}

/// An input that a machine has taken.
pub(in crate::election) struct Taken<'a, S: Subject> {
    pub(in crate::election) node: usize,
    pub(in crate::election) before: &'a S::Machine,
    pub(in crate::election) input: &'a Input<'a>,
    pub(in crate::election) after: &'a mut S::Machine,
    pub(in crate::election) outputs: &'a [Output],
}

/// A protocol within bounds.
pub(in crate::election) struct Check<S: Subject> {
    pub(in crate::election) subject: Arc<S>,
    pub(in crate::election) bounds: Bounds,
    pub(in crate::election) candidates: Vec<Candidate>,
    /// Is shown every state once, and says whether it may follow.
    witness: Option<Witness<S>>,
    /// Nothing is under way when a calm begins.
    begins_empty: bool,
}

type Witness<S> = Box<dyn Fn(&At<S>) -> bool + Send + Sync>;

impl<S: Subject> Debug for Check<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("subject", &self.subject).finish_non_exhaustive()
    }
}

/// A state of the model of a protocol.
pub(in crate::election) type At<S> = Moment<<S as Subject>::Machine, <S as Subject>::Notes>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::election) struct Moment<M, N> {
    /// `None` for one that has crashed.
    pub(in crate::election) nodes: Vec<Option<M>>,
    pub(in crate::election) armed: BTreeSet<(usize, ElectionTimer)>,
    pub(in crate::election) network: BTreeSet<Sent>,
    pub(in crate::election) happened: Misfortunes,
    /// A forbidden step that was made.
    pub(in crate::election) fault: Option<&'static str>,
    pub(in crate::election) notes: N,
}

/// A message under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::election) struct Sent {
    pub(in crate::election) from: usize,
    pub(in crate::election) to: usize,
    pub(in crate::election) message: Message,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::election) enum Copies {
    /// It may arrive again.
    Kept,
    Gone,
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::election) enum Step<S> {
    Arrives { sent: Sent, copies: Copies, draw: u64 },
    IsLost(Sent),
    Fires { node: usize, timer: ElectionTimer, draw: u64 },
    Hears { node: usize, peer: usize },
    Loses { node: usize, peer: usize, draw: u64 },
    Crashes(usize),
    Restarts(usize),
    Weakens(usize),
    Own(S),
}

pub(in crate::election) fn number(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}

impl<M: Election, N> Moment<M, N> {
    pub(in crate::election) fn living(&self) -> impl Iterator<Item = (usize, &M)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(node, machine)| Some((node, machine.as_ref()?)))
    }

    pub(in crate::election) fn lives(&self, node: usize) -> bool {
        self.nodes[node].is_some()
    }

    pub(in crate::election) fn node_state(&self, node: usize) -> Option<NodeState> {
        self.nodes[node].as_ref().map(Election::node_state)
    }

    pub(in crate::election) fn leads(&self, node: usize) -> bool {
        self.node_state(node) == Some(NodeState::Master)
    }

    pub(in crate::election) fn leaders(&self) -> usize {
        (0..self.nodes.len()).filter(|node| self.leads(*node)).count()
    }

    pub(in crate::election) fn timers(&self, node: usize) -> impl Iterator<Item = &ElectionTimer> {
        let own = self.armed.iter().filter(move |(armed, _)| *armed == node);
        own.map(|(_, timer)| timer)
    }

    pub(in crate::election) fn blame(&mut self, fault: Option<&'static str>) {
        self.fault = self.fault.or(fault);
    }
}

/// Walks the whole space, which has at least this many states.
pub(in crate::election) fn exhaust<S: Subject>(what: &str, check: Check<S>, least: usize) {
    let checker = check.checker().threads(2).target_state_count(MOST_STATES).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{what}: {states} states, depth {}", checker.max_depth());
    checker.assert_properties();
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "{what}: not exhausted");
    assert!(states >= least, "{what}: {states} states, of at least {least}");
}

pub(in crate::election) fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
