//! Locked floors: which calls need a right of access, and how many were refused for lack of it.
//!
//! ```text
//!   operator ──▶ handle_command   ──▶ the store ──▶ every node
//!   access control ──▶ handle_release ──▶ AccessControl, of this car alone, for seconds
//!                                            │
//!   a press, a trip, an order ──▶ lock_against ▼ ──▶ refused, unless it came with a right
//! ```
//!
//! A lock keeps people from riding to a floor, never from leaving it: hall calls are taken at every
//! floor. It is asked when a call is placed, and never again, so that what was promised stays
//! promised.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use super::Bank;
use super::calls::OrderRefused;
use crate::car::Car;
use crate::model::{Call, Mode, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};

/// The longest time for which a floor can be released in a car. An access-control system releases it
/// for a press of a button.
pub const LONGEST_RELEASE: Duration = Duration::from_mins(1);

/// Whether who places a call has shown a right of access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// No: like everybody who presses a button.
    #[default]
    Public,
    /// Yes: a credential was checked by who places the call.
    Granted,
}

/// A floor that can't be released. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReleaseRefused {
    #[error("{0} has no car to release a floor in")]
    NoCar(NodeId),
    #[error("there is no floor {floor}: the building has floors 0 to {top}")]
    NoSuchFloor { floor: Floor, top: u8 },
    /// The time is none, or too long.
    #[error("a floor can be released for 1 ms to {} s", LONGEST_RELEASE.as_secs())]
    Time,
}

/// What of access is this node's own: nothing of it is replicated or on disk.
#[derive(Debug, Clone, Default)]
pub(crate) struct AccessControl {
    /// Until when floors are released in the own car.
    released: BTreeMap<Floor, Timestamp>,
    /// How many calls were refused.
    refused: u64,
}

impl AccessControl {
    fn is_released(&self, floor: Floor, now: Timestamp) -> bool {
        self.released.get(&floor).is_some_and(|until| now < *until)
    }

    /// The released floors, and for how long still.
    pub(crate) fn released(&self, now: Timestamp) -> impl Iterator<Item = (Floor, Duration)> {
        let left = move |(floor, until): (&Floor, &Timestamp)| (*floor, until.since(now));
        self.released.iter().map(left).filter(|(_, left)| !left.is_zero())
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused
    }

    pub(crate) fn count_refused(&mut self) {
        self.refused = self.refused.saturating_add(1);
    }

    /// Somebody in this node's car may press the button of a locked floor, for `time`.
    pub(crate) fn release(
        &mut self,
        bank: &Bank<'_>,
        floor: Floor,
        time: Duration,
    ) -> Result<(), ReleaseRefused> {
        if bank.cabin.car().is_none() {
            return Err(ReleaseRefused::NoCar(bank.own.node.clone()));
        }
        if !bank.own.floors.contains(floor) {
            let top = bank.own.floors.top().index();
            return Err(ReleaseRefused::NoSuchFloor { floor, top });
        }
        if time.is_zero() || time > LONGEST_RELEASE {
            return Err(ReleaseRefused::Time);
        }
        let until = self.released.entry(floor).or_insert(bank.now);
        *until = (*until).max(bank.now + time);
        Ok(())
    }

    /// The lock that keeps this call from being placed without a right of access.
    ///
    /// In independent service the holder of the key drives the car, and in fire service a press is no
    /// call at all: no lock holds there. It holds with an attendant, who may be anybody.
    pub(crate) fn lock_against(&self, bank: &Bank<'_>, call: &Call) -> Option<OrderRefused> {
        let (floor, is_open) = match call {
            Call::Hall(call) => (call.to?, false),
            Call::Car { car, floor } if *car == bank.own.node => {
                let is_released = self.is_released(*floor, bank.now);
                let mode = bank.cabin.car().map(Car::mode);
                (*floor, is_released || mode == Some(Mode::Independent))
            }
            Call::Car { floor, .. } => (*floor, false),
        };
        let is_locked = !is_open
            && bank.settings().is_locked(floor)
            && !is_seeded(SeededBug::LockedFloorAccepted);
        is_locked.then(|| OrderRefused::FloorLocked { call: call.clone(), floor })
    }
}
