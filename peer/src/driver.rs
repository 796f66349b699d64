//! Drives the cars of the simulator under collective control, by the plan of a dispatcher.
//!
//! The dispatcher sees what a real bank sees: which hall buttons are lit and since when, each car's
//! last floor, motion, door, load and car calls. It sees no destination before the passenger is in
//! the car, and not how many wait behind a button. The simulated passengers press a button again if
//! a car leaves them behind.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use elevator_core::components::ElevatorPhase;
use elevator_core::door::DoorState;
use elevator_core::entity::ElevatorId;
use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::car::CarSettings;
use elevator_fleet::dispatch::{
    Bank as Situation, CarSituation, Destinations, Dispatcher, HallDemand, Kinematics, Plan,
    collective_stop,
};
use elevator_fleet::model::{
    Availability, CarPhase, CarView, FloorSet, HallCall, Mode, NodeId, Shut, Timestamp,
};

use elevator_simulator::building::Building;
use elevator_simulator::config::place;

use crate::bank::{Bank, TICKS, rounded};
use crate::strategy::Strategy;

/// The plan is made at each change of its inputs, and at least once in this many seconds.
const REPLAN: f64 = 1.0;

/// A car beside its simulated one.
struct Cabin {
    id: ElevatorId,
    name: NodeId,
    /// The direction in which it collects calls; `None` if it may turn either way.
    direction: Option<Direction>,
    phase: ElevatorPhase,
    /// When the phase began, in seconds of the run.
    since: f64,
    /// The floor where it is or which it last passed.
    floor: Floor,
    /// The floors at which it does not stop.
    unserved: FloorSet,
}

impl Cabin {
    /// Whether it comes to rest without opening its door.
    fn is_aborting(&self) -> bool {
        matches!(self.phase, ElevatorPhase::Repositioning(_))
    }
}

/// Our dispatcher and the control of the cars.
pub(crate) struct Driver {
    dispatcher: Box<dyn Dispatcher>,
    kinematics: Kinematics,
    floors: Vec<Floor>,
    /// Of the floors, in metres.
    heights: Vec<f64>,
    cabins: Vec<Cabin>,
    /// The lit hall buttons, with the second of the run in which they were pressed.
    calls: BTreeMap<HallCall, f64>,
    plan: Plan,
    destinations: Destinations,
    count: FloorCount,
    /// What the last plan was made for.
    planned_for: Vec<CarSituation>,
    planned_at: f64,
    is_dirty: bool,
}

impl Driver {
    /// `None` for a strategy of the simulator.
    pub(crate) fn new(
        building: &Building,
        strategy: Strategy,
        bank: &Bank,
    ) -> Result<Option<Self>> {
        let seconds = Duration::from_secs_f64;
        let kinematics = Kinematics {
            floor_height: building.floor_height,
            rated_speed: building.rated_speed,
            acceleration: building.acceleration,
            // Practically none.
            jerk: 1e6,
            door_opening: seconds(building.door_opening),
            door_closing: seconds(building.door_closing),
            dwell: seconds(building.dwell),
            transfer: building.transfer.mean(),
        };
        let Some(dispatcher) = strategy.dispatcher(kinematics, building) else { return Ok(None) };
        let floors = (0..building.floors.get()).map(Floor::try_from);
        let cabins = bank.cars.iter().enumerate().map(|(number, &id)| {
            Ok(Cabin {
                id,
                name: NodeId::new(&format!("car-{number}"))?,
                direction: None,
                phase: ElevatorPhase::Idle,
                since: 0.0,
                floor: Floor::try_from(building.lobby)?,
                unserved: building
                    .floors
                    .floors()
                    .filter(|floor| !building.serves(number, *floor))
                    .collect(),
            })
        });
        Ok(Some(Self {
            dispatcher,
            kinematics,
            floors: floors.collect::<Result<_, _>>()?,
            heights: building.car().heights(),
            cabins: cabins.collect::<Result<_>>()?,
            calls: BTreeMap::new(),
            plan: Plan::default(),
            destinations: Destinations::default(),
            count: building.floors,
            planned_for: Vec::new(),
            planned_at: 0.0,
            is_dirty: true,
        }))
    }

