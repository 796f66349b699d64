//! Whether a service that another node tells of can have happened (O1).
//!
//! A record says which car served a press, and how long the press had waited. Where this node has
//! had that car before its eyes all the time, it knows better than the record. In doubt, after a
//! partition, a restart or an interruption, it believes what it is told.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use super::Node;
use crate::model::{Call, CarView, NodeId, Timestamp};
use crate::orders::{Record, State};
use crate::wire::Standing;

/// Clocks run apart and messages are late by less than this.
const TOLERANCE: Duration = Duration::from_secs(10);

/// A car that is not described for longer than this may have been anywhere.
const GAP: Duration = Duration::from_secs(2);

/// Where the car of a peer has been seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Sightings {
    /// Since when there has been no gap, and when it was seen last.
    seen: Option<(Timestamp, Timestamp)>,
    /// When it was last seen at each floor, or on its way from there; bounded by the floors.
    floors: BTreeMap<Floor, Timestamp>,
}

impl Sightings {
    pub(super) fn start_over(&mut self) {
        self.seen = None;
    }

    pub(super) fn note(&mut self, view: &CarView, now: Timestamp) {
        let Some(floor) = view.floor else {
            return self.start_over();
        };
        let unbroken = self.seen.filter(|(_, last)| now.since(*last) <= GAP);
        self.seen = Some((unbroken.map_or(now, |(since, _)| since), now));
        self.floors.insert(floor, now);
    }

    /// Whether the car is known not to have been at this floor from then on.
    fn exclude(&self, floor: Floor, from: Timestamp) -> bool {
        let seen = self.seen.is_some_and(|(since, _)| since <= from);
        seen && self.floors.get(&floor).is_none_or(|last| *last < from)
    }
}

impl Node {
    /// Why a record can't be true that closes an order which is open here; `None` if it may be, or
    /// closes none.
    pub(super) fn implausible(&self, record: &Record) -> Option<String> {
        let State::Served(service) = &record.state else {
            return None;
        };
        let open = self.orders.present(record.dot, &record.call)?;
        let order = self.orders.get(open).filter(|_| open <= record.dot)?;
        // Who refuses must be able to have it served after all.
        let can_serve = self.car.is_some() || self.standing == Standing::Master;
        let placed = order.placed;
        if !can_serve || self.attentive_since + TOLERANCE > placed {
            return None;
        }
        let Some(service) = service else {
            return Some("by nobody".to_owned());
        };
        let car = &service.car;
        let is_anothers = match &record.call {
            Call::Cab { car: of, .. } => of != car,
            Call::Hall(_) => false,
        };
        if is_anothers {
            return Some(format!("by {car}, in whose cabin it was not placed"));
        }
        if *car == self.hello.node {
            return Some("this node's car did not".to_owned());
        }
        // The alleged moment is no help: a repeated press has the age of the earlier one, but only
        // where that was known to be open.
        let from = placed - TOLERANCE;
        self.excludes(car, record.call.floor(), from)
    }

    /// Why this car can't have been at this floor from then on.
    fn excludes(&self, car: &NodeId, floor: Floor, from: Timestamp) -> Option<String> {
        if let Some(peer) = self.membership.get(car) {
            let excluded = peer.sightings.exclude(floor, from);
            return excluded.then(|| format!("by {car}, which was not there"));
        }
        let was_lost = self.membership.lost().knows(car);
        // Whom this node does not know another one may.
        let mut peers = self.membership.peers();
        let all_known = peers.all(|(_, peer)| {
            let unbroken = peer.found_at <= from;
            unbroken && peer.stranger_echoed_at.is_none_or(|at| at < from)
        });
        (!was_lost && all_known).then(|| format!("by {car}, which does not exist"))
    }
}
