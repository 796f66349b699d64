//! Oversight of the master by its slaves: does it assign the open calls (E8)?
//!
//! If a master leaves a hall call without a car for too long, the nearest car by rank serves it
//! without an assignment. A master that continues to do so is treated as lost, so that another node
//! leads.
//!
//! A sound master assigns a call at once if any car can serve it, and otherwise as soon as one can.
//! So a call counts only while this node sees such a car under the same master, and only if the
//! master is known to hold the order.
//!
//! A call that has a car but waits much longer than it ever should is served too. The master is
//! distrusted only if no car served an assigned call in all that time: in a busy bank a call may
//! wait, and a broken car is detected by other means.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::FloorCount;

use crate::dispatch::Predictor;
use crate::model::{Call, CarView, HallCall, NodeId, Timestamp};

/// The period of the checks.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How long a call may be without a car before it is served without an assignment: longer than a
/// plan takes on a slow computer.
const SERVED_AFTER: Duration = Duration::from_secs(5);

/// The delay between the cars that serve such a call, by rank.
const STAGGER: Duration = Duration::from_secs(1);

/// How long a call may be without a car before the master is distrusted: longer than two requests
/// for a plan take.
pub(in crate::node) const BELIEVED_FOR: Duration = Duration::from_secs(12);

/// How long a call may wait for its assigned car before another serves it: longer than in the
/// busiest bank. The same again is added for each floor.
const UNSERVED_AFTER: (Duration, Duration) = (Duration::from_secs(90), Duration::from_secs(20));

/// For how long after the master echoed a node that is unknown here it may hear peers that this
/// node does not hear.
const DOUBT: Duration = Duration::from_secs(5);

/// The bank under its master, as a slave sees it.
#[derive(Debug, Clone)]
pub(in crate::node) struct Bank<'a> {
    pub(in crate::node) own: &'a NodeId,
    pub(in crate::node) floors: FloorCount,
    /// The master, if it is heard.
    pub(in crate::node) leader: Option<Leader>,
    /// The open hall calls.
    pub(in crate::node) calls: BTreeMap<HallCall, OpenCall>,
    /// The cars to which the master can assign calls, ordered by address. Not used while no call is
    /// open.
    pub(in crate::node) cars: Vec<(NodeId, CarView)>,
}

/// The master, as this node hears it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) struct Leader {
    /// Whether it says that it leads.
    pub(in crate::node) leads: bool,
    /// When it last echoed a node that is not heard here.
    pub(in crate::node) stranger_echoed_at: Option<Timestamp>,
}

/// An open hall call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) struct OpenCall {
    /// The car to which it is assigned, as far as this node knows.
    pub(in crate::node) car: Option<NodeId>,
    /// Whether the node of that car is heard, or is this node.
    pub(in crate::node) is_car_heard: bool,
    /// Whether the master knows of the call.
    pub(in crate::node) is_held: bool,
}

/// The result of a check of the master.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::node) enum Verdict {
    /// This node's car serves a call that was not assigned to it.
    TakeOver(HallCall),
    /// The set of calls taken over has changed.
    StopsChanged,
    /// The master does not do its job, for this reason.
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

    /// The hall calls without a car that some car could serve, and whether the master knows of
    /// them.
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

    /// The hall calls with a car that another car could serve too.
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

    /// This node's rank among those that take over a call.
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
    /// The calls without a car; bounded by the open hall calls.
    neglected: BTreeMap<HallCall, Neglect>,
    /// The calls that this node's car has taken over.
    taken: BTreeSet<HallCall>,
    /// Since when the other calls have waited for their cars, as far as this node knows.
    waiting: BTreeMap<HallCall, Timestamp>,
    /// When a car last served a call that was assigned to it.
    kept_at: Option<Timestamp>,
}

/// Since when a call has been without a car.
#[derive(Debug, Clone, Copy)]
struct Neglect {
    since: Timestamp,
    /// Since when the master has known of the order.
    held_since: Option<Timestamp>,
}

impl Oversight {
    /// Forgets everything about the previous master.
    pub(super) fn start_over(&mut self) {
        *self = Self::default();
    }

