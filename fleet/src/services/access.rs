//! Which calls are refused, and locked floors: which calls need a right of access.
//!
//! ```text
//!   operator ──▶ handle_command   ──▶ the store ──▶ every node
//!   access control ──▶ handle_release ──▶ AccessControl, of this car alone, for seconds
//!                                            │
//!   a press, a trip, an order ──▶ lock_against ▼ ──▶ refused, unless it came with a right
//! ```
//!
//! A lock keeps people from riding to a floor, never from leaving it, and breaks no promise.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use super::Bank;
use crate::car::Car;
use crate::model::{Call, HallCall, Mode, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::store::MOST_OPEN_TRIPS;

/// The longest time for which a floor can be released in a car: for a press of a button.
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

/// An order that can't be placed. The node is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    #[error("there is no {call}: the building has floors 0 to {top}")]
    NoSuchButton { call: Call, top: u8 },
    #[error("{node} has no car for {call}")]
    NoCar { call: Call, node: NodeId },
    /// The car of a car call does not stop at its floor.
    #[error("{call} can't be placed: the car does not serve floor {}", call.entrance())]
    NotServed { call: Call, floor: Floor },
    /// No car that stops at these floors is in service.
    #[error("{call} can't be placed: no car in service serves {}", wanted(call, floors))]
    NoCarServes { call: Call, floors: Vec<Floor> },
    #[error("{call} can't be placed: all cars are recalled because of a fire")]
    FireRecall { call: Call },
    /// The car, of this node or another one, is out of service, or a firefighter drives it.
    #[error("{call} can't be placed: the car is in mode {mode}")]
    NotInService { call: Call, mode: Mode },
    #[error("{call} can't be placed: floor {floor} is locked")]
    FloorLocked { call: Call, floor: Floor },
    /// So many destination calls that were placed at this node are open.
    #[error("{call} can't be placed: {most} trips requested at this node are open")]
    TooManyTrips { call: Call, most: usize },
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
    refused: u64,
}

impl AccessControl {
    fn is_released(&self, floor: Floor, now: Timestamp) -> bool {
        self.released.get(&floor).is_some_and(|until| now < *until)
    }

    pub(crate) fn released(&self, now: Timestamp) -> impl Iterator<Item = (Floor, Duration)> {
        let left = move |(floor, until): (&Floor, &Timestamp)| (*floor, until.since(now));
        self.released.iter().map(left).filter(|(_, left)| !left.is_zero())
    }

    pub(crate) fn refused(&self) -> u64 {
        self.refused
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

    /// The lock that keeps this call from being placed without a right of access. None holds in
    /// independent service, where the holder of the key drives, nor in fire service. It holds with
    /// an attendant, who may be anybody.
    pub(crate) fn lock_against(&self, bank: &Bank<'_>, call: &Call) -> Option<OrderRefused> {
        let (floor, is_open) = match call {
            Call::Hall(call) => (call.to?, false),
            Call::Car { car, floor, .. } if *car == bank.own.node => {
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

    /// Why an order of an operator or a program can't be placed, if it can't.
    pub(crate) fn refuse(
        &mut self,
        bank: &Bank<'_>,
        call: &Call,
        access: Access,
    ) -> Option<OrderRefused> {
        if !call.is_within(bank.own.floors) {
            let top = bank.own.floors.top().index();
            return Some(OrderRefused::NoSuchButton { call: call.clone(), top });
        }
        let is_own = matches!(call, Call::Car { car, .. } if *car == bank.own.node);
        if is_own && bank.cabin.car().is_none() {
            return Some(OrderRefused::NoCar { call: call.clone(), node: bank.own.node.clone() });
        }
        if let Some(refused) = unserved(bank, call) {
            return Some(refused);
        }
        if bank.settings().is_fire_recalled() {
            return Some(OrderRefused::FireRecall { call: call.clone() });
        }
        if let Some(mode) = refusing_mode(bank, call) {
            return Some(OrderRefused::NotInService { call: call.clone(), mode });
        }
        if access == Access::Public
            && let Some(refused) = self.lock_against(bank, call)
        {
            self.refused = self.refused.saturating_add(1);
            return Some(refused);
        }
        let has_room = bank.store.may_place(call);
        (!has_room)
            .then(|| OrderRefused::TooManyTrips { call: call.clone(), most: MOST_OPEN_TRIPS })
    }
}

/// Whether the building keeps this call from being served. At a floor that every car serves, a call
/// waits for whichever car comes into service first.
pub(crate) fn unserved(bank: &Bank<'_>, call: &Call) -> Option<OrderRefused> {
    match call {
        Call::Car { car, floor, .. } => (bank.building().door(car.as_str(), call.entrance()))
            .is_none()
            .then(|| OrderRefused::NotServed { call: call.clone(), floor: *floor }),
        Call::Hall(hall) => {
            let HallCall { floor, direction, to, .. } = *hall;
            let building = bank.building();
            let fits = |car: &str| match to {
                Some(to) => [floor, to].iter().all(|at| building.door(car, (*at).into()).is_some()),
                None => building.goes_on(car, hall.entrance(), direction),
            };
            let is_open = building.has(hall.entrance())
                && building.cars().iter().all(|served| fits(&served.car));
            let floors = || [floor].into_iter().chain(to).collect();
            (!is_open && !bank.has_car(|car| fits(car.as_str())))
                .then(|| OrderRefused::NoCarServes { call: call.clone(), floors: floors() })
        }
    }
}

/// The entrance, or both floors, of a hall call.
fn wanted(call: &Call, floors: &[Floor]) -> String {
    if call.is_trip() { these_floors(floors) } else { format!("floor {}", call.entrance()) }
}

pub(super) fn these_floors(floors: &[Floor]) -> String {
    let names: Vec<_> = floors.iter().map(|floor| format!("floor {floor}")).collect();
    names.join(" and ")
}

/// The mode of the car, if it takes no car call such as this one. Of another node's car it is the
/// commanded one: its panel may be busy with a mechanic, who gets the calls afterwards.
pub(crate) fn refusing_mode(bank: &Bank<'_>, call: &Call) -> Option<Mode> {
    match call {
        Call::Car { car, .. } if *car == bank.own.node => {
            bank.cabin.car().filter(|car| !car.takes_car_calls()).map(Car::mode)
        }
        Call::Car { car, .. } => bank.settings().refusing_mode(car),
        Call::Hall(_) => None,
    }
}
