//! Every behaviour of a few nodes, on a network that loses, delays and repeats packets, with timers
//! that fire whenever they are armed.
//!
//! Votes are drawn from two numbers, so ties are as frequent as can be. Nothing else grows: a round
//! has no number. What is bounded is how many packets are under way at once, and that a node
//! crashes once (and, where told, starts again once). The mesh hears and loses: with two nodes at
//! any moment, in any order with the packets; with three nodes it tells at once who leads.
//!
//! The largest models that a debug build exhausts in about 20 s are those of the tests.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use stateright::{Checker, Model, Property};

use super::*;
use crate::election::{Message as Any, nodes};
use crate::model::Term;

/// More states than any of the models generates. A run that comes so far has not seen all, and
/// fails: the checker stops there, and calls itself done.
const MOST_STATES: usize = 40_000_000;

/// The nodes, and what may happen to them.
#[derive(Debug, Clone)]
struct Fleet {
    nodes: usize,
    /// So many of them, the last ones, are regular leaders.
    regular: usize,
    /// The most packets that are under way at once.
    most_packets: usize,
    crashes: usize,
    restarts: usize,
    beacons: Beacons,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beacons {
    /// They arrive at once, and a crash is noticed at once.
    Instant,
    /// They arrive some time, and peers are lost some time, even living ones.
    Late,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Hall {
    nodes: Vec<Option<Ballot>>,
    armed: Vec<BTreeSet<Timer>>,
    packets: BTreeSet<Packet>,
    crashes: usize,
    restarts: usize,
    /// What was done that no node may do.
    broken: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Packet {
    from: usize,
    to: usize,
    says: Says,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Says {
    Control,
    Ballot(Message),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// A packet arrives, and may arrive again.
    Arrives {
        packet: Packet,
        again: bool,
        draw: u64,
    },
    Dropped(Packet),
    Fires {
        node: usize,
        timer: Timer,
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
    Starts(usize),
}

fn number(node: usize) -> u8 {
    u8::try_from(node).expect("few nodes")
}

impl Fleet {
    fn name(node: usize) -> NodeId {
        nodes::name(number(node))
    }

    fn candidate(&self, node: usize) -> Candidate {
        Candidate {
            role: if node + self.regular < self.nodes {
                Role::Cabin
            } else {
                Role::ControlUnit
            },
            ..nodes::candidate(number(node))
        }
    }

    fn start(&self, hall: &mut Hall, node: usize) {
        let settings = Settings {
            patience: 2,
            ..Settings::default()
        };
        hall.nodes[node] = Some(Ballot::new(self.candidate(node), settings));
        hall.armed[node].clear();
        self.feed(hall, node, &Input::Start, 0);
    }

    fn feed(&self, hall: &mut Hall, node: usize, input: &Input<'_>, draw: u64) {
        let Some(mut ballot) = hall.nodes[node].take() else {
            return;
        };
        let before = ballot.clone();
        let mut outputs = Vec::new();
        ballot.handle(input.clone(), draw, &mut outputs);
        hall.broken = hall
            .broken
            .or_else(|| broken_rule(&before, input, &ballot, &outputs));
        hall.nodes[node] = Some(ballot);
        for output in outputs {
            match output {
                Output::Arm(ElectionTimer::Ballot(timer), _) => {
                    hall.armed[node].insert(timer);
                }
                Output::Disarm(ElectionTimer::Ballot(timer)) => {
                    hall.armed[node].remove(&timer);
                }
                Output::Broadcast(message) => {
                    let says = if let Any::Ballot(message) = message {
                        Says::Ballot(message)
                    } else {
                        assert_eq!(message, Any::SensorRequest);
                        Says::Control
                    };
                    for to in (0..self.nodes).filter(|to| *to != node) {
                        let (from, says) = (node, says.clone());
                        hall.packets.insert(Packet { from, to, says });
                    }
                }
                other @ (Output::Arm(..)
                | Output::Disarm(_)
                | Output::Send(..)
                | Output::HandOver(..)
                | Output::Dial(_)
                | Output::HangUp(_)
                | Output::HangUpAllBut(_)) => unreachable!("{other:?}"),
            }
        }
    }

    fn hears(&self, hall: &mut Hall, node: usize, peer: usize) {
        if let Some(standing) = hall.nodes[peer].as_ref().map(Election::standing) {
            let (peer, term) = (&self.candidate(peer), Term::default());
            let standing = &standing;
            let heard = Input::Heard {
                peer,
                standing,
                term,
            };
            self.feed(hall, node, &heard, 0);
        }
    }

    fn loses(&self, hall: &mut Hall, node: usize, peer: usize, draw: u64) {
        let peer = &Self::name(peer);
        self.feed(hall, node, &Input::Lost { peer }, draw);
    }

    /// Beacons and losses, where they are instant, until nothing changes any more.
    fn settle(&self, hall: &mut Hall, draw: u64) {
        if self.beacons == Beacons::Late {
            return;
        }
        loop {
            let before = hall.clone();
            for (node, peer) in self.pairs() {
                let gone = hall.nodes[peer].is_none();
                let known = hall.nodes[node]
                    .as_ref()
                    .is_some_and(|ballot| ballot.peers.contains_key(&Self::name(peer)));
                if gone && known {
                    self.loses(hall, node, peer, draw);
                } else if !gone {
                    self.hears(hall, node, peer);
                }
            }
            if *hall == before {
                return;
            }
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (usize, usize)> {
        let nodes = self.nodes;
        (0..nodes)
            .flat_map(move |one| (0..nodes).map(move |other| (one, other)))
            .filter(|(one, other)| one != other)
    }
}

/// What a node has done in a step that none may do.
fn broken_rule(
    before: &Ballot,
    input: &Input<'_>,
    after: &Ballot,
    outputs: &[Output],
) -> Option<&'static str> {
    let mut votes = Vec::new();
    let mut resets = 0;
    for output in outputs {
        if let Output::Broadcast(Any::Ballot(message)) = output {
            match message {
                Message::Vote(vote) => votes.push(*vote),
                Message::Reset => resets += 1,
            }
        }
    }
    let over = matches!(input, Input::Fired(ElectionTimer::Ballot(Timer::Round)));
    let round = match &before.state {
        State::Voting { own, best, .. } => Some((*own, *best)),
        State::Waiting { .. } | State::Following { .. } | State::Leading => None,
    };
    if round.is_some() && !over && !votes.is_empty() || votes.len() > 1 {
        return Some("E7: a second vote in one round");
    }
    if after.regular && !votes.is_empty() {
        return Some("V7: a regular leader votes");
    }
    if !after.regular && resets > 0 {
        return Some("V7: a cabin resets");
    }
    if let (Some((own, best)), true) = (round, over) {
        let right = match &after.state {
            State::Leading => best < Some(own),
            State::Voting { .. } => best == Some(own) && votes.len() == 1,
            State::Waiting { .. } => best > Some(own),
            State::Following { .. } => false,
        };
        if !right {
            return Some("V3, V5: the round has another outcome");
        }
    }
    let reset = matches!(
        input,
        Input::Message { from, message: Any::Ballot(Message::Reset) } if before.is_regular(from)
    );
    if reset && !after.regular && !matches!(after.state, State::Following { .. }) {
        return Some("V7: a reset is not obeyed");
    }
    None
}

impl Model for Fleet {
    type State = Hall;
    type Action = Step;

    fn init_states(&self) -> Vec<Hall> {
        let mut hall = Hall {
            nodes: vec![None; self.nodes],
            armed: vec![BTreeSet::new(); self.nodes],
            packets: BTreeSet::new(),
            crashes: self.crashes,
            restarts: self.restarts,
            broken: None,
        };
        for node in 0..self.nodes {
            self.start(&mut hall, node);
        }
        // Nobody was known when they were sent.
        hall.packets.clear();
        self.settle(&mut hall, 0);
        vec![hall]
    }

    fn actions(&self, hall: &Hall, actions: &mut Vec<Step>) {
        for packet in &hall.packets {
            actions.push(Step::Dropped(packet.clone()));
            for (again, draw) in [(false, 0), (false, 1), (true, 0), (true, 1)] {
                let packet = packet.clone();
                actions.push(Step::Arrives {
                    packet,
                    again,
                    draw,
                });
            }
        }
        for (node, timers) in hall.armed.iter().enumerate() {
            for (timer, draw) in timers.iter().flat_map(|timer| [(*timer, 0), (*timer, 1)]) {
                actions.push(Step::Fires { node, timer, draw });
            }
        }
        if self.beacons == Beacons::Late {
            for (node, peer) in self.pairs() {
                actions.push(Step::Hears { node, peer });
                actions.extend([0, 1].map(|draw| Step::Loses { node, peer, draw }));
            }
        }
        for node in 0..self.nodes {
            match &hall.nodes[node] {
                Some(_) if hall.crashes > 0 => actions.push(Step::Crashes(node)),
                None if hall.restarts > 0 => actions.push(Step::Starts(node)),
                Some(_) | None => {}
            }
        }
    }

    fn next_state(&self, hall: &Hall, step: Step) -> Option<Hall> {
        let mut next = hall.clone();
        let mut lot = 0;
        match step {
            Step::Arrives {
                packet,
                again,
                draw,
            } => {
                lot = draw;
                if !again {
                    next.packets.remove(&packet);
                }
                let message = match packet.says {
                    Says::Control => Any::SensorRequest,
                    Says::Ballot(message) => message.into(),
                };
                let (from, message) = (&Self::name(packet.from), &message);
                let input = Input::Message { from, message };
                self.feed(&mut next, packet.to, &input, draw);
            }
            Step::Dropped(packet) => {
                next.packets.remove(&packet);
            }
            Step::Fires { node, timer, draw } => {
                lot = draw;
                next.armed[node].remove(&timer);
                self.feed(&mut next, node, &Input::Fired(&timer.into()), draw);
            }
            Step::Hears { node, peer } => self.hears(&mut next, node, peer),
            Step::Loses { node, peer, draw } => self.loses(&mut next, node, peer, draw),
            Step::Crashes(node) => {
                next.nodes[node] = None;
                next.armed[node].clear();
                next.crashes -= 1;
            }
            Step::Starts(node) => {
                next.restarts -= 1;
                for (at, peer) in self.pairs().filter(|(_, peer)| *peer == node) {
                    self.loses(&mut next, at, peer, 0);
                }
                self.start(&mut next, node);
            }
        }
        self.settle(&mut next, lot);
        (next != *hall).then_some(next)
    }

    fn within_boundary(&self, hall: &Hall) -> bool {
        hall.packets.len() <= self.most_packets
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always("the rules are kept", |_, hall: &Hall| hall.broken.is_none()),
            Property::always(
                "each node waits for its state's timer alone",
                |_, hall: &Hall| {
                    hall.living()
                        .all(|(node, ballot)| hall.armed[node].iter().eq([&ballot.state.timer()]))
                },
            ),
            Property::always("nobody follows itself", |_, hall: &Hall| {
                hall.living().all(|(_, ballot)| {
                    let master = ballot.name.clone();
                    ballot.standing() != Standing::Slave { master }
                })
            }),
            Property::always(
                "a regular leader leads or follows its like",
                |_, hall: &Hall| {
                    let mut regular = hall.living().filter(|(_, ballot)| ballot.regular);
                    regular.all(|(_, ballot)| match &ballot.state {
                        State::Leading => true,
                        State::Following { leader, .. } => *leader < ballot.name,
                        State::Waiting { .. } | State::Voting { .. } => false,
                    })
                },
            ),
            Property::sometimes("one leads and all follow it", |_, hall: &Hall| {
                hall.agrees()
            }),
        ];
        if self.crashes > 0 {
            properties.push(Property::sometimes(
                "after a crash the others agree",
                |_, hall: &Hall| hall.nodes.iter().any(Option::is_none) && hall.agrees(),
            ));
        }
        if self.regular < 2 {
            let two = "two stand-ins lead, until they hear of each other";
            properties.push(Property::sometimes(two, |_, hall: &Hall| {
                hall.living()
                    .filter(|(_, ballot)| ballot.standing() == Standing::Master)
                    .count()
                    > 1
            }));
        }
        properties
    }
}

impl Hall {
    fn living(&self) -> impl Iterator<Item = (usize, &Ballot)> {
        let nodes = self.nodes.iter().enumerate();
        nodes.filter_map(|(node, ballot)| Some((node, ballot.as_ref()?)))
    }

    /// One leads, the others follow it, and no packet is under way that could change that; a
    /// regular leader is followed by all.
    fn agrees(&self) -> bool {
        let mut leaders = self
            .living()
            .filter(|(_, ballot)| ballot.state == State::Leading);
        let (Some((_, leader)), None) = (leaders.next(), leaders.next()) else {
            return false;
        };
        let by_right = self.living().all(|(_, ballot)| !ballot.regular);
        let follow = self.living().all(|(_, ballot)| match &ballot.state {
            State::Leading => true,
            State::Following { leader: of, .. } => *of == leader.name,
            State::Waiting { .. } | State::Voting { .. } => false,
        });
        follow && (by_right || leader.regular) && self.packets.is_empty()
    }
}

fn exhaust(what: &str, fleet: Fleet) {
    let checker = fleet
        .checker()
        .threads(2)
        .target_state_count(MOST_STATES)
        .spawn_bfs()
        .join();
    println!(
        "{what}: {} states, depth {}",
        checker.unique_state_count(),
        checker.max_depth()
    );
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "{what}: not exhausted");
    checker.assert_properties();
}

/// From every state that can be reached, one can be reached in which all agree.
fn can_always_agree(what: &str, fleet: &Fleet) {
    let key = |hall: &Hall| {
        let mut hasher = DefaultHasher::new();
        hall.hash(&mut hasher);
        hasher.finish()
    };
    let mut comes_from: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut agreed = Vec::new();
    let mut seen = BTreeSet::new();
    let mut open = fleet.init_states();
    seen.extend(open.iter().map(key));
    while let Some(hall) = open.pop() {
        let from = key(&hall);
        if hall.agrees() {
            agreed.push(from);
        }
        for (_, next) in fleet.next_steps(&hall) {
            if fleet.within_boundary(&next) {
                let to = key(&next);
                comes_from.entry(to).or_default().push(from);
                if seen.insert(to) {
                    open.push(next);
                }
            }
        }
    }
    let mut good: BTreeSet<u64> = agreed.iter().copied().collect();
    while let Some(state) = agreed.pop() {
        for before in comes_from.remove(&state).unwrap_or_default() {
            if good.insert(before) {
                agreed.push(before);
            }
        }
    }
    println!(
        "{what}: {} states, agreement ahead of {}",
        seen.len(),
        good.len()
    );
    assert_eq!(seen.len(), good.len(), "{what}: dead ends");
}

fn two(regular: usize) -> Fleet {
    Fleet {
        nodes: 2,
        regular,
        most_packets: 4,
        crashes: 1,
        restarts: 1,
        beacons: Beacons::Late,
    }
}

fn three(regular: usize, most_packets: usize) -> Fleet {
    Fleet {
        nodes: 3,
        regular,
        most_packets,
        crashes: 1,
        restarts: 0,
        beacons: Beacons::Instant,
    }
}

/// E3, E7, V3 to V7, V12
#[test]
fn two_stand_ins_keep_the_rules() {
    exhaust("two stand-ins", two(0));
}

/// E7, V7
#[test]
fn a_regular_leader_and_a_stand_in_keep_the_rules() {
    exhaust("a regular leader and a stand-in", two(1));
}

/// V7
#[test]
fn two_regular_leaders_keep_the_rules() {
    exhaust("two regular leaders", two(2));
}

/// E7, V5, V12
#[test]
fn three_stand_ins_keep_the_rules() {
    exhaust("three stand-ins", three(0, 2));
}

/// E7, V7
#[test]
fn a_regular_leader_and_two_stand_ins_keep_the_rules() {
    exhaust("a regular leader and two stand-ins", three(1, 2));
}

/// C3: nothing leads into a dead end; how soon they agree is shown in virtual time.
#[test]
fn whatever_has_happened_all_can_agree_again() {
    for regular in 0..=2 {
        let mut fleet = two(regular);
        fleet.most_packets = 2;
        can_always_agree(&format!("two nodes, {regular} regular"), &fleet);
    }
}
