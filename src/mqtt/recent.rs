//! The events that nobody may have published: those since the last sign of life of the node that
//! publishes. The node that takes over publishes them, so that what happens while the fleet has no
//! publisher, the loss of the one before included, is heard of.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::time::Instant;

use crate::operator::Event;

/// How many are kept; when there are more, the oldest is dropped.
const KEPT: usize = 256;

/// The latest events, as JSON.
#[derive(Debug, Default)]
pub(super) struct Recent(VecDeque<(Instant, Bytes)>);

impl Recent {
    /// Keeps an event of now. Returns how many were dropped for it.
    pub(super) fn push(&mut self, event: &Event, now: Instant) -> u64 {
        let is_full = self.0.len() == KEPT;
        if is_full {
            self.0.pop_front();
        }
        self.0.push_back((now, payload(event)));
        is_full.into()
    }

    /// The node that publishes was alive then: what came before is its business.
    pub(super) fn forget_until(&mut self, then: Instant) {
        while self.0.front().is_some_and(|(at, _)| *at < then) {
            self.0.pop_front();
        }
    }

    /// All of them, the oldest first.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Bytes> + use<> {
        std::mem::take(&mut self.0).into_iter().map(|(_, event)| event)
    }
}

/// An event as it is published.
pub(super) fn payload(event: &Event) -> Bytes {
    serde_json::to_vec(event).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use elevator_driver::Floor;
    use elevator_fleet::node::Report;

    use super::*;

    fn event(second: u64) -> Event {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        Event::new(&Report::Floor { floor: Floor::BOTTOM }, at)
    }

    #[test]
    fn what_the_publisher_has_lived_to_see_is_its_own_business() {
        let (mut recent, start) = (Recent::default(), Instant::now());
        for second in 0..4 {
            assert_eq!(recent.push(&event(second), start + Duration::from_secs(second)), 0);
        }
        recent.forget_until(start + Duration::from_secs(2));
        let taken: Vec<_> = recent.take().collect();
        assert_eq!(taken, [payload(&event(2)), payload(&event(3))]);
        assert_eq!(recent.take().count(), 0);
    }

    #[test]
    fn of_too_many_the_oldest_are_dropped_and_counted() {
        let (mut recent, now) = (Recent::default(), Instant::now());
        let more = 3;
        let dropped: u64 = (0..KEPT as u64 + more).map(|it| recent.push(&event(it), now)).sum();
        assert_eq!(dropped, more);
        let taken: Vec<_> = recent.take().collect();
        assert_eq!((taken.len(), &taken[0]), (KEPT, &payload(&event(more))));
    }
}
