//! Several nodes on a network in virtual time, without anything of the node around them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::{Senior, Settings, Timer};
use crate::election::{Candidate, Election, ElectionTimer, Input, Message, Output};
use crate::model::Term;
use crate::wire::NodeState;

#[derive(Debug)]
pub(super) struct Lan {
    pub(super) machines: Vec<Machine>,
    /// In per cent, of the protocol's own messages.
    pub(super) loss: u8,
    /// Most delay, in milliseconds.
    pub(super) delay: u64,
    /// Who does not hear whom.
    pub(super) deaf: BTreeSet<(usize, usize)>,
    pub(super) now: Duration,
    random: fastrand::Rng,
    flights: BTreeMap<(Duration, u64), Flight>,
    sent: u64,
    beacon_period: Duration,
    beacon_at: Duration,
}

/// A node that has not been heard for so many beacons is lost.
const DEAD_AFTER: u32 = 8;

#[derive(Debug)]
pub(super) struct Machine {
    pub(super) candidate: Candidate,
    /// `None` while it is off.
    pub(super) election: Option<Senior>,
    pub(super) timers: BTreeMap<Timer, Duration>,
    /// When each other node was last heard; who is not in it is lost.
    heard: BTreeMap<usize, Duration>,
}

#[derive(Debug)]
struct Flight {
    from: usize,
    to: usize,
    message: Message,
}

impl Lan {
    /// Nodes that are all off. Their beacons are twice as frequent as requests, as with the
    /// defaults of both.
    pub(super) fn new(
        candidates: impl IntoIterator<Item = Candidate>,
        settings: Settings,
        seed: u64,
    ) -> Self {
        let machines = candidates.into_iter().map(|candidate| Machine {
            candidate,
            election: None,
            timers: BTreeMap::new(),
            heard: BTreeMap::new(),
        });
        Self {
            machines: machines.collect(),
            loss: 0,
            delay: 1,
            deaf: BTreeSet::new(),
            now: Duration::ZERO,
            random: fastrand::Rng::with_seed(seed),
            flights: BTreeMap::new(),
            sent: 0,
            beacon_period: settings.request_period / 2,
            beacon_at: Duration::ZERO,
        }
    }

    /// Puts a node into the middle of its life: what it has armed fires after its full time, whom
    /// it hears it has heard just then.
    pub(super) fn place(
        &mut self,
        at: usize,
        election: Senior,
        armed: impl Iterator<Item = Timer>,
        hears: impl Iterator<Item = usize>,
    ) {
        let wait = |timer| election.settings.wait(timer);
        self.machines[at].timers = armed.map(|timer| (timer, wait(timer))).collect();
        self.machines[at].heard = hears.map(|other| (other, Duration::ZERO)).collect();
        self.machines[at].election = Some(election);
    }

    pub(super) fn start(&mut self, at: usize, settings: Settings) {
        let machine = &mut self.machines[at];
        machine.election = Some(Senior::new(&machine.candidate, settings));
        self.feed(at, Input::Start);
    }

    pub(super) fn stop(&mut self, at: usize) {
        let machine = &mut self.machines[at];
        machine.election = None;
        machine.timers.clear();
        machine.heard.clear();
    }

    pub(super) fn cut(&mut self, left: &[usize], right: &[usize]) {
        for (one, other) in left.iter().flat_map(|l| right.iter().map(move |r| (*l, *r))) {
            self.deaf.extend([(one, other), (other, one)]);
        }
    }

    pub(super) fn node_state(&self, at: usize) -> Option<NodeState> {
        self.machines[at].election.as_ref().map(Election::node_state)
    }

    /// The one master of these nodes, known to all of them.
    pub(super) fn master_of(&self, group: &[usize]) -> Option<usize> {
        let leads = |at: &&usize| self.node_state(**at) == Some(NodeState::Master);
        let master = *group.iter().find(leads)?;
        let named = NodeState::Slave { master: self.machines[master].candidate.node.clone() };
        let agree = |at: &usize| *at == master || self.node_state(*at).as_ref() == Some(&named);
        group.iter().all(agree).then_some(master)
    }

    pub(super) fn running(&self) -> Vec<usize> {
        let runs = |at: &usize| self.machines[*at].election.is_some();
        (0..self.machines.len()).filter(runs).collect()
    }

    pub(super) fn master(&self) -> Option<usize> {
        self.master_of(&self.running())
    }

    pub(super) fn run_for(&mut self, time: Duration) {
        let until = self.now + time;
        while self.step(until) {}
    }

