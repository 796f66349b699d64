//! Events: reports of a node, with the time of day.

use std::time::SystemTime;

use elevator_fleet::node::Report;
use serde::{Deserialize, Serialize};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When the node took note of it, in UTC, such as `2026-05-01T12:00:00.123Z`.
    pub at: String,
    #[serde(flatten)]
    pub report: Report,
}

impl Event {
    /// A report of a node, at this moment of the wall clock.
    #[must_use]
    pub(crate) fn new(report: &Report, at: SystemTime) -> Self {
        Self { at: humantime::format_rfc3339_millis(at).to_string(), report: report.clone() }
    }
}
