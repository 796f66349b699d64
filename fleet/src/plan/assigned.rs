//! The plan: the master's assignments, as far as this node knows them.

use std::collections::{BTreeMap, BTreeSet};

use crate::dispatch::Assignments;
use crate::model::{HallCall, NodeId, NodeState};
use crate::wire::PlanEntry;

/// The assignments of the present master, or of this node if it is master.
///
/// They are not part of the replicated store: each master makes its own, and they end with its
/// mastership (E3). Only the cars of destination calls outlast it: see [`end`](Self::end).
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    version: u64,
    entries: BTreeMap<HallCall, (u64, NodeId)>,
    /// Where the excerpt in the next beacon starts.
    rotation: usize,
}

impl Plan {
    /// There are no calls. The version continues: no two masterships share one.
    pub(super) fn clear(&mut self) {
        self.entries.clear();
    }

    /// Another master makes another plan; the passengers of destination calls know their cars.
    pub(super) fn end(&mut self) {
        self.entries.retain(|call, _| call.to.is_some());
    }

    pub(super) fn forget_trips_but(&mut self, open: &BTreeSet<HallCall>) {
        self.entries.retain(|call, _| call.to.is_none() || open.contains(call));
    }

    pub(crate) fn forget_cars_but(&mut self, is_there: impl Fn(&NodeId) -> bool) {
        self.entries.retain(|_, (_, car)| is_there(car));
    }

    /// The master has started again, and counts its versions from the beginning. Every entry of its
    /// new plan is newer than what this node knows, to which the cars keep until then.
    pub(crate) fn outdate(&mut self) {
        self.stamp(0);
    }

    /// The next master continues with the plan. What it confirms is newer than what is inherited.
    pub(super) fn inherit(&mut self, node_state: &NodeState) {
        let version = match node_state {
            NodeState::Master => {
                self.version = self.version.saturating_add(1);
                self.version
            }
            NodeState::Slave { .. } | NodeState::Seeking => 0,
        };
        self.stamp(version);
    }

    fn stamp(&mut self, version: u64) {
        for (stamp, _) in self.entries.values_mut() {
            *stamp = version;
        }
    }

    /// As master: adopts the dispatcher's assignments; returns the changed entries.
    pub(super) fn adopt(&mut self, assignments: Assignments) -> Vec<PlanEntry> {
        self.entries.retain(|call, _| assignments.contains_key(call));
        let changed: Vec<(HallCall, NodeId)> =
            assignments.into_iter().filter(|(call, car)| self.car(*call) != Some(car)).collect();
        if changed.is_empty() {
            return Vec::new();
        }
        self.version = self.version.saturating_add(1);
        let version = self.version;
        for (call, car) in &changed {
            self.entries.insert(*call, (version, car.clone()));
        }
        changed.into_iter().map(|(call, car)| PlanEntry { version, call, car }).collect()
    }

    pub(crate) fn learn(&mut self, entry: PlanEntry) -> bool {
        let known = self.entries.get(&entry.call);
        if known.is_some_and(|(version, _)| *version >= entry.version) {
            return false;
        }
        // The next master repeats entries of the last one.
        let is_new = known.is_none_or(|(_, car)| *car != entry.car);
        self.entries.insert(entry.call, (entry.version, entry.car));
        is_new
    }

    /// A call was served: the next press of it gets a new assignment.
    pub(crate) fn forget(&mut self, call: HallCall) {
        self.entries.remove(&call);
    }

    pub(crate) fn car(&self, call: HallCall) -> Option<&NodeId> {
        self.entries.get(&call).map(|(_, car)| car)
    }

