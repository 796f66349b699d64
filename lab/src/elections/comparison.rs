//! Many trials.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use rayon::prelude::*;

use super::summary::Key;
use super::{Conditions, Contestant, Run, Situation, Trial};
use crate::WorldError;

/// Many trials: one for each combination and seed. A situation leaves out fleets that are too small
/// for it. What is named twice counts once: the same seeds twice would make every figure look surer
/// than it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    pub contestants: Vec<Contestant>,
    /// 2 to 200.
    pub sizes: Vec<usize>,
    /// In per cent.
    pub losses: Vec<u8>,
    pub conditions: Vec<Conditions>,
    pub situations: Vec<Situation>,
    /// How long a fleet is watched in a situation that does not settle.
    pub watch: Duration,
    pub seed: u64,
    pub rounds: u64,
}

impl Comparison {
    /// Every trial, in the order of the results.
    #[must_use]
    pub fn trials(&self) -> Vec<Trial> {
        let mut trials = Vec::new();
        let (sizes, contestants) = (distinct(&self.sizes), distinct(&self.contestants));
        let (losses, watch) = (distinct(&self.losses), self.watch);
        let seeds = self.seed..self.seed.saturating_add(self.rounds);
        let trial = |(situation, conditions, loss, size, contestant): Key, seed| Trial {
            contestant,
            size,
            loss,
            conditions,
            situation,
            watch,
            seed,
        };
        for situation in distinct(&self.situations) {
            for conditions in distinct(&self.conditions) {
                for &loss in &losses {
                    for &size in sizes.iter().filter(|size| **size >= situation.smallest()) {
                        for &contestant in &contestants {
                            let key = (situation, conditions, loss, size, contestant);
                            trials.extend(seeds.clone().map(|seed| trial(key, seed)));
                        }
                    }
                }
            }
        }
        trials
    }

    /// Runs them on every core; `done` is called after each.
    ///
    /// # Errors
    /// There is no fleet of one of the sizes.
    pub fn run(&self, done: impl Fn(&Trial) + Sync) -> Result<Vec<Run>, WorldError> {
        // The large ones first, so that none is left for the end.
        let mut trials: Vec<(usize, Trial)> = self.trials().into_iter().enumerate().collect();
        trials.sort_by_key(|(_, trial)| Reverse(trial.size));
        let runs = trials.into_par_iter().with_max_len(1).map(|(at, trial)| {
            let run = trial.run()?;
            done(&trial);
            Ok((at, run))
        });
        let runs = runs.collect::<Result<BTreeMap<usize, Run>, WorldError>>()?;
        Ok(runs.into_values().collect())
    }
}

/// Each of these once, in the same order.
pub(super) fn distinct<T: Copy + PartialEq>(all: &[T]) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(one) {
            seen.push(*one);
        }
    }
    seen
}