    /// Runs until a condition holds; returns how long that took.
    pub(super) fn run_until(
        &mut self,
        limit: Duration,
        holds: impl Fn(&Self) -> bool,
    ) -> Option<Duration> {
        let (from, until) = (self.now, self.now + limit);
        while !holds(self) {
            if !self.step(until) {
                return None;
            }
        }
        Some(self.now.saturating_sub(from))
    }

    fn step(&mut self, until: Duration) -> bool {
        let timer = |(at, machine): (usize, &Machine)| {
            let first = machine.timers.iter().min_by_key(|(_, due)| **due)?;
            Some((*first.1, at, *first.0))
        };
        let timer = self.machines.iter().enumerate().filter_map(timer).min();
        let flight = self.flights.keys().next().copied();
        let next = [Some(self.beacon_at), timer.map(|t| t.0), flight.map(|f| f.0)];
        let next = next.into_iter().flatten().min().unwrap_or(until);
        if next >= until {
            self.now = until;
            return false;
        }
        self.now = next;
        if let Some((_, at, timer)) = timer.filter(|timer| timer.0 == next) {
            self.machines[at].timers.remove(&timer);
            self.feed(at, Input::Fired(&timer.into()));
        } else if flight.is_some_and(|flight| flight.0 == next) {
            self.arrive();
        } else {
            self.beacons();
        }
        true
    }

    fn arrive(&mut self) {
        let Some((_, flight)) = self.flights.pop_first() else {
            return;
        };
        let (from, to) = (flight.from, flight.to);
        if self.machines[to].heard.contains_key(&from) {
            let name = self.machines[from].candidate.node.clone();
            let message = &flight.message;
            self.feed(to, Input::Message { from: &name, message });
        }
    }

    /// Everybody hears everybody who is there; who has been silent for too long is lost.
    fn beacons(&mut self) {
        self.beacon_at = self.now + self.beacon_period;
        let count = self.machines.len();
        for (to, from) in (0..count).flat_map(|to| (0..count).map(move |from| (to, from))) {
            let peer = self.machines[from].candidate.clone();
            let node_state = self.node_state(from).filter(|_| self.connects(from, to));
            if let Some(node_state) = node_state {
                self.machines[to].heard.insert(from, self.now);
                let heard =
                    Input::Heard { peer: &peer, node_state: &node_state, term: Term::default() };
                self.feed(to, heard);
            } else if let Some(at) = self.machines[to].heard.get(&from)
                && self.now >= *at + self.beacon_period * DEAD_AFTER
            {
                self.machines[to].heard.remove(&from);
                self.feed(to, Input::Lost { peer: &peer.node });
            }
        }
    }

    fn connects(&self, from: usize, to: usize) -> bool {
        let runs = |at: usize| self.machines[at].election.is_some();
        from != to && runs(from) && runs(to) && !self.deaf.contains(&(from, to))
    }

    fn feed(&mut self, at: usize, input: Input<'_>) {
        let machine = &mut self.machines[at];
        let mut outputs = Vec::new();
        if let Some(election) = machine.election.as_mut() {
            election.handle(input, 0, &mut outputs);
        }
        for output in outputs {
            self.perform(at, output);
        }
    }

    fn perform(&mut self, at: usize, output: Output) {
        let timers = &mut self.machines[at].timers;
        match output {
            Output::Arm(ElectionTimer::Senior(timer), wait) => {
                timers.insert(timer, self.now + wait);
            }
            Output::Disarm(ElectionTimer::Senior(timer)) => {
                timers.remove(&timer);
            }
            Output::Broadcast(message) => {
                for to in 0..self.machines.len() {
                    self.post(at, to, message.clone());
                }
            }
            Output::Send(to, message) => {
                let named = |machine: &Machine| machine.candidate.node == to;
                if let Some(to) = self.machines.iter().position(named) {
                    self.post(at, to, message);
                }
            }
            other @ (Output::Arm(..)
            | Output::Disarm(_)
            | Output::HandOver(..)
            | Output::Dial(_)
            | Output::HangUp(_)
            | Output::HangUpAllBut(_)) => panic!("{other:?} is none of the protocol's"),
        }
    }

    fn post(&mut self, from: usize, to: usize, message: Message) {
        if self.connects(from, to) && self.random.u8(0..100) >= self.loss {
            let at = self.now + Duration::from_millis(self.random.u64(1..=self.delay));
            self.sent += 1;
            let flight = Flight { from, to, message };
            self.flights.insert((at, self.sent), flight);
        }
    }
}
