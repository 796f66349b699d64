//! Cars that are heard and do not belong to the group of this master.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::model::{CarView, NodeId, Timestamp};

/// For how long such a car keeps its destination calls. A new master has its slaves sooner, and so
/// has a pair whose link broke; who does not follow by then may not learn of its calls.
const PATIENCE: Duration = Duration::from_secs(3);

/// Since when cars have been outside the group, as far as the plans of a mastership show.
#[derive(Debug, Clone, Default)]
pub(super) struct Outside {
    since: BTreeMap<NodeId, Timestamp>,
}

impl Outside {
    pub(super) fn clear(&mut self) {
        self.since.clear();
    }

    /// These cars are heard and outside the group now. Returns those that have not been for long.
    pub(super) fn recent(
        &mut self,
        cars: Vec<(NodeId, CarView)>,
        now: Timestamp,
    ) -> BTreeMap<NodeId, CarView> {
        self.since.retain(|car, _| cars.iter().any(|(name, _)| name == car));
        let mut recent: BTreeMap<NodeId, CarView> = cars.into_iter().collect();
        recent.retain(|car, _| {
            let since = self.since.entry(car.clone()).or_insert(now);
            now.since(*since) < PATIENCE
        });
        recent
    }
}
