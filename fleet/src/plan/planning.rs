//! Requests for plans: the master makes one, and continues until the answer arrives.
//!
//! A plan for a large bank takes longer than the stop of a motor may be delayed, so the driver
//! makes it, and answers by [`Node::handle_plan`](crate::node::Node::handle_plan). One request is
//! pending at a time; changes meanwhile lead to the next one.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use crate::dispatch::{Bank, CarSituation, Dispatcher, HallDemand, Parking, Plan};
use crate::model::{NodeId, Timestamp};

/// How often the plan is reconsidered while calls are open: waiting raises their cost.
const REPLAN_PERIOD: Duration = Duration::from_secs(1);

/// How long a request may be pending before it is repeated: longer than any plan takes.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The number of a request for a plan; it increases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PlanVersion(u64);

/// A request for a plan: the inputs of [`Dispatcher::plan`] at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRequest {
    pub version: PlanVersion,
    pub now: Timestamp,
    pub cars: Vec<CarSituation>,
    /// The open hall calls; of very many trips, those that stand for others.
    pub demand: Vec<HallDemand>,
    pub parked: BTreeMap<NodeId, Floor>,
    /// Where idle cars wait at this time of the week, if the schedule says so.
    pub parking: Option<Parking>,
}

impl PlanRequest {
    pub fn plan(&self, dispatcher: &mut dyn Dispatcher) -> Plan {
        let Self { version: _, now, cars, demand, parked, parking } = self;
        let mut plan = dispatcher.plan(&Bank { now: *now, cars, demand, parked });
        if let Some(parking) = parking {
            parking.apply(&mut plan, cars);
        }
        plan
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Planning {
    asked: PlanVersion,
    /// Answers up to this one are ignored: a later one was used, or the mastership was another.
    outdated: PlanVersion,
    /// When the pending request counts as lost; `None` if none is pending.
    lost_at: Option<Timestamp>,
    /// When the plan is reconsidered; `None` if no call is open.
    due: Option<Timestamp>,
}

impl Planning {
    pub(super) fn ask(&mut self, now: Timestamp) -> PlanVersion {
        self.asked = PlanVersion(self.asked.0.saturating_add(1));
        self.lost_at = Some(now + ANSWER_LIMIT);
        self.asked
    }

    pub(crate) fn count(&self) -> u64 {
        self.asked.0
    }

    /// Whether to use an answer. The answer to a request that counts as lost is still used.
    pub(crate) fn accept_answer(&mut self, version: PlanVersion) -> bool {
        if version == self.asked {
            self.lost_at = None;
        }
        let useful = version > self.outdated && version <= self.asked;
        self.outdated = self.outdated.max(version.min(self.asked));
        useful
    }

    /// The node's state changed: nobody waits for an answer any more.
    pub(super) fn abandon(&mut self) {
        self.outdated = self.asked;
        self.lost_at = None;
        self.due = None;
    }

    pub(super) fn is_under_way(&self) -> bool {
        self.lost_at.is_some()
    }

    /// Schedules the next reconsideration, if calls `wait`.
    pub(super) fn reconsider(&mut self, wait: bool, now: Timestamp) {
        self.due = wait.then(|| now + REPLAN_PERIOD);
    }

    /// When [`is_due`](Self::is_due) may hold.
    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.lost_at.or(self.due)
    }

    /// Whether the pending request is lost; `true` once.
    pub(super) fn is_lost(&mut self, now: Timestamp) -> bool {
        self.lost_at.take_if(|at| *at <= now).is_some()
    }

    /// Whether another request is due; `true` once.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        self.lost_at.is_none() && self.due.take_if(|at| *at <= now).is_some()
    }
}
