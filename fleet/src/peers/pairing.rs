//! The links that a node keeps by itself, whichever node is master: one between each pair of nodes,
//! or those to the two lowest addresses (C6). Under [`LinkRule::FollowState`] it keeps none.
//!
//! The node with the higher address dials the other. Failed dials are repeated with growing waits.
//! Either end gives up a link that is not synced in time: it may be the only one that still waits,
//! because TCP may take long to send a lost frame again.
//!
//! # The two lowest addresses
//!
//! They are usually the master and its heir. A node also keeps a link to its master if that is
//! another node, and a master dials the lowest other master. A peer that can't be reached does not
//! count: it is dialled, and the next one too. A link that is no longer needed is closed once the
//! others are synced.
//!
//! Until the first link to a peer is made, a peer that is master is *believed* for a while if its
//! beacon shows that its store is equal to this node's: then states are exchanged already, and
//! packet loss on the way to the link delays nothing.

use core::net::Ipv4Addr;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::election::{LinkRule, redial};
use crate::model::{NodeId, Timestamp};

/// How many links a node keeps to lower addresses, if not to all.
const KEPT: usize = 2;

/// After this many failed dials in a row a peer is out of reach: with loss, one fails now and then.
const OUT_OF_REACH: u32 = 3;

/// A peer as far as the choice depends on it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) rank: (Ipv4Addr, &'a NodeId),
    pub(super) leads: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Pairing {
    rule: LinkRule,
    own: (Ipv4Addr, NodeId),
    redial_after: Duration,
    dials: BTreeMap<NodeId, Dial>,
    /// The accepted links that are not synced, and their deadlines.
    accepted: BTreeMap<NodeId, Timestamp>,
    /// The peers that were believed, and to which there was no link in time.
    doubted: BTreeSet<NodeId>,
    is_stale: bool,
}

#[derive(Debug, Clone, Default)]
struct Dial {
    state: DialState,
    /// How many dials in a row have failed to lead to a synced link.
    failures: u32,
    /// The link is kept only until others are synced.
    is_spare: bool,
    word: Word,
}

