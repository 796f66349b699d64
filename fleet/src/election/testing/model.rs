//! Every order of events among a few nodes, under a model checker.
//!
//! The machines are the real ones. Time does not exist: a timer may fire whenever it is armed, a
//! message may arrive whenever it is under way, a node may hear at any moment where another stands,
//! crash, and restart. [`Bounds`] says how much of that may happen. An adapter, [`Subject`], says
//! what is special about a protocol, what no step may do, and what must hold in every state.
//!
//! A run that does not see every state within its bounds fails, and so does one that sees fewer
//! than it once did.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Checker as _, Model, Property};

use super::candidate;
use crate::election::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::{NodeId, Term};
use crate::wire::Standing;

/// More states than any model generates. The checker stops there and calls itself done.
const MOST_STATES: usize = 40_000_000;

/// How many rounds of events the nodes need at most to come to rest.
const ROUNDS: usize = 12;

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

fn count(happened: &mut u8, most: u8) {
    if most != WITHOUT_END {
        *happened += 1;
    }
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

    /// Lets what is under way beside messages come to its end.
    fn finish(_check: &Check<Self>, _moment: &mut At<Self>) {}

    /// Whether this timer only repeats what was not lost.
    fn only_repeats(_timer: &ElectionTimer) -> bool {
        false
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
#[derive(Debug)]
pub(in crate::election) struct Check<S> {
    pub(in crate::election) subject: S,
    pub(in crate::election) bounds: Bounds,
    pub(in crate::election) candidates: Vec<Candidate>,
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
    /// What was done that no node may do.
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
    Arrives {
        sent: Sent,
        copies: Copies,
        draw: u64,
    },
    IsLost(Sent),
    Fires {
        node: usize,
        timer: ElectionTimer,
        draw: u64,
    },
    Hears {
        node: usize,
        peer: usize,
    },
    Loses {
        node: usize,
        peer: usize,
        draw: u64,
    },
    Crashes(usize),
    Restarts(usize),
    Weakens(usize),
    Own(S),
}

pub(in crate::election) fn number(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}

impl<M: Election, N> Moment<M, N> {
    /// The nodes that run.
    pub(in crate::election) fn living(&self) -> impl Iterator<Item = (usize, &M)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(node, machine)| Some((node, machine.as_ref()?)))
    }

    pub(in crate::election) fn lives(&self, node: usize) -> bool {
        self.nodes[node].is_some()
    }

    pub(in crate::election) fn standing(&self, node: usize) -> Option<Standing> {
        self.nodes[node].as_ref().map(Election::standing)
    }

    pub(in crate::election) fn leads(&self, node: usize) -> bool {
        self.standing(node) == Some(Standing::Master)
    }

    pub(in crate::election) fn leaders(&self) -> usize {
        (0..self.nodes.len())
            .filter(|node| self.leads(*node))
            .count()
    }

    pub(in crate::election) fn timers(&self, node: usize) -> impl Iterator<Item = &ElectionTimer> {
        let own = self.armed.iter().filter(move |(armed, _)| *armed == node);
        own.map(|(_, timer)| timer)
    }

    pub(in crate::election) fn blame(&mut self, fault: Option<&'static str>) {
        self.fault = self.fault.or(fault);
    }
}

impl<S: Subject> Check<S> {
    pub(in crate::election) fn new(subject: S, bounds: Bounds) -> Self {
        let candidates = (0..bounds.nodes)
            .map(|node| subject.candidate(node))
            .collect();
        Self {
            subject,
            bounds,
            candidates,
        }
    }

    pub(in crate::election) fn name(&self, node: usize) -> &NodeId {
        &self.candidates[node].node
    }

    pub(in crate::election) fn index(&self, name: &NodeId) -> usize {
        let mut nodes = self.candidates.iter();
        nodes
            .position(|candidate| candidate.node == *name)
            .expect("a node of the fleet")
    }

    /// Every node and every other.
    pub(in crate::election) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<S> {
        let nodes = self.bounds.nodes;
        let all = (0..nodes).flat_map(move |one| (0..nodes).map(move |other| (one, other)));
        all.filter(|(one, other)| one != other)
    }

    pub(in crate::election) fn feed(
        &self,
        moment: &mut At<S>,
        node: usize,
        input: &Input<'_>,
        draw: u64,
    ) {
        let Some(mut machine) = moment.nodes[node].take() else {
            return;
        };
        let before = machine.clone();
        let mut outputs = Vec::new();
        machine.handle(input.clone(), draw, &mut outputs);
        let mut taken = Taken {
            node,
            before: &before,
            input,
            after: &mut machine,
            outputs: &outputs,
        };
        S::observe(self, moment, &mut taken);
        moment.nodes[node] = Some(machine);
        for output in outputs {
            self.perform(moment, node, output);
        }
    }

