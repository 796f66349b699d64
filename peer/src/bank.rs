//! One run of a cell in the simulator of `elevator-core`.

use std::time::Duration;

use anyhow::{Result, bail};
use elevator_core::components::{Accel, Route, Speed, Weight};
use elevator_core::config::{
    BuildingConfig, ElevatorConfig, ElevatorConfigId, PassengerSpawnConfig, SimConfig,
    SimulationParams,
};
use elevator_core::dispatch::{BuiltinReposition, EtdDispatch};
use elevator_core::entity::{ElevatorId, EntityId};
use elevator_core::events::Event;
use elevator_core::ids::GroupId;
use elevator_core::sim::Simulation;
use elevator_core::stop::{StopConfig, StopId};
use elevator_simulator::building::{Building, Journey, MASS, Passenger};

use crate::driver::Driver;
use crate::score::{Score, ratio};
use crate::strategy::Strategy;
use crate::suite::LONGEST_RUN;

/// Steps of the simulator per second.
pub(crate) const TICKS: u32 = 20;

/// The nearest whole number that is not below zero.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float that is too small or too large becomes the least or the greatest number"
)]
pub(crate) fn rounded(number: f64) -> u32 {
    number.round() as u32
}

/// Steps in this many seconds.
fn ticks(seconds: f64) -> u32 {
    rounded(seconds * f64::from(TICKS))
}

/// The simulated building.
pub(crate) struct Bank {
    pub(crate) sim: Simulation,
    /// By floor.
    pub(crate) stops: Vec<EntityId>,
    pub(crate) cars: Vec<ElevatorId>,
    tick: u32,
}

impl Bank {
    /// Its own dispatch is `etd`.
    fn new(building: &Building, adaptive: bool) -> Result<Self> {
        let mut sim = Simulation::new(&config(building), EtdDispatch::default())?;
        if adaptive {
            let kind = BuiltinReposition::Adaptive;
            let Some(strategy) = kind.instantiate() else { bail!("no strategy {kind}") };
            sim.set_reposition(GroupId(0), strategy, kind);
        }
        let floors = 0..u32::from(building.floors.get());
        let stops = floors.filter_map(|floor| sim.stop_entity(StopId(floor))).collect();
        let numbers = (0..).take(building.cars);
        let cars = numbers.filter_map(|car| sim.elevator_entity(ElevatorConfigId(car)));
        let cars = cars.filter_map(|car| sim.elevator_id(car)).collect();
        Ok(Self { sim, stops, cars, tick: 0 })
    }

    /// Seconds since the start of the run.
    pub(crate) fn now(&self) -> f64 {
        f64::from(self.tick) / f64::from(TICKS)
    }

    /// The floor of a stop.
    pub(crate) fn floor_of(&self, stop: EntityId) -> Option<u8> {
        let floor = self.stops.iter().position(|&other| other == stop)?;
        u8::try_from(floor).ok()
    }

    /// Advances by one tick; under a driver, without the simulator's own dispatch.
    fn step(&mut self, driver: Option<&mut Driver>) -> Result<()> {
        if let Some(driver) = driver {
            driver.drive(self)?;
            self.sim.run_advance_transient();
            self.sim.run_advance_queue();
            self.sim.run_movement();
            self.sim.run_doors();
            self.sim.run_loading();
            self.sim.run_metrics();
            self.sim.advance_tick();
        } else {
            self.sim.step();
        }
        self.tick += 1;
        Ok(())
    }

    /// Riders in moving cars, and those of them who are carried away from their destination.
    fn riding(&self) -> (usize, usize) {
        let world = self.sim.world();
        let (mut riding, mut wrong) = (0, 0);
        for (car, position, elevator) in world.iter_elevators() {
            let speed = self.sim.velocity(car).unwrap_or_default();
            if speed == 0.0 {
                continue;
            }
            for &rider in elevator.riders() {
                let to = world.route(rider).and_then(Route::current_destination);
                let Some(to) = to.and_then(|stop| world.stop_position(stop)) else { continue };
                riding += 1;
                wrong += usize::from((to - position.value()) * speed < 0.0);
            }
        }
        (riding, wrong)
    }
}

