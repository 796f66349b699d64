//! The door cycle at a floor: from the command to open until the door is closed again.

use std::time::Duration;

use elevator_driver::{Button, Direction, DoorCommand, DoorState, Floor, Side};

use super::event::{CarEvent, ServedCall};
use super::state::{Closed, OperatingState};
use super::supervision::DoorHealth;
use super::{Car, CarSettings, CarTimer};
use crate::model::{Availability, HallCall, Mode, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// How long after an interruption an open door serves nobody: the panel may be lost.
const UNSEEN: Duration = Duration::from_millis(100);

/// One opening of the door, with all its re-openings.
///
/// ```text
///              ┌─────────── obstruction, door-open, call here ───────────┐
///              ▼                                                        │
///          Opening ──► Open ◄──► Obstructed   dwell over                │
///                       │ ▲ └──────────┬────────────────────────────► Closing ──► closed
///                       ▼ │            │ open for too long altogether   │
///                      Held            └────────► Nudging ◄─────────────┘
///                                                    └──► closed
/// ```
///
/// An opening door is left to open fully: only then is "closed" surely the end of a closing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DoorCycle {
    pub(super) floor: Floor,
    pub(super) side: Side,
    /// This is the second door of the stop: no further one opens.
    is_second: bool,
    /// Somebody has pressed door-open of the other door.
    other_asked_for: bool,
    pub(super) stage: Stage,
    /// When it was first fully open, or when a command last held it open.
    pub(super) opened: Option<Timestamp>,
    /// Since when an obstruction, the door-open button or an overload has kept it from closing.
    hindered: Option<Timestamp>,
    /// Until when what the panel says may be from before an interruption, so that nobody is served.
    unseen: Option<Timestamp>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Opening {
        since: Timestamp,
    },
    Open {
        until: Timestamp,
    },
    /// By something in the door, or by the door-open button.
    Obstructed,
    /// Open for as long as the service mode, the load or the stop switch requires.
    Held,
    /// Open until the attendant presses the button of another floor.
    Attended {
        /// How long the group counts on the attendant; `None` once it no longer does.
        until: Option<Timestamp>,
    },
    Closing {
        since: Timestamp,
    },
    /// Commanded to close regardless of presses and obstructions.
    Nudging {
        since: Timestamp,
    },
}

impl Stage {
    /// The attendant has not reacted for so long that the group no longer counts on the car.
    pub(super) const UNATTENDED: Self = Self::Attended { until: None };
}

impl DoorCycle {
    pub(super) fn begin(floor: Floor, side: Side, now: Timestamp) -> Self {
        Self {
            floor,
            side,
            is_second: false,
            other_asked_for: false,
            stage: Stage::Opening { since: now },
            opened: None,
            hindered: None,
            unseen: None,
        }
    }

    pub(super) fn command(self) -> DoorCommand {
        match self.stage {
            Stage::Opening { .. }
            | Stage::Open { .. }
            | Stage::Obstructed
            | Stage::Held
            | Stage::Attended { .. } => DoorCommand::open(self.side),
            Stage::Closing { .. } => DoorCommand::Close,
            Stage::Nudging { .. } => DoorCommand::Nudge,
        }
    }

    /// The same cycle after an interruption during which it was not watched.
    pub(super) fn voided(self, now: Timestamp) -> Self {
        let stage = match self.stage {
            Stage::Opening { .. } => Stage::Opening { since: now },
            Stage::Closing { .. } => Stage::Closing { since: now },
            Stage::Nudging { .. } => Stage::Nudging { since: now },
            Stage::Open { .. } | Stage::Obstructed | Stage::Held | Stage::Attended { .. } => {
                self.stage
            }
        };
        Self {
            stage,
            opened: self.opened.map(|_| now),
            hindered: self.hindered.map(|_| now),
            unseen: Some(now + UNSEEN),
            ..self
        }
    }

    pub(super) fn deadlines(
        self,
        health: DoorHealth,
        settings: &CarSettings,
    ) -> impl Iterator<Item = (Timestamp, CarTimer)> {
        let sound = health == DoorHealth::Sound;
        let travel = |since| {
            let due = since + settings.door_travel_limit;
            sound.then_some((due, CarTimer::DoorTravel))
        };
        let nudge = self.opened.map(|opened| (opened + settings.nudge_after, CarTimer::Nudge));
        let (first, second) = match self.stage {
            Stage::Opening { since } | Stage::Closing { since } | Stage::Nudging { since } => {
                (travel(since), None)
            }
            Stage::Open { until } => (Some((until, CarTimer::Dwell)), nudge),
            Stage::Obstructed => (None, nudge),
            Stage::Held => (None, None),
            Stage::Attended { until } => (until.map(|until| (until, CarTimer::Attendant)), None),
        };
        let blocked = self.hindered.filter(|_| sound).map(|since| {
            let due = since + settings.door_blocked_after;
            (due, CarTimer::DoorBlocked)
        });
        let seen = self.unseen.map(|until| (until, CarTimer::Seen));
        [first, second, blocked, seen].into_iter().flatten()
    }

