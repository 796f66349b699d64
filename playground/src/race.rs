//! A race: two strategies of dispatch on the same passengers, in the traffic of the lab.
//!
//! The page may have one of them: a program that it asks by the lines of `docs/DISPATCHERS.md`.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_driver::Building;
use elevator_fleet::dispatch::{
    Assignments, Bank, CarSituation, Dispatcher, HallDemand, Plan, ProgramHealth,
    Strategy as BuiltIn,
};
use elevator_fleet::model::Timestamp;
use liftmesh_api::dispatcher::{Request, check_greeting, hello};
use liftmesh_lab::WorldError;
use liftmesh_lab::traffic::{BankOf, Cell, Own, Run, Saturation, Strategy, Trial};
use serde::{Deserialize, Serialize};

/// What the program of the page is called among the strategies.
const OWN: &str = "own";

/// With fewer seeds an interval would be nearly arbitrary; with more a page takes too long.
const LEAST_SEEDS: u64 = 5;
const MOST_SEEDS: u64 = 200;

/// What a start and a metre take, kJ, as in `docs/GYM.md`: an index, because the drive decides.
const START: f64 = 40.0;
const METRE: f64 = 2.0;

/// The quantiles of the waits that a picture shows: one more than so many steps.
const STEPS: usize = 100;

/// What is raced.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RaceSettings {
    /// A cell of `liftmesh lab traffic`: `A12_lunch_5`.
    pub cell: String,
    /// The names of two strategies; `own` is the program of the page.
    pub strategies: [String; 2],
    /// The first seed, and how many there are, 5 to 200.
    pub seed: u64,
    pub seeds: u64,
}

/// Why there is no race.
#[derive(Debug, thiserror::Error)]
pub enum RaceError {
    #[error("there is no traffic {0}: it is BUILDING_PATTERN_RATE, as in A12_lunch_5")]
    Cell(String),
    #[error("{0}")]
    Strategy(#[from] liftmesh_lab::traffic::UnknownName),
    #[error("{0} seeds: a race has {LEAST_SEEDS} to {MOST_SEEDS}")]
    Seeds(u64),
    #[error(transparent)]
    World(#[from] WorldError),
    /// Of the program.
    #[error("{0}")]
    Program(String),
}

/// The program of the page.
pub trait Program {
    /// What it answers to a line. The first line of a bank starts it anew.
    fn ask(line: &str, is_first: bool) -> String;

    /// Learns of its first mistake in a run. It may throw instead of returning, to end the race.
    fn fail(_mistake: &str) {}
}

/// Two strategies and the runs that they have made so far, seed by seed in turn.
#[derive(Debug)]
pub struct Race {
    settings: RaceSettings,
    cell: Cell,
    strategies: [Strategy; 2],
    runs: Vec<Run>,
}

/// What a race shows so far.
#[derive(Debug, PartialEq, Serialize)]
pub struct Standing {
    /// Of how many seeds both have run.
    pub seeds: usize,
    /// Passengers in all runs of a strategy.
    pub passengers: usize,
    pub lanes: Vec<Lane>,
    /// None if a run was saturated, or there are too few.
    pub figures: Vec<Figure>,
}

/// What there is of one strategy.
#[derive(Debug, PartialEq, Serialize)]
pub struct Lane {
    /// In how many runs it could not keep up, and why in the first of them.
    pub saturated: usize,
    pub reason: Option<Saturation>,
    /// The waits that 0, 1, … 100 % of those who boarded do not exceed, s.
    pub waits: Vec<f64>,
}

/// One figure of both strategies: means over the seeds.
#[derive(Debug, PartialEq, Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub lanes: [Interval; 2],
    /// That of the second less that of the first, on the same passengers.
    pub difference: Interval,
    pub verdict: Verdict,
}

/// Which of the two is better: less is. The interval of the difference decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    First,
    Second,
    /// The interval contains 0.
    Open,
    /// They do not differ in a single run.
    Same,
}

/// A mean with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    pub mean: f64,
    pub low: f64,
    pub high: f64,
}

