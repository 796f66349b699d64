//! The contents and the schedule of beacons.

use core::net::Ipv4Addr;
use std::time::Duration;

use super::membership::pace;
use super::{Addressee, Facts, Peers};
use crate::model::Timestamp;
use crate::wire::{Beacon, Delta, Piggybacked};

/// The most echoes in a beacon; in a larger fleet peers take turns.
pub(super) const MOST_ECHOES: usize = 32;

/// How many of them are for strangers, which may be restarted nodes or fakes.
pub(super) const STRANGERS_ECHOED: usize = 4;

/// How many beacons all peers together may send early per period because of changes.
const MOST_EARLY_OF_ALL: usize = 16;

/// How many a single node may send early in any case.
const MOST_EARLY: usize = 2;

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BeaconClock {
    sequence: u64,
    last: Option<Timestamp>,
    /// The period that the last beacon announced.
    sent: Duration,
    /// How many beacons were sent early since the last periodic one.
    early: usize,
    /// There are changes that should not wait for the period.
    urgent: bool,
    /// The next beacon is the last one: it does not wait at all.
    is_last: bool,
}

impl BeaconClock {
    fn send(&mut self, period: Duration, now: Timestamp) {
        let is_due = self.last.is_none_or(|last| last + self.sent <= now);
        self.early = if is_due { 0 } else { self.early.saturating_add(1) };
        (self.last, self.sent, self.urgent) = (Some(now), period, false);
        self.is_last = false;
    }
}

impl Peers {
    pub(crate) fn hurry(&mut self) {
        self.clock.urgent = true;
    }

    /// The process ends after this turn: what it has to say goes out now.
    pub(crate) fn finish(&mut self) {
        self.clock.is_last = true;
    }

    pub(crate) fn beacon_due(&self, leads: bool) -> Timestamp {
        let Some(last) = self.clock.last else {
            return Timestamp::START;
        };
        let clock = &self.clock;
        if clock.is_last {
            return last;
        }
        let peers = self.membership.count().max(1);
        let most_early = (MOST_EARLY_OF_ALL / peers).max(MOST_EARLY);
        last + if clock.urgent && clock.early < most_early {
            self.times.beacon_gap
        } else {
            // The peers rely on the announced period.
            self.beacon_period(leads).min(clock.sent)
        }
    }

    /// The period of beacons without changes. In a large fleet only a master, on which others
    /// depend, keeps the configured one.
    fn beacon_period(&self, leads: bool) -> Duration {
        if leads && self.links.synced().next().is_some() {
            self.times.beacon_period
        } else {
            pace::period(self.membership.count(), &self.times)
        }
    }

    /// The beacon that is due, without its changes.
    pub(crate) fn broadcast(&mut self, facts: Facts, leads: bool, now: Timestamp) -> Beacon {
        self.clock.send(self.beacon_period(leads), now);
        let mut beacon = self.plain_beacon(facts, now);
        beacon.echoes = self.membership.echoes(MOST_ECHOES);
        beacon
    }

    /// A beacon to one node, without changes, which would not reach the others.
    pub(crate) fn unicast(
        &mut self,
        facts: Facts,
        to: Ipv4Addr,
        probe: bool,
        now: Timestamp,
    ) -> Beacon {
        let mut beacon = self.plain_beacon(facts, now);
        beacon.probe = probe;
        if probe {
            self.membership.sent_as_probe();
        }
        beacon.echoes = self.membership.echoes_for(to);
        beacon
    }

    /// A beacon that carries a message, and its addressee.
    pub(crate) fn carry(
        &mut self,
        facts: Facts,
        piggybacked: Piggybacked,
        now: Timestamp,
    ) -> (Addressee, Beacon) {
        let mut beacon = self.plain_beacon(facts, now);
        let to = self.addressee(piggybacked.to.as_ref());
        beacon.piggybacked = Some(piggybacked);
        beacon.echoes = match to {
            Addressee::One(to) => self.membership.echoes_for(to),
            Addressee::Everybody | Addressee::Nobody => self.membership.echoes(MOST_ECHOES),
        };
        (to, beacon)
    }

    pub(crate) fn plain_beacon(&mut self, facts: Facts, now: Timestamp) -> Beacon {
        self.clock.sequence = self.clock.sequence.saturating_add(1);
        let period = self.clock.sent;
        self.membership.sent(self.clock.sequence, period, now);
        let Facts { node_state, term, led, estimate, digest, power, durable, car } = facts;
        Beacon {
            hello: self.own.clone(),
            link_port: self.link_port,
            sequence: self.clock.sequence,
            period: u16::try_from(period.as_millis()).unwrap_or(u16::MAX),
            node_state,
            term,
            led,
            estimate,
            digest,
            power,
            durable,
            probe: false,
            echoes: Vec::new(),
            delta: Delta { car, ..Delta::default() },
            piggybacked: None,
        }
    }
}