    pub(super) fn is_attended(self) -> bool {
        matches!(self.stage, Stage::Attended { .. })
    }

    pub(super) fn is_held_at(self, floor: Floor) -> bool {
        self.floor == floor && self.stage == Stage::Held
    }

    /// The attendant has sent the car off: the door closes, and may take its usual time to do so.
    pub(super) fn dismissed(self, now: Timestamp) -> Self {
        Self { stage: Stage::Closing { since: now }, opened: Some(now), ..self }
    }

    /// Somebody has pressed door-open of the other door, which opens next.
    pub(super) fn asked_for_other(self) -> Self {
        Self { other_asked_for: true, ..self }
    }

    /// The door opens again, if it is about to close and does not nudge.
    pub(super) fn reopened(self, now: Timestamp) -> Self {
        match self.stage {
            Stage::Closing { .. } => Self { stage: Stage::Opening { since: now }, ..self },
            Stage::Opening { .. }
            | Stage::Nudging { .. }
            | Stage::Open { .. }
            | Stage::Obstructed
            | Stage::Held
            | Stage::Attended { .. } => self,
        }
    }

    pub(super) fn in_stage(self, stage: Stage) -> OperatingState {
        OperatingState::AtDoor(Self { stage, ..self })
    }

    fn is_overdue(self, settings: &CarSettings, now: Timestamp) -> bool {
        self.opened.is_some_and(|opened| now.since(opened) >= settings.nudge_after)
    }
}

impl Car {
    pub(super) fn step_door(&mut self, mut cycle: DoorCycle, now: Timestamp) -> OperatingState {
        if !self.may_open() || self.inputs.floor != Some(cycle.floor) {
            return self.lose_floor(now);
        }
        let (door, side) = (self.inputs.door, self.inputs.side);
        if door != DoorState::Closed && side != cycle.side && self.opens(cycle.floor, side) {
            // By hand. It has to close first.
            return OperatingState::Idle { after: Closed::Freely };
        }
        self.watch_hindrance(&mut cycle, now);
        cycle.unseen = cycle.unseen.filter(|until| now < *until);
        if let (Mode::FireService, Some(pressed)) = (self.mode(), self.inputs.door_buttons) {
            return self.step_by_hand(cycle, pressed, now);
        }
        match cycle.stage {
            Stage::Opening { since } => {
                if self.inputs.door != DoorState::Open {
                    self.watch_travel(since, now);
                    return OperatingState::AtDoor(cycle);
                }
                self.supervision.door = DoorHealth::Sound;
                cycle.opened.get_or_insert(now);
                let until = now + self.settings.dwell;
                cycle.in_stage(Stage::Open { until })
            }
            Stage::Open { .. } | Stage::Obstructed | Stage::Held | Stage::Attended { .. } => {
                self.step_open(cycle, now)
            }
            Stage::Closing { since } => {
                self.watch_travel(since, now);
                self.step_closing(cycle, now)
            }
            Stage::Nudging { since } => {
                self.watch_travel(since, now);
                self.step_nudging(cycle, now)
            }
        }
    }

    fn watch_hindrance(&mut self, cycle: &mut DoorCycle, now: Timestamp) {
        if !self.is_kept_open(cycle.side) && !self.is_overloaded() {
            cycle.hindered = None;
            return;
        }
        let since = *cycle.hindered.get_or_insert(now);
        if now.since(since) >= self.settings.door_blocked_after {
            self.supervision.door = DoorHealth::Blocked;
        }
    }

    pub(super) fn watch_travel(&mut self, since: Timestamp, now: Timestamp) {
        if now.since(since) >= self.settings.door_travel_limit {
            self.supervision.door = DoorHealth::Blocked;
        }
    }