    fn perform(&self, moment: &mut At<S>, node: usize, output: Output) {
        match output {
            Output::Arm(timer, _) => {
                moment.armed.insert((node, timer));
            }
            Output::Disarm(timer) => {
                moment.armed.remove(&(node, timer));
            }
            Output::Broadcast(message) => {
                for to in (0..self.bounds.nodes).filter(|to| *to != node) {
                    self.send(
                        moment,
                        Sent {
                            from: node,
                            to,
                            message: message.clone(),
                        },
                    );
                }
            }
            Output::Send(to, message) | Output::HandOver(to, message) => {
                let to = self.index(&to);
                self.send(
                    moment,
                    Sent {
                        from: node,
                        to,
                        message,
                    },
                );
            }
            Output::Dial(_) | Output::HangUp(_) | Output::HangUpAllBut(_) => {
                S::link(self, moment, node, output);
            }
        }
    }

    fn send(&self, moment: &mut At<S>, sent: Sent) {
        let is_carried = match self.bounds.network {
            Network::Repeats(_) | Network::Remembers => true,
            Network::Carries(most) => moment.lives(sent.to) && moment.network.len() < most,
            Network::Forges => false,
        };
        if is_carried {
            moment.network.insert(sent);
        }
    }

    fn start(&self, moment: &mut At<S>, node: usize) {
        let own = self.candidates[node].clone();
        let incarnation = u64::from(moment.happened.restarts) * 100 + u64::from(number(node));
        moment.nodes[node] = Some(self.subject.machine(own, incarnation));
        self.feed(moment, node, &Input::Start, 0);
        S::started(self, moment, node);
    }

    /// A beacon tells where its sender stands at that moment.
    pub(in crate::election) fn hear(&self, moment: &mut At<S>, node: usize, peer: usize) {
        if let Some(machine) = moment.nodes[peer].as_ref() {
            let (standing, term) = (machine.standing(), S::term(machine));
            let estimate = machine.estimate();
            let peer = &Candidate {
                estimate,
                ..self.candidates[peer].clone()
            };
            self.feed(
                moment,
                node,
                &Input::Heard {
                    peer,
                    standing: &standing,
                    term,
                },
                0,
            );
        }
    }

    pub(in crate::election) fn lose(
        &self,
        moment: &mut At<S>,
        node: usize,
        peer: usize,
        draw: u64,
    ) {
        self.feed(
            moment,
            node,
            &Input::Lost {
                peer: self.name(peer),
            },
            draw,
        );
    }

    fn arrive(&self, moment: &mut At<S>, sent: &Sent, draw: u64) {
        let (from, message) = (self.name(sent.from), &sent.message);
        self.feed(moment, sent.to, &Input::Message { from, message }, draw);
    }

    pub(in crate::election) fn fire(
        &self,
        moment: &mut At<S>,
        node: usize,
        timer: &ElectionTimer,
        draw: u64,
    ) {
        moment.armed.remove(&(node, timer.clone()));
        self.feed(moment, node, &Input::Fired(timer), draw);
    }

    /// All hear all who live, and miss all who don't.
    pub(in crate::election) fn hear_everybody(&self, moment: &mut At<S>) {
        for (node, peer) in self.pairs() {
            if moment.lives(peer) {
                self.hear(moment, node, peer);
            } else {
                self.lose(moment, node, peer, 0);
            }
        }
    }

    /// Beacons and losses, where they are instant, until nothing changes any more.
    fn settle(&self, moment: &mut At<S>, draw: u64) {
        if self.bounds.beacons != Beacons::Instant {
            return;
        }
        loop {
            let before = moment.clone();
            for (node, peer) in self.pairs() {
                let machine = moment.nodes[node].as_ref();
                let knows = machine.is_some_and(|machine| S::knows(machine, self.name(peer)));
                if moment.lives(peer) {
                    self.hear(moment, node, peer);
                } else if knows {
                    self.lose(moment, node, peer, draw);
                }
            }
            if *moment == before {
                return;
            }
        }
    }

