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

use elevator_driver::FloorCount;

use crate::dispatch::Predictor;
use crate::model::{Call, CarView, HallCall, NodeId, Timestamp};

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

/// What a slave sees of the bank under its master.
#[derive(Debug, Clone)]
pub(in crate::node) struct Bank<'a> {
    pub(in crate::node) own: &'a NodeId,
    pub(in crate::node) floors: FloorCount,
    /// The master, while it is heard.
    pub(in crate::node) leader: Option<Leader>,
    /// The hall calls that wait.
    pub(in crate::node) calls: BTreeMap<HallCall, OpenCall>,
    /// The cars that the master can assign calls to, by address. Nobody asks for them while no call
    /// waits.
    pub(in crate::node) cars: Vec<(NodeId, CarView)>,
}

/// The master as this node hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) struct Leader {
    /// It says that it leads.
    pub(in crate::node) leads: bool,
    /// When it last echoed a node that is not heard here.
    pub(in crate::node) stranger_echoed_at: Option<Timestamp>,
}

/// A hall call that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) struct OpenCall {
    /// The car that it is assigned to, as far as is known here.
    pub(in crate::node) car: Option<NodeId>,
    /// The node of that car is heard, or is this one.
    pub(in crate::node) is_car_heard: bool,
    /// The master knows of it.
    pub(in crate::node) is_held: bool,
}

/// What follows from a look at the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) enum Verdict {
    /// This node's car serves a call that was not assigned to it.
    TakeOver(HallCall),
    /// The set of such calls has changed.
    StopsChanged,
    /// The master does not do its part, for this reason.
    Distrust(String),
}

impl Bank<'_> {
    fn car(&self, call: HallCall) -> Option<&NodeId> {
        self.calls.get(&call)?.car.as_ref()
    }

    fn unserved_after(&self) -> Duration {
        let (base, floor) = UNSERVED_AFTER;
        base + floor * u32::from(self.floors.get())
    }

    /// The hall calls that have no car although one could serve them, and whether the master knows
    /// of them.
    fn neglected(&self, now: Timestamp) -> BTreeMap<HallCall, bool> {
        let Some(leader) = &self.leader else {
            return BTreeMap::new();
        };
        let hears_others = leader.stranger_echoed_at.is_some_and(|at| now.since(at) < DOUBT);
        let has_car = |call: &OpenCall| call.car.is_some() && (call.is_car_heard || hears_others);
        let can_be_served = |call| self.cars.iter().any(|(_, view)| serves(view, call));
        let calls = self.calls.iter();
        let neglected = calls.filter(|(call, open)| !has_car(open) && can_be_served(**call));
        neglected.map(|(call, open)| (*call, open.is_held)).collect()
    }

    /// The hall calls that have a car, although another one could serve them too.
    fn waiting(&self, neglected: &BTreeMap<HallCall, bool>) -> BTreeSet<HallCall> {
        let waits = |call: HallCall| {
            let car = self.car(call);
            let able = self.cars.iter().filter(|(_, view)| serves(view, call));
            let mut others = able.filter(|(name, _)| Some(name) != car);
            !neglected.contains_key(&call) && car.is_some() && others.next().is_some()
        };
        let calls = self.calls.keys().copied();
        calls.filter(|call| waits(*call)).collect()
    }

    /// The place of this node among those that are to help out with a call.
    fn rank(&self, master: &NodeId, call: HallCall) -> Option<u32> {
        let able = self.cars.iter().filter(|(_, view)| serves(view, call));
        let assigned = self.car(call);
        let is_helper = |name: &&NodeId| *name != master && Some(*name) != assigned;
        let mut able = able.map(|(name, _)| name).filter(is_helper);
        let rank = able.position(|name| name == self.own)?;
        u32::try_from(rank).ok()
    }
}

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

    /// Whether it is time for a look; says so once.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
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
        self.neglected.retain(|call, _| neglected.contains_key(call));
        for (call, held) in neglected {
            let neglect =
                self.neglected.entry(*call).or_insert(Neglect { since: now, held_since: None });
            let since = neglect.held_since.or(held.then_some(now));
            neglect.held_since = since.filter(|_| leads);
        }
    }
    /// Looks at what this master leaves undone.
    pub(super) fn look(
        &mut self,
        master: &NodeId,
        bank: &Bank<'_>,
        now: Timestamp,
    ) -> Vec<Verdict> {
        let neglected = bank.neglected(now);
        let leads = bank.leader.is_some_and(|leader| leader.leads);
        self.note(&neglected, leads, now);
        self.note_waiting(&bank.waiting(&neglected), now);
        let mut verdicts = self.take_over(master, bank, now);
        verdicts.extend(self.distrust(master, bank, now).map(Verdict::Distrust));
        verdicts
    }

    /// Why the master is not trusted any more.
    fn distrust(&self, master: &NodeId, bank: &Bank<'_>, now: Timestamp) -> Option<String> {
        let passed = |neglect: &Neglect| {
            let held = neglect.held_since.map(|since| now.since(since));
            held.is_some_and(|held| held >= BELIEVED_FOR)
        };
        let neglected = self.neglected.iter();
        let mut worst = neglected.filter(|(_, neglect)| passed(neglect));
        if let Some((call, _)) = worst.next() {
            let (call, secs) = (Call::Hall(*call), BELIEVED_FOR.as_secs());
            return Some(format!("it has assigned {call} to no car for {secs} s"));
        }
        let secs = bank.unserved_after().as_secs();
        self.serves_nothing(master, bank, now)
            .then(|| format!("no car has served what it assigned for {secs} s"))
    }

    /// Whether a call has waited for too long for the master's own car, and no assignment was kept
    /// meanwhile. For the car of another node the master is not to blame.
    fn serves_nothing(&self, master: &NodeId, bank: &Bank<'_>, now: Timestamp) -> bool {
        let waiting = self.waiting.iter();
        let its_own = waiting.filter(|(call, _)| bank.car(**call) == Some(master));
        let longest = its_own.map(|(_, since)| since).min();
        longest.is_some_and(|since| {
            now.since(*since) >= bank.unserved_after() && self.kept_at.is_none_or(|at| at < *since)
        })
    }

    /// Serves what has been without a car for too long. The cars set out one after the other, so
    /// that one is enough as a rule.
    fn take_over(&mut self, master: &NodeId, bank: &Bank<'_>, now: Timestamp) -> Vec<Verdict> {
        let mut taken = BTreeSet::new();
        for (call, at) in self.due(bank.unserved_after()) {
            let is_due = || {
                let rank = bank.rank(master, call);
                rank.is_some_and(|rank| now >= at + STAGGER * rank)
            };
            if self.taken.contains(&call) || is_due() {
                taken.insert(call);
            }
        }
        if taken == self.taken {
            return Vec::new();
        }
        let fresh = taken.difference(&self.taken).copied();
        let mut verdicts: Vec<Verdict> = fresh.map(Verdict::TakeOver).collect();
        verdicts.push(Verdict::StopsChanged);
        self.taken = taken;
        verdicts
    }
}

