//! Many trials.

use std::time::Duration;

use rayon::prelude::*;

use super::bank::Frame;
use super::{Cell, Run, Stopwatch, Strategy, untimed};
use crate::WorldError;

/// One run that can be made: a strategy on the passengers of a seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial<'a> {
    /// Where.
    pub cell: &'a Cell,
    /// Who dispatches.
    pub strategy: Strategy,
    /// The seed of the passengers.
    pub seed: u64,
}

/// Many trials: one for each cell, strategy and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Where.
    pub cells: Vec<Cell>,
    /// Who. The first is the one that others are compared with.
    pub strategies: Vec<Strategy>,
    /// The first seed.
    pub seed: u64,
    /// How many seeds.
    pub seeds: u64,
}

impl Trial<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// There is no such bank.
    pub fn run(&self, stopwatch: Stopwatch) -> Result<Run, WorldError> {
        Run::of(self.cell, self.strategy, self.seed, stopwatch, |_, _| ())
    }

    /// Runs it and shows it, at the start and then each time that `every` has passed.
    ///
    /// # Errors
    /// There is no such bank.
    pub fn replay(&self, every: Duration, mut show: impl FnMut(Frame)) -> Result<Run, WorldError> {
        let mut next = Duration::ZERO;
        Run::of(self.cell, self.strategy, self.seed, untimed, |now, frame| {
            if now >= next {
                next = now + every;
                show(frame());
            }
        })
    }
}

impl Comparison {
    /// Every trial, in the order of the results: by cell, strategy and seed.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial<'_>> {
        let mut trials = Vec::new();
        for cell in &self.cells {
            for &strategy in &self.strategies {
                let seeds = self.seed..self.seed.saturating_add(self.seeds);
                trials.extend(seeds.map(|seed| Trial { cell, strategy, seed }));
            }
        }
        trials
    }

    /// Runs them on every core; `done` is called after each.
    ///
    /// # Errors
    /// There is no such bank.
    pub fn run(
        &self,
        stopwatch: Stopwatch,
        done: impl Fn(&Trial<'_>) + Sync,
    ) -> Result<Vec<Run>, WorldError> {
        let runs = self.trials().into_par_iter().with_max_len(1).map(|trial| {
            let run = trial.run(stopwatch)?;
            done(&trial);
            Ok(run)
        });
        runs.collect()
    }
}
