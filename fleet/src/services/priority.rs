//! Priority calls for any car: a call whose car is lost goes to another one.
//!
//! While a network is cut so that two masters have a peer in common, each of them hears of the calls
//! that the other gives, and hears no word of the cars that have them. If both passed them on, a call
//! would go to and fro with each beacon. So a master passes on what it has seen itself: the call of a
//! car that it heard while the call was known, and lost.

use std::collections::BTreeSet;

use elevator_driver::Floor;

use super::Bank;
use super::command::CommandRefused;
use crate::model::NodeId;
use crate::settings::{PriorityCall, Setting};

/// The cars with a priority call that another one may take, and that were heard since it was known.
#[derive(Debug, Default)]
pub(crate) struct Priorities(BTreeSet<NodeId>);

/// The car that gets a priority call to a floor: the one that is named or, of those in service, the one
/// that gets there first.
pub(crate) fn command(
    bank: &Bank<'_>,
    car: Option<&NodeId>,
    floor: Floor,
) -> Result<(NodeId, PriorityCall), CommandRefused> {
    if bank.settings().is_fire_recalled() {
        return Err(CommandRefused::FireRecall);
    }
    if bank.settings().emergency_power().is_some() {
        return Err(CommandRefused::EmergencyPower);
    }
    let first = || bank.first_car_to(floor, &bank.cars_with_errands(), None);
    let chosen = car.cloned().or_else(first).ok_or(CommandRefused::NoCar { floor })?;
    Ok((chosen, PriorityCall { floor, any: car.is_none() }))
}

impl Priorities {
    /// As master: a priority call that was for any car goes to another one if the node of its car is
    /// lost.
    pub(crate) fn review(&mut self, bank: &Bank<'_>) -> Vec<Setting> {
        let of_any = || bank.settings().priorities().filter(|(_, call)| call.any);
        let is_known = |car: &NodeId| bank.is_heard(car) || self.0.contains(car);
        self.0 = of_any().map(|(car, _)| car).filter(|car| is_known(car)).cloned().collect();
        if !bank.leadership.leads() {
            return Vec::new();
        }
        let lost = of_any().find(|(car, _)| self.0.contains(*car) && !bank.is_heard(car));
        let Some((car, PriorityCall { floor, .. })) = lost else { return Vec::new() };
        let Some(next) = bank.first_car_to(floor, &bank.cars_with_errands(), None) else {
            return Vec::new();
        };
        let call = PriorityCall { floor, any: true };
        vec![Setting::Priority(car.clone(), None), Setting::Priority(next, Some(call))]
    }
}