    pub(crate) fn assigned_to(&self, car: &NodeId) -> BTreeSet<HallCall> {
        self.entries.iter().filter(|(_, (_, to))| to == car).map(|(call, _)| *call).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The whole plan of a master that hands over: newer than all entries sent before.
    pub(crate) fn bequeath(&self) -> impl Iterator<Item = PlanEntry> {
        let version = self.version.saturating_add(1);
        self.entries().map(move |entry| PlanEntry { version, ..entry })
    }

    pub(crate) fn assignments(&self) -> impl Iterator<Item = (HallCall, &NodeId)> {
        self.entries.iter().map(|(call, (_, car))| (*call, car))
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = PlanEntry> {
        self.entries.iter().map(|(call, (version, car))| PlanEntry {
            version: *version,
            call: *call,
            car: car.clone(),
        })
    }

    /// Offers the plan to a beacon, another part each time, until it has no more room.
    pub(crate) fn offer_entries(&mut self, mut has_room: impl FnMut(&PlanEntry) -> bool) {
        let entries: Vec<PlanEntry> = self.entries().collect();
        let start = self.rotation.checked_rem(entries.len()).unwrap_or(0);
        let told = entries.iter().cycle().skip(start).take(entries.len());
        self.rotation = start + told.take_while(|entry| has_room(entry)).count();
    }
}

#[cfg(test)]
mod tests {
    use elevator_driver::Direction::Up;

    use super::*;
    use crate::dispatch::tests::{call, node};

    fn assignments(of: &[(u8, &str)]) -> Assignments {
        of.iter().map(|(floor, car)| (call(*floor, Up), node(car))).collect()
    }

    /// F1, E3
    #[test]
    fn a_slave_ends_up_with_the_masters_plan_in_whatever_order_its_lines_arrive() {
        let (mut master, mut slave) = (Plan::default(), Plan::default());
        let first = master.adopt(assignments(&[(1, "A"), (2, "B")]));
        let second = master.adopt(assignments(&[(1, "B"), (2, "B")]));
        assert_eq!(second.len(), 1, "only what changed");
        assert!(master.adopt(assignments(&[(1, "B"), (2, "B")])).is_empty());
        for entry in second.into_iter().chain(first) {
            slave.learn(entry);
        }
        assert_eq!(slave.assigned_to(&node("B")), [call(1, Up), call(2, Up)].into());
        assert_eq!(slave.assigned_to(&node("A")), [].into());
    }

    /// C3: the mastership rotates, the plan stays, and the present master is believed.
    #[test]
    fn a_plan_that_is_inherited_gives_way_to_the_next_masters() {
        let slave_of = |master: &str| NodeState::Slave { master: node(master) };
        let (mut first, mut second) = (Plan::default(), Plan::default());
        for assigned in ["A", "B", "A"] {
            for entry in first.adopt(assignments(&[(1, assigned), (2, "B")])) {
                second.learn(entry);
            }
        }
        first.inherit(&slave_of("second"));
        second.inherit(&NodeState::Master);
        assert_eq!(first.assigned_to(&node("A")), [call(1, Up)].into());
        second.adopt(assignments(&[(1, "B"), (2, "A")]));
        for entry in second.entries().collect::<Vec<_>>() {
            assert!(first.learn(entry));
        }
        assert_eq!(first.assigned_to(&node("A")), [call(2, Up)].into());
    }

    /// H4: the last master has taken a call from a lost car, and could give it to none.
    #[test]
    fn a_plan_that_is_inherited_leaves_no_call_with_a_lost_car() {
        let (mut first, mut second) = (Plan::default(), Plan::default());
        for entry in first.adopt(assignments(&[(1, "A"), (2, "B")])) {
            second.learn(entry);
        }
        assert!(first.adopt(assignments(&[(2, "B")])).is_empty(), "it has nothing to tell");
        second.inherit(&NodeState::Master);
        second.forget_cars_but(|car| *car != node("A"));
        assert_eq!(second.assignments().collect::<Vec<_>>(), [(call(2, Up), &node("B"))]);
    }

    #[test]
    fn a_plan_that_does_not_fit_is_told_part_by_part() {
        let mut plan = Plan::default();
        plan.adopt(assignments(&[(1, "A"), (2, "A"), (3, "A"), (4, "A"), (5, "A")]));
        let mut told = BTreeSet::new();
        for _ in 0..3 {
            let mut room = 2;
            plan.offer_entries(|entry| {
                let fits = room > 0;
                if fits {
                    room -= 1;
                    told.insert(entry.call);
                }
                fits
            });
        }
        assert_eq!(told.len(), 5);
    }
}