    /// Whether the nodes come to rest where it is `right`, once nothing more breaks and messages
    /// arrive before timers fire.
    pub(in crate::election) fn comes_to_rest(
        &self,
        moment: &At<S>,
        right: impl Fn(&Self, &At<S>) -> bool,
    ) -> bool {
        let mut moment = moment.clone();
        for _ in 0..ROUNDS {
            let before = moment.clone();
            self.hear_everybody(&mut moment);
            S::finish(self, &mut moment);
            while let Some(sent) = moment.network.pop_first() {
                // It rides on a beacon, which tells what its sender is.
                self.hear(&mut moment, sent.to, sent.from);
                self.arrive(&mut moment, &sent, 0);
            }
            if moment == before {
                if right(self, &moment) {
                    return true;
                }
                for (node, timer) in moment.armed.clone() {
                    if !S::only_repeats(&timer) {
                        self.fire(&mut moment, node, &timer, 0);
                    }
                }
            }
        }
        false
    }

    fn messages(&self, moment: &At<S>, steps: &mut Vec<Step<S::Step>>) {
        let arrives = |sent: &Sent, copies, draw| Step::Arrives {
            sent: sent.clone(),
            copies,
            draw,
        };
        match self.bounds.network {
            Network::Repeats(_) | Network::Carries(_) => {
                for sent in &moment.network {
                    steps.push(Step::IsLost(sent.clone()));
                    for &draw in S::DRAWS {
                        steps.push(arrives(sent, Copies::Kept, draw));
                        steps.push(arrives(sent, Copies::Gone, draw));
                    }
                }
            }
            Network::Remembers => {
                for (sent, &draw) in moment
                    .network
                    .iter()
                    .flat_map(|sent| S::DRAWS.iter().map(move |d| (sent, d)))
                {
                    steps.push(arrives(sent, Copies::Kept, draw));
                }
            }
            Network::Forges => {
                let forgeries = self.subject.forgeries();
                for (from, to) in self.pairs().filter(|(_, to)| moment.lives(*to)) {
                    for (message, &draw) in forgeries
                        .iter()
                        .flat_map(|m| S::DRAWS.iter().map(move |d| (m, d)))
                    {
                        let sent = Sent {
                            from,
                            to,
                            message: message.clone(),
                        };
                        steps.push(Step::Arrives {
                            sent,
                            copies: Copies::Kept,
                            draw,
                        });
                    }
                }
            }
        }
    }

    fn mesh(&self, moment: &At<S>, steps: &mut Vec<Step<S::Step>>) {
        for (node, peer) in self.pairs() {
            let Some(machine) = &moment.nodes[node] else {
                continue;
            };
            let lives = moment.lives(peer);
            if lives && self.bounds.beacons == Beacons::Late {
                steps.push(Step::Hears { node, peer });
            }
            let may_lose = !lives || moment.happened.breaks < self.bounds.most.breaks;
            let is_news = S::knows(machine, self.name(peer));
            if may_lose && is_news && self.bounds.beacons != Beacons::Instant {
                steps.extend(
                    S::DRAWS
                        .iter()
                        .map(|&draw| Step::Loses { node, peer, draw }),
                );
            }
        }
    }
}

impl<S: Subject> Model for Check<S> {
    type State = At<S>;
    type Action = Step<S::Step>;

    fn init_states(&self) -> Vec<At<S>> {
        let mut moment = Moment {
            nodes: vec![None; self.bounds.nodes],
            armed: BTreeSet::new(),
            network: BTreeSet::new(),
            happened: Misfortunes::default(),
            fault: None,
            notes: S::Notes::default(),
        };
        for node in 0..self.bounds.nodes {
            self.start(&mut moment, node);
        }
        S::begin(self, &mut moment);
        self.settle(&mut moment, 0);
        vec![moment]
    }

    fn actions(&self, moment: &At<S>, steps: &mut Vec<Step<S::Step>>) {
        self.messages(moment, steps);
        self.mesh(moment, steps);
        for (node, timer) in &moment.armed {
            let (node, timer) = (*node, timer.clone());
            let fires = |draw: &u64| Step::Fires {
                node,
                timer: timer.clone(),
                draw: *draw,
            };
            steps.extend(S::DRAWS.iter().map(fires));
        }
        let (most, happened) = (self.bounds.most, moment.happened);
        for node in 0..self.bounds.nodes {
            match moment.lives(node) {
                true => {
                    let crashes = happened.crashes < most.crashes;
                    steps.extend(crashes.then_some(Step::Crashes(node)));
                    let falls = happened.falls < most.falls;
                    steps.extend(falls.then_some(Step::Weakens(node)));
                }
                false if happened.restarts < most.restarts => steps.push(Step::Restarts(node)),
                false => {}
            }
        }
        let mut own = Vec::new();
        S::steps(self, moment, &mut own);
        steps.extend(own.into_iter().map(Step::Own));
    }

