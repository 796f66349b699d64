//! Every order of events among a few nodes: beacons that are heard or lost, dials that succeed or
//! fail, links that break, timers that fire whenever they are armed, a crash and a restart.
//!
//! A beacon tells where its sender stands at that moment. What is checked in every state that can
//! be reached: a slave has a link to its master; nobody follows a node with a higher address (E7);
//! and once nothing more breaks, the nodes come to rest under the lowest address (E1, E2, C3).
//!
//! The states are finite but for the count of failed dials, which only lengthens a wait: a peer
//! that has been dialled in vain twice is not dialled in vain again. There is no other boundary.

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

use super::*;
use crate::election::nodes::{candidate, name};
use crate::model::Term;

/// More states than any of the models generates. A run that comes so far has failed.
const MOST_STATES: usize = 20_000_000;

/// So many times everybody hears everybody before the nodes have come to rest.
const ROUNDS: usize = 12;

#[derive(Debug, Clone)]
struct Lan {
    nodes: u8,
    crashes: u8,
    restarts: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Moment {
    nodes: Vec<Option<LowestIp>>,
    armed: BTreeSet<(u8, Timer)>,
    /// Who dials whom.
    dials: BTreeSet<(u8, u8)>,
    /// Who has a link to whom, the dialler first.
    links: BTreeSet<(u8, u8)>,
    crashes: u8,
    restarts: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Event {
    Hears(u8, u8),
    DialSucceeds(u8, u8),
    DialFails(u8, u8),
    LinkBreaks(u8, u8),
    Fires(u8, Timer),
    Crashes(u8),
    Restarts(u8),
}

fn index(name: &NodeId) -> u8 {
    name.as_str()[1..].parse().expect("a number")
}

fn fresh(index: u8) -> LowestIp {
    let own = candidate(index);
    LowestIp::new(own.node, own.address, Duration::from_millis(50))
}

impl Moment {
    fn feed(&mut self, node: u8, input: Input<'_>) {
        let mut outputs = Vec::new();
        if let Some(machine) = &mut self.nodes[usize::from(node)] {
            machine.handle(input, 0, &mut outputs);
        }
        for output in outputs {
            self.perform(node, output);
        }
    }

    fn perform(&mut self, node: u8, output: Output) {
        match output {
            Output::Arm(ElectionTimer::LowestIp(timer), _) => {
                self.armed.insert((node, timer));
            }
            Output::Dial(peer) => {
                self.dials.insert((node, index(&peer)));
            }
            Output::HangUp(peer) => self.hang_up(node, |other| other == index(&peer)),
            Output::HangUpAllBut(peer) => self.hang_up(node, |other| other != index(&peer)),
            Output::Arm(..)
            | Output::Disarm(_)
            | Output::Broadcast(_)
            | Output::Send(..)
            | Output::HandOver(..) => unreachable!("{output:?}"),
        }
    }

    /// Both ends learn of it.
    fn hang_up(&mut self, node: u8, which: impl Fn(u8) -> bool) {
        let ends = |link: &&(u8, u8)| {
            let other = if link.0 == node { link.1 } else { link.0 };
            (link.0 == node || link.1 == node) && which(other)
        };
        let closed: Vec<(u8, u8)> = self.links.iter().filter(ends).copied().collect();
        for link in closed {
            self.break_link(link);
        }
    }

    fn break_link(&mut self, link: (u8, u8)) {
        if self.links.remove(&link) {
            self.feed(
                link.0,
                Input::Parted {
                    peer: &name(link.1),
                },
            );
            self.feed(
                link.1,
                Input::Parted {
                    peer: &name(link.0),
                },
            );
        }
    }

    fn standing(&self, node: u8) -> Option<Standing> {
        self.nodes[usize::from(node)]
            .as_ref()
            .map(Election::standing)
    }

    fn apply(&mut self, event: &Event) {
        match *event {
            Event::Hears(node, peer) => {
                if let Some(standing) = self.standing(peer) {
                    let (peer, term) = (&candidate(peer), Term::default());
                    let standing = &standing;
                    self.feed(
                        node,
                        Input::Heard {
                            peer,
                            standing,
                            term,
                        },
                    );
                }
            }
            Event::DialSucceeds(node, peer) => {
                self.dials.remove(&(node, peer));
                let accepts = self.standing(peer) == Some(Standing::Master);
                if !accepts {
                    return self.feed(node, Input::Parted { peer: &name(peer) });
                }
                // One link to each peer: the new one takes the place of the old.
                self.links.remove(&(peer, node));
                self.links.insert((node, peer));
                let side = LinkSide::Accepted;
                self.feed(
                    peer,
                    Input::Joined {
                        peer: &name(node),
                        side,
                    },
                );
                if self.links.contains(&(node, peer)) {
                    let side = LinkSide::Dialled;
                    self.feed(
                        node,
                        Input::Joined {
                            peer: &name(peer),
                            side,
                        },
                    );
                }
            }
            Event::DialFails(node, peer) => {
                self.dials.remove(&(node, peer));
                self.feed(node, Input::Parted { peer: &name(peer) });
            }
            Event::LinkBreaks(node, peer) => self.break_link((node, peer)),
            Event::Fires(node, ref timer) => {
                self.armed.remove(&(node, timer.clone()));
                let timer = ElectionTimer::LowestIp(timer.clone());
                self.feed(node, Input::Fired(&timer));
            }
            Event::Crashes(node) => {
                self.crashes += 1;
                self.nodes[usize::from(node)] = None;
                self.armed.retain(|(armed, _)| *armed != node);
                self.dials.retain(|(from, _)| *from != node);
                self.hang_up(node, |_| true);
                for peer in 0..u8::try_from(self.nodes.len()).expect("few") {
                    self.feed(peer, Input::Lost { peer: &name(node) });
                }
            }
            Event::Restarts(node) => {
                self.restarts += 1;
                self.nodes[usize::from(node)] = Some(fresh(node));
            }
        }
    }

    /// Lets everything that is under way come to its end, and everybody hear everybody.
    fn calms_under_the_lowest(&self) -> bool {
        let mut calm = self.clone();
        let living: Vec<u8> = (0..u8::try_from(calm.nodes.len()).expect("few"))
            .filter(|node| calm.standing(*node).is_some())
            .collect();
        for _ in 0..ROUNDS {
            for (node, peer) in calm.dials.clone() {
                calm.apply(&Event::DialSucceeds(node, peer));
            }
            for (node, timer) in calm.armed.clone() {
                calm.apply(&Event::Fires(node, timer));
            }
            for &node in &living {
                for &peer in living.iter().filter(|peer| **peer != node) {
                    calm.apply(&Event::Hears(node, peer));
                }
            }
            for (node, peer) in calm.dials.clone() {
                calm.apply(&Event::DialSucceeds(node, peer));
            }
        }
        let Some(lowest) = living.first() else {
            return true;
        };
        living.iter().all(|node| match calm.standing(*node) {
            Some(Standing::Master) => node == lowest,
            Some(Standing::Slave { master }) => node != lowest && master == name(*lowest),
            Some(Standing::Seeking) | None => false,
        })
    }
}

impl Model for Lan {
    type State = Moment;
    type Action = Event;

    fn init_states(&self) -> Vec<Moment> {
        vec![Moment {
            nodes: (0..self.nodes).map(|node| Some(fresh(node))).collect(),
            armed: BTreeSet::new(),
            dials: BTreeSet::new(),
            links: BTreeSet::new(),
            crashes: 0,
            restarts: 0,
        }]
    }

    fn actions(&self, moment: &Moment, actions: &mut Vec<Event>) {
        for node in 0..self.nodes {
            let machine = &moment.nodes[usize::from(node)];
            if machine.is_none() {
                if moment.restarts < self.restarts {
                    actions.push(Event::Restarts(node));
                }
                continue;
            }
            if moment.crashes < self.crashes {
                actions.push(Event::Crashes(node));
            }
            let others = (0..self.nodes).filter(|peer| *peer != node);
            actions.extend(others.map(|peer| Event::Hears(node, peer)));
        }
        for &(node, peer) in &moment.dials {
            actions.push(Event::DialSucceeds(node, peer));
            actions.push(Event::DialFails(node, peer));
        }
        let breaks = |&(node, peer): &(u8, u8)| Event::LinkBreaks(node, peer);
        actions.extend(moment.links.iter().map(breaks));
        let fires = |(node, timer): &(u8, Timer)| Event::Fires(*node, timer.clone());
        actions.extend(moment.armed.iter().map(fires));
    }

    fn next_state(&self, moment: &Moment, event: Event) -> Option<Moment> {
        let mut next = moment.clone();
        next.apply(&event);
        (next != *moment).then_some(next)
    }

    fn within_boundary(&self, moment: &Moment) -> bool {
        let mut machines = moment.nodes.iter().flatten();
        machines.all(|machine| machine.failures.values().all(|failures| *failures <= 2))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("a slave has a link to its master", |_, moment: &Moment| {
                moment.nodes.iter().zip(0..).all(|(machine, node)| {
                    let standing = machine.as_ref().map(Election::standing);
                    let Some(Standing::Slave { master }) = standing else {
                        return true;
                    };
                    let master = index(&master);
                    moment.links.contains(&(node, master)) && master < node
                })
            }),
            Property::always("they can come to rest", |_, moment: &Moment| {
                moment.calms_under_the_lowest()
            }),
        ]
    }
}

fn exhaust(lan: Lan) {
    let what = format!("{lan:?}");
    let checker = lan
        .checker()
        .threads(2)
        .target_state_count(MOST_STATES)
        .spawn_bfs()
        .join();
    println!("{what}: {} states", checker.unique_state_count());
    checker.assert_properties();
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "not exhausted");
}

/// E1, E2, E7, C2, C3, F3
#[test]
fn two_nodes_come_to_rest_whatever_happens() {
    exhaust(Lan {
        nodes: 2,
        crashes: 2,
        restarts: 2,
    });
}

/// E1, E2, E7, C2, C3, F3
#[test]
fn three_nodes_come_to_rest_whatever_happens() {
    exhaust(Lan {
        nodes: 3,
        crashes: 1,
        restarts: 1,
    });
}