    fn step_open(&mut self, cycle: DoorCycle, now: Timestamp) -> OperatingState {
        let dwell = Stage::Open { until: now + self.settings.dwell };
        if self.inputs.door != DoorState::Open {
            return cycle.in_stage(Stage::Opening { since: now });
        }
        let served = cycle.unseen.is_none() && self.serve(cycle);
        if self.inputs.stop || self.holds_open(cycle.floor, cycle.side) {
            return cycle.in_stage(Stage::Held);
        }
        if self.mode() == Mode::Attendant {
            return self.step_attended(cycle, now);
        }
        if self.mode() == Mode::FireService {
            // Another floor was asked for. Smoke may cover the light curtain.
            return cycle.in_stage(Stage::Nudging { since: now });
        }
        if cycle.stage == Stage::Held || cycle.is_attended() {
            let opened = Some(now);
            return DoorCycle { opened, ..cycle }.in_stage(dwell);
        }
        if cycle.is_overdue(&self.settings, now) {
            return cycle.in_stage(Stage::Nudging { since: now });
        }
        if self.is_kept_open(cycle.side) {
            return cycle.in_stage(Stage::Obstructed);
        }
        let Stage::Open { until } = cycle.stage else {
            return cycle.in_stage(dwell);
        };
        match cycle.unseen {
            _ if served => cycle.in_stage(dwell),
            _ if now < until => OperatingState::AtDoor(cycle),
            Some(until) => cycle.in_stage(Stage::Open { until }),
            None => self.end_dwell(cycle, now),
        }
    }

    /// The group counts on the attendant for a while; then others take over the hall calls.
    fn step_attended(&self, cycle: DoorCycle, now: Timestamp) -> OperatingState {
        let until = if let Stage::Attended { until } = cycle.stage {
            until.filter(|until| now < *until)
        } else {
            Some(now + self.settings.door_blocked_after)
        };
        cycle.in_stage(Stage::Attended { until })
    }

    /// The turn-round: without a stop ahead, passengers for the other direction get another dwell.
    fn end_dwell(&mut self, cycle: DoorCycle, now: Timestamp) -> OperatingState {
        let announced = self.announced(cycle.floor);
        if announced.is_some() && announced != self.direction {
            self.head(announced);
            if self.serve(cycle) {
                let until = now + self.settings.dwell;
                return cycle.in_stage(Stage::Open { until });
            }
        }
        cycle.in_stage(Stage::Closing { since: now })
    }

    fn step_closing(&mut self, cycle: DoorCycle, now: Timestamp) -> OperatingState {
        if self.inputs.door == DoorState::Closed {
            return self.closed(cycle, Closed::Freely, now);
        }
        if self.holds_open(cycle.floor, cycle.side) {
            return cycle.in_stage(Stage::Opening { since: now });
        }
        if !self.is_kept_open(cycle.side) && self.servable(cycle.floor, cycle.side).is_empty() {
            return OperatingState::AtDoor(cycle);
        }
        cycle.in_stage(if cycle.is_overdue(&self.settings, now) {
            Stage::Nudging { since: now }
        } else {
            Stage::Opening { since: now }
        })
    }

    fn step_nudging(&mut self, cycle: DoorCycle, now: Timestamp) -> OperatingState {
        if self.inputs.door == DoorState::Closed {
            return self.closed(cycle, Closed::Nudged, now);
        }
        if self.holds_open(cycle.floor, cycle.side) {
            return cycle.in_stage(Stage::Opening { since: now });
        }
        OperatingState::AtDoor(cycle)
    }

    /// The other door opens once if somebody waits for it. Then the car goes on: passengers of both
    /// sides in turn would keep it.
    pub(super) fn closed(&self, cycle: DoorCycle, after: Closed, now: Timestamp) -> OperatingState {
        if cycle.is_second {
            return OperatingState::Idle { after: Closed::Nudged };
        }
        let DoorCycle { floor, other_asked_for, .. } = cycle;
        let side = cycle.side.other();
        let is_asked_for = other_asked_for && self.opens(floor, side) && self.may_let_out();
        let is_stop = self.sweep().opens_at(floor, self.direction);
        let is_waited_for = is_stop && !self.servable(floor, side).is_empty();
        if (is_asked_for || is_waited_for) && !self.inputs.stop {
            let is_second = true;
            let cycle = DoorCycle::begin(floor, side, now);
            return OperatingState::AtDoor(DoorCycle { is_second, ..cycle });
        }
        OperatingState::Idle { after }
    }

    fn serve(&mut self, cycle: DoorCycle) -> bool {
        if self.direction.is_none() {
            let announced = self.announced(cycle.floor);
            self.head(announced);
        }
        let served = self.servable(cycle.floor, cycle.side);
        for call in &served {
            match call {
                ServedCall::Hall(call) => self.hall.remove(call) | self.assigned.remove(call),
                ServedCall::Car(entrance) => self.own_calls.remove(entrance),
            };
        }
        let any = !served.is_empty();
        if any {
            self.events.push_back(CarEvent::Served(served));
        }
        any
    }