/// Whether the peer is believed before there is a link to it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Word {
    /// It may be, once, unless it was doubted before.
    #[default]
    Unused,
    Believed {
        until: Timestamp,
    },
    /// Only a link counts.
    Used,
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
    /// The link was closed. Not to be dialled before the peer is heard again: it may have ended.
    Unheard,
    /// Not to be dialled before then.
    Waiting {
        until: Timestamp,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Due {
    Dial(NodeId),
    /// The link was not synced in time, or is not needed any more.
    GiveUp(NodeId),
    /// The peer was believed for long enough without a link.
    Doubt(NodeId),
}

impl Pairing {
    pub(super) fn new(
        rule: LinkRule,
        address: Ipv4Addr,
        node: NodeId,
        redial_after: Duration,
    ) -> Self {
        Self {
            rule,
            own: (address, node),
            redial_after,
            dials: BTreeMap::new(),
            accepted: BTreeMap::new(),
            doubted: BTreeSet::new(),
            is_stale: false,
        }
    }

    pub(super) fn found(&mut self, address: Ipv4Addr, peer: &NodeId) {
        if self.rule == LinkRule::EveryPair && (address, peer) < (self.own.0, &self.own.1) {
            self.dials.entry(peer.clone()).or_default();
        }
        self.invalidate();
    }

    pub(super) fn lost(&mut self, peer: &NodeId) {
        self.dials.remove(peer);
        self.accepted.remove(peer);
        self.doubted.remove(peer);
        self.invalidate();
    }

    pub(crate) fn invalidate(&mut self) {
        self.is_stale = self.rule == LinkRule::Standby;
    }

    /// Whether to call [`choose`](Self::choose).
    pub(super) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Chooses among the two lowest: `follows` is this node's master.
    pub(super) fn choose<'a>(
        &mut self,
        peers: impl Iterator<Item = Known<'a>>,
        follows: Option<&NodeId>,
    ) {
        self.is_stale = false;
        let mut lower: Vec<Known<'a>> =
            peers.filter(|peer| peer.rank < (self.own.0, &self.own.1)).collect();
        lower.sort_by_key(|peer| peer.rank);
        let mut wanted: BTreeSet<&NodeId> = follows.into_iter().collect();
        let names = lower.iter().map(|peer| peer.rank.1);
        wanted.extend(self.first_in_reach(KEPT, names));
        if follows.is_none() {
            let masters = lower.iter().filter(|peer| peer.leads);
            wanted.extend(self.first_in_reach(1, masters.map(|peer| peer.rank.1)));
        }
        for (peer, dial) in &mut self.dials {
            dial.is_spare = !wanted.contains(peer);
        }
        self.dials.retain(|_, dial| !dial.is_spare || dial.is_going() || dial.is_believed());
        for peer in wanted {
            if !self.dials.contains_key(peer) {
                self.dials.insert(peer.clone(), Dial::default());
            }
        }
    }

    /// The first of these peers, up to this many that are not out of reach.
    fn first_in_reach<'a>(
        &self,
        count: usize,
        peers: impl Iterator<Item = &'a NodeId>,
    ) -> Vec<&'a NodeId> {
        let (mut chosen, mut reached) = (Vec::new(), 0);
        for peer in peers {
            if reached == count {
                break;
            }
            let failures = self.dials.get(peer).map_or(0, |dial| dial.failures);
            reached += usize::from(failures < OUT_OF_REACH);
            chosen.push(peer);
        }
        chosen
    }

    pub(crate) fn dials(&self, peer: &NodeId) -> bool {
        self.dials.contains_key(peer)
    }

    /// Whether the peer is believed although there is no link to it yet.
    pub(crate) fn believes(&self, peer: &NodeId) -> bool {
        self.dials.get(peer).is_some_and(Dial::is_believed)
    }

    /// The peer was heard; it is a master whose store is `equal` to this node's, or is not.
    pub(crate) fn heard(&mut self, peer: &NodeId, equal: bool, now: Timestamp) {
        let until = now + redial::limit(self.redial_after);
        let Some(dial) = self.dials.get_mut(peer) else {
            return;
        };
        if dial.state == DialState::Unheard {
            dial.state = DialState::Due;
        }
        let may_believe = self.rule == LinkRule::Standby
            && dial.word == Word::Unused
            && !self.doubted.contains(peer);
        if equal && may_believe && !dial.is_spare {
            dial.word = Word::Believed { until };
        }
    }

    /// A link was opened, and has to be synced in time.
    pub(super) fn opened(&mut self, peer: &NodeId, now: Timestamp) {
        let until = now + redial::limit(self.redial_after);
        if let Some(dial) = self.dials.get_mut(peer) {
            dial.state = DialState::Going { until };
        } else if self.rule != LinkRule::FollowState {
            self.accepted.insert(peer.clone(), until);
        }
    }

    pub(crate) fn synced(&mut self, peer: &NodeId) {
        self.accepted.remove(peer);
        self.doubted.remove(peer);
        if let Some(dial) = self.dials.get_mut(peer) {
            dial.state = DialState::Synced;
            dial.failures = 0;
            dial.word = Word::Used;
        }
        self.invalidate();
    }

    /// The link was closed or could not be opened. A link that was synced is dialled again at once,
    /// or, if this node does not dial every peer, when the peer is heard again.
    pub(crate) fn disconnected(&mut self, peer: &NodeId, draw: u64, now: Timestamp) {
        self.accepted.remove(peer);
        let Some(dial) = self.dials.get_mut(peer) else {
            return;
        };
        dial.state = match dial.state {
            DialState::Synced if self.rule == LinkRule::EveryPair => DialState::Due,
            DialState::Synced | DialState::Unheard => DialState::Unheard,
            DialState::Due | DialState::Going { .. } | DialState::Waiting { .. } => {
                let wait = redial::wait(self.redial_after, dial.failures, draw);
                dial.failures += 1;
                DialState::Waiting { until: now + wait }
            }
        };
        self.invalidate();
    }

    /// The actions that are due now. A dial counts as started.
    pub(crate) fn due(&mut self, now: Timestamp) -> Vec<Due> {
        let limit = redial::limit(self.redial_after);
        let mut due = Vec::new();
        let wanted: Vec<&Dial> = self.dials.values().filter(|dial| !dial.is_spare).collect();
        let synced = wanted.iter().filter(|dial| dial.state == DialState::Synced);
        let may_part = synced.count() >= KEPT.min(wanted.len());
        for (peer, dial) in &mut self.dials {
            if let Word::Believed { until } = dial.word
                && until <= now
            {
                dial.word = Word::Used;
                self.doubted.insert(peer.clone());
                due.push(Due::Doubt(peer.clone()));
            }
            if may_part && dial.may_go() {
                due.push(Due::GiveUp(peer.clone()));
                continue;
            }
            match dial.state {
                DialState::Waiting { until } if now < until => {}
                DialState::Due | DialState::Waiting { .. } => {
                    dial.state = DialState::Going { until: now + limit };
                    due.push(Due::Dial(peer.clone()));
                }
                DialState::Going { until } if until <= now => due.push(Due::GiveUp(peer.clone())),
                DialState::Going { .. } | DialState::Synced | DialState::Unheard => {}
            }
        }
        self.dials.retain(|_, dial| !(may_part && dial.may_go()));
        let stalled = self.accepted.iter().filter(|(_, until)| **until <= now);
        due.extend(stalled.map(|(peer, _)| Due::GiveUp(peer.clone())));
        due
    }

    /// When [`due`](Self::due) may have work.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        let dials = self.dials.values().filter_map(|dial| match dial.state {
            DialState::Due => Some(Timestamp::START),
            DialState::Going { until } | DialState::Waiting { until } => Some(until),
            DialState::Synced | DialState::Unheard => None,
        });
        let doubts = self.dials.values().filter_map(|dial| match dial.word {
            Word::Believed { until } => Some(until),
            Word::Unused | Word::Used => None,
        });
        let choice = self.is_stale.then_some(Timestamp::START);
        dials.chain(doubts).chain(choice).chain(self.accepted.values().copied()).min()
    }
}

impl Dial {
    fn is_believed(&self) -> bool {
        matches!(self.word, Word::Believed { .. })
    }

    /// Whether nothing depends on it. A peer that is believed has to be doubted first.
    fn may_go(&self) -> bool {
        self.is_spare && !self.is_believed()
    }

    fn is_going(&self) -> bool {
        match self.state {
            DialState::Going { .. } | DialState::Synced => true,
            DialState::Due | DialState::Unheard | DialState::Waiting { .. } => false,
        }
    }
}

#[cfg(test)]
mod tests;
