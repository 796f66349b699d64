//! Silent peers: which to probe, and which are lost.

use core::net::Ipv4Addr;
use std::collections::BTreeSet;
use std::time::Duration;

use super::pace::Limits;
use super::{Membership, Peer};
use crate::model::{NodeId, Nonce, Timestamp};

impl Membership {
    /// Checks for silent peers; returns those that are lost, and those to probe.
    pub(crate) fn check(&mut self, now: Timestamp) -> (Vec<NodeId>, Vec<(NodeId, Ipv4Addr)>) {
        if self.next_check().is_some_and(|at| now < at) {
            return (Vec::new(), Vec::new());
        }
        self.granted = self.delay.granted(now);
        // Usually something was heard meanwhile.
        self.check_at = self.next_deadline(now);
        if self.next_check().is_some_and(|at| now < at) {
            return (Vec::new(), Vec::new());
        }
        let found = (self.expire(now), self.probe(now));
        self.check_at = self.next_deadline(now);
        found
    }

    /// Whether an incarnation hears this node and is heard.
    pub(super) fn shows(&self, peer: &Peer, now: Timestamp) -> bool {
        peer.is_alive(&self.limits(peer, now), now)
    }

    pub(super) fn limits(&self, peer: &Peer, now: Timestamp) -> Limits {
        self.limits_for(peer.period, self.granted_to(peer, now), self.travel(peer))
    }

    fn granted_to(&self, peer: &Peer, now: Timestamp) -> Duration {
        self.granted.max(peer.delay.granted(now))
    }

    /// By how much the network delays this peer's echoes.
    pub(super) fn travel(&self, peer: &Peer) -> Duration {
        peer.echo_age.travel(self.between_echoes(peer))
    }

    /// How long this node and the peer wait between two beacons that show an echo.
    fn between_echoes(&self, peer: &Peer) -> Duration {
        self.slowest + peer.period * self.turns()
    }

    fn limits_for(&self, period: Duration, granted: Duration, travel: Duration) -> Limits {
        Limits::new(period, self.slowest, self.turns(), granted, travel, &self.times)
    }

    /// When the first incarnation has to be probed or dropped, and which one.
    fn next_deadline(&self, now: Timestamp) -> Option<(Timestamp, Option<Nonce>)> {
        // This runs for every other beacon: limits are reused, and few names looked up.
        let mut latest: Option<((Duration, Duration, Duration), Limits)> = None;
        let mut first: Option<(Timestamp, Option<Nonce>)> = None;
        let mut between = None;
        for (nonce, peer) in &self.incarnations {
            let waits = match between {
                Some((period, waits)) if period == peer.period => waits,
                Some(_) | None => self.between_echoes(peer),
            };
            between = Some((peer.period, waits));
            let travel = peer.echo_age.travel(waits);
            let terms = (peer.period, self.granted_to(peer, now), travel);
            let limits = match latest {
                Some((same, limits)) if same == terms => limits,
                Some(_) | None => self.limits_for(terms.0, terms.1, terms.2),
            };
            latest = Some((terms, limits));
            let silent = peer.heard_at + limits.heard;
            let earliest = peer.next_probe(&limits).min(peer.lost_at(&limits)).min(silent);
            if first.is_some_and(|(at, _)| at <= earliest) {
                continue;
            }
            let at = if self.counts(&peer.hello) { earliest } else { silent };
            if first.is_none_or(|(before, _)| at < before) {
                first = Some((at, Some(*nonce)));
            }
        }
        first
    }

    /// This incarnation was heard. If it was the next one to check, finds another one.
    pub(super) fn defer_check(&mut self, incarnation: Nonce, now: Timestamp) {
        if self.check_at.is_some_and(|(_, next)| next == Some(incarnation)) {
            self.check_at = self.next_deadline(now);
        }
    }

    /// Schedules the next check for this moment at the latest.
    pub(super) fn check_by(&mut self, at: Timestamp) {
        if self.next_check().is_none_or(|next| at < next) {
            self.check_at = Some((at, None));
        }
    }

    /// Drops the incarnations that were silent for too long; the names of those that counted.
    fn expire(&mut self, now: Timestamp) -> Vec<NodeId> {
        let silent: BTreeSet<Nonce> = self
            .incarnations
            .iter()
            .filter(|(_, peer)| peer.heard_at + self.limits(peer, now).heard <= now)
            .map(|(nonce, _)| *nonce)
            .collect();
        let gone: Vec<NodeId> = self
            .found
            .iter()
            .filter(|(_, nonce)| {
                self.incarnations.get(nonce).is_none_or(|peer| !self.shows(peer, now))
            })
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            let nonce = self.found.remove(name);
            if let Some(peer) = nonce.and_then(|nonce| self.incarnations.get(&nonce)) {
                self.lost.add(name.clone(), peer);
            }
        }
        self.incarnations.retain(|nonce, _| !silent.contains(nonce));
        gone
    }

    fn probe(&mut self, now: Timestamp) -> Vec<(NodeId, Ipv4Addr)> {
        let due: Vec<(NodeId, Ipv4Addr)> = self
            .peers()
            .filter(|(_, peer)| peer.next_probe(&self.limits(peer, now)) <= now)
            .map(|(name, peer)| (name.clone(), peer.hello.address))
            .collect();
        for (name, _) in &due {
            if let Some(peer) = self.get_mut(name) {
                peer.probed_at = now;
            }
        }
        due
    }

    /// When [`check`](Self::check) may have work.
    pub(crate) fn next_check(&self) -> Option<Timestamp> {
        self.check_at.map(|(at, _)| at)
    }

    /// This node's loop woke up `late` after its deadline.
    pub(crate) fn note_delay(&mut self, late: Duration, now: Timestamp) {
        self.delay.note(late, now);
    }

    /// This node did not run for `late`: see [`Peer::excuse_silence`].
    pub(crate) fn excuse_silence(&mut self, late: Duration, now: Timestamp) {
        let times = self.times;
        for peer in self.incarnations.values_mut() {
            peer.excuse_silence(late, &times, now);
        }
    }
}