/// Runs a strategy on these passengers.
pub(crate) fn run(
    building: &Building,
    passengers: &[Passenger],
    strategy: Strategy,
) -> Result<Score> {
    let mut bank = Bank::new(building, strategy == Strategy::EtdAdaptive)?;
    let mut driver = Driver::new(building, strategy, &bank)?;
    let mut trips = vec![Journey::default(); passengers.len()];
    let (mut next, mut inside) = (0, 0);
    let (mut riding, mut wrong) = (0, 0);
    loop {
        let now = Duration::from_secs_f64(bank.now());
        if now >= LONGEST_RUN || next == passengers.len() && inside == 0 {
            break;
        }
        while let Some(trip) = passengers.get(next).filter(|trip| trip.arrival <= now) {
            next += 1;
            inside += 1;
            let [from, to] = [trip.from, trip.to].map(|floor| StopId(floor.index().into()));
            let rider = bank.sim.spawn_rider(from, to, MASS)?;
            bank.sim.set_rider_tag(rider, u64::try_from(next)?)?;
        }
        bank.step(driver.as_mut())?;
        for event in bank.sim.drain_events() {
            let (car, tag, has_boarded) = match event {
                Event::RiderBoarded { elevator, tag, .. } => (elevator, tag, true),
                Event::RiderExited { elevator, tag, .. } => (elevator, tag, false),
                _ => continue,
            };
            let Some(trip) = usize::try_from(tag)?.checked_sub(1).and_then(|i| trips.get_mut(i))
            else {
                bail!("a rider without a tag");
            };
            if has_boarded {
                trip.boarded = Some(now);
            } else {
                trip.exited = Some(now);
                inside -= 1;
            }
            let Some(car) = bank.sim.elevator_id(car) else { bail!("a rider without a car") };
            bank.sim.hold_door(car, ticks(building.transfer.mean().as_secs_f64()))?;
        }
        if bank.tick.is_multiple_of(TICKS) {
            let (all, away) = bank.riding();
            riding += all;
            wrong += away;
        }
    }
    let wrong_way = 100.0 * ratio(wrong, riding);
    Ok(Score { wrong_way, ..Score::of(passengers, &trips) })
}

fn config(building: &Building) -> SimConfig {
    let heights = building.car().heights();
    let stop = |floor: u8| StopConfig {
        id: StopId(floor.into()),
        name: floor.to_string(),
        position: heights[usize::from(floor)],
    };
    let unserved = |car: u32| building.unserved.get(car as usize).into_iter().flatten();
    let elevator = |car| ElevatorConfig {
        id: ElevatorConfigId(car),
        name: car.to_string(),
        max_speed: Speed::from(building.rated_speed),
        acceleration: Accel::from(building.acceleration),
        deceleration: Accel::from(building.acceleration),
        weight_capacity: Weight::from(building.rated_load),
        starting_stop: StopId(building.lobby.into()),
        restricted_stops: unserved(car).map(|floor| StopId((*floor).into())).collect(),
        door_open_ticks: ticks(building.dwell),
        door_transition_ticks: ticks(building.door_opening),
        ..ElevatorConfig::default()
    };
    SimConfig {
        building: BuildingConfig {
            name: building.name.clone(),
            stops: (0..building.floors.get()).map(stop).collect(),
            lines: None,
            groups: None,
        },
        elevators: (0..).take(building.cars).map(elevator).collect(),
        simulation: SimulationParams { ticks_per_second: f64::from(TICKS) },
        passenger_spawning: PassengerSpawnConfig {
            mean_interval_ticks: 1,
            weight_range: (MASS, MASS),
        },
        ..SimConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::Cell;

    #[test]
    fn our_cars_serve_everyone_and_carry_nobody_the_wrong_way() {
        let cells = Cell::all();
        let cell = cells.iter().find(|cell| cell.to_string() == "A12_lunch_8").expect("a cell");
        for ours in Strategy::ours() {
            let score = run(&cell.building, &cell.passengers(6), ours).expect("a run");
            assert!((score.served - 100.0).abs() < 1e-9, "{ours}: {score:?}");
            assert!(score.wrong_way.abs() < 1e-9, "{ours}: {score:?}");
        }
    }
}