    /// Decides for each car what it does in the next tick.
    pub(crate) fn drive(&mut self, bank: &mut Bank) -> Result<()> {
        self.update_calls(bank);
        let situations = self.update_cabins(bank)?;
        self.plan(bank.now(), &situations);
        for (car, situation) in situations.iter().enumerate() {
            self.control(bank, car, situation)?;
        }
        Ok(())
    }

    /// Who waits has pressed the button, unless an open door takes him.
    fn update_calls(&mut self, bank: &Bank) {
        for (&stop, &floor) in bank.stops.iter().zip(&self.floors) {
            let (up, down) = bank.sim.waiting_direction_counts_at(stop);
            for (waiting, direction) in [(up, Direction::Up), (down, Direction::Down)] {
                let call = HallCall::new(floor, direction);
                let served = self.cabins.iter().any(|cabin| {
                    cabin.phase == ElevatorPhase::Loading
                        && cabin.floor == floor
                        && cabin.direction == Some(direction)
                });
                if waiting == 0 || served {
                    self.is_dirty |= self.calls.remove(&call).is_some();
                    self.plan.assignments.remove(&call);
                } else if let Entry::Vacant(unlit) = self.calls.entry(call) {
                    unlit.insert(bank.now());
                    self.is_dirty = true;
                }
            }
        }
    }

    /// The cars as their nodes would describe them.
    fn update_cabins(&mut self, bank: &Bank) -> Result<Vec<CarSituation>> {
        let now = bank.now();
        let mut situations = Vec::new();
        for cabin in &mut self.cabins {
            let entity = cabin.id.entity();
            let car = bank.sim.world().elevator(entity).context("a car")?;
            if car.phase() != cabin.phase {
                cabin.phase = car.phase();
                cabin.since = now;
            }
            let position = bank.sim.world().position(entity).context("a position")?.value();
            let at_floor = place(&self.heights, position);
            let target = car.phase().moving_target().and_then(|stop| bank.floor_of(stop));
            let target = target.and_then(|floor| self.floors.get(usize::from(floor)).copied());
            let phase = match (car.phase(), target) {
                (ElevatorPhase::Idle | ElevatorPhase::Stopped, _) => CarPhase::Idle,
                (ElevatorPhase::DoorOpening, _) => CarPhase::Opening,
                (ElevatorPhase::Loading, _) => CarPhase::Open,
                (ElevatorPhase::DoorClosing, _) => CarPhase::Closing,
                (_, Some(stop_at)) => {
                    let speed = bank.sim.velocity(entity).unwrap_or_default();
                    let direction = travel(speed, f64::from(stop_at.index()) - at_floor);
                    let metres = braking(speed, &self.kinematics);
                    let metres = if direction == Direction::Up { metres } else { -metres };
                    let first = place(&self.heights, position + metres);
                    let next_stop = next_stop(first, direction, stop_at, &self.floors);
                    CarPhase::Moving { direction, stop_at, next_stop }
                }
                (other, None) => bail!("a car is {other}"),
            };
            let passed = match phase {
                CarPhase::Moving { direction: Direction::Down, .. } => (at_floor - 1e-6).ceil(),
                CarPhase::Moving { direction: Direction::Up, .. } => (at_floor + 1e-6).floor(),
                _ => at_floor.round(),
            };
            cabin.floor = at(passed, &self.floors);
            let calls = bank.sim.car_calls(cabin.id).iter();
            let calls = calls.filter_map(|call| bank.floor_of(call.floor));
            let calls = calls.filter_map(|floor| self.floors.get(usize::from(floor)).copied());
            let elapsed = match car.door() {
                // Each passenger restarts the dwell.
                DoorState::Open { ticks_remaining, .. } => {
                    self.kinematics.dwell.as_secs_f64()
                        - f64::from(*ticks_remaining) / f64::from(TICKS)
                }
                _ => now - cabin.since,
            };
            let load = 100.0 * car.current_load().value() / car.weight_capacity().value();
            let view = CarView {
                availability: Availability::InService,
                floor: Some(cabin.floor),
                phase,
                elapsed: Duration::from_secs_f64(elapsed.max(0.0)),
                direction: cabin.direction,
                load: u8::try_from(rounded(load)).ok(),
                locked_out: cabin.unserved,
                mode: Mode::default(),
                shut: Shut::default(),
            };
            situations.push(CarSituation {
                car: cabin.name.clone(),
                view,
                car_calls: calls.collect(),
            });
        }
        Ok(situations)
    }

