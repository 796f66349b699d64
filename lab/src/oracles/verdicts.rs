//! Which findings are violations: some at once, some only if they last.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::snapshot::Snapshot;

/// The most violations that are kept: later ones add nothing new.
const MOST_VIOLATIONS: usize = 100;

/// Something that must not be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// When, from the beginning of the world.
    pub at: Duration,
    /// Which invariant or requirement.
    pub id: &'static str,
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, id, what) = (self.at.as_secs_f64(), self.id, &self.what);
        write!(f, "{at:9.3} s  {id}: {what}")
    }
}

/// What an oracle finds wrong in a snapshot. The same finding is reported once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    id: &'static str,
    node: usize,
    what: String,
    limit: Duration,
}

impl Finding {
    /// A violation at once.
    pub(crate) fn new(id: &'static str, node: usize, what: impl Into<String>) -> Self {
        Self { id, node, what: what.into(), limit: Duration::ZERO }
    }

    /// A violation once each inspection has found it for this long.
    pub(crate) fn lasting(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    pub(super) violations: Vec<Violation>,
    /// Since when each inspection has found what may last, and whether the present one has.
    since: BTreeMap<Finding, (Duration, bool)>,
    reported: BTreeSet<Finding>,
}

impl Verdicts {
    pub(crate) fn record(
        &mut self,
        snapshot: &Snapshot,
        findings: impl IntoIterator<Item = Finding>,
    ) {
        for finding in findings {
            if !finding.limit.is_zero() {
                let known = self.since.entry(finding.clone());
                let (since, is_found) = known.or_insert((snapshot.now, true));
                *is_found = true;
                if snapshot.now.saturating_sub(*since) < finding.limit {
                    continue;
                }
            }
            let counts =
                self.violations.len() < MOST_VIOLATIONS && !snapshot.is_invalid(finding.id);
            if counts && self.reported.insert(finding.clone()) {
                let name = &snapshot.machines[finding.node].name;
                let what = format!("{name}: {}", finding.what);
                self.violations.push(Violation { at: snapshot.now, id: finding.id, what });
            }
        }
    }

    /// Forgets what the inspection has not found again.
    pub(crate) fn end_inspection(&mut self) {
        self.since.retain(|_, (_, is_found)| std::mem::take(is_found));
    }
}
