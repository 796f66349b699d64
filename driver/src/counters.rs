//! What a line counts.

use serde::{Deserialize, Serialize};

/// What one end of a line has received since it was opened. Each counter saturates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LineCounters {
    /// Intact and understood.
    pub frames: u64,
    /// Bytes that were no intact frame, or a frame with an impossible value (F5).
    pub damaged: u64,
    /// Frames that never came, by the gaps in the sender's numbers.
    pub lost: u64,
    /// Intact, but of a type or a version of the protocol that this end doesn't know.
    pub unknown: u64,
}