fn serves(view: &CarView, call: HallCall) -> bool {
    Predictor::can_serve(view) && !view.locked_out.contains(call.floor)
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Direction, Floor};

    use super::*;
    use crate::election::testing::name;
    use crate::model::{Availability, CarPhase, FloorSet};

    const CALL: HallCall = HallCall { floor: Floor::BOTTOM, direction: Direction::Up };

    /// Node 2 under master 1: its own car could serve, and a call waits that has this car or none.
    fn bank(own: &NodeId, car: Option<NodeId>) -> Bank<'_> {
        let view = CarView {
            availability: Availability::InService,
            floor: Some(Floor::BOTTOM),
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            locked_out: FloorSet::default(),
        };
        let call = OpenCall { is_car_heard: car.is_some(), car, is_held: true };
        Bank {
            own,
            floors: FloorCount::new(4).expect("floors"),
            leader: Some(Leader { leads: true, stranger_echoed_at: None }),
            calls: BTreeMap::from([(CALL, call)]),
            cars: vec![(own.clone(), view)],
        }
    }

    /// E8
    #[test]
    fn a_call_without_a_car_is_served_and_then_costs_the_master_its_trust() {
        let (mut oversight, own, start) = (Oversight::default(), name(2), Timestamp::START);
        let mut look = |after| oversight.look(&name(1), &bank(&own, None), start + after);
        assert_eq!(look(Duration::ZERO), []);
        let taken = [Verdict::TakeOver(CALL), Verdict::StopsChanged];
        assert_eq!(look(SERVED_AFTER), taken);
        assert_eq!(look(SERVED_AFTER + STAGGER), [], "once");
        let last = look(BELIEVED_FOR);
        assert!(matches!(last[..], [Verdict::Distrust(_)]), "{last:?}");
    }

    /// It stays with the car that has set out for it, whatever the master then says.
    #[test]
    fn a_call_that_was_taken_over_is_kept_until_it_is_served() {
        let (mut oversight, own, start) = (Oversight::default(), name(2), Timestamp::START);
        let mut look = |bank: Bank<'_>, after| oversight.look(&name(1), &bank, start + after);
        look(bank(&own, None), Duration::ZERO);
        look(bank(&own, None), SERVED_AFTER);
        let assigned = || bank(&own, Some(name(1)));
        assert_eq!(look(assigned(), BELIEVED_FOR), []);
        let calls = BTreeMap::new();
        let served = Bank { calls, ..assigned() };
        assert_eq!(look(served, BELIEVED_FOR), [Verdict::StopsChanged]);
    }
}
