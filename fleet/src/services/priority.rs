//! Priority calls for any car: a call whose car is lost goes to another one.
//!
//! While a network is cut so that two masters have a peer in common, each of them hears of the calls
//! that the other gives, and hears no word of the cars that have them. If both passed them on, a call
//! would go to and fro with each beacon. So a master passes on what it has seen itself: the call of a
//! car that it heard and lost. Of one that it never heard while the call was known, it waits
//! [`UNHEARD_LIMIT`].

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Floor;

use super::Bank;
use super::command::CommandRefused;
use crate::model::{NodeId, Timestamp};
use crate::settings::{PriorityCall, Setting};

/// After this time a call is passed on though its car has never been heard since, as after a power
/// cut that its node has not come back from. A car that can serve it has done so by then.
const UNHEARD_LIMIT: Duration = Duration::from_mins(5);

/// The cars whose priority calls another one may take.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    cars: BTreeMap<NodeId, Sight>,
}

/// What this node has seen of a car since the call was known.
#[derive(Debug, Clone, Copy)]
enum Sight {
    Heard,
    UnheardSince(Timestamp),
}

/// The car that gets a priority call to a floor: the named one, or the first to get there.
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
    let first = || first_free_car(bank, floor);
    let chosen = car.cloned().or_else(first).ok_or(CommandRefused::NoCar { floor })?;
    Ok((chosen, PriorityCall { floor, any: car.is_none() }))
}

fn first_free_car(bank: &Bank<'_>, floor: Floor) -> Option<NodeId> {
    let busy = bank.cars_with_errands();
    bank.first_car_to(floor, |car| !busy.contains(car))
}

impl Priorities {
    /// As master: a priority call for any car goes to another one if its node is lost.
    pub(crate) fn review(&mut self, bank: &Bank<'_>) -> Vec<Setting> {
        self.note(bank);
        if !bank.leadership.leads() {
            return Vec::new();
        }
        let is_lost = |car: &NodeId| !bank.is_heard(car) && self.may_pass_on(car, bank.now);
        let mut calls = bank.settings().priorities();
        let lost = calls.find(|(car, call)| call.any && is_lost(car));
        let Some((car, PriorityCall { floor, .. })) = lost else { return Vec::new() };
        let Some(next) = first_free_car(bank, floor) else { return Vec::new() };
        let call = PriorityCall { floor, any: true };
        vec![Setting::Priority(car.clone(), None), Setting::Priority(next, Some(call))]
    }

    /// Takes note of the calls, and of the cars that are heard now.
    fn note(&mut self, bank: &Bank<'_>) {
        let of_any = bank.settings().priorities().filter(|(_, call)| call.any);
        let before = std::mem::take(&mut self.cars);
        self.cars = of_any
            .map(|(car, _)| {
                let known = before.get(car).copied().unwrap_or(Sight::UnheardSince(bank.now));
                let sight = if bank.is_heard(car) { Sight::Heard } else { known };
                (car.clone(), sight)
            })
            .collect();
    }

    /// Whether the call of a car that is not heard may be passed on now.
    fn may_pass_on(&self, car: &NodeId, now: Timestamp) -> bool {
        match self.cars.get(car) {
            Some(Sight::Heard) => true,
            Some(Sight::UnheardSince(since)) => now.since(*since) >= UNHEARD_LIMIT,
            None => false,
        }
    }
}
