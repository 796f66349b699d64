//! As slave: whether the master assigns what waits (E8).
//!
//! A master that leaves a hall call without a car for too long is helped out: the nearest car by
//! rank serves it although it was not assigned to it. A master that goes on like that is treated
//! as gone, so that another one leads.
//!
//! A sound master assigns a call at once where any car can serve it, and again as soon as one can.
//! So a call counts only while this node sees such a car under the same master, and only against a
//! master that is known to hold the order.
//!
//! A call that has a car and waits far longer than it ever should is served as well. It costs the
//! master the trust only if in all that time no car served a call that it was assigned: a busy bank
//! may let a call wait, and a broken car is noticed by others' means.

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

/// After this time a call that has a car is served by another: longer than the busiest bank takes,
/// with as much again for each floor.
const UNSERVED_AFTER: (Duration, Duration) = (Duration::from_secs(90), Duration::from_secs(20));

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
    /// Since when other calls have waited for their cars, or at least have been known to.
    waiting: BTreeMap<HallCall, Timestamp>,
    /// When a car last served a call that it was assigned.
    kept_at: Option<Timestamp>,
}

/// Since when a call has had no car.
#[derive(Debug, Clone, Copy)]
struct Neglect {
    since: Timestamp,
    /// Since when the master has known of the order nevertheless.
    held_since: Option<Timestamp>,
}

impl Oversight {
    /// Nothing is known of the present master.
    pub(super) fn start_over(&mut self) {
        *self = Self::default();
    }

    /// This node did not run for `late`, and heard nothing of the master: that time does not count.
    pub(super) fn excuse(&mut self, late: Duration, now: Timestamp) {
        let neglected = self.neglected.values_mut();
        let neglected = neglected.flat_map(|neglect| {
            let Neglect { since, held_since } = neglect;
            [Some(since), held_since.as_mut()]
        });
        let waiting = self.waiting.values_mut().map(Some);
        let all = neglected.chain(waiting).chain([self.kept_at.as_mut()]);
        for at in all.flatten() {
            *at = (*at + late).min(now);
        }
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

    /// A call has been served, by the car that it was assigned to.
    pub(super) fn kept(&mut self, now: Timestamp) {
        self.kept_at = Some(now);
    }

    /// Notes the calls that wait for their cars now.
    fn note_waiting(&mut self, calls: &BTreeSet<HallCall>, now: Timestamp) {
        self.waiting.retain(|call, _| calls.contains(call));
        for call in calls {
            self.waiting.entry(*call).or_insert(now);
        }
    }

    /// Since when the calls that are to be served without having been assigned have been due for
    /// that, as if they had been without a car.
    fn due(&self, unserved_after: Duration) -> BTreeMap<HallCall, Timestamp> {
        let neglected = self.neglected.iter();
        let neglected = neglected.map(|(call, neglect)| (*call, neglect.since + SERVED_AFTER));
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|(call, since)| (*call, *since + unserved_after));
        waiting.chain(neglected).collect()
    }

    /// Notes the calls that are without a car now, and whether the master knows of them. What it
    /// has known of once, it goes on knowing of while it `leads`.
    fn note(&mut self, neglected: &BTreeMap<HallCall, bool>, leads: bool, now: Timestamp) {
        self.neglected
            .retain(|call, _| neglected.contains_key(call));
        for (call, held) in neglected {
            let neglect = self.neglected.entry(*call).or_insert(Neglect {
                since: now,
                held_since: None,
            });
            let since = neglect.held_since.or(held.then_some(now));
            neglect.held_since = since.filter(|_| leads);
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
        let leader = self.membership.get(&master);
        let leads = leader.is_some_and(|leader| leader.standing == Standing::Master);
        self.oversight.note(&neglected, leads, now);
        let waiting = self.waiting(&master, &neglected, now);
        self.oversight.note_waiting(&waiting, now);
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
        } else if self.serves_nothing(&master, now) {
            let secs = self.unserved_after().as_secs();
            let reason = format!("no car has served what it assigned for {secs} s");
            self.distrust(&master, Offence::Neglect, &reason, now);
        }
    }

