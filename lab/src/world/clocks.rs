//! The wall clocks of the machines, which may be wrong.

use std::time::Duration;

use elevator_fleet::dispatch::WeekTime;

use super::World;

/// The years of the wall clock, in seconds.
const YEAR: u32 = 31_556_952;

/// How many years pass on the clock of a disk before a world begins, so that a wall clock can be
/// set back.
const YEARS_BEFORE: i16 = 200;

impl World {
    /// What a wall clock shows, in seconds since 1970-01-01: a world begins on 2026-05-01 at noon.
    #[must_use]
    pub fn unix_seconds(&self) -> u32 {
        let passed = u32::try_from(self.now.as_secs()).unwrap_or(u32::MAX);
        1_777_636_800_u32.saturating_add(passed)
    }

    /// The clocks of these machines show this local time of the week from here on; they stand still.
    /// Without it no entry of the schedule holds.
    pub fn set_local_time(&mut self, nodes: impl IntoIterator<Item = usize>, time: WeekTime) {
        for node in nodes {
            self.with(node, |node, now| node.handle_local_time(time, now));
        }
    }

    /// What the wall clock of a node shows, in seconds since 1970-01-01.
    pub(super) fn wall_clock_of(&self, node: usize) -> u32 {
        let years = self.machines[node].wrong_years;
        let wrong = u32::from(years.unsigned_abs()) * YEAR;
        let right = self.unix_seconds();
        if years < 0 { right.saturating_sub(wrong) } else { right.saturating_add(wrong) }
    }

    /// The same, as the time that gives a restored order its age.
    pub(super) fn disk_clock_of(&self, node: usize) -> Duration {
        let years = YEARS_BEFORE + i16::from(self.machines[node].wrong_years);
        self.now + Duration::from_secs(u64::from(years.unsigned_abs()) * u64::from(YEAR))
    }
}
