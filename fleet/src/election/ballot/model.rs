//! A few nodes under the model checker, with the settings of both presets.
//!
//! Votes are drawn from two numbers, so ties are as frequent as can be. Nothing else grows: a round
//! has no number. What is bounded is how many packets are under way at once, and that a node
//! crashes once (and, in some tests, restarts once). The mesh hears and loses: with two nodes at
//! any moment, in any order with the packets; with three nodes it reports states at once.
//!
//! From every state, once nothing more breaks, every fair schedule ends with one leader that all
//! follow, the regular one if there is one (C3). What the protocol relies on about its times is in
//! [`Calms::due`].

use std::collections::BTreeSet;
use std::convert::Infallible;

use stateright::Property;

use super::*;
use crate::election::Message as Any;
use crate::election::testing::candidate;
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, Taken, WITHOUT_END,
    exhaust, is_large, number, settles,
};

/// The nodes; the last ones are regular leaders.
#[derive(Debug)]
struct Fleet {
    stand_ins: usize,
    regular: usize,
    settings: Settings,
}

/// The nodes in whose rounds time passes, the first to begin first: of three nodes. All rounds last
/// equally long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Rounds(Vec<usize>);

impl Subject for Fleet {
    type Machine = Ballot;
    type Notes = Rounds;
    type Step = Infallible;

    const DRAWS: &'static [u64] = &[0, 1];

    fn candidate(&self, node: usize) -> Candidate {
        let role = if node < self.stand_ins { Role::Cabin } else { Role::ControlUnit };
        Candidate { role, ..candidate(number(node)) }
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Ballot {
        Ballot::new(own, self.settings)
    }

    fn timers(machine: &Ballot) -> Option<BTreeSet<ElectionTimer>> {
        Some(machine.state.timers().iter().map(|timer| (*timer).into()).collect())
    }

    fn knows(machine: &Ballot, peer: &NodeId) -> bool {
        machine.peers.contains_key(peer)
    }

    fn begin(_check: &Check<Self>, moment: &mut At<Self>) {
        // Nobody was known when they were sent.
        moment.network.clear();
    }

    fn restarts(check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        for (at, _) in check.pairs().filter(|(_, peer)| *peer == node) {
            check.lose(moment, at, node, 0);
        }
    }

    fn crashed(_check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        moment.notes.0.retain(|other| *other != node);
    }

    fn observe(check: &Check<Self>, moment: &mut At<Self>, step: &mut Taken<'_, Self>) {
        moment.blame(broken_rule(step));
        let node = step.node;
        let round = ElectionTimer::from(Timer::Round);
        let begins = step.outputs.iter().any(|o| matches!(o, Output::Arm(t, _) if *t == round));
        let is_open = step.after.state.timers().contains(&Timer::Round);
        if check.bounds.nodes > 2 && (begins || !is_open) {
            moment.notes.0.retain(|other| *other != node);
            moment.notes.0.extend(is_open.then_some(node));
        }
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        let mut properties = vec![Property::always(
            "a regular leader leads or follows its like",
            |_, moment: &At<Self>| {
                let mut regular = moment.living().filter(|(_, ballot)| ballot.regular);
                regular.all(|(_, ballot)| match &ballot.state {
                    State::Leading(_) => true,
                    State::Following(of) => of.leader < ballot.name,
                    State::Waiting { .. } | State::Voting { .. } => false,
                })
            },
        )];
        if self.regular < 2 {
            let two = "two stand-ins lead, until they hear of each other";
            properties.push(Property::sometimes(two, |_, moment: &At<Self>| moment.leaders() > 1));
        }
        properties
    }
}

impl Calms for Fleet {
    /// A regular leader is followed by all.
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool {
        let is_regular = |node: usize| node >= check.subject.stand_ins;
        let by_right = moment.living().any(|(node, _)| is_regular(node));
        check.agreed_master(moment).is_some_and(|master| is_regular(master) || !by_right)
    }