    /// The calls that this door serves at a floor.
    pub(super) fn servable(&self, floor: Floor, door: Side) -> Vec<ServedCall> {
        let rides = self.settings.entrances(floor, door).filter(|it| self.own_calls.contains(it));
        let rides = rides.filter(|_| self.serves_car_calls()).map(ServedCall::Car);
        let in_service = self.availability() == Availability::InService
            || self.mode() == Mode::Priority && is_seeded(SeededBug::PriorityServesHalls);
        let halls = Direction::BOTH
            .into_iter()
            .filter(|direction| {
                let is_announced = self.direction.is_none_or(|d| d == *direction);
                in_service && (is_announced || is_seeded(SeededBug::ServesBothDirections))
            })
            .flat_map(|direction| {
                let entrances = self.settings.entrances(floor, door);
                entrances.map(move |entrance| HallCall::at(entrance, direction))
            })
            .filter(|call| self.hall.contains(call) || self.assigned.contains(call));
        rides.chain(halls.map(ServedCall::Hall)).collect()
    }

    /// Whether this door opens at a floor.
    pub(super) fn opens(&self, floor: Floor, door: Side) -> bool {
        self.settings.entrances(floor, door).next().is_some()
    }

    /// The door that opens at a floor if nobody asks for another.
    pub(super) fn usual_door(&self, floor: Floor) -> Option<Side> {
        self.settings.doors.get(&self.settings.entrance(floor)?).copied()
    }

    /// The door to open at a floor: the one that is not closed, else one that serves a call, else
    /// the usual one. For an errand or in a recall it is the usual one.
    pub(super) fn door_at(&self, floor: Floor) -> Side {
        if self.inputs.door != DoorState::Closed && self.opens(floor, self.inputs.side) {
            return self.inputs.side;
        }
        let by_fire_call = self.fire_call.filter(|call| call.floor == floor);
        let asked_for = by_fire_call.and_then(|call| self.settings.doors.get(&call).copied());
        let is_wanted = |door: &Side| self.holds_open(floor, *door) && !self.is_overloaded();
        let serves = |door: &Side| !self.servable(floor, *door).is_empty();
        let usual = self.usual_door(floor);
        asked_for
            .or_else(|| usual.filter(is_wanted))
            .or_else(|| Side::BOTH.into_iter().find(serves))
            .or(usual)
            .unwrap_or_default()
    }

    /// The direction to announce at `floor`: that of the car's own stops, else that of a passenger
    /// who waits there for another car.
    fn announced(&self, floor: Floor) -> Option<Direction> {
        let travel = self.first_direction();
        let first = travel.unwrap_or(self.older);
        self.sweep().announce(floor, travel, self.older).or_else(|| {
            [first, first.opposite()]
                .into_iter()
                .find(|way| self.hall.iter().any(|it| it.floor == floor && it.direction == *way))
        })
    }

    /// Whether the press of `call` needs no order, because the door is open right there for that
    /// direction (F18); it then restarts the dwell, for as long as the door doesn't nudge.
    pub fn absorbs(&mut self, call: Button, now: Timestamp) -> bool {
        let OperatingState::AtDoor(cycle) = self.state else {
            return false;
        };
        let is_open = match cycle.stage {
            Stage::Open { .. } | Stage::Obstructed | Stage::Held => {
                self.inputs.door == DoorState::Open && !cycle.is_overdue(&self.settings, now)
            }
            Stage::Attended { .. } => self.inputs.door == DoorState::Open,
            Stage::Opening { .. } | Stage::Closing { .. } | Stage::Nudging { .. } => false,
        };
        let is_seen = cycle.unseen.is_none_or(|until| now >= until);
        let door = self.settings.doors.get(&call.entrance());
        let is_here = call.floor() == cycle.floor && door == Some(&cycle.side);
        if !is_open || !is_seen || !is_here || !self.welcomes(call) {
            return false;
        }
        if let Some(direction) = call.direction() {
            self.head(Some(direction));
        }
        if let Stage::Open { .. } = cycle.stage {
            let until = now + self.settings.dwell;
            self.state = cycle.in_stage(Stage::Open { until });
        }
        true
    }

    fn welcomes(&self, call: Button) -> bool {
        match call.direction() {
            Some(direction) => {
                self.availability() == Availability::InService
                    && self.direction.is_none_or(|d| d == direction)
            }
            None => self.serves_car_calls(),
        }
    }
}
