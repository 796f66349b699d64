//! Counts what the panel reports, whoever drives the motor: a mechanic wears it as well.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{DoorState, DriveFeedback, PanelInputs};

use super::{Car, CarEvent};
use crate::model::{Counters, Timestamp, Wear};

/// A wall clock that shows less, 2024-01-01 in seconds since 1970, has not been set.
const CLOCK_UNSET: u32 = 1_704_067_200;

#[derive(Debug, Clone, Default)]
pub(super) struct Tally {
    counters: Counters,
    /// Since when the motor has been driven, as far as that is not counted yet.
    driven: Option<Timestamp>,
    /// Whether the door has been fully open since it was last closed.
    was_open: bool,
    /// Less than a second, and less than 1000 mm: not counted yet.
    rest: (Duration, u64),
    /// What has reached its threshold.
    due: BTreeSet<Wear>,
    /// Something has been counted that was not taken for the disk.
    is_dirty: bool,
}

impl Tally {
    /// The panel reports `inputs` after `before`, which is `None` once it is new: what happened
    /// until then is unknown. Since then the car has come `way` mm from one sensor to another.
    pub(super) fn observe(
        &mut self,
        before: Option<&PanelInputs>,
        inputs: &PanelInputs,
        way: u64,
        now: Timestamp,
    ) {
        let is_driven = |inputs: &PanelInputs| inputs.drive != DriveFeedback::Stopped;
        let driven_since = std::mem::replace(&mut self.driven, is_driven(inputs).then_some(now));
        if let Some(before) = before {
            let numbers = self.counters.numbers();
            self.add(driven_since.map_or(Duration::ZERO, |since| now.since(since)), way);
            match (is_driven(before), is_driven(inputs)) {
                (false, true) => add(&mut self.counters.starts, 1),
                (true, false) => self.count_trip(inputs),
                (false, false) | (true, true) => {}
            }
            let opens = matches!(inputs.door, DoorState::Opening | DoorState::Open);
            if before.door == DoorState::Closing && opens {
                add(&mut self.counters.reopenings, 1);
            }
            if self.was_open && inputs.door == DoorState::Closed {
                add(&mut self.counters.door_cycles, 1);
            }
            self.is_dirty |= numbers != self.counters.numbers();
        }
        self.was_open &= inputs.door != DoorState::Closed;
        self.was_open |= inputs.door == DoorState::Open;
    }

    fn count_trip(&mut self, inputs: &PanelInputs) {
        let Some(floor) = inputs.floor else { return };
        let (index, Counters { trips, stops, .. }) =
            (usize::from(floor.index()), &mut self.counters);
        add(trips, 1);
        stops.resize(stops.len().max(index + 1), 0);
        add(&mut stops[index], 1);
    }

    fn add(&mut self, driven: Duration, way: u64) {
        let (time, millimetres) = &mut self.rest;
        *time = time.saturating_add(driven);
        *millimetres = millimetres.saturating_add(way);
        add(&mut self.counters.running, time.as_secs());
        add(&mut self.counters.metres, *millimetres / 1_000);
        *time = Duration::from_nanos(time.subsec_nanos().into());
        *millimetres %= 1_000;
    }

    /// The last `unwatched` does not count.
    pub(super) fn interrupt(&mut self, unwatched: Duration, now: Timestamp) {
        self.driven = self.driven.map(|since| (since + unwatched).min(now));
    }
}

fn add(number: &mut u64, more: u64) {
    *number = number.saturating_add(more);
}

impl Car {
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.tally.counters
    }

    /// What has reached its threshold for maintenance.
    pub(crate) fn maintenance_due(&self) -> &BTreeSet<Wear> {
        &self.tally.due
    }

    /// Goes on from what is on disk.
    pub(crate) fn restore_counters(&mut self, on_disk: Option<&Counters>) {
        let tally = &mut self.tally;
        if let Some(on_disk) = on_disk {
            tally.counters.merge(on_disk);
        }
        // A disk that has failed may lack what was counted meanwhile.
        tally.is_dirty |= tally.counters.numbers() != on_disk.map_or([0; 6], Counters::numbers);
        self.review_maintenance();
    }

    /// If counting has only just begun, it began at this moment, in seconds since 1970-01-01.
    pub(crate) fn set_wall_clock(&mut self, unix_seconds: u32) {
        let since = &mut self.tally.counters.since;
        if since.is_none() && unix_seconds >= CLOCK_UNSET {
            let at = std::time::UNIX_EPOCH + Duration::from_secs(unix_seconds.into());
            *since = Some(humantime::format_rfc3339_seconds(at).to_string());
        }
    }

    /// The counters, if something was counted since they were last taken.
    pub(crate) fn take_counted(&mut self) -> Option<Counters> {
        std::mem::take(&mut self.tally.is_dirty).then(|| self.tally.counters.clone())
    }

    /// Reports each threshold once, when it is reached or found to have been.
    pub(super) fn review_maintenance(&mut self) {
        for wear in Wear::ALL {
            let count = wear.of(&self.tally.counters);
            let is_due = self.settings.maintenance.of(wear).is_some_and(|limit| count >= limit);
            if is_due && self.tally.due.insert(wear) {
                self.events.push_back(CarEvent::MaintenanceDue { wear, count });
            }
        }
    }
}