impl Race {
    /// # Errors
    /// Something of the settings is unknown or out of its range.
    pub fn new<P: Program>(settings: RaceSettings) -> Result<Self, RaceError> {
        let RaceSettings { cell, strategies, seeds, .. } = &settings;
        let cells = Cell::named(cell).unwrap_or_default();
        let found = cells.into_iter().find(|one| one.name == *cell);
        let found = found.ok_or_else(|| RaceError::Cell(cell.clone()))?;
        if !(LEAST_SEEDS..=MOST_SEEDS).contains(seeds) {
            return Err(RaceError::Seeds(*seeds));
        }
        let strategy = |name: &String| match name.as_str() {
            OWN => Ok(Strategy::Own(Own { name: OWN, make: Lines::make::<P> })),
            name => name.parse(),
        };
        let [first, second] = strategies;
        let strategies = [strategy(first)?, strategy(second)?];
        Ok(Self { cell: found, strategies, settings, runs: Vec::new() })
    }

    /// Makes the next run; `false` once all are made.
    ///
    /// # Errors
    /// There is no such bank, or the program made a mistake: the race is over.
    pub fn run(&mut self) -> Result<bool, RaceError> {
        let [seed, lane] = [self.runs.len() / 2, self.runs.len() % 2];
        if seed as u64 >= self.settings.seeds {
            return Ok(false);
        }
        let seed = self.settings.seed.saturating_add(seed as u64);
        let trial = Trial { cell: &self.cell, strategy: self.strategies[lane], seed };
        let run = trial.run(|| Duration::ZERO)?;
        if let Some(fault) = run.program.as_ref().and_then(|program| program.fault.clone()) {
            return Err(RaceError::Program(fault));
        }
        self.runs.push(run);
        Ok(true)
    }

    #[must_use]
    pub fn standing(&self) -> Standing {
        let pairs: Vec<[&Run; 2]> =
            self.runs.chunks_exact(2).map(|pair| [&pair[0], &pair[1]]).collect();
        let figures = [
            Figure::of("wait", &pairs, |run| Some(run.figures.ok()??.awt)),
            Figure::of("p95", &pairs, |run| run.figures.ok().and(quantile(&run.waits, 95))),
            Figure::of("journey", &pairs, |run| Some(run.figures.ok()??.attd)),
            Figure::of("energy", &pairs, |run| {
                let energy = f64::from(run.starts) * START + run.metres * METRE;
                run.figures.ok().and(Some(energy / 3_600.0))
            }),
        ];
        Standing {
            seeds: pairs.len(),
            passengers: pairs.iter().map(|[first, _]| first.waits.len()).sum(),
            lanes: (0..2).map(|lane| Lane::of(pairs.iter().map(|pair| pair[lane]))).collect(),
            figures: figures.into_iter().flatten().collect(),
        }
    }
}

impl Lane {
    fn of<'a>(runs: impl Iterator<Item = &'a Run>) -> Self {
        let runs: Vec<&Run> = runs.collect();
        let mut reasons = runs.iter().filter_map(|run| run.figures.err());
        let mut waits: Vec<f64> = runs.iter().flat_map(|run| run.waits.iter().copied()).collect();
        waits.sort_by(f64::total_cmp);
        let saturated = reasons.clone().count();
        let waits = (0..=STEPS).filter_map(|percent| quantile(&waits, percent)).collect();
        Self { saturated, reason: reasons.next(), waits }
    }
}

impl Figure {
    /// `None` if a run does not have it, or there are too few.
    fn of(name: &'static str, pairs: &[[&Run; 2]], of: fn(&Run) -> Option<f64>) -> Option<Self> {
        let lane =
            |lane: usize| pairs.iter().map(|pair| of(pair[lane])).collect::<Option<Vec<_>>>();
        let [first, second] = [lane(0)?, lane(1)?];
        let differences: Vec<f64> =
            first.iter().zip(&second).map(|(first, second)| second - first).collect();
        let difference = Interval::of(&differences)?;
        let verdict = if differences.iter().all(|difference| *difference == 0.0) {
            Verdict::Same
        } else if difference.low > 0.0 {
            Verdict::First
        } else if difference.high < 0.0 {
            Verdict::Second
        } else {
            Verdict::Open
        };
        let lanes = [Interval::of(&first)?, Interval::of(&second)?];
        Some(Self { name, lanes, difference, verdict })
    }
}

