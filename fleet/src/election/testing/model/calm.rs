//! Liveness: once faults stop, the nodes agree, in every order of events.
//!
//! The *calm graph* has every state that a fault can leave behind, and all that can follow without
//! further faults: messages arrive once and in any order, nodes hear each other and miss the dead
//! at any moment, and every armed timer may fire that is [due](Calms::due). It has no bounds; those
//! of the model end with the faults.
//!
//! A run is fair if nothing waits for ever: what can happen in every state from some moment on,
//! does happen (a message arrives, a timer fires, a node hears another), and so does, sooner or
//! later, every number that a node may draw. A timer that is armed in every state from some moment
//! on fires too, even if it is due in some of them only. Where a fair run goes round for ever is a
//! *component* of the graph: states that lead to each other, that no draw leaves, and in which
//! nothing is put off for ever. Every state of such a component has to be [right](Calms::is_right).
//! So the verdict is exact: a wrong state there is one that a fair run comes back to again and again,
//! and without one every fair run is right from some moment on.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use stateright::{Checker as _, Model as _};

use super::components::NOWHERE;
use super::{
    At, Check, Copies, IN_CALM, Misfortunes, Network, Sent, Step, Subject, components, exhaust,
    fingerprint,
};
use crate::election::ElectionTimer;

/// More calm states than any model has.
const MOST_STATES: usize = 2_000_000;

/// A protocol that has to be right in the end.
pub(crate) trait Calms: Subject<Step: Eq + Hash> {
    /// Whether this is how it has to be, from some moment on, for ever.
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool;

    /// Whether an armed timer can fire in this state: what the protocol relies on about its times.
    fn due(_check: &Check<Self>, _moment: &At<Self>, _node: usize, _timer: &ElectionTimer) -> Due {
        Due::Now
    }

    /// Whether a step of the protocol's own is none of the faults.
    fn is_calm(_check: &Check<Self>, _moment: &At<Self>, _step: &Self::Step) -> bool {
        true
    }

    /// Replaces a state by one from which all goes on alike, so that those in which a number has
    /// grown are one.
    fn fold(_check: &Check<Self>, _moment: &mut At<Self>) {}
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    Now,
    /// Something faster comes first, such as a message that is under way.
    Later,
    /// Something sets it anew before it runs out, such as a beacon of a master that is there.
    Never,
}

/// What happens without any fault, whatever is drawn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Act<S> {
    Arrives(Sent),
    Fires { node: usize, timer: ElectionTimer },
    Hears { node: usize, peer: usize },
    Misses { node: usize, peer: usize },
    Own(S),
}

/// An act, by its number, and the state that it leads to; [`NOWHERE`] if it waits for something
/// faster. Draws make several of one act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) act: u32,
    pub(super) to: u32,
}

#[derive(Debug, Default)]
struct Graph {
    /// The numbers of states, by their fingerprints.
    numbers: BTreeMap<u64, u32>,
    edges: Vec<Vec<Edge>>,
    is_right: Vec<bool>,
    /// The state that each was reached from first; a fault has left the others behind.
    from: Vec<Option<u32>>,
    /// The numbers of acts, by their fingerprints.
    acts: BTreeMap<u64, u32>,
}

/// [Walks](exhaust) the whole space, and proves that every fair calm run from each of its states is
/// right from some moment on. `least_calm` is how many calm states there are at least.
///
/// Under [`Network::Forges`] whatever was sent before the calm has arrived or been lost when it
/// begins.
pub(crate) fn settles<S: Calms>(what: &str, mut check: Check<S>, least: usize, least_calm: usize)
where
    S::Step: Send + Sync,
{
    let (again, calm) = (check.again(), Arc::new(check.in_calm()));
    let graph = Arc::new(Mutex::new(Graph::default()));
    check.witness = Some({
        let (calm, graph) = (Arc::clone(&calm), Arc::clone(&graph));
        Box::new(move |moment: &At<S>| {
            let mut graph = graph.lock().unwrap_or_else(PoisonError::into_inner);
            graph.walk(&calm, moment)
        })
    });
    exhaust(what, check, least);
    let graph = graph.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{what}: {} calm states", graph.edges.len());
    if let Some(wrong) = components::find_wrong(&graph.edges, &graph.is_right) {
        let story = graph.story(again, &calm, &wrong);
        panic!("{what}: {} states, in which a fair run stays, and wrong\n{story}", wrong.len());
    }
    let states = graph.edges.len();
    assert!(states >= least_calm, "{what}: {states} calm states, of at least {least_calm}");
}

