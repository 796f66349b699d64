//! Echoes: which beacons of others this node has received, and which of its own others have.

use core::net::Ipv4Addr;
use std::time::Duration;

use super::{Membership, Peer, pace};
use crate::model::{Nonce, Timestamp};
use crate::peers::beacon::{MOST_ECHOES, STRANGERS_ECHOED};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::Echo;

/// A restart briefly has two incarnations at an address, and a misconfiguration two nodes.
const MOST_AT_ONE_ADDRESS: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub(super) sequence: u64,
    pub(super) at: Timestamp,
    /// The announced time until the next one.
    pub(super) period: Duration,
    /// It went to one node, which answers at once.
    pub(super) is_probe: bool,
}

fn echo((nonce, peer): (&Nonce, &Peer)) -> Option<Echo> {
    (!peer.unechoed).then_some(Echo { nonce: *nonce, sequence: peer.window.latest() })
}

impl Membership {
    /// Records a beacon of this node that announces this period.
    pub(in crate::peers) fn sent(&mut self, sequence: u64, period: Duration, now: Timestamp) {
        self.sent.push_back(Sent { sequence, at: now, period, is_probe: false });
        let limit = self.echoes_count_for();
        while self.sent.front().is_some_and(|sent| now.since(sent.at) > limit) {
            self.sent.pop_front();
        }
        let periods = self.sent.iter().map(|sent| sent.period);
        self.slowest = periods.max().unwrap_or(period);
    }

    pub(in crate::peers) fn sent_as_probe(&mut self) {
        if let Some(sent) = self.sent.back_mut() {
            sent.is_probe = true;
        }
    }

    pub(super) fn echoes_count_for(&self) -> Duration {
        pace::stretched(self.times.dead_after, self.slowest, &self.times) * 2
    }

    /// The echoes for the next broadcast beacon: at most `most`, each peer in turn. Peers go first,
    /// so that no number of strangers makes them lost; strangers have [`STRANGERS_ECHOED`] places
    /// in each beacon, and the room that peers leave.
    pub(crate) fn echoes(&mut self, most: usize) -> Vec<Echo> {
        let counts = |(_, peer): &(&Nonce, &Peer)| self.counts(&peer.hello);
        let (peers, strangers): (Vec<_>, Vec<_>) = self.incarnations.iter().partition(counts);
        let (start, stranger) = self.rotation;
        let start = start.min(peers.len());
        let for_peers = most - STRANGERS_ECHOED.min(strangers.len()).min(most);
        let in_turn = peers.iter().skip(start).take(for_peers);
        let mut chosen: Vec<(&Nonce, &Peer)> = in_turn.copied().collect();
        let mut next = start + chosen.len();
        let is_last = next == peers.len();
        let reserved = if is_last { most - chosen.len() } else { most - for_peers };
        let left = reserved.min(strangers.len());
        let others = strangers.iter().cycle().skip(stranger);
        chosen.extend(others.take(left));
        if is_last {
            next = (most - chosen.len()).min(start);
            chosen.extend(peers.iter().take(next));
        }
        let stranger = (stranger + left).checked_rem(strangers.len()).unwrap_or(0);
        let echoes = chosen.into_iter().filter_map(echo).collect();
        self.rotation = (next, stranger);
        echoes
    }

    /// The echoes for a beacon to one address: only the addressee's. The rotation does not advance.
    pub(in crate::peers) fn echoes_for(&self, address: Ipv4Addr) -> Vec<Echo> {
        let there = |(_, peer): &(&Nonce, &Peer)| peer.hello.address == address;
        let there = self.incarnations.iter().filter(there);
        there.filter_map(echo).take(MOST_AT_ONE_ADDRESS).collect()
    }

    /// How many of its beacons a peer needs to echo everybody once, and a stranger.
    pub(super) fn turns(&self) -> u32 {
        let turns = (self.found.len() + 1).div_ceil(MOST_ECHOES - STRANGERS_ECHOED);
        u32::try_from(turns).unwrap_or(u32::MAX).max(1)
    }

    /// The latest echoed beacon of this node, if it is recent.
    pub(super) fn echoed(&self, echoes: &[Echo]) -> Option<Sent> {
        let echo = echoes.iter().find(|echo| echo.nonce == self.own.nonce)?;
        if is_seeded(SeededBug::ReplayAccepted) {
            return self.sent.back().copied();
        }
        let at = self.sent.binary_search_by_key(&echo.sequence, |sent| sent.sequence).ok()?;
        self.sent.get(at).copied()
    }
}
