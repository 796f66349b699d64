//! A few nodes under the model checker: besides what may always happen, dials succeed or fail, and
//! links break at one end or the other: where one end is closed, the other learns of it later.
//!
//! In every state a slave has its end of a link to its master; nobody follows a node with a higher
//! address
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
    At, Beacons, Bounds, Calms, Check, Due, Misfortunes, Network, Subject, is_large, settles,
};

#[derive(Debug)]
struct Lan;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Wires {
    /// Who dials whom.
    dials: BTreeSet<(usize, usize)>,
    /// Who has the end of a link to whom.
    ends: BTreeSet<(usize, usize)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Step {
    DialSucceeds(usize, usize),
    DialFails(usize, usize),
    /// The end that a node has of its link to another breaks: the other closed it, or not.
    EndBreaks(usize, usize),
}

impl Subject for Lan {
    type Machine = Source;
    type Notes = Wires;
    type Step = Step;

    fn machine(&self, own: Candidate, _incarnation: u64) -> Source {
        Source::new(own.node, own.address, Duration::from_millis(50))
    }

    /// A crash is reported at once, see [`Self::crashed`].
    fn knows(_machine: &Source, _peer: &NodeId) -> bool {
        false
    }

    fn crashed(check: &Check<Self>, moment: &mut At<Self>, node: usize) {
        moment.notes.dials.retain(|(from, _)| *from != node);
        moment.notes.ends.retain(|(one, other)| *one != node && *other != node);
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
        let breaks = |&(node, peer): &(usize, usize)| Step::EndBreaks(node, peer);
        steps.extend(moment.notes.ends.iter().map(breaks));
    }

    fn apply(check: &Check<Self>, moment: &mut At<Self>, step: &Step) {
        match *step {
            Step::DialSucceeds(node, peer) => dial_succeeds(check, moment, node, peer),
            Step::DialFails(node, peer) => {
                moment.notes.dials.remove(&(node, peer));
                part(check, moment, node, peer);
            }
            Step::EndBreaks(node, peer) => break_end(check, moment, (node, peer)),
        }
    }

    fn within(&self, moment: &At<Self>) -> bool {
        let mut machines = moment.nodes.iter().flatten();
        machines.all(|machine| machine.failures.values().all(|failures| *failures <= 2))
    }

    fn properties(&self) -> Vec<Property<Check<Self>>> {
        vec![
            Property::always(
                "a slave has its end of a link to its master",
                |check: &Check<Self>, moment: &At<Self>| {
                    (0..moment.nodes.len()).all(|node| {
                        let Some(NodeState::Slave { master }) = moment.node_state(node) else {
                            return true;
                        };
                        let master = check.index(&master);
                        moment.notes.ends.contains(&(node, master)) && master < node
                    })
                },
            ),
            Property::sometimes(
                "a slave's master has no link to it",
                |check, moment: &At<Self>| {
                    let mut ends = moment.notes.ends.iter();
                    ends.any(|&(node, peer)| {
                        let follows = NodeState::Slave { master: Check::name(check, peer).clone() };
                        moment.node_state(node) == Some(follows)
                            && !moment.notes.ends.contains(&(peer, node))
                    })
                },
            ),
        ]
    }
}

impl Calms for Lan {
    fn is_right(check: &Check<Self>, moment: &At<Self>) -> bool {
        check.agreed_master(moment) == moment.living().next().map(|(lowest, _)| lowest)
    }

    fn due(check: &Check<Self>, moment: &At<Self>, node: usize, timer: &ElectionTimer) -> Due {
        let mut dials = moment.notes.dials.iter();
        let is_for = |peer: usize| *timer == Timer::Join(check.name(peer).clone()).into();
        if dials.any(|&(from, to)| from == node && is_for(to)) { Due::Later } else { Due::Now }
    }

    /// In calm dials succeed, and an end breaks only if the other is gone.
    fn is_calm(_check: &Check<Self>, moment: &At<Self>, step: &Step) -> bool {
        match *step {
            Step::DialSucceeds(..) => true,
            Step::DialFails(..) => false,
            Step::EndBreaks(node, peer) => !moment.notes.ends.contains(&(peer, node)),
        }
    }

    fn fold(_check: &Check<Self>, moment: &mut At<Self>) {
        for machine in moment.nodes.iter_mut().flatten() {
            machine.failures.clear();
        }
    }
}

/// The other ends learn of it later.
fn hang_up(check: &Check<Lan>, moment: &mut At<Lan>, node: usize, which: impl Fn(usize) -> bool) {
    let own = |end: &&(usize, usize)| end.0 == node && which(end.1);
    let closed: Vec<_> = moment.notes.ends.iter().filter(own).copied().collect();
    for end in closed {
        break_end(check, moment, end);
    }
}

fn break_end(check: &Check<Lan>, moment: &mut At<Lan>, end: (usize, usize)) {
    if moment.notes.ends.remove(&end) {
        part(check, moment, end.0, end.1);
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
    moment.notes.ends.extend([(node, peer), (peer, node)]);
    let join = |moment: &mut At<Lan>, node, peer, side| {
        check.feed(moment, node, &Input::Synced { peer: check.name(peer), side }, 0);
    };
    join(moment, peer, node, LinkSide::Accepted);
    if moment.notes.ends.contains(&(peer, node)) {
        join(moment, node, peer, LinkSide::Dialled);
    }
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
fn the_nodes_come_to_rest_whatever_happens() {
    settles("two nodes", lan(2, 2, 2), 161, 34);
    settles("three nodes, a crash", lan(3, 1, 0), 73_558, 7_636);
    if is_large() {
        settles("three nodes, a crash and a restart", lan(3, 1, 1), 181_574, 10_908);
    }
}
