//! One run, and what was measured.

use std::fmt;
use std::time::Duration;

use elevator_fleet::dispatch::ProgramHealth;
use elevator_simulator::building::{Journey, Passenger};
use serde::Serialize;

use super::bank::Bank;
use super::{Cell, Stopwatch, Strategy, Trial};
use crate::WorldError;
use crate::output::{Columns, Row};
use crate::statistics::{average, number, rank, round, whole};

/// How long a run goes on after the arrivals at most.
pub(super) const DRAIN: Duration = Duration::from_hours(1);

/// Nobody waits any more this long after the arrivals, unless the bank is saturated.
const BACKLOG: Duration = Duration::from_mins(5);

/// Which part of the arrivals is compared with which, to see whether the queue grows.
const PARTS: u32 = 6;

/// A queue has grown if it is this many times as long.
const GROWTH: f64 = 2.0;

/// How often riders and queues are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Why a bank is saturated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Saturation {
    /// Somebody was not at the destination an hour after the arrivals.
    Unserved,
    /// Somebody waited at a landing five minutes after the arrivals.
    Backlog,
    /// The queue grew throughout steady traffic.
    Growth,
}

impl fmt::Display for Saturation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

/// What a strategy did with the passengers of a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    pub(super) cell: String,
    pub(super) strategy: Strategy,
    pub(super) seed: u64,
    /// How many passengers were scored.
    pub(super) passengers: usize,
    /// Per cent of them who reached their destination.
    pub served: f64,
    /// The averages, `None` of no passengers; or why there are none.
    pub figures: Result<Option<Figures>, Saturation>,
    /// The longest wait, s, of those who boarded.
    pub longest: f64,
    /// Riders carried away from their destination, in per cent of rider seconds.
    pub(super) wrong_way: f64,
    /// How often somebody saw a car open and leave that does not stop at the destination.
    pub passed_by: u32,
    /// How often a car set off.
    pub starts: u32,
    /// How far all cars went, m.
    pub metres: f64,
    pub(super) plans: u32,
    /// The mean time of a plan, µs.
    pub plan_mean: f64,
    /// The longest time of a plan, µs.
    pub plan_longest: f64,
    /// How the program did that dispatched, if one did.
    pub program: Option<ProgramHealth>,
    /// The waiting times of those who boarded, s, in ascending order.
    pub waits: Vec<f64>,
}

/// Averages over the passengers of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The mean waiting time, s.
    pub awt: f64,
    pub p90: f64,
    pub p99: f64,
    /// Per cent who waited for more than a minute.
    pub over_60: f64,
    /// The mean of the squared waiting times, s².
    pub squared: f64,
    /// The mean time to destination, s.
    pub attd: f64,
}

impl Trial<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// There is no such bank.
    pub fn run(&self, stopwatch: Stopwatch) -> Result<Run, WorldError> {
        let Trial { cell, strategy, seed } = *self;
        let passengers = cell.passengers(seed);
        let mut bank = Bank::new(&cell.building, &passengers, strategy, seed, stopwatch)?;
        let end = cell.lasts() + DRAIN;
        let (mut riding, mut wrong) = (0, 0);
        // How many wait, at each look.
        let mut queue = Vec::new();
        while bank.now < end && !bank.crowd.is_done() {
            bank.step();
            if bank.now.as_millis().is_multiple_of(LOOK.as_millis()) {
                let (ride, away) = bank.riding();
                riding += ride;
                wrong += away;
                queue.push(bank.crowd.count().waiting);
            }
        }
        let scored = bank.crowd.trips().filter(|(trip, _)| trip.arrival >= cell.warm_up);
        let scored: Vec<_> = scored.collect();
        let since = |of: fn(&Journey) -> Option<Duration>| {
            let times = scored.iter().filter_map(|(passenger, trip): &(&Passenger, Journey)| {
                Some(of(trip)?.saturating_sub(passenger.arrival).as_secs_f64())
            });
            times.collect::<Vec<f64>>()
        };
        let mut waits = since(|trip| trip.boarded);
        waits.sort_by(f64::total_cmp);
        let totals = since(|trip| trip.exited);
        let plans = u32::try_from(bank.plans.len()).unwrap_or(u32::MAX);
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let saturation = saturation(cell, &bank, &queue);
        let figures = Figures::of(&waits, &totals);
        Ok(Run {
            cell: cell.name.clone(),
            strategy,
            seed,
            passengers: scored.len(),
            served: per_cent(number(totals.len()), number(scored.len())).unwrap_or(100.0),
            figures: saturation.map_or(Ok(figures), Err),
            longest: waits.last().copied().unwrap_or_default(),
            wrong_way: per_cent(whole(wrong), whole(riding)).unwrap_or_default(),
            passed_by: bank.crowd.passed_by(),
            starts: bank.cabins.iter().map(|cabin| cabin.starts).sum(),
            metres: bank.cabins.iter().map(|cabin| cabin.metres).sum(),
            plans,
            plan_mean: micros(bank.plans.iter().sum::<Duration>() / plans.max(1)),
            plan_longest: micros(bank.plans.iter().max().copied().unwrap_or_default()),
            program: bank.program(),
            waits,
        })
    }
}

