//! What goes into a beacon, and when one is due.

use core::net::Ipv4Addr;
use std::time::Duration;

use serde::Serialize;

use super::membership::pace;
use super::{Addressee, Facts, Peers};
use crate::model::Timestamp;
use crate::wire::codec::{DATAGRAM_BODY, size};
use crate::wire::{Beacon, Delta, Piggybacked};

/// The most echoes in a beacon; in a larger fleet the peers take turns.
pub(in crate::node) const MOST_ECHOES: usize = 32;

/// How many of those are for strangers, if there are any: a node that restarts is one until it is
/// echoed, and others may only pretend to be there.
pub(in crate::node) const STRANGERS_ECHOED: usize = 4;

/// The bytes by which the lengths of a beacon's lists can grow as they fill.
const LENGTHS: usize = 8;

/// The most beacons ahead of time in one period, because of changes, of all the peers together. What
/// the nodes of a large fleet have to say goes over links as well.
const MOST_EARLY_OF_ALL: usize = 16;

/// A single node may send this many in any case.
const MOST_EARLY: usize = 2;

/// When this node's beacons go out.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BeaconClock {
    sequence: u64,
    last: Option<Timestamp>,
    /// How soon after the last one the next was said to follow.
    told: Duration,
    /// How many beacons have gone out ahead of time since one was due.
    early: usize,
    /// There are changes that should not wait for the period.
    urgent: bool,
}

impl BeaconClock {
    pub(super) fn hurry(&mut self) {
        self.urgent = true;
    }

    /// Notes that one goes out.
    fn send(&mut self, period: Duration, now: Timestamp) {
        let is_due = self.last.is_none_or(|last| last + self.told <= now);
        self.early = if is_due { 0 } else { self.early.saturating_add(1) };
        (self.last, self.told, self.urgent) = (Some(now), period, false);
    }
}

/// The bytes that a beacon still has for what is added to it.
#[derive(Debug)]
pub(in crate::node) struct Room(usize);

impl Room {
    pub(in crate::node) fn left_by(beacon: &Beacon) -> Self {
        Self(DATAGRAM_BODY.saturating_sub(size(beacon) + LENGTHS))
    }

    /// Adds this to one of the beacon's lists, if it fits; tells whether it did.
    pub(in crate::node) fn add<T: Serialize>(&mut self, list: &mut Vec<T>, part: T) -> bool {
        let bytes = size(&part);
        let fits = bytes <= self.0;
        if fits {
            self.0 -= bytes;
            list.push(part);
        }
        fits
    }
}

impl Peers {
    /// There are changes that should not wait for the period.
    pub(in crate::node) fn hurry(&mut self) {
        self.clock.hurry();
    }

    /// When the next beacon of a node that `leads`, or does not, is due.
    pub(in crate::node) fn beacon_due(&self, leads: bool) -> Timestamp {
        let Some(last) = self.clock.last else {
            return Timestamp::START;
        };
        let clock = &self.clock;
        let peers = self.membership.count().max(1);
        let most_early = (MOST_EARLY_OF_ALL / peers).max(MOST_EARLY);
        last + if clock.urgent && clock.early < most_early {
            self.times.beacon_gap
        } else {
            // The peers count on what they were told.
            self.beacon_period(leads).min(clock.told)
        }
    }

    /// Between two beacons without changes. In a large fleet only a node that others depend on, as it
    /// leads them, keeps that of the settings.
    fn beacon_period(&self, leads: bool) -> Duration {
        if leads && self.links.synced().next().is_some() {
            self.times.beacon_period
        } else {
            pace::period(self.membership.count(), &self.times)
        }
    }

    /// The beacon that is due, without its changes.
    pub(in crate::node) fn broadcast(
        &mut self,
        facts: Facts,
        leads: bool,
        now: Timestamp,
    ) -> Beacon {
        self.clock.send(self.beacon_period(leads), now);
        let mut beacon = self.plain_beacon(facts, now);
        beacon.echoes = self.membership.echoes(MOST_ECHOES);
        beacon
    }

    /// A sign of life to one node. Changes go to all: what is told once, as acknowledgements are,
    /// would be lost to the others.
    pub(in crate::node) fn unicast(
        &mut self,
        facts: Facts,
        to: Ipv4Addr,
        probe: bool,
        now: Timestamp,
    ) -> Beacon {
        let mut beacon = self.plain_beacon(facts, now);
        beacon.probe = probe;
        beacon.echoes = self.membership.echoes_for(to);
        beacon
    }

    /// A beacon that carries a message, and where it goes.
    pub(in crate::node) fn carry(
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

    /// Who this node is, where it stands, and what its car does.
    pub(in crate::node) fn plain_beacon(&mut self, facts: Facts, now: Timestamp) -> Beacon {
        self.clock.sequence = self.clock.sequence.saturating_add(1);
        let period = self.clock.told;
        self.membership.sent(self.clock.sequence, period, now);
        let Facts { node_state, term, estimate, digest, durable, journal, car } = facts;
        Beacon {
            hello: self.own.clone(),
            link_port: self.link_port,
            sequence: self.clock.sequence,
            period: u16::try_from(period.as_millis()).unwrap_or(u16::MAX),
            node_state,
            term,
            estimate,
            digest,
            durable,
            journal,
            probe: false,
            echoes: Vec::new(),
            delta: Delta { car, ..Delta::default() },
            piggybacked: None,
        }
    }
}
