//! Which calls are refused.

use elevator_driver::Floor;

use super::access::{Access, AccessControl};
use super::bank::Bank;
use crate::car::Car;
use crate::model::{Call, Mode, NodeId};
use crate::store::MOST_OPEN_TRIPS;

/// An order that can't be placed. The node is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    /// The building has no such button or floor.
    #[error("there is no {call}: the building has floors 0 to {top}")]
    NoSuchButton { call: Call, top: u8 },
    /// The node has no car that could serve it.
    #[error("{node} has no car for {call}")]
    NoCar { call: Call, node: NodeId },
    #[error("{call} can't be placed: all cars are recalled because of a fire")]
    FireRecall { call: Call },
    /// The car, of this node or another one, is out of service, or a firefighter drives it.
    #[error("{call} can't be placed: the car is in mode {mode}")]
    NotInService { call: Call, mode: Mode },
    /// The floor is locked, and the call came without a right of access.
    #[error("{call} can't be placed: floor {floor} is locked")]
    FloorLocked { call: Call, floor: Floor },
    /// So many destination calls that were placed at this node are open.
    #[error("{call} can't be placed: {most} trips requested at this node are open")]
    TooManyTrips { call: Call, most: usize },
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

impl AccessControl {
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
        if bank.settings().is_fire_recalled() {
            return Some(OrderRefused::FireRecall { call: call.clone() });
        }
        if let Some(mode) = refusing_mode(bank, call) {
            return Some(OrderRefused::NotInService { call: call.clone(), mode });
        }
        if access == Access::Public
            && let Some(refused) = self.lock_against(bank, call)
        {
            self.count_refused();
            return Some(refused);
        }
        let has_room = bank.store.may_place(call);
        (!has_room)
            .then(|| OrderRefused::TooManyTrips { call: call.clone(), most: MOST_OPEN_TRIPS })
    }
}
