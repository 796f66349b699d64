//! A few nodes under the model checker: what may always happen, and an estimate that falls.
//!
//! In every state:
//!
//! - a candidate has the timers that end its waiting, a follower that is clearly fitter than its
//!   master the one that ends its hold-off, and nobody else has any;
//! - terms never fall, and nobody begins to follow by a message of an older term (E3, E7);
//! - a barred node does not lead (B6);
//! - from here on, once nothing more breaks, the nodes come to rest under one master that nobody
//!   outranks, in whatever order messages arrive and timers fire (E1, E2, E7, C3). With three nodes,
//!   timers wait for the messages under way.
//!
//! The space is finite because terms and messages under way have bounds, which each test gives.
//! Without faults they need none.

use std::convert::Infallible;

use stateright::Property;

use super::*;
use crate::election::testing;
use crate::election::testing::model::{
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, Taken, number, settles,
};

#[derive(Debug)]
struct Fleet {
    estimates: Vec<u32>,
    /// Whether the bonus adds to them.
    kind: Estimate,
    /// They know each other from the beginning.
    acquainted: bool,
    /// No term beyond this one.
    terms: u64,
}

impl Subject for Fleet {
    type Machine = Bully;
    type Notes = ();
    type Step = Infallible;

    fn candidate(&self, node: usize) -> Candidate {
        Candidate { estimate: self.estimates[node], ..testing::candidate(number(node)) }
    }

    fn machine(&self, own: Candidate, _incarnation: u64) -> Bully {
        Bully::new(own, Settings { estimate: self.kind, ..Settings::default() })
    }

    fn knows(machine: &Bully, peer: &NodeId) -> bool {
        machine.peers.contains_key(peer)
    }

    fn term(machine: &Bully) -> Term {
        machine.term
    }

    fn begin(check: &Check<Self>, moment: &mut At<Self>) {
        if check.subject.acquainted {
            check.hear_everybody(moment);
            moment.network.clear();
        }
    }

    fn observe(_check: &Check<Self>, moment: &mut At<Self>, step: &mut Taken<'_, Self>) {
        let (before, after) = (step.before, &*step.after);
        if after.term < before.term {
            moment.blame(Some("a term fell"));
        }
        if let Input::Message { message: Any::Bully(Message::Master { term }), .. } = step.input
            && *term < before.term
            && after.follows() != before.follows()
        {
            moment.blame(Some("an old announcement was believed"));
        }
    }

    fn within(&self, moment: &At<Self>) -> bool {
        moment.living().all(|(_, machine)| machine.term.0 <= self.terms)
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        vec![
            Property::always("who waits has a timer", |_, moment: &At<Self>| {
                let mut nodes = 0..moment.nodes.len();
                nodes.all(|node| has_the_timers_it_needs(moment, node))
            }),
            Property::always("the barred don't lead", |check: &Check<Self>, moment: &At<Self>| {
                moment
                    .living()
                    .all(|(node, _)| check.subject.estimates[node] > 0 || !moment.leads(node))
            }),
            Property::sometimes("the best leads all", |_, moment: &At<Self>| {
                is_right(moment) && moment.network.is_empty() && moment.happened.crashes == 0
            }),
            Property::sometimes("two lead, for a while", |_, moment: &At<Self>| {
                let leads = |(_, machine): &(usize, &Bully)| machine.state == State::Master;
                moment.living().filter(leads).count() == 2
            }),
        ]
    }
}

impl Calms for Fleet {
    fn is_right(_check: &Check<Self>, moment: &At<Self>) -> bool {
        is_right(moment)
    }

    /// Of two nodes any timer may fire at any time. Of three it waits for the messages under way,
    /// and what would be repeated in calm is not lost.
    fn due(_: &Check<Self>, moment: &At<Self>, _node: usize, timer: &ElectionTimer) -> Due {
        if moment.nodes.len() < 3 {
            Due::Now
        } else if *timer == Timer::Ask.into() {
            Due::Never
        } else if moment.network.is_empty() {
            Due::Now
        } else {
            Due::Later
        }
    }
}

