//! Panels at the landings that ask for the destination and say which car to take.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use elevator_core::components::RiderPhase;
use elevator_core::dispatch::AssignedCar;
use elevator_core::dispatch::destination::ASSIGNED_CAR_KEY;
use elevator_core::entity::{ElevatorId, EntityId};
use elevator_driver::{Direction, Floor};
use elevator_fleet::dispatch::Plan;
use elevator_fleet::model::{HallCall, NodeId};

use crate::bank::Bank;
use crate::suite::Passenger;

/// Those who wait, and what they were told. Nobody boards another car: the simulator lets a rider
/// with an [`AssignedCar`] into that one only.
#[derive(Debug, Default)]
pub(crate) struct Kiosks {
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    rider: EntityId,
    trip: HallCall,
    told: Option<NodeId>,
}

impl Kiosks {
    /// Somebody gives a destination.
    pub(crate) fn handle_arrival(&mut self, rider: EntityId, passenger: &Passenger) -> Result<()> {
        let trip = HallCall::to(passenger.from.try_into()?, passenger.to.try_into()?);
        let trip = trip.context("a trip to where it begins")?;
        self.waiting.push(Waiting { rider, trip, told: None });
        Ok(())
    }

    /// Forgets who has boarded.
    pub(crate) fn update(&mut self, bank: &Bank) {
        let world = bank.sim.world();
        self.waiting.retain(|waiting| {
            let rider = world.rider(waiting.rider);
            rider.is_some_and(|rider| rider.phase() == RiderPhase::Waiting)
        });
    }

    /// The door of a car is closed: who was told it and is still here asks again.
    pub(crate) fn leave_behind(&mut self, car: &NodeId, floor: Floor) {
        for waiting in &mut self.waiting {
            waiting.told.take_if(|told| told == car && waiting.trip.floor == floor);
        }
    }

    /// The trips of those who know of no car.
    pub(crate) fn open_trips(&self) -> impl Iterator<Item = HallCall> {
        let asking = self.waiting.iter().filter(|waiting| waiting.told.is_none());
        asking.map(|waiting| waiting.trip)
    }

    /// Tells those who know of no car which one takes them.
    pub(crate) fn answer(
        &mut self,
        bank: &mut Bank,
        plan: &Plan,
        cars: &BTreeMap<NodeId, ElevatorId>,
    ) -> Result<()> {
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.told.is_none()) {
            let name = plan.assignments.get(&waiting.trip).context("a trip without a car")?;
            let car = cars.get(name).context("a car")?.entity();
            bank.sim.world_mut().insert_ext(waiting.rider, AssignedCar(car), ASSIGNED_CAR_KEY);
            waiting.told = Some(name.clone());
        }
        Ok(())
    }
}

/// The trips that a car takes up while it is open for this direction.
pub(crate) fn taken_up(
    plan: &Plan,
    car: &NodeId,
    floor: Floor,
    direction: Direction,
) -> Vec<(HallCall, Floor)> {
    let landing = HallCall::new(floor, direction);
    let its = plan.assignments.iter().filter(|(_, other)| *other == car);
    let here = its.map(|(call, _)| *call).filter(|call| call.landing() == landing);
    here.filter_map(|call| Some((call, call.to?))).collect()
}
