//! One flight: from the command to run until the drive reports that the car is at rest.

use std::iter::successors;
use std::time::Duration;

use elevator_driver::{Direction, DriveFeedback, Floor};

use super::event::CarEvent;
use super::state::{Halt, OperatingState};
use super::supervision::{FoundBy, Miss, Missed, Punctuality, Sensor, Strike, Verdict};
use super::{Car, CarTimer};
use crate::model::{HangCause, HangEvidence, Leg, LegEnd, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flight {
    /// The drive was commanded to run and has not reported that it does: no deadline of F9 (H1).
    Starting {
        since: Timestamp,
    },
    Driven(Driven),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Driven {
    /// The last floor sensor seen, except that of the stop.
    last: Floor,
    since: Timestamp,
    start: LegEnd,
    overshoot: Overshoot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overshoot {
    None,
    /// Once, which happens if a new stop is commanded a moment too late.
    Once {
        missed: Floor,
        sensor: Sensor,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Homing {
    /// The drive was commanded to run and has not reported that it does.
    Starting {
        since: Timestamp,
    },
    Driven,
}

impl Car {
    pub(super) fn step_moving(
        &mut self,
        direction: Direction,
        stop_at: Floor,
        flight: Flight,
        now: Timestamp,
    ) -> OperatingState {
        if !self.may_run() {
            return self.interrupted(Duration::ZERO, now);
        }
        let floor = self.inputs.floor;
        match (flight, self.inputs.drive) {
            // A flight may be so short that no report of it got through. Or a sensor begins to lie
            // while the drive is about to start: the car has to be seen at rest first (S1).
            (Flight::Starting { .. }, DriveFeedback::Stopped) if floor == Some(stop_at) => {
                OperatingState::halted(Halt::Unplanned)
            }
            (Flight::Driven(driven), DriveFeedback::Stopped) if floor == Some(stop_at) => {
                self.end_on_target(direction, stop_at, driven, now)
            }
            (Flight::Starting { since }, DriveFeedback::Stopped) => {
                if now.since(since) < self.settings.drive_start_limit {
                    return self.state;
                }
                self.refuse_drive(Halt::Unplanned, now)
            }
            (Flight::Driven(Driven { start, .. }), DriveFeedback::Stopped) => {
                OperatingState::halted(Halt::Missed(Missed {
                    stop_at,
                    direction,
                    start,
                    sensor: self.sensor_of(stop_at),
                }))
            }
            (Flight::Starting { .. } | Flight::Driven(_), DriveFeedback::Driven(actual))
                if actual != direction =>
            {
                self.go_astray(stop_at, direction, now)
            }
            (Flight::Starting { .. }, DriveFeedback::Driven(_)) => match floor.or(self.position) {
                Some(last) => OperatingState::Moving {
                    direction,
                    stop_at,
                    flight: Flight::Driven(Driven {
                        last,
                        since: now,
                        start: LegEnd::Rest,
                        overshoot: Overshoot::None,
                    }),
                },
                None => self.interrupted(Duration::ZERO, now),
            },
            (Flight::Driven(driven), DriveFeedback::Driven(_)) => match floor {
                Some(floor) if floor.is_beyond(driven.last, direction) => {
                    let driven = self.reach(floor, stop_at, driven, now);
                    self.fly_on(direction, stop_at, driven, now)
                }
                Some(floor) if floor != driven.last => self.go_astray(stop_at, direction, now),
                Some(_) | None => self.fly_on(direction, stop_at, driven, now),
            },
        }
    }

    fn reach(&mut self, floor: Floor, stop_at: Floor, driven: Driven, now: Timestamp) -> Driven {
        self.supervision.progress.reach(floor, now);
        // The leg to the stop ends only at rest: see `end_on_target`.
        if floor == stop_at {
            return driven;
        }
        if is_seeded(SeededBug::ServesInPassing) {
            self.events.push_back(CarEvent::Served(self.servable(floor, self.door_at(floor))));
        }
        self.supervision.flight = Punctuality::OnTime;
        let leg = Leg { from: driven.last, to: floor, start: driven.start, end: LegEnd::Passing };
        self.learn(leg, now.since(driven.since));
        let overshoot = match driven.overshoot {
            Overshoot::Once { missed, .. } if missed == floor => {
                Overshoot::Once { missed, sensor: Sensor::Seen }
            }
            overshoot @ (Overshoot::Once { .. } | Overshoot::None) => overshoot,
        };
        Driven { last: floor, since: now, start: LegEnd::Passing, overshoot }
    }

    fn fly_on(
        &mut self,
        direction: Direction,
        stop_at: Floor,
        driven: Driven,
        now: Timestamp,
    ) -> OperatingState {
        let limit = self.flight_limit();
        if self.supervision.progress.driven.total(now) >= limit {
            return self.hang(Some(stop_at), direction, HangCause::NoProgress, now);
        }
        if now.since(driven.since) >= self.overdue_after(driven, stop_at) {
            self.supervision.flight = Punctuality::Overdue;
        }
        let passed = self.inputs.next_stop.filter(|next| next.is_beyond(stop_at, direction));
        let (stop_at, overshoot) = match (passed, driven.overshoot) {
            (None, overshoot) => (self.retarget(direction, stop_at), overshoot),
            (Some(next), Overshoot::None) => {
                let overshoot =
                    Overshoot::Once { missed: stop_at, sensor: self.sensor_of(stop_at) };
                (next, overshoot)
            }
            (Some(_), Overshoot::Once { .. }) => return self.go_astray(stop_at, direction, now),
        };
        let flight = Flight::Driven(Driven { overshoot, ..driven });
        OperatingState::Moving { direction, stop_at, flight }
    }

    fn end_on_target(
        &mut self,
        direction: Direction,
        stop_at: Floor,
        driven: Driven,
        now: Timestamp,
    ) -> OperatingState {
        self.supervision.progress.arrive(stop_at, now);
        let Driven { last, since, start, overshoot } = driven;
        match overshoot {
            Overshoot::None => {
                let leg = Leg { from: last, to: stop_at, start, end: LegEnd::Rest };
                self.learn(leg, now.since(since));
            }
            Overshoot::Once { missed, sensor: Sensor::Silent } => self.lock_out(missed, now),
            Overshoot::Once { missed, sensor: Sensor::Seen } => {
                let strike = Strike::Missed(missed);
                return self.judge(strike, direction, missed, LegEnd::Passing, stop_at, now);
            }
        }
        self.land(stop_at, FoundBy::Standstill, now)
    }

    fn sensor_of(&self, stop_at: Floor) -> Sensor {
        if self.position == Some(stop_at) { Sensor::Seen } else { Sensor::Silent }
    }

    /// The car has arrived at a permitted floor, but has not yet shown that it stays there.
    fn land(&mut self, floor: Floor, by: FoundBy, now: Timestamp) -> OperatingState {
        let until = now + self.settings.settle;
        self.supervision.strikes.land(floor, by, until);
        self.arrive(floor, now)
    }

    /// The floor was lost at rest. A car that slips off just after its arrival has missed it.
    pub(super) fn lose_floor(&mut self, now: Timestamp) -> OperatingState {
        let Some(stop_at) = self.supervision.strikes.slip() else {
            return OperatingState::halted(Halt::Unplanned);
        };
        self.events.push_back(CarEvent::OffTarget { stop_at, at: None });
        match self.strike(Strike::Missed(stop_at), now) {
            Verdict::LockFloorOut | Verdict::BackOff => {
                self.lock_out(stop_at, now);
                OperatingState::halted(Halt::Unplanned)
            }
            Verdict::Hang(cause) => self.hang(Some(stop_at), self.older, cause, now),
        }
    }

    fn learn(&mut self, leg: Leg, took: Duration) {
        if let Some(record) = self.supervision.times.learn(leg, took) {
            self.events.push_back(CarEvent::FlightLearned(record));
        }
    }

    pub(super) fn step_homing(
        &mut self,
        direction: Direction,
        homing: Homing,
        missed: Option<Missed>,
        now: Timestamp,
    ) -> OperatingState {
        if !self.may_run() {
            return self.interrupted(Duration::ZERO, now);
        }
        match (homing, self.inputs.drive) {
            (Homing::Starting { since }, DriveFeedback::Stopped) => {
                if self.inputs.floor.is_some() {
                    // The sensor works again. The drive may be about to start all the same.
                    return OperatingState::halted(missed.map_or(Halt::Unplanned, Halt::Missed));
                }
                if now.since(since) < self.settings.drive_start_limit {
                    return self.state;
                }
                // The car may be at the end of the shaft with a dead sensor: try the other way.
                self.refuse_drive(Halt::Unfound { direction, missed }, now)
            }
            (Homing::Driven, DriveFeedback::Stopped) => match self.inputs.floor {
                Some(floor) => {
                    self.supervision.progress.arrive(floor, now);
                    self.locate(floor, missed, FoundBy::Homing, now)
                }
                None => self.find_nothing(direction, missed, now),
            },
            (Homing::Starting { .. } | Homing::Driven, DriveFeedback::Driven(_)) => {
                let limit = self.settings.homing_limit;
                if self.supervision.progress.driven.total(now) >= limit {
                    return self.hang(None, direction, HangCause::NoProgress, now);
                }
                OperatingState::Homing { direction, homing: Homing::Driven, missed }
            }
        }
    }

    /// Homing has ended between floors: at the end of the shaft, or because the drive has tripped.
    fn find_nothing(
        &mut self,
        direction: Direction,
        missed: Option<Missed>,
        now: Timestamp,
    ) -> OperatingState {
        match self.strike(Strike::Unfound, now) {
            Verdict::LockFloorOut | Verdict::BackOff => {
                OperatingState::halted(Halt::Unfound { direction, missed })
            }
            Verdict::Hang(cause) => self.hang(None, direction, cause, now),
        }
    }

    /// The car is at rest at a floor after an unplanned stop: classifies a flight that missed.
    pub(super) fn locate(
        &mut self,
        floor: Floor,
        missed: Option<Missed>,
        by: FoundBy,
        now: Timestamp,
    ) -> OperatingState {
        self.supervision.progress.rest(floor, now);
        let Some(missed) = missed else {
            return match by {
                FoundBy::Standstill => self.arrive(floor, now),
                FoundBy::Homing => self.land(floor, by, now),
            };
        };
        let Missed { stop_at, direction, start, .. } = missed;
        if by == FoundBy::Standstill && floor == stop_at {
            return self.land(floor, by, now);
        }
        let strike = match missed.cause(floor, by) {
            Miss::DeadSensor => {
                self.lock_out(stop_at, now);
                return self.land(floor, FoundBy::Homing, now);
            }
            Miss::DriveFault => Strike::Missed(stop_at),
            Miss::Unclear => Strike::Unclear(stop_at),
        };
        self.judge(strike, direction, stop_at, start, floor, now)
    }

    /// The car is at rest at `floor` instead of `stop_at`: decides what follows.
    fn judge(
        &mut self,
        strike: Strike,
        direction: Direction,
        stop_at: Floor,
        start: LegEnd,
        floor: Floor,
        now: Timestamp,
    ) -> OperatingState {
        self.events.push_back(CarEvent::OffTarget { stop_at, at: Some(floor) });
        match self.strike(strike, now) {
            // A flight that came part of its way continues.
            Verdict::LockFloorOut if start == LegEnd::Passing => {}
            Verdict::LockFloorOut | Verdict::BackOff if floor != stop_at => {
                self.lock_out(stop_at, now);
            }
            Verdict::LockFloorOut | Verdict::BackOff => {}
            Verdict::Hang(cause) => return self.hang(Some(stop_at), direction, cause, now),
        }
        self.land(floor, FoundBy::Homing, now)
    }

    fn go_astray(
        &mut self,
        stop_at: Floor,
        direction: Direction,
        now: Timestamp,
    ) -> OperatingState {
        self.events.push_back(CarEvent::OffTarget { stop_at, at: self.inputs.floor });
        match self.strike(Strike::Astray, now) {
            Verdict::Hang(cause) => self.hang(Some(stop_at), direction, cause, now),
            Verdict::LockFloorOut | Verdict::BackOff => OperatingState::halted(Halt::Unplanned),
        }
    }

    /// The time limit of the leg that begins at `last`, after which the car is overdue.
    fn overdue_after(&self, driven: Driven, stop_at: Floor) -> Duration {
        let (times, settings) = (&self.supervision.times, &self.settings);
        let (floors, nominal) = (settings.floors, settings.nominal_flight);
        times.limit(driven.last, driven.start, stop_at, floors, nominal)
    }

    /// How long the motor may be driven without a new floor (H5).
    fn flight_limit(&self) -> Duration {
        let limit = self.settings.flight_limit;
        if is_seeded(SeededBug::HangDetectedLate) {
            return limit * 10;
        }
        if is_seeded(SeededBug::HangDetectedEarly) { limit / 10 } else { limit }
    }

    pub(super) fn flight_deadline(
        &self,
        stop_at: Floor,
        flight: Flight,
    ) -> Option<(Timestamp, CarTimer)> {
        match flight {
            Flight::Starting { since } => {
                Some((since + self.settings.drive_start_limit, CarTimer::DriveStart))
            }
            Flight::Driven(driven) => {
                let overdue = driven.since + self.overdue_after(driven, stop_at);
                let overdue = (self.supervision.flight == Punctuality::OnTime)
                    .then_some((overdue, CarTimer::Overdue));
                let limit = self.supervision.progress.driven.deadline(self.flight_limit());
                limit.map(|at| (at, CarTimer::Flight)).into_iter().chain(overdue).min()
            }
        }
    }

    pub(super) fn homing_deadline(&self, homing: Homing) -> Option<(Timestamp, CarTimer)> {
        match homing {
            Homing::Starting { since } => {
                Some((since + self.settings.drive_start_limit, CarTimer::DriveStart))
            }
            Homing::Driven => {
                let limit = self.supervision.progress.driven.deadline(self.settings.homing_limit);
                limit.map(|at| (at, CarTimer::Homing))
            }
        }
    }

    /// The stop of a car in flight. One that brakes for a floor is not sent on: it may stop there.
    fn retarget(&self, direction: Direction, stop_at: Floor) -> Floor {
        match self.inputs.next_stop {
            Some(next) if stop_at.is_beyond(next, direction) => {
                // A car that has just left could still stop at its floor. It does not, because
                // repeated presses would hold it there forever.
                let ahead = self.settings.floors.next(next, direction);
                let from = ahead.filter(|_| self.position == Some(next)).unwrap_or(next);
                let target = self.sweep().first_from(from, direction);
                let target = target.or_else(|| self.parking_stop(from, direction));
                target.unwrap_or_else(|| self.nearest_stop(from, direction, stop_at))
            }
            Some(_) | None => stop_at,
        }
    }

    /// Where a flight that nobody needs any more ends.
    fn nearest_stop(&self, from: Floor, direction: Direction, stop_at: Floor) -> Floor {
        let floors = self.settings.floors;
        let ahead = successors(Some(from), |floor| floors.next(*floor, direction));
        let mut before = ahead.take_while(|floor| *floor != stop_at);
        before.find(|floor| self.serves(*floor)).unwrap_or(stop_at)
    }

    /// Stops at once for a reason outside the drive, which voids the evidence against it (H1).
    pub(super) fn interrupted(&mut self, unwatched: Duration, now: Timestamp) -> OperatingState {
        self.void_evidence(unwatched, now);
        OperatingState::halted(Halt::Unplanned)
    }

    /// What the car will do is unknown. Homing that had just found a floor has succeeded.
    pub(super) fn void_evidence(&mut self, unwatched: Duration, now: Timestamp) {
        if let (OperatingState::Homing { .. }, Some(floor)) = (self.state, self.inputs.floor) {
            self.supervision.progress.rest(floor, now);
        }
        self.supervision.interrupt(unwatched, now);
    }

    fn refuse_drive(&mut self, halt: Halt, now: Timestamp) -> OperatingState {
        self.events.push_back(CarEvent::DriveRefused);
        // In any case there is nothing to latch: the motor was not driven (H1).
        self.strike(Strike::NotStarted, now);
        OperatingState::halted(halt)
    }

    fn strike(&mut self, strike: Strike, now: Timestamp) -> Verdict {
        self.supervision.strikes.strike(strike, self.settings.drive_retry, now)
    }

    /// Locks a floor out for a while, so that the car does not retry it forever.
    pub(super) fn lock_out(&mut self, floor: Floor, now: Timestamp) {
        if !self.supervision.is_locked_out(floor) {
            self.events.push_back(CarEvent::FloorUnreachable(floor));
        }
        let until = now + self.settings.unreachable_retry;
        self.supervision.locked_out.insert(floor, until);
    }

    pub(super) fn hang(
        &mut self,
        floor: Option<Floor>,
        direction: Direction,
        cause: HangCause,
        now: Timestamp,
    ) -> OperatingState {
        let driven = self.supervision.progress.driven.total(now);
        let (expected, actual) = match (cause, floor) {
            (HangCause::NotStopped, _) => {
                (self.settings.flight_limit, self.supervision.defied.total(now))
            }
            (HangCause::NoProgress | HangCause::OffTarget(_), Some(_)) => {
                (self.flight_limit(), driven)
            }
            (HangCause::NoProgress | HangCause::OffTarget(_), None) => {
                (self.settings.homing_limit, driven)
            }
        };
        let last_sensor = self.position;
        let evidence = HangEvidence { cause, floor, direction, expected, actual, last_sensor };
        self.events.push_back(CarEvent::Hung(evidence));
        OperatingState::Hung
    }
}