impl Run {
    /// Whether the same passengers got the same cars at the same times.
    #[must_use]
    pub fn is_same_as(&self, other: &Self) -> bool {
        let untimed = |run: &Self| Self { plan_mean: 0.0, plan_longest: 0.0, ..run.clone() };
        untimed(self) == untimed(other)
    }
}

impl Row for Run {
    fn columns(&self) -> Columns {
        let figures = self.figures.ok().flatten();
        let mut columns = Columns::default();
        columns.add("cell", &self.cell);
        columns.add("strategy", self.strategy.to_string());
        columns.add("seed", self.seed);
        columns.add("passengers", self.passengers);
        columns.add("served_percent", round(self.served));
        columns.add("saturated", self.figures.err());
        columns.add("awt_s", figures.map(|figures| round(figures.awt)));
        columns.add("p90_s", figures.map(|figures| round(figures.p90)));
        columns.add("p99_s", figures.map(|figures| round(figures.p99)));
        columns.add("over_60_percent", figures.map(|figures| round(figures.over_60)));
        columns.add("squared_wait_s2", figures.map(|figures| round(figures.squared)));
        columns.add("attd_s", figures.map(|figures| round(figures.attd)));
        columns.add("longest_s", round(self.longest));
        columns.add("wrong_way_percent", round(self.wrong_way));
        columns.add("passed_by", self.passed_by);
        columns.add("starts", self.starts);
        columns.add("metres", round(self.metres));
        columns.add("plans", self.plans);
        columns.add("plan_mean_us", round(self.plan_mean));
        columns.add("plan_longest_us", round(self.plan_longest));
        columns
    }
}

impl Figures {
    /// `waits` in ascending order; `None` if nobody was scored.
    fn of(waits: &[f64], totals: &[f64]) -> Option<Self> {
        let long = waits.iter().filter(|&&wait| wait > 60.0).count();
        let squares: Vec<_> = waits.iter().map(|wait| wait * wait).collect();
        Some(Self {
            awt: average(waits)?,
            p90: waits[rank(waits.len(), 0.9)? - 1],
            p99: waits[rank(waits.len(), 0.99)? - 1],
            over_60: per_cent(number(long), number(waits.len()))?,
            squared: average(&squares)?,
            attd: average(totals)?,
        })
    }
}

fn per_cent(part: f64, all: f64) -> Option<f64> {
    (all > 0.0).then(|| 100.0 * part / all)
}

/// Whether the bank could not keep up. `queue` has the number who waited, once a second.
fn saturation(cell: &Cell, bank: &Bank, queue: &[usize]) -> Option<Saturation> {
    if !bank.crowd.is_done() {
        return Some(Saturation::Unserved);
    }
    let backlog = cell.lasts() + BACKLOG;
    if bank.crowd.trips().any(|(_, trip)| trip.boarded.is_none_or(|at| at > backlog)) {
        return Some(Saturation::Backlog);
    }
    let places = cell.building.cars * usize::from(cell.building.persons);
    (cell.is_steady() && grows(cell, queue, places)).then_some(Saturation::Growth)
}

/// Whether the queue of steady traffic is longer at the end than at the beginning, by far and by
/// more than this many places.
fn grows(cell: &Cell, queue: &[usize], places: usize) -> bool {
    let (first, last) = (cell.warm_up, cell.lasts());
    let part = last.saturating_sub(first) / PARTS;
    let mean = |from: Duration| {
        let seconds = queue.iter().skip(second(from)).take(second(part));
        average(&seconds.map(|&waiting| number(waiting)).collect::<Vec<_>>()).unwrap_or_default()
    };
    let (before, after) = (mean(first), mean(last.saturating_sub(part)));
    after > GROWTH * before && after > before + number(places)
}

fn second(time: Duration) -> usize {
    usize::try_from(time.as_secs()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_definitions() {
        let figures = Figures::of(&[10.0, 70.0], &[30.0, 90.0]);
        let figures = figures.expect("two passengers");
        assert_eq!((figures.awt, figures.p90, figures.p99), (40.0, 70.0, 70.0));
        assert_eq!((figures.over_60, figures.squared, figures.attd), (50.0, 2_500.0, 60.0));
        assert_eq!(Figures::of(&[], &[]), None, "nobody did not wait for 0 s");
    }

    /// 4 cars for 13 persons each: 52 places.
    #[test]
    fn only_a_queue_that_grows_by_far_is_a_sign_of_saturation() {
        let cell = &Cell::suite()[0];
        let queue = |slope: usize, base: usize| -> Vec<usize> {
            (0..3_600).map(|second| base + slope * second / 3_600).collect()
        };
        assert!(grows(cell, &queue(150, 0), 52));
        assert!(!grows(cell, &queue(40, 0), 52), "fewer than places");
        assert!(!grows(cell, &queue(80, 200), 52), "less than twice as many");
        assert!(!grows(cell, &queue(0, 300), 52), "no trend");
    }
}