    fn plan(&mut self, now: f64, situations: &[CarSituation]) {
        let differs = |(now, then): (&CarSituation, &CarSituation)| {
            let mut view = now.view;
            view.elapsed = then.view.elapsed;
            view != then.view || now.car_calls != then.car_calls
        };
        let changed = situations.len() != self.planned_for.len()
            || situations.iter().zip(&self.planned_for).any(differs);
        if !self.is_dirty && !changed && now - self.planned_at < REPLAN {
            return;
        }
        let demand = self.calls.iter().map(|(&call, &pressed)| HallDemand {
            call,
            waited: Duration::from_secs_f64((now - pressed).max(0.0)),
            assigned: self.plan.assignments.get(&call).cloned(),
            wanted: FloorSet::default(),
        });
        let mut demand: Vec<_> = demand.collect();
        self.destinations.note(&mut demand, situations, self.count);
        self.plan = self.dispatcher.plan(&Situation {
            now: Timestamp::START + Duration::from_secs_f64(now),
            cars: situations,
            demand: &demand,
            parked: &BTreeMap::new(),
        });
        self.planned_for = situations.to_vec();
        self.planned_at = now;
        self.is_dirty = false;
    }

    /// The hall calls that a car serves: none while it is full.
    fn hall_calls(&self, situation: &CarSituation) -> BTreeSet<HallCall> {
        let full = situation.view.load.is_some_and(|load| load >= CarSettings::BYPASS_LOAD);
        if full && !situation.car_calls.is_empty() {
            return BTreeSet::new();
        }
        let assigned = self.plan.assignments.iter().filter(|(_, car)| **car == situation.car);
        assigned.map(|(call, _)| call.landing()).collect()
    }

    /// Collective control of one car.
    fn control(&mut self, bank: &mut Bank, car: usize, situation: &CarSituation) -> Result<()> {
        let hall = self.hall_calls(situation);
        let mut view = situation.view;
        let plan = self.plan.cars.get(&situation.car).copied().unwrap_or_default();
        view.direction = plan.direction.or(view.direction);
        let next = collective_stop(&view, &situation.car_calls, &hall);
        let cabin = &mut self.cabins[car];
        let here = cabin.floor;
        let id = cabin.id;
        match situation.view.phase {
            CarPhase::Idle => match next {
                None => {
                    cabin.direction = None;
                    if let Some(place) = plan.park.filter(|&place| place != here) {
                        go_to(bank, id, place)?;
                    }
                }
                Some((stop, heading)) if stop == here => {
                    cabin.direction = Some(heading);
                    admit(bank, cabin)?;
                    go_to(bank, id, here)?;
                }
                Some((stop, _)) => {
                    cabin.direction = here.direction_to(stop);
                    go_to(bank, id, stop)?;
                }
            },
            CarPhase::Moving { direction, stop_at, next_stop } => {
                cabin.direction = Some(direction);
                let place = plan.park.filter(|place| place.is_beyond(next_stop, direction));
                match next.map(|(stop, _)| stop).or(place) {
                    Some(stop) if stop != stop_at || cabin.is_aborting() => go_to(bank, id, stop)?,
                    Some(_) => {}
                    // To rest at the nearest floor, with the door closed.
                    None if cabin.is_aborting() => {}
                    None => bank.sim.abort_movement(id)?,
                }
            }
            CarPhase::Opening | CarPhase::Open => {
                self.announce(bank, car, situation, &hall)?;
            }
            CarPhase::Closing => {
                let again = cabin
                    .direction
                    .is_some_and(|direction| hall.contains(&HallCall::new(here, direction)));
                if again {
                    bank.sim.open_door(id)?;
                }
            }
            CarPhase::Homing => bail!("a simulated car never looks for a floor"),
        }
        Ok(())
    }

