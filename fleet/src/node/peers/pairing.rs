//! One link between each pair of nodes, whichever is master (C6).
//!
//! The node with the higher address dials the other. Failed dials are repeated with growing waits.
//! Either end gives up a link that is not synced in time: it may be the only one that still waits,
//! because TCP may take long to send a lost frame again.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::election::redial;
use crate::model::{NodeId, Timestamp};

/// The peers that this node dials, and those that dial it.
#[derive(Debug, Clone)]
pub(super) struct Pairing {
    own: (Ipv4Addr, NodeId),
    redial_after: Duration,
    dials: BTreeMap<NodeId, Dial>,
    /// The accepted links that are not synced, and their deadlines.
    accepted: BTreeMap<NodeId, Timestamp>,
}

#[derive(Debug, Clone, Default)]
struct Dial {
    state: DialState,
    /// How many dials in a row have failed to lead to a synced link.
    failures: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum DialState {
    /// To be dialled at the next opportunity.
    #[default]
    Due,
    /// Dialled or linked; given up if it is not synced by then.
    Going {
        until: Timestamp,
    },
    Synced,
    /// Not to be dialled before then.
    Waiting {
        until: Timestamp,
    },
}

/// An action that is due for a peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) enum Due {
    Dial(NodeId),
    /// The link was not synced in time.
    GiveUp(NodeId),
}

impl Pairing {
    pub(super) fn new(address: Ipv4Addr, node: NodeId, redial_after: Duration) -> Self {
        Self {
            own: (address, node),
            redial_after,
            dials: BTreeMap::new(),
            accepted: BTreeMap::new(),
        }
    }

    pub(super) fn found(&mut self, address: Ipv4Addr, peer: &NodeId) {
        if (address, peer) < (self.own.0, &self.own.1) {
            self.dials.entry(peer.clone()).or_default();
        }
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.dials.remove(peer);
        self.accepted.remove(peer);
    }

    /// A link was opened, and has to be synced in time.
    pub(super) fn opened(&mut self, peer: &NodeId, now: Timestamp) {
        let until = now + redial::limit(self.redial_after);
        if let Some(dial) = self.dials.get_mut(peer) {
            dial.state = DialState::Going { until };
        } else {
            self.accepted.insert(peer.clone(), until);
        }
    }

    pub(super) fn synced(&mut self, peer: &NodeId) {
        self.accepted.remove(peer);
        if let Some(dial) = self.dials.get_mut(peer) {
            *dial = Dial { state: DialState::Synced, failures: 0 };
        }
    }

    /// The link was closed or could not be opened. A link that was synced is dialled again at once,
    /// because its peer may have restarted.
    pub(super) fn disconnected(&mut self, peer: &NodeId, draw: u64, now: Timestamp) {
        self.accepted.remove(peer);
        let Some(dial) = self.dials.get_mut(peer) else {
            return;
        };
        dial.state = match dial.state {
            DialState::Synced => DialState::Due,
            DialState::Due | DialState::Going { .. } | DialState::Waiting { .. } => {
                let wait = redial::wait(self.redial_after, dial.failures, draw);
                dial.failures += 1;
                DialState::Waiting { until: now + wait }
            }
        };
    }

    /// The actions that are due now. A dial counts as started.
    pub(super) fn due(&mut self, now: Timestamp) -> Vec<Due> {
        let limit = redial::limit(self.redial_after);
        let mut due = Vec::new();
        for (peer, dial) in &mut self.dials {
            match dial.state {
                DialState::Waiting { until } if now < until => {}
                DialState::Due | DialState::Waiting { .. } => {
                    dial.state = DialState::Going { until: now + limit };
                    due.push(Due::Dial(peer.clone()));
                }
                DialState::Going { until } if until <= now => due.push(Due::GiveUp(peer.clone())),
                DialState::Going { .. } | DialState::Synced => {}
            }
        }
        let stalled = self.accepted.iter().filter(|(_, until)| **until <= now);
        due.extend(stalled.map(|(peer, _)| Due::GiveUp(peer.clone())));
        due
    }

