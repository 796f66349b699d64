//! Which entry of the schedule holds, and for which one the cars were told where to wait.

use crate::dispatch::{Parking, Schedule, WeekTime};

/// The schedule, as far as the local time is known.
#[derive(Debug, Clone, Default)]
pub(crate) struct Timetable {
    schedule: Schedule,
    now: Option<WeekTime>,
    entry: Option<usize>,
    /// The entry that held when this node asked for a plan last.
    planned: Option<usize>,
}

impl Timetable {
    pub(super) fn new(schedule: Schedule) -> Self {
        Self { schedule, ..Self::default() }
    }

    /// It is this time; returns whether another entry holds than the one that was planned for.
    pub(super) fn set_time(&mut self, now: WeekTime) -> bool {
        self.now = Some(now);
        self.entry = self.schedule.number_at(now);
        self.entry != self.planned
    }

    /// A plan is asked for: where idle cars are to wait.
    pub(super) fn planned(&mut self) -> Option<Parking> {
        self.planned = self.entry;
        self.schedule.parking(self.entry?).cloned()
    }

    /// The local time, and the entry that holds, as text; `None` without a schedule.
    pub(crate) fn shown(&self) -> Option<(Option<String>, Option<String>)> {
        let entry = || self.entry.and_then(|entry| self.schedule.text(entry));
        (!self.schedule.is_empty()).then(|| (self.now.map(|now| now.to_string()), entry()))
    }
}
