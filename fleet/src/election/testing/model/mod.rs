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
mod node;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use stateright::{Checker as _, Model, Property};

use super::candidate;
use crate::election::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::{NodeId, NodeState, Term};

pub(crate) use calm::{Calms, Due, settles};
pub(crate) use node::Node;

/// More states than any model generates. The checker stops there and calls itself done.
const MOST_STATES: usize = 40_000_000;

/// The property that a [witness](Check::witness) decides.
const IN_CALM: &str = "no forbidden step in calm";

/// As often as there is an opportunity.
pub(crate) const WITHOUT_END: u8 = u8::MAX;

#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    pub(crate) nodes: usize,
    pub(crate) network: Network,
    pub(crate) beacons: Beacons,
    pub(crate) most: Misfortunes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    /// A message arrives at any time, any number of times, until it is lost. States with more
    /// messages under way than this are not looked at.
    Repeats(usize),
    /// The same, but while this many messages are under way further ones are lost at once, and a
    /// crash takes along what was sent by or to the crashed incarnation.
    Carries(usize),
    /// Any message of [`Subject::forgeries`] arrives from anybody, whether it was sent or not: so
    /// each that was sent, lost, repeated, delayed and reordered without bound.
    Forges,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beacons {
    /// At any later moment.
    Late,
    /// At once: before anything else happens all have heard all, and miss the dead.
    Instant,
    /// They do not hear each other, but miss the dead at any later moment.
    Silent,
}

/// Misfortunes: how many may happen, or have happened. [`WITHOUT_END`] is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Misfortunes {
    pub(crate) crashes: u8,
    pub(crate) restarts: u8,
    /// Links that break although both ends live.
    pub(crate) breaks: u8,
    /// Nodes whose estimate falls to 1.
    pub(crate) falls: u8,
}

/// A protocol under the checker. Functions take the whole [`Check`], which has the machines' world.
pub(crate) trait Subject: Debug + Sized + Send + Sync + 'static {
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

    /// The timers that a machine in this state waits for; `None` if its state does not say.
    fn timers(_machine: &Self::Machine) -> Option<BTreeSet<ElectionTimer>> {
        None
    }

    /// Whether this node has anything to lose with the peer.
    fn knows(machine: &Self::Machine, peer: &NodeId) -> bool;

    /// The term in the node's beacons.
    fn term(_machine: &Self::Machine) -> Term {
        Term::default()
    }

    fn forgeries(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Called once in the initial state, after all nodes have started.
    fn begin(_check: &Check<Self>, _moment: &mut At<Self>) {}

    /// Called after a node has been placed and started, again or for the first time.
    fn started(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    fn crashed(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    fn restarts(_check: &Check<Self>, _moment: &mut At<Self>, _node: usize) {}

    /// Called after a machine took an input and before its outputs are performed: takes notes, and
    /// sets the moment's fault if the step is forbidden.
    fn observe(_check: &Check<Self>, _moment: &mut At<Self>, _step: &mut Taken<'_, Self>) {}

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

pub(crate) struct Taken<'a, S: Subject> {
    pub(crate) node: usize,
    pub(crate) before: &'a S::Machine,
    pub(crate) input: &'a Input<'a>,
    pub(crate) after: &'a mut S::Machine,
    pub(crate) outputs: &'a [Output],
}

/// A protocol within bounds.
pub(crate) struct Check<S: Subject> {
    pub(crate) subject: Arc<S>,
    pub(crate) bounds: Bounds,
    pub(crate) candidates: Vec<Candidate>,
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

pub(crate) type At<S> = Moment<<S as Subject>::Machine, <S as Subject>::Notes>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Moment<M: Hash, N> {
    /// `None` for one that has crashed.
    pub(crate) nodes: Vec<Option<Node<M>>>,
    pub(crate) armed: BTreeSet<(usize, ElectionTimer)>,
    pub(crate) network: BTreeSet<Sent>,
    pub(crate) happened: Misfortunes,
    /// A forbidden step that was made.
    pub(crate) fault: Option<&'static str>,
    pub(crate) notes: N,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Sent {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) message: Message,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copies {
    /// It may arrive again.
    Kept,
    Gone,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step<S> {
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

pub(crate) fn number(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}

/// Whether to walk the larger models too, which take minutes: `LIFTMESH_MODELS=large`.
pub(crate) fn is_large() -> bool {
    std::env::var_os("LIFTMESH_MODELS").is_some_and(|models| models == "large")
}

impl<M: Election + Hash, N> Moment<M, N> {
    pub(crate) fn living(&self) -> impl Iterator<Item = (usize, &M)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(node, machine)| Some((node, &**machine.as_ref()?)))
    }

    pub(crate) fn lives(&self, node: usize) -> bool {
        self.nodes[node].is_some()
    }

    pub(crate) fn node_state(&self, node: usize) -> Option<NodeState> {
        self.nodes[node].as_ref().map(|machine| machine.node_state())
    }

    pub(crate) fn leads(&self, node: usize) -> bool {
        self.node_state(node) == Some(NodeState::Master)
    }

    pub(crate) fn leaders(&self) -> usize {
        (0..self.nodes.len()).filter(|node| self.leads(*node)).count()
    }

    pub(crate) fn timers(&self, node: usize) -> impl Iterator<Item = &ElectionTimer> {
        let own = self.armed.iter().filter(move |(armed, _)| *armed == node);
        own.map(|(_, timer)| timer)
    }

    pub(crate) fn blame(&mut self, fault: Option<&'static str>) {
        self.fault = self.fault.or(fault);
    }
}

/// Walks the whole space, which has at least this many states.
pub(crate) fn exhaust<S: Subject>(what: &str, check: Check<S>, least: usize) {
    let checker = check.checker().threads(2).target_state_count(MOST_STATES).spawn_bfs().join();
    let states = checker.unique_state_count();
    println!("{what}: {states} states, depth {}", checker.max_depth());
    checker.assert_properties();
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "{what}: not exhausted");
    assert!(states >= least, "{what}: {states} states, of at least {least}");
}

pub(crate) fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
