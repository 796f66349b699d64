//! Who waits for a car, and since when without an excuse.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::model::HallCall;

/// The hall calls that were open when it was last looked, each with the nodes of its group, those
/// with sound cars among them, and since when all that has been so.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    pub(crate) looked_at: Duration,
    since: BTreeMap<(Vec<usize>, HallCall), (Vec<usize>, Duration)>,
}

impl Waits {
    pub(crate) fn looked_at(now: Duration) -> Self {
        Self {
            looked_at: now,
            ..Self::default()
        }
    }

    /// Since when this call has waited in this group for one of these cars.
    pub(crate) fn since(
        &self,
        call: HallCall,
        (group, sound): (&[usize], &[usize]),
        now: Duration,
    ) -> Duration {
        match self.since.get(&(group.to_vec(), call)) {
            Some((before, since)) if before == sound => *since,
            Some(_) | None => now,
        }
    }

    pub(crate) fn enter(
        &mut self,
        call: HallCall,
        (group, sound): (Vec<usize>, Vec<usize>),
        since: Duration,
    ) {
        self.since.insert((group, call), (sound, since));
    }
}