    fn next_state(&self, last: &At<S>, step: Step<S::Step>) -> Option<At<S>> {
        let mut moment = last.clone();
        let most = self.bounds.most;
        let mut lot = 0;
        match step {
            Step::Arrives { sent, copies, draw } => {
                lot = draw;
                if copies == Copies::Gone {
                    moment.network.remove(&sent);
                }
                self.arrive(&mut moment, &sent, draw);
            }
            Step::IsLost(sent) => {
                moment.network.remove(&sent);
            }
            Step::Fires { node, timer, draw } => {
                lot = draw;
                self.fire(&mut moment, node, &timer, draw);
            }
            Step::Hears { node, peer } => self.hear(&mut moment, node, peer),
            Step::Loses { node, peer, draw } => {
                lot = draw;
                if moment.lives(peer) {
                    count(&mut moment.happened.breaks, most.breaks);
                }
                self.lose(&mut moment, node, peer, draw);
            }
            Step::Crashes(node) => {
                count(&mut moment.happened.crashes, most.crashes);
                moment.nodes[node] = None;
                moment.armed.retain(|(armed, _)| *armed != node);
                if let Network::Carries(_) = self.bounds.network {
                    moment.network.retain(|sent| sent.to != node);
                }
                S::crashed(self, &mut moment, node);
            }
            Step::Restarts(node) => {
                count(&mut moment.happened.restarts, most.restarts);
                if let Network::Carries(_) = self.bounds.network {
                    moment.network.retain(|sent| sent.from != node);
                }
                S::restarts(self, &mut moment, node);
                self.start(&mut moment, node);
            }
            Step::Weakens(node) => {
                count(&mut moment.happened.falls, most.falls);
                self.feed(&mut moment, node, &Input::Estimate(1), 0);
            }
            Step::Own(step) => S::apply(self, &mut moment, &step),
        }
        self.settle(&mut moment, lot);
        (moment != *last).then_some(moment)
    }

    fn within_boundary(&self, moment: &At<S>) -> bool {
        let few = match self.bounds.network {
            Network::Repeats(most) => moment.network.len() <= most,
            Network::Carries(_) | Network::Remembers | Network::Forges => true,
        };
        few && self.subject.within(moment)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = self.subject.properties();
        properties.push(Property::always(
            "no forbidden step",
            |_: &Self, moment: &At<S>| moment.fault.is_none(),
        ));
        properties
    }
}

/// Walks the whole space, which has at least this many states.
pub(in crate::election) fn exhaust<S: Subject>(what: &str, check: Check<S>, least: usize) {
    let checker = check
        .checker()
        .threads(2)
        .target_state_count(MOST_STATES)
        .spawn_bfs()
        .join();
    let states = checker.unique_state_count();
    println!("{what}: {states} states, depth {}", checker.max_depth());
    checker.assert_properties();
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "{what}: not exhausted");
    assert!(
        states >= least,
        "{what}: {states} states, of at least {least}"
    );
}

/// From every state that can be reached, one can be reached in which the `goal` holds.
pub(in crate::election) fn can_always_reach<S: Subject>(
    what: &str,
    check: &Check<S>,
    least: usize,
    goal: impl Fn(&At<S>) -> bool,
) {
    let mut comes_from: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut reached = Vec::new();
    let mut open = check.init_states();
    let mut seen: BTreeSet<u64> = open.iter().map(fingerprint).collect();
    while let Some(moment) = open.pop() {
        let from = fingerprint(&moment);
        if goal(&moment) {
            reached.push(from);
        }
        let next = check.next_steps(&moment).into_iter().map(|(_, next)| next);
        for next in next.filter(|next| check.within_boundary(next)) {
            let to = fingerprint(&next);
            comes_from.entry(to).or_default().push(from);
            if seen.insert(to) {
                open.push(next);
            }
        }
    }
    let mut good: BTreeSet<u64> = reached.iter().copied().collect();
    while let Some(state) = reached.pop() {
        for before in comes_from.remove(&state).unwrap_or_default() {
            if good.insert(before) {
                reached.push(before);
            }
        }
    }
    println!(
        "{what}: {} states, the goal ahead of {}",
        seen.len(),
        good.len()
    );
    assert_eq!(seen.len(), good.len(), "{what}: dead ends");
    assert!(
        seen.len() >= least,
        "{what}: {} states, of at least {least}",
        seen.len()
    );
}

pub(in crate::election) fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}
