//! How the master gets its plans: it asks for one, and goes on until the answer arrives.
//!
//! A plan for a large bank takes longer than anything may delay the stop of a motor, so the node
//! never makes one itself. It hands out a [`PlanRequest`], and the driver answers it by
//! [`Node::handle_plan`](crate::node::Node::handle_plan). One request is under way at a time. What
//! changes meanwhile makes the plan dirty, and the next request leaves when the answer arrives.

use std::time::Duration;

use crate::dispatch::{Assignments, CarSituation, Dispatcher, HallDemand};
use crate::model::Timestamp;

/// While calls wait, the plan is reconsidered this often: waiting makes them dearer.
const REPLAN_PERIOD: Duration = Duration::from_secs(1);

/// A request that is not answered for so long counts as lost, and another one leaves. Far longer
/// than the largest bank takes on a slow computer.
const ANSWER_LIMIT: Duration = Duration::from_secs(5);

/// The number of a request for a plan; later ones are higher.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PlanVersion(u64);

/// A request for a plan: everything that [`Dispatcher::assign`] needs, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanRequest {
    /// What the answer refers to.
    pub version: PlanVersion,
    /// The cars of the group.
    pub cars: Vec<CarSituation>,
    /// The hall calls that wait.
    pub demand: Vec<HallDemand>,
}

impl PlanRequest {
    /// The plan that a dispatcher makes of it.
    pub fn plan(&self, dispatcher: &mut dyn Dispatcher) -> Assignments {
        dispatcher.assign(&self.cars, &self.demand)
    }
}

/// The requests for plans.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Planning {
    /// The latest request.
    asked: PlanVersion,
    /// Answers to requests up to this one are not taken in: a later one has been, or the request
    /// was made by an earlier mastership.
    outdated: PlanVersion,
    /// When the latest request counts as lost; `None` once it has been answered.
    lost_at: Option<Timestamp>,
    /// When the plan is to be reconsidered, while calls wait.
    due: Option<Timestamp>,
}

impl Planning {
    pub(super) fn ask(&mut self, now: Timestamp) -> PlanVersion {
        self.asked = PlanVersion(self.asked.0.saturating_add(1));
        self.lost_at = Some(now + ANSWER_LIMIT);
        self.asked
    }

    /// Whether an answer is of use. That of a request that counts as lost still is.
    pub(super) fn accept_answer(&mut self, version: PlanVersion) -> bool {
        if version == self.asked {
            self.lost_at = None;
        }
        let useful = version > self.outdated && version <= self.asked;
        self.outdated = self.outdated.max(version.min(self.asked));
        useful
    }

    /// The node has another state: nobody waits for an answer any more.
    pub(super) fn abandon(&mut self) {
        self.outdated = self.asked;
        self.lost_at = None;
        self.due = None;
    }

    /// Whether a request waits for its answer.
    pub(super) fn is_under_way(&self) -> bool {
        self.lost_at.is_some()
    }

    /// While calls `wait`, the plan is reconsidered after a while.
    pub(super) fn reconsider(&mut self, wait: bool, now: Timestamp) {
        self.due = wait.then(|| now + REPLAN_PERIOD);
    }

    /// When [`is_due`](Self::is_due) may hold.
    pub(super) fn next(&self) -> Option<Timestamp> {
        self.lost_at.or(self.due)
    }

    /// Whether it is time for another request; says so once.
    pub(super) fn is_due(&mut self, now: Timestamp) -> bool {
        let passed = |at: &mut Timestamp| *at <= now;
        let lost = self.lost_at.take_if(passed).is_some();
        let due = self.lost_at.is_none() && self.due.take_if(passed).is_some();
        lost || due
    }
}
