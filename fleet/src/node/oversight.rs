//! As slave: whether the master assigns what waits (E8).
//!
//! A master that leaves a hall call without a car for too long is helped out: the nearest car by
//! rank serves it although it was not assigned to it. A master that goes on like that is treated
//! as gone, so that another one leads.
//!
//! A sound master assigns a call at once where any car can serve it, and again as soon as one can.
//! So a call counts only while this node sees such a car under the same master, and only against a
//! master that is known to hold the order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::distrust::Offence;
use super::{Node, Report};
use crate::dispatch::Predictor;
use crate::model::{Call, CarView, HallCall, NodeId, Timestamp};
use crate::wire::Standing;

/// How often the plan is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// After this time without a car, a call is served without having been assigned: longer than a
/// plan takes on a slow computer.
const SERVED_AFTER: Duration = Duration::from_secs(5);

/// The time between one car that sets out for such a call and the next, by rank.
const STAGGER: Duration = Duration::from_secs(1);

/// After this time without a car, the master is not trusted: longer than it takes to ask for a
/// plan twice.
const BELIEVED_FOR: Duration = Duration::from_secs(12);

/// A peer that this node does not hear may be heard by the master, which has echoed a node that is
/// unknown here within this time.
const DOUBT: Duration = Duration::from_secs(5);

/// What the master leaves undone.
#[derive(Debug, Clone, Default)]
pub(super) struct Oversight {
    looked_at: Option<Timestamp>,
    /// The calls that have no car; bounded by the building's buttons.
    neglected: BTreeMap<HallCall, Neglect>,
    /// Those of them that this node's car serves all the same.
    taken: BTreeSet<HallCall>,
}

/// Since when a call has had no car.
#[derive(Debug, Clone, Copy)]
struct Neglect {
    since: Timestamp,
    /// Since when the master has held the order nevertheless.
    held_since: Option<Timestamp>,
}

impl Oversight {
    /// Nothing is known of the present master.
    pub(super) fn start_over(&mut self) {
        *self = Self::default();
    }

    /// The calls that this node's car serves although they were not assigned to it.
    pub(super) fn taken(&self) -> &BTreeSet<HallCall> {
        &self.taken
    }

    fn is_due(&mut self, now: Timestamp) -> bool {
        let due = self.looked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY);
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// Notes the calls that are without a car now, and whether the master holds them.
    fn note(&mut self, neglected: &BTreeMap<HallCall, bool>, now: Timestamp) {
        self.neglected
            .retain(|call, _| neglected.contains_key(call));
        for (call, held) in neglected {
            let neglect = self.neglected.entry(*call).or_insert(Neglect {
                since: now,
                held_since: None,
            });
            let since = neglect.held_since.unwrap_or(now);
            neglect.held_since = held.then_some(since);
        }
    }
}

impl Node {
    pub(super) fn oversee(&mut self, now: Timestamp) {
        if !self.oversight.is_due(now) {
            return;
        }
        let master = match &self.standing {
            Standing::Slave { master } => master.clone(),
            Standing::Master | Standing::Seeking => return,
        };
        let neglected = self.neglected(&master, now);
        self.oversight.note(&neglected, now);
        self.take_over(&master, now);
        let passed = |neglect: &Neglect| {
            let held = neglect.held_since.map(|since| now.since(since));
            held.is_some_and(|held| held >= BELIEVED_FOR)
        };
        let worst = self.oversight.neglected.iter();
        let worst = worst
            .filter(|(_, neglect)| passed(neglect))
            .map(|(c, _)| *c);
        if let Some(call) = worst.min() {
            let (call, secs) = (Call::Hall(call), BELIEVED_FOR.as_secs());
            let reason = format!("it has assigned {call} to no car for {secs} s");
            self.distrust(&master, Offence::Neglect, &reason, now);
        }
    }

    /// The hall calls that have no car although one could serve them, and whether the master is
    /// known to hold them.
    fn neglected(&self, master: &NodeId, now: Timestamp) -> BTreeMap<HallCall, bool> {
        let calls = self.hall_calls();
        if calls.is_empty() {
            return BTreeMap::new();
        }
        let Some(leader) = self.membership.get(master) else {
            return BTreeMap::new();
        };
        let leads = leader.standing == Standing::Master;
        let hears_others = leader
            .stranger_echoed_at
            .is_some_and(|at| now.since(at) < DOUBT);
        let has_car = |call: HallCall| {
            self.plan.car(call).is_some_and(|car| {
                *car == self.hello.node || hears_others || self.membership.get(car).is_some()
            })
        };
        let views = self.cars_under(master, now);
        let can_be_served = |call: HallCall| views.iter().any(|(_, view)| serves(view, call));
        let is_held = |call: HallCall| {
            let call = Call::Hall(call);
            let mut orders = self.orders.of_call(&call);
            leads && orders.any(|order| self.promise.holding(order.dot, master).is_some())
        };
        let neglected = calls.into_iter();
        let neglected = neglected.filter(|call| !has_car(*call) && can_be_served(*call));
        neglected.map(|call| (call, is_held(call))).collect()
    }

    /// The cars that this master can assign calls to, by address.
    fn cars_under(&self, master: &NodeId, now: Timestamp) -> Vec<(NodeId, CarView)> {
        let follows = |standing: &Standing| match standing {
            Standing::Slave { master: of } => of == master,
            Standing::Master | Standing::Seeking => false,
        };
        let peers = self.membership.peers();
        let peers = peers.filter(|(name, peer)| *name == master || follows(&peer.standing));
        let mut cars: Vec<_> = peers
            .filter_map(|(name, peer)| Some((peer.hello.address, name, peer.car?.0)))
            .collect();
        let own = self.car_view(now);
        cars.extend(own.map(|view| (self.hello.address, &self.hello.node, view)));
        cars.sort_by_key(|(address, name, _)| (*address, *name));
        let cars = cars.into_iter();
        cars.map(|(_, name, view)| (name.clone(), view)).collect()
    }

    /// Serves what has been without a car for too long. The cars set out one after the other, so
    /// that one is enough as a rule.
    fn take_over(&mut self, master: &NodeId, now: Timestamp) {
        let before = self.oversight.taken.clone();
        if before.is_empty() && self.oversight.neglected.is_empty() {
            return;
        }
        let cars = self.cars_under(master, now);
        let rank = |call: HallCall| {
            let able = cars.iter().filter(|(_, view)| serves(view, call));
            let mut able = able.map(|(name, _)| name).filter(|name| *name != master);
            able.position(|name| *name == self.hello.node)
        };
        let mut taken = BTreeSet::new();
        for (call, neglect) in &self.oversight.neglected {
            let rank = rank(*call).and_then(|rank| u32::try_from(rank).ok());
            let wait = rank.map(|rank| SERVED_AFTER + STAGGER * rank);
            let is_due = wait.is_some_and(|wait| now.since(neglect.since) >= wait);
            if before.contains(call) || is_due {
                taken.insert(*call);
            }
        }
        if taken == before {
            return;
        }
        for call in taken.difference(&before) {
            self.report(Report::TakenOver {
                call: Call::Hall(*call),
                master: master.clone(),
            });
        }
        self.oversight.taken = taken;
        self.stale.stops = true;
    }
}

fn serves(view: &CarView, call: HallCall) -> bool {
    Predictor::can_serve(view) && !view.left_out.contains(call.floor)
}