impl Interval {
    /// Student's, for a few values that are means themselves.
    fn of(values: &[f64]) -> Option<Self> {
        const Z: f64 = 1.959_964;
        let count =
            u32::try_from(values.len()).ok().filter(|count| u64::from(*count) >= LEAST_SEEDS)?;
        let (count, freedom) = (f64::from(count), f64::from(count - 1));
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        // The quantile, by the expansion of Cornish and Fisher.
        let terms = [
            (Z.powi(3) + Z) / 4.0,
            (5.0 * Z.powi(5) + 16.0 * Z.powi(3) + 3.0 * Z) / 96.0,
            (3.0 * Z.powi(7) + 19.0 * Z.powi(5) + 17.0 * Z.powi(3) - 15.0 * Z) / 384.0,
            (79.0 * Z.powi(9) + 776.0 * Z.powi(7) + 1482.0 * Z.powi(5)
                - 1920.0 * Z.powi(3)
                - 945.0 * Z)
                / 92_160.0,
        ];
        let quantile =
            (1..).zip(terms).fold(Z, |sum, (power, term)| sum + term / freedom.powi(power));
        let half = quantile * (squares / freedom / count).sqrt();
        Some(Self { mean, low: mean - half, high: mean + half })
    }
}

/// The least of these values, in ascending order, that so many per cent do not exceed.
fn quantile(ascending: &[f64], percent: usize) -> Option<f64> {
    ascending.get((ascending.len() * percent).div_ceil(100).saturating_sub(1)).copied()
}

/// A bank's dispatcher that asks the program. After its first mistake the planner stands in, until
/// the run ends.
#[derive(Debug)]
struct Lines {
    ask: fn(&str, bool) -> String,
    fail: fn(&str),
    building: Building,
    fallback: Box<dyn Dispatcher>,
    health: ProgramHealth,
}

impl Lines {
    fn make<P: Program>(_: &'static str, bank: &BankOf<'_>) -> Box<dyn Dispatcher> {
        let BankOf { layout, kinematics, capacity, bypass_load } = *bank;
        let fallback = BuiltIn::default().dispatcher(kinematics, layout, capacity, bypass_load);
        let greets = check_greeting(&P::ask(&hello(layout, &kinematics), true));
        let health = ProgramHealth::default();
        let mut lines =
            Self { ask: P::ask, fail: P::fail, building: layout.clone(), fallback, health };
        if let Err(fault) = greets {
            lines.note(fault.to_string());
        }
        Box::new(lines)
    }

    fn answer(&mut self, bank: &Bank<'_>) -> Result<Assignments, String> {
        self.health.plans += 1;
        let number = self.health.plans;
        let request = Request::new(number, bank, &self.building);
        let answer = (self.ask)(&request.line(), false);
        let read = request.read(&answer, bank);
        Ok(read.map_err(|fault| format!("plan {number}: {fault}"))?.0)
    }

    fn note(&mut self, mistake: String) {
        (self.fail)(&mistake);
        self.health.fault = Some(mistake);
    }
}

impl Dispatcher for Lines {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let (now, parked) = (Timestamp::START, &BTreeMap::new());
        self.plan(&Bank { now, cars, demand, parked }).assignments
    }

    fn plan(&mut self, bank: &Bank<'_>) -> Plan {
        if self.health.fault.is_none() {
            match self.answer(bank) {
                Ok(assignments) => return assignments.into(),
                Err(mistake) => self.note(mistake),
            }
        }
        self.fallback.plan(bank)
    }

    fn health(&self) -> Option<&ProgramHealth> {
        Some(&self.health)
    }
}

#[cfg(test)]
mod tests;
