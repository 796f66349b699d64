//! One run, and what was measured.

use std::fmt;
use std::time::Duration;

use elevator_simulator::building::{Journey, Passenger};

use super::bank::{Bank, Frame, Planning, STEP};
use super::{Cell, Stopwatch, Strategy};
use crate::WorldError;
use crate::statistics::{average, number, whole};

/// How long a run goes on after the arrivals at most.
const DRAIN: Duration = Duration::from_hours(1);

/// Nobody waits any more this long after the arrivals, unless the bank is saturated.
const BACKLOG: Duration = Duration::from_mins(5);

/// Which part of the arrivals is compared with which, to see whether the queue grows.
const PARTS: u32 = 6;

/// A queue has grown if it is so many times as long.
const GROWTH: f64 = 2.0;

/// How often riders and queues are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// Why a bank is saturated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
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
        f.pad(match self {
            Self::Unserved => "unserved",
            Self::Backlog => "backlog",
            Self::Growth => "growth",
        })
    }
}

/// What a strategy did with the passengers of a seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// The name of the cell.
    pub cell: String,
    /// Who dispatched.
    pub strategy: Strategy,
    /// The seed of the passengers.
    pub seed: u64,
    /// How many passengers were scored.
    pub passengers: usize,
    /// Per cent of them who reached their destination.
    pub served: f64,
    /// The averages, `None` of no passengers; or why there are none.
    pub figures: Result<Option<Figures>, Saturation>,
    /// The longest wait, s, of those who boarded.
    pub longest: f64,
    /// Riders carried away from their destination, in per cent of rider seconds.
    pub wrong_way: f64,
    /// How often a car set off.
    pub starts: u32,
    /// How far all cars went, m.
    pub metres: f64,
    /// How many plans were made.
    pub plans: u32,
    /// The mean time of a plan.
    pub plan_mean: Duration,
    /// The longest time of a plan.
    pub plan_longest: Duration,
    /// The waiting times of those who boarded, s, in ascending order.
    pub waits: Vec<f64>,
}

/// Averages over the passengers of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    /// The mean waiting time, s.
    pub awt: f64,
    /// Its 90th percentile, s.
    pub p90: f64,
    /// Its 99th percentile, s.
    pub p99: f64,
    /// Per cent who waited for more than a minute.
    pub over_60: f64,
    /// The mean of the squared waiting times, s².
    pub squared: f64,
    /// The mean time to destination, s.
    pub attd: f64,
}

/// What is looked at during a run.
#[derive(Debug, Default)]
struct Tally {
    riding: u64,
    wrong: u64,
    /// The number who wait, once a second.
    queue: Vec<usize>,
}

impl Run {
    /// Runs a strategy on the passengers of a seed. `look` is called at the start and after every
    /// step of 50 ms, with a function that says what there is to see.
    pub(super) fn of(
        cell: &Cell,
        strategy: Strategy,
        seed: u64,
        stopwatch: Stopwatch,
        mut look: impl FnMut(Duration, &dyn Fn() -> Frame),
    ) -> Result<Self, WorldError> {
        let passengers = cell.passengers(seed);
        let mut bank = Bank::new(&cell.building, &passengers, strategy, seed, stopwatch)?;
        let end = cell.lasts() + DRAIN;
        let mut tally = Tally::default();
        let mut next_look = LOOK;
        look(bank.now(), &|| bank.frame());
        while bank.now() < end && !bank.crowd.is_done() {
            bank.step();
            debug_assert!(bank.now().as_millis().is_multiple_of(STEP.as_millis()));
            if bank.now() >= next_look {
                next_look += LOOK;
                let (riding, wrong) = bank.riding();
                tally.riding += riding;
                tally.wrong += wrong;
                tally.queue.push(bank.crowd.count().waiting);
            }
            look(bank.now(), &|| bank.frame());
        }
        Ok(Self::score(cell, strategy, seed, &bank, &tally))
    }

    fn score(cell: &Cell, strategy: Strategy, seed: u64, bank: &Bank, tally: &Tally) -> Self {
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
        let Planning { plans, all, longest } = bank.planning;
        let starts = bank.cabins.iter().map(|cabin| cabin.starts).sum();
        let saturation = saturation(cell, bank, &tally.queue);
        let figures = Figures::of(&waits, &totals);
        Self {
            cell: cell.name.clone(),
            strategy,
            seed,
            passengers: scored.len(),
            served: per_cent(number(totals.len()), number(scored.len())).unwrap_or(100.0),
            figures: saturation.map_or(Ok(figures), Err),
            longest: waits.last().copied().unwrap_or_default(),
            wrong_way: per_cent(whole(tally.wrong), whole(tally.riding)).unwrap_or_default(),
            starts,
            metres: bank.cabins.iter().map(|cabin| cabin.metres).sum(),
            plans,
            plan_mean: all / plans.max(1),
            plan_longest: longest,
            waits,
        }
    }
}

impl Figures {
    /// `waits` in ascending order; `None` if nobody was scored.
    fn of(waits: &[f64], totals: &[f64]) -> Option<Self> {
        let long = waits.iter().filter(|&&wait| wait > 60.0).count();
        let squares: Vec<_> = waits.iter().map(|wait| wait * wait).collect();
        Some(Self {
            awt: average(waits)?,
            p90: order_statistic(waits, 0.9)?,
            p99: order_statistic(waits, 0.99)?,
            over_60: per_cent(number(long), number(waits.len()))?,
            squared: average(&squares)?,
            attd: average(totals)?,
        })
    }
}

/// The least value that at least this share did not exceed.
fn order_statistic(ascending: &[f64], share: f64) -> Option<f64> {
    let needed = number(ascending.len()) * share - 1e-9;
    let found = (1..).zip(ascending).find(|(rank, _)| number(*rank) >= needed);
    found.map(|(_, value)| *value)
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
/// more than so many places.
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
    fn quantiles_are_order_statistics() {
        let ten: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(order_statistic(&ten, 0.9), Some(9.0));
        assert_eq!(order_statistic(&ten, 0.99), Some(10.0));
        assert_eq!(order_statistic(&[], 0.9), None);
    }

    #[test]
    fn figures_are_those_of_the_definitions() {
        let figures = Figures::of(&[10.0, 70.0], &[30.0, 90.0]);
        let wanted = Figures {
            awt: 40.0,
            p90: 70.0,
            p99: 70.0,
            over_60: 50.0,
            squared: 2_500.0,
            attd: 60.0,
        };
        assert_eq!(figures, Some(wanted));
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
