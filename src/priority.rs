//! Which threads of a node come first.

use rustix::process::nice;
use tracing::debug;

/// As far below the usual priority as leaves some processor time for sure.
const NICENESS: i32 = 10;

/// The calling thread, which serves clients, gives way to the node's loop, its panel and its journal.
/// Linux lowers the priority of this thread alone, and of those that it starts.
pub(crate) fn give_way() {
    if let Err(error) = nice(NICENESS) {
        debug!(%error, "a thread that serves clients keeps its priority");
    }
}
