//! A bank whose hall calls another program assigns, one by one.

use std::cmp::Reverse;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::{Direction, Floor};
use elevator_fleet::dispatch::{Assignments, CarSituation, HallDemand, Predictor};
use elevator_fleet::model::{CarPhase, HallCall};
use elevator_simulator::building::{Building, Pattern, Traffic};
use serde::{Deserialize, Serialize};

use super::bank::{Bank, STEP};
use super::run::DRAIN;
use super::{Cell, Source, Strategy, UnknownName};
use crate::WorldError;
use crate::statistics::{number, round};

/// When a call that was left without a car is offered again.
const AGAIN: Duration = Duration::from_secs(1);

/// Longer phases of a car read as this, s.
const LONGEST_PHASE: f32 = 60.0;

/// Longer waits read as this, s.
const LONGEST_WAIT: f32 = 3600.0;

/// A bank that waits for decisions: each gives one hall call to one car.
///
/// ```text
///   {"reset": {"seed": 1}} ──▶ Moment: cars, calls, the call to decide
///   {"step": 2} ─────────────▶ Moment: the next one, and what the time until then has cost
/// ```
///
/// There is a decision for each new call, and for each that its car can't take any more, at the
/// moments when a strategy would plan; with `reassign` also for calls that have a car.
pub struct Gym {
    building: Arc<Building>,
    episode: Option<Episode>,
}

/// What the sizes of an observation follow from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shape {
    pub building: String,
    pub cars: usize,
    pub floors: u8,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Request {
    Reset(Options),
    /// Gives the call to this car.
    Step(usize),
}

#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Options {
    seed: u64,
    pattern: Pattern,
    /// Arrivals in per cent of the population in five minutes.
    rate: f64,
    /// How long passengers arrive, min.
    minutes: f64,
    /// How long a call stays with its car at least, s; `None` if for good.
    reassign: Option<f64>,
    /// Lets this strategy decide until the end.
    strategy: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 1,
            pattern: Pattern::Lunch,
            rate: 8.0,
            minutes: 10.0,
            reassign: None,
            strategy: None,
        }
    }
}