    /// A packet is under way for less than any of the protocol's times; a leader shows itself more
    /// often than it counts as lost; who waits for the winner of a round waits for longer than a
    /// round; and the round that began first ends first.
    fn due(_: &Check<Self>, moment: &At<Self>, node: usize, timer: &ElectionTimer) -> Due {
        let waits = |(at, ballot): (usize, &Ballot)| {
            at == node && matches!(ballot.state, State::Waiting { .. })
        };
        let comes = |(at, ballot): (usize, &Ballot)| match ballot.state {
            State::Leading(_) => at != node,
            State::Voting { .. } => at != node && moment.living().any(waits),
            State::Waiting { .. } | State::Following(_) => false,
        };
        let is_early = *timer == Timer::Silence.into() && moment.living().any(comes)
            || *timer == Timer::Round.into()
                && moment.notes.0.first().is_some_and(|first| *first != node);
        if is_early || !moment.network.is_empty() { Due::Later } else { Due::Now }
    }
}

fn broken_rule(step: &Taken<'_, Fleet>) -> Option<&'static str> {
    let (before, input, after) = (step.before, step.input, &*step.after);
    let mut votes = Vec::new();
    let mut resets = 0;
    for output in step.outputs {
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
        State::Waiting { .. } | State::Following(_) | State::Leading(_) => None,
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
            State::Leading(_) => best < Some(own),
            State::Voting { .. } => best == Some(own) && votes.len() == 1,
            State::Waiting { .. } => best > Some(own),
            State::Following(_) => false,
        };
        if !right {
            return Some("V3, V5: the round has another outcome");
        }
    }
    let asked = matches!(input, Input::Message { message: Any::Ballot(Message::Vote(_)), .. });
    let has_voted = matches!(&before.state, State::Following(of) if of.round == Round::Answered);
    if asked && has_voted && !votes.is_empty() {
        return Some("V5: a second answer to the votes of one round");
    }
    let controls = step.outputs.contains(&Output::Broadcast(Any::SensorRequest));
    if asked && before.state == State::Leading(Round::Answered) && controls {
        return Some("V5: a second control packet for the votes of one round");
    }
    let reset = matches!(
        input,
        Input::Message { from, message: Any::Ballot(Message::Reset) } if before.is_regular(from)
    );
    let follows = matches!(after.state, State::Following(_));
    if reset && !after.regular && !follows {
        return Some("V7: a reset is not obeyed");
    }
    None
}

fn fleet(settings: Settings, [nodes, regular]: [usize; 2], packets: usize) -> Check<Fleet> {
    let beacons = if nodes == 2 { Beacons::Late } else { Beacons::Instant };
    let restarts = u8::from(beacons == Beacons::Late);
    let most = Misfortunes { crashes: 1, restarts, breaks: WITHOUT_END, falls: 0 };
    let network = Network::Repeats(packets);
    let settings = Settings { patience: 2, ..settings };
    let subject = Fleet { stand_ins: nodes - regular, regular, settings };
    Check::new(subject, Bounds { nodes, network, beacons, most })
}

/// This many nodes, and how many of them are regular leaders; `least` states in all, and in calm.
fn agrees(nodes: [usize; 2], packets: usize, [least, least_calm]: [usize; 2]) {
    let what = format!("{nodes:?}, {packets} packets");
    settles(&what, fleet(Settings::default(), nodes, packets), least, least_calm);
}

/// C3, E3, E7, V3 to V7, V12
#[test]
fn two_stand_ins_agree() {
    agrees([2, 0], 2, [108_029, 56_617]);
    if is_large() {
        exhaust("four packets", fleet(Settings::default(), [2, 0], 4), 532_710);
    }
}

/// C3, E7, V7
#[test]
fn regular_leaders_are_followed_by_all() {
    agrees([2, 1], 4, [3_713, 2_229]);
    agrees([2, 2], 4, [832, 496]);
    agrees([3, 1], 2, [4_299, 5_147]);
}

/// C3, E7, V5, V12
#[test]
fn three_stand_ins_agree() {
    let mut check = fleet(Settings::default(), [3, 0], 2);
    check.bounds.most.crashes = 0;
    settles("three stand-ins", check, 87_398, 112_985);
    if is_large() {
        agrees([3, 0], 2, [109_334, 135_245]);
    }
}

fn agrees_as_in_the_source(nodes: [usize; 2], packets: usize, [least, least_calm]: [usize; 2]) {
    let what = format!("as in the source, {nodes:?}, {packets} packets");
    settles(&what, fleet(Settings::source(), nodes, packets), least, least_calm);
}

/// C3, V2 to V7, V12
#[test]
fn as_in_the_source_the_nodes_agree() {
    agrees_as_in_the_source([2, 0], 1, [7_270, 5_052]);
    agrees_as_in_the_source([2, 1], 2, [1_124, 750]);
    agrees_as_in_the_source([2, 2], 2, [327, 213]);
    agrees_as_in_the_source([3, 1], 2, [5_257, 6_079]);
    if is_large() {
        agrees_as_in_the_source([2, 0], 2, [120_988, 63_686]);
        agrees_as_in_the_source([3, 0], 2, [154_148, 184_130]);
    }
}