    /// The direction for which the door is open: on arrival by collective control, later the other
    /// one if only that has a call here and nobody rides.
    fn announce(
        &mut self,
        bank: &mut Bank,
        car: usize,
        situation: &CarSituation,
        hall: &BTreeSet<HallCall>,
    ) -> Result<()> {
        let plan = self.plan.cars.get(&situation.car).copied().unwrap_or_default();
        let cabin = &mut self.cabins[car];
        let here = cabin.floor;
        let beyond: BTreeSet<_> =
            situation.car_calls.iter().copied().filter(|&floor| floor != here).collect();
        let mut view = CarView { phase: CarPhase::Idle, ..situation.view };
        view.direction = plan.direction.or(view.direction);
        let heading = match collective_stop(&view, &beyond, hall) {
            Some((stop, heading)) if stop == here => Some(heading),
            // Passengers who get off here may be the last: who comes now is taken either way.
            Some((stop, _)) => here.direction_to(stop),
            None => cabin.direction,
        };
        if beyond.is_empty() && heading.is_some() {
            cabin.direction = heading;
        }
        admit(bank, cabin)
    }
}

/// Lets in only who goes in the car's direction, to a floor where it stops.
fn admit(bank: &mut Bank, cabin: &Cabin) -> Result<()> {
    let here = usize::from(cabin.floor.index());
    let mut refused: HashSet<_> = match cabin.direction {
        Some(Direction::Up) => bank.stops[..here].iter().copied().collect(),
        Some(Direction::Down) => bank.stops[here + 1..].iter().copied().collect(),
        None => HashSet::new(),
    };
    refused.extend(cabin.unserved.iter().map(|floor| bank.stops[usize::from(floor.index())]));
    bank.sim.set_elevator_restricted_stops(cabin.id.entity(), refused)?;
    Ok(())
}

fn go_to(bank: &mut Bank, car: ElevatorId, floor: Floor) -> Result<()> {
    bank.sim.clear_destinations(car)?;
    bank.sim.push_destination(car, bank.stops[usize::from(floor.index())])?;
    Ok(())
}

/// The direction of a moving car; of one that only just starts, that of its target.
fn travel(speed: f64, way: f64) -> Direction {
    let sign = if speed == 0.0 { way } else { speed };
    if sign < 0.0 { Direction::Down } else { Direction::Up }
}

/// How far a car of this speed still goes at least, in metres.
fn braking(speed: f64, kinematics: &Kinematics) -> f64 {
    speed * speed / (2.0 * kinematics.acceleration) + speed.abs() / f64::from(TICKS)
}

/// The nearest floor at which the car can still stop that can be at rest at this place at the
/// earliest, if it has not begun to brake for its target.
fn next_stop(first: f64, way: Direction, stop_at: Floor, floors: &[Floor]) -> Floor {
    let reachable = match way {
        Direction::Up => at((first - 1e-6).ceil(), floors),
        Direction::Down => at((first + 1e-6).floor(), floors),
    };
    if reachable.is_beyond(stop_at, way) { stop_at } else { reachable }
}

fn at(place: f64, floors: &[Floor]) -> Floor {
    floors[(rounded(place) as usize).min(floors.len() - 1)]
}
