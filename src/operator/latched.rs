//! A node that does not run because it is latched.

use std::path::PathBuf;

use elevator_fleet::model::NodeId;
use serde::{Deserialize, Serialize};

use crate::latch::Latch;

/// What `liftmesh status --json` prints in place of a status when the node does not run because it
/// is latched.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LatchedNode {
    /// Always false; a status has no such field.
    pub(crate) running: bool,
    /// The node's name, where the latch or the configuration has it.
    pub(crate) node: Option<NodeId>,
    /// Its data directory.
    pub(crate) data_dir: PathBuf,
    /// The latch: `cause` is `hang`, `journal-lost` or `unreadable`; a hang has `at` and
    /// `evidence`.
    pub(crate) latch: Latch,
    /// The command that clears it.
    pub(crate) remedy: String,
}
