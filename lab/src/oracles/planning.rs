//! N4: plans follow from what happens, never from each other.

use std::time::Duration;

use elevator_fleet::node::{DispatchStatus, Report};

use super::Finding;
use crate::snapshot::Snapshot;

/// The time over which events and plans are counted.
const SPAN: Duration = Duration::from_secs(1);

/// How much a node may plan in that time where nothing happens: calls that wait are planned anew
/// each second, and links that break and beacons that come late are not reported.
const AT_REST: u64 = 30;

/// How much more for each thing that happens anywhere.
const EACH: u64 = 2;

/// How much is planned, beside how much happens.
#[derive(Debug, Default)]
pub(crate) struct PlanRate {
    begun: Duration,
    /// What has happened in this span, and in the one before.
    happened: (u64, u64),
    /// By node: its incarnation, and what it had planned when this span began.
    before: Vec<(u64, DispatchStatus)>,
}

impl PlanRate {
    /// Something has happened, unless it is what a plan says.
    pub(crate) fn reported(&mut self, report: &Report) {
        self.happened.0 += u64::from(!matches!(report, Report::Assigned { .. }));
    }

    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let begins = snapshot.now >= self.begun + SPAN;
        if begins {
            self.begun = snapshot.now;
            self.happened = (0, self.happened.0);
        }
        self.before.resize_with(snapshot.machines.len(), Default::default);
        let most = AT_REST + EACH * (self.happened.0 + self.happened.1);
        let mut findings = Vec::new();
        for (node, before) in self.before.iter_mut().enumerate() {
            let Some(process) = snapshot.node(node) else { continue };
            let now = (snapshot.machines[node].incarnation, process.dispatch_status());
            if begins || before.0 != now.0 {
                *before = now;
            }
            let plans = now.1.plans - before.1.plans;
            let targets = now.1.target_changes - before.1.target_changes;
            if plans.max(targets) > most {
                let what = format!("more than {most} plans or changes of its target in {SPAN:?}");
                findings.push(Finding::new("N4", node, what));
            }
        }
        findings
    }
}