impl<S: Calms> Check<S> {
    /// The same, without a witness.
    fn again(&self) -> Self {
        Self {
            subject: Arc::clone(&self.subject),
            bounds: self.bounds.clone(),
            candidates: self.candidates.clone(),
            witness: None,
            begins_empty: false,
        }
    }

    /// The same without faults, and without bounds.
    fn in_calm(&self) -> Self {
        let mut calm = self.again();
        calm.bounds.most = Misfortunes::default();
        calm.bounds.network = Network::Repeats(usize::MAX);
        calm.begins_empty = self.bounds.network == Network::Forges;
        calm
    }

    /// The calm that begins in this state.
    fn calmed(&self, moment: &At<S>) -> At<S> {
        let mut moment = moment.clone();
        moment.happened = Misfortunes::default();
        if self.begins_empty {
            moment.network.clear();
        }
        S::fold(self, &mut moment);
        moment
    }

    fn acts(&self, moment: &At<S>) -> Vec<Act<S::Step>> {
        let mut steps = Vec::new();
        self.actions(moment, &mut steps);
        let mut acts: Vec<_> =
            steps.into_iter().filter_map(|step| self.act(moment, step)).collect();
        acts.dedup();
        acts
    }

    /// What a step is apart from its draw, unless it is a fault.
    fn act(&self, moment: &At<S>, step: Step<S::Step>) -> Option<Act<S::Step>> {
        match step {
            Step::Arrives { sent, copies: Copies::Gone, .. } => Some(Act::Arrives(sent)),
            Step::Fires { node, timer, .. } => {
                let never = S::due(self, moment, node, &timer) == Due::Never;
                (!never).then_some(Act::Fires { node, timer })
            }
            Step::Hears { node, peer } => Some(Act::Hears { node, peer }),
            Step::Loses { node, peer, .. } => Some(Act::Misses { node, peer }),
            Step::Own(step) => S::is_calm(self, moment, &step).then_some(Act::Own(step)),
            Step::Arrives { copies: Copies::Kept, .. }
            | Step::IsLost(_)
            | Step::Crashes(_)
            | Step::Restarts(_)
            | Step::Weakens(_) => None,
        }
    }

    /// What follows an act, for each draw; nothing if it waits for something faster.
    fn follow(&self, moment: &At<S>, act: &Act<S::Step>) -> Vec<At<S>> {
        if let Act::Fires { node, timer } = act
            && S::due(self, moment, *node, timer) == Due::Later
        {
            return Vec::new();
        }
        let step = |draw| match act.clone() {
            Act::Arrives(sent) => Step::Arrives { sent, copies: Copies::Gone, draw },
            Act::Fires { node, timer } => Step::Fires { node, timer, draw },
            Act::Hears { node, peer } => Step::Hears { node, peer },
            Act::Misses { node, peer } => Step::Loses { node, peer, draw },
            Act::Own(step) => Step::Own(step),
        };
        let draws = match act {
            Act::Arrives(_) | Act::Fires { .. } | Act::Misses { .. } => S::DRAWS,
            Act::Hears { .. } | Act::Own(_) => &[0],
        };
        let after = |draw: &u64| {
            let mut next = self.next_state(moment, step(*draw));
            if let Some(next) = &mut next {
                S::fold(self, next);
            }
            next.unwrap_or_else(|| moment.clone())
        };
        draws.iter().map(after).collect()
    }
}

