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
    /// What.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, id, what) = (self.at.as_secs_f64(), self.id, &self.what);
        write!(f, "{at:9.3} s  {id}: {what}")
    }
}

/// What an oracle finds wrong in a snapshot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    id: &'static str,
    node: usize,
    what: String,
    patience: Patience,
}

/// When a finding becomes a violation.
#[derive(Debug, PartialEq, Eq)]
enum Patience {
    /// Each time.
    None,
    /// At once, and again only after a disturbance.
    Once,
    /// Likewise, but only when it has been found under this key at each inspection for at least
    /// this long.
    Lasting { key: String, limit: Duration },
}

impl Finding {
    /// A violation each time that it is found.
    pub(crate) fn new(id: &'static str, node: usize, what: String) -> Self {
        let patience = Patience::None;
        Self { id, node, what, patience }
    }

    /// A violation, reported once until something disturbs the fleet.
    pub(crate) fn once(self) -> Self {
        let patience = Patience::Once;
        Self { patience, ..self }
    }

    /// A violation once it has stood for `limit`; what has another key is something else.
    pub(crate) fn lasting(self, key: String, limit: Duration) -> Self {
        let patience = Patience::Lasting { key, limit };
        Self { patience, ..self }
    }
}

/// Collects the violations.
#[derive(Debug, Default)]
pub(crate) struct Verdicts {
    violations: Vec<Violation>,
    /// Since when each finding that may last has been found at each inspection.
    since: BTreeMap<String, Duration>,
    /// Those that the present inspection has found.
    found: BTreeSet<String>,
    /// What has been reported since the last disturbance.
    reported: BTreeSet<String>,
}

impl Verdicts {
    pub(crate) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(crate) fn record(&mut self, snapshot: &Snapshot, findings: Vec<Finding>) {
        for finding in findings {
            if self.is_due(&finding, snapshot.now) {
                self.add(snapshot, &finding);
            }
        }
    }

    fn is_due(&mut self, finding: &Finding, now: Duration) -> bool {
        let has_lasted = match &finding.patience {
            Patience::None => return true,
            Patience::Once => true,
            Patience::Lasting { key, limit } => {
                self.found.insert(key.clone());
                let since = *self.since.entry(key.clone()).or_insert(now);
                now.saturating_sub(since) >= *limit
            }
        };
        let Finding { id, what, .. } = finding;
        has_lasted && self.reported.insert(format!("{id} {what}"))
    }

    fn add(&mut self, snapshot: &Snapshot, finding: &Finding) {
        if self.violations.len() < MOST_VIOLATIONS {
            let name = &snapshot.machines[finding.node].name;
            self.violations.push(Violation {
                at: snapshot.now,
                id: finding.id,
                what: format!("{name}: {}", finding.what),
            });
        }
    }

    /// Forgets the findings that the inspection has not found again.
    pub(crate) fn end_inspection(&mut self) {
        let found = std::mem::take(&mut self.found);
        self.since.retain(|key, _| found.contains(key));
    }

    /// Everything that lasts starts over.
    pub(crate) fn disturbed(&mut self) {
        self.since.clear();
        self.reported.clear();
    }
}