/// A request was refused. The episode is as before.
#[derive(Debug, thiserror::Error)]
pub enum GymError {
    #[error(r#"{0}: send {{"reset": {{"seed": 1}}}} or {{"step": CAR}}"#)]
    Request(#[from] serde_json::Error),
    #[error(r#"no episode has begun: send {{"reset": {{}}}} first"#)]
    NoEpisode,
    #[error("no car {0}: the cars are 0 to {1}")]
    NoCar(usize, usize),
    #[error("{0} must be {1}")]
    Range(&'static str, &'static str),
    #[error("{0} has no population, to which the rate refers")]
    Empty(String),
    #[error(transparent)]
    Strategy(#[from] UnknownName),
    #[error(transparent)]
    World(#[from] WorldError),
}

/// A decision that is due, or the end of the episode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Moment {
    /// For each car its state, then its car calls by floor; how long each
    /// hall call waits, s, or -1, upward by floor, then downward; for each car which of these it
    /// has; the call to decide: floor, direction, wait.
    pub observation: Vec<f32>,
    /// The cars that can take the call.
    pub mask: Vec<bool>,
    /// Since the start of the episode, s.
    pub time: f64,
    /// Since the last decision.
    pub costs: Costs,
    /// How many passengers have come so far.
    pub arrived: usize,
    /// Everybody is at the destination.
    pub terminated: bool,
    /// Somebody is not, an hour after the last arrival.
    pub truncated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Costs {
    /// Virtual time, s.
    pub elapsed: f64,
    /// The sum over the passengers of the time at a landing, s.
    pub waiting: f64,
    /// The sum over the passengers of the time at a landing and in a car, s.
    pub journey: f64,
    /// How often a car set off.
    pub starts: u32,
    /// How far all cars went, m.
    pub metres: f64,
}

impl Gym {
    #[must_use]
    pub fn new(building: Building) -> Self {
        Self { building: Arc::new(building), episode: None }
    }

    #[must_use]
    pub fn shape(&self) -> Shape {
        let Building { name, cars, floors, .. } = &*self.building;
        Shape { building: name.clone(), cars: *cars, floors: floors.get() }
    }

    /// Handles a line of JSON, and lets time pass until the next decision.
    ///
    /// # Errors
    /// [`GymError`]
    pub fn handle(&mut self, line: &str) -> Result<Moment, GymError> {
        match serde_json::from_str(line)? {
            Request::Reset(options) => {
                let episode = Episode::new(&self.building, &options)?;
                Ok(self.episode.insert(episode).next(&self.building))
            }
            Request::Step(car) => {
                let episode = self.episode.as_mut().ok_or(GymError::NoEpisode)?;
                if car >= self.building.cars {
                    return Err(GymError::NoCar(car, self.building.cars - 1));
                }
                episode.decide(car);
                Ok(episode.next(&self.building))
            }
        }
    }
}

impl Options {
    fn cell(&self, building: &Arc<Building>) -> Result<Cell, GymError> {
        let within = |holds, what, range| {
            if holds { Ok(()) } else { Err(GymError::Range(what, range)) }
        };
        within((0.1..=100.0).contains(&self.rate), "rate", "0.1 to 100 %")?;
        within((0.1..=1440.0).contains(&self.minutes), "minutes", "0.1 to 1440")?;
        let holds = self.reassign.is_none_or(|time| (0.0..=3600.0).contains(&time));
        within(holds, "reassign", "0 to 3600 s, or null")?;
        if building.population == 0 {
            let published = Cell::crites_barto().filter(|cell| cell.building == *building);
            return published.ok_or_else(|| GymError::Empty(building.name.clone()));
        }
        let lasts = Duration::from_secs_f64(60.0 * self.minutes);
        let (pattern, rate) = (self.pattern, self.rate);
        let source = Source::Drawn(Traffic::Steady { pattern, rate, lasts });
        Ok(Cell { source, ..Cell::steady(Arc::clone(building), pattern, rate) })
    }
}

struct Episode {
    bank: Bank,
    passengers: usize,
    end: Duration,
    /// A strategy decides.
    is_automatic: bool,
    reassign: Option<Duration>,
    /// When each call was last decided.
    decided: BTreeMap<HallCall, Duration>,
    cars: Vec<CarSituation>,
    demand: Vec<HallDemand>,
    /// Of these, the calls that are still to be decided.
    open: VecDeque<usize>,
    is_done: bool,
    /// Since the last decision, and what the cars had done until then.
    costs: Costs,
    before: (u32, f64),
}

impl Episode {
    fn new(building: &Arc<Building>, options: &Options) -> Result<Self, GymError> {
        let cell = options.cell(building)?;
        let strategy =
            options.strategy.as_ref().map(|name| name.parse::<Strategy>()).transpose()?;
        let passengers = cell.passengers(options.seed);
        let by = strategy.unwrap_or_default();
        Ok(Self {
            bank: Bank::new(building, &passengers, by, options.seed, || Duration::ZERO)?,
            passengers: passengers.len(),
            end: cell.lasts() + DRAIN,
            is_automatic: strategy.is_some(),
            reassign: options.reassign.map(Duration::from_secs_f64),
            decided: BTreeMap::new(),
            cars: Vec::new(),
            demand: Vec::new(),
            open: VecDeque::new(),
            is_done: passengers.is_empty(),
            costs: Costs::default(),
            before: (0, 0.0),
        })
    }

    /// Gives the call to a car, if that one can take it. Otherwise the call stays as it is.
    fn decide(&mut self, car: usize) {
        let Some(call) = self.open.pop_front() else { return };
        self.decided.insert(self.demand[call].call, self.bank.now);
        if suits(&self.cars[car], &self.demand[call]) {
            self.demand[call].assigned = Some(self.cars[car].car.clone());
        }
        if self.open.is_empty() {
            self.follow();
        }
    }

    /// Lets time pass until a decision is due, or the end.
    fn next(&mut self, building: &Building) -> Moment {
        while self.open.is_empty() && !self.is_done && self.bank.now < self.end {
            if self.is_automatic {
                self.bank.step();
            } else {
                self.bank.advance();
            }
            self.count();
            if !self.is_automatic && self.bank.is_plan_due() {
                self.look();
            }
        }
        let ended = self.open.is_empty();
        if ended {
            (self.cars, self.demand) = self.bank.inputs();
        }
        let cabins = &self.bank.cabins;
        let starts = cabins.iter().map(|cabin| cabin.starts).sum::<u32>();
        let metres = cabins.iter().map(|cabin| cabin.metres).sum::<f64>();
        let before = std::mem::replace(&mut self.before, (starts, metres));
        let costs = std::mem::take(&mut self.costs);
        let count = self.bank.crowd.count();
        Moment {
            observation: self.observation(building),
            mask: self.mask(),
            time: self.bank.now.as_secs_f64(),
            costs: Costs {
                elapsed: round(costs.elapsed),
                waiting: round(costs.waiting),
                journey: round(costs.journey),
                starts: starts - before.0,
                metres: round(metres - before.1),
            },
            arrived: count.waiting + count.riding + count.served,
            terminated: ended && self.is_done,
            truncated: ended && !self.is_done,
        }
    }

    fn count(&mut self) {
        let count = self.bank.crowd.count();
        let step = STEP.as_secs_f64();
        self.costs.elapsed += step;
        self.costs.waiting += step * number(count.waiting);
        self.costs.journey += step * number(count.waiting + count.riding);
        self.is_done = count.served == self.passengers;
    }

    /// Finds the calls to decide; those that have waited longest come first.
    fn look(&mut self) {
        (self.cars, self.demand) = self.bank.inputs();
        let calls = self.demand.iter().map(|demand| demand.call);
        self.decided = calls.filter_map(|it| Some((it, *self.decided.get(&it)?))).collect();
        for demand in &mut self.demand {
            let keeps = |car: &&CarSituation| Some(&car.car) == demand.assigned.as_ref();
            let car = self.cars.iter().find(keeps);
            demand.assigned = car.filter(|car| suits(car, demand)).map(|car| car.car.clone());
        }
        let open = (0..self.demand.len()).filter(|&call| self.is_open(&self.demand[call]));
        self.open = open.collect();
        self.open.make_contiguous().sort_by_key(|&call| Reverse(self.demand[call].waited));
        if self.open.is_empty() {
            self.follow();
        }
    }

    fn is_open(&self, demand: &HallDemand) -> bool {
        let rest = if demand.assigned.is_none() { Some(AGAIN) } else { self.reassign };
        let last = self.decided.get(&demand.call);
        rest.is_some_and(|rest| last.is_none_or(|&last| self.bank.now >= last + rest))
            && self.cars.iter().any(|car| suits(car, demand))
    }

    fn follow(&mut self) {
        let assigned = self.demand.iter().filter_map(|it| Some((it.call, it.assigned.clone()?)));
        self.bank.follow(assigned.collect::<Assignments>().into(), self.cars.clone());
        self.bank.settle();
    }

    fn mask(&self) -> Vec<bool> {
        let call = self.open.front().map(|&call| &self.demand[call]);
        self.cars.iter().map(|car| call.is_some_and(|call| suits(car, call))).collect()
    }

    fn observation(&self, building: &Building) -> Vec<f32> {
        let floors = building.floors;
        let landings = || {
            let landing = |direction| floors.floors().map(move |it| HallCall::new(it, direction));
            Direction::BOTH.into_iter().flat_map(landing)
        };
        let mut all: Vec<f32> = self.cars.iter().flat_map(state).collect();
        for car in &self.cars {
            all.extend(floors.floors().map(|floor| flag(car.car_calls.contains(&floor))));
        }
        let calls: BTreeMap<_, _> = self.demand.iter().map(|it| (it.call, it)).collect();
        all.extend(landings().map(|landing| calls.get(&landing).map_or(-1.0, |it| wait(it))));
        for car in &self.cars {
            let has = |it: &&HallDemand| it.assigned.as_ref() == Some(&car.car);
            all.extend(landings().map(|landing| flag(calls.get(&landing).is_some_and(has))));
        }
        let call = self.open.front().map(|&call| &self.demand[call]);
        all.extend(call.map_or([0.0; 3], |demand| {
            let HallCall { floor, direction, .. } = demand.call;
            [index(floor), sign(direction), wait(demand)]
        }));
        all
    }
}

fn suits(car: &CarSituation, demand: &HallDemand) -> bool {
    Predictor::can_serve(&car.view) && demand.suits(&car.view)
}

/// Where a car is, the nearest floor at which it can stop, and where it will; its motion; the
/// direction in which it collects calls; its door, from 0 (closed) to 3 (closing); since when, s;
/// its load, in per cent of the rated load.
fn state(car: &CarSituation) -> [f32; 8] {
    let view = &car.view;
    let floor = view.floor.map_or(0.0, index);
    let (next, stop, motion) = match view.phase {
        CarPhase::Moving { direction, stop_at, next_stop } => {
            (index(next_stop), index(stop_at), sign(direction))
        }
        _ => (floor, floor, 0.0),
    };
    let door = match view.phase {
        CarPhase::Idle | CarPhase::Moving { .. } | CarPhase::Homing => 0.0,
        CarPhase::Opening => 1.0,
        CarPhase::Open => 2.0,
        CarPhase::Closing => 3.0,
    };
    let since = view.elapsed.as_secs_f32().min(LONGEST_PHASE);
    let load = f32::from(view.load.unwrap_or_default());
    [floor, next, stop, motion, view.direction.map_or(0.0, sign), door, since, load]
}

fn wait(demand: &HallDemand) -> f32 {
    demand.waited.as_secs_f32().min(LONGEST_WAIT)
}

fn index(floor: Floor) -> f32 {
    f32::from(floor.index())
}

fn sign(direction: Direction) -> f32 {
    match direction {
        Direction::Up => 1.0,
        Direction::Down => -1.0,
    }
}

fn flag(holds: bool) -> f32 {
    if holds { 1.0 } else { 0.0 }
}

#[cfg(test)]
mod tests;
