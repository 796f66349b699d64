//! What happens to the machines of a model, step by step.

use std::collections::BTreeSet;
use std::sync::Arc;

use stateright::{Model, Property};

use super::{
    At, Beacons, Bounds, Check, Copies, IN_CALM, Misfortunes, Moment, Network, Sent, Step, Subject,
    Taken, WITHOUT_END, number,
};
use crate::election::{Candidate, Election, ElectionTimer, Input, Output};
use crate::model::{NodeId, NodeState};

impl<S: Subject> Check<S> {
    pub(crate) fn new(subject: S, bounds: Bounds) -> Self {
        let candidates = (0..bounds.nodes).map(|node| subject.candidate(node)).collect();
        let subject = Arc::new(subject);
        Self { subject, bounds, candidates, witness: None, begins_empty: false }
    }

    pub(crate) fn name(&self, node: usize) -> &NodeId {
        &self.candidates[node].node
    }

    pub(crate) fn index(&self, name: &NodeId) -> usize {
        let mut nodes = self.candidates.iter();
        nodes.position(|candidate| candidate.node == *name).expect("a node of the fleet")
    }

    /// The node that leads alone, if all others that live follow it.
    pub(crate) fn agreed_master(&self, moment: &At<S>) -> Option<usize> {
        let (master, _) = moment.living().find(|(node, _)| moment.leads(*node))?;
        let follows = NodeState::Slave { master: self.name(master).clone() };
        let mut others = moment.living().filter(|(node, _)| *node != master);
        others.all(|(_, machine)| machine.node_state() == follows).then_some(master)
    }

    pub(crate) fn pairs(&self) -> impl Iterator<Item = (usize, usize)> + use<S> {
        let nodes = self.bounds.nodes;
        let all = (0..nodes).flat_map(move |one| (0..nodes).map(move |other| (one, other)));
        all.filter(|(one, other)| one != other)
    }

    pub(crate) fn feed(&self, moment: &mut At<S>, node: usize, input: &Input<'_>, draw: u64) {
        let Some(before) = moment.nodes[node].clone() else {
            return;
        };
        let mut machine = S::Machine::clone(&before);
        let mut outputs = Vec::new();
        machine.handle(input.clone(), draw, &mut outputs);
        let mut taken =
            Taken { node, before: &*before, input, after: &mut machine, outputs: &outputs };
        S::observe(self, moment, &mut taken);
        if machine != *before {
            moment.nodes[node] = Some(machine.into());
        }
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
                    self.send(moment, Sent { from: node, to, message: message.clone() });
                }
            }
            Output::Send(to, message) | Output::HandOver(to, message) => {
                let to = self.index(&to);
                self.send(moment, Sent { from: node, to, message });
            }
            Output::Dial(_) | Output::HangUp(_) | Output::HangUpAllBut(_) => {
                S::link(self, moment, node, output);
            }
        }
    }

    fn send(&self, moment: &mut At<S>, sent: Sent) {
        let is_carried = match self.bounds.network {
            Network::Repeats(_) => true,
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
        moment.nodes[node] = Some(self.subject.machine(own, incarnation).into());
        self.feed(moment, node, &Input::Start, 0);
        S::started(self, moment, node);
    }

    /// A beacon has the state that its sender has at that moment.
    pub(crate) fn hear(&self, moment: &mut At<S>, node: usize, peer: usize) {
        if let Some(machine) = moment.nodes[peer].as_ref() {
            let (node_state, term) = (machine.node_state(), S::term(machine));
            let estimate = machine.estimate();
            let peer = &Candidate { estimate, ..self.candidates[peer].clone() };
            self.feed(moment, node, &Input::Heard { peer, node_state: &node_state, term }, 0);
        }
    }

    pub(crate) fn lose(&self, moment: &mut At<S>, node: usize, peer: usize, draw: u64) {
        self.feed(moment, node, &Input::Lost { peer: self.name(peer) }, draw);
    }

    fn arrive(&self, moment: &mut At<S>, sent: &Sent, draw: u64) {
        let (from, message) = (self.name(sent.from), &sent.message);
        self.feed(moment, sent.to, &Input::Message { from, message }, draw);
    }

    pub(crate) fn fire(&self, moment: &mut At<S>, node: usize, timer: &ElectionTimer, draw: u64) {
        moment.armed.remove(&(node, timer.clone()));
        self.feed(moment, node, &Input::Fired(timer), draw);
    }

    /// All hear all who live, and miss all who don't.
    pub(crate) fn hear_everybody(&self, moment: &mut At<S>) {
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

    fn messages(&self, moment: &At<S>, steps: &mut Vec<Step<S::Step>>) {
        let arrives =
            |sent: &Sent, copies, draw| Step::Arrives { sent: sent.clone(), copies, draw };
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
            Network::Forges => {
                let forgeries = self.subject.forgeries();
                for (from, to) in self.pairs().filter(|(_, to)| moment.lives(*to)) {
                    for message in forgeries.iter().cloned() {
                        let sent = Sent { from, to, message };
                        let arrives = |draw: &u64| arrives(&sent, Copies::Kept, *draw);
                        steps.extend(S::DRAWS.iter().map(arrives));
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
            let knows = S::knows(machine, self.name(peer));
            if may_lose && knows && self.bounds.beacons != Beacons::Instant {
                steps.extend(S::DRAWS.iter().map(|&draw| Step::Loses { node, peer, draw }));
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
            let fires = |draw: &u64| Step::Fires { node, timer: timer.clone(), draw: *draw };
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
            Network::Carries(_) | Network::Forges => true,
        };
        few && self.subject.within(moment)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = self.subject.properties();
        properties.extend([
            Property::always("no forbidden step", |_, moment: &At<S>| moment.fault.is_none()),
            Property::always(IN_CALM, |check: &Self, moment| {
                check.witness.as_ref().is_none_or(|witness| witness(moment))
            }),
            Property::always("nobody follows itself", |check: &Self, moment: &At<S>| {
                moment.living().all(|(node, machine)| {
                    let master = check.name(node).clone();
                    machine.node_state() != NodeState::Slave { master }
                })
            }),
            Property::always("each waits for the timers of its state", |_, moment: &At<S>| {
                let armed = |node| moment.timers(node).cloned().collect();
                moment.living().all(|(node, machine)| {
                    S::timers(machine).is_none_or(|timers| timers == armed(node))
                })
            }),
        ]);
        properties
    }
}

fn count(happened: &mut u8, most: u8) {
    if most != WITHOUT_END {
        *happened += 1;
    }
}
