//! Many trials.

use rayon::prelude::*;

use super::{Cell, Run, Stopwatch, Strategy};
use crate::WorldError;

/// One run that can be made: a strategy on the passengers of a seed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Trial<'a> {
    pub cell: &'a Cell,
    pub strategy: Strategy,
    pub seed: u64,
}

/// Many trials: one for each cell, strategy and seed.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub cells: Vec<Cell>,
    /// The first is the one that others are compared with.
    pub strategies: Vec<Strategy>,
    pub seed: u64,
    pub seeds: u64,
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