    /// When [`due`](Self::due) may have work.
    pub(super) fn next(&self) -> Option<Timestamp> {
        let dials = self.dials.values().filter_map(|dial| match dial.state {
            DialState::Due => Some(Timestamp::START),
            DialState::Going { until } | DialState::Waiting { until } => Some(until),
            DialState::Synced => None,
        });
        dials.chain(self.accepted.values().copied()).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::election::testing::{address, name};

    const REDIAL: Duration = Duration::from_millis(50);

    fn second() -> Pairing {
        Pairing::new(address(2), name(2), REDIAL)
    }

    fn at(millis: u64) -> Timestamp {
        Timestamp::START + Duration::from_millis(millis)
    }

    /// C6
    #[test]
    fn the_higher_address_dials_the_lower_once() {
        let mut node = second();
        node.found(address(1), &name(1));
        node.found(address(3), &name(3));
        assert_eq!(node.due(at(0)), [Due::Dial(name(1))]);
        assert_eq!(node.due(at(1)), []);
        node.synced(&name(1));
        assert_eq!(node.next(), None);
    }

    /// Two nodes with one address: the name decides.
    #[test]
    fn of_two_nodes_with_one_address_one_dials() {
        let mut node = second();
        node.found(address(2), &name(1));
        node.found(address(2), &name(3));
        assert_eq!(node.due(at(0)), [Due::Dial(name(1))]);
    }

    /// C6: a peer that is heard and can't be reached is dialled less and less often.
    #[test]
    fn failed_dials_are_repeated_after_growing_waits() {
        let mut node = second();
        node.found(address(1), &name(1));
        let (mut now, mut waits) = (at(0), Vec::new());
        for _ in 0..8 {
            assert_eq!(node.due(now), [Due::Dial(name(1))]);
            node.disconnected(&name(1), 0, now);
            let next = node.next().expect("a wait");
            waits.push(next.since(now).as_millis());
            now = next;
        }
        assert_eq!(waits, [50, 100, 200, 400, 400, 400, 400, 400]);
    }

    #[test]
    fn a_link_that_does_not_carry_in_time_is_given_up_and_dialled_again() {
        let mut node = second();
        node.found(address(1), &name(1));
        node.due(at(0));
        assert_eq!(node.due(at(1600)), [Due::GiveUp(name(1))]);
        node.disconnected(&name(1), 0, at(1600));
        assert_eq!(node.due(at(1650)), [Due::Dial(name(1))]);
    }

    /// C3: the end that dialled may have synced, while the last frame to this one is lost.
    #[test]
    fn an_accepted_link_that_does_not_carry_in_time_is_given_up() {
        let mut node = second();
        node.found(address(3), &name(3));
        node.opened(&name(3), at(0));
        assert_eq!(node.next(), Some(at(1600)));
        assert_eq!(node.due(at(1599)), []);
        assert_eq!(node.due(at(1600)), [Due::GiveUp(name(3))]);
        node.disconnected(&name(3), 0, at(1600));
        assert_eq!((node.due(at(1601)), node.next()), (vec![], None), "its peer dials");
        for over in [Pairing::synced, Pairing::lost] {
            node.opened(&name(3), at(2000));
            over(&mut node, &name(3));
            assert_eq!(node.next(), None);
        }
    }

    #[test]
    fn a_link_that_carried_is_dialled_again_at_once() {
        let mut node = second();
        node.found(address(1), &name(1));
        node.due(at(0));
        node.synced(&name(1));
        node.disconnected(&name(1), 0, at(9));
        assert_eq!(node.due(at(9)), [Due::Dial(name(1))]);
        node.lost(&name(1));
        assert_eq!(node.next(), None);
    }
}
