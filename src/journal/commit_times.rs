//! How long the disk takes for a commit.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts};

/// The bounds of the histogram, in seconds: from a fast disk to one that counts as failing.
const BOUNDS: [f64; 14] =
    [0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0];

/// The commits of the journal since the start. The writer's thread adds to it, and nobody waits for
/// anybody: its counts are atomic.
#[derive(Debug, Clone)]
pub(crate) struct CommitTimes(Histogram);

impl CommitTimes {
    /// # Errors
    /// The name or the bounds are no good, which does not depend on anything outside.
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let options = HistogramOpts::new(
            "liftmesh_journal_commit_seconds",
            "Time the disk took to commit orders.",
        );
        Histogram::with_opts(options.buckets(BOUNDS.to_vec())).map(Self)
    }

    pub(super) fn note(&self, time: Duration) {
        self.0.observe(time.as_secs_f64());
    }

    pub(crate) fn collector(&self) -> Histogram {
        self.0.clone()
    }
}
