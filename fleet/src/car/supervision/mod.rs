//! The faults of a car that it can detect, and what follows from them.
//!
//! ```text
//!   driven without a new floor ──▶ Progress ────▶ overdue ─────────────▶ out of the group until it
//!                                     │        (FlightTimes: longer than ever)          arrives
//!                                     └────────▶ past the limit ───────────────────────▶ hang
//!   driven although told to stop ─▶ defied ──▶ past the limit ───────────────────────▶ hang
//!   flight off target, wrong way ─▶ Strikes ─▶ leave the floor out ─▶ back-off ─▶ proving run ─▶ hang
//!   searches without a floor ─────▶ Strikes ─▶ back-off ────────────────────────────▶ hang
//!   drive does not start ─────────▶ Strikes ─────────────────────────▶ back-off ─▶ proving run
//!   door does not move ───────────▶ DoorHealth ─▶ out of the group until it does
//! ```
//!
//! [`Car`](super::Car) has what the car does; this module says how far it can be trusted.

mod flight_times;
mod progress;
mod strikes;

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::{Direction, Floor};

pub(super) use self::flight_times::FlightTimes;
pub(super) use self::progress::{DrivenTime, Progress};
pub(super) use self::strikes::{Strike, Strikes, Verdict};
use super::CarTimer;
use crate::model::{LegEnd, Timestamp, Unavailable};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Supervision {
    pub(super) progress: Progress,
    pub(super) strikes: Strikes,
    pub(super) times: FlightTimes,
    pub(super) flight: Punctuality,
    pub(super) door: DoorHealth,
    pub(super) defied: DrivenTime,
    /// Until when, by floor.
    pub(super) locked_out: BTreeMap<Floor, Timestamp>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Punctuality {
    #[default]
    OnTime,
    Overdue,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum DoorHealth {
    #[default]
    Sound,
    Blocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missed {
    pub(super) stop_at: Floor,
    pub(super) direction: Direction,
    /// How the car left the last floor seen: from rest, if it has passed none since.
    pub(super) start: LegEnd,
    /// The sensor of the stop was seen before the drive came to rest.
    pub(super) sensor: Sensor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sensor {
    Silent,
    Seen,
}

/// The classification of a missed flight, made once the car is at a floor again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Miss {
    /// The car passed its stop or stood there, but the sensor was silent.
    DeadSensor,
    DriveFault,
    Unclear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FoundBy {
    Standstill,
    Homing,
}

impl Missed {
    pub(super) fn cause(self, found: Floor, by: FoundBy) -> Miss {
        if self.sensor == Sensor::Seen {
            return Miss::DriveFault;
        }
        if found.is_beyond(self.stop_at, self.direction) {
            return Miss::DeadSensor;
        }
        match by {
            FoundBy::Standstill => Miss::DriveFault,
            FoundBy::Homing if found == self.stop_at => Miss::DriveFault,
            FoundBy::Homing => Miss::Unclear,
        }
    }
}

impl Supervision {
    /// Why the group can't count on the car because of its drive.
    pub(super) fn hindrance(&self) -> Option<Unavailable> {
        if self.strikes.is_out_of_group() {
            return Some(Unavailable::DriveFault);
        }
        (self.flight == Punctuality::Overdue).then_some(Unavailable::Overdue)
    }

    pub(super) fn expire(&mut self, now: Timestamp) {
        self.locked_out.retain(|_, until| *until > now);
        self.strikes.expire(now);
    }

    pub(super) fn observe_floor(&mut self, floor: Option<Floor>) {
        self.progress.observe_floor(floor);
        self.strikes.observe(floor);
        if let Some(floor) = floor {
            self.locked_out.remove(&floor);
            self.times.sensor_seen(floor);
        }
    }

    pub(super) fn is_locked_out(&self, floor: Floor) -> bool {
        self.locked_out.contains_key(&floor)
    }

    /// The flight was voided: what the car did meanwhile is unknown (H1).
    pub(super) fn interrupt(&mut self, unwatched: Duration, now: Timestamp) {
        self.progress.driven.interrupt(unwatched, now);
        self.strikes.interrupt();
        self.flight = Punctuality::OnTime;
    }

    pub(super) fn deadlines(&self) -> impl Iterator<Item = (Timestamp, CarTimer)> {
        let floors = self.locked_out.values().min();
        let floors = floors.map(|until| (*until, CarTimer::UnreachableFloor));
        let retry = self.strikes.until().map(|at| (at, CarTimer::DriveRetry));
        let landing = self.strikes.landing().map(|at| (at, CarTimer::Settle));
        floors.into_iter().chain(retry).chain(landing)
    }
}