fn has_the_timers_it_needs(moment: &At<Fleet>, node: usize) -> bool {
    let needed: &[Timer] = match moment.nodes[node].as_ref().map(|machine| &machine.state) {
        Some(State::Candidate(Stage::Asking, _)) => &[Timer::Answer, Timer::Ask],
        Some(State::Candidate(Stage::Answered, _)) => &[Timer::Announcement],
        Some(State::Lost { comparison: Comparison::Exceeds, .. }) => &[Timer::HoldOff],
        Some(State::Sleep | State::Lost { .. } | State::Master) | None => &[],
    };
    moment.timers(node).cloned().eq(needed.iter().map(|timer| ElectionTimer::from(*timer)))
}

/// One leads, all follow it, and nobody should lead instead. A fleet in which everybody is
/// barred has none.
fn is_right(moment: &At<Fleet>) -> bool {
    let mut leaders = moment.living().filter(|(_, machine)| machine.state == State::Master);
    let Some((leader, master)) = leaders.next() else {
        return moment.living().all(|(_, machine)| machine.is_barred());
    };
    let followed = moment.living().all(|(node, machine)| match &machine.state {
        State::Master => node == leader,
        State::Lost { master: of, .. } => *of == master.node,
        State::Sleep | State::Candidate(..) => false,
    });
    let outranked = moment.living().any(|(node, machine)| match machine.settings.estimate {
        Estimate::Fixed(_) => (machine.fitness, node) > (master.fitness, leader),
        Estimate::Health => machine.settings.exceeds(machine.fitness, master.fitness),
    });
    followed && !outranked
}

fn fleet(subject: Fleet, messages: usize, most: Misfortunes) -> Check<Fleet> {
    let nodes = subject.estimates.len();
    let (network, beacons) = (Network::Repeats(messages), Beacons::Late);
    Check::new(subject, Bounds { nodes, network, beacons, most })
}

/// Two nodes whose estimate is their health; terms up to 4, 4 messages under way.
fn two(most: Misfortunes) -> Check<Fleet> {
    let estimates = vec![20, 30];
    fleet(Fleet { estimates, kind: Estimate::Health, acquainted: false, terms: 4 }, 4, most)
}

const ONE_CRASH: Misfortunes = Misfortunes { crashes: 1, restarts: 0, breaks: 0, falls: 0 };

/// E1, E3, E7, B6, C2, C3
#[test]
fn two_nodes_agree_whatever_happens() {
    let most = Misfortunes { restarts: 1, breaks: 1, ..ONE_CRASH };
    settles("two nodes, a restart and a broken link", two(most), 22_970, 0);
}

/// E1, E3, E7, B1, B10, C2, C3
#[test]
fn two_nodes_agree_though_one_weakens() {
    let most = Misfortunes { breaks: 1, falls: 1, ..ONE_CRASH };
    settles("two nodes, a broken link and a weakness", two(most), 239_498, 0);
}

/// E1, E3, E7, C2, C3: every answer may be lost or repeated.
#[test]
fn three_nodes_agree_though_one_dies() {
    let estimates = vec![20, 30, 40];
    let subject = Fleet { estimates, kind: Estimate::Fixed(0), acquainted: true, terms: 2 };
    settles("three nodes, a crash", fleet(subject, 3, ONE_CRASH), 182_649, 0);
}

/// B6, E2: one of three is barred, and may be all that is left.
#[test]
fn a_barred_node_never_leads() {
    let estimates = vec![20, 30, 0];
    let subject = Fleet { estimates, kind: Estimate::Fixed(0), acquainted: false, terms: 2 };
    settles("three nodes, one barred, a crash", fleet(subject, 2, ONE_CRASH), 68_403, 0);
}
