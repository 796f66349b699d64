//! What peers said of this node's own car before it believed such news.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{Call, JournalId, NodeId, Timestamp};
use crate::orders::Record;

/// How long a node listens before it believes what others say of its own car. Its peers send their
/// stores within some tens of milliseconds of the start, and stores are equal soon after (O7).
pub(super) const EARLY: Duration = Duration::from_secs(1);

/// How many records wait at most. Peers repeat those that are not kept.
const MOST: usize = 256;

/// Services by this node's own car that wait for their judgement.
#[derive(Debug, Clone, Default)]
pub(super) struct Early {
    records: BTreeMap<(JournalId, Call), (NodeId, Record)>,
}

impl Early {
    /// A peer reports a service too early to be judged. The latest press of a journal and call
    /// counts, as in the store.
    pub(super) fn keep(&mut self, peer: &NodeId, record: &Record) {
        let key = (record.dot.journal, record.call.clone());
        let is_newer = self
            .records
            .get(&key)
            .map_or(self.records.len() < MOST, |(_, kept)| kept.dot < record.dot);
        if is_newer {
            self.records.insert(key, (peer.clone(), record.clone()));
        }
    }

    /// The records to judge now, with the peers that sent them, if this node has listened for long
    /// enough.
    pub(super) fn take(
        &mut self,
        attentive_since: Timestamp,
        now: Timestamp,
    ) -> Vec<(NodeId, Record)> {
        if self.records.is_empty() || now < attentive_since + EARLY {
            return Vec::new();
        }
        std::mem::take(&mut self.records).into_values().collect()
    }
}
