//! A few nodes under the model checker: besides what may always happen, dials succeed or fail and
//! links break.
//!
//! In every state a slave has a link to its master; nobody follows a node with a higher address
//! (E7); and once nothing more breaks, the nodes come to rest under the lowest address (E1, E2,
//! C3). All learn of a crash at once.
//!
//! The states are finite but for the count of failed dials, which only lengthens a wait: the
//! states in which a peer was dialled in vain more than twice have no successors.

use std::collections::BTreeSet;

use stateright::Property;

use super::*;
use crate::election::Candidate;
use crate::election::testing::model::{
    At, Beacons, Bounds, Check, Misfortunes, Network, Subject, exhaust,
};

#[derive(Debug)]
struct Lan;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Wires {
    /// Who dials whom.
    dials: BTreeSet<(usize, usize)>,
    /// Who has a link to whom, the dialler first.
    links: BTreeSet<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    DialSucceeds(usize, usize),
    DialFails(usize, usize),
    LinkBreaks(usize, usize),
}

impl Subject for Lan {
    type Machine = LowestIp;
    type Notes = Wires;
    type Step = Step;

    fn machine(&self, own: Candidate, _incarnation: u64) -> LowestIp {
        LowestIp::new(own.node, own.address, Duration::from_millis(50))
    }

    /// A crash is reported at once, see [`Self::crashed`].
    fn knows(_machine: &LowestIp, _peer: &NodeId) -> bool {
        false
    }

    fn crashed(check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        moment.notes.dials.retain(|(from, _)| *from != node);
        hang_up(check, moment, node, |_| true);
        for peer in 0..moment.nodes.len() {
            check.lose(moment, peer, node, 0);
        }
    }

    fn link(check: &Check<Self>, moment: &mut At<Self>, node: usize, output: Output) {
        match output {
            Output::Dial(peer) => {
                moment.notes.dials.insert((node, check.index(&peer)));
            }
            Output::HangUp(peer) => {
                hang_up(check, moment, node, |other| other == check.index(&peer));
            }
            Output::HangUpAllBut(peer) => {
                hang_up(check, moment, node, |other| other != check.index(&peer));
            }
            Output::Arm(..)
            | Output::Disarm(_)
            | Output::Broadcast(_)
            | Output::Send(..)
            | Output::HandOver(..) => unreachable!("{output:?}"),
        }
    }

    fn steps(_check: &Check<Self>, moment: &At<Self>, steps: &mut Vec<Step>) {
        for &(node, peer) in &moment.notes.dials {
            steps.push(Step::DialSucceeds(node, peer));
            steps.push(Step::DialFails(node, peer));
        }
        let breaks = |&(node, peer): &(usize, usize)| Step::LinkBreaks(node, peer);
        steps.extend(moment.notes.links.iter().map(breaks));
    }

    fn apply(check: &Check<Self>, moment: &mut At<Self>, step: &Step) {
        match *step {
            Step::DialSucceeds(node, peer) => dial_succeeds(check, moment, node, peer),
            Step::DialFails(node, peer) => {
                moment.notes.dials.remove(&(node, peer));
                part(check, moment, node, peer);
            }
            Step::LinkBreaks(node, peer) => break_link(check, moment, (node, peer)),
        }
    }

    fn within(&self, moment: &At<Self>) -> bool {
        let mut machines = moment.nodes.iter().flatten();
        machines.all(|machine| machine.failures.values().all(|failures| *failures <= 2))
    }

    fn finish(check: &Check<Self>, moment: &mut At<Self>) {
        for (node, peer) in moment.notes.dials.clone() {
            dial_succeeds(check, moment, node, peer);
        }
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        vec![
            Property::always(
                "a slave has a link to its master",
                |check: &Check<Self>, moment: &At<Self>| {
                    (0..moment.nodes.len()).all(|node| {
                        let Some(NodeState::Slave { master }) = moment.node_state(node) else {
                            return true;
                        };
                        let master = check.index(&master);
                        moment.notes.links.contains(&(node, master)) && master < node
                    })
                },
            ),
            Property::always("they can come to rest", |check: &Check<Self>, moment| {
                check.comes_to_rest(moment, follow_the_lowest)
            }),
        ]
    }
}

/// Both ends learn of it.
fn hang_up(check: &Check<Lan>, moment: &mut At<Lan>, node: usize, which: impl Fn(usize) -> bool) {
    let ends = |link: &&(usize, usize)| {
        let other = if link.0 == node { link.1 } else { link.0 };
        (link.0 == node || link.1 == node) && which(other)
    };
    let closed: Vec<_> = moment.notes.links.iter().filter(ends).copied().collect();
    for link in closed {
        break_link(check, moment, link);
    }
}

fn break_link(check: &Check<Lan>, moment: &mut At<Lan>, link: (usize, usize)) {
    if moment.notes.links.remove(&link) {
        part(check, moment, link.0, link.1);
        part(check, moment, link.1, link.0);
    }
}

fn part(check: &Check<Lan>, moment: &mut At<Lan>, node: usize, from: usize) {
    check.feed(moment, node, &Input::Disconnected { peer: check.name(from) }, 0);
}

fn dial_succeeds(check: &Check<Lan>, moment: &mut At<Lan>, node: usize, peer: usize) {
    moment.notes.dials.remove(&(node, peer));
    if !moment.leads(peer) {
        return part(check, moment, node, peer);
    }
    // One link to each peer: the new one takes the place of the old.
    moment.notes.links.remove(&(peer, node));
    moment.notes.links.insert((node, peer));
    let join = |moment: &mut At<Lan>, node, peer, side| {
        check.feed(moment, node, &Input::Synced { peer: check.name(peer), side }, 0);
    };
    join(moment, peer, node, LinkSide::Accepted);
    if moment.notes.links.contains(&(node, peer)) {
        join(moment, node, peer, LinkSide::Dialled);
    }
}

fn follow_the_lowest(check: &Check<Lan>, moment: &At<Lan>) -> bool {
    let Some((lowest, _)) = moment.living().next() else {
        return true;
    };
    moment.living().all(|(node, machine)| match machine.node_state() {
        NodeState::Master => node == lowest,
        NodeState::Slave { master } => node != lowest && master == *check.name(lowest),
        NodeState::Seeking => false,
    })
}

fn lan(nodes: usize, crashes: u8, restarts: u8) -> Check<Lan> {
    Check::new(
        Lan,
        Bounds {
            nodes,
            network: Network::Repeats(0),
            beacons: Beacons::Late,
            most: Misfortunes { crashes, restarts, ..Misfortunes::default() },
        },
    )
}

/// E1, E2, E7, C2, C3, F3
#[test]
fn two_nodes_come_to_rest_whatever_happens() {
    exhaust("two nodes", lan(2, 2, 2), 94);
}

/// E1, E2, E7, C2, C3, F3
#[test]
fn three_nodes_come_to_rest_whatever_happens() {
    exhaust("three nodes", lan(3, 1, 1), 30_367);
}
