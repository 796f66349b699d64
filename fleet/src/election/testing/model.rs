//! Every order of events among a few nodes, and what follows once nothing more breaks.
//!
//! The machines are the real ones. The walk knows no time: a timer may fire whenever it is armed, a
//! message may arrive whenever it is under way, a node may hear a beacon of another at any moment,
//! crash, and restart. [`Bounds`] says how much of that may happen. A walk that sees fewer states
//! than it once did fails.
//!
//! States that faults leave behind begin a *calm*: a run in virtual time without further faults,
//! whose delays are random by the state. Within the protocol's bound the nodes have to be
//! [right](Subject::is_right), and stay so (C3).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::{Debug, Write as _};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

use super::{candidate, name, slave_of};
use crate::election::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::{MeshTimes, NodeState, Term};

/// As often as there is an opportunity.
pub(crate) const WITHOUT_END: u8 = u8::MAX;

/// In a calm any two nodes have a link by then.
pub(crate) const LINKED: Duration = Duration::from_millis(100);

/// How long a message takes in a calm, at most.
const DELAY_MILLIS: u64 = 10;

/// At most this many beacons of each node are heard in a calm until the bound is over.
const BEACONS: u32 = 80;

/// The first this many states begin a calm, and then one in this many.
const CALMS: (usize, u64) = (500, 100);

#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) nodes: usize,
    /// A message arrives at any time, any number of times. More than this are lost at once.
    pub(crate) messages: usize,
    /// Beacons and losses come at once, before anything else happens; otherwise at any later
    /// moment.
    pub(crate) is_instant: bool,
    pub(crate) most: Misfortunes,
    /// The protocol's, for nodes that are [linked](LINKED) in time.
    pub(crate) bound: Duration,
}

/// Misfortunes: how many may happen, or have happened. [`WITHOUT_END`] is not counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Misfortunes {
    pub(crate) crashes: u8,
    pub(crate) restarts: u8,
    /// Links that break although both ends live.
    pub(crate) breaks: u8,
}

pub(crate) trait Subject: Sized {
    type Machine: Election + Clone + Eq + Hash;
    /// What the checks remember of the past.
    type Notes: Clone + Debug + Default + Hash;

    /// The numbers that a node may draw.
    const DRAWS: &'static [u64] = &[0];

    fn candidate(&self, node: usize) -> Candidate {
        candidate(number(node))
    }

    /// A machine that has yet to start. `incarnation` differs between runs of the same node.
    fn machine(&self, own: Candidate, incarnation: u64) -> Self::Machine;

    /// The term in the node's beacons.
    fn term(_machine: &Self::Machine) -> Term {
        Term::default()
    }

    /// Messages that may arrive from anybody at any time, whether they were sent or not: so each
    /// that was sent is lost, repeated, delayed and reordered without bound.
    fn forgeries(&self) -> Vec<Message> {
        Vec::new()
    }

    /// Whether to look at the states that follow one with this machine.
    fn within(&self, _machine: &Self::Machine) -> bool {
        true
    }

    /// The rule that a step breaks.
    fn broken_by(&self, _: &mut Taken<'_, Self>, _: &mut Self::Notes) -> Option<&'static str> {
        None
    }

    /// The rule that is broken in this state.
    fn broken_in(&self, _moment: &At<Self>) -> Option<&'static str> {
        None
    }

    /// Whether this is how it has to be in a calm, once the bound is over.
    fn is_right(&self, moment: &At<Self>) -> bool;
}

pub(crate) struct Taken<'a, S: Subject> {
    pub(crate) node: usize,
    pub(crate) before: &'a S::Machine,
    pub(crate) input: &'a Input<'a>,
    pub(crate) after: &'a mut S::Machine,
    pub(crate) outputs: &'a [Output],
}

pub(crate) type At<S> = Moment<<S as Subject>::Machine, <S as Subject>::Notes>;