    /// The master has started again: it is not to blame for what its former incarnation left undone.
    /// What this node's car has taken over stays with it.
    pub(super) fn on_restart(&mut self) {
        for neglect in self.neglected.values_mut() {
            neglect.held_since = None;
        }
        self.waiting.retain(|call, _| self.taken.contains(call));
    }

    /// This node did not run for `late`, and received nothing from the master: that time does not
    /// count.
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

    /// Whether a check is due; `true` once per period.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let due = self.looked_at.is_none_or(|at| now.since(at) >= LOOK_EVERY);
        if due {
            self.looked_at = Some(now);
        }
        due
    }

    /// A call was served by the car to which it was assigned.
    pub(super) fn kept(&mut self, now: Timestamp) {
        self.kept_at = Some(now);
    }

    /// Updates the calls that wait for their cars.
    fn note_waiting(&mut self, calls: &BTreeSet<HallCall>, now: Timestamp) {
        self.waiting.retain(|call, _| calls.contains(call));
        for call in calls {
            self.waiting.entry(*call).or_insert(now);
        }
    }

    /// Since when each call that is overdue for its car has been so, as if it had no car.
    fn due(&self, unserved_after: Duration) -> BTreeMap<HallCall, Timestamp> {
        let neglected = self.neglected.iter();
        let neglected = neglected.map(|(call, neglect)| (*call, neglect.since + SERVED_AFTER));
        let waiting = self.waiting.iter();
        let waiting = waiting.map(|(call, since)| (*call, *since + unserved_after));
        waiting.chain(neglected).collect()
    }

    /// Updates the calls that are without a car, and whether the master knows of them. A call that
    /// it once knew, it keeps knowing while it `leads`.
    fn note(&mut self, neglected: &BTreeMap<HallCall, bool>, leads: bool, now: Timestamp) {
        self.neglected.retain(|call, _| neglected.contains_key(call));
        for (call, held) in neglected {
            let neglect =
                self.neglected.entry(*call).or_insert(Neglect { since: now, held_since: None });
            let since = neglect.held_since.or(held.then_some(now));
            neglect.held_since = since.filter(|_| leads);
        }
    }
    /// Checks what this master leaves undone.
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

    /// Why the master is distrusted, if it is.
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

    /// Whether a call has waited too long for the master's own car while no assigned call was
    /// served. The master is not to blame for the car of another node.
    fn serves_nothing(&self, master: &NodeId, bank: &Bank<'_>, now: Timestamp) -> bool {
        let waiting = self.waiting.iter();
        let its_own = waiting.filter(|(call, _)| bank.car(**call) == Some(master));
        let longest = its_own.map(|(_, since)| since).min();
        longest.is_some_and(|since| {
            now.since(*since) >= bank.unserved_after() && self.kept_at.is_none_or(|at| at < *since)
        })
    }

    /// Takes over the calls that have been without a car for too long. The cars start one after the
    /// other, so that usually only one goes.
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
    Predictor::can_serve(view) && view.reaches(call)
}

#[cfg(test)]
mod tests {
    use elevator_driver::{Direction, Floor};

    use super::*;
    use crate::election::testing::name;
    use crate::model::{Availability, CarPhase, FloorSet, Mode};

    const CALL: HallCall = HallCall::new(Floor::BOTTOM, Direction::Up);

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
            mode: Mode::default(),
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

    /// E8: the next incarnation gets the whole time.
    #[test]
    fn a_master_that_starts_again_is_believed_for_as_long() {
        let (mut oversight, own, start) = (Oversight::default(), name(2), Timestamp::START);
        let is_left = |verdicts: &[Verdict]| {
            verdicts.iter().any(|verdict| matches!(verdict, Verdict::Distrust(_)))
        };
        oversight.look(&name(1), &bank(&own, None), start);
        let restart = start + BELIEVED_FOR / 2;
        oversight.look(&name(1), &bank(&own, None), restart);
        oversight.on_restart();
        let mut look = |at| is_left(&oversight.look(&name(1), &bank(&own, None), at));
        assert!(!look(restart));
        assert!(!look(start + BELIEVED_FOR));
        assert!(look(restart + BELIEVED_FOR));
    }

    /// The call stays with the car that has departed for it, whatever the master then says.
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
