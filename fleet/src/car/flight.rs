//! One flight: from the command to run until the drive reports that the car is at rest.

use std::time::Duration;

use elevator_driver::{Direction, DriveFeedback, Floor};

use super::event::{CarEvent, HangEvidence};
use super::state::{Halt, State};
use super::{Car, CarTimer};
use crate::model::Timestamp;

/// How far a flight is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flight {
    /// The drive is told to run and has not reported that it does. No deadline of F9 runs (H1).
    Starting { since: Timestamp },
    /// The drive reports that it runs.
    Driven {
        /// Since when, or since the last new floor sensor.
        since: Timestamp,
        /// The last floor sensor seen, or `None` while none has been.
        last: Option<Floor>,
    },
}

impl Flight {
    pub(super) fn begin(now: Timestamp) -> Self {
        Self::Starting { since: now }
    }

    /// When the car is late, and for what, if nothing happens.
    pub(super) fn deadline(
        self,
        start_limit: Duration,
        limit: Duration,
        timer: CarTimer,
    ) -> (Timestamp, CarTimer) {
        match self {
            Self::Starting { since } => (since + start_limit, CarTimer::DriveStart),
            Self::Driven { since, .. } => (since + limit, timer),
        }
    }
}

impl Car {
    pub(super) fn step_moving(
        &mut self,
        direction: Direction,
        stop_at: Floor,
        flight: Flight,
        now: Timestamp,
    ) -> State {
        if !self.may_run() {
            return State::halted(Halt::Unplanned);
        }
        let floor = self.inputs.floor;
        match (flight, self.inputs.drive) {
            // A flight so short that no word of it came through is a flight as well.
            (_, DriveFeedback::Stopped) if floor == Some(stop_at) => self.arrive(stop_at, now),
            (Flight::Starting { since }, DriveFeedback::Stopped) => {
                if now.since(since) < self.settings.drive_start_limit {
                    return self.state;
                }
                self.refuse_drive(now)
            }
            (Flight::Driven { last, .. }, DriveFeedback::Stopped) => {
                State::halted(if last.is_some() {
                    Halt::Missed { stop_at, direction }
                } else {
                    Halt::Unplanned
                })
            }
            (Flight::Starting { .. }, DriveFeedback::Driven(_)) => State::Moving {
                direction,
                stop_at,
                flight: Flight::Driven {
                    since: now,
                    last: floor.or(self.position),
                },
            },
            (Flight::Driven { last, .. }, DriveFeedback::Driven(_))
                if floor.is_some() && floor != last =>
            {
                State::Moving {
                    direction,
                    stop_at: self.retarget(direction, stop_at),
                    flight: Flight::Driven {
                        since: now,
                        last: floor,
                    },
                }
            }
            (Flight::Driven { since, .. }, DriveFeedback::Driven(_)) => {
                let expected = self.flight_limit(stop_at);
                if now.since(since) < expected {
                    return State::Moving {
                        direction,
                        stop_at: self.retarget(direction, stop_at),
                        flight,
                    };
                }
                self.hang(Some(stop_at), direction, expected, now.since(since))
            }
        }
    }

    pub(super) fn step_homing(
        &mut self,
        direction: Direction,
        flight: Flight,
        now: Timestamp,
    ) -> State {
        if !self.may_run() {
            return State::halted(Halt::Unplanned);
        }
        match (flight, self.inputs.drive) {
            (Flight::Starting { since }, DriveFeedback::Stopped) => {
                if self.inputs.floor.is_some() {
                    // The sensor came back by itself. The drive may be about to start all the same.
                    return State::halted(Halt::Unplanned);
                }
                if now.since(since) < self.settings.drive_start_limit {
                    return self.state;
                }
                self.refuse_drive(now)
            }
            (Flight::Driven { .. }, DriveFeedback::Stopped) => match self.inputs.floor {
                Some(floor) => self.arrive(floor, now),
                None => State::halted(Halt::Unfound { direction }),
            },
            (Flight::Starting { .. }, DriveFeedback::Driven(_)) => State::Homing {
                direction,
                flight: Flight::Driven {
                    since: now,
                    last: None,
                },
            },
            (Flight::Driven { since, .. }, DriveFeedback::Driven(_)) => {
                let expected = self.settings.homing_limit;
                if now.since(since) < expected {
                    return self.state;
                }
                self.hang(None, direction, expected, now.since(since))
            }
        }
    }

    /// The time until the next sensor has to be seen on a flight to `stop_at`. A floor that is only
    /// passed may have a dead sensor: then the one beyond it is waited for as well, so that a dead
    /// sensor is not taken for a hang.
    pub(super) fn flight_limit(&self, stop_at: Floor) -> Duration {
        let floors = self.position.map_or(1, |floor| floor.distance(stop_at));
        self.settings.flight_limit * u32::from(floors.clamp(1, 2))
    }

    /// Where a car in flight is to stop. The target is changed only while the car can still stop
    /// before it: a car that brakes for a floor is not sent on, for it might come to rest there
    /// just as it is told to pass.
    fn retarget(&self, direction: Direction, stop_at: Floor) -> Floor {
        match self.inputs.next_stop {
            Some(next) if stop_at.is_beyond(next, direction) => {
                // A car that has hardly left could still stop where it was. It does not: one press
                // after the other would hold it there for ever.
                let ahead = self.settings.floors.next(next, direction);
                let from = ahead
                    .filter(|_| self.position == Some(next))
                    .unwrap_or(next);
                self.plan().target(from, direction).unwrap_or(from)
            }
            Some(next) if next.is_beyond(stop_at, direction) => next,
            Some(_) | None => stop_at,
        }
    }

    fn refuse_drive(&mut self, now: Timestamp) -> State {
        self.events.push_back(CarEvent::DriveRefused);
        State::DriveRefused {
            until: now + self.settings.drive_retry,
        }
    }

    fn hang(
        &mut self,
        floor: Option<Floor>,
        direction: Direction,
        expected: Duration,
        actual: Duration,
    ) -> State {
        self.events.push_back(CarEvent::Hung(HangEvidence {
            floor,
            direction,
            expected,
            actual,
            last_sensor: self.position,
        }));
        State::Hung
    }
}