#[derive(Debug, Clone, Hash)]
pub(crate) struct Moment<M, N> {
    /// `None` for one that has crashed.
    nodes: Vec<Option<Rc<M>>>,
    /// How long each timer runs; in a calm, until when.
    armed: BTreeMap<(usize, ElectionTimer), Duration>,
    network: BTreeSet<Sent>,
    pub(crate) happened: Misfortunes,
    broken: Option<&'static str>,
    pub(crate) notes: N,
    /// The time since a calm began.
    now: Option<Duration>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sent {
    from: usize,
    to: usize,
    message: Message,
}

#[derive(Debug, Clone)]
enum Step {
    Arrives { sent: Sent, may_repeat: bool, draw: u64 },
    IsLost(Sent),
    Fires { node: usize, timer: ElectionTimer, draw: u64 },
    Hears { node: usize, peer: usize },
    Loses { node: usize, peer: usize, draw: u64 },
    Crashes(usize),
    Restarts(usize),
}

pub(crate) fn number(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}

fn fingerprint(state: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    state.hash(&mut hasher);
    hasher.finish()
}

impl<M: Election, N> Moment<M, N> {
    pub(crate) fn living(&self) -> impl Iterator<Item = (usize, &M)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(node, machine)| Some((node, &**machine.as_ref()?)))
    }

    pub(crate) fn machine(&self, node: usize) -> Option<&M> {
        self.nodes[node].as_deref()
    }

    pub(crate) fn leads(&self, node: usize) -> bool {
        self.machine(node).is_some_and(|machine| machine.node_state() == NodeState::Master)
    }

    /// The node that leads alone, if all others that live follow it.
    pub(crate) fn agreed_master(&self) -> Option<usize> {
        let (master, _) = self.living().find(|(node, _)| self.leads(*node))?;
        let follows = slave_of(number(master));
        let mut others = self.living().filter(|(node, _)| *node != master);
        others.all(|(_, machine)| machine.node_state() == follows).then_some(master)
    }
}

/// Walks all states within these bounds: at least this many.
pub(crate) fn settles<S: Subject>(what: &str, subject: S, bounds: Bounds, least: usize) {
    let check = Check { subject, bounds };
    let first = check.first();
    // Of each state, the one that it was reached from, and by which of its steps.
    let mut reached = BTreeMap::from([(fingerprint(&first), None)]);
    let mut open = VecDeque::from([first]);
    while let Some(moment) = open.pop_front() {
        let print = fingerprint(&moment);
        let visited = reached.len() - open.len();
        let begins_calm = visited <= CALMS.0 || print % CALMS.1 == 0;
        let wrong = check.broken_in(&moment);
        let wrong = wrong.or_else(|| begins_calm.then(|| check.calm(&moment)).flatten());
        if let Some(wrong) = wrong {
            panic!("{what}: {wrong}\n{}{moment:#?}", check.story(&reached, print));
        }
        if !moment.living().all(|(_, machine)| check.subject.within(machine)) {
            continue;
        }
        for (index, step) in check.steps(&moment).into_iter().enumerate() {
            let mut next = moment.clone();
            check.take(&mut next, step);
            if let Entry::Vacant(entry) = reached.entry(fingerprint(&next)) {
                entry.insert(Some((print, index)));
                open.push_back(next);
            }
        }
    }
    let states = reached.len();
    println!("{what}: {states} states");
    assert!(states >= least, "{what}: {states} states, of at least {least}");
}

struct Check<S> {
    subject: S,
    bounds: Bounds,
}

impl<S: Subject> Check<S> {
    fn first(&self) -> At<S> {
        let mut moment = Moment {
            nodes: vec![None; self.bounds.nodes],
            armed: BTreeMap::new(),
            network: BTreeSet::new(),
            happened: Misfortunes::default(),
            broken: None,
            notes: S::Notes::default(),
            now: None,
        };
        for node in 0..self.bounds.nodes {
            self.start(&mut moment, node);
        }
        // Nobody was known when they were sent.
        moment.network.clear();
        self.settle(&mut moment);
        moment
    }

    /// The shortest way to a state.
    fn story(&self, reached: &BTreeMap<u64, Option<(u64, usize)>>, print: u64) -> String {
        let (mut path, mut at) = (Vec::new(), print);
        while let Some((from, index)) = reached[&at] {
            path.push(index);
            at = from;
        }
        let (mut moment, mut story) = (self.first(), String::new());
        for index in path.into_iter().rev() {
            let step = self.steps(&moment).swap_remove(index);
            writeln!(story, "{step:?}").expect("a text");
            self.take(&mut moment, step);
        }
        story
    }

    fn broken_in(&self, moment: &At<S>) -> Option<String> {
        let mut all = moment.living();
        let itself = all.any(|(node, machine)| machine.node_state() == slave_of(number(node)));
        let itself = itself.then_some("a node follows itself");
        let broken = moment.broken.or(itself).or_else(|| self.subject.broken_in(moment));
        broken.map(str::to_owned)
    }