impl Graph {
    /// Adds the calm that begins in this state. Returns whether no step in it is forbidden.
    fn walk<S: Calms>(&mut self, calm: &Check<S>, moment: &At<S>) -> bool {
        let moment = calm.calmed(moment);
        let mut open = Vec::new();
        self.number(calm, moment, None, &mut open);
        while let Some((number, moment)) = open.pop() {
            if moment.fault.is_some() {
                return false;
            }
            let mut edges = Vec::new();
            for act in calm.acts(&moment) {
                let next = calm.follow(&moment, &act);
                let acts = u32::try_from(self.acts.len()).expect("few acts");
                let act = *self.acts.entry(fingerprint(&act)).or_insert(acts);
                if next.is_empty() {
                    edges.push(Edge { act, to: NOWHERE });
                }
                for next in next {
                    let to = self.number(calm, next, Some(number), &mut open);
                    edges.push(Edge { act, to });
                }
            }
            edges.sort_unstable();
            edges.dedup();
            self.edges[number as usize] = edges;
        }
        true
    }

    /// The number of a state; a new one is still open.
    fn number<S: Calms>(
        &mut self,
        calm: &Check<S>,
        moment: At<S>,
        from: Option<u32>,
        open: &mut Vec<(u32, At<S>)>,
    ) -> u32 {
        let print = fingerprint(&moment);
        if let Some(number) = self.numbers.get(&print) {
            return *number;
        }
        let number = u32::try_from(self.edges.len()).expect("few states");
        assert!(self.edges.len() < MOST_STATES, "the calm has no end: {moment:#?}");
        self.numbers.insert(print, number);
        self.edges.push(Vec::new());
        self.is_right.push(S::is_right(calm, &moment));
        self.from.push(from);
        open.push((number, moment));
        number
    }

    /// How a fault leads to a wrong state that a fair run comes back to, and what happens there.
    fn story<S: Calms>(&self, check: Check<S>, calm: &Arc<Check<S>>, component: &[u32]) -> String {
        let wrong = component.iter().find(|state| !self.is_right[**state as usize]);
        let mut path: Vec<u32> = wrong.into_iter().copied().collect();
        while let Some(from) = path.last().and_then(|state| self.from[*state as usize]) {
            path.push(from);
        }
        let prints: BTreeMap<u32, u64> =
            self.numbers.iter().map(|(print, number)| (*number, *print)).collect();
        let mut path = path.into_iter().rev().map(|number| prints[&number]);
        let Some(first) = path.next() else {
            return String::new();
        };
        let (mut story, mut moment) = left_behind(check, calm, first);
        for print in path {
            let acts = calm.acts(&moment).into_iter();
            let mut next = acts.flat_map(|act| {
                calm.follow(&moment, &act).into_iter().map(move |n| (act.clone(), n))
            });
            if let Some((act, after)) = next.find(|(_, next)| fingerprint(next) == print) {
                let _infallible = writeln!(story, "calm: {act:?}");
                moment = after;
            }
        }
        let is_inside = |next: &At<S>| {
            let number = self.numbers.get(&fingerprint(next));
            number.is_some_and(|number| component.contains(number))
        };
        for act in calm.acts(&moment) {
            let next = calm.follow(&moment, &act);
            if !next.is_empty() && next.iter().all(is_inside) {
                let _infallible = writeln!(story, "it stays with {act:?}");
            }
        }
        format!("{story}{moment:#?}")
    }
}

/// The shortest way to a state in which a calm begins, and that calm's first state.
fn left_behind<S: Calms>(mut check: Check<S>, calm: &Arc<Check<S>>, print: u64) -> (String, At<S>) {
    let begins = Arc::clone(calm);
    check.witness = Some(Box::new(move |moment| fingerprint(&begins.calmed(moment)) != print));
    let checker = check.checker().spawn_bfs().join();
    let path = checker.discovery(IN_CALM).expect("every calm begins in a state of the space");
    let moment = calm.calmed(path.last_state());
    let steps = path.into_actions().into_iter().map(|step| format!("{step:?}\n"));
    (steps.collect(), moment)
}