    fn unserved_after(&self) -> Duration {
        let (base, floor) = UNSERVED_AFTER;
        base + floor * u32::from(self.settings.floors.get())
    }

    /// Whether a call has waited for too long for the master's own car, and no assignment was kept
    /// meanwhile. For the car of another node the master is not to blame.
    fn serves_nothing(&self, master: &NodeId, now: Timestamp) -> bool {
        let waiting = self.oversight.waiting.iter();
        let its_own = waiting.filter(|(call, _)| self.plan.car(**call) == Some(master));
        let longest = its_own.map(|(_, since)| since).min();
        let kept_at = self.oversight.kept_at;
        longest.is_some_and(|since| {
            now.since(*since) >= self.unserved_after() && kept_at.is_none_or(|at| at < *since)
        })
    }

    /// The hall calls that have a car, although another one could serve them too.
    fn waiting(
        &self,
        master: &NodeId,
        neglected: &BTreeMap<HallCall, bool>,
        now: Timestamp,
    ) -> BTreeSet<HallCall> {
        let mut calls = self.hall_calls();
        if !calls.is_empty() {
            let views = self.cars_under(master, now);
            calls.retain(|call| {
                let car = self.plan.car(*call);
                let able = views.iter().filter(|(_, view)| serves(view, *call));
                let mut others = able.filter(|(name, _)| Some(name) != car);
                !neglected.contains_key(call) && car.is_some() && others.next().is_some()
            });
        }
        calls
    }

    /// The hall calls that have no car although one could serve them, and whether the master knows
    /// of them.
    fn neglected(&self, master: &NodeId, now: Timestamp) -> BTreeMap<HallCall, bool> {
        let calls = self.hall_calls();
        if calls.is_empty() {
            return BTreeMap::new();
        }
        let Some(leader) = self.membership.get(master) else {
            return BTreeMap::new();
        };
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
            // Who tells of a service that did not happen knows of the order, too.
            let is_known = |dot| {
                self.promise.holding(dot, master).is_some()
                    || self.contested.is_told_by(dot, master)
            };
            orders.any(|order| is_known(order.dot))
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
        let own = self.cabin.view(now);
        cars.extend(own.map(|view| (self.hello.address, &self.hello.node, view)));
        cars.sort_by_key(|(address, name, _)| (*address, *name));
        let cars = cars.into_iter();
        cars.map(|(_, name, view)| (name.clone(), view)).collect()
    }

    /// Serves what has been without a car for too long. The cars set out one after the other, so
    /// that one is enough as a rule.
    fn take_over(&mut self, master: &NodeId, now: Timestamp) {
        let before = self.oversight.taken.clone();
        let due = self.oversight.due(self.unserved_after());
        if before.is_empty() && due.values().all(|at| now < *at) {
            return;
        }
        let cars = self.cars_under(master, now);
        let rank = |call: HallCall| {
            let able = cars.iter().filter(|(_, view)| serves(view, call));
            let assigned = self.plan.car(call);
            let is_helper = |name: &&NodeId| *name != master && Some(*name) != assigned;
            let mut able = able.map(|(name, _)| name).filter(is_helper);
            able.position(|name| *name == self.hello.node)
        };
        let mut taken = BTreeSet::new();
        for (call, at) in due {
            let rank = rank(call).and_then(|rank| u32::try_from(rank).ok());
            let is_due = rank.is_some_and(|rank| now >= at + STAGGER * rank);
            if before.contains(&call) || is_due {
                taken.insert(call);
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
        self.cabin.invalidate_stops();
    }
}

fn serves(view: &CarView, call: HallCall) -> bool {
    Predictor::can_serve(view) && !view.left_out.contains(call.floor)
}
