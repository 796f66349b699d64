//! What programs read of a node beside its status.

use std::path::PathBuf;
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::Report;
use serde::{Deserialize, Serialize};

use crate::latch::Latch;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When the node took note of it, in UTC, such as `2026-05-01T12:00:00.123Z`.
    pub at: String,
    /// Which press was placed: the same at every node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub press: Option<String>,
    #[serde(flatten)]
    pub report: Report,
}

impl Event {
    #[must_use]
    pub(crate) fn new(report: &Report, at: SystemTime) -> Self {
        let at = humantime::format_rfc3339_millis(at).to_string();
        let press = match report {
            Report::Placed { press, .. } => press.map(|press| press.to_string()),
            _ => None,
        };
        Self { at, press, report: report.clone() }
    }
}

/// What `liftmesh status --json` prints in place of a status when the node does not run because it
/// is latched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatchedNode {
    /// Always false; a status has no such field.
    pub(crate) running: bool,
    /// The node's name, where the latch or the configuration has it.
    pub(crate) node: Option<NodeId>,
    pub(crate) data_dir: PathBuf,
    /// Its `cause` is `hang`, `journal-lost` or `unreadable`; a hang has `at` and `evidence`.
    pub(crate) latch: Latch,
    pub(crate) remedy: String,
}