    fn calm(&self, begin: &At<S>) -> Option<String> {
        let mut random = fastrand::Rng::with_seed(fingerprint(begin));
        let bound = self.bounds.bound;
        let period = (bound / BEACONS).max(MeshTimes::default().beacon_period);
        let mut moment = begin.clone();
        for until in moment.armed.values_mut() {
            *until = until.mul_f64(random.f64());
        }
        let mut beacons: BTreeMap<_, _> =
            self.pairs().map(|pair| (pair, period.mul_f64(random.f64()))).collect();
        let mut messages: Vec<(Duration, Sent)> = Vec::new();
        let mut now = Duration::ZERO;
        while now < bound * 5 / 4 {
            moment.now = Some(now);
            for sent in std::mem::take(&mut moment.network) {
                let delay = Duration::from_micros(random.u64(..DELAY_MILLIS * 1_000));
                messages.push((now + delay, sent));
            }
            messages.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
            let timer = moment.armed.iter().min_by_key(|(_, at)| **at);
            let timer = timer.map(|(timer, at)| (*at, timer.clone()));
            let (&(node, peer), &beacon) = beacons.iter().min_by_key(|(_, at)| **at)?;
            let arrival = messages.last().map_or(Duration::MAX, |(at, _)| *at);
            let draw = random.u64(..);
            if let Some((at, (node, timer))) = timer
                && at <= beacon.min(arrival)
            {
                (now, moment.now) = (at, Some(at));
                self.fire(&mut moment, node, &timer, draw);
            } else if arrival <= beacon {
                (now, moment.now) = (arrival, Some(arrival));
                if let Some((_, sent)) = messages.pop() {
                    self.arrive(&mut moment, &sent, draw);
                }
            } else {
                (now, moment.now) = (beacon, Some(beacon));
                beacons.insert((node, peer), beacon + period);
                self.hear_or_miss(&mut moment, node, peer, draw);
            }
            if let Some(broken) = self.broken_in(&moment) {
                return Some(format!("{now:?} into the calm: {broken}: {moment:#?}"));
            }
            if now > bound && !self.subject.is_right(&moment) {
                return Some(format!("wrong {now:?} into the calm: {moment:#?}"));
            }
        }
        None
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<S> {
        let nodes = self.bounds.nodes;
        let all = (0..nodes).flat_map(move |one| (0..nodes).map(move |other| (one, other)));
        all.filter(|(one, other)| one != other)
    }

    fn feed(&self, moment: &mut At<S>, node: usize, input: &Input<'_>, draw: u64) {
        let Some(before) = moment.nodes[node].clone() else { return };
        let mut machine = S::Machine::clone(&before);
        let mut outputs = Vec::new();
        machine.handle(input.clone(), draw, &mut outputs);
        let (after, outputs) = (&mut machine, &outputs);
        let mut taken = Taken { node, before: &*before, input, after, outputs };
        let broken = self.subject.broken_by(&mut taken, &mut moment.notes);
        moment.broken = moment.broken.or(broken);
        if machine != *before {
            moment.nodes[node] = Some(Rc::new(machine));
        }
        for output in outputs {
            self.perform(moment, node, output.clone());
        }
    }

    fn perform(&self, moment: &mut At<S>, node: usize, output: Output) {
        match output {
            Output::Arm(timer, wait) => {
                let until = moment.now.unwrap_or_default() + wait;
                moment.armed.insert((node, timer), until);
            }
            Output::Disarm(timer) => {
                moment.armed.remove(&(node, timer));
            }
            Output::Broadcast(message) => {
                for (_, to) in self.pairs().filter(|(from, _)| *from == node) {
                    self.send(moment, Sent { from: node, to, message: message.clone() });
                }
            }
            Output::Send(to, message) | Output::HandOver(to, message) => {
                let to = (0..self.bounds.nodes).find(|node| name(number(*node)) == to);
                self.send(moment, Sent { from: node, to: to.expect("a node"), message });
            }
            Output::Dial(_) | Output::HangUp(_) | Output::HangUpAllBut(_) => {
                panic!("{node}: {output:?} is none of the protocol's");
            }
        }
    }

    fn send(&self, moment: &mut At<S>, sent: Sent) {
        let is_carried = moment.now.is_some() || moment.network.len() < self.bounds.messages;
        if is_carried && moment.nodes[sent.to].is_some() {
            moment.network.insert(sent);
        }
    }

    fn start(&self, moment: &mut At<S>, node: usize) {
        let own = self.subject.candidate(node);
        let incarnation = u64::from(moment.happened.restarts) * 100 + u64::from(number(node));
        moment.nodes[node] = Some(Rc::new(self.subject.machine(own, incarnation)));
        self.feed(moment, node, &Input::Start, 0);
        // It has heard all others.
        for (_, peer) in self.pairs().filter(|(own, _)| *own == node) {
            let (peer, node_state) = (&self.subject.candidate(peer), &NodeState::Seeking);
            self.feed(moment, node, &Input::Heard { peer, node_state, term: Term(0) }, 0);
        }
    }

    fn lose(&self, moment: &mut At<S>, node: usize, peer: usize, draw: u64) {
        self.feed(moment, node, &Input::Lost { peer: &name(number(peer)) }, draw);
    }

    /// A beacon has the state that its sender has at that moment; the dead send none.
    fn hear_or_miss(&self, moment: &mut At<S>, node: usize, peer: usize, draw: u64) {
        let Some(machine) = moment.machine(peer) else {
            return self.lose(moment, node, peer, draw);
        };
        let (node_state, term) = (machine.node_state(), S::term(machine));
        let peer = &Candidate { estimate: machine.estimate(), ..self.subject.candidate(peer) };
        self.feed(moment, node, &Input::Heard { peer, node_state: &node_state, term }, draw);
    }

    fn arrive(&self, moment: &mut At<S>, sent: &Sent, draw: u64) {
        let (from, message) = (&name(number(sent.from)), &sent.message);
        self.feed(moment, sent.to, &Input::Message { from, message }, draw);
    }

    fn fire(&self, moment: &mut At<S>, node: usize, timer: &ElectionTimer, draw: u64) {
        moment.armed.remove(&(node, timer.clone()));
        self.feed(moment, node, &Input::Fired(timer), draw);
    }

    /// Beacons and losses, where they are instant, until nothing changes any more.
    fn settle(&self, moment: &mut At<S>) {
        let mut before = None;
        while self.bounds.is_instant && before != Some(fingerprint(moment)) {
            before = Some(fingerprint(moment));
            for (node, peer) in self.pairs() {
                self.hear_or_miss(moment, node, peer, 0);
            }
        }
    }

    fn steps(&self, moment: &At<S>) -> Vec<Step> {
        let mut steps = Vec::new();
        for sent in &moment.network {
            steps.push(Step::IsLost(sent.clone()));
            for &draw in S::DRAWS {
                let arrives = |may_repeat| Step::Arrives { sent: sent.clone(), may_repeat, draw };
                steps.extend([true, false].map(arrives));
            }
        }
        let (most, happened) = (self.bounds.most, moment.happened);
        for (node, peer) in self.pairs().filter(|(node, _)| moment.machine(*node).is_some()) {
            for message in self.subject.forgeries() {
                let sent = Sent { from: peer, to: node, message };
                steps.push(Step::Arrives { sent, may_repeat: true, draw: 0 });
            }
            if self.bounds.is_instant {
                continue;
            }
            let lives = moment.machine(peer).is_some();
            steps.extend(lives.then_some(Step::Hears { node, peer }));
            if !lives || happened.breaks < most.breaks {
                steps.extend(S::DRAWS.iter().map(|&draw| Step::Loses { node, peer, draw }));
            }
        }
        for (node, timer) in moment.armed.keys() {
            let fires = |&draw: &u64| Step::Fires { node: *node, timer: timer.clone(), draw };
            steps.extend(S::DRAWS.iter().map(fires));
        }
        for node in 0..self.bounds.nodes {
            if moment.machine(node).is_some() {
                steps.extend((happened.crashes < most.crashes).then_some(Step::Crashes(node)));
            } else {
                steps.extend((happened.restarts < most.restarts).then_some(Step::Restarts(node)));
            }
        }
        steps
    }

    fn take(&self, moment: &mut At<S>, step: Step) {
        let most = self.bounds.most;
        match step {
            Step::Arrives { sent, may_repeat, draw } => {
                if !may_repeat {
                    moment.network.remove(&sent);
                }
                self.arrive(moment, &sent, draw);
            }
            Step::IsLost(sent) => {
                moment.network.remove(&sent);
            }
            Step::Fires { node, timer, draw } => self.fire(moment, node, &timer, draw),
            Step::Hears { node, peer } => self.hear_or_miss(moment, node, peer, 0),
            Step::Loses { node, peer, draw } => {
                if moment.machine(peer).is_some() {
                    count(&mut moment.happened.breaks, most.breaks);
                }
                self.lose(moment, node, peer, draw);
            }
            Step::Crashes(node) => {
                count(&mut moment.happened.crashes, most.crashes);
                moment.nodes[node] = None;
                moment.armed.retain(|(armed, _), _| *armed != node);
                moment.network.retain(|sent| sent.to != node);
            }
            // A new incarnation: the mesh reports the former one as lost.
            Step::Restarts(node) => {
                count(&mut moment.happened.restarts, most.restarts);
                moment.network.retain(|sent| sent.from != node);
                for (at, _) in self.pairs().filter(|(_, peer)| *peer == node) {
                    self.lose(moment, at, node, 0);
                }
                self.start(moment, node);
            }
        }
        self.settle(moment);
    }
}

fn count(happened: &mut u8, most: u8) {
    if most != WITHOUT_END {
        *happened += 1;
    }
}
