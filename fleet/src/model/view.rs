//! What the fleet knows about one car, and what its master wants of it.

use std::fmt;
use std::time::Duration;

use elevator_driver::{Direction, Entrance, Floor, FloorCount};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{FloorSet, HallCall, Mode, Shut, named};

/// A car, as its own node describes it to others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CarView {
    pub availability: Availability,
    /// The floor where it is or which it last passed; `None` until it has found one.
    pub floor: Option<Floor>,
    pub phase: CarPhase,
    pub elapsed: Duration,
    /// The direction in which it collects calls, or `None` if it may turn either way.
    pub direction: Option<Direction>,
    /// The load in per cent of the rated load, if known.
    pub load: Option<u8>,
    /// The floors that are locked out for a while, because the car can't be located there.
    pub locked_out: FloorSet,
    /// Its service mode. That of a peer's car is the nearest one that its beacons can name; the
    /// status shows what was commanded.
    #[serde(with = "super::mode::wire")]
    pub mode: Mode,
    /// Not sent: receivers derive it from the building.
    #[serde(skip)]
    pub shut: Shut,
}

impl CarView {
    /// A car in service that stands at this floor and has nothing to do.
    #[cfg(test)]
    pub(crate) fn idle_at(floor: Floor) -> Self {
        Self {
            availability: Availability::InService,
            floor: Some(floor),
            phase: CarPhase::Idle,
            elapsed: Duration::ZERO,
            direction: None,
            load: None,
            locked_out: FloorSet::default(),
            mode: Mode::default(),
            shut: Shut::default(),
        }
    }

    #[must_use]
    pub fn is_in_service(&self) -> bool {
        self.availability == Availability::InService
    }

    /// Why the group can't count on it, if so, as people are told.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        self.availability.unavailable().map(|why| Reason::in_mode(why, self.mode))
    }

    /// Whether it leaves out neither the landing nor the destination of this call.
    #[must_use]
    pub fn reaches(&self, call: HallCall) -> bool {
        let leaves_out = |floor| self.locked_out.contains(floor);
        let passes = |at: Entrance| leaves_out(at.floor) || self.shut.contains(at);
        !passes(call.entrance()) && !call.to.is_some_and(|to| passes(to.into()))
    }

    /// Whether all its floors are among these.
    #[must_use]
    pub(crate) fn is_within(&self, floors: FloorCount) -> bool {
        let mut all = self.floor.is_none_or(|floor| floors.contains(floor));
        if let CarPhase::Moving { stop_at, next_stop, .. } = self.phase {
            all &= floors.contains(stop_at) && floors.contains(next_stop);
        }
        all
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum CarPhase {
    Idle,
    Moving {
        direction: Direction,
        stop_at: Floor,
        /// The nearest floor at which it can still stop.
        next_stop: Floor,
    },
    /// Looking for a floor after a start between two.
    Homing,
    Opening,
    Open,
    Closing,
}

impl fmt::Display for CarPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Idle => f.pad("idle"),
            Self::Moving { direction, stop_at, .. } => {
                f.pad(&format!("moving {direction} to {stop_at}"))
            }
            Self::Homing => f.pad("homing"),
            Self::Opening => f.pad("door opening"),
            Self::Open => f.pad("door open"),
            Self::Closing => f.pad("door closing"),
        }
    }
}

/// Whether the group can count on a car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Availability {
    /// Hall calls may be assigned to it.
    InService,
    /// No hall call may be assigned to it, for this reason.
    Unavailable(Unavailable),
}

impl Availability {
    #[must_use]
    pub fn is_hung(self) -> bool {
        self.unavailable() == Some(Unavailable::Hung)
    }

    /// Why the group can't count on the car, if so.
    #[must_use]
    pub fn unavailable(self) -> Option<Unavailable> {
        match self {
            Self::InService => None,
            Self::Unavailable(why) => Some(why),
        }
    }
}

named! {
    "a reason not to use a car"
    pub struct UnknownReason;

    /// Why no hall call may be assigned to a car.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    pub enum Unavailable {
        NoPanel = "no panel",
        /// Its position is not known yet.
        Homing = "homing",
        Stopped = "stopped",
        /// Something, for example too much load, has held its door open for too long.
        DoorBlocked = "door blocked",
        /// A key or an operator has taken it out of the group: it serves its car calls only.
        Independent = "independent",
        /// It is at the recall floor, for the fire brigade.
        FireRecall = "fire recall",
        /// A key or an operator has taken it out of service.
        OutOfService = "out of service",
        /// It did not reach a floor in time (F9).
        Hung = "hung",
        /// Its drive did not start or stopped short; it still has to prove that it can run.
        DriveFault = "drive fault",
        /// Its current flight takes longer than any before. It may be stuck.
        Overdue = "overdue",
    }
}

impl Unavailable {
    /// Whether it says no more than that a car is in this mode.
    #[must_use]
    pub fn is_said_by(self, mode: Mode) -> bool {
        mode.unavailable() == Some(self)
    }
}

/// Why no hall call may be assigned to a car, as people are told; beacons have fewer words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Its mode, which an [`Unavailable`] can't name.
    Mode(Mode),
    Other(Unavailable),
}

impl Reason {
    /// The modes that are no [`Unavailable`].
    const MODES: [Mode; 3] = [Mode::Priority, Mode::EmergencyPower, Mode::FireService];

    pub(crate) fn in_mode(why: Unavailable, mode: Mode) -> Self {
        if Self::MODES.contains(&mode) && why.is_said_by(mode) {
            Self::Mode(mode)
        } else {
            Self::Other(why)
        }
    }

    /// What beacons say instead.
    pub(crate) fn unavailable(self) -> Option<Unavailable> {
        match self {
            Self::Other(why) => Some(why),
            Self::Mode(mode) => mode.unavailable(),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mode(mode) => f.pad(&mode.name().replace('-', " ")),
            Self::Other(why) => why.fmt(f),
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let modes = Self::MODES.map(Self::Mode);
        if let Some(known) = modes.into_iter().find(|known| known.to_string() == text) {
            return Ok(known);
        }
        text.parse().map(Self::Other).map_err(D::Error::custom)
    }
}

/// What a car does besides serving its calls. A car that has a call, or can't do it, ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CarPlan {
    /// The direction in which a car without passengers begins; `None` if it has no choice.
    pub direction: Option<Direction>,
    /// Where it waits if it has no call; `None` if it stays.
    pub park: Option<Floor>,
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{self, StringDeserializer};

    use super::*;
    use crate::election::testing::floor;

    #[test]
    fn every_reason_is_read_back_from_its_text() {
        let others = Unavailable::ALL.map(Reason::Other);
        for reason in Reason::MODES.map(Reason::Mode).into_iter().chain(others) {
            let text: StringDeserializer<value::Error> = reason.to_string().into_deserializer();
            assert_eq!(Reason::deserialize(text), Ok(reason));
        }
    }

    #[test]
    fn all_floors_of_a_car_count() {
        let three = FloorCount::try_from(3).expect("three floors");
        let moving = |stop_at, next_stop| {
            let (stop_at, next_stop) = (floor(stop_at), floor(next_stop));
            let phase = CarPhase::Moving { direction: Direction::Up, stop_at, next_stop };
            CarView { phase, ..CarView::idle_at(floor(0)) }.is_within(three)
        };
        assert!(moving(2, 2));
        assert!(!moving(3, 2) && !moving(2, 3));
        assert!(!CarView::idle_at(floor(3)).is_within(three));
    }
}
