//! The quarters of a week.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::quarter::Quarter;

pub(crate) const QUARTER: Duration = Duration::from_mins(15);

/// Those of a week, the present one, and a few from before the wall clock was set.
const KEPT: usize = 7 * 24 * 4 + 8;

/// Which quarter: their number since 1970-01-01 00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Slot(pub(crate) u32);

impl Slot {
    /// The quarter of this moment of the wall clock; of one before 1970 the first.
    pub(crate) fn of(at: SystemTime) -> Self {
        let passed = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(u32::try_from(passed.as_secs() / QUARTER.as_secs()).unwrap_or(u32::MAX))
    }

    pub(crate) fn begins(self) -> SystemTime {
        UNIX_EPOCH + QUARTER * self.0
    }
}

/// Which quarters are summed up: the present one and those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Window {
    Hour,
    Day,
    Week,
}

impl Window {
    pub(crate) const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Week];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
        }
    }

    pub(crate) fn quarters(self) -> u32 {
        match self {
            Self::Hour => 4,
            Self::Day => 24 * 4,
            Self::Week => 7 * 24 * 4,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Changes {
    pub(crate) changed: Vec<(Slot, Quarter)>,
    pub(crate) removed: Vec<Slot>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.removed.is_empty()
    }
}

/// At most [`KEPT`] quarters: the one farthest from the present goes, so a wall clock that is wrong
/// for a while costs as many quarters as it was wrong, and not the whole week.
#[derive(Debug, Default)]
pub(crate) struct Week {
    quarters: BTreeMap<Slot, Quarter>,
    changed: BTreeSet<Slot>,
    removed: BTreeSet<Slot>,
}

impl Week {
    pub(crate) fn quarter(&mut self, slot: Slot) -> &mut Quarter {
        if !self.quarters.contains_key(&slot) {
            self.removed.remove(&slot);
            self.quarters.insert(slot, Quarter::default());
            self.shrink(slot);
        }
        self.changed.insert(slot);
        self.quarters.entry(slot).or_default()
    }

    /// Adds what an earlier run has counted, which need not be written again.
    pub(crate) fn restore(&mut self, quarters: Vec<(Slot, Quarter)>, present: Slot) {
        for (slot, quarter) in quarters {
            self.quarters.entry(slot).or_default().add(&quarter);
        }
        self.shrink(present);
    }

    fn shrink(&mut self, present: Slot) {
        while self.quarters.len() > KEPT {
            let slots = self.quarters.keys().copied();
            let Some(farthest) = slots.max_by_key(|slot| slot.0.abs_diff(present.0)) else {
                return;
            };
            self.quarters.remove(&farthest);
            self.changed.remove(&farthest);
            self.removed.insert(farthest);
        }
    }

    pub(crate) fn changes(&self) -> Changes {
        let changed = self.changed.iter().filter_map(|slot| {
            let quarter = self.quarters.get(slot)?;
            Some((*slot, quarter.clone()))
        });
        Changes { changed: changed.collect(), removed: self.removed.iter().copied().collect() }
    }

    pub(crate) fn on_written(&mut self) {
        self.changed.clear();
        self.removed.clear();
    }

    /// The quarters of a window that ends with the present one, the oldest first.
    pub(crate) fn within(
        &self,
        window: Window,
        present: Slot,
    ) -> impl Iterator<Item = (Slot, &Quarter)> {
        let from = Slot(present.0.saturating_sub(window.quarters()));
        self.quarters.range(from..=present).map(|(slot, quarter)| (*slot, quarter))
    }

    /// The first quarter that is kept of the week that ends with the present one.
    pub(crate) fn first(&self, present: Slot) -> Option<Slot> {
        self.within(Window::Week, present).next().map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Slot = Slot(2_000_000);

    fn count(week: &mut Week, slot: Slot) {
        week.quarter(slot).record_watch(Duration::from_secs(1));
    }

    fn slots(week: &Week, window: Window) -> Vec<u32> {
        week.within(window, NOW).map(|(slot, _)| slot.0).collect()
    }

    /// A wall clock that is wrong by years for an hour.
    #[test]
    fn a_wrong_wall_clock_costs_a_quarter_for_each_of_its_quarters() {
        let mut week = Week::default();
        for slot in NOW.0 - 672..=NOW.0 {
            count(&mut week, Slot(slot));
        }
        for wrong in [Slot(0), Slot(NOW.0 + 100_000)] {
            for quarter in 0..4 {
                count(&mut week, Slot(wrong.0 + quarter));
            }
        }
        assert!(week.quarters.len() <= KEPT);
        assert_eq!(week.first(NOW), Some(Slot(NOW.0 - 672)));
        assert_eq!(slots(&week, Window::Hour), (NOW.0 - 4..=NOW.0).collect::<Vec<_>>());
        let lost = 673 - slots(&week, Window::Week).len();
        assert!(lost <= 8, "{lost} quarters are lost");
        assert_eq!(slots(&week, Window::Day).len(), 97);
        for slot in NOW.0 + 1..NOW.0 + 9 {
            count(&mut week, Slot(slot));
        }
        assert_eq!(week.quarters.range(Slot(NOW.0 + 1000)..).count(), 0);
        assert_eq!(week.quarters.range(..Slot(1000)).count(), 0);
    }

    #[test]
    fn only_changes_are_written_and_none_is_forgotten() {
        let mut week = Week::default();
        count(&mut week, NOW);
        assert_eq!(week.changes().changed.len(), 1);
        week.on_written();
        assert!(week.changes().is_empty());
        let mut before = Quarter::default();
        before.record_watch(Duration::from_mins(1));
        week.restore(vec![(Slot(NOW.0 - 1), before.clone()), (NOW, before)], NOW);
        assert_eq!(week.quarters[&NOW].watched, 61_000);
        assert!(week.changes().is_empty());
        for slot in NOW.0..NOW.0 + 690 {
            count(&mut week, Slot(slot));
        }
        let later = week.changes();
        assert_eq!(later.removed.first(), Some(&Slot(NOW.0 - 1)));
        assert_eq!(later.changed.len(), KEPT);
    }
}
